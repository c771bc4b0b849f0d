package supervision

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// Messages of the test actors.
type (
	boom struct{ Text string }
	ping struct{}
	pong struct{ incarnation int32 }
)

// faulty panics where its flags say.
type faulty struct {
	n         *atomic.Int32 // incarnations so far
	me        int32
	onStart   func(incarnation int32) bool
	onRestart bool
	onStop    bool
	onStopped bool
}

func (f *faulty) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		f.me = f.n.Add(1)
		if f.onStart != nil && f.onStart(f.me) {
			panic("start")
		}
	case *actor.Restarting:
		if f.onRestart {
			panic("restarting")
		}
	case *actor.Stopping:
		if f.onStop {
			panic("stopping")
		}
	case *actor.Stopped:
		if f.onStopped {
			panic("stopped")
		}
	case *boom:
		panic(m.Text)
	case *ping:
		c.Respond(&pong{f.me})
	}
}

// parent spawns one child per producer and counts its Terminated.
type parent struct {
	children   []*faulty
	pids       []*actor.PID
	terminated atomic.Int32
	received   atomic.Int32
}

func (p *parent) Receive(c actor.Context) {
	switch c.Message().(type) {
	case *actor.Started:
		for _, ch := range p.children {
			p.pids = append(p.pids, c.Spawn(actor.PropsFromProducer(func() actor.Actor { f := *ch; return &f })))
		}
	case *actor.Terminated:
		p.terminated.Add(1)
	}
	p.received.Add(1)
}

type stage struct {
	*recorder
	sys    *actor.ActorSystem
	parent *parent
	pid    *actor.PID
	logs   *observer.ObservedLogs
}

// onStage runs fn with a parent of the children in a bubble.
func onStage(t *testing.T, limits Limits, children []*faulty, fn func(t *testing.T, s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zapcore.DebugLevel)
		r := &recorder{}
		sys := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return NewSlog(zap.New(core)) }))
		strategy := NewStrategy(NewPolicy(limits), r.publish, time.Now)
		for _, c := range children {
			c.n = &atomic.Int32{}
		}
		p := &parent{children: children}
		root := sys.Root.WithGuardian(strategy)
		pid := root.Spawn(actor.PropsFromProducer(func() actor.Actor { return p }, actor.WithSupervisor(strategy)))
		synctest.Wait()
		fn(t, &stage{recorder: r, sys: sys, parent: p, pid: pid, logs: logs})
		_ = sys.Root.StopFuture(pid).Wait()
		sys.Shutdown()
		time.Sleep(2 * time.Second) // the dead-letter throttle outlives Shutdown
		synctest.Wait()
	})
}

func (s *stage) ask(t *testing.T, pid *actor.PID) int32 {
	t.Helper()
	v, err := s.sys.Root.RequestFuture(pid, &ping{}, time.Second).Result()
	if err != nil {
		t.Fatalf("the actor does not answer: %v", err)
	}
	return v.(*pong).incarnation
}

func TestPanickingActorIsRestartedAtOnceAndAlone(t *testing.T) {
	onStage(t, RestartLimits(), []*faulty{{}, {}}, func(t *testing.T, s *stage) {
		begin := time.Now()
		s.sys.Root.Send(s.parent.pids[0], &boom{"hunter2"})
		if n := s.ask(t, s.parent.pids[0]); n != 2 {
			t.Errorf("incarnation %d answers, want 2", n)
		}
		if n := s.ask(t, s.parent.pids[1]); n != 1 {
			t.Errorf("the sibling was restarted: incarnation %d", n)
		}
		if d := time.Since(begin); d != 0 {
			t.Errorf("the restart was delayed by %v", d)
		}
		f := only[*ActorRestarted](s.recorder)
		if len(f) != 1 || f[0].Actor != s.parent.pids[0].Id || f[0].Reason != "string" || f[0].Input != "*supervision.boom" || f[0].Count != 1 {
			t.Errorf("facts: %+v", f)
		}
		for _, e := range s.logs.All() {
			for _, f := range e.Context {
				if strings.Contains(f.String, "hunter2") {
					t.Errorf("%q logs the panic's text in %s", e.Message, f.Key)
				}
			}
		}
		lines := s.logs.FilterMessage(recoveringLine).All()
		if len(lines) != 1 || lines[0].Level != zapcore.ErrorLevel {
			t.Fatalf("protoactor's announcement: %+v", lines)
		}
		if stack := lines[0].ContextMap()["stack"].(string); !strings.Contains(stack, "strategy_test.go") {
			t.Errorf("its stack does not show the panic: %s", stack)
		}
	})
}

func TestPanicInEveryStartIsNotAHotLoop(t *testing.T) {
	always := func(int32) bool { return true }
	onStage(t, RestartLimits(), []*faulty{{onStart: always}}, func(t *testing.T, s *stage) {
		if n := s.parent.children[0].n.Load(); n != 1 {
			t.Errorf("%d incarnations, want 1", n)
		}
		s.stopped(t, StopStarting)
	})
}

func TestPanicWhileRestartingIsNotRetried(t *testing.T) {
	for name, f := range map[string]*faulty{
		"in the new incarnation's start": {onStart: func(n int32) bool { return n > 1 }},
		"in the old one's restarting":    {onRestart: true},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, RestartLimits(), []*faulty{f}, func(t *testing.T, s *stage) {
				s.sys.Root.Send(s.parent.pids[0], &boom{"x"})
				synctest.Wait()
				if n := f.n.Load(); n > 2 {
					t.Errorf("%d incarnations, want at most 2", n)
				}
				s.stopped(t, StopStarting)
			})
		})
	}
}

func TestPanicOnEveryMessageEndsAtTheLimit(t *testing.T) {
	onStage(t, Limits{HalfLife: time.Second, Limit: 10}, []*faulty{{}}, func(t *testing.T, s *stage) {
		for range 1000 {
			s.sys.Root.Send(s.parent.pids[0], &boom{"x"})
		}
		synctest.Wait()
		if n := len(only[*ActorRestarted](s.recorder)); n != 10 {
			t.Errorf("%d restarts, want 10", n)
		}
		s.stopped(t, StopLimit)
	})
}

func TestSteadyPanicsBelowTheLimitGoOn(t *testing.T) {
	onStage(t, RestartLimits(), []*faulty{{}}, func(t *testing.T, s *stage) {
		for range 400 { // one each 50 ms
			s.sys.Root.Send(s.parent.pids[0], &boom{"x"})
			time.Sleep(50 * time.Millisecond)
		}
		if n := s.ask(t, s.parent.pids[0]); n != 401 {
			t.Errorf("incarnation %d answers, want 401", n)
		}
	})
}

func TestPanicWhileStoppingStillTerminates(t *testing.T) {
	for name, f := range map[string]*faulty{"stopping": {onStop: true}, "stopped": {onStopped: true}} {
		t.Run(name, func(t *testing.T) {
			onStage(t, RestartLimits(), []*faulty{f}, func(t *testing.T, s *stage) {
				s.sys.Root.Stop(s.parent.pids[0])
				synctest.Wait()
				if n := s.parent.terminated.Load(); n != 1 {
					t.Errorf("the parent got %d Terminated, want 1", n)
				}
				if _, ok := s.sys.ProcessRegistry.Get(s.parent.pids[0]); ok {
					t.Error("it is still registered")
				}
				if n := len(only[*ActorAbandoned](s.recorder)); n != 1 {
					t.Errorf("%d facts, want 1", n)
				}
			})
		})
	}
}

func TestStrategyItselfNeverPanics(t *testing.T) {
	onStage(t, RestartLimits(), []*faulty{{}}, func(t *testing.T, s *stage) {
		NewStrategy(nil, s.publish, time.Now).HandleFailure(s.sys, nil, s.parent.pids[0], nil, "x", &boom{})
		if n := len(only[*GoroutinePanicked](s.recorder)); n != 1 {
			t.Errorf("%d facts, want 1", n)
		}
	})
}

// stopped checks that the first child was stopped, once, and nothing spins.
func (s *stage) stopped(t *testing.T, cause StopCause) {
	t.Helper()
	f := only[*ActorStopped](s.recorder)
	if len(f) != 1 || f[0].Cause != cause {
		t.Fatalf("facts: %+v, want one with %q", f, cause)
	}
	if n := s.parent.terminated.Load(); n != 1 {
		t.Errorf("the parent got %d Terminated, want 1", n)
	}
	before := s.parent.received.Load()
	time.Sleep(time.Hour)
	if after := s.parent.received.Load(); after != before {
		t.Errorf("the parent received %d more messages in an hour", after-before)
	}
}
