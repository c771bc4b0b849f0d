package actors

import (
	"slices"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

func (s *state) hostPrompt(e queued) host.Prompt {
	return host.Prompt{Run: s.row.Generation, MessageID: e.wake.MessageID, Text: e.wake.Text, Images: e.wake.Images}
}

// beginRun opens a run for a prompt that has left the queue: its wake is taken in
// the commit that says so.
func (s *state) beginRun(e queued) {
	s.row.Generation++
	s.row.OpenRun = true
	s.run = &run{generation: s.row.Generation, messageID: e.wake.MessageID}
	if s.phase == phaseIdle {
		s.session.prompted = true
		if s.followers == 0 {
			s.held = nil
		}
	}
	s.phase = phaseRunning
	s.setStatus(s.view.live, true)
	s.wants().take = append(s.wants().take, e.wake.MessageID)
	s.record(recordRunStarted)
	s.userMessage(e)
}

func (s *state) userMessage(e queued) {
	text := e.wake.Text
	if m := s.transcript.find(e.wake.MessageID); m != nil { // the agent took its id
		s.publish(&wire.MessageEnd{MessageID: m.id, Role: m.role, StopReason: "aborted"})
	}
	s.publish(&wire.MessageStart{MessageID: e.wake.MessageID, Role: wire.RoleUser})
	s.publish(&wire.MessageEnd{MessageID: e.wake.MessageID, Role: wire.RoleUser, Text: &text, Images: e.wake.Images})
}

// called: a call into the session returned.
func (s *state) called(in *calledInput) {
	if in.session != s.session.number {
		return
	}
	switch c := in.call.(type) {
	case *callPrompt:
		s.promptHanded(c, in.failure)
	case *callSteer:
		if i := s.queue.index(c.prompt.MessageID); i >= 0 && in.failure != nil {
			s.queue.entries = slices.Clone(s.queue.entries)
			s.queue.entries[i].handed = false
		}
	case *callVerb:
		s.verbDone(c, in.failure)
	}
}

func (s *state) promptHanded(c *callPrompt, failure *wire.Failure) {
	if s.run == nil || s.run.generation != c.prompt.Run || s.phase == phaseSettling {
		return
	}
	if failure != nil {
		s.rejectRun(failure)
		return
	}
	s.run.handed = true
	if s.run.stop != nil {
		s.do(call{s.session.number, &callAbort{s.run.generation}})
		return
	}
	s.steerWaiting()
}

// rejectRun ends a run whose prompt was refused after its receipt.
func (s *state) rejectRun(f *wire.Failure) {
	s.publish(&wire.PromptRejected{MessageID: s.run.messageID, Reason: f.Message})
	s.endRun(wire.RunFailed, f)
}

func (s *state) verbDone(v *callVerb, failure *wire.Failure) {
	i := slices.Index(s.session.calling, v)
	if i < 0 {
		return // it was refused when the session went
	}
	s.session.calling = slices.Delete(slices.Clone(s.session.calling), i, i+1)
	if failure == nil {
		s.answer(v.token, nil)
		return
	}
	if m, ok := v.verb.(*setMode); ok {
		s.publish(&wire.PermissionModeRejected{Requested: m.mode, Reason: failure.Message})
	}
	s.refuse(v.token, failure.Code, "%s", failure.Message)
}

// runOver: the agent says that its run ended.
func (s *state) runOver(in *runOverInput) {
	if s.run == nil || in.run != s.run.generation {
		return
	}
	failure := in.failure
	if failure != nil && failure.Code == wire.CodePromptRejected {
		s.rejectRun(failure)
		return
	}
	outcome := in.outcome
	if !wire.Known(outcome) {
		outcome = wire.RunFailed
		failure = wire.Errorf(wire.CodeInternal, "the agent's adapter gave the run the outcome %q", in.outcome)
	}
	s.endRun(outcome, failure)
}

// endRun is the one way a run ends. It settles what the run left open and
// commits; run-ended and settled follow that commit, in settle.
func (s *state) endRun(outcome wire.RunOutcome, failure *wire.Failure) {
	r := s.run
	settled := s.finishAll(wire.DialogAborted, "run", askedInRun)
	if r.stop != nil {
		r.stop.receipt.Dialogs = append(r.stop.receipt.Dialogs, settled...)
	}
	s.closeOpen(outcome)
	r.outcome, r.failure, r.at = outcome, failure, s.now
	s.unhand()
	s.do(disarm{timerID{kind: timerAbort}})
	s.do(disarm{timerID{kind: timerKill}})
	s.phase = phaseSettling
	s.row.OpenRun = false
	s.row.Interrupted = nil
	if outcome != wire.RunCompleted {
		s.row.Interrupted = &wire.Interrupted{Reason: outcome, At: wire.At(s.now)}
	}
	s.record(recordRunEnded, r.ended())
	s.wants().then.settle = true
}

func (r *run) ended() *wire.RunEnded {
	return &wire.RunEnded{Generation: r.generation, Outcome: r.outcome, Error: r.failure, At: wire.At(r.at)}
}

// closeOpen ends the messages that were left open: a run leaves none.
func (s *state) closeOpen(outcome wire.RunOutcome) {
	reason := map[wire.RunOutcome]string{wire.RunCompleted: "end", wire.RunAborted: "aborted", wire.RunFailed: "error"}[outcome]
	s.flushHeld()
	for _, m := range slices.Clone(s.transcript.open) {
		s.publish(&wire.MessageEnd{MessageID: m.id, Role: m.role, StopReason: reason})
	}
}

// flushHeld tells what was held back in case it began a secret: nothing follows.
func (s *state) flushHeld() {
	for _, m := range slices.Clone(s.transcript.open) {
		for _, o := range s.session.scrub.flush(m.id, heldKey{}) {
			s.publish(o)
		}
	}
}

// unhand takes back what the runtime's steering was given and did not take in.
func (s *state) unhand() {
	s.queue.entries = slices.Clone(s.queue.entries)
	for i := range s.queue.entries {
		s.queue.entries[i].handed = false
	}
}

// settle closes the run: its commit is durable. Those who waited for the stop are
// answered, what the session said meanwhile is heard, and the thread moves on.
func (s *state) settle() {
	r := s.run
	s.publish(r.ended())
	s.publish(&wire.Settled{Generation: r.generation})
	s.run = nil
	s.dialogs.refusing = false
	s.phase = phaseIdle
	if !s.session.attached {
		s.phase = phaseCold
	}
	s.setStatus(s.view.live, false)
	if r.stop != nil {
		r.stop.receipt.Aborted = r.outcome == wire.RunAborted
		for _, t := range r.stop.waiting {
			s.answer(t, r.stop.receipt)
		}
	}
	reports := s.reports
	s.reports = nil
	for _, in := range reports {
		s.handle(in)
	}
	s.next()
}

// abort stops the run, drops the queue and settles the dialogs.
func (s *state) abort(in *abortInput) {
	if s.run == nil {
		s.abortWaiting(in)
		return
	}
	if s.run.stop != nil { // a stop drops what came since the first one too
		s.run.stop.receipt.Queue = append(s.run.stop.receipt.Queue, s.dropQueue()...)
		s.run.stop.waiting = append(s.run.stop.waiting, in.token)
		return
	}
	s.stopRun("abort")
	s.run.stop.receipt.Queue = s.dropQueue()
	s.run.stop.waiting = []token{in.token}
}

// stopRun tells the run to stop, once: dialogs first, since an agent may not hear
// a stop while it waits on one; the wish is remembered until the session has the
// prompt, so that it cannot overtake it.
func (s *state) stopRun(by string) {
	s.run.stop = &stop{receipt: s.emptyReceipt()}
	s.run.stop.receipt.Dialogs = s.finishAll(wire.DialogAborted, by, everyDialog)
	s.dialogs.refusing = true
	s.phase = phaseStopping
	if s.run.handed {
		s.do(call{s.session.number, &callAbort{s.run.generation}})
	}
	s.do(arm{timerID{kind: timerAbort}, s.limits.AbortGrace})
}

func (s *state) dropQueue() []wire.QueuedPrompt {
	dropped, ids := s.queue.drop()
	s.wants().take = append(s.wants().take, ids...)
	s.showQueue()
	return dropped
}

// emptyReceipt is a stop that ended nothing.
func (s *state) emptyReceipt() wire.AbortReceipt {
	return wire.AbortReceipt{
		Generation: s.row.Generation, Queue: []wire.QueuedPrompt{}, Dialogs: []string{},
		Processes: []wire.Process{}, Children: []string{},
	}
}

// abortWaiting: there is no run yet. The open questions are settled. A prompt that
// was about to open a run opens and ends it at once, stopped; the rest of the queue is
// dropped. With nothing there it is a no-op that says so.
func (s *state) abortWaiting(in *abortInput) {
	r := s.emptyReceipt()
	r.Dialogs = s.finishAll(wire.DialogAborted, "abort", everyDialog)
	if len(s.queue.entries) == 0 {
		s.answer(in.token, r)
		return
	}
	i := max(s.queue.next(), 0)
	head := s.queue.remove(i)
	r.Queue = s.dropQueue()
	if s.phase == phaseStarting {
		s.dropStart()
	}
	s.beginRun(head)
	r.Generation = s.run.generation
	s.run.stop = &stop{waiting: []token{in.token}, receipt: r}
	s.endRun(wire.RunAborted, nil)
}

// noRunToStop: the run is over already, so a stop is a no-op that says so; where
// it was a stop that ended it, one that comes now has the same receipt.
func (s *state) noRunToStop(in *abortInput) {
	if s.run.stop != nil {
		s.run.stop.waiting = append(s.run.stop.waiting, in.token)
		return
	}
	s.answer(in.token, s.emptyReceipt())
}

// killed says which processes a stop had to end.
func (s *state) killed(in *killedInput) {
	if s.run != nil && s.run.stop != nil && in.session == s.session.number {
		s.run.stop.receipt.Processes = append(s.run.stop.receipt.Processes, in.processes...)
	}
}
