package actors

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/host/scripted"
	"github.com/troupe-run/troupe/wire"
)

func (r *rig) answer(id string, a wire.Answer) error {
	return r.c.Answer(context.Background(), id, a)
}

func value(id, v string) wire.Answer {
	return wire.Answer{ID: id, Arm: &wire.ValueArm{Value: wire.NewSecret(v)}}
}

// TestRule_AQuestionAnsweredInOneTabIsSettledInAll, and a follow opened under it
// has it in its snapshot.
func TestRule_AQuestionAnsweredInOneTabIsSettledInAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		a := r.follow("scripted.a")
		r.prompt("scripted.a", "ask:select red|green")
		q := asked(a)
		b := r.follow("scripted.a")
		if s := b.snapshot(); len(s.OpenDialogs) != 1 || s.OpenDialogs[0].ID != q.ID || !s.Busy {
			t.Errorf("snapshot %s", show(b.all()[:1]))
		}
		if err := r.answer("scripted.a", value(q.ID, "green")); err != nil {
			t.Fatal(err)
		}
		for _, v := range []*viewer{a, b} {
			frames := v.settled(1)
			sound(t, frames)
			if d := observations[*wire.DialogSettled](frames); len(d) != 1 || d[0].Outcome != wire.DialogAnswered {
				t.Errorf("settled %+v", d)
			}
			if !strings.Contains(said(frames), "green") {
				t.Errorf("the asker did not get the answer: %q", said(frames))
			}
		}
	})
}

// TestRule_ASelectTakesOnlyWhatItOffered: a refused answer leaves the question
// open; a spent one is not found.
func TestRule_ASelectTakesOnlyWhatItOffered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		v := r.follow("scripted.a")
		r.prompt("scripted.a", "ask:select red|green")
		q := asked(v)
		for _, wrong := range []wire.Answer{value(q.ID, "blue"), {ID: q.ID, Arm: &wire.ConfirmArm{Confirmed: true}}} {
			if err := r.answer("scripted.a", wrong); wire.AsFailure(err).Code != wire.CodeInvalid {
				t.Errorf("%+v: %v", wrong, err)
			}
		}
		if open, err := r.c.Dialogs(context.Background(), "scripted.a"); err != nil || len(open) != 1 {
			t.Errorf("open: %v, %v", open, err)
		}
		if err := r.answer("scripted.a", value(q.ID, "red")); err != nil {
			t.Error(err)
		}
		if err := r.answer("scripted.a", value(q.ID, "red")); wire.AsFailure(err).Code != wire.CodeNotFound {
			t.Errorf("spent: %v", err)
		}
		v.settled(1)
	})
}

// TestRule_TheFirstEndingWins: answered, cancelled, timeout and aborted race from
// many goroutines; there is one outcome, one dialog-settled, and the losers are
// told.
func TestRule_TheFirstEndingWins(t *testing.T) {
	for i := range 40 {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, rigOptions{})
			v := r.follow("scripted.a")
			r.prompt("scripted.a", "ask:confirm timeout=100 sure?")
			q := asked(v)
			var won atomic.Int32
			var wg sync.WaitGroup
			try := func(a wire.AnswerArm) {
				wg.Go(func() {
					if i%4 != 0 {
						wait(100) // with the timer
					}
					switch err := r.answer("scripted.a", wire.Answer{ID: q.ID, Arm: a}); {
					case err == nil:
						won.Add(1)
					case wire.AsFailure(err).Code != wire.CodeNotFound:
						t.Errorf("a loser learnt %v", err)
					}
				})
			}
			for range 4 {
				try(&wire.ConfirmArm{Confirmed: true})
				try(&wire.CancelArm{})
			}
			if i%2 == 0 {
				wg.Go(func() {
					wait(100)
					r.abort("scripted.a")
				})
			}
			wg.Wait()
			frames := v.settled(1)
			sound(t, frames)
			settled := observations[*wire.DialogSettled](frames)
			if len(settled) != 1 {
				t.Fatalf("settled %d times", len(settled))
			}
			person := settled[0].Outcome == wire.DialogAnswered || settled[0].Outcome == wire.DialogCancelled
			if n := won.Load(); n > 1 || (n == 1) != person {
				t.Errorf("%d won, but it was %s", n, settled[0].Outcome)
			}
		})
	}
}

// TestRule_EveryEndingButAnsweredGivesTheCancelValue.
func TestRule_EveryEndingButAnsweredGivesTheCancelValue(t *testing.T) {
	for _, c := range []struct {
		name    string
		end     func(*rig, string)
		outcome wire.DialogOutcome
	}{
		{"a person's cancel", func(r *rig, id string) { _ = r.answer("scripted.a", wire.Answer{ID: id, Arm: &wire.CancelArm{}}) }, wire.DialogCancelled},
		{"the timer", func(*rig, string) { wait(200) }, wire.DialogTimeout},
		{"a stop", func(r *rig, _ string) { r.abort("scripted.a") }, wire.DialogAborted},
	} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var replies []host.Reply
			r := newRig(t, rigOptions{script: scripted.Options{OnAnswer: func(a host.Reply) {
				mu.Lock()
				defer mu.Unlock()
				replies = append(replies, a)
			}}})
			v := r.follow("scripted.a")
			r.prompt("scripted.a", "ask:input timeout=150 name?")
			q := asked(v)
			c.end(r, q.ID)
			v.settled(1)
			mu.Lock()
			defer mu.Unlock()
			if len(replies) != 1 || replies[0].Arm != nil || replies[0].Outcome != c.outcome || replies[0].ID != q.ID {
				t.Errorf("%s: the asker got %+v", c.name, replies)
			}
		})
	}
}

// TestRule_AQuestionTheRuntimeWithdrewIsAborted, and one that its session left
// behind is cancelled.
func TestRule_AQuestionTheRuntimeWithdrewIsAborted(t *testing.T) {
	for prompt, want := range map[string]wire.DialogOutcome{
		"ask:withdraw 50 still?": wire.DialogAborted,
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, rigOptions{})
			v := r.follow("scripted.a")
			r.prompt("scripted.a", prompt)
			q := asked(v)
			d := saw(v, "its end", func(d *wire.DialogSettled) bool { return d.ID == q.ID })
			if d.Outcome != want {
				t.Errorf("%s: %s, want %s", prompt, d.Outcome, want)
			}
			v.settled(1)
		})
	}
}

// TestRule_OpenDialogsAreListedOldestFirst, every one of them.
func TestRule_OpenDialogsAreListedOldestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var start []wire.Observation
		for i := range 5 {
			start = append(start, &wire.ExtensionUIRequest{
				ID: fmt.Sprintf("q%d", i), Origin: wire.OriginSessionStart, Blocking: true,
				Dialog: &wire.ConfirmDialog{Title: fmt.Sprint(i), Message: "m"},
			})
		}
		r := newRig(t, rigOptions{script: scripted.Options{OnStart: start}})
		v := r.follow("scripted.a")
		r.prompt("scripted.a", "say:hi")
		v.settled(1)
		s := r.follow("scripted.a").snapshot()
		if len(s.OpenDialogs) != 5 {
			t.Fatalf("%d are listed", len(s.OpenDialogs))
		}
		for i, d := range s.OpenDialogs {
			if d.ID != fmt.Sprintf("q%d", i) {
				t.Errorf("place %d has %s", i, d.ID)
			}
		}
		wait(int(time.Hour / time.Millisecond)) // an open question keeps its session
		if s := r.follow("scripted.a").snapshot(); !s.Live || len(s.OpenDialogs) != 5 {
			t.Errorf("the idle timer disposed of a session that asks: %s", show([]wire.Frame{s}))
		}
	})
}

// TestRule_ASecretIsNowhere: not in a frame, not in history, not in the tails.
func TestRule_ASecretIsNowhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const secret = "hunter2-and-more"
		r := newRig(t, rigOptions{})
		v := r.follow("scripted.a")
		r.prompt("scripted.a", "ask:leak the key? ; say:done")
		q := asked(v)
		if err := r.answer("scripted.a", value(q.ID, secret)); err != nil {
			t.Fatal(err)
		}
		frames := v.settled(1)
		if out := show(frames); strings.Contains(out, "hunter2") {
			t.Errorf("a frame gives it away:\n%s", out)
		}
		if !strings.Contains(said(frames), wire.Redacted) {
			t.Errorf("said %q", said(frames))
		}
		s, err := r.history("scripted.a")
		if err != nil {
			t.Fatal(err)
		}
		if out := show([]wire.Frame{s}); strings.Contains(out, "hunter2") {
			t.Errorf("history gives it away:\n%s", out)
		}
	})
}
