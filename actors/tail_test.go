package actors

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/troupe-run/troupe/wire"
)

// TestRule_ProvenanceIsRecordedCoalescedInARing: consecutive events of one type,
// name and provenance fold into one row with an exact count, a change of either
// starts a new row, and old rows fall off the front.
func TestRule_ProvenanceIsRecordedCoalescedInARing(t *testing.T) {
	ring := tail{max: 3}
	for range 5 {
		ring.add("observation", "text-delta", provHeld, 1)
	}
	ring.add("observation", "text-delta", provReplayed, 2)
	ring.add("observation", "settled", provReplayed, 1)
	want := "[{observation text-delta held 5} {observation text-delta replayed 2} {observation settled replayed 1}]"
	if have := fmt.Sprint(ring.list()); have != want {
		t.Errorf("have %s\nwant %s", have, want)
	}
	ring.add("status", "", provLive, 1)
	if have := ring.list(); len(have) != 3 || have[0].Provenance != "replayed" || have[2].Type != "status" {
		t.Errorf("the oldest row did not fall off: %v", have)
	}
}

// TestRule_AQuestionOutOfTheSchemaIsNoQuestion: it is told as unmapped, its asker
// gets the cancel value at once, and the run goes on.
func TestRule_AQuestionOutOfTheSchemaIsNoQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		v := r.follow("scripted.a")
		r.prompt("scripted.a", `ask:questionnaire {"title":"t","questions":[{"header":"same","question":"a?","options":[{"label":"x","description":""},{"label":"y","description":""}],"multiSelect":false},{"header":"same","question":"b?","options":[{"label":"x","description":""},{"label":"y","description":""}],"multiSelect":false}]} ; say:went on`)
		e := v.settled(1)
		sound(t, e)
		if q := observations[*wire.ExtensionUIRequest](e); len(q) != 0 {
			t.Errorf("it was shown: %s", show(e))
		}
	})
}

// TestRule_TheTailsLiveWithTheSession: without one both are empty.
func TestRule_TheTailsLiveWithTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		v := r.follow("scripted.a")
		empty := func(when string) {
			tails, err := r.c.Tails(context.Background(), "scripted.a")
			if err != nil || len(tails.Emitted)+len(tails.Sent) != 0 || tails.Emitted == nil || tails.Sent == nil {
				t.Errorf("%s: %+v, %v", when, tails, err)
			}
		}
		empty("before")
		r.prompt("scripted.a", "say:x")
		v.settled(1)
		synctest.Wait()
		tails, err := r.c.Tails(context.Background(), "scripted.a")
		if err != nil || len(tails.Emitted) == 0 || len(tails.Sent) == 0 {
			t.Errorf("%+v, %v", tails, err)
		}
		r.prompt("scripted.a", "exit:1")
		v.settled(2)
		empty("after")
	})
}
