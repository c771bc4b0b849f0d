package actors

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-run/troupe/host/scripted"
	"github.com/troupe-run/troupe/wire"
)

// ends holds how run gen ended, and that it settled once.
func ends(t *testing.T, v *viewer, gen uint64, want wire.RunOutcome) *wire.RunEnded {
	t.Helper()
	frames := v.settled(gen)
	sound(t, frames)
	for _, e := range observations[*wire.RunEnded](frames) {
		if e.Generation == gen {
			if e.Outcome != want {
				t.Errorf("run %d ended %s (%v), want %s", gen, e.Outcome, e.Error, want)
			}
			return e
		}
	}
	t.Fatalf("run %d never ended\n%s", gen, show(frames))
	return nil
}

func TestAbortInMidText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		v := r.follow("scripted.a")
		r.prompt("scripted.a", "slow:1000")
		saw(v, "text", func(*wire.TextDelta) bool { return true })
		rec := r.abort("scripted.a")
		if !rec.Aborted || rec.Generation != 1 || len(rec.Queue) != 0 || len(rec.Dialogs) != 0 {
			t.Errorf("receipt %+v", rec)
		}
		ends(t, v, 1, wire.RunAborted)
		for _, m := range wire.Fold(v.snapshot(), v.all()[1:]...).Messages {
			if !m.Complete {
				t.Errorf("message %s is still open", m.ID)
			}
		}
		if s := r.follow("scripted.a").snapshot(); s.Interrupted == nil || s.Interrupted.Reason != wire.RunAborted || s.Interrupted.LastMessageID == "" {
			t.Errorf("the snapshot does not say that the run was interrupted: %+v", s.Interrupted)
		}
		r.usable("scripted.a")
		if s := r.follow("scripted.a").snapshot(); s.Interrupted != nil {
			t.Errorf("a completed run leaves %+v", s.Interrupted)
		}
	})
}

// TestAbortOfAnAgentThatIgnoresIt: the grace passes, its processes are killed,
// the run ends aborted.
func TestAbortOfAnAgentThatIgnoresIt(t *testing.T) {
	for _, deaf := range []bool{false, true} { // deaf: not even a kill is answered
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, rigOptions{script: scripted.Options{IgnoreKill: deaf}, limits: Limits{CloseTimeout: time.Second}})
			v := r.follow("scripted.a")
			r.prompt("scripted.a", "hang")
			synctest.Wait()
			begin := time.Now()
			rec := r.abort("scripted.a")
			took := time.Since(begin)
			if l := DefaultLimits(); took < l.AbortGrace || took > l.AbortGrace+l.KillGrace+time.Second {
				t.Errorf("took %v", took)
			}
			if !rec.Aborted {
				t.Errorf("receipt %+v", rec)
			}
			ends(t, v, 1, wire.RunAborted)
			r.usable("scripted.a")
		})
	}
}

// TestRule_AStopSettlesItsQuestions: dialogs first; new ones are refused until
// the run has settled, get their cancel value, and are never shown.
func TestRule_AStopSettlesItsQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		v := r.follow("scripted.a")
		r.prompt("scripted.a", "ask:confirm really? ; ask:confirm and this?")
		q := asked(v)
		rec := r.abort("scripted.a")
		if !rec.Aborted || len(rec.Dialogs) != 1 || rec.Dialogs[0] != q.ID {
			t.Errorf("receipt %+v", rec)
		}
		ends(t, v, 1, wire.RunAborted)
		if qs := observations[*wire.ExtensionUIRequest](v.all()); len(qs) != 1 {
			t.Errorf("%d questions were shown", len(qs))
		}
		if s := observations[*wire.DialogSettled](v.all()); len(s) != 1 || s[0].Outcome != wire.DialogAborted {
			t.Errorf("settled %+v", s)
		}
		err := r.c.Answer(context.Background(), "scripted.a", wire.Answer{ID: q.ID, Arm: &wire.ConfirmArm{}})
		if wire.AsFailure(err).Code != wire.CodeNotFound {
			t.Errorf("a late answer: %v", err)
		}
		r.usable("scripted.a")
	})
}

func TestAbortWhileStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{script: scripted.Options{StartDelay: time.Second}})
		v := r.follow("scripted.a")
		r.prompt("scripted.a", "say:one")
		r.prompt("scripted.a", "say:two")
		rec := r.abort("scripted.a")
		if !rec.Aborted || rec.Generation != 1 || len(rec.Queue) != 1 || rec.Queue[0].Text != "say:two" {
			t.Errorf("receipt %+v", rec)
		}
		ends(t, v, 1, wire.RunAborted)
		if said(v.all()) != "" {
			t.Errorf("it spoke all the same: %q", said(v.all()))
		}
		r.usable("scripted.a")
	})
}

// TestRule_AStopCannotOvertakeItsPrompt: one that comes before the agent has the
// prompt, or before the run exists, is remembered.
func TestRule_AStopCannotOvertakeItsPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{script: scripted.Options{PromptDelay: 300 * time.Millisecond}})
		v := r.follow("scripted.a")
		r.prompt("scripted.a", "slow:1000")
		synctest.Wait() // the prompt is being handed over
		if rec := r.abort("scripted.a"); !rec.Aborted {
			t.Errorf("receipt %+v", rec)
		}
		ends(t, v, 1, wire.RunAborted)
		r.usable("scripted.a")
	})
}

func TestAbortTwiceAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		v := r.follow("scripted.a")
		r.prompt("scripted.a", "hang")
		synctest.Wait()
		got := make(chan wire.AbortReceipt, 5)
		for range 5 {
			go func() {
				rec, err := r.c.Abort(context.Background(), "scripted.a")
				if err != nil {
					t.Error(err)
				}
				got <- rec
			}()
		}
		for range 5 {
			if rec := <-got; !rec.Aborted || rec.Generation != 1 {
				t.Errorf("receipt %+v", rec)
			}
		}
		ends(t, v, 1, wire.RunAborted)
		if rec := r.abort("scripted.a"); rec.Aborted || rec.Generation != 1 {
			t.Errorf("on an idle thread a stop is a no-op that says so: %+v", rec)
		}
		if rec := r.abort("scripted.unknown"); rec.Aborted {
			t.Errorf("on an unknown thread: %+v", rec)
		}
		r.usable("scripted.a")
	})
}

func TestAbortDropsTheQueueAndSaysWhat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{script: scripted.Options{NoSteering: true}})
		v := r.follow("scripted.a")
		r.prompt("scripted.a", "slow:1000")
		saw(v, "text", func(*wire.TextDelta) bool { return true })
		r.prompt("scripted.a", "say:second")
		if _, err := r.c.Prompt(context.Background(), "scripted.a", wire.PromptRequest{Message: "say:first", Admission: wire.AdmitInterrupting}); err != nil {
			t.Fatal(err)
		}
		rec := r.abort("scripted.a")
		if len(rec.Queue) != 2 || rec.Queue[0].Text != "say:first" || rec.Queue[1].Text != "say:second" {
			t.Errorf("receipt %+v", rec)
		}
		ends(t, v, 1, wire.RunAborted)
		qs := observations[*wire.Queue](v.all())
		if last := qs[len(qs)-1]; len(last.Enqueued)+len(last.Interrupting) != 0 {
			t.Errorf("the queue was last shown as %+v", last)
		}
		r.usable("scripted.a")
		v.settled(2) // it reads at its own pace
		if got := len(observations[*wire.RunEnded](v.all())); got != 2 {
			t.Errorf("%d runs: the dropped prompts ran", got)
		}
	})
}
