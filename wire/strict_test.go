package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// mutation is a golden with one thing wrong in it.
type mutation struct{ what, text string }

// mutate changes each field of each object inside raw, one at a time. free says
// whether what lies under a field is any JSON, which nothing is wrong in.
func mutate(raw json.RawMessage, free func(field string) bool, emit func(what string, v any)) {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) == nil && object != nil {
		with := func(change func(map[string]any)) any {
			m := map[string]any{}
			for k, v := range object {
				m[k] = v
			}
			change(m)
			return m
		}
		emit("an unknown field", with(func(m map[string]any) { m["extra"] = 1 }))
		for _, k := range slices.Sorted(maps.Keys(object)) {
			emit(k+" in another case", with(func(m map[string]any) { m[strings.ToUpper(k[:1])+k[1:]] = m[k]; delete(m, k) }))
			if free(k) {
				continue
			}
			emit(k+" of another type", with(func(m map[string]any) { m[k] = otherType(object[k]) }))
			if k != "model" && k != "parentId" { // null while the thread is not live, and of a root
				emit(k+" null", with(func(m map[string]any) { m[k] = nil }))
			}
			mutate(object[k], free, func(what string, v any) { emit(k+"."+what, with(func(m map[string]any) { m[k] = v })) })
		}
		return
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		for i := range list {
			mutate(list[i], free, func(what string, v any) {
				changed := make([]any, len(list))
				for j := range list {
					changed[j] = list[j]
				}
				changed[i] = v
				emit(what, changed)
			})
		}
	}
}

func otherType(raw json.RawMessage) any {
	if raw[0] == '"' {
		return 7
	}
	return "seven"
}

// freeField names what holds any JSON, or keys that are data.
func freeField(name string) bool {
	return slices.Contains([]string{"input", "data", "event", "metadata", "props", "args", "tags", "spawnArgs", "detail", "state", "result"}, name)
}

func TestRule_ClosedFrames(t *testing.T) {
	for _, g := range goldens() {
		good, err := g.encode()
		if err != nil {
			t.Fatal(err)
		}
		var bad []mutation
		mutate(good, freeField, func(what string, v any) {
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			bad = append(bad, mutation{what, string(b)})
		})
		repeated := string(good[:len(good)-1]) + "," + string(good[1:])
		bad = append(
			bad, mutation{"every field twice", repeated}, mutation{"a second value", string(good) + "{}"},
			mutation{"half of it", string(good[:len(good)/2])}, mutation{"invalid UTF-8", strings.Replace(string(good), `"`, "\"\xff", 1)},
			mutation{"null", "null"}, mutation{"a list", "[]"}, mutation{"nothing", ""}, mutation{"a comma too many", string(good[:len(good)-1]) + ",}"},
		)
		if len(bad) < 10 {
			t.Fatalf("only %d mutations of %s", len(bad), g.name)
		}
		for _, m := range bad {
			if _, err := g.decode([]byte(m.text)); err == nil {
				t.Errorf("%s with %s was read: %s", g.name, m.what, m.text)
			}
		}
	}
}

// Every field of the wire that has no omitempty is required, and no other.
func TestMissingFieldsAreNamed(t *testing.T) {
	for _, g := range goldens() {
		good, err := g.encode()
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(good, &object); err != nil {
			t.Fatal(err)
		}
		typ := reflect.TypeOf(g.value)
		if typ.Kind() != reflect.Pointer || strings.HasPrefix(g.name, "observation/extension-ui") || g.name == "notice" {
			continue // an answer's arms and a request's dialog have rules of their own
		}
		s := schemaOf(typ.Elem())
		for name := range object {
			less := maps.Clone(object)
			delete(less, name)
			b, err := json.Marshal(less)
			if err != nil {
				t.Fatal(err)
			}
			_, err = g.decode(b)
			i, field := s.byName[name]
			switch optional := field && s.fields[i].optional; {
			case optional && err != nil:
				t.Errorf("%s without the optional %s: %v", g.name, name, err)
			case !optional && (err == nil || !strings.Contains(err.Error(), `"`+name+`"`)):
				t.Errorf("%s without %s: %v", g.name, name, err)
			}
		}
	}
}

func TestRefusalsNameThePath(t *testing.T) {
	snapshot, err := EncodeFrame(exampleFrames()[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"closed set", `"role":"assistant"`, `"role":"robot"`, `bad-request: messages[0].role: "robot" is not one of system, user, assistant, tool, custom`},
		{"union", `"type":"thinking"`, `"type":"thought"`, `messages[0].parts[1].type: "thought" is not one of text,`},
		{"deep", `"isError":true`, `"isError":1`, `messages[0].parts[3].isError: want a boolean, got a number`},
		{"case", `"asOfSeq"`, `"asofseq"`, `unknown field "asofseq", want "asOfSeq"`},
		{"fraction", `"asOfSeq":7`, `"asOfSeq":7.0`, `asOfSeq: want a whole number of 64 bits, at least 0, got "7.0"`},
		{"negative", `"asOfSeq":7`, `"asOfSeq":-7`, `asOfSeq: want a whole number`},
		{"too large", `"window":2`, `"window":9223372036854775808`, `usage.context.window: want a whole number of 64 bits`},
		{"huge float", `"totalCost":0.5`, `"totalCost":1e999`, `usage.totalCost: the number "1e999" is out of range`},
		{"below", `"cacheRead":3`, `"cacheRead":-1`, `usage.cacheRead: want at least 0`},
		{"time", `"since":"2026-03-04T04:06:07.890Z"`, `"since":"2026-03-04 04:06:07"`, `login.since: "2026-03-04 04:06:07" is not an RFC 3339 time`},
		{"no options", `"options":["A","B"]`, `"options":[]`, `openDialogs[0].dialog.options: empty`},
		{"null in a list", `"available":["ask"]`, `"available":[null]`, `permissionMode.available[0]: want a value, got null`},
		{"half a character", `"text":"hello"`, `"text":"\ud800"`, `messages[0].parts[0].text: an escape that is no character`},
		{"twice", `"cwd":"/src/app"`, `"cwd":"/src/app","cwd":""`, `the field "cwd" is there twice`},
		{"tag twice", `"type":"thinking"`, `"type":"thinking","type":"thinking"`, `messages[0].parts[1]: the field "type" is there twice`},
		{"no tag", `"method":"select",`, ``, `openDialogs[0].dialog: the field "method" is missing`},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := strings.Replace(string(snapshot), c.old, c.new, 1)
			if bad == string(snapshot) {
				t.Fatal("the mutation changed nothing")
			}
			_, err := DecodeFrame([]byte(bad))
			var f *Failure
			if !errors.As(err, &f) || f.Code != CodeBadRequest || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestARefusalRepeatsLittleOfItsInput(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, body := range []string{`{"` + long + `":1}`, `{"message":"","admission":"` + long + `"}`, `{"message":` + strings.Repeat("9", 1<<20) + `}`} {
		_, err := DecodeStrict[PromptRequest]([]byte(body))
		if err == nil || len(err.Error()) > 300 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
	}
}

func TestDiscriminatorMayStandAnywhere(t *testing.T) {
	got, err := DecodeFrame([]byte(` {"seq":1, "observation" : {"turn":2,"kind":"turn-start"},"type":"observation"} `))
	want := &ObservationFrame{Seq: 1, Observation: &TurnStart{Turn: 2}}
	if err != nil || !reflect.DeepEqual(got, Frame(want)) {
		t.Fatal(got, err)
	}
}

// What a runtime said is kept whole, even where it is odd; only the whitespace
// between tokens goes, since an SSE event is one line.
func TestRawValuesCrossVerbatim(t *testing.T) {
	raw := json.RawMessage("{ \"a\":1.0,\n\"a\" : 1e400, \"s\":\"\\ud800 \u2028\"}")
	b, err := EncodeObservation(&Unmapped{Event: raw})
	if err != nil {
		t.Fatal(err)
	}
	if bytes.ContainsAny(b, "\n\r") {
		t.Fatalf("more than one line: %q", b)
	}
	o, err := DecodeObservation(b)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(o.(*Unmapped).Event), "{\"a\":1.0,\"a\":1e400,\"s\":\"\\ud800 \u2028\"}"; got != want {
		t.Fatalf("%q, want %q", got, want)
	}
}

func TestListsAreNeverNull(t *testing.T) {
	for _, c := range []struct {
		v    any
		want string
	}{
		{&Queue{}, `{"kind":"queue","interrupting":[],"enqueued":[]}`},
		{Message{ID: "m", Role: RoleUser}, `{"id":"m","role":"user","parts":[],"complete":false}`},
		{&ToolResultPart{ToolCallID: "c"}, `{"type":"tool-result","toolCallId":"c","text":"","isError":false,"metadata":{}}`},
		{Descriptor{Kind: "k"}, `{"kind":"k","props":{}}`},
		{AbortReceipt{}, `{"aborted":false,"generation":0,"queue":[],"dialogs":[],"processes":[],"children":[]}`},
		{Tails{}, `{"emitted":[],"sent":[]}`},
		{ThreadPage{}, `{"threads":[]}`},
		{[]Summary(nil), `[]`},
		{[]OpenDialog(nil), `[]`},
		{&ToolCall{ToolCallID: "c", ToolName: "t"}, `{"kind":"tool-call","toolCallId":"c","toolName":"t","input":null}`},
	} {
		got, err := Encode(c.v)
		if err != nil || string(got) != c.want {
			t.Errorf("%T: %s %v, want %s", c.v, got, err, c.want)
		}
		if _, list := c.v.([]Summary); list {
			continue
		}
		if plain, err := json.Marshal(c.v); reflect.TypeOf(c.v).Kind() != reflect.Slice && (err != nil || string(plain) != c.want) {
			t.Errorf("encoding/json, %T: %s %v", c.v, plain, err)
		}
	}
}

// The encoder refuses what no reader would take: the mistake shows where it was
// made.
func TestEncodeRefusesWhatNoReaderTakes(t *testing.T) {
	for name, v := range map[string]any{
		"no observation":       &ObservationFrame{Seq: 1},
		"nil observation":      &ObservationFrame{Seq: 1, Observation: (*TurnStart)(nil)},
		"seq 0":                &ObservationFrame{Observation: &TurnStart{Turn: 1}},
		"turn 0":               &TurnStart{},
		"turn end 0":           &TurnEnd{},
		"role":                 &MessageStart{MessageID: "m"},
		"raw":                  &Unmapped{Event: json.RawMessage("{")},
		"two raws":             &Unmapped{Event: json.RawMessage("1 2")},
		"infinite cost":        &SessionUsageChanged{Usage: SessionUsage{TotalCost: ptr(math.Inf(1))}},
		"negative cost":        &SessionUsageChanged{Usage: SessionUsage{TotalCost: ptr(-1.0)}},
		"negative usage":       &TextDelta{Usage: &Usage{Input: -1}},
		"negative usage cost":  &TextDelta{Usage: &Usage{TotalCost: ptr(-0.5)}},
		"negative context":     &SessionUsageChanged{Usage: SessionUsage{Context: &ContextUsage{Tokens: -1}}},
		"year":                 &RunEnded{Outcome: RunAborted, At: Time{time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC)}},
		"descriptor":           &ToolResult{Descriptor: &Descriptor{}},
		"code":                 &RunEnded{Outcome: RunFailed, Error: &Failure{Code: "odd"}},
		"blocking, no dialog":  &ExtensionUIRequest{ID: "d", Origin: OriginRun, Blocking: true},
		"notice and dialog":    &ExtensionUIRequest{ID: "d", Origin: OriginRun, Dialog: &EditorDialog{}, Notice: &Notice{Level: NoticeInfo}},
		"no id":                &ExtensionUIRequest{Origin: OriginRun, Notice: &Notice{Level: NoticeInfo}},
		"open dialog, no id":   OpenDialog{Dialog: &EditorDialog{}},
		"open dialog, nothing": OpenDialog{ID: "d"},
		"nil frame":            (*Status)(nil),
		"nothing":              nil,
	} {
		b, err := Encode(v)
		var f *Failure
		if !errors.As(err, &f) || f.Code != CodeInternal {
			t.Errorf("%s: %s, %v", name, b, err)
		}
	}
}

func TestAppendSSE(t *testing.T) {
	got, err := AppendSSE([]byte("before "), &Status{Live: true, Generation: 2})
	if want := "before data: {\"type\":\"status\",\"live\":true,\"busy\":false,\"generation\":2}\n\n"; err != nil || string(got) != want {
		t.Fatalf("%q %v", got, err)
	}
	if got, err = AppendSSE([]byte("before "), &ObservationFrame{}); err == nil || string(got) != "before " {
		t.Fatalf("after a refusal: %q, %v", got, err)
	}
}

// An agent's broken bytes never stop a frame.
func TestInvalidUTF8IsReplaced(t *testing.T) {
	b, err := EncodeFrame(&ObservationFrame{Seq: 1, Observation: &TextDelta{MessageID: "m", Delta: "a\xffb"}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := DecodeFrame(b)
	if err != nil || f.(*ObservationFrame).Observation.(*TextDelta).Delta != "a\uFFFDb" {
		t.Fatalf("%s %v", b, err)
	}
	if b, err = EncodeObservation(&Unmapped{Event: json.RawMessage("\"\xff\"")}); err != nil || !strings.Contains(string(b), "\uFFFD") {
		t.Fatalf("%s %v", b, err)
	}
}

func TestStrictReadsTypesOfOthers(t *testing.T) {
	type body struct {
		When  time.Time      `json:"when"`
		Small int8           `json:"small"`
		Sizes map[string]int `json:"sizes,omitempty"`
		Key   Secret         `json:"key"`
	}
	got, err := DecodeStrict[body]([]byte(`{"when":"2026-01-02T03:04:05Z","small":-7,"sizes":{"a":1},"key":"k"}`))
	if err != nil || got.When.Year() != 2026 || got.Small != -7 || got.Sizes["a"] != 1 || got.Key.Reveal() != "k" {
		t.Fatal(got, err)
	}
	for _, bad := range []string{
		`{"when":"x","small":1,"key":""}`, `{"when":"2026-01-02T03:04:05Z","small":128,"key":""}`,
		`{"when":"2026-01-02T03:04:05Z","small":1,"sizes":{"a":1,"a":2},"key":""}`,
	} {
		if _, err := DecodeStrict[body]([]byte(bad)); AsFailure(err) == nil || AsFailure(err).Code != CodeBadRequest {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func BenchmarkAppendSSETextDelta(b *testing.B) {
	f := &ObservationFrame{Seq: 123456, Observation: &TextDelta{MessageID: "01jz8b3e9zj9p6x0", Delta: "hello, this is some text"}}
	buf := make([]byte, 0, 512)
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buf, err = AppendSSE(buf[:0], f); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeFrameTextDelta(b *testing.B) {
	text, err := EncodeFrame(&ObservationFrame{Seq: 123456, Observation: &TextDelta{MessageID: "01jz8b3e9zj9p6x0", Delta: "hello, this is some text"}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeFrame(text); err != nil {
			b.Fatal(err)
		}
	}
}

// A publish path that allocates per delta would show in every follower.
func TestATextDeltaCostsNoAllocation(t *testing.T) {
	f := &ObservationFrame{Seq: 123456, Observation: &TextDelta{MessageID: "m", Delta: "hello"}}
	buf := make([]byte, 0, 512)
	if n := testing.AllocsPerRun(100, func() { buf, _ = AppendSSE(buf[:0], f) }); n > 0 {
		t.Fatalf("%v allocations", n)
	}
}
