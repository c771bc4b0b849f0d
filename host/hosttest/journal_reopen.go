package hosttest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// RunReopening holds a journal that survives its process to what it must still
// know. open opens the same place again; the suite closes it before.
func RunReopening(t *testing.T, make func(*testing.T) (open func(JournalSettings) host.Journal)) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, again func() host.Journal, now *clock)
	}{
		{"the record, the row and the wakes", recordSurvives},
		{"writers of before are fenced", writersFenced},
		{"receipts and their expiry", receiptsSurvive},
		{"deltas and their order", deltasSurvive},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := &clock{now: newYear}
			open := make(t)
			var j host.Journal
			c.test(t, func() host.Journal {
				if j != nil {
					closed(t, j)
				}
				j = open(JournalSettings{Now: now.Now, MaxDeltas: maxDeltas})
				return j
			}, now)
			closed(t, j)
		})
	}
}

func recordSurvives(t *testing.T, again func() host.Journal, _ *clock) {
	j := again()
	for n := range 30 {
		w := write(t, j, "a", fmt.Sprintf("x%02d", n)).create(2, n)
		w.commit(w.batch(3, func(b *host.Batch) {
			b.Events[1].Type = host.SnapshotEvent
			b.Put = []host.Wake{wake("m1"), wake("m2")}
		}))
		w.commit(w.batch(0, send("b", "new", wake(fmt.Sprintf("m%02d", n)))))
	}
	wantIDs, _ := everyPage(t, j, wire.ThreadQuery{Limit: 7})
	j = again()
	gotIDs, _ := everyPage(t, j, wire.ThreadQuery{Limit: 7})
	if len(gotIDs) != 30 || !slices.Equal(gotIDs, wantIDs) {
		t.Errorf("the catalog has %v, want %v", gotIDs, wantIDs)
	}
	for n := range 30 {
		w := waits(t, j, "a", fmt.Sprintf("x%02d", n), "m1", "m2")
		events := w.events()
		if e, ok, err := j.LatestSnapshot(t.Context(), w.id); err != nil || !ok || e.Seq != 3 {
			t.Errorf("snapshot: %d %v %v", e.Seq, ok, err)
		}
		if len(events) != 5 {
			t.Fatalf("%d events", len(events))
		}
		events[3].Type = "message"
		sameEvents(t, events, 0, 4)
		w.head = 1
		sameRow(t, w.open.Row, w.row(n))
		w.head = 4
		w.commit(w.batch(1))
	}
	ids, next, err := j.Waiting(t.Context(), 500, "")
	if len(ids) != 31 || next != "" || err != nil {
		t.Errorf("waiting: %d %q %v", len(ids), next, err)
	}
	if w := write(t, j, "b", "new"); w.open.Exists || len(w.open.Wakes) != 30 {
		t.Errorf("a thread to come: %v, %d wakes", w.open.Exists, len(w.open.Wakes))
	}
}

func writersFenced(t *testing.T, again func() host.Journal, _ *clock) {
	old := write(t, again(), "a", "x").create(1, 1)
	j := again()
	old.j = j
	late := old.batch(1)
	old.refused(late, wire.CodeConflict)
	young := write(t, j, "a", "x")
	if young.epoch <= old.epoch {
		t.Errorf("epoch %d after %d", young.epoch, old.epoch)
	}
	old.refused(late, wire.CodeConflict)
	young.commit(young.batch(1))
	sameEvents(t, young.events(), 0, 1)
}

func receiptsSurvive(t *testing.T, again func() host.Journal, now *clock) {
	day := now.Now().Add(24 * time.Hour)
	w := write(t, again(), "a", "x").create(1, 1)
	w.commit(w.batch(1, receipt("k", 1, day)))
	j := again()
	hasReceipt(t, j, "k", 1, day)
	now.pass(24 * time.Hour)
	j = again()
	if _, ok, err := j.Receipt(t.Context(), "k"); ok || err != nil {
		t.Errorf("expired: %v %v", ok, err)
	}
}

func deltasSurvive(t *testing.T, again func() host.Journal, now *clock) {
	j := again()
	w := write(t, j, "a", "x").create(1, 1)
	j.AppendDeltas(w.id, []host.Delta{delta(1, 0), delta(2, 0)})
	j = again() // closing writes what waits
	j.AppendDeltas(w.id, []host.Delta{delta(2, 0), delta(3, 0)})
	if got := positions(t, j, w.id, 0); !slices.Equal(got, []int64{1, 2, 3}) || j.DroppedDeltas() != 1 {
		t.Errorf("kept: %v, %d dropped", got, j.DroppedDeltas())
	}
	now.pass(host.DeltaRetention)
	if got := positions(t, again(), w.id, 0); len(got) > 0 {
		t.Errorf("kept for too long: %v", got)
	}
}
