package actors

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/troupe-run/troupe/host/scripted"
	"github.com/troupe-run/troupe/wire"
)

func (r *rig) interrupt(id, text string) wire.PromptReceipt {
	r.t.Helper()
	rec, err := r.c.Prompt(context.Background(), id, wire.PromptRequest{Message: text, Admission: wire.AdmitInterrupting})
	if err != nil {
		r.t.Fatal(err)
	}
	return rec
}

// users are the texts of the user's messages, in the order they entered.
func users(frames []wire.Frame) string {
	var out []string
	for _, m := range observations[*wire.MessageEnd](frames) {
		if m.Role == wire.RoleUser {
			out = append(out, *m.Text)
		}
	}
	return strings.Join(out, ", ")
}

func TestEnqueuedPromptsRunInOrderAfterTheRunSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		v := r.follow("scripted.a")
		r.prompt("scripted.a", "slow:10")
		synctest.Wait()
		for _, p := range []string{"say:b", "say:c"} {
			if rec := r.prompt("scripted.a", p); !rec.Queued || rec.Generation != 0 {
				t.Errorf("receipt %+v", rec)
			}
		}
		frames := v.settled(3)
		sound(t, frames)
		if got := users(frames); got != "slow:10, say:b, say:c" {
			t.Errorf("entered: %s", got)
		}
		var shown []int
		for _, q := range observations[*wire.Queue](frames) {
			shown = append(shown, len(q.Enqueued))
		}
		if want := []int{1, 2, 1, 0}; !equal(shown, want) {
			t.Errorf("the queue was shown with %v, want %v", shown, want)
		}
	})
}

func equal(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// TestInterruptingEntersTheRunWhereTheRuntimeSteers, and is next where it does
// not.
func TestInterruptingEntersTheRunWhereTheRuntimeSteers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		v := r.follow("scripted.a")
		r.prompt("scripted.a", "slow:10 ; slow:10")
		synctest.Wait()
		r.prompt("scripted.a", "say:later")
		r.interrupt("scripted.a", "say:now")
		frames := v.settled(2)
		sound(t, frames)
		if got := users(frames); got != "slow:10 ; slow:10, say:now, say:later" {
			t.Errorf("entered: %s", got)
		}
		if n := len(observations[*wire.RunEnded](frames)); n != 2 {
			t.Errorf("%d runs", n)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{script: scripted.Options{NoSteering: true}})
		v := r.follow("scripted.a")
		r.prompt("scripted.a", "slow:10")
		synctest.Wait()
		r.prompt("scripted.a", "say:later")
		r.interrupt("scripted.a", "say:now")
		frames := v.settled(3)
		if got := users(frames); got != "slow:10, say:now, say:later" {
			t.Errorf("entered: %s", got)
		}
	})
}

// TestASteerThatCameTooLateIsTheNextRun, under its own id, and is lost never.
func TestASteerThatCameTooLateIsTheNextRun(t *testing.T) {
	for ms := range 30 {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, rigOptions{})
			v := r.follow("scripted.a")
			r.prompt("scripted.a", "wait:10 ; say:x")
			wait(ms)
			rec := r.interrupt("scripted.a", "say:mine")
			m := saw(v, "the steered prompt", func(m *wire.MessageStart) bool { return m.MessageID == rec.MessageID })
			if m.Role != wire.RoleUser {
				t.Errorf("role %s", m.Role)
			}
			saw(v, "its text", func(d *wire.TextDelta) bool { return strings.Contains(d.Delta, "mine") })
			synctest.Wait()
			sound(t, v.all())
			if n := strings.Count(users(v.all()), "mine"); n != 1 {
				t.Errorf("after %d ms it entered %d times", ms, n)
			}
		})
	}
}

func TestWithdraw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		v := r.follow("scripted.a")
		first := r.prompt("scripted.a", "slow:10")
		synctest.Wait()
		rec := r.prompt("scripted.a", "say:never")
		ctx := context.Background()
		if err := r.c.Withdraw(ctx, "scripted.a", rec.MessageID); err != nil {
			t.Error(err)
		}
		for _, id := range []string{rec.MessageID, first.MessageID, "nothing"} {
			if err := r.c.Withdraw(ctx, "scripted.a", id); wire.AsFailure(err).Code != wire.CodeNotFound {
				t.Errorf("%s: %v", id, err)
			}
		}
		v.settled(1)
		synctest.Wait()
		if got := users(v.all()); got != "slow:10" {
			t.Errorf("entered: %s", got)
		}
	})
}

// TestTheSameMessageIDIsTheSamePrompt, while it waits, runs, and after.
func TestTheSameMessageIDIsTheSamePrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		v := r.follow("scripted.a")
		again := func() {
			rec, err := r.c.Prompt(context.Background(), "scripted.a", wire.PromptRequest{Message: "slow:3", MessageID: "mine"})
			if err != nil || rec.MessageID != "mine" {
				t.Errorf("%+v, %v", rec, err)
			}
		}
		again()
		again()
		synctest.Wait()
		again()
		v.settled(1)
		again()
		synctest.Wait()
		if n := len(observations[*wire.RunEnded](v.all())); n != 1 {
			t.Errorf("%d runs", n)
		}
	})
}

func TestTheQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{limits: Limits{QueueLen: 3, PromptBytes: 100}})
		r.prompt("scripted.a", "slow:100")
		synctest.Wait()
		for range 3 {
			r.prompt("scripted.a", "say:x")
		}
		for text, want := range map[string]wire.Code{
			"say:too many": wire.CodeLimit, " \n": wire.CodeInvalid, strings.Repeat("x", 101): wire.CodeInvalid,
		} {
			_, err := r.c.Prompt(context.Background(), "scripted.a", wire.PromptRequest{Message: text})
			if wire.AsFailure(err).Code != want {
				t.Errorf("%.20q: %v, want %s", text, err, want)
			}
		}
		r.abort("scripted.a")
	})
}
