package supervision

import (
	"context"
	"errors"
	"os"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func newGroup(r *recorder) (*Group, chan os.Signal, *[]int) {
	signals, exits := make(chan os.Signal, 2), &[]int{}
	return &Group{Signals: signals, Exit: func(c int) { *exits = append(*exits, c) },
		Publish: r.publish, Guard: NewGuard(r.publish)}, signals, exits
}

func TestSignalRunsTheStepsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		g, signals, exits := newGroup(&r)
		closed := make(chan struct{})
		g.Add("server", func() error { <-closed; return nil })
		var order []string
		for _, name := range []string{"readiness off", "stop accepting", "flush"} {
			g.Stop(Step{name, time.Second, func(context.Context) error {
				order = append(order, name)
				if name == "stop accepting" {
					close(closed)
					return errors.New("a step's error does not end the stop")
				}
				return nil
			}})
		}
		signals <- syscall.SIGTERM
		if err := g.Run(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if want := []string{"readiness off", "stop accepting", "flush"}; !slices.Equal(order, want) {
			t.Errorf("order %v, want %v", order, want)
		}
		if len(*exits) != 0 || len(only[*StopStepFailed](&r)) != 1 || len(only[*StopStepDone](&r)) != 2 || len(only[*Stopped](&r)) != 1 {
			t.Errorf("exits %v, facts %+v", *exits, r.all())
		}
		if s := only[*Stopping](&r); len(s) != 1 || s[0].Cause != "signal: terminated" {
			t.Errorf("cause: %+v", s)
		}
	})
}

func TestStepThatOverrunsIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		g, signals, _ := newGroup(&r)
		release := make(chan struct{})
		last := false
		g.Stop(Step{"close sessions", 3 * time.Second, func(context.Context) error { <-release; return nil }})
		g.Stop(Step{"flush", time.Second, func(context.Context) error { last = true; return nil }})
		signals <- syscall.SIGINT
		begin := time.Now()
		err := g.Run()
		var over *OverranError
		if !errors.As(err, &over) || !slices.Equal(over.Names, []string{"close sessions"}) {
			t.Errorf("Run: %v", err)
		}
		if d := time.Since(begin); d != 3*time.Second || !last {
			t.Errorf("took %v, last step %v", d, last)
		}
		f := only[*ProcessStepOverran](&r)
		if len(f) != 1 || f[0].Step != "close sessions" || f[0].Limit != 3*time.Second {
			t.Errorf("facts: %+v", f)
		}
		close(release)
	})
}

func TestSecondSignalExitsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		g, signals, exits := newGroup(&r)
		g.Stop(Step{"drain", time.Minute, func(ctx context.Context) error { <-ctx.Done(); return nil }})
		signals <- syscall.SIGTERM
		done := make(chan error, 1)
		go func() { done <- g.Run() }()
		time.Sleep(time.Second)
		signals <- syscall.SIGINT
		synctest.Wait()
		if !slices.Equal(*exits, []int{130}) {
			t.Errorf("exits %v, want 130", *exits)
		}
		<-done
	})
}

func TestPartThatFailsStopsTheGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		g, _, _ := newGroup(&r)
		stopped := false
		broken := errors.New("address in use")
		g.Add("server", func() error { return broken })
		g.Stop(Step{"flush", time.Second, func(context.Context) error { stopped = true; return nil }})
		if err := g.Run(); !errors.Is(err, broken) || !stopped {
			t.Errorf("Run: %v, stopped %v", err, stopped)
		}
	})
}

func TestPartThatPanicsStopsTheGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		g, _, _ := newGroup(&r)
		g.Add("server", func() error { panic("bug") })
		var p *PanicError
		if err := g.Run(); !errors.As(err, &p) {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestStepThatPanicsIsAFailedStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		g, signals, _ := newGroup(&r)
		g.Stop(Step{"drain", time.Minute, func(context.Context) error { panic("bug") }})
		signals <- syscall.SIGTERM
		if err := g.Run(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if f := only[*StopStepFailed](&r); len(f) != 1 || f[0].Step != "drain" {
			t.Errorf("facts: %+v", f)
		}
	})
}

func TestPartThatIgnoresTheStopIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		g, signals, _ := newGroup(&r)
		release := make(chan struct{})
		g.Add("stuck", func() error { <-release; return nil })
		signals <- syscall.SIGTERM
		var over *OverranError
		if err := g.Run(); !errors.As(err, &over) || !slices.Equal(over.Names, []string{"stuck"}) {
			t.Errorf("Run: %v", err)
		}
		close(release)
	})
}
