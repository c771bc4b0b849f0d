package pi

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-run/troupe/wire"
)

var rewrite = flag.Bool("update", false, "rewrite the goldens")

// recorded is one row of a recording.
type recorded struct {
	Dir  string          `json:"dir"`
	Line json.RawMessage `json:"line"`
}

func recording(t testing.TB, path string) []recorded {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []recorded
	s := bufio.NewScanner(f)
	s.Buffer(nil, 16<<20)
	for s.Scan() {
		var r recorded
		if err := json.Unmarshal(s.Bytes(), &r); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if r.Dir == "" { // a file on disk
			r = recorded{Dir: "out", Line: bytes.Clone(s.Bytes())}
		}
		rows = append(rows, r)
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

func recordings(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "transcripts", "pi-*", "*.jsonl"))
	if err != nil || len(files) < 40 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	return files
}

// player feeds a recording to a mapper as the session would.
type player struct {
	m      *mapper
	origin wire.Origin
}

func newPlayer() *player { return &player{m: newMapper(1), origin: wire.OriginSessionStart} }

func (p *player) in(line []byte) {
	var c struct {
		ID, Type, Message string
		StreamingBehavior string
	}
	if json.Unmarshal(line, &c) != nil {
		return
	}
	switch c.Type {
	case "prompt":
		if c.StreamingBehavior == "" {
			p.origin = wire.OriginRun
			p.m.handOver(handed{messageID: c.ID, text: c.Message})
		}
	case "steer":
		p.m.handOver(handed{messageID: c.ID, text: c.Message, steered: true})
	}
}

func (p *player) out(line []byte) ([]wire.Observation, fact) {
	obs, f := p.m.mapLine(line, p.origin)
	if r, ok := f.(responded); ok && r.e.Command == "get_state" {
		var s stateData
		if json.Unmarshal(r.e.Data, &s) == nil && s.Model != nil {
			p.m.setModel(s.Model, s.ThinkingLevel)
		}
	}
	return obs, f
}

// baseline is what the vocabulary has no word for, with the reason.
var baseline = map[string]string{
	"extension_ui_request setStatus":       "the vendor's own status bar",
	"extension_ui_request setWidget":       "a widget of the vendor's own screen",
	"extension_ui_request setTitle":        "the title of the vendor's own terminal",
	"extension_ui_request set_editor_text": "the vendor's own input line",
	"entry_appended context_edit":          "an edit of the vendor's own session file, after a retry",
	"session_info_changed":                 "the vendor's own name of the session; a thread has a title of its own",
	"bash_execution_update":                "a command that a client of the vendor's ran beside the conversation; we never do",
}

// ofFile are the types in a file on disk, which is no stream.
var ofFile = map[string]bool{"session": true, "model_change": true, "thinking_level_change": true, "message": true, "compaction": true}

func typeOf(line []byte) string {
	var e struct {
		Type, Method string
		Entry        struct{ Type string }
	}
	if json.Unmarshal(line, &e) != nil {
		return "no event"
	}
	return strings.TrimSpace(e.Type + " " + e.Method + e.Entry.Type)
}

// TestTranscripts pins what every recording is mapped to. No record is dropped,
// every message that is opened is ended, and what is unmapped has a reason.
func TestTranscripts(t *testing.T) {
	for _, path := range recordings(t) {
		name := strings.TrimSuffix(path, ".jsonl")
		t.Run(filepath.Base(filepath.Dir(path))+"/"+filepath.Base(name), func(t *testing.T) {
			p := newPlayer()
			var b bytes.Buffer
			open := map[string]bool{}
			for i, r := range recording(t, path) {
				if r.Dir == "in" {
					p.in(r.Line)
					continue
				}
				if r.Dir != "out" {
					continue
				}
				obs, f := p.out(r.Line)
				if len(obs) == 0 && f == nil {
					t.Errorf("line %d (%s) is nothing", i+1, typeOf(r.Line))
				}
				fmt.Fprintf(&b, "%d %s", i+1, typeOf(r.Line))
				if f != nil {
					fmt.Fprintf(&b, " → %s", strings.TrimPrefix(fmt.Sprintf("%T", f), "pi."))
				}
				b.WriteByte('\n')
				for _, o := range obs {
					line, err := wire.EncodeObservation(o)
					if err != nil {
						t.Fatalf("line %d: %v", i+1, err)
					}
					fmt.Fprintf(&b, "    %s\n", line)
					check(t, open, o, typeOf(r.Line))
				}
			}
			for id := range open {
				t.Errorf("message %s was never ended", id)
			}
			compare(t, name+".golden", b.Bytes())
		})
	}
}

func check(t *testing.T, open map[string]bool, o wire.Observation, source string) {
	t.Helper()
	switch o := o.(type) {
	case *wire.MessageStart:
		open[o.MessageID] = true
	case *wire.MessageEnd:
		if !open[o.MessageID] {
			t.Errorf("message %s ended and was not open", o.MessageID)
		}
		delete(open, o.MessageID)
	case *wire.TextDelta:
		if !open[o.MessageID] {
			t.Errorf("text for %s, which is not open", o.MessageID)
		}
	case *wire.Unmapped:
		if baseline[source] == "" && !ofFile[source] && source != "no event" {
			t.Errorf("%s is unmapped without a reason", source)
		}
	}
}

func compare(t *testing.T, path string, have []byte) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(path, have, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Errorf("%s is not what the mapper says; run go test ./host/pi -update and look at the difference", path)
	}
}

// FuzzMapper feeds cut, doubled, reordered and mutated recordings: no panic, no
// record that is nothing, nothing that cannot be encoded, and after the drain no
// message is left open.
func FuzzMapper(f *testing.F) {
	var lines [][]byte
	for _, path := range recordings(f) {
		if !strings.Contains(path, "tool_bash.jsonl") && !strings.Contains(path, "dialog") && !strings.Contains(path, "steer") {
			continue
		}
		for _, r := range recording(f, path) {
			if len(r.Line) < 2000 {
				lines = append(lines, r.Line)
			}
		}
	}
	f.Add([]byte{0, 1, 2, 3, 4, 5}, []byte(`{"type":"message_start"}`))
	f.Add([]byte{9, 8, 200, 7, 250, 1}, []byte(`{"type":"tool_execution_end","result":[]}`))
	f.Add([]byte{1}, []byte("\xff\xfe{"))
	f.Fuzz(func(t *testing.T, order, own []byte) {
		p := newPlayer()
		open := map[string]bool{}
		seen := func(obs []wire.Observation) {
			for _, o := range obs {
				if _, err := wire.EncodeObservation(o); err != nil {
					t.Fatalf("%T: %v", o, err)
				}
				switch o := o.(type) {
				case *wire.MessageStart:
					open[o.MessageID] = true
				case *wire.MessageEnd:
					delete(open, o.MessageID)
				}
			}
		}
		feed := func(line []byte) {
			p.in(line)
			obs, f := p.out(line)
			if len(obs) == 0 && f == nil {
				t.Fatalf("%q is nothing", line)
			}
			seen(obs)
		}
		for i, b := range order {
			line := lines[(int(b)*31+i)%len(lines)]
			switch b % 7 {
			case 0:
				line = line[:len(line)/2]
			case 1:
				line = own
			}
			feed(line)
		}
		seen(p.m.drain("error"))
		if len(open) > 0 {
			t.Fatalf("left open: %v", open)
		}
	})
}
