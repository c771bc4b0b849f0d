package actors

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/host/memory"
	"github.com/troupe-run/troupe/wire"
)

// floods is a runtime whose session says text for ever from the moment it has a
// prompt, its run being over at once, and counts what it got rid of.
type floods struct {
	host.Runtime
	said  atomic.Int64
	asks  bool // it asks questions instead, and never takes an answer
	kills atomic.Int64
}

func (*floods) Name() string                    { return "floods" }
func (*floods) Capabilities() wire.Capabilities { return wire.Capabilities{} }
func (*floods) Available() error                { return nil }

func (f *floods) Start(_ context.Context, _ host.StartSpec, sink host.Sink) (host.Session, error) {
	return &flood{f: f, sink: sink, dead: make(chan struct{})}, nil
}

type flood struct {
	host.Session
	f    *floods
	sink host.Sink
	dead chan struct{}
	gone atomic.Bool
}

func (*flood) Info() host.SessionInfo { return host.SessionInfo{} }

func (s *flood) Prompt(_ context.Context, p host.Prompt) error {
	s.sink.Go("flood", func() {
		var o wire.Observation = &wire.CustomEntry{CustomType: "x", Data: []byte(`"0123456789"`)}
		if s.f.asks {
			o = &wire.ExtensionUIRequest{ID: "q", Origin: wire.OriginRun, Blocking: true, Dialog: &wire.SelectDialog{Title: "no options"}}
		} else if s.sink.Deliver(&host.RunOver{Run: p.Run, Outcome: wire.RunCompleted}) != nil {
			return
		}
		for s.sink.Deliver(&host.Observed{Origin: wire.OriginRun, Observation: o, Bytes: 100}) == nil {
			s.f.said.Add(1)
		}
	})
	return nil
}

func (s *flood) Abort(context.Context, uint64) error { return nil }

func (s *flood) Answer(ctx context.Context, _ host.Reply) error {
	select {
	case <-s.dead:
	case <-ctx.Done():
	}
	return nil
}

func (s *flood) Kill() []wire.Process {
	s.f.kills.Add(1)
	if s.gone.CompareAndSwap(false, true) {
		close(s.dead)
		_ = s.sink.Deliver(&host.Exited{Code: -1, Signal: "KILL"})
	}
	return nil
}

func (s *flood) Close() error { s.Kill(); return nil }

// TestASlowJournalStopsTheAgentToo: what a session says while its run settles
// keeps its credit until it is heard.
func TestASlowJournalStopsTheAgentToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &floods{}
		l := Limits{IntakeBytes: 100_000}
		r := newRig(t, rigOptions{
			limits:  l,
			agents:  []Agent{{Name: "floods", Runtime: f, Cwd: t.TempDir(), Default: true}},
			journal: memory.Options{Fail: func(host.Batch) error { time.Sleep(10 * time.Second); return nil }},
		})
		r.prompt("floods.a", "go")
		time.Sleep(15 * time.Second) // the run is over, its commit under way
		if most := int64(2 * l.IntakeBytes / 100); f.said.Load() > most {
			t.Errorf("%d reports while the journal was busy, want at most %d", f.said.Load(), most)
		}
	})
}

// TestAnAgentThatAsksAndDoesNotListenIsKilled, not kept with a queue that grows.
func TestAnAgentThatAsksAndDoesNotListenIsKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &floods{asks: true}
		r := newRig(t, rigOptions{
			limits: Limits{Calls: 50, IntakeBytes: 10_000},
			agents: []Agent{{Name: "floods", Runtime: f, Cwd: t.TempDir(), Default: true}},
		})
		v := r.follow("floods.a")
		r.prompt("floods.a", "go")
		ends(t, v, 1, wire.RunFailed)
		if f.kills.Load() == 0 {
			t.Error("it was not killed")
		}
	})
}
