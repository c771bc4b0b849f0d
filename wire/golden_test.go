package wire

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the goldens and REFERENCE.md")

const goldenDir = "../testdata/wire"

// golden is one value's wire form under a name, and the strict reading of it.
type golden struct {
	name   string // folder and word
	value  any
	encode func() ([]byte, error)
	decode func([]byte) (any, error)
}

func strictly[T any](b []byte) (any, error) { return DecodeStrict[T](b) }

// pointerTo reads into the type that v points to.
func pointerTo(v any) func([]byte) (any, error) {
	return func(b []byte) (any, error) {
		p := reflect.New(reflect.TypeOf(v).Elem())
		err := decodeInto(b, p.Elem())
		return p.Interface(), err
	}
}

func goldens() []golden {
	var out []golden
	add := func(name string, v any, decode func([]byte) (any, error)) {
		out = append(out, golden{name, v, func() ([]byte, error) { return Encode(v) }, decode})
	}
	for _, o := range exampleObservations() {
		add("observation/"+string(o.Kind()), o, strictly[Observation])
	}
	for _, f := range exampleFrames() {
		add("frame/"+f.FrameType(), f, strictly[Frame])
	}
	for _, d := range exampleDialogs() {
		add("dialog/"+d.Method(), d, strictly[DialogSpec])
	}
	for _, p := range exampleParts() {
		add("part/"+p.PartType(), p, strictly[Part])
	}
	for _, e := range exampleEvents() {
		out = append(out, golden{
			"event/" + string(e.Payload.EventType()), e, func() ([]byte, error) { return EncodeEvent(e) },
			func(b []byte) (any, error) { return DecodeEvent(b) },
		})
	}
	for _, b := range exampleBlocks() {
		add("block/"+b.BlockType(), b, strictly[ContentBlock])
	}
	for _, d := range exampleDeltas() {
		add("delta/"+d.DeltaKind(), d, strictly[Delta])
	}
	add("state", exampleState(), pointerTo(&EntityState{}))
	add("run-detail", &RunDetail{Runtime: "scripted", Model: ptr(exampleModel())}, pointerTo(&RunDetail{}))
	add("notice", &ExtensionUIRequest{ID: "n1", Origin: OriginSessionStart, Notice: &Notice{Level: NoticeWarning, Message: "hot"}}, strictly[Observation])
	add("descriptor", exampleDescriptor(), pointerTo(&Descriptor{}))
	add("failure", Errorf(CodeNotFound, "no such thread"), pointerTo(&Failure{}))
	for _, r := range exampleResources() {
		add("resource/"+reflect.TypeOf(r).Elem().Name(), r, pointerTo(r))
	}
	for arm, a := range exampleAnswers() {
		out = append(out, golden{
			"answer/" + arm, a, func() ([]byte, error) { return EncodeAnswer(a) },
			func(b []byte) (any, error) { return DecodeAnswer(b) },
		})
	}
	slices.SortFunc(out, func(a, b golden) int { return strings.Compare(a.name, b.name) })
	return out
}

func TestGoldens(t *testing.T) {
	want := map[string]bool{}
	for _, g := range goldens() {
		want[g.name+".json"] = true
		t.Run(g.name, func(t *testing.T) {
			got, err := g.encode()
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(goldenDir, g.name+".json")
			if *update {
				writeIndented(t, path, got)
			}
			file, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var compact bytes.Buffer
			if err := json.Compact(&compact, file); err != nil {
				t.Fatal(err)
			}
			if compact.String() != string(got) {
				t.Fatalf("encodes to\n%s\nwant\n%s", got, compact.String())
			}
			back, err := g.decode(file)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(back, g.value) {
				t.Fatalf("decodes to %#v\nwant %#v", back, g.value)
			}
		})
	}
	err := filepath.WalkDir(goldenDir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(goldenDir, path)
		if !want[filepath.ToSlash(rel)] {
			t.Errorf("%s is no golden of anything", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func writeIndented(t *testing.T, path string, b []byte) {
	t.Helper()
	var buf bytes.Buffer
	if err := json.Indent(&buf, b, "", "  "); err != nil {
		t.Fatal(err)
	}
	buf.WriteByte('\n')
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, buf.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// An example that leaves a field unset would pin nothing about it.
func TestGoldensSetEveryField(t *testing.T) {
	// What one example cannot say: a request is a dialog or a notice.
	exempt := map[string]bool{"ExtensionUIRequest.Notice": true, "Event.Seq": true}
	for _, g := range goldens() {
		if g.name == "notice" || strings.HasPrefix(g.name, "answer/") {
			continue
		}
		v := reflect.ValueOf(g.value).Elem()
		for i := range v.NumField() {
			name := v.Type().Name() + "." + v.Type().Field(i).Name
			if v.Field(i).IsZero() && !exempt[name] {
				t.Errorf("the example of %s leaves %s unset", g.name, name)
			}
		}
		if e, ok := g.value.(*Event); ok {
			p := reflect.ValueOf(e.Payload).Elem()
			for i := range p.NumField() {
				if p.Field(i).IsZero() {
					t.Errorf("the example of %s leaves %s unset", g.name, p.Type().Field(i).Name)
				}
			}
		}
	}
}

func TestEveryMemberHasAGolden(t *testing.T) {
	have := map[string]bool{}
	for _, g := range goldens() {
		have[g.name] = true
	}
	for _, u := range []struct {
		dir  string
		typ  reflect.Type
		size int
	}{
		{"observation", reflect.TypeFor[Observation](), len(exampleObservations())},
		{"frame", reflect.TypeFor[Frame](), len(exampleFrames())},
		{"dialog", reflect.TypeFor[DialogSpec](), len(exampleDialogs())},
		{"part", reflect.TypeFor[Part](), len(exampleParts())},
		{"event", reflect.TypeFor[Payload](), len(exampleEvents())},
		{"block", reflect.TypeFor[ContentBlock](), len(exampleBlocks())},
		{"delta", reflect.TypeFor[Delta](), len(exampleDeltas())},
	} {
		_, words, _, ok := UnionMembers(u.typ)
		if !ok {
			t.Fatalf("%v is no union", u.typ)
		}
		for _, w := range words {
			if !have[u.dir+"/"+w] {
				t.Errorf("no golden of %s %s", u.dir, w)
			}
		}
		if u.size != len(words) {
			t.Errorf("%d examples of %d members of %v", u.size, len(words), u.typ)
		}
	}
}

// Plain encoding/json says the same of every value, both ways; of an answer it
// says all but the value.
func TestPlainJSONSpeaksTheWire(t *testing.T) {
	for _, g := range goldens() {
		want, err := g.encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(g.value)
		if err != nil {
			t.Fatal(g.name, err)
		}
		if g.name == "answer/value" {
			want = []byte(`{"id":"d1","value":"` + Redacted + `"}`)
		}
		var plain bytes.Buffer
		json.HTMLEscape(&plain, want)
		if plain.String() != string(got) {
			t.Errorf("%s: encoding/json says\n%s\nwant\n%s", g.name, got, plain.String())
		}
		typ := reflect.TypeOf(g.value)
		if typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		back := reflect.New(typ)
		if err := json.Unmarshal(want, back.Interface()); err != nil {
			t.Errorf("%s: %v", g.name, err)
			continue
		}
		if g.name == "answer/value" {
			continue
		}
		if again := reflect.Indirect(reflect.ValueOf(g.value)).Interface(); !reflect.DeepEqual(back.Elem().Interface(), again) {
			t.Errorf("%s: encoding/json reads %#v", g.name, back.Elem().Interface())
		}
	}
}
