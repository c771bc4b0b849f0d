package actors

import (
	"github.com/troupe-run/troupe/wire"
)

// park keeps a command until the journal is read.
func (s *state) park(in input) {
	if len(s.parked) >= s.limits.Parked {
		s.refuse(tokenOf(in), wire.CodeUnavailable, "the thread is loading and %d commands wait", len(s.parked))
		return
	}
	s.parked = append(s.parked, in)
	if s.unloaded {
		s.unloaded = false
		s.do(load{})
	}
}

// tokenOf is the reply that a command waits for.
func tokenOf(in input) token {
	switch in := in.(type) {
	case *createInput:
		return in.token
	case *promptInput:
		return in.token
	case *withdrawInput:
		return in.token
	case *abortInput:
		return in.token
	case *dialogsInput:
		return in.token
	case *answerInput:
		return in.token
	case *subscribeInput:
		return in.token
	case *pinInput:
		return in.token
	case *configureInput:
		return in.token
	case *renameInput:
		return in.token
	case *tailsInput:
		return in.token
	case *drainInput:
		return in.token
	}
	return 0
}

// loaded: the record is read. A run that the last incarnation left open is ended,
// once, as failed; then what was parked is heard, in order.
func (s *state) loaded(in *loadedInput) {
	s.exists, s.epoch = in.opened.Exists, in.opened.Epoch
	s.phase = phaseCold
	if s.exists {
		s.row = in.record
		if s.row.Tags == nil {
			s.row.Tags = map[string]string{}
		}
		s.head, s.committed = s.row.Head, s.row.Head
		s.view.interrupted = s.row.Interrupted
		s.row.Usage.Context = nil // of a session that is gone
	}
	for _, w := range in.opened.Wakes {
		s.queue.push(queued{wake: w, durable: true})
	}
	s.notBefore = s.now.Add(in.verdict.delay)
	if in.verdict.exhausted && (s.row.OpenRun || len(s.queue.entries) > 0) {
		s.fail() // what would run again; to look at a thread changes nothing
	}
	if s.row.OpenRun {
		s.run = &run{generation: s.row.Generation}
		s.view.busy = true
		s.phase = phaseRunning
		s.endRun(wire.RunFailed, &wire.Failure{Code: wire.CodeCrashed, Message: "the thread was rebuilt in mid-run"})
	}
	parked := s.parked
	s.parked = nil
	for _, p := range parked {
		s.handle(p)
	}
	s.next()
	s.touch()
}

// loadFailed: without its record a thread does nothing. What waited is refused.
func (s *state) loadFailed(in *loadFailedInput) {
	s.unloaded = true
	parked := s.parked
	s.parked = nil
	for _, p := range parked {
		s.refuse(tokenOf(p), in.failure.Code, "%s", in.failure.Message)
	}
}

// committedNow: the oldest commit under way is durable.
func (s *state) committedNow(*committedInput) {
	done := s.commits[0]
	s.commits = append([]underWay(nil), s.commits[1:]...)
	s.committed = done.head
	s.transcript.committed(done.head)
	for _, id := range done.durable {
		if i := s.queue.index(id); i >= 0 {
			s.queue.entries = append([]queued(nil), s.queue.entries...)
			s.queue.entries[i].durable = true
		}
	}
	if done.settle {
		s.settle()
	} else {
		s.next()
	}
	s.steerWaiting()
	for _, r := range done.replies {
		s.answer(r.token, r.value(s))
	}
}

func (s *state) rename(in *renameInput) {
	if !s.exists {
		s.refuse(in.token, wire.CodeNotFound, "no thread %s", s.id)
		return
	}
	s.row.Title = in.title
	s.afterCommit(in.token, func(*state) any { return nil })
}

func (s *state) listDialogs(in *dialogsInput) { s.answer(in.token, s.dialogs.list()) }

// answerDialog: the first answer wins. A refused one leaves the question open; a
// spent id is not found.
func (s *state) answerDialog(in *answerInput) {
	d, open := s.dialogs.find(in.answer.ID)
	if !open {
		s.refuse(in.token, wire.CodeNotFound, "no question %q is open on this thread", in.answer.ID)
		return
	}
	if err := wire.ValidateAnswer(d.spec, in.answer); err != nil {
		f := wire.AsFailure(err)
		s.refuse(in.token, f.Code, "%s", f.Message)
		return
	}
	outcome := wire.DialogAnswered
	if _, cancel := in.answer.Arm.(*wire.CancelArm); cancel {
		outcome = wire.DialogCancelled
	}
	s.finish(d.id, outcome, "person", in.answer.Arm)
	s.answer(in.token, nil)
}

func (s *state) pinHistory(in *pinInput) { s.answer(in.token, s.pinNow(in.cwd)) }

// emittedRows is the emitted tail on its way to whoever asked; nil without a
// session, since the tails live with it.
type emittedRows []wire.TailRow

func (s *state) listTail(in *tailsInput) {
	var rows emittedRows
	if s.session.attached {
		rows = s.emitted.list()
	}
	s.answer(in.token, rows)
}

// drain ends what the host's stop must not leave: the run, then the session. What
// waits in the queue stays a wake in the journal.
func (s *state) drain(in *drainInput) {
	s.draining = true
	for _, v := range s.session.verbs {
		s.refuse(v.token, wire.CodeUnavailable, "the host is stopping")
	}
	s.session.verbs = nil
	s.drains = append(s.drains, in.token)
	switch s.phase {
	case phaseRunning:
		s.stopRun("shutdown")
	case phaseStarting:
		s.dropStart()
	}
	s.next()
}

// drainOn is the next stage of a drain.
func (s *state) drainOn() {
	if s.phase == phaseIdle {
		s.lostSession()
	}
	if s.phase == phaseCold && s.session.closing == 0 {
		for _, t := range s.drains {
			s.answer(t, nil)
		}
		s.drains = nil
	}
}

func (s *state) stopIfQuiet(*stopIfQuietInput) {
	if s.quiet() {
		s.do(stopSelf{})
		return
	}
	s.do(decline{})
}

// timer: an armed timer fired. One that has become pointless does nothing.
func (s *state) timer(in *timerInput) {
	switch in.timer.kind {
	case timerDialog:
		s.finish(in.timer.key, wire.DialogTimeout, "timer", nil)
	case timerAbort:
		if s.phase == phaseStopping {
			s.do(kill{s.session.number})
			s.do(arm{timerID{kind: timerKill}, s.limits.KillGrace})
		}
	case timerKill:
		if s.phase == phaseStopping { // not even its end was told: give it up
			s.lostSession()
			s.endRun(wire.RunAborted, nil)
		}
	case timerIdle:
		s.idleArmed = false
		if s.disposable() {
			s.lostSession()
		}
	case timerPassivate:
		s.passivateArmed = false
		if s.quiet() {
			s.passivateArmed = true
			s.do(askPassivate{})
		}
	case timerBackoff:
		s.next()
	}
}
