package actors

import (
	"fmt"
	"path"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// Command is what the typed client sends to a thread through the registry: the
// sealed family of messages from outside. Its one member is *ask, which carries
// one of the command inputs and the reply it waits for.
type Command interface{ command() }

// ask is a command with its reply. done is called exactly once, from any
// goroutine, and must not block.
type ask struct {
	thread wire.ThreadID
	make   func(token) input
	done   func(value any, failure *wire.Failure)
}

func (*ask) command() {}

// fact is an input that came back from an effect. One of an earlier incarnation
// is not heard.
type fact struct {
	inc uint64
	in  input
}

// started brings a session up from its start; commitDone acknowledges a commit;
// fired is an armed timer.
type (
	started struct {
		inc     uint64
		session uint64
		info    host.SessionInfo
	}
	commitDone struct {
		inc uint64
		err error
	}
	fired struct {
		inc    uint64
		timer  timerID
		serial uint64
	}
)

var incarnations atomic.Uint64

// thread is the actor: a thin shell around state. It owns what cannot be in a
// pure state: replies, timers, the session, the feed. Nothing in it blocks.
type thread struct {
	host *Host
	id   wire.ThreadID
	inc  uint64
	self *actor.PID

	state    *state
	feed     *feed
	sent     *sentTail
	sessions map[uint64]*handle
	timers   timers
	replies  replies
	lastTok  token
	serial   uint64
	counted  tally
	hearing  string // the kind of input being stepped, for the record of a panic
	stopped  bool
	owed     []*report // heard later, so their credit is not given back yet
}

// identify learns who the thread is: the registry gave the actor its name.
func (t *thread) identify(self *actor.PID) {
	t.self = self
	t.id, _, _ = wire.ParseThreadID(path.Base(self.Id))
}

func (t *thread) runtime() host.Runtime { return t.host.agents[t.id.Type].Runtime }

// reset begins a new incarnation: an empty state that loads.
func (t *thread) reset() {
	t.inc = incarnations.Add(1)
	t.state = newState(t.id, &t.host.limits, t.runtime().Capabilities().Steer)
	t.feed = nil
	t.sent, t.sessions = nil, nil
	t.owed = nil
	t.timers = timers{}
	t.replies = replies{}
	t.load()
}

// Receive handles the lifecycle, then every message of the sealed families. An
// unknown message fails loudly: it panics, and supervision says so.
func (t *thread) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		t.host.meter.threads.Add(1)
		t.identify(c.Self())
		t.reset()
	case *actor.Restarting:
		t.host.meter.threads.Add(-1)
		t.host.strikes.Strike(t.id.String(), t.host.now())
		t.host.facts(&ThreadPanicked{Thread: t.id, Hearing: t.hearing})
		t.abandon(&wire.Failure{Code: wire.CodeUnavailable, Message: "the thread failed and is being rebuilt"})
	case *actor.Stopping:
		t.host.meter.threads.Add(-1)
		t.abandon(&wire.Failure{Code: wire.CodeUnavailable, Message: "the thread stopped"})
	case *actor.Stopped, *actor.ReceiveTimeout:
	case *ask:
		t.ask(m)
	case stopIfQuiet:
		t.step(&stopIfQuietInput{})
	case *fact:
		if m.inc == t.inc {
			t.step(m.in)
		}
	case *report:
		t.report(m)
	case *started:
		if m.inc == t.inc {
			gone := t.state.mine(m.session) && t.state.session.exited != nil
			t.step(&sessionStartedInput{session: m.session, info: m.info, verdict: t.strikeIf(gone)})
		}
	case *startBroke:
		t.startBroke(m)
	case *commitDone:
		t.commitDone(m)
	case *fired:
		if m.inc == t.inc && t.timers.fired(m) {
			t.step(&timerInput{m.timer})
		}
	case *left:
		if t.feed != nil && t.feed.has(m.follower) {
			t.step(&unsubscribeInput{m.follower})
		}
	case *endFollows:
		t.endFollows(m)
	default:
		panic(fmt.Sprintf("thread %s: unknown message %T", t.id, m))
	}
}

// left says that a follower is gone.
type left struct{ follower *Follower }

// endFollows ends every follow of the thread: the host stops.
type endFollows struct{ done func() }

func (t *thread) endFollows(m *endFollows) {
	if t.feed != nil {
		for _, f := range append([]*Follower(nil), t.feed.followers...) {
			f.finish(&wire.Failure{Code: wire.CodeUnavailable, Message: "the host is stopping"})
		}
	}
	m.done()
}

func (t *thread) ask(m *ask) {
	if t.stopped {
		m.done(nil, &wire.Failure{Code: wire.CodeUnavailable, Message: "the thread stopped"})
		return
	}
	t.lastTok++
	tok := t.lastTok
	t.replies.put(tok, m.done)
	t.step(m.make(tok))
}

// report takes in what a session told, and gives its credit back; what is deferred
// until the run has settled keeps it, so that a slow journal stops the agent too.
func (t *thread) report(m *report) {
	if m.inc != t.inc {
		m.from.taken(m.report)
		return
	}
	deferred := len(t.state.reports)
	t.hear(m)
	if len(t.state.reports) > deferred {
		t.owed = append(t.owed, m)
	} else {
		m.from.taken(m.report)
	}
}

func (t *thread) hear(m *report) {
	n := m.session
	switch r := m.report.(type) {
	case *host.Observed:
		t.step(&observedInput{session: n, origin: r.Origin, observation: r.Observation})
	case *host.Steered:
		t.step(&steeredInput{session: n, messageID: r.MessageID})
	case *host.RunOver:
		t.step(&runOverInput{session: n, run: r.Run, outcome: r.Outcome, failure: crossing(r.Failure)})
	case *host.LoginChanged:
		t.step(&loginInput{session: n, login: r.Login})
	case *host.Exited:
		t.step(&exitedInput{session: n, exit: r, verdict: t.strikeIf(t.state.phase == phaseRunning && t.state.mine(n))})
	case *host.Crashed:
		t.crashed(n, r)
	default:
		panic(fmt.Sprintf("thread %s: unknown report %T", t.id, r))
	}
}

// crashed: a goroutine of the session panicked. It panics again here, so that
// supervision rebuilds the thread; but not while the session starts, since that
// would be retried at once: then the start has failed.
func (t *thread) crashed(session uint64, c *host.Crashed) {
	if !t.state.mine(session) {
		return
	}
	t.hearing = "crash in " + c.Where
	if t.state.phase == phaseStarting {
		t.host.facts(&ThreadPanicked{Thread: t.id, Hearing: t.hearing})
		t.step(&startFailedInput{session: session, crashed: true, verdict: t.strikeIf(true), failure: &wire.Failure{
			Code: wire.CodeCrashed, Message: "the agent's adapter failed while the session was starting",
		}})
		return
	}
	panic(fmt.Sprintf("%s: %v", c.Where, c.Value))
}

// startBroke: a missing command is no reason to wait before the next try.
func (t *thread) startBroke(m *startBroke) {
	if m.inc != t.inc || !t.state.mine(m.session) {
		return
	}
	t.step(&startFailedInput{
		session: m.session, failure: m.failure, crashed: m.crashed,
		verdict: t.strikeIf(m.failure.Code != wire.CodeCommandMissing),
	})
}

// strikeIf counts a failure of the thread's session, where it is one.
func (t *thread) strikeIf(failed bool) verdict {
	if !failed {
		return verdict{}
	}
	t.host.meter.failedSessions.Add(1)
	delay, exhausted := t.host.strikes.Strike(t.id.String(), t.host.now())
	return verdict{delay, exhausted}
}

// commitDone: the oldest commit is durable. One that failed takes everything the
// thread believes with it: the followers are ended, the session is killed, and
// the thread is read again from the journal under a new writer epoch.
func (t *thread) commitDone(m *commitDone) {
	if m.inc != t.inc {
		return
	}
	if m.err == nil {
		t.step(&committedInput{})
		return
	}
	t.host.facts(&CommitFailed{Thread: t.id, Err: m.err})
	f := wire.AsFailure(m.err)
	t.abandon(&wire.Failure{Code: wire.CodeUnavailable, Message: "the record could not be written: " + f.Message})
	t.reset()
}

// step decides and performs.
func (t *thread) step(in input) {
	if t.stopped {
		return
	}
	t.hearing = in.kind().String()
	effects := step(t.state, t.host.now(), in)
	if t.host.trace != nil {
		t.host.trace(t, in, effects)
	}
	for _, e := range effects {
		t.perform(e)
	}
	t.counted.become(t.host.meter, t.state.tally())
	if len(t.state.reports) == 0 {
		for _, m := range t.owed {
			m.from.taken(m.report)
		}
		t.owed = nil
	}
	if t.state.dirty && !t.stopped {
		t.state.dirty = false
		if t.state.exists {
			t.host.directory.put(t.state.summary())
		}
	}
}

// abandon gives up everything of this incarnation: pending replies are answered,
// follows end, sessions are closed, timers are forgotten. It must not panic: it
// runs while a panic is handled.
func (t *thread) abandon(reason *wire.Failure) {
	defer func() {
		if v := recover(); v != nil {
			t.host.facts(&ThreadPanicked{Thread: t.id, Hearing: fmt.Sprintf("abandon: %v", v)})
		}
	}()
	t.inc = incarnations.Add(1)
	t.counted.become(t.host.meter, tally{})
	t.timers.stop()
	t.replies.all(nil, reason)
	if t.feed != nil {
		t.feed.close(reason)
		t.feed = nil
	}
	for _, h := range t.sessions {
		h.abandon()
	}
	t.host.directory.remove(t.id.String())
}
