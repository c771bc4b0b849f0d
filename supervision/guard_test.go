package supervision

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-run/troupe/wire"
)

// recorder keeps the facts of a test.
type recorder struct {
	mu    sync.Mutex
	facts []Fact
}

func (r *recorder) publish(f Fact) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.facts = append(r.facts, f)
}

func (r *recorder) all() []Fact {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Fact(nil), r.facts...)
}

func only[F Fact](r *recorder) []F {
	var out []F
	for _, f := range r.all() {
		if f, ok := f.(F); ok {
			out = append(out, f)
		}
	}
	return out
}

func TestGuardTurnsAPanicIntoAFact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		g := NewGuard(r.publish)
		var where string
		var value any
		g.Go("reader", func(w string, v any, stack []byte) {
			where, value = w, v
			if !strings.Contains(string(stack), "guard_test.go") {
				t.Errorf("the stack does not show the panic: %s", stack)
			}
		}, func() { panic("the prompt was: hunter2") })
		synctest.Wait()
		if where != "reader" || value != "the prompt was: hunter2" {
			t.Errorf("onPanic got %q, %v", where, value)
		}
		facts := only[*GoroutinePanicked](&r)
		if len(facts) != 1 || facts[0].Where != "reader" || facts[0].Reason != "string" {
			t.Fatalf("facts: %+v", facts)
		}
		if strings.Contains(string(facts[0].Stack), "hunter2") {
			t.Error("the fact's stack quotes the panic's text")
		}
	})
}

func TestGuardSurvivesAPanicInThePanicHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		NewGuard(r.publish).Go("a", func(string, any, []byte) { panic("again") }, func() { panic("once") })
		synctest.Wait()
		if n := len(only[*GoroutinePanicked](&r)); n != 2 {
			t.Errorf("%d facts, want 2", n)
		}
	})
}

func TestGuardedTimerAndCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		g := NewGuard(r.publish)
		g.AfterFunc(time.Hour, "timer", nil, func() { panic("late") })
		time.Sleep(time.Hour)
		synctest.Wait()
		g.Call("here", nil, func() { panic("now") })
		if n := len(only[*GoroutinePanicked](&r)); n != 2 {
			t.Errorf("%d facts, want 2", n)
		}
	})
}

func TestRedactPrintsNoPayload(t *testing.T) {
	var m map[string]int
	runtimeErr := func() (v any) {
		defer func() { v = recover() }()
		m["k"] = 1
		return nil
	}()
	for _, c := range []struct {
		value any
		want  string
	}{
		{nil, "nil"},
		{"secret text", "string"},
		{errors.New("secret text"), "*errors.errorString"},
		{&wire.Failure{Code: wire.CodeInternal, Message: "secret text"}, "internal"},
		{runtimeErr, "assignment to entry in nil map"},
		{struct{ Prompt string }{"secret"}, "struct { Prompt string }"},
	} {
		if got := Redact(c.value); got != c.want {
			t.Errorf("Redact(%T) = %q, want %q", c.value, got, c.want)
		}
	}
}

func TestFactsNeverBlockTheirPublisher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		block := make(chan struct{})
		f := NewFacts(2, func(fact Fact) { <-block; r.publish(fact) })
		for range 10 {
			f.Publish(&Ready{})
			synctest.Wait()
		}
		close(block)
		if err := f.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.Publish(&Ready{})
		if n := len(only[*Ready](&r)); n != 3 {
			t.Errorf("%d delivered, want the one in hand and two queued", n)
		}
		if d := only[*FactsDropped](&r); len(d) != 1 || d[0].Count != 7 {
			t.Errorf("dropped: %+v, want 7", d)
		}
	})
}

func TestFactsOutliveAPanickingSubscriber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		f := NewFacts(8, func(Fact) { n++; panic("subscriber") })
		f.Publish(&Ready{})
		f.Publish(&Ready{})
		if err := f.Close(t.Context()); err != nil || n != 2 {
			t.Errorf("delivered %d, %v", n, err)
		}
	})
}

func TestFactsCloseGivesUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		f := NewFacts(1, func(Fact) { <-block })
		f.Publish(&Ready{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := f.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close: %v", err)
		}
		close(block)
	})
}
