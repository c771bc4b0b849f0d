package actors

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.uber.org/zap"

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
	host  *Host
	id    wire.ThreadID
	agent Agent
	log   *zap.Logger
	inc   uint64
	self  *actor.PID

	state    *state
	feed     *feed
	sent     *sentTail
	sessions map[uint64]*handle
	timers   map[timerID]armed
	replies  map[token]func(any, *wire.Failure)
	lastTok  token
	serial   uint64
	hearing  string // the kind of input being stepped, for the record of a panic
	stopped  bool
	owed     []*report // heard later, so their credit is not given back yet
	counted  gauges    // what the meter was told of this incarnation
	resident bool      // the meter counts it
}

type armed struct {
	t      *time.Timer
	serial uint64
}

func newThread(h *Host, id wire.ThreadID, a Agent) *thread {
	return &thread{host: h, id: id, agent: a, log: h.log.With(zap.String("thread", id.String()))}
}

// reset begins a new incarnation: an empty state that loads.
func (t *thread) reset() {
	t.inc = incarnations.Add(1)
	t.state = newState(t.id, t.host.limits, t.agent.Runtime.Capabilities().Steer)
	t.feed = nil
	t.sent = &sentTail{t: tail{max: t.host.limits.TailRows}}
	t.sessions = map[uint64]*handle{}
	t.owed = nil
	t.timers = map[timerID]armed{}
	t.replies = map[token]func(any, *wire.Failure){}
	t.host.meter.begun(t)
	t.load()
}

// Receive handles the lifecycle, then every message of the sealed families. An
// unknown message fails loudly: it panics, and supervision says so.
func (t *thread) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		t.self = c.Self()
		t.reset()
	case *actor.Restarting:
		t.host.strikes.Strike(t.id.String(), t.host.now())
		t.host.meter.restarts.Add(1)
		t.host.facts(&ThreadPanicked{Thread: t.id, Hearing: t.hearing})
		t.abandon(&wire.Failure{Code: wire.CodeUnavailable, Message: "the thread failed and is being rebuilt"})
	case *actor.Stopping:
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
			t.step(&sessionStartedInput{session: m.session, info: m.info})
		}
	case *startBroke:
		t.startBroke(m)
	case *commitDone:
		t.commitDone(m)
	case *fired:
		if a, ok := t.timers[m.timer]; ok && m.inc == t.inc && a.serial == m.serial {
			delete(t.timers, m.timer)
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
	t.replies[tok] = m.done
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
		t.step(&runOverInput{session: n, run: r.Run, outcome: r.Outcome, failure: r.Failure})
	case *host.LoginChanged:
		t.step(&loginInput{session: n, login: r.Login})
	case *host.Exited:
		failed := t.state.run != nil && t.state.run.stop == nil
		if failed {
			t.host.meter.sessionFailures.Add(1)
		}
		t.step(&exitedInput{session: n, exit: r, verdict: t.strikeIf(failed)})
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
	t.host.meter.sessionFailures.Add(1)
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
	t.host.meter.sessionFailures.Add(1)
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
		t.host.meter.prompts.Add(uint64(len(t.state.commits[0].durable)))
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
	t.host.meter.moved(&t.counted, t.state.gauges())
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
	t.host.meter.over(t)
	t.inc = incarnations.Add(1)
	for _, a := range t.timers {
		a.t.Stop()
	}
	for tok, done := range t.replies {
		delete(t.replies, tok)
		done(nil, reason)
	}
	if t.feed != nil {
		t.closeFeed(reason)
	}
	for _, h := range t.sessions {
		h.abandon()
	}
	t.host.directory.remove(t.id.String())
}
