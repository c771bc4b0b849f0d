package hosttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// JournalSettings are what the suite sets of a journal.
type JournalSettings struct {
	Now       func() time.Time // the clock of what expires
	MaxDeltas int              // the byte bound of a thread's deltas
}

// RunJournal holds a journal to the contract of host.Journal. make gives an empty
// one; the suite closes it.
//
// Beyond the interface's words it wants: a refused commit breaks its epoch, so
// that what was accepted behind it, on a state that never became durable, is
// refused too (conflict) until the next Open; another expected seq or a stale
// epoch is conflict, a gap or a first commit without a row invalid; wakes are put
// before they are taken, putting one that waits and taking one that does not
// changes nothing; Query lists by creation; times are kept to the millisecond at
// least; a refused batch leaves nothing with other threads and no receipt.
func RunJournal(t *testing.T, make func(*testing.T, JournalSettings) host.Journal) {
	for _, c := range []struct {
		name string
		test func(*testing.T, host.Journal, *clock)
	}{
		{"a wake for another thread", wakeForAnother},
		{"a wake for a thread to come", wakeForOneToCome},
		{"a refused batch sends nothing", refusedSendsNothing},
		{"many wakes for one thread", manyWakesForOne},
		{"waiting threads are listed in pages", waitingInPages},
		{"receipts are kept until they expire", receiptsExpire},
		{"one receipt per key", oneReceiptPerKey},
		{"the latest snapshot", latestSnapshot},
		{"deltas are kept in order", deltasInOrder},
		{"deltas age out", deltasAgeOut},
		{"deltas have a bound", deltasBounded},
		{"deltas of an archived thread are gone", deltasArchived},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := &clock{now: newYear}
			j := make(t, JournalSettings{Now: now.Now, MaxDeltas: maxDeltas})
			defer closed(t, j)
			c.test(t, j, now)
		})
	}
	for _, c := range []struct {
		name string
		test func(*testing.T, host.Journal)
	}{
		{"opening creates nothing", openCreatesNothing},
		{"what was committed is opened", commitsAreOpened},
		{"another expected seq is refused whole", wrongSeqRefused},
		{"a gap is refused whole", gapRefused},
		{"the first commit needs a row", firstNeedsRow},
		{"an older writer is fenced", olderWriterFenced},
		{"a refusal breaks its epoch", refusalBreaksEpoch},
		{"opening is behind what was accepted", openIsBehind},
		{"acknowledgements come once and in order", acksInOrder},
		{"a commit from an acknowledgement", commitFromAck},
		{"ranges are read", rangesRead},
		{"wakes are put and taken", wakesPutAndTaken},
		{"a row is kept until it is replaced", rowsKept},
		{"pages are newest first", pagesNewestFirst},
		{"pages do not shift", pagesDoNotShift},
		{"pages are filtered", pagesFiltered},
		{"bad queries are refused", badQueries},
		{"types of a bare id", typesOfBareID},
		{"readers beside writers", readersBesideWriters},
		{"close flushes, then refuses", closeFlushes},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := make(t, JournalSettings{Now: time.Now, MaxDeltas: maxDeltas})
			defer closed(t, j)
			c.test(t, j)
		})
	}
}

func closed(t *testing.T, j host.Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// writer is a thread's writer.
type writer struct {
	t     *testing.T
	j     host.Journal
	id    wire.ThreadID
	epoch uint64
	head  int64 // as of what was handed over
	open  host.Opened
}

var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// write opens the thread "<typ>.<id>" for writing.
func write(t *testing.T, j host.Journal, typ, id string) *writer {
	t.Helper()
	w := &writer{t: t, j: j, id: wire.ThreadID{Type: typ, ID: id}, head: -1}
	var err error
	if w.open, err = j.Open(t.Context(), w.id); err != nil {
		t.Fatalf("open %s: %v", w.id, err)
	}
	w.epoch = w.open.Epoch
	for range w.events() {
		w.head++
	}
	return w
}

// row is a catalog row of a thread made n seconds into the year.
func (w *writer) row(n int) *host.Row {
	at := wire.At(newYear.Add(time.Duration(n) * time.Second))
	return &host.Row{
		Summary: wire.Summary{
			ID: w.id.String(), Type: w.id.Type, Title: fmt.Sprintf("Thread %d", n), Status: wire.StatusIdle, HeadSeq: w.head,
			Children: []string{}, CreatedAt: at, UpdatedAt: at, Tags: map[string]string{"n": fmt.Sprint(n)},
		},
		State: []byte{0, 0xff, byte(n)},
	}
}

// batch is the next n events, and with it whatever change adds.
func (w *writer) batch(n int, change ...func(*host.Batch)) host.Batch {
	b := host.Batch{Thread: w.id, Epoch: w.epoch, Expected: w.head}
	for range n {
		w.head++
		b.Events = append(b.Events, event(w.head))
	}
	for _, c := range change {
		c(&b)
	}
	return b
}

func event(seq int64) host.Event {
	return host.Event{
		Seq: seq, At: newYear.Add(time.Duration(seq) * 1500 * time.Millisecond), Type: "message",
		Payload: fmt.Appendf(nil, "payload %d \x00\xff", seq),
	}
}

func (w *writer) withRow(n int) func(*host.Batch) {
	return func(b *host.Batch) { b.Row = w.row(n) }
}

// result is a commit's acknowledgement.
type result chan error

func (w *writer) hand(b host.Batch) result {
	r := make(result, 2)
	w.j.Commit(b, func(err error) { r <- err })
	return r
}

func (r result) wait(t *testing.T) error {
	t.Helper()
	over := time.NewTimer(Patience)
	defer over.Stop()
	select {
	case err := <-r:
		return err
	case <-over.C:
		t.Fatal("a commit is not acknowledged")
		return nil
	}
}

// commit hands b over and wants it durable.
func (w *writer) commit(b host.Batch) {
	w.t.Helper()
	if err := w.hand(b).wait(w.t); err != nil {
		w.t.Fatalf("commit: %v", err)
	}
}

// create commits n events and the row.
func (w *writer) create(n, row int) *writer {
	w.t.Helper()
	w.commit(w.batch(n, w.withRow(row)))
	return w
}

// refused hands b over and wants it refused with the code.
func (w *writer) refused(b host.Batch, code wire.Code) {
	w.t.Helper()
	isFailure(w.t, "commit", w.hand(b).wait(w.t), code)
}

func (w *writer) events() []host.Event {
	w.t.Helper()
	return read(w.t, w.j, w.id, 0, 1<<40)
}

func read(t *testing.T, j host.Journal, id wire.ThreadID, from, to int64) (out []host.Event) {
	t.Helper()
	if err := j.Read(t.Context(), id, from, to, func(e host.Event) bool { out = append(out, e); return true }); err != nil {
		t.Fatalf("read: %v", err)
	}
	return out
}

func sameEvents(t *testing.T, got []host.Event, from, to int64) {
	t.Helper()
	if int64(len(got)) != max(0, to-from+1) {
		t.Fatalf("read %d events, want %d..%d", len(got), from, to)
	}
	for i, e := range got {
		want := event(from + int64(i))
		if e.Seq != want.Seq || !e.At.Equal(want.At) || e.Type != want.Type || !bytes.Equal(e.Payload, want.Payload) {
			t.Fatalf("event %d is %+v, want %+v", want.Seq, e, want)
		}
	}
}

func sameRow(t *testing.T, got host.Row, want *host.Row) {
	t.Helper()
	g, err1 := wire.Encode(&got.Summary)
	w, err2 := wire.Encode(&want.Summary)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(g, w) || !bytes.Equal(got.State, want.State) {
		t.Fatalf("row is %s %q, want %s %q", g, got.State, w, want.State)
	}
}

func openCreatesNothing(t *testing.T, j host.Journal) {
	w := write(t, j, "a", "x")
	if w.open.Exists || len(w.open.Wakes) > 0 {
		t.Errorf("opened %+v, want nothing", w.open)
	}
	if _, ok, err := j.Lookup(t.Context(), w.id); ok || err != nil {
		t.Errorf("lookup: %v %v", ok, err)
	}
	if rows, next, err := j.Query(t.Context(), wire.ThreadQuery{}); len(rows) > 0 || next != "" || err != nil {
		t.Errorf("query: %v %q %v", rows, next, err)
	}
	if types, err := j.Types(t.Context(), "x"); len(types) > 0 || err != nil {
		t.Errorf("types: %v %v", types, err)
	}
	sameEvents(t, w.events(), 0, -1)
	if again := write(t, j, "a", "x"); again.open.Exists || again.epoch <= w.epoch {
		t.Errorf("opened again: %+v after epoch %d", again.open, w.epoch)
	}
}

func commitsAreOpened(t *testing.T, j host.Journal) {
	w := write(t, j, "a", "x").create(3, 1)
	w.commit(w.batch(2))
	again := write(t, j, "a", "x")
	if !again.open.Exists || again.epoch <= w.epoch {
		t.Fatalf("opened %+v after epoch %d", again.open, w.epoch)
	}
	w.head = 2
	sameRow(t, again.open.Row, w.row(1))
	sameEvents(t, again.events(), 0, 4)
	again.commit(again.batch(1))
	sameEvents(t, again.events(), 0, 5)
}

// unchanged wants what create made of the thread, and nothing of a batch that was
// refused: no event, no wake, no row.
func unchanged(t *testing.T, j host.Journal, w *writer, head int64, row int) {
	t.Helper()
	again := write(t, j, w.id.Type, w.id.ID)
	sameEvents(t, again.events(), 0, head)
	w.head = head
	sameRow(t, again.open.Row, w.row(row))
	if len(again.open.Wakes) > 0 {
		t.Errorf("wakes of a refused batch: %+v", again.open.Wakes)
	}
}

func wrongSeqRefused(t *testing.T, j host.Journal) {
	for _, expected := range []int64{-1, 1, 3} {
		w := write(t, j, "a", fmt.Sprintf("x%d", expected+1)).create(3, 1)
		b := w.batch(1, w.withRow(2), func(b *host.Batch) {
			b.Expected = expected
			b.Events[0].Seq = expected + 1
			b.Put = []host.Wake{wake("m")}
		})
		w.refused(b, wire.CodeConflict)
		unchanged(t, j, w, 2, 1)
	}
}

func gapRefused(t *testing.T, j host.Journal) {
	w := write(t, j, "a", "x").create(1, 1)
	w.refused(w.batch(3, w.withRow(2), func(b *host.Batch) { b.Events[2].Seq++ }), wire.CodeInvalid)
	unchanged(t, j, w, 0, 1)
}

func firstNeedsRow(t *testing.T, j host.Journal) {
	w := write(t, j, "a", "x")
	w.refused(w.batch(1), wire.CodeInvalid)
	if again := write(t, j, "a", "x"); again.open.Exists {
		t.Error("a refused batch made the thread")
	}
}

func olderWriterFenced(t *testing.T, j host.Journal) {
	old := write(t, j, "a", "x").create(1, 1)
	other := write(t, j, "a", "other").create(1, 3)
	young := write(t, j, "a", "x")
	old.refused(old.batch(1, old.withRow(2)), wire.CodeConflict)
	young.commit(young.batch(1))
	sameEvents(t, young.events(), 0, 1)
	other.commit(other.batch(1)) // a fence is one thread's

	first, second := write(t, j, "a", "new"), write(t, j, "a", "new")
	first.refused(first.batch(1, first.withRow(4)), wire.CodeConflict)
	second.create(1, 4)
	invented := write(t, j, "a", "x")
	invented.epoch += 1000
	invented.refused(invented.batch(1), wire.CodeConflict)
}

func refusalBreaksEpoch(t *testing.T, j host.Journal) {
	w := write(t, j, "a", "x").create(1, 1)
	bad := w.hand(w.batch(0, func(b *host.Batch) { b.Expected = 7; b.Put = []host.Wake{wake("lost")} }))
	behind := w.hand(w.batch(0, w.withRow(2), func(b *host.Batch) { b.Take = []string{"lost"} }))
	further := w.hand(w.batch(1))
	for _, r := range []result{bad, behind, further} {
		isFailure(t, "commit", r.wait(t), wire.CodeConflict)
	}
	unchanged(t, j, w, 0, 1)
	next := write(t, j, "a", "x")
	next.commit(next.batch(1))
}

func openIsBehind(t *testing.T, j host.Journal) {
	w := write(t, j, "a", "x")
	acks := []result{w.hand(w.batch(1, w.withRow(1)))}
	for range 200 {
		acks = append(acks, w.hand(w.batch(1)))
	}
	again := write(t, j, "a", "x")
	late := w.hand(w.batch(1))
	sameEvents(t, again.events(), 0, 200)
	for i, r := range acks {
		if err := r.wait(t); err != nil {
			t.Fatalf("commit %d: %v", i, err)
		}
	}
	isFailure(t, "commit", late.wait(t), wire.CodeConflict)
}

func wake(id string) host.Wake {
	return host.Wake{
		MessageID: id, Kind: "kind of " + id, Data: []byte{0, 0xff}, Text: "prompt " + id, Images: []wire.Image{{MimeType: "image/png", Data: "AAEC"}},
		Admission: wire.AdmitInterrupting, At: newYear.Add(1500 * time.Millisecond),
	}
}

func closeFlushes(t *testing.T, j host.Journal) {
	w := write(t, j, "a", "x")
	acks := []result{w.hand(w.batch(1, w.withRow(1)))}
	for range 500 {
		acks = append(acks, w.hand(w.batch(1)))
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	for i, r := range acks {
		select {
		case err := <-r:
			if err != nil {
				t.Fatalf("commit %d: %v", i, err)
			}
		default:
			t.Fatalf("commit %d was not acknowledged before Close returned", i)
		}
	}
	late := w.hand(w.batch(1))
	isFailure(t, "a commit after Close", late.wait(t), wire.CodeUnavailable)
	if len(late) > 0 {
		t.Error("acknowledged twice")
	}
	_, err := j.Open(context.Background(), w.id)
	isFailure(t, "an open after Close", err, wire.CodeUnavailable)
}
