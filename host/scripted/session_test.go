package scripted

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// bubble starts a session in virtual time.
func bubble(t *testing.T, o Options, test func(t *testing.T, k *sink, s host.Session)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		k := newSink()
		s, err := New(o).Start(context.Background(), host.StartSpec{Session: 1}, k)
		if err != nil {
			t.Fatal(err)
		}
		test(t, k, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func prompt(t *testing.T, s host.Session, run uint64, text string) {
	t.Helper()
	if err := s.Prompt(context.Background(), host.Prompt{Run: run, MessageID: fmt.Sprintf("u%d", run), Text: text}); err != nil {
		t.Fatal(err)
	}
}

// tally counts the terminals of each run, and says what a run may not do: speak
// after its end.
func tally(t *testing.T, reports []host.Report) map[uint64]wire.RunOutcome {
	t.Helper()
	ends := map[uint64]wire.RunOutcome{}
	open := map[string]bool{}
	gone := false
	for _, r := range reports {
		if gone {
			t.Errorf("after the session's last report: %s", show(r))
		}
		switch r := r.(type) {
		case *host.RunOver:
			if _, twice := ends[r.Run]; twice {
				t.Errorf("run %d is over twice", r.Run)
			}
			ends[r.Run] = r.Outcome
			if len(open) > 0 {
				t.Errorf("run %d left open %v", r.Run, open)
			}
		case *host.Exited:
			gone = true
		case *host.Observed:
			switch o := r.Observation.(type) {
			case *wire.MessageStart:
				open[o.MessageID] = true
			case *wire.MessageEnd:
				delete(open, o.MessageID)
			}
		}
	}
	return ends
}

// A stop at any instant of a run ends it once, and leaves nothing open.
func TestAbortAgainstFinish(t *testing.T) {
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	const script = "think:a ; say:b ; tool:x {} ; late:y {} ; slow:3 ; ask:withdraw 20 t ; overlap:a|b|c ; bigtool:100 ; say:d"
	for range 300 {
		at := time.Duration(rnd.Int64N(140_000)) * time.Microsecond
		bubble(t, Options{}, func(t *testing.T, k *sink, s host.Session) {
			prompt(t, s, 1, script)
			time.Sleep(at)
			for range 3 {
				go func() { _ = s.Abort(context.Background(), 1) }()
			}
			time.Sleep(time.Second)
			prompt(t, s, 2, "say:usable")
			time.Sleep(time.Second)
			ends := tally(t, k.all())
			if len(ends) != 2 || ends[1] == wire.RunFailed || ends[2] != wire.RunCompleted {
				t.Errorf("seed %d, stopped after %v: %v", seed, at, ends)
			}
		})
	}
}

// The same with nothing but the scheduler between them.
func TestAbortAgainstAQuickFinish(t *testing.T) {
	outcomes := map[wire.RunOutcome]int{}
	for range 300 {
		bubble(t, Options{}, func(t *testing.T, k *sink, s host.Session) {
			var both sync.WaitGroup
			both.Go(func() { prompt(t, s, 1, "burst:20,5") })
			both.Go(func() { _ = s.Abort(context.Background(), 1) })
			both.Wait()
			synctest.Wait()
			ends := tally(t, k.all())
			if len(ends) != 1 {
				t.Errorf("got %v", ends)
			}
			outcomes[ends[1]]++
		})
	}
	if outcomes[wire.RunAborted] == 0 {
		t.Errorf("no stop ever came in time: %v", outcomes)
	}
}

// A steered prompt is taken in, once, or refused; or the run was stopped.
func TestSteerAgainstTheEnd(t *testing.T) {
	for i := range 200 {
		bubble(t, Options{}, func(t *testing.T, k *sink, s host.Session) {
			prompt(t, s, 1, "say:a ; slow:2 ; say:b")
			taken := 0
			var mu sync.Mutex
			var all sync.WaitGroup
			for n := range 5 {
				all.Go(func() {
					time.Sleep(time.Duration(i%3) * 25 * time.Millisecond)
					err := s.Steer(context.Background(), host.Prompt{MessageID: fmt.Sprint(n), Text: "say:c ; tool:x"})
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						taken++
					} else if wire.AsFailure(err).Code != wire.CodeConflict {
						t.Error(err)
					}
				})
			}
			all.Wait()
			time.Sleep(time.Second)
			seen := map[string]int{}
			for _, r := range k.all() {
				if st, ok := r.(*host.Steered); ok {
					seen[st.MessageID]++
				}
			}
			if ends := tally(t, k.all()); len(seen) != taken || ends[1] != wire.RunCompleted {
				t.Errorf("%d taken, %v seen, %v", taken, seen, ends)
			}
		})
	}
}

func TestIDsAreUniqueAcrossSessions(t *testing.T) {
	seen := map[string]bool{}
	once := func(id string) {
		if seen[id] {
			t.Errorf("the id %s is there twice", id)
		}
		seen[id] = true
	}
	for n := range uint64(3) {
		synctest.Test(t, func(t *testing.T) {
			k := newSink()
			o := Options{OnStart: []wire.Observation{&wire.ExtensionUIRequest{Blocking: true, Dialog: &wire.ConfirmDialog{Title: "?"}}}}
			s, err := New(o).Start(context.Background(), host.StartSpec{Session: n + 1}, k)
			if err != nil {
				t.Fatal(err)
			}
			for run := range uint64(2) {
				prompt(t, s, run+1, "say:a ; tool:x ; notify:b ; ask:withdraw 5 c ; overlap:a|b")
				time.Sleep(time.Second)
			}
			for _, r := range k.all() {
				if ob, ok := r.(*host.Observed); ok {
					switch o := ob.Observation.(type) {
					case *wire.MessageStart:
						once(o.MessageID)
					case *wire.ToolCall:
						once(o.ToolCallID)
					case *wire.ExtensionUIRequest:
						once(o.ID)
					}
				}
			}
			_ = s.Close()
		})
	}
	if len(seen) != 3*(1+2*(4+1+2)) {
		t.Errorf("got %d ids", len(seen))
	}
}

// Without credit a script waits. Close, Kill and Abort do not.
func TestWithoutCredit(t *testing.T) {
	blocked := func(t *testing.T, test func(t *testing.T, k *sink, s host.Session)) {
		bubble(t, Options{}, func(t *testing.T, k *sink, s host.Session) {
			k.gone = make(chan struct{})
			k.gate = make(chan struct{})
			prompt(t, s, 1, "burst:1000,10")
			synctest.Wait()
			test(t, k, s)
		})
	}
	bound := func(t *testing.T, what string, fn func()) {
		t.Helper()
		begun := time.Now()
		fn()
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("%s took %v", what, took)
		}
	}
	t.Run("a closed thread", func(t *testing.T) {
		blocked(t, func(t *testing.T, k *sink, s host.Session) {
			close(k.gone)
			before := len(k.all())
			bound(t, "Close", func() { _ = s.Close() })
			time.Sleep(time.Hour)
			if got := k.all(); len(got) != before || k.count(0) != 0 {
				t.Errorf("%d reports after Close, %d goroutines", len(got)-before, k.count(0))
			}
		})
	})
	t.Run("Close", func(t *testing.T) {
		blocked(t, func(t *testing.T, k *sink, s host.Session) {
			bound(t, "Close", func() { _ = s.Close() })
			close(k.gone)
		})
	})
	t.Run("Kill", func(t *testing.T) {
		blocked(t, func(t *testing.T, k *sink, s host.Session) {
			bound(t, "Kill", func() { s.Kill() })
			time.Sleep(time.Minute)
			got := k.all()
			if _, ok := got[len(got)-1].(*host.Exited); !ok {
				t.Errorf("got %s", show(got[len(got)-1]))
			}
			close(k.gone)
		})
	})
	t.Run("Abort", func(t *testing.T) {
		blocked(t, func(t *testing.T, k *sink, s host.Session) {
			bound(t, "Abort", func() { _ = s.Abort(context.Background(), 1) })
			close(k.gate)
			synctest.Wait()
			if ends := tally(t, k.all()); ends[1] != wire.RunAborted || len(k.all()) > 20 {
				t.Errorf("got %v after %d reports", ends, len(k.all()))
			}
		})
	})
	t.Run("a settings verb", func(t *testing.T) {
		blocked(t, func(t *testing.T, k *sink, s host.Session) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			bound(t, "SetMode", func() {
				if err := s.SetMode(ctx, "plan"); wire.AsFailure(err) == nil || wire.AsFailure(err).Code != wire.CodeTimeout {
					t.Errorf("got %v", err)
				}
			})
			close(k.gate)
		})
	})
}

func TestCloseIsIdempotentAndLast(t *testing.T) {
	for _, script := range []string{"slow:1000", "hang", "ask:confirm x", "burst:1000000,1", "panic"} {
		bubble(t, Options{}, func(t *testing.T, k *sink, s host.Session) {
			prompt(t, s, 1, script)
			if strings.HasPrefix(script, "burst") {
				k.await(t, "report", func(host.Report) bool { return true })
			} else {
				synctest.Wait()
			}
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() { _ = s.Close() })
			}
			all.Wait()
			before := len(k.all())
			s.Kill()
			if err := s.Prompt(context.Background(), host.Prompt{Run: 2}); wire.AsFailure(err) == nil {
				t.Errorf("%s: a closed session took a prompt", script)
			}
			time.Sleep(time.Hour)
			if n := len(k.all()) - before; n != 0 || k.count(0) != 0 {
				t.Errorf("%s: %d reports after Close, %d goroutines", script, n, k.count(0))
			}
		})
	}
}

func TestTheSecretIsNowhere(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, k *sink, s host.Session) {
		prompt(t, s, 1, "ask:secret Key")
		synctest.Wait()
		_ = s.Answer(context.Background(), host.Reply{ID: "s1-d1", Outcome: wire.DialogAnswered, Arm: &wire.ValueArm{Value: wire.NewSecret("hunter2")}})
		synctest.Wait()
		all := strings.Join(k.take(), "\n")
		if strings.Contains(all, "hunter2") || !strings.Contains(all, "answered: a secr") {
			t.Errorf("got %s", all)
		}
	})
}

func TestOptions(t *testing.T) {
	ctx := context.Background()
	start := func(t *testing.T, ctx context.Context, o Options) (host.Session, *sink, error) {
		k := newSink()
		s, err := New(o).Start(ctx, host.StartSpec{Session: 1}, k)
		return s, k, err
	}
	code := func(err error) wire.Code {
		var f *wire.Failure
		errors.As(err, &f)
		if f == nil {
			return ""
		}
		return f.Code
	}
	synctest.Test(t, func(t *testing.T) {
		if r := New(Options{}); r.Name() != "scripted" || r.Available() != nil || !r.Capabilities().Steer {
			t.Errorf("the zero options: %q, %v, %+v", r.Name(), r.Available(), r.Capabilities())
		}
		if err := New(Options{Missing: "agent"}).Available(); code(err) != wire.CodeCommandMissing || !strings.Contains(err.Error(), "agent") {
			t.Errorf("Missing: %v", err)
		}

		if _, k, err := start(t, ctx, Options{StartFailure: wire.Errorf(wire.CodeStartFailed, "no")}); code(err) != wire.CodeStartFailed || len(k.all()) != 0 {
			t.Errorf("StartFailure: %v", err)
		}
		soon, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if _, k, err := start(t, soon, Options{StartDelay: time.Hour}); code(err) != wire.CodeStartFailed || len(k.all()) != 0 {
			t.Errorf("StartDelay: %v", err)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("StartPanics: it did not")
				}
			}()
			_, _, _ = start(t, ctx, Options{StartPanics: true})
		}()

		s, k, err := start(t, ctx, Options{
			OnStart:    []wire.Observation{&wire.ExtensionError{Extension: "x", Message: "y"}},
			NoSteering: true, IgnoreKill: true, CloseDelay: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		got := k.all()
		last, _ := got[len(got)-1].(*host.Observed)
		if len(got) != 3 || last.Origin != wire.OriginSessionStart || last.Observation.Kind() != wire.KindExtensionError {
			t.Errorf("OnStart: got %v", k.take())
		}
		if err := s.Steer(ctx, host.Prompt{}); code(err) != wire.CodeUnsupported {
			t.Errorf("NoSteering: %v", err)
		}
		if s.Kill(); s.SetMode(ctx, "plan") != nil {
			t.Error("IgnoreKill: it is gone")
		}
		begun := time.Now()
		_ = s.Close()
		if took := time.Since(begun); took != time.Minute {
			t.Errorf("CloseDelay: took %v", took)
		}

		var heard []host.Reply
		s, _, err = start(t, ctx, Options{
			PromptDelay: time.Second, OnAnswer: func(r host.Reply) { heard = append(heard, r) },
		})
		if err != nil {
			t.Fatal(err)
		}
		begun = time.Now()
		prompt(t, s, 1, "ask:confirm a")
		if took := time.Since(begun); took != time.Second {
			t.Errorf("PromptDelay: took %v", took)
		}
		synctest.Wait()
		_ = s.Answer(ctx, host.Reply{ID: "s1-d1", Outcome: wire.DialogCancelled})
		_ = s.Answer(ctx, host.Reply{ID: "nobody", Outcome: wire.DialogCancelled})
		if len(heard) != 2 || heard[0].ID != "s1-d1" {
			t.Errorf("OnAnswer: heard %v", heard)
		}
		_ = s.Close()

		s, _, err = start(t, ctx, Options{PromptFailure: wire.Errorf(wire.CodeInternal, "no")})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Prompt(ctx, host.Prompt{Run: 1, Text: "say:a"}); code(err) != wire.CodeInternal {
			t.Errorf("PromptFailure: %v", err)
		}
		_ = s.Close()
		if len(tally(t, k.all())) != 0 {
			t.Error("PromptFailure: a run that never was is over")
		}
	})
}

func TestInfoResumesTheSameSession(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, k *sink, s host.Session) {
		first := s.Info()
		if first.Resume == "" || first.PID != 0 || first.Model.ID != "scripted-1" || first.Mode.Mode != "default" {
			t.Errorf("got %+v", first)
		}
		again, err := New(Options{}).Start(context.Background(), host.StartSpec{Session: 2, Resume: first.Resume}, k)
		if err != nil || again.Info().Resume != first.Resume {
			t.Errorf("got %v, %v", again, err)
		}
		_ = again.Close()
	})
}

func BenchmarkBurst(b *testing.B) {
	k := &counting{}
	s, err := New(Options{}).Start(context.Background(), host.StartSpec{Session: 1}, k)
	if err != nil {
		b.Fatal(err)
	}
	k.over = make(chan struct{})
	b.ReportAllocs()
	b.ResetTimer()
	if err := s.Prompt(context.Background(), host.Prompt{Run: 1, Text: fmt.Sprintf("burst:%d,40", b.N)}); err != nil {
		b.Fatal(err)
	}
	<-k.over
	b.StopTimer()
	_ = s.Close()
}

// counting is a thread that forgets everything.
type counting struct{ over chan struct{} }

func (c *counting) Deliver(r host.Report) error {
	if over(r) {
		close(c.over)
	}
	return nil
}

func (c *counting) Go(_ string, fn func()) { go fn() }
