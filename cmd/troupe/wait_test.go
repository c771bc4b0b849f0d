package main

import (
	"testing"

	"github.com/troupe-run/troupe/wire"
)

func obs(o wire.Observation) wire.Frame { return &wire.ObservationFrame{Seq: 1, Observation: o} }

func emptySnapshot(messages ...wire.Message) *wire.Snapshot {
	return &wire.Snapshot{ThreadID: "scripted.a", PermissionMode: wire.DefaultPermissionMode(), Messages: messages}
}

func text(s string) *string { return &s }

// enter is the frames of a prompt that enters a run, and of its answer.
func enter(id string) []wire.Frame {
	return []wire.Frame{
		&wire.Status{Live: true, Busy: true, Generation: 7},
		obs(&wire.MessageStart{MessageID: id, Role: wire.RoleUser}),
		obs(&wire.MessageEnd{MessageID: id, Role: wire.RoleUser, Text: text("do")}),
		obs(&wire.MessageStart{MessageID: id + "-a", Role: wire.RoleAssistant}),
		obs(&wire.MessageEnd{MessageID: id + "-a", Role: wire.RoleAssistant, Text: text("let me see")}),
		obs(&wire.MessageStart{MessageID: id + "-b", Role: wire.RoleAssistant}),
		obs(&wire.TextDelta{MessageID: id + "-b", Delta: "the answer"}),
		obs(&wire.MessageEnd{MessageID: id + "-b", Role: wire.RoleAssistant}),
	}
}

func runEnded(o wire.RunOutcome, f *wire.Failure) wire.Frame {
	return obs(&wire.RunEnded{Generation: 7, Outcome: o, Error: f})
}

func TestWaiter(t *testing.T) {
	user := wire.Message{ID: "p", Role: wire.RoleUser, Complete: true, Parts: []wire.Part{&wire.TextPart{Text: "do"}}}
	answer := wire.Message{ID: "p-a", Role: wire.RoleAssistant, Complete: true, Parts: []wire.Part{&wire.TextPart{Text: "done"}}}
	interrupted := emptySnapshot(user, answer)
	interrupted.Interrupted = &wire.Interrupted{Reason: wire.RunFailed}
	queue := func(ids ...string) wire.Frame {
		q := &wire.Queue{}
		for _, id := range ids {
			q.Enqueued = append(q.Enqueued, wire.QueuedPrompt{MessageID: id})
		}
		return obs(q)
	}
	for name, c := range map[string]struct {
		frames  []wire.Frame
		outcome string
		text    string
	}{
		"completes": {append(enter("p"), runEnded(wire.RunCompleted, nil)), "completed", "the answer"},
		"fails":     {append(enter("p"), runEnded(wire.RunFailed, wire.Errorf(wire.CodeProvider, "no"))), "failed", "the answer"},
		"aborts":    {append(enter("p"), runEnded(wire.RunAborted, nil)), "aborted", "the answer"},
		"another prompt's run does not count": {append(append(enter("other"), runEnded(wire.RunFailed, nil)),
			append(enter("p"), runEnded(wire.RunCompleted, nil))...), "completed", "the answer"},
		"rejected": {[]wire.Frame{obs(&wire.PromptRejected{MessageID: "p", Reason: "no command"})}, "rejected", ""},
		"rejected by its run's end": {append(enter("p"), runEnded(wire.RunFailed, wire.Errorf(wire.CodeCommandMissing, "pi"))),
			"rejected", "the answer"},
		"dropped from the queue by an abort": {[]wire.Frame{queue("x", "p"), queue(), runEnded(wire.RunAborted, nil),
			&wire.Status{Live: true, Generation: 7}}, "aborted", ""},
		"queued behind an aborted run": {append(append([]wire.Frame{queue("p"), runEnded(wire.RunAborted, nil),
			&wire.Status{Live: true, Generation: 6}, queue()}, enter("p")...), runEnded(wire.RunCompleted, nil)), "completed", "the answer"},
		"withdrawn while another runs": {[]wire.Frame{&wire.Status{Live: true, Busy: true, Generation: 7}, queue("x", "p"), queue("x")}, "aborted", ""},
		"another prompt came behind it": {[]wire.Frame{emptySnapshot(user, answer,
			wire.Message{ID: "q", Role: wire.RoleUser, Complete: true, Parts: []wire.Part{&wire.TextPart{Text: "and"}}},
			wire.Message{ID: "q-a", Role: wire.RoleAssistant, Complete: true, Parts: []wire.Part{&wire.TextPart{Text: "two"}}})}, "completed", "done"},
		"over when the connection is back":        {[]wire.Frame{emptySnapshot(user, answer)}, "completed", "done"},
		"interrupted when the connection is back": {[]wire.Frame{interrupted}, "failed", "done"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWaiter("p")
			w.Frame(emptySnapshot())
			for i, f := range c.frames {
				if _, over := w.Frame(f); over != (i == len(c.frames)-1) {
					t.Fatalf("frame %d of %d: over %v", i+1, len(c.frames), over)
				}
			}
			if r := w.result(); r.Outcome != c.outcome || r.Text != c.text {
				t.Errorf("%q with %q, want %q with %q", r.Outcome, r.Text, c.outcome, c.text)
			}
		})
	}
}

func TestWaiterTellsOfQuestions(t *testing.T) {
	w := newWaiter("p")
	w.Frame(emptySnapshot())
	w.thread = "scripted.a"
	news, over := w.Frame(obs(&wire.ExtensionUIRequest{ID: "d1", Blocking: true, Dialog: &wire.ConfirmDialog{Title: "Sure?"}}))
	if want := "a question waits: Sure?; answer it: troupe answer scripted.a d1"; news != want || over {
		t.Errorf("news %q, over %v", news, over)
	}
}

// TestWaiterWhoseServerForgotTheRun: a server that came back without the run has
// lost it; that is a failure, not the end of a run.
func TestWaiterWhoseServerForgotTheRun(t *testing.T) {
	w := newWaiter("m1")
	frames := []wire.Frame{
		&wire.Snapshot{ThreadID: "scripted.a", Messages: []wire.Message{}},
		&wire.Status{Live: true, Busy: true, Generation: 1},
		&wire.ObservationFrame{Seq: 1, Observation: &wire.MessageStart{MessageID: "m1", Role: wire.RoleUser}},
	}
	for _, f := range frames {
		if _, over := w.Frame(f); over {
			t.Fatalf("over after %T", f)
		}
	}
	if _, over := w.Frame(&wire.Snapshot{ThreadID: "scripted.a", Messages: []wire.Message{}}); !over || w.outcome != string(wire.RunFailed) || w.failure == nil {
		t.Errorf("%v, %q, %v", over, w.outcome, w.failure)
	}
}
