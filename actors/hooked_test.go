package actors

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// hookedRuntime is a runtime whose every call is a hook: an adapter as a test wants it.
type hookedRuntime struct {
	mu       sync.Mutex
	sessions []*hookedSession
	start    func(ctx context.Context, spec host.StartSpec, s *hookedSession) (host.Session, error)
	setup    func(s *hookedSession)
}

func (r *hookedRuntime) Name() string { return "hooked" }
func (r *hookedRuntime) Capabilities() wire.Capabilities {
	return wire.Capabilities{Modes: true, Models: true, Compact: true, Steer: true}
}
func (r *hookedRuntime) Available() error { return nil }
func (r *hookedRuntime) Start(ctx context.Context, spec host.StartSpec, sink host.Sink) (host.Session, error) {
	s := &hookedSession{sink: sink, spec: spec, closedCh: make(chan struct{})}
	if r.setup != nil {
		r.setup(s)
	}
	r.mu.Lock()
	r.sessions = append(r.sessions, s)
	r.mu.Unlock()
	if r.start != nil {
		return r.start(ctx, spec, s)
	}
	return s, nil
}
func (r *hookedRuntime) last() *hookedSession {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.sessions) == 0 {
		return nil
	}
	return r.sessions[len(r.sessions)-1]
}

type hookedSession struct {
	sink     host.Sink
	spec     host.StartSpec
	closes   atomic.Int32
	kills    atomic.Int32
	closedCh chan struct{}
	info     func() host.SessionInfo
	prompt   func(ctx context.Context, p host.Prompt) error
	steer    func(ctx context.Context, p host.Prompt) error
	abort    func(ctx context.Context, run uint64) error
	answer   func(ctx context.Context, r host.Reply) error
	mode     func(ctx context.Context, m string) error
	kill     func()
	closeFn  func()
}

func (s *hookedSession) Info() host.SessionInfo {
	if s.info != nil {
		return s.info()
	}
	return host.SessionInfo{}
}
func (s *hookedSession) Prompt(ctx context.Context, p host.Prompt) error {
	if s.prompt != nil {
		return s.prompt(ctx, p)
	}
	return s.sink.Deliver(&host.RunOver{Run: p.Run, Outcome: wire.RunCompleted})
}
func (s *hookedSession) Steer(ctx context.Context, p host.Prompt) error {
	if s.steer != nil {
		return s.steer(ctx, p)
	}
	return nil
}
func (s *hookedSession) Abort(ctx context.Context, run uint64) error {
	if s.abort != nil {
		return s.abort(ctx, run)
	}
	return s.sink.Deliver(&host.RunOver{Run: run, Outcome: wire.RunAborted})
}
func (s *hookedSession) Answer(ctx context.Context, r host.Reply) error {
	if s.answer != nil {
		return s.answer(ctx, r)
	}
	return nil
}
func (s *hookedSession) SetMode(ctx context.Context, m string) error {
	if s.mode != nil {
		return s.mode(ctx, m)
	}
	return nil
}
func (s *hookedSession) SetModel(context.Context, wire.ModelRequest) error { return nil }
func (s *hookedSession) Compact(context.Context, string) error             { return nil }
func (s *hookedSession) Kill() []wire.Process {
	s.kills.Add(1)
	if s.kill != nil {
		s.kill()
	}
	return nil
}
func (s *hookedSession) Close() error {
	s.closes.Add(1)
	if s.closeFn != nil {
		s.closeFn()
	}
	return nil
}
func (s *hookedSession) say(o wire.Observation) error {
	return s.sink.Deliver(&host.Observed{Origin: wire.OriginRun, Observation: o})
}

func hookedAgents(t testing.TB, rt *hookedRuntime) []Agent {
	return []Agent{{Name: "scripted", Runtime: rt, Cwd: t.TempDir(), Default: true}}
}
