package main

import (
	"slices"
	"strings"

	"github.com/troupe-run/troupe/wire"
)

const outcomeRejected = "rejected"

// waiter watches a follow for the end of the run that took one prompt in. It has
// no I/O: frames go in.
type waiter struct {
	messageID string
	thread    string

	folder     *wire.Folder
	entered    bool // the prompt is in the transcript
	queued     bool // the prompt is in the queue
	followed   bool // its run's end was seen
	sawAbort   bool // a run was aborted while the prompt was in the queue
	busy       bool
	generation uint64
	outcome    string
	failure    *wire.Failure
}

func newWaiter(messageID string) *waiter { return &waiter{messageID: messageID} }

// Frame takes a frame in. news is a line for the person, over the run's end.
func (w *waiter) Frame(f wire.Frame) (news string, over bool) {
	if w.folder == nil {
		s, ok := f.(*wire.Snapshot)
		if !ok {
			return "", false
		}
		w.folder = wire.NewFolder(s)
	} else {
		w.folder.Add(f)
	}
	switch f := f.(type) {
	case *wire.Snapshot:
		w.snapshot(f)
	case *wire.Status:
		w.busy, w.generation = f.Busy, f.Generation
		if !f.Busy && w.sawAbort && !w.queued && !w.entered {
			w.outcome = string(wire.RunAborted)
			w.failure = wire.Errorf(wire.CodeConflict, "the prompt was dropped from the queue by an abort")
		}
	case *wire.ObservationFrame:
		news = w.observe(f.Observation)
	}
	return news, w.outcome != ""
}

// snapshot is where a reconnect may find that the run is over already, or that the
// server does not know it any more.
func (w *waiter) snapshot(s *wire.Snapshot) {
	still := w.entered && s.Busy && s.Generation == w.generation // the run that took it in goes on
	w.busy, w.generation = s.Busy, s.Generation
	there := slices.ContainsFunc(s.Messages, func(m wire.Message) bool { return m.ID == w.messageID })
	if w.entered && !there {
		w.outcome = string(wire.RunFailed)
		w.failure = wire.Errorf(wire.CodeUnavailable, "the server lost the run: it was started anew meanwhile")
		return
	}
	w.entered = there
	if !w.entered || w.outcome != "" {
		return
	}
	if _, later := w.answer(s.Messages); later && !still {
		w.outcome = string(wire.RunCompleted) // nothing in the transcript says how it ended
		return
	}
	if s.Busy {
		return
	}
	w.outcome = string(wire.RunCompleted)
	if s.Interrupted != nil {
		w.outcome = string(s.Interrupted.Reason)
	}
}

// answer is the last of the agent's texts behind the prompt; later says that another
// prompt came behind it. If the run was not followed to its end, what came behind that
// one is not counted: nothing in the transcript tells a prompt that was steered into
// the run from one that opened the next.
func (w *waiter) answer(messages []wire.Message) (said string, later bool) {
	after := false
	for _, m := range messages {
		switch {
		case m.ID == w.messageID:
			after = true
		case after && m.Role == wire.RoleUser:
			later = true
		}
		if !after || m.Role != wire.RoleAssistant || later && !w.followed {
			continue
		}
		var text []string
		for _, p := range m.Parts {
			if t, ok := p.(*wire.TextPart); ok && strings.TrimSpace(t.Text) != "" {
				text = append(text, t.Text)
			}
		}
		if len(text) > 0 {
			said = strings.Join(text, "\n\n")
		}
	}
	return said, later
}

func (w *waiter) observe(o wire.Observation) (news string) {
	switch o := o.(type) {
	case *wire.MessageStart:
		w.entered = w.entered || o.MessageID == w.messageID
	case *wire.Queue:
		mine := func(p wire.QueuedPrompt) bool { return p.MessageID == w.messageID }
		was := w.queued
		w.queued = slices.ContainsFunc(o.Interrupting, mine) || slices.ContainsFunc(o.Enqueued, mine)
		if was && !w.queued && !w.entered && w.busy { // at rest, the next to run is not shown as waiting
			w.outcome = string(wire.RunAborted)
			w.failure = wire.Errorf(wire.CodeConflict, "the prompt was taken out of the queue before it ran: withdrawn, or dropped by an abort")
		}
	case *wire.PromptRejected:
		if o.MessageID == w.messageID {
			w.outcome = outcomeRejected
			w.failure = wire.Errorf(wire.CodePromptRejected, "%s", o.Reason)
		}
	case *wire.ExtensionUIRequest:
		if o.Blocking && o.Dialog != nil {
			return "a question waits: " + dialogTitle(o.Dialog) + "; answer it: troupe answer " + plain(w.thread) + " " + plain(o.ID)
		}
	case *wire.RunEnded:
		if w.entered {
			w.followed = true
			w.outcome, w.failure, w.generation = string(o.Outcome), o.Error, o.Generation
			if o.Error != nil && (o.Error.Code == wire.CodePromptRejected || o.Error.Code == wire.CodeCommandMissing) {
				w.outcome = outcomeRejected
			}
		} else if o.Outcome == wire.RunAborted {
			w.sawAbort = true
		}
	}
	return ""
}

// result is what there is to say once it is over. Its text is that of the last
// message the agent wrote after the prompt.
func (w *waiter) result() waitResult {
	res := waitResult{ThreadID: w.thread, MessageID: w.messageID, Generation: w.generation, Outcome: w.outcome, Error: w.failure}
	if w.folder == nil {
		return res
	}
	res.Text, _ = w.answer(w.folder.Snapshot().Messages)
	return res
}
