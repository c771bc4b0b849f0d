package actors

import (
	"fmt"
	"slices"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// startSession starts a session, once the one before is closed and any backoff
// has passed. Session numbers are unique across the thread's incarnations: the
// epoch is part of them.
func (s *state) startSession() {
	if s.session.closing > 0 {
		return // sessionClosed comes back here
	}
	if wait := s.notBefore.Sub(s.now); wait > 0 {
		s.do(arm{timerID{kind: timerBackoff}, wait})
		return
	}
	s.session.count++
	s.session.number = s.epoch<<20 | s.session.count&(1<<20-1)
	s.session.attached, s.session.prompted, s.session.exited = true, false, nil
	s.session.listened = s.followers > 0
	s.phase = phaseStarting
	s.do(startSession{session: s.session.number, cwd: s.row.Cwd, resume: s.row.Resume})
}

// sessionUp: the session speaks or has started, so it exists.
func (s *state) sessionUp() {
	if s.view.live {
		return
	}
	s.setStatus(true, s.view.busy)
	if !s.session.listened {
		s.held = &held{base: s.pinNow("")}
	}
}

func (s *state) sessionStarted(in *sessionStartedInput) {
	if !s.mine(in.session) {
		return
	}
	if e := s.session.exited; e != nil {
		s.startFailed(&startFailedInput{session: in.session, verdict: in.verdict, failure: &wire.Failure{
			Code: wire.CodeStartFailed, Message: exitText(e.exit),
		}})
		return
	}
	s.sessionUp()
	if in.info.Resume != "" && in.info.Resume != s.row.Resume {
		s.row.Resume = in.info.Resume
		s.wants().row = true
	}
	if m := in.info.Model; m != nil && s.view.model == nil {
		s.say(&wire.Model{Model: *m})
	}
	if m := in.info.Mode; m != nil && m.Mode != s.row.Mode.Mode {
		s.say(&wire.PermissionMode{Mode: m.Mode, Available: m.Available})
	}
	s.phase = phaseIdle
	s.next()
}

// startFailed: there is no session. The prompt that wanted it is rejected, with
// the reason; the verbs that wanted it are refused.
func (s *state) startFailed(in *startFailedInput) {
	if !s.mine(in.session) {
		return
	}
	s.strike(in.verdict)
	s.lostSession()
	for _, v := range s.session.verbs {
		s.refuse(v.token, in.failure.Code, "%s", in.failure.Message)
	}
	s.session.verbs = nil
	if in.crashed {
		s.fail()
	}
	i := s.queue.next()
	if i < 0 {
		s.next()
		return
	}
	e := s.queue.remove(i)
	s.beginRun(e)
	s.rejectRun(&wire.Failure{Code: in.failure.Code, Message: in.failure.Message})
}

// mine says whether a report is of the session the thread has. One of an earlier
// session is not heard any more.
func (s *state) mine(session uint64) bool {
	return s.session.attached && session == s.session.number
}

// dropStart gives up a session that has not come up.
func (s *state) dropStart() {
	s.do(cancelStart{s.session.number})
	s.lostSession()
}

// lostSession is the one way a thread loses its session: its open questions are
// cancelled, what it left open is ended, and it is closed. What it still says is
// not heard. The thread is cold unless a run has to end first.
func (s *state) lostSession() {
	s.finishAll(wire.DialogCancelled, "session", everyDialog)
	if s.run == nil {
		s.closeOpen(wire.RunFailed)
	}
	s.flushHeld()
	s.held = nil
	s.session.scrub = scrubber{}
	s.session.attached = false
	s.session.closing++
	s.emitted.rows = nil
	for _, v := range s.session.calling {
		s.refuse(v.token, wire.CodeSessionExited, "the session ended before it had answered")
	}
	s.session.calling = nil
	s.do(dispose{s.session.number})
	s.setStatus(false, s.view.busy)
	if s.view.login != nil {
		s.publish(&wire.Login{State: wire.LoginEnded, Provider: s.view.login.Provider, Since: s.view.login.Since})
	}
	if s.run == nil {
		s.phase = phaseCold
	}
}

func (s *state) sessionClosed(*sessionClosedInput) {
	s.session.closing--
	if s.phase == phaseCold {
		s.next()
	}
}

// observed takes in what the agent said, in our words. What breaks the
// vocabulary's rules is told as unmapped; what only a thread may say is not taken
// from a session.
func (s *state) observed(in *observedInput) {
	if !s.mine(in.session) {
		return
	}
	s.sessionUp()
	for _, o := range s.session.scrub.scrub(in.observation) {
		s.observe(in.origin, o)
	}
}

func (s *state) observe(origin wire.Origin, o wire.Observation) {
	if q, ok := o.(*wire.ExtensionUIRequest); !sayable(o) && !(ok && q.Blocking) {
		o = unmapped(o) // a question out of the schema also gets its cancel value, in ask
	}
	switch o := o.(type) {
	case *wire.ExtensionUIRequest:
		tagged := *o
		tagged.Origin = origin
		if o.Blocking {
			s.ask(&tagged)
			return
		}
		s.publish(&tagged)
	case *wire.DialogSettled: // the runtime itself ended a question: one more finish
		s.finish(o.ID, o.Outcome, "runtime", nil)
	case *wire.RunEnded, *wire.Settled, *wire.Queue, *wire.PromptRejected, *wire.PermissionModeRejected:
		s.publish(unmapped(o))
	case *wire.TextDelta:
		s.publishOpen(o.MessageID, o)
	case *wire.ThinkingDelta:
		s.publishOpen(o.MessageID, o)
	case *wire.MessageEnd:
		s.publishOpen(o.MessageID, o)
	default:
		s.publish(o)
	}
}

// sayable says whether an observation keeps the vocabulary's schema. Plain text
// always does, and is most of what is said.
func sayable(o wire.Observation) bool {
	switch o := o.(type) {
	case *wire.TextDelta:
		if o.Usage == nil {
			return true
		}
	case *wire.ThinkingDelta:
		return true
	}
	_, err := wire.EncodeObservation(o)
	return err == nil
}

// say publishes what may break the schema.
func (s *state) say(o wire.Observation) {
	if !sayable(o) {
		o = unmapped(o)
	}
	s.publish(o)
}

// publishOpen publishes what extends or ends an open message. Of a message that
// is not open it would change nothing by Fold's rules, and be lost.
func (s *state) publishOpen(id string, o wire.Observation) {
	if s.transcript.find(id) == nil {
		o = unmapped(o)
	}
	s.publish(o)
}

func (s *state) loginChanged(in *loginInput) {
	if s.mine(in.session) && in.login != nil {
		s.say(in.login)
	}
}

// exited: the agent is gone. That is an input, not a panic: a run under way ends,
// once, and the thread stays usable.
func (s *state) exited(in *exitedInput) {
	if !s.mine(in.session) {
		return
	}
	stopping := s.phase == phaseStopping
	if s.run != nil && !stopping {
		s.strike(in.verdict)
	}
	s.lostSession()
	switch {
	case s.run != nil && stopping:
		s.endRun(wire.RunAborted, nil)
	case s.run != nil:
		s.endRun(wire.RunFailed, &wire.Failure{Code: wire.CodeSessionExited, Message: exitText(in.exit)})
	default:
		s.next()
	}
}

// exitedEarly: the agent went while it was starting. Start itself comes back, and
// then there is no session whatever it says.
func (s *state) exitedEarly(in *exitedInput) {
	if s.mine(in.session) {
		s.session.exited = in
	}
}

func exitText(e *host.Exited) string {
	text := fmt.Sprintf("the agent exited with status %d", e.Code)
	if e.Signal != "" {
		text = "the agent was ended by " + e.Signal
	}
	if e.Stderr != "" {
		text += ": " + e.Stderr
	}
	return text
}

// strike counts a failure of the session: the next one waits.
func (s *state) strike(v verdict) {
	s.notBefore = s.now.Add(v.delay)
	if v.exhausted {
		s.fail()
	}
}

// fail marks the thread failed: what waits is rejected, and the next prompt
// revives it, without a wait.
func (s *state) fail() {
	s.row.Failed = true
	s.notBefore = s.now
	for i := range s.queue.entries {
		s.queue.entries[i].doomed = true
	}
	s.wants().row = true
	s.touch()
}

func (s *state) callVerb(v *callVerb) {
	s.session.calling = append(slices.Clone(s.session.calling), v)
	s.do(call{s.session.number, v})
}

// configure applies a settings verb: now, or once a session is up. A thread that
// does not exist is not made by it.
func (s *state) configure(in *configureInput) {
	v := &callVerb{token: in.token, verb: in.verb}
	switch {
	case !s.exists:
		s.refuse(in.token, wire.CodeNotFound, "no thread %s", s.id)
	case s.draining:
		s.refuse(in.token, wire.CodeUnavailable, "the host is stopping")
	case s.session.attached && s.phase != phaseStarting:
		s.callVerb(v)
	case len(s.session.verbs) >= s.limits.OpenDialogs:
		s.refuse(in.token, wire.CodeLimit, "%d settings wait for the session, the limit", len(s.session.verbs))
	default:
		s.session.verbs = append(s.session.verbs, v)
		if s.phase == phaseCold {
			s.next()
		}
	}
}
