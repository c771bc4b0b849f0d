package hosttest

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// clock is one that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func send(typ, id string, ws ...host.Wake) func(*host.Batch) {
	return func(b *host.Batch) {
		for _, w := range ws {
			b.Send = append(b.Send, host.Delivery{To: wire.ThreadID{Type: typ, ID: id}, Wake: w})
		}
	}
}

// waits wants these wakes of a thread, whole, and answers its new writer.
func waits(t *testing.T, j host.Journal, typ, id string, want ...string) *writer {
	t.Helper()
	w := write(t, j, typ, id)
	var got []string
	for _, k := range w.open.Wakes {
		got = append(got, k.MessageID)
		full := wake(k.MessageID)
		if k.Text != full.Text || k.Kind != full.Kind || !bytes.Equal(k.Data, full.Data) || k.Admission != full.Admission ||
			!k.At.Equal(full.At) || !slices.Equal(k.Images, full.Images) {
			t.Errorf("wake is %+v, want %+v", k, full)
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%s.%s waits with %v, want %v", typ, id, got, want)
	}
	return w
}

// wakeForAnother needs no epoch of the other thread, and leaves its writer in peace.
func wakeForAnother(t *testing.T, j host.Journal, _ *clock) {
	parent := write(t, j, "a", "parent").create(1, 1)
	child := write(t, j, "a", "child").create(1, 2)
	child.commit(child.batch(1, send("a", "parent", wake("end"))))
	child.commit(child.batch(1, send("a", "parent", wake("end")))) // it waits already
	parent.commit(parent.batch(1))                                 // its epoch stands
	sameEvents(t, parent.events(), 0, 1)
	parent = waits(t, j, "a", "parent", "end")
	parent.commit(parent.batch(1, func(b *host.Batch) { b.Take = []string{"end"} }))
	waits(t, j, "a", "parent")
	own := write(t, j, "a", "child")
	own.commit(own.batch(0, send("a", "child", wake("self"))))
	waits(t, j, "a", "child", "self")
}

// wakeForOneToCome waits for a thread that was never committed.
func wakeForOneToCome(t *testing.T, j host.Journal, _ *clock) {
	early := write(t, j, "a", "child")
	parent := write(t, j, "a", "parent").create(1, 1)
	parent.commit(parent.batch(1, send("a", "child", wake("spawn"), wake("more"))))
	early.create(0, 2) // opened before the wake: its epoch stands
	if _, ok, err := j.Lookup(t.Context(), wire.ThreadID{Type: "b", ID: "child"}); ok || err != nil {
		t.Errorf("lookup: %v %v", ok, err)
	}
	waits(t, j, "a", "child", "spawn", "more")

	parent.commit(parent.batch(1, send("b", "child", wake("spawn"))))
	child := waits(t, j, "b", "child", "spawn")
	if child.open.Exists {
		t.Error("a wake made the thread")
	}
	if types, err := j.Types(t.Context(), "child"); err != nil || !slices.Equal(types, []string{"a"}) {
		t.Errorf("types: %v %v", types, err)
	}
	if ids, _ := page(t, j, wire.ThreadQuery{Type: "b"}); len(ids) > 0 {
		t.Errorf("the catalog has %v", ids)
	}
	child.commit(child.batch(1, child.withRow(3), func(b *host.Batch) { b.Take = []string{"spawn"} }))
	if again := waits(t, j, "b", "child"); !again.open.Exists {
		t.Error("its first commit did not make the thread")
	}
}

func refusedSendsNothing(t *testing.T, j host.Journal, now *clock) {
	write(t, j, "a", "parent").create(1, 1)
	child := write(t, j, "a", "child").create(1, 2)
	child.refused(child.batch(1, send("a", "parent", wake("end")), send("a", "unknown", wake("end")), func(b *host.Batch) {
		b.Expected = 5
		b.Receipt = &host.Receipt{Key: "k", Expires: now.Now().Add(time.Hour)}
	}), wire.CodeConflict)
	waits(t, j, "a", "parent")
	waits(t, j, "a", "unknown")
	if _, ok, err := j.Receipt(t.Context(), "k"); ok || err != nil {
		t.Errorf("receipt of a refused batch: %v %v", ok, err)
	}
	if ids, next, err := j.Waiting(t.Context(), 0, ""); len(ids) > 0 || next != "" || err != nil {
		t.Errorf("waiting: %v %q %v", ids, next, err)
	}
}

// manyWakesForOne: children that end at once, each with a commit of its own.
func manyWakesForOne(t *testing.T, j host.Journal, _ *clock) {
	write(t, j, "a", "parent").create(1, 1)
	var want []string
	var acks []result
	for n := range 100 {
		child := write(t, j, "a", fmt.Sprintf("child%03d", n))
		message := fmt.Sprintf("end%03d", n)
		want = append(want, message)
		acks = append(acks, child.hand(child.batch(1, child.withRow(2), send("a", "parent", wake(message)))))
	}
	for _, a := range acks {
		if err := a.wait(t); err != nil {
			t.Fatal(err)
		}
	}
	waits(t, j, "a", "parent", want...)
}

func waitingInPages(t *testing.T, j host.Journal, _ *clock) {
	var want []string
	for n := range 25 {
		w := write(t, j, "a", fmt.Sprintf("x%02d", n))
		w.commit(w.batch(1, w.withRow(n), func(b *host.Batch) {
			if n%2 == 0 {
				b.Put = []host.Wake{wake("m1"), wake("m2"), wake("m3")}
				want = append(want, w.id.String())
			}
		}))
	}
	last := write(t, j, "a", "x24")
	last.commit(last.batch(0, send("b", "new", wake("m")), func(b *host.Batch) { b.Take = []string{"m1", "m2", "m3"} }))
	want[len(want)-1] = "b.new"
	for _, limit := range []int{1, 5, 12, 13, 14, 500, 0} {
		var got []string
		pages, cursor := 0, ""
		for {
			ids, next, err := j.Waiting(t.Context(), limit, cursor)
			if err != nil || limit > 0 && len(ids) > limit {
				t.Fatalf("by %d: %v %v", limit, ids, err)
			}
			for _, id := range ids {
				got = append(got, id.String())
			}
			if pages, cursor = pages+1, next; next == "" {
				break
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("by %d: %v, want %v", limit, got, want)
		}
		if limit > 0 && pages != (len(want)+limit-1)/limit {
			t.Errorf("by %d: %d pages", limit, pages)
		}
	}
	for _, bad := range []struct {
		limit  int
		cursor string
	}{{-1, ""}, {501, ""}, {0, "non sense"}} {
		_, _, err := j.Waiting(t.Context(), bad.limit, bad.cursor)
		isFailure(t, fmt.Sprintf("waiting %+v", bad), err, wire.CodeInvalid)
	}
}

func receipt(key string, n byte, expires time.Time) func(*host.Batch) {
	return func(b *host.Batch) {
		b.Receipt = &host.Receipt{Key: key, Digest: []byte{n, 0}, Answer: []byte{n, 0xff}, Expires: expires}
	}
}

func hasReceipt(t *testing.T, j host.Journal, key string, n byte, expires time.Time) {
	t.Helper()
	r, ok, err := j.Receipt(t.Context(), key)
	if err != nil || !ok || r.Key != key || !bytes.Equal(r.Digest, []byte{n, 0}) || !bytes.Equal(r.Answer, []byte{n, 0xff}) || !r.Expires.Equal(expires) {
		t.Errorf("receipt of %q: %+v %v %v", key, r, ok, err)
	}
}

func receiptsExpire(t *testing.T, j host.Journal, now *clock) {
	day := now.Now().Add(24 * time.Hour)
	w := write(t, j, "a", "x").create(1, 1)
	w.commit(w.batch(1, receipt("k", 1, day)))
	w.commit(w.batch(0, receipt("longer", 2, day.Add(time.Second))))
	hasReceipt(t, j, "k", 1, day)
	now.pass(24*time.Hour - time.Millisecond)
	hasReceipt(t, j, "k", 1, day)
	now.pass(time.Millisecond)
	if r, ok, err := j.Receipt(t.Context(), "k"); ok || err != nil {
		t.Errorf("expired: %+v %v", r, err)
	}
	hasReceipt(t, j, "longer", 2, day.Add(time.Second))
	w.commit(w.batch(1, receipt("k", 3, day.Add(time.Hour)))) // the key is free again
	hasReceipt(t, j, "k", 3, day.Add(time.Hour))
	if _, ok, err := j.Receipt(t.Context(), "never"); ok || err != nil {
		t.Errorf("receipt of no request: %v %v", ok, err)
	}
}

func oneReceiptPerKey(t *testing.T, j host.Journal, now *clock) {
	day := now.Now().Add(24 * time.Hour)
	w, other := write(t, j, "a", "x").create(1, 1), write(t, j, "a", "y")
	w.commit(w.batch(1, receipt("k", 1, day)))
	other.refused(other.batch(1, other.withRow(2), receipt("k", 2, day), send("a", "x", wake("m"))), wire.CodeConflict)
	hasReceipt(t, j, "k", 1, day)
	if again := write(t, j, "a", "y"); again.open.Exists {
		t.Error("a refused batch made the thread")
	}
	waits(t, j, "a", "x")
}

func latestSnapshot(t *testing.T, j host.Journal, _ *clock) {
	w := write(t, j, "a", "x").create(3, 1)
	none := func(id wire.ThreadID) {
		t.Helper()
		if e, ok, err := j.LatestSnapshot(t.Context(), id); ok || err != nil {
			t.Errorf("snapshot of %s: %+v %v", id, e, err)
		}
	}
	none(w.id)
	none(wire.ThreadID{Type: "a", ID: "nobody"})
	for range 2 {
		w.commit(w.batch(3, func(b *host.Batch) { b.Events[1].Type = host.SnapshotEvent }))
		want := event(w.head - 1)
		e, ok, err := j.LatestSnapshot(t.Context(), w.id)
		if err != nil || !ok || e.Seq != want.Seq || e.Type != host.SnapshotEvent || !e.At.Equal(want.At) || !bytes.Equal(e.Payload, want.Payload) {
			t.Errorf("snapshot: %+v %v %v, want %+v", e, ok, err, want)
		}
	}
	w.refused(w.batch(1, func(b *host.Batch) { b.Expected, b.Events[0].Type = 1, host.SnapshotEvent }), wire.CodeConflict)
	if e, _, err := j.LatestSnapshot(t.Context(), w.id); err != nil || e.Seq != 7 {
		t.Errorf("snapshot after a refusal: %d %v", e.Seq, err)
	}
	none(write(t, j, "a", "y").create(1, 1).id)
}

// maxDeltas is the bound that the suite asks for.
const maxDeltas = 64 << 10

func delta(pos int64, size int) host.Delta {
	return host.Delta{Pos: pos, Payload: append(fmt.Appendf(nil, "%d ", pos), make([]byte, size)...)}
}

// positions reads a thread's deltas and wants each as delta made it.
func positions(t *testing.T, j host.Journal, id wire.ThreadID, after int64) (out []int64) {
	t.Helper()
	if err := j.ReadDeltas(t.Context(), id, after, func(d host.Delta) bool {
		if !bytes.HasPrefix(d.Payload, fmt.Appendf(nil, "%d ", d.Pos)) {
			t.Errorf("delta %d is %q", d.Pos, d.Payload)
		}
		out = append(out, d.Pos)
		return true
	}); err != nil {
		t.Fatalf("deltas: %v", err)
	}
	return out
}

func deltasInOrder(t *testing.T, j host.Journal, _ *clock) {
	x, y := write(t, j, "a", "x").create(1, 1), write(t, j, "a", "y").create(1, 1)
	j.AppendDeltas(x.id, []host.Delta{delta(1, 0), delta(2, 0), delta(10, 0)})
	j.AppendDeltas(y.id, []host.Delta{delta(7, 0)})
	j.AppendDeltas(x.id, []host.Delta{delta(1<<40, 0)})
	for _, c := range []struct {
		id    wire.ThreadID
		after int64
		want  []int64
	}{
		{x.id, -1, []int64{1, 2, 10, 1 << 40}}, {x.id, 2, []int64{10, 1 << 40}}, {x.id, 5, []int64{10, 1 << 40}},
		{x.id, 1 << 40, nil}, {y.id, 0, []int64{7}}, {wire.ThreadID{Type: "b", ID: "x"}, 0, nil},
	} {
		if got := positions(t, j, c.id, c.after); !slices.Equal(got, c.want) {
			t.Errorf("%s after %d: %v, want %v", c.id, c.after, got, c.want)
		}
	}
	n := 0
	if err := j.ReadDeltas(t.Context(), x.id, 0, func(host.Delta) bool { n++; return n < 2 }); err != nil || n != 2 {
		t.Errorf("a read that was ended: %d %v", n, err)
	}
	if n := j.DroppedDeltas(); n != 0 {
		t.Fatalf("%d dropped", n)
	}
	j.AppendDeltas(x.id, []host.Delta{delta(10, 0), delta(11, 0)}) // not after the newest
	if got := positions(t, j, x.id, 2); !slices.Equal(got, []int64{10, 1 << 40}) || j.DroppedDeltas() != 2 {
		t.Errorf("after a step back: %v, %d dropped", got, j.DroppedDeltas())
	}
}

func deltasAgeOut(t *testing.T, j host.Journal, now *clock) {
	w := write(t, j, "a", "x").create(1, 1)
	j.AppendDeltas(w.id, []host.Delta{delta(1, 0)})
	positions(t, j, w.id, 0) // it is kept as of now
	now.pass(time.Hour)
	j.AppendDeltas(w.id, []host.Delta{delta(2, 0)})
	positions(t, j, w.id, 0)
	now.pass(host.DeltaRetention - time.Hour - time.Millisecond)
	if got := positions(t, j, w.id, 0); !slices.Equal(got, []int64{1, 2}) {
		t.Errorf("before: %v", got)
	}
	now.pass(time.Millisecond)
	if got := positions(t, j, w.id, 0); !slices.Equal(got, []int64{2}) {
		t.Errorf("after: %v", got)
	}
	if n := j.DroppedDeltas(); n != 0 {
		t.Errorf("what aged out counts as dropped: %d", n)
	}
}

// deltasBounded keeps the newest, and at least half of the bound.
func deltasBounded(t *testing.T, j host.Journal, _ *clock) {
	w, other := write(t, j, "a", "x").create(1, 1), write(t, j, "a", "y").create(1, 1)
	j.AppendDeltas(other.id, []host.Delta{delta(1, 0)})
	const size = 1 << 10
	for n := range int64(1000) {
		j.AppendDeltas(w.id, []host.Delta{delta(n+1, size)})
	}
	got := positions(t, j, w.id, 0)
	if bytes := len(got) * size; bytes > maxDeltas || bytes < maxDeltas/2 {
		t.Fatalf("%d of %d bytes are kept, the bound is %d", bytes, 1000*size, maxDeltas)
	}
	for i, p := range got {
		if p != 1000-int64(len(got)-1-i) {
			t.Fatalf("kept are %v", got)
		}
	}
	if got := positions(t, j, other.id, 0); len(got) != 1 {
		t.Error("one thread's deltas drove out another's")
	}
	before := j.DroppedDeltas()
	j.AppendDeltas(w.id, []host.Delta{delta(2000, maxDeltas), delta(2001, 0)})
	if got := positions(t, j, w.id, 1000); !slices.Equal(got, []int64{2001}) || j.DroppedDeltas() != before+1 {
		t.Errorf("one over the bound: %v, %d dropped", got, j.DroppedDeltas()-before)
	}
}

func deltasArchived(t *testing.T, j host.Journal, _ *clock) {
	w, other := write(t, j, "a", "x").create(1, 1), write(t, j, "a", "y").create(1, 1)
	for _, id := range []wire.ThreadID{w.id, other.id} {
		j.AppendDeltas(id, []host.Delta{delta(1, 0)})
		positions(t, j, id, 0)
		j.AppendDeltas(id, []host.Delta{delta(2, 0)})
	}
	w.commit(w.batch(1, func(b *host.Batch) {
		b.Row = w.row(1)
		b.Row.Summary.Status = wire.StatusArchived
	}))
	if got := positions(t, j, w.id, 0); len(got) > 0 {
		t.Errorf("kept: %v", got)
	}
	if got := positions(t, j, other.id, 0); !slices.Equal(got, []int64{1, 2}) {
		t.Errorf("of another: %v", got)
	}
	w.commit(w.batch(1, w.withRow(1))) // resurrected
	j.AppendDeltas(w.id, []host.Delta{delta(3, 0)})
	if got := positions(t, j, w.id, 0); !slices.Equal(got, []int64{3}) {
		t.Errorf("after: %v", got)
	}
}
