package actors

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/host/memory"
	"github.com/troupe-run/troupe/wire"
)

func TestTwoDrainsBothReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		r.prompt("scripted.a", "hang")
		synctest.Wait()
		errs := make(chan error, 2)
		for range 2 {
			go func() {
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
				defer cancel()
				errs <- r.host.Drain(ctx)
			}()
			synctest.Wait()
		}
		for range 2 {
			if err := <-errs; err != nil {
				t.Errorf("drain: %v", err)
			}
		}
	})
}

// leaving does something to the whole host while a thread is leaving memory: the
// thread stops before it would hear of it.
func leaving(t *testing.T, do func(r *rig, ctx context.Context) error) {
	synctest.Test(t, func(t *testing.T) {
		var r *rig
		errs := make(chan error, 1)
		once := false
		r = newRig(t, rigOptions{trace: func(_ *thread, in input, _ []effect) {
			if _, ok := in.(*stopIfQuietInput); ok && !once {
				once = true
				go func() {
					ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
					defer cancel()
					errs <- do(r, ctx)
				}()
				time.Sleep(time.Millisecond) // the registry sends meanwhile
			}
		}})
		if _, err := r.history("scripted.a"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		began := time.Now()
		if err := <-errs; err != nil {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

func TestADrainWaitsForNoThreadThatIsLeaving(t *testing.T) {
	leaving(t, func(r *rig, ctx context.Context) error { return r.host.Drain(ctx) })
}
func TestClosingFollowersWaitsForNoThreadThatIsLeaving(t *testing.T) {
	leaving(t, func(r *rig, ctx context.Context) error { return r.host.CloseFollowers(ctx) })
}

// An agent of one run a process exits before its run's end is durable.
func TestAnAgentThatExitsAfterEachRunHasNotFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := &hookedRuntime{setup: func(s *hookedSession) {
			s.prompt = func(_ context.Context, p host.Prompt) error {
				_ = s.sink.Deliver(&host.RunOver{Run: p.Run, Outcome: wire.RunCompleted})
				return s.sink.Deliver(&host.Exited{Code: 0})
			}
		}}
		r := newRig(t, rigOptions{agents: hookedAgents(t, rt), journal: memory.Options{Lag: 1}})
		v := r.follow("scripted.a")
		for i := range 8 {
			r.prompt("scripted.a", "x")
			e := saw(v, "end", func(o *wire.RunEnded) bool { return o.Generation == uint64(i+1) })
			if e.Outcome != wire.RunCompleted {
				t.Fatalf("run %d: %+v", i+1, e)
			}
			v.settled(uint64(i + 1))
		}
		if delay, exhausted := r.host.strikes.Current("scripted.a", time.Now()); delay != 0 || exhausted {
			t.Errorf("its next session waits %v, exhausted %v", delay, exhausted)
		}
		v.f.Close()
		time.Sleep(40 * time.Second) // passivated
		r.follow("scripted.a")
		synctest.Wait()
		s, _ := r.c.Get(context.Background(), "scripted.a")
		if s.Status != wire.StatusIdle {
			t.Errorf("after 8 completed runs and a look the thread is %s", s.Status)
		}
	})
}

func TestLookingAtAThreadThatFailedOnceChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := true
		rt := &hookedRuntime{}
		rt.start = func(_ context.Context, _ host.StartSpec, s *hookedSession) (host.Session, error) {
			if bad {
				return nil, &wire.Failure{Code: wire.CodeStartFailed, Message: "no"}
			}
			return s, nil
		}
		r := newRig(t, rigOptions{agents: hookedAgents(t, rt), limits: Limits{IdleSession: time.Second, Passivate: time.Second}})
		v := r.follow("scripted.a")
		for i := range 6 {
			r.prompt("scripted.a", "x")
			v.settled(uint64(i + 1))
		}
		synctest.Wait()
		if s, _ := r.c.Get(context.Background(), "scripted.a"); s.Status != wire.StatusFailed {
			t.Fatalf("after six failures it is %s", s.Status)
		}
		bad = false
		r.prompt("scripted.a", "revive")
		if e := saw(v, "end", func(o *wire.RunEnded) bool { return o.Generation == 7 }); e.Outcome != wire.RunCompleted {
			t.Fatalf("revived, it ended %s", e.Outcome)
		}
		v.settled(7)
		v.f.Close()
		time.Sleep(5 * time.Second)
		before, err := r.c.Get(context.Background(), "scripted.a")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = r.history("scripted.a")
		synctest.Wait()
		after, _ := r.c.Get(context.Background(), "scripted.a")
		if before.Status != after.Status || before.UpdatedAt != after.UpdatedAt {
			t.Errorf("a GET of history changed the thread: %s %v -> %s %v", before.Status, before.UpdatedAt, after.Status, after.UpdatedAt)
		}
	})
}

func TestWhatAnAdapterSaysOutOfTheSchemaIsContained(t *testing.T) {
	for name, set := range map[string]func(s *hookedSession){
		"mode nil available": func(s *hookedSession) {
			s.info = func() host.SessionInfo { return host.SessionInfo{Mode: &wire.PermissionModeState{Mode: "m"}} }
		},
		"model bad": func(s *hookedSession) {
			s.info = func() host.SessionInfo {
				return host.SessionInfo{Model: &wire.ModelState{Provider: "p", ID: "", ContextWindow: -1}}
			}
		},
		"info panics": func(s *hookedSession) { s.info = func() host.SessionInfo { panic("info") } },
		"login nil": func(s *hookedSession) {
			s.prompt = func(_ context.Context, p host.Prompt) error {
				_ = s.sink.Deliver(&host.LoginChanged{})
				return s.sink.Deliver(&host.RunOver{Run: p.Run, Outcome: wire.RunCompleted})
			}
		},
		"login bad state": func(s *hookedSession) {
			s.prompt = func(_ context.Context, p host.Prompt) error {
				_ = s.sink.Deliver(&host.LoginChanged{Login: &wire.Login{State: "weird", Provider: "p"}})
				return s.sink.Deliver(&host.RunOver{Run: p.Run, Outcome: wire.RunCompleted})
			}
		},
		"observed nil": func(s *hookedSession) {
			s.prompt = func(_ context.Context, p host.Prompt) error {
				_ = s.sink.Deliver(&host.Observed{Origin: wire.OriginRun})
				return s.sink.Deliver(&host.RunOver{Run: p.Run, Outcome: wire.RunCompleted})
			}
		},
		"outcome bad": func(s *hookedSession) {
			s.prompt = func(_ context.Context, p host.Prompt) error {
				return s.sink.Deliver(&host.RunOver{Run: p.Run, Outcome: "weird"})
			}
		},
		"outcome empty": func(s *hookedSession) {
			s.prompt = func(_ context.Context, p host.Prompt) error {
				return s.sink.Deliver(&host.RunOver{Run: p.Run})
			}
		},
		"failure bad code": func(s *hookedSession) {
			s.prompt = func(_ context.Context, p host.Prompt) error {
				return s.sink.Deliver(&host.RunOver{Run: p.Run, Outcome: wire.RunFailed, Failure: &wire.Failure{Code: "zzz", Message: "m"}})
			}
		},
		"prompt err bad code": func(s *hookedSession) {
			s.prompt = func(_ context.Context, p host.Prompt) error {
				return &wire.Failure{Code: "zzz", Message: "m"}
			}
		},
		"nested too deep": func(s *hookedSession) {
			s.prompt = func(_ context.Context, p host.Prompt) error {
				deep := []byte(strings.Repeat("[", 9999) + strings.Repeat("]", 9999))
				_ = s.say(&wire.MessageStart{MessageID: "m", Role: wire.RoleAssistant})
				_ = s.say(&wire.ToolCall{MessageID: "m", ToolCallID: "c", ToolName: "t", Input: deep})
				_ = s.say(&wire.CustomEntry{CustomType: "c", Data: deep})
				_ = s.say(&wire.Unmapped{Event: deep})
				return s.sink.Deliver(&host.RunOver{Run: p.Run, Outcome: wire.RunCompleted})
			}
		},
		"origin bad": func(s *hookedSession) {
			s.prompt = func(_ context.Context, p host.Prompt) error {
				_ = s.sink.Deliver(&host.Observed{Observation: &wire.ExtensionUIRequest{ID: "q", Blocking: true, Dialog: &wire.ConfirmDialog{Title: "t"}}})
				return s.sink.Deliver(&host.RunOver{Run: p.Run, Outcome: wire.RunCompleted})
			}
		},
		"bad utf8": func(s *hookedSession) {
			s.prompt = func(_ context.Context, p host.Prompt) error {
				_ = s.say(&wire.MessageStart{MessageID: "m\xff", Role: wire.RoleAssistant})
				_ = s.say(&wire.TextDelta{MessageID: "m\xff", Delta: "a\xc3"})
				_ = s.say(&wire.TextDelta{MessageID: "m\xff", Delta: "\xa9b"})
				_ = s.say(&wire.MessageEnd{MessageID: "m\xff", Role: wire.RoleAssistant})
				return s.sink.Deliver(&host.RunOver{Run: p.Run, Outcome: wire.RunCompleted})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, followed := range []bool{true, false} {
				synctest.Test(t, func(t *testing.T) {
					rt := &hookedRuntime{setup: set}
					r := newRig(t, rigOptions{agents: hookedAgents(t, rt)})
					var v *viewer
					if followed {
						v = r.follow("scripted.a")
					}
					r.prompt("scripted.a", "x")
					wait(60_000)
					h, err := r.history("scripted.a")
					if err != nil {
						t.Fatalf("followed %v: %v", followed, err)
					}
					if h.Busy {
						t.Errorf("followed %v: its run never ended", followed)
					}
					if followed && !v.ended() {
						if s := fold(v.all()); !same(s, h) {
							t.Errorf("live and history differ:\n%s%s", show([]wire.Frame{s}), show([]wire.Frame{h}))
						}
					}
					for i, s := range rt.sessions {
						if gone := !h.Live || i < len(rt.sessions)-1; gone && s.closes.Load() != 1 {
							t.Errorf("followed %v: session %d was closed %d times", followed, i, s.closes.Load())
						}
					}
				})
			}
		})
	}
}

func TestAVerbIsAnsweredWhenItsSessionGoes(t *testing.T) {
	for name, mode := range map[string]func(s *hookedSession) func(context.Context, string) error{
		"panics after exit": func(s *hookedSession) func(context.Context, string) error {
			return func(context.Context, string) error {
				_ = s.sink.Deliver(&host.Exited{Code: 1})
				time.Sleep(time.Second)
				panic("gone")
			}
		},
		"blocks": func(s *hookedSession) func(context.Context, string) error {
			return func(context.Context, string) error {
				_ = s.sink.Deliver(&host.Exited{Code: 1})
				time.Sleep(time.Hour)
				return errors.New("late")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rt := &hookedRuntime{setup: func(s *hookedSession) { s.mode = mode(s) }}
				r := newRig(t, rigOptions{agents: hookedAgents(t, rt)})
				v := r.follow("scripted.a")
				r.prompt("scripted.a", "x")
				v.settled(1)
				began := time.Now()
				errs := make(chan error, 2)
				for range 2 {
					go func() { errs <- r.c.SetMode(context.Background(), "scripted.a", wire.ModeRequest{Mode: "m"}) }()
				}
				for range 2 {
					if err := <-errs; err == nil {
						t.Error("a verb that was never carried out was answered as done")
					}
				}
				if took := time.Since(began); took > 50*time.Second {
					t.Errorf("they were answered after %v", took)
				}
				wait(2 * 3600_000) // the call that blocks comes back
			})
		})
	}
}

// A prompt that asked to cut in runs before the ones that waited longer.
func TestTheQueueShowsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := &hookedRuntime{}
		rt.setup = func(s *hookedSession) {
			s.prompt = func(context.Context, host.Prompt) error { return nil }
		}
		rt.start = func(_ context.Context, _ host.StartSpec, s *hookedSession) (host.Session, error) {
			time.Sleep(time.Second)
			return s, nil
		}
		r := newRig(t, rigOptions{agents: hookedAgents(t, rt)})
		v := r.follow("scripted.a")
		r.prompt("scripted.a", "first")
		time.Sleep(2 * time.Second)
		r.prompt("scripted.a", "enqueued")
		if _, err := r.c.Prompt(context.Background(), "scripted.a", wire.PromptRequest{Message: "cut", Admission: wire.AdmitInterrupting}); err != nil {
			t.Fatal(err)
		}
		_ = rt.last().sink.Deliver(&host.Exited{Code: 1})
		time.Sleep(10 * time.Second)
		last := observations[*wire.Queue](v.all())
		if q := last[len(last)-1]; len(q.Interrupting) != 0 || len(q.Enqueued) != 1 || q.Enqueued[0].Text != "enqueued" {
			t.Errorf("while the one that cut in runs, the queue shows %+v", q)
		}
		for _, q := range last {
			if len(q.Interrupting) == 1 && len(q.Enqueued) == 0 {
				t.Errorf("the queue hid the one that waits: %+v", q)
			}
		}
	})
}

// While a prompt is being committed there is no run, and a question of session-start
// may be open.
func TestAnAbortBeforeTheRunSettlesTheQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := &hookedRuntime{}
		rt.setup = func(s *hookedSession) {
			_ = s.sink.Deliver(&host.Observed{Origin: wire.OriginSessionStart, Observation: &wire.ExtensionUIRequest{ID: "q1", Origin: wire.OriginSessionStart, Blocking: true, Dialog: &wire.ConfirmDialog{Title: "t"}}})
		}
		hold := make(chan struct{})
		slow := false
		r := newRig(t, rigOptions{agents: hookedAgents(t, rt), journal: memory.Options{Fail: func(host.Batch) error {
			if slow {
				<-hold
			}
			return nil
		}}})
		v := r.follow("scripted.a")
		_, _, err := r.c.Create(context.Background(), wire.CreateThread{ID: "a"})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.c.SetMode(context.Background(), "scripted.a", wire.ModeRequest{Mode: "m"}); err != nil {
			t.Fatal(err)
		}
		slow = true
		go func() { _, _ = r.c.Prompt(context.Background(), "scripted.a", wire.PromptRequest{Message: "x"}) }()
		synctest.Wait()
		got := make(chan wire.AbortReceipt)
		go func() { got <- r.abort("scripted.a") }()
		synctest.Wait()
		close(hold)
		rec := <-got
		ds, _ := r.c.Dialogs(context.Background(), "scripted.a")
		if len(ds) != 0 || len(rec.Dialogs) != 1 {
			t.Errorf("after the abort: open %v, receipt %+v\n%s", ds, rec, show(v.all()))
		}
	})
}

func TestASecondAbortDropsWhatCameSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		v := r.follow("scripted.a")
		r.prompt("scripted.a", "hang")
		synctest.Wait()
		go r.c.Abort(context.Background(), "scripted.a")
		synctest.Wait()
		r.prompt("scripted.a", "say:not wanted")
		rec := r.abort("scripted.a")
		time.Sleep(time.Minute)
		if len(rec.Queue) != 1 {
			t.Errorf("second abort: %+v; said %q", rec, said(v.all()))
		}
	})
}

func TestAPromptCannotTakeTheIdOfAnOpenMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		v := r.follow("scripted.a")
		r.prompt("scripted.a", "slow:100")
		m := saw(v, "start", func(m *wire.MessageStart) bool { return m.Role == wire.RoleAssistant })
		time.Sleep(time.Second)
		_, err := r.c.Prompt(context.Background(), "scripted.a", wire.PromptRequest{Message: "say:hi", MessageID: m.MessageID, Admission: wire.AdmitInterrupting})
		if f := wire.AsFailure(err); f == nil || f.Code != wire.CodeInvalid {
			t.Errorf("the prompt was answered %v", err)
		}
		v.settled(1)
		h, err := r.history("scripted.a")
		if err != nil || !same(fold(v.all()), h) {
			t.Errorf("live and history differ (%v)", err)
		}
		if n := len(observations[*wire.Unmapped](v.all())); n != 0 {
			t.Errorf("%d deltas lost their message", n)
		}
	})
}

// an enqueued prompt that the adapter says it took in is not lost.
func TestAPromptThatWasNeverHandedOverIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		handed := map[string]int{}
		hand := func(p host.Prompt) {
			mu.Lock()
			defer mu.Unlock()
			handed[p.MessageID]++
		}
		rt := &hookedRuntime{setup: func(s *hookedSession) {
			s.prompt = func(_ context.Context, p host.Prompt) error { hand(p); return nil }
			s.steer = func(_ context.Context, p host.Prompt) error { hand(p); return nil }
		}}
		r := newRig(t, rigOptions{agents: hookedAgents(t, rt)})
		r.prompt("scripted.a", "x")
		synctest.Wait()
		if _, err := r.c.Prompt(context.Background(), "scripted.a", wire.PromptRequest{Message: "y", MessageID: "p2"}); err != nil {
			t.Fatal(err)
		}
		s := rt.last()
		_ = s.sink.Deliver(&host.Steered{MessageID: "p2"})
		_ = s.sink.Deliver(&host.RunOver{Run: 1, Outcome: wire.RunCompleted})
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if handed["p2"] != 1 {
			t.Errorf("p2 was handed over %d times", handed["p2"])
		}
	})
}

// a verb that comes while the host drains is answered.
func TestAVerbIsRefusedWhileTheHostDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		r.prompt("scripted.a", "say:x")
		time.Sleep(time.Second)
		if err := r.host.Drain(context.Background()); err != nil {
			t.Fatal(err)
		}
		b := time.Now()
		err := r.c.SetMode(context.Background(), "scripted.a", wire.ModeRequest{Mode: "plan"})
		if d := time.Since(b); d > time.Minute {
			t.Errorf("after %v: %v", d, err)
		}
	})
}

// text that is held back for the scrubber's sake is not lost at the run's or the session's end.
func TestTextHeldForASecretsSakeIsNotLost(t *testing.T) {
	for name, end := range map[string]func(s *hookedSession, run uint64){
		"run over": func(s *hookedSession, run uint64) {
			_ = s.sink.Deliver(&host.RunOver{Run: run, Outcome: wire.RunCompleted})
		},
		"exit": func(s *hookedSession, _ uint64) { _ = s.sink.Deliver(&host.Exited{Code: 1}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rt := &hookedRuntime{setup: func(s *hookedSession) {
					s.prompt = func(_ context.Context, p host.Prompt) error {
						return s.say(&wire.ExtensionUIRequest{ID: "q", Origin: wire.OriginRun, Blocking: true, Dialog: &wire.InputDialog{Title: "t", Secret: true}})
					}
					s.answer = func(context.Context, host.Reply) error {
						_ = s.say(&wire.MessageStart{MessageID: "m", Role: wire.RoleAssistant})
						_ = s.say(&wire.TextDelta{MessageID: "m", Delta: "he said hunt"})
						end(s, 1)
						return nil
					}
				}}
				r := newRig(t, rigOptions{agents: hookedAgents(t, rt)})
				v := r.follow("scripted.a")
				r.prompt("scripted.a", "x")
				asked(v)
				if err := r.c.Answer(context.Background(), "scripted.a", wire.Answer{ID: "q", Arm: &wire.ValueArm{Value: wire.NewSecret("hunter22")}}); err != nil {
					t.Fatal(err)
				}
				v.settled(1)
				if s := said(v.all()); s != "he said hunt" {
					t.Errorf("said %q", s)
				}
			})
		})
	}
}

// a Close that panics leaves no process behind.
func TestASessionWhoseClosePanicsIsKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := &hookedRuntime{setup: func(s *hookedSession) { s.closeFn = func() { panic("close") } }}
		r := newRig(t, rigOptions{agents: hookedAgents(t, rt), limits: Limits{IdleSession: time.Second}})
		r.prompt("scripted.a", "x")
		time.Sleep(time.Minute)
		if s := rt.last(); s.kills.Load() == 0 {
			t.Errorf("closes %d kills %d", s.closes.Load(), s.kills.Load())
		}
	})
}

// the list by status.
func TestTheListByStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		r.prompt("scripted.a", "say:x")
		time.Sleep(5 * time.Second)
		for _, st := range []wire.ThreadStatus{wire.StatusActive, wire.StatusIdle} {
			p, err := r.c.List(context.Background(), wire.ThreadQuery{Status: st})
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range p.Threads {
				if s.Status != st {
					t.Errorf("asked for %s, got %s", st, s.Status)
				}
			}
			if st == wire.StatusIdle && len(p.Threads) != 1 {
				t.Errorf("%d idle threads", len(p.Threads))
			}
		}
	})
}

func TestATimeoutBeyondAllMeasureIsNone(t *testing.T) {
	for _, ms := range []int64{9007199254740991, 9223372036854775807, 9223372036855, 1e13, 1e14, 1e16} {
		synctest.Test(t, func(t *testing.T) {
			rt := &hookedRuntime{setup: func(s *hookedSession) {
				s.prompt = func(_ context.Context, p host.Prompt) error {
					return s.say(&wire.ExtensionUIRequest{ID: "q", Origin: wire.OriginRun, Blocking: true, Dialog: &wire.ConfirmDialog{Title: "t", Timeout: ms}})
				}
			}}
			r := newRig(t, rigOptions{agents: hookedAgents(t, rt)})
			r.prompt("scripted.a", "x")
			time.Sleep(time.Second)
			ds, _ := r.c.Dialogs(context.Background(), "scripted.a")
			if len(ds) != 1 {
				t.Errorf("timeout %d ms (%v): the question is gone after a second", ms, time.Duration(ms)*time.Millisecond)
			}
		})
	}
}

// Info of a session that says a mode or a login out of the schema with no follower; then one follows.
func TestAnInvalidLoginThatNobodySawSpoilsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := &hookedRuntime{setup: func(s *hookedSession) {
			s.prompt = func(_ context.Context, p host.Prompt) error {
				_ = s.sink.Deliver(&host.LoginChanged{Login: &wire.Login{State: wire.LoginWaiting, Provider: "p", Since: wire.At(time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC))}})
				return nil
			}
		}}
		r := newRig(t, rigOptions{agents: hookedAgents(t, rt)})
		r.prompt("scripted.a", "x")
		time.Sleep(time.Second)
		_, err := r.history("scripted.a")
		if err != nil {
			t.Errorf("history: %v", err)
		}
	})
}
