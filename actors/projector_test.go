package actors

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/troupe-run/troupe/wire"
)

// scribe does for a projector what a thread does: it mints the seq of every event,
// encodes and reads it again, holds the rules of their sequence, and folds them.
type scribe struct {
	t      fataler
	p      *projector
	m      *materialiser
	seq    wire.Sequence
	now    time.Time
	events []*wire.Event
	deltas []wire.Delta
	runs   uint64
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

var projectedThread = wire.ThreadID{Type: "helper", ID: "01"}

func newScribe(t fataler) *scribe {
	s := &scribe{
		t: t, p: newProjector(projectedThread, "scripted", wire.HarnessNative), m: newMaterialiser(wire.NewEntityState()),
		now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
	}
	s.mint(spawned(projectedThread, "", nil, ""))
	return s
}

func (s *scribe) moment() moment { return moment{now: s.now, head: s.seq.Last()} }

func (s *scribe) mint(payloads ...wire.Payload) {
	s.t.Helper()
	for _, p := range payloads {
		e := &wire.Event{V: wire.EventVersion, EntityID: wire.AddressOf(projectedThread).String(), Seq: s.seq.Last() + 1, TS: wire.At(s.now), Payload: p}
		b, err := wire.EncodeEvent(e)
		if err != nil {
			s.t.Fatalf("%s: %v", p.EventType(), err)
		}
		back, err := wire.DecodeEvent(b)
		if err != nil {
			s.t.Fatalf("%s: %v", b, err)
		}
		if found := s.seq.Next(back); len(found) > 0 {
			s.t.Fatalf("%s: %v", b, found)
		}
		s.m.apply(back, len(b))
		s.events = append(s.events, back)
	}
}

func (s *scribe) observe(obs ...wire.Observation) {
	s.t.Helper()
	for _, o := range obs {
		out := s.p.observe(s.moment(), o)
		s.deltas = append(s.deltas, out.deltas...)
		s.mint(out.events...)
		s.now = s.now.Add(time.Millisecond)
	}
}

func (s *scribe) begin() {
	s.t.Helper()
	s.runs++
	s.mint(s.p.begin(s.moment(), wakeup{run: fmt.Sprintf("r%d", s.runs), source: wire.WakeMessage}))
}

func (s *scribe) ended(outcome wire.RunOutcome, f *wire.Failure) *wire.RunEnded {
	return &wire.RunEnded{Generation: s.runs, Outcome: outcome, Error: f, At: wire.At(s.now)}
}

// userSays is a user's message.
func userSays(id, text string) []wire.Observation {
	return []wire.Observation{
		&wire.MessageStart{MessageID: id, Role: wire.RoleUser}, &wire.MessageEnd{MessageID: id, Role: wire.RoleUser, Text: &text},
	}
}

// sameAsLive holds that the events fold to the messages that the observations do.
func sameAsLive(t fataler, s *scribe, live *wire.Snapshot) {
	t.Helper()
	for i := len(live.Messages) - 1; i >= 0 && !live.Messages[i].Complete; i-- {
		t.Fatalf("message %s is still open", live.Messages[i].ID)
	}
	for what, state := range map[string]*wire.EntityState{
		"the events": wire.FoldEvents(wire.NewEntityState(), s.events...), "the materialiser": s.m.state,
	} {
		stored := state.Snapshot(live.ThreadID)
		got, want := encodedLines(t, stored), encodedLines(t, live)
		if !slices.Equal(got, want) {
			t.Fatalf("%s fold to\n%s\nlive it is\n%s\nof the events\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"), strings.Join(eventLines(t, s.events), "\n"))
		}
	}
}

// encodedLines is what a snapshot says that the timeline knows too.
func encodedLines(t fataler, s *wire.Snapshot) []string {
	t.Helper()
	var out []string
	for i := range s.Messages {
		b, err := wire.Encode(&s.Messages[i])
		if err != nil {
			t.Fatalf("%v", err)
		}
		out = append(out, string(b))
	}
	b, err := wire.Encode(s.Interrupted)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return append(out, string(b))
}

func eventLines(t fataler, events []*wire.Event) []string {
	t.Helper()
	var out []string
	for _, e := range events {
		b, err := wire.EncodePayload(e.Payload)
		if err != nil {
			t.Fatalf("%v", err)
		}
		out = append(out, fmt.Sprintf("%d %s %s", e.Seq, e.Payload.EventType(), b))
	}
	return out
}

// anySaid draws what an agent may say, from few ids so that they meet. Each call
// has an id of its own, as adapters mint them, but may be called again in the same
// breath.
func anySaid(t *rapid.T, calls *int) wire.Observation {
	id := rapid.SampledFrom([]string{"a", "b", "a+2"}).Draw(t, "message")
	word := rapid.SampledFrom([]string{"", "x", "é", "a longer text"}).Draw(t, "word")
	role := rapid.SampledFrom([]wire.Role{wire.RoleAssistant, wire.RoleAssistant, wire.RoleAssistant, wire.RoleUser, wire.RoleTool, wire.RoleSystem}).Draw(t, "role")
	yes := rapid.Bool().Draw(t, "yes")
	switch rapid.IntRange(0, 14).Draw(t, "what") {
	case 0, 1, 2:
		return &wire.MessageStart{MessageID: id, Role: role}
	case 3, 4:
		return &wire.TextDelta{MessageID: id, Delta: word}
	case 5:
		return &wire.ThinkingDelta{MessageID: id, Delta: word}
	case 6:
		e := &wire.MessageEnd{MessageID: id, Role: role, Usage: &wire.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4}}
		if yes {
			e.Text = &word
		}
		if word == "x" {
			e.Images = []wire.Image{{MimeType: "image/png", Data: "aGk="}}
		}
		return e
	case 7, 8, 9:
		*calls++
		in := id
		if yes {
			in = ""
		}
		return &wire.ToolCall{ToolCallID: fmt.Sprintf("c%d", *calls), ToolName: "t", Input: json.RawMessage("{}"), MessageID: in}
	case 10, 11, 12:
		n := rapid.IntRange(0, *calls+1).Draw(t, "call")
		r := &wire.ToolResult{ToolCallID: fmt.Sprintf("c%d", n), ToolName: "t", Text: word, Complete: rapid.IntRange(0, 3).Draw(t, "complete") > 0, IsError: yes}
		if word == "x" {
			r.Descriptor = &wire.Descriptor{Kind: "tool.t", Props: map[string]json.RawMessage{"a": json.RawMessage("1")}}
		}
		return r
	case 13:
		return &wire.CustomEntry{CustomType: word, Data: json.RawMessage("[1]")}
	default:
		return rapid.SampledFrom([]wire.Observation{
			&wire.Unmapped{Event: json.RawMessage(`{"x":1}`)}, &wire.TurnStart{Turn: 1}, &wire.ProviderRetrying{Attempt: 1},
			&wire.ProviderRefused{Message: "no"}, &wire.ExtensionError{Extension: "e", Message: "no"},
			&wire.BranchCompacted{Summary: "s", Reason: wire.CompactionOverflow}, &wire.SessionUsageChanged{Usage: wire.SessionUsage{Input: 5}},
			&wire.Model{Model: wire.ModelState{Provider: "acme", ID: "m-1"}},
		}).Draw(t, "else")
	}
}

// Project, write, read, fold: what comes out is what followers saw. Runs begin and
// end anywhere; a session speaks outside of them too.
func TestProjectedEventsFoldToWhatWasLive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newScribe(t)
		live := &wire.Snapshot{ThreadID: projectedThread.String(), PermissionMode: wire.DefaultPermissionMode()}
		tell := func(obs ...wire.Observation) {
			for _, o := range obs {
				s.observe(o)
				live.Apply(o)
			}
		}
		calls := 0
		endOpen := func() {
			for _, m := range slices.Clone(live.Messages) {
				if !m.Complete {
					tell(&wire.MessageEnd{MessageID: m.ID, Role: m.Role})
				}
			}
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch n := rapid.IntRange(0, 12).Draw(t, "step"); {
			case n == 0 && s.p.run == nil:
				s.begin()
				live.Interrupted = nil // as the status frame of a busy thread has it
				tell(userSays(fmt.Sprintf("p%d", s.runs), "go on")...)
			case n == 0:
				endOpen()
				outcome := rapid.SampledFrom([]wire.RunOutcome{wire.RunCompleted, wire.RunAborted, wire.RunFailed}).Draw(t, "outcome")
				tell(s.ended(outcome, nil))
			case n == 1:
				tell(userSays(fmt.Sprintf("s%d", len(s.events)), "steered")...)
			default:
				tell(anySaid(t, &calls))
			}
		}
		endOpen()
		if s.p.run != nil {
			tell(s.ended(wire.RunCompleted, nil))
		}
		sameAsLive(t, s, live)
		refsAreFinal(t, s)
	})
}

// refsAreFinal holds that every delta's ref is the id of an event that finalises
// it, and that idx counts from 0 without a gap.
func refsAreFinal(t fataler, s *scribe) {
	t.Helper()
	ids := map[string]bool{}
	for _, e := range s.events {
		switch p := e.Payload.(type) {
		case *wire.MessageEvent:
			ids["text "+p.ID] = true
		case *wire.Reasoning:
			ids["reasoning "+p.ID] = true
		case *wire.RunStarted:
			ids["usage "+p.RunID] = true
		}
	}
	for _, d := range s.deltas {
		ref := ""
		switch d := d.(type) {
		case *wire.DeltaText:
			ref = d.Ref
		case *wire.DeltaReasoning:
			ref = d.Ref
		case *wire.DeltaUsage:
			ref = d.Ref
		}
		if !ids[d.DeltaKind()+" "+ref] {
			t.Fatalf("no event finalises the %s delta of %q: %s", d.DeltaKind(), ref, strings.Join(eventLines(t, s.events), "\n"))
		}
		if _, err := wire.EncodeDelta(d); err != nil {
			t.Fatalf("%v", err)
		}
	}
}
