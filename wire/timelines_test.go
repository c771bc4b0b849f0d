package wire

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// timelines are those of every version of the schema, one event a line, by their
// path. They are never edited: what was once written is read for ever.
func timelines(t testing.TB) map[string][][]byte {
	t.Helper()
	files, err := filepath.Glob("../testdata/timelines/v*/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d timelines, %v", len(files), err)
	}
	out := map[string][][]byte{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[f] = bytes.Split(bytes.TrimSuffix(b, []byte("\n")), []byte("\n"))
	}
	return out
}

// Every old timeline reads, writes as it was, keeps the rules, and folds into the
// state beside it, from any of its events on.
func TestTimelinesReplay(t *testing.T) {
	types := map[EventType]bool{}
	for path, lines := range timelines(t) {
		t.Run(strings.TrimPrefix(path, "../testdata/timelines/"), func(t *testing.T) {
			var events []*Event
			var seq Sequence
			for i, line := range lines {
				e, err := DecodeEvent(line)
				if err != nil {
					t.Fatalf("line %d: %v", i+1, err)
				}
				again, err := EncodeEvent(e)
				if err != nil || !bytes.Equal(again, line) {
					t.Errorf("line %d writes as\n%s (%v), was\n%s", i+1, again, err, line)
				}
				for _, v := range seq.Next(e) {
					t.Error(v)
				}
				types[e.Payload.EventType()] = true
				events = append(events, e)
			}
			state := FoldEvents(NewEntityState(), events...)
			got, err := Encode(state)
			if err != nil {
				t.Fatal(err)
			}
			golden := strings.TrimSuffix(path, ".jsonl") + ".state.json"
			if _, err := os.Stat(golden); *update && err != nil {
				writeIndented(t, golden, got)
			}
			file, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			var want bytes.Buffer
			if err := json.Compact(&want, file); err != nil {
				t.Fatal(err)
			}
			if want.String() != string(got) {
				t.Errorf("folds to\n%s\nwant\n%s", got, want.String())
			}
			stepwise(t, events, string(got))
		})
	}
	for _, typ := range EventTypes() {
		if !types[typ] {
			t.Errorf("no timeline has %s", typ)
		}
	}
}

// stepwise holds that the state at any event, encoded and read again, goes on to
// the same end, and that the rules can be checked from there.
func stepwise(t *testing.T, events []*Event, want string) {
	t.Helper()
	for i := range events {
		half, err := EncodeState(FoldEvents(NewEntityState(), events[:i]...), MaxSnapshotBytes)
		if err != nil {
			t.Fatal(err)
		}
		s, err := DecodeState(half)
		if err != nil {
			t.Fatalf("after %d events: %v", i, err)
		}
		if got, err := Encode(FoldEvents(s, events[i:]...)); err != nil || string(got) != want {
			t.Errorf("from event %d on: %s (%v)\nwant %s", i, got, err, want)
		}
		var seq Sequence
		for _, e := range events[i:] {
			if v := seq.Next(e); len(v) > 0 {
				t.Errorf("checked from event %d on: %v", i, v)
			}
		}
	}
}

func TestFoldEventsLeavesItsInputAlone(t *testing.T) {
	for path, lines := range timelines(t) {
		s := NewEntityState()
		for _, line := range lines {
			e, err := DecodeEvent(line)
			if err != nil {
				t.Fatal(err)
			}
			before, _ := Encode(s)
			next := FoldEvents(s, e)
			if after, _ := Encode(s); !bytes.Equal(before, after) {
				t.Fatalf("%s: seq %d changed its input to\n%s, was\n%s", path, e.Seq, after, before)
			}
			s = next
		}
	}
}

// A state over its limit first loses what a summarization replaced, and only
// beyond that says that it is truncated.
func TestStateLimit(t *testing.T) {
	fill := func(n int) *EntityState {
		s := NewEntityState()
		for i := range n {
			s.Apply(&Event{Seq: int64(i + 1), Payload: &MessageEvent{
				ID: "m", Role: EventRoleUser, Content: []ContentBlock{&TextBlock{Text: strings.Repeat("\x01", 100)}},
			}})
		}
		return s
	}
	for _, c := range []struct {
		replaces          int64
		truncated, shrunk bool
		limit             int
	}{
		{0, false, false, 1 << 20},
		{0, true, true, 20_000},
		{90, false, true, 20_000},
		{10, true, true, 20_000},
	} {
		s := fill(100)
		if c.replaces > 0 {
			s.Apply(&Event{Seq: 101, Payload: &Summarization{Summary: "s", ReplacesThroughSeq: c.replaces}})
		}
		b, err := EncodeState(s, c.limit)
		if err != nil || len(b) > c.limit {
			t.Fatalf("%d bytes, %v", len(b), err)
		}
		got, err := DecodeState(b)
		if err != nil {
			t.Fatal(err)
		}
		if got.Truncated != c.truncated || got.Omitted > 0 != c.shrunk || int(got.Omitted)+len(got.Messages) != 100 {
			t.Errorf("replaced %d, limit %d: truncated %v, omitted %d, kept %d", c.replaces, c.limit, got.Truncated, got.Omitted, len(got.Messages))
		}
		if len(s.Messages) != 100 {
			t.Error("the state itself was cut")
		}
	}
	s := NewEntityState()
	for range 10_000 {
		s.Apply(&Event{Seq: 1, Payload: &ChildSpawned{ChildID: exampleChild, ChildType: "helper"}})
	}
	b, err := EncodeState(s, 20_000)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := DecodeState(b); err != nil || !got.Truncated {
		t.Errorf("%d children fit in 20 kB and nothing is missing: %v", len(s.Children), err)
	}
	if _, err := EncodeState(NewEntityState(), 10); err == nil || AsFailure(err).Code != CodeTooLarge {
		t.Errorf("a state of 10 bytes: %v", err)
	}
}

func TestStateAsASnapshot(t *testing.T) {
	s := exampleState()
	got := s.Snapshot("helper.01")
	if got.ThreadID != "helper.01" || got.Live || got.Generation != 3 || got.RecordedModel == nil || got.Interrupted == nil ||
		!slices.EqualFunc(got.Messages, s.Messages, func(a, b Message) bool { return a.ID == b.ID && len(a.Parts) == len(b.Parts) }) {
		t.Errorf("%+v", got)
	}
	if _, err := EncodeFrame(got); err != nil {
		t.Error(err)
	}
}
