package hosttest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

func stopBehindPrompt(t *testing.T, g *stage) {
	slow := g.slow(400)
	a := g.start("")
	run := a.prompt(slow)
	a.abort(run)
	a.over(run, wire.RunAborted)
	a.works()
}

func stopInText(t *testing.T, g *stage) {
	slow := g.slow(400)
	a := g.start("")
	run := a.prompt(slow)
	AwaitObservation[*wire.TextDelta](t, a.sink, 0)
	a.abort(run)
	a.abort(run) // twice is once
	a.over(run, wire.RunAborted)
	a.works()
}

func stopInShell(t *testing.T, g *stage) {
	pid, a, run := g.trapped()
	a.abort(run)
	ended := a.sink.within(g.AbortGrace, func() bool {
		for _, r := range a.sink.reports {
			if isRunOver(run)(r) {
				return true
			}
		}
		return false
	})
	if !ended {
		a.kill()
		a.sink.AwaitExited(t)
		if !gone(pid, 0) {
			t.Errorf("the shell %d outlives the kill", pid)
		}
		return
	}
	a.over(run, wire.RunAborted)
	if !gone(pid, g.AbortGrace) {
		t.Errorf("the shell %d outlives its run by more than %s", pid, g.AbortGrace)
	}
	a.works()
}

func stopInQuestion(t *testing.T, g *stage) {
	a := g.start("")
	run := a.prompt(g.ask("Shall we?"))
	q, _ := a.question(0)
	a.answer(host.Reply{ID: q.ID, Outcome: wire.DialogAborted}) // a stop settles dialogs first
	a.abort(run)
	if o := a.sink.AwaitRunOver(t, run); o.Outcome == wire.RunFailed {
		t.Errorf("the stop failed the run: %v", o.Failure)
	}
	a.works()
}

func stopAfterRun(t *testing.T, g *stage) {
	a := g.start("")
	run := a.prompt(g.say("over soon"))
	a.over(run, wire.RunCompleted)
	a.abort(run)
	a.works()
	a.abort(run)
	a.works()
}

func killInText(t *testing.T, g *stage) {
	a := g.start("")
	a.prompt(g.slow(400))
	AwaitObservation[*wire.TextDelta](t, a.sink, 0)
	a.kill()
	a.sink.AwaitExited(t)
	a.kill() // twice is once: Check wants one exit
}

func killInShell(t *testing.T, g *stage) {
	pid, a, _ := g.trapped()
	killed := a.kill()
	if !gone(pid, 0) {
		t.Errorf("the shell %d outlives the kill", pid)
	}
	a.sink.AwaitExited(t)
	for _, p := range killed {
		if p.PID == pid && p.Signal == "" {
			t.Errorf("the shell took no signal: %+v", p)
		}
		if p.PID == pid {
			return
		}
	}
	t.Errorf("the shell %d is not among what was killed: %+v", pid, killed)
}

func killIdle(t *testing.T, g *stage) {
	a := g.start("")
	a.kill()
	a.sink.AwaitExited(t)
}

func killBlocked(t *testing.T, g *stage) {
	slow := g.slow(400)
	a := g.start("")
	a.sink.Block()
	a.prompt(slow)
	a.sink.AwaitBlocked(t)
	a.kill()
	a.sink.Unblock()
	a.sink.AwaitExited(t)
}

// kill kills within the bound.
func (a *actor) kill() (killed []wire.Process) {
	a.t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); killed = a.session.Kill() }()
	if !within(done, bound) {
		a.t.Fatal("Kill does not return")
	}
	return killed
}

func closeInMidRun(t *testing.T, g *stage) {
	a := g.start("")
	a.prompt(g.slow(400))
	AwaitObservation[*wire.TextDelta](t, a.sink, 0)
	a.close()
}

func closesOften(t *testing.T, g *stage) {
	a := g.start("")
	a.prompt(g.say("going away"))
	var all sync.WaitGroup
	for range 4 {
		all.Go(a.close)
	}
	all.Wait()
	a.sink.Seal()
	a.close()
}

func closeInShell(t *testing.T, g *stage) {
	pid, a, _ := g.trapped()
	a.close()
	if !gone(pid, 0) {
		t.Errorf("the shell %d outlives the session", pid)
	}
}

func closeWithoutThread(t *testing.T, g *stage) {
	a := g.start("")
	a.prompt(g.slow(400))
	AwaitObservation[*wire.TextDelta](t, a.sink, 0)
	a.sink.Block()
	a.sink.AwaitBlocked(t)
	a.sink.Close()
	a.close()
}

// close closes within the bound.
func (a *actor) close() {
	a.t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := a.session.Close(); err != nil {
			a.t.Errorf("close: %v", err)
		}
	}()
	if !within(done, bound) {
		a.t.Error("Close does not return")
	}
}

func callsAfterEnd(t *testing.T, g *stage) {
	a := g.start("")
	a.close()
	calls := map[string]func(context.Context) error{
		"prompt": func(ctx context.Context) error { return a.session.Prompt(ctx, a.newPrompt("x")) },
		"steer": func(ctx context.Context) error {
			return a.session.Steer(ctx, host.Prompt{Run: 1, MessageID: "s", Text: "x"})
		},
	}
	for name, call := range calls {
		if err := bounded(call); err == nil {
			t.Errorf("%s succeeds on a session that is closed", name)
		}
	}
	_ = bounded(func(ctx context.Context) error { return a.session.Abort(ctx, 1) })
	_ = bounded(func(ctx context.Context) error { return a.session.Answer(ctx, host.Reply{ID: "x"}) })
	a.kill()
}

func startCancelled(t *testing.T, g *stage) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	sink := NewSink()
	s, err := g.Runtime.Start(ctx, g.spec(""), sink)
	if err == nil {
		_ = s.Close()
		t.Fatal("started under a context that had ended")
	}
	isFailure(t, "start", err, wire.CodeStartFailed)
	sink.Seal()
	sink.AwaitQuiet(t)
	if late := sink.Late(); len(late) > 0 {
		t.Errorf("delivered after Start had failed: %s", tell(late[0]))
	}
}

// startCancelledAnyTime cuts starts short ever later; the stage's end finds what
// one of them left.
func startCancelledAnyTime(t *testing.T, g *stage) {
	for _, after := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 80 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(context.Background(), after)
		sink := NewSink()
		s, err := g.Runtime.Start(ctx, g.spec(""), sink)
		cancel()
		if err == nil {
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		} else {
			isFailure(t, "start", err, wire.CodeStartFailed)
		}
		sink.Seal()
		sink.AwaitQuiet(t)
		if late := sink.Late(); len(late) > 0 {
			t.Errorf("delivered afterwards: %s", tell(late[0]))
		}
	}
}
