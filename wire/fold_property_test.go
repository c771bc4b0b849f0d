package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// anyObservation draws from few ids, so that messages, calls and questions meet.
func anyObservation(t *rapid.T) Observation {
	id := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "message")
	tool := rapid.SampledFrom([]string{"1", "2", "a"}).Draw(t, "call")
	word := rapid.SampledFrom([]string{"", "x", "é", "\n\"", "long enough to leave a small buffer"}).Draw(t, "word")
	role := rapid.SampledFrom([]Role{RoleUser, RoleAssistant, RoleTool, RoleCustom}).Draw(t, "role")
	yes := rapid.Bool().Draw(t, "yes")
	switch rapid.IntRange(0, 15).Draw(t, "what") {
	case 0, 1:
		return &MessageStart{MessageID: id, Role: role}
	case 2, 3:
		return &TextDelta{MessageID: id, Delta: word}
	case 4:
		return &ThinkingDelta{MessageID: id, Delta: word}
	case 5:
		e := &MessageEnd{MessageID: id, Role: role}
		if yes {
			e.Text, e.Images = &word, []Image{{MimeType: "image/png", Data: "aGk="}}
		}
		return e
	case 6:
		in := id
		if yes {
			in = ""
		}
		return &ToolCall{ToolCallID: tool, ToolName: "t", Input: json.RawMessage("{}"), MessageID: in}
	case 7, 8:
		r := &ToolResult{ToolCallID: tool, ToolName: "t", Text: word, Complete: yes}
		if word == "x" {
			r.Descriptor = exampleDescriptor()
		}
		return r
	case 9:
		return &CustomEntry{CustomType: word, Data: json.RawMessage("[1]")}
	case 10:
		return &ExtensionUIRequest{ID: tool, Origin: OriginRun, Blocking: true, Dialog: &SelectDialog{Options: []string{word}}}
	case 11:
		return &DialogSettled{ID: tool, Outcome: DialogAnswered}
	case 12:
		return &RunEnded{Generation: 1, Outcome: rapid.SampledFrom([]RunOutcome{RunCompleted, RunAborted, RunFailed}).Draw(t, "outcome"), At: exampleTime}
	case 13:
		return &Login{State: rapid.SampledFrom([]LoginState{LoginWaiting, LoginEnded}).Draw(t, "login"), Provider: word, Since: exampleTime}
	default:
		return rapid.SampledFrom(exampleObservations()).Draw(t, "example")
	}
}

func anyFrames(t *rapid.T, label string, from uint64) []Frame {
	var out []Frame
	for i := range rapid.IntRange(0, 25).Draw(t, label) {
		if rapid.IntRange(0, 9).Draw(t, fmt.Sprintf("%s[%d] status", label, i)) == 0 {
			out = append(out, &Status{
				Live: rapid.Bool().Draw(t, "live"), Busy: rapid.Bool().Draw(t, "busy"), Generation: uint64(rapid.IntRange(0, 3).Draw(t, "generation")),
			})
			continue
		}
		from++
		out = append(out, &ObservationFrame{Seq: from, Observation: anyObservation(t)})
	}
	return out
}

func encoded(t interface{ Fatal(...any) }, f Frame) string {
	b, err := EncodeFrame(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestFoldProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := &Snapshot{ThreadID: "helper.01", PermissionMode: DefaultPermissionMode()}
		a := anyFrames(t, "a", 0)
		b := anyFrames(t, "b", 100)
		s := Fold(base, a...)
		before := encoded(t, s)

		two := Fold(s, b...)
		if encoded(t, s) != before {
			t.Fatalf("Fold changed its input:\n%s\nwas\n%s", encoded(t, s), before)
		}
		whole := Fold(base, append(append([]Frame{}, a...), b...)...)
		if encoded(t, two) != encoded(t, whole) {
			t.Fatalf("in two steps\n%s\nat once\n%s", encoded(t, two), encoded(t, whole))
		}

		folder := NewFolder(base)
		var copies []*Snapshot
		var texts []string
		for _, f := range append(append([]Frame{}, a...), b...) {
			folder.Add(f)
			c := folder.Snapshot()
			copies, texts = append(copies, c), append(texts, encoded(t, c))
		}
		for i, c := range copies {
			if encoded(t, c) != texts[i] {
				t.Fatalf("frame %d's copy has changed", i)
			}
		}
		if encoded(t, folder.Snapshot()) != encoded(t, whole) {
			t.Fatalf("frame by frame\n%s\nat once\n%s", encoded(t, folder.Snapshot()), encoded(t, whole))
		}

		back, err := DecodeFrame([]byte(encoded(t, whole)))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(back, Frame(whole)) {
			t.Fatalf("%#v\ncomes back as %#v", whole, back)
		}
		wellFormed(t, whole)
	})
}

// wellFormed holds what every snapshot promises, whatever was folded into it.
func wellFormed(t *rapid.T, s *Snapshot) {
	open := false
	for _, m := range s.Messages {
		if open && m.Complete {
			t.Fatalf("a complete message behind an open one: %s", show(s))
		}
		open = !m.Complete
		for i, p := range m.Parts {
			switch p := p.(type) {
			case *ToolResultPart:
				if i == 0 && m.Role != RoleTool {
					t.Fatalf("a result without its call: %s", show(s))
				}
				if i > 0 {
					if c, ok := m.Parts[i-1].(*ToolCallPart); !ok || c.ToolCallID != p.ToolCallID {
						t.Fatalf("a result that is not behind its call: %s", show(s))
					}
				}
			case nil:
				t.Fatalf("a part that is none: %s", show(s))
			}
		}
	}
}
