package actors

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/troupe-run/troupe/wire"
)

func TestAPromptIsFollowedToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		v := r.follow("scripted.a")
		rec := r.prompt("scripted.a", "say:hello there")
		frames := v.settled(1)
		sound(t, frames)
		if got := said(frames); got != "hello there" {
			t.Errorf("said %q\n%s", got, show(frames))
		}
		if rec.MessageID == "" || rec.Queued {
			t.Errorf("receipt %+v", rec)
		}
		rec = r.prompt("scripted.a", "say:again")
		if rec.Generation != 2 {
			t.Errorf("the session was idle, so the receipt names run 2: %+v", rec)
		}
		v.settled(2)
	})
}

// TestRule_TwoFollowersShareOneFeed: both see every frame with the same seq, and
// one leaving detaches nothing.
func TestRule_TwoFollowersShareOneFeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		a, b := r.follow("scripted.a"), r.follow("scripted.a")
		r.prompt("scripted.a", "slow:20")
		saw(a, "the third tick", func(d *wire.TextDelta) bool { return strings.Contains(d.Delta, "3") })
		a.f.Close()
		full := b.settled(1)
		part := a.all()
		if show(part) != show(full[:len(part)]) {
			t.Errorf("the first tab saw\n%s\nthe second\n%s", show(part), show(full))
		}
		sound(t, full)
	})
}

// TestRule_AColdThreadIsAnEmptySnapshot: an unknown id of a known agent is an
// empty snapshot, not an error, and looking creates nothing.
func TestRule_AColdThreadIsAnEmptySnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		v := r.follow("scripted.nobody")
		s := v.snapshot()
		if s.Live || s.Busy || s.Generation != 0 || len(s.Messages) != 0 || s.AsOfSeq != 0 || s.Model != nil {
			t.Errorf("not empty: %s", show(v.all()))
		}
		if _, err := r.history("scripted.nobody"); err != nil {
			t.Error(err)
		}
		if _, err := r.c.Get(context.Background(), "scripted.nobody"); wire.AsFailure(err).Code != wire.CodeNotFound {
			t.Errorf("looking created it: %v", err)
		}
		if page, err := r.c.List(context.Background(), wire.ThreadQuery{}); err != nil || len(page.Threads) != 0 {
			t.Errorf("listed %v, %v", page.Threads, err)
		}
		if _, err := r.c.Follow(context.Background(), "nosuch.thread", FollowOptions{}); wire.AsFailure(err).Code != wire.CodeNotFound {
			t.Errorf("an unknown type: %v", err)
		}
	})
}

// TestRule_TheFeedIsForgottenWithTheLastFollower: seq restarts with the next.
func TestRule_TheFeedIsForgottenWithTheLastFollower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		v := r.follow("scripted.a")
		r.prompt("scripted.a", "say:one")
		v.settled(1)
		v.f.Close()
		synctest.Wait()
		w := r.follow("scripted.a")
		if s := w.snapshot(); s.AsOfSeq != 0 || len(s.Messages) != 2 {
			t.Errorf("snapshot %s", show(w.all()))
		}
		r.prompt("scripted.a", "say:two")
		frames := w.settled(2)
		if o := frames[2].(*wire.ObservationFrame); o.Seq != 1 {
			t.Errorf("seq begins at %d", o.Seq)
		}
	})
}

// TestRule_TheSnapshotIsExact: at many instants of a run with late results,
// overlapping messages and steering, the snapshot of a newcomer is the fold of
// what somebody saw who was there from the beginning; then it misses nothing.
func TestRule_TheSnapshotIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		first := r.follow("scripted.a")
		r.prompt("scripted.a", "slow:5 ; overlap:abc|def ; late:grep {} ; think:hm ; tool:ls {} ; slow:10 ; bigtool:2000 ; say:bye")
		var others []*viewer
		for range 60 {
			others = append(others, r.follow("scripted.a"))
			wait(15)
		}
		_, err := r.c.Prompt(context.Background(), "scripted.a", wire.PromptRequest{Message: "say:steered in", Admission: wire.AdmitInterrupting})
		if err != nil {
			t.Fatal(err)
		}
		first.settled(1)
		synctest.Wait()
		exact(t, first, others)
	})
}

// exact holds every newcomer's frames against what first saw.
func exact(t *testing.T, first *viewer, others []*viewer) {
	t.Helper()
	all := first.all()
	end := wire.Fold(all[0].(*wire.Snapshot), all[1:]...)
	for i, o := range others {
		frames := o.all()
		sound(t, frames)
		s := frames[0].(*wire.Snapshot)
		if want := foldUpTo(all, s); !same(s, want) {
			t.Fatalf("newcomer %d, as of %d:\n%s\nthe fold is\n%s", i, s.AsOfSeq, show([]wire.Frame{s}), show([]wire.Frame{want}))
		}
		if got := wire.Fold(s, frames[1:]...); !same(got, end) {
			t.Fatalf("newcomer %d ends with\n%s\nwant\n%s", i, show([]wire.Frame{got}), show([]wire.Frame{end}))
		}
	}
}
