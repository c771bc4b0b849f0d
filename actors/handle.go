package actors

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// handle is a session as the shell holds it, from before its start to after its
// close. Calls go through it one at a time and in order, from a goroutine that
// lives only while there are any; a stop, a kill and the close overtake them.
type handle struct {
	t      *thread
	inc    uint64
	number uint64
	intake *intake
	cancel context.CancelFunc
	gone   chan struct{} // closed once nothing of the session is left

	once     sync.Once
	mu       sync.Mutex
	live     host.Session // nil while it starts
	starting bool
	disposed bool
	quietly  bool // the thread does not wait for the close any more
	calls    []sessionCall
	calling  bool
}

// dispose closes a session. The tail of what was sent ends with it, for followers
// that stay it begins anew.
func (t *thread) dispose(number uint64) {
	t.sessions[number].dispose()
	delete(t.sessions, number)
	if len(t.sessions) == 0 {
		t.sessions = nil
	}
	if t.feed != nil {
		t.sent.reset()
	} else {
		t.sent = nil
	}
}

// startSession starts a session outside the actor. It waits until the thread's
// earlier sessions are gone: two of them must never share one vendor session. A
// Start that does not heed its context is given up.
func (t *thread) startSession(e startSession) {
	ctx, cancel := context.WithTimeout(context.Background(), t.host.limits.StartTimeout)
	h := &handle{
		t: t, inc: t.inc, number: e.session, cancel: cancel, starting: true, gone: make(chan struct{}),
		intake: newIntake(e.session, t.inc, t.host.limits.IntakeBytes, t.host.root, t.self, t.host.guard),
	}
	if t.sessions == nil {
		t.sessions = map[uint64]*handle{}
	}
	t.sessions[e.session] = h
	before := t.host.lingering.add(t.id, h.gone)
	late := time.AfterFunc(t.host.limits.StartTimeout+t.host.limits.CloseTimeout, func() {
		h.t.tell(&startBroke{inc: h.inc, session: h.number, failure: &wire.Failure{
			Code: wire.CodeStartFailed, Message: "the session did not come up in time",
		}})
	})
	spec := host.StartSpec{Thread: t.id, Session: e.session, Cwd: e.cwd, Resume: e.resume}
	t.host.guard("start "+t.id.String(), func(where string, value any, _ []byte) {
		h.startEnded(host.SessionInfo{}, fmt.Errorf("%s: %v", where, value), true)
	}, func() {
		for _, gone := range before {
			select {
			case <-gone:
			case <-ctx.Done():
			}
		}
		live, err := t.start(ctx, spec, h.intake)
		late.Stop()
		var info host.SessionInfo
		if live == nil && err == nil {
			err = wire.Errorf(wire.CodeStartFailed, "the agent's adapter gave no session")
		}
		if live != nil {
			h.mu.Lock()
			h.live = live // from here on it is closed, whatever it does
			h.mu.Unlock()
			info = live.Info()
		}
		h.startEnded(info, err, false)
	})
}

func (t *thread) start(ctx context.Context, spec host.StartSpec, sink host.Sink) (host.Session, error) {
	if ctx.Err() != nil {
		return nil, &wire.Failure{Code: wire.CodeStartFailed, Message: "the start was given up"}
	}
	if fi, err := os.Stat(spec.Cwd); err != nil || !fi.IsDir() {
		return nil, &wire.Failure{Code: wire.CodeStartFailed, Message: "the thread's folder is gone: " + spec.Cwd}
	}
	if err := t.runtime().Available(); err != nil {
		return nil, err
	}
	return t.runtime().Start(ctx, spec, sink)
}

// startEnded: Start came back, with a session or without.
func (h *handle) startEnded(info host.SessionInfo, err error, crashed bool) {
	h.mu.Lock()
	h.starting = false
	disposed := h.disposed
	if err == nil && !disposed && len(h.calls) > 0 { // asked and settled while it started
		h.calling = true
		h.guarded("call", nil, h.drainCalls)
	}
	h.mu.Unlock()
	switch {
	case disposed:
		h.close()
	case err != nil:
		f := h.t.host.failure(err, "start a session", h.t.id)
		if crashed {
			f = &wire.Failure{Code: wire.CodeCrashed, Message: "the agent's adapter failed while the session was starting"}
		}
		h.t.tell(&startBroke{inc: h.inc, session: h.number, failure: f, crashed: crashed})
	default:
		h.t.tell(&started{inc: h.inc, session: h.number, info: info})
	}
}

// startBroke says that Start failed.
type startBroke struct {
	inc     uint64
	session uint64
	failure *wire.Failure
	crashed bool
}

func (h *handle) tell(in input) { h.t.tell(&fact{inc: h.inc, in: in}) }

// call queues a call, or makes it at once if it overtakes.
func (h *handle) call(c sessionCall) {
	if _, overtakes := c.(*callAbort); overtakes {
		h.guarded("abort", c, func() { h.make(c) })
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.calls) == h.t.host.limits.Calls {
		// It asks and does not listen: every question it is refused is a call.
		h.t.host.guard("kill", nil, func() { h.kill() })
		return
	}
	h.calls = append(h.calls, c)
	if h.calling || h.starting {
		return
	}
	h.calling = true
	h.guarded("call", c, h.drainCalls)
}

func (h *handle) drainCalls() {
	for {
		h.mu.Lock()
		if len(h.calls) == 0 {
			h.calling = false
			h.calls = nil
			h.mu.Unlock()
			return
		}
		c := h.calls[0]
		h.calls = h.calls[1:]
		h.mu.Unlock()
		h.make(c)
	}
}

// guarded runs a call into the session; a panic in it is the session's crash.
func (h *handle) guarded(what string, c sessionCall, fn func()) {
	h.t.host.guard(what, func(where string, value any, stack []byte) {
		_ = h.intake.Deliver(&host.Crashed{Where: fmt.Sprintf("%s %T", where, c), Value: value, Stack: stack})
	}, fn)
}

func (h *handle) make(c sessionCall) {
	ctx, cancel := context.WithTimeout(context.Background(), h.t.host.limits.CallTimeout)
	defer cancel()
	h.mu.Lock()
	live := h.live
	h.mu.Unlock()
	var err error
	switch c := c.(type) {
	case *callPrompt:
		err = live.Prompt(ctx, c.prompt)
	case *callSteer:
		err = live.Steer(ctx, c.prompt)
	case *callAbort:
		err = live.Abort(ctx, c.run)
	case *callAnswer:
		err = live.Answer(ctx, c.reply)
	case *callVerb:
		err = callVerbOf(ctx, live, c.verb)
	}
	var f *wire.Failure
	if err != nil {
		f = h.t.host.failure(err, "call a session", h.t.id)
	}
	h.tell(&calledInput{session: h.number, call: c, failure: f})
}

// crossing is an adapter's failure as it may cross: with a code of the closed set.
func crossing(f *wire.Failure) *wire.Failure {
	if f == nil || wire.Known(f.Code) {
		return f
	}
	return &wire.Failure{Code: wire.CodeInternal, Message: f.Message}
}

func callVerbOf(ctx context.Context, s host.Session, v sessionVerb) error {
	switch v := v.(type) {
	case *setMode:
		return s.SetMode(ctx, v.mode)
	case *setModel:
		return s.SetModel(ctx, v.req)
	case *compact:
		return s.Compact(ctx, v.instructions)
	}
	panic(fmt.Sprintf("unknown verb %T", v))
}

func (h *handle) kill() {
	h.mu.Lock()
	live := h.live
	h.mu.Unlock()
	if live == nil {
		h.cancel()
		return
	}
	h.t.host.guard("kill", nil, func() { h.tell(&killedInput{session: h.number, processes: live.Kill()}) })
}

// dispose closes the session; sessionClosedInput follows, within a bound. One
// that is still starting is given up, and closed once its start comes back.
func (h *handle) dispose() {
	h.intake.close()
	h.cancel()
	h.mu.Lock()
	h.disposed = true
	starting := h.starting
	h.mu.Unlock()
	h.t.host.guard("close", func(string, any, []byte) { h.closed() }, func() {
		if starting {
			h.waitClosed(2 * h.t.host.limits.CloseTimeout)
			h.closed()
			return
		}
		h.close()
	})
}

// abandon disposes of the session without anyone waiting for it.
func (h *handle) abandon() {
	h.mu.Lock()
	h.quietly = true
	live := h.live
	h.mu.Unlock()
	if live != nil {
		h.t.host.guard("kill", nil, func() { live.Kill() })
	}
	h.dispose()
}

// close closes the session politely; past the bound by force; past another it is
// given up, so that the thread is never stuck behind it.
func (h *handle) close() {
	h.mu.Lock()
	live := h.live
	h.mu.Unlock()
	if live != nil {
		h.t.host.guard("close", func(string, any, []byte) {
			h.t.host.guard("kill", func(string, any, []byte) { h.closed() }, func() {
				live.Kill()
				h.closed()
			})
		}, func() {
			_ = live.Close()
			h.closed()
		})
		if !h.waitClosed(h.t.host.limits.CloseTimeout) {
			h.t.host.guard("kill", nil, func() { live.Kill() })
			h.waitClosed(h.t.host.limits.CloseTimeout)
		}
	}
	h.closed()
}

func (h *handle) waitClosed(bound time.Duration) bool {
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-h.gone:
		return true
	case <-timer.C:
		return false
	}
}

// closed says once that nothing of the session is left.
func (h *handle) closed() {
	h.once.Do(func() {
		h.t.host.lingering.remove(h.t.id, h.gone)
		close(h.gone)
		h.mu.Lock()
		quietly := h.quietly
		h.mu.Unlock()
		if !quietly {
			h.tell(&sessionClosedInput{session: h.number})
		}
	})
}

// lingering are the sessions of each thread that are not gone yet, across the
// thread's incarnations.
type lingering struct {
	mu sync.Mutex
	of map[wire.ThreadID][]chan struct{}
}

// add notes a session and gives those before it.
func (l *lingering) add(id wire.ThreadID, gone chan struct{}) []chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[wire.ThreadID][]chan struct{}{}
	}
	before := append([]chan struct{}(nil), l.of[id]...)
	l.of[id] = append(before[:len(before):len(before)], gone)
	return before
}

func (l *lingering) remove(id wire.ThreadID, gone chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var rest []chan struct{}
	for _, g := range l.of[id] {
		if g != gone {
			rest = append(rest, g)
		}
	}
	if rest == nil {
		delete(l.of, id)
	} else {
		l.of[id] = rest
	}
}

// all is every session that is not gone yet.
func (l *lingering) all() []chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []chan struct{}
	for _, gs := range l.of {
		out = append(out, gs...)
	}
	return out
}
