package hosttest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// acksInOrder pipelines commits of many threads and wants each acknowledged
// once, and each thread's in the order in which they were handed over.
func acksInOrder(t *testing.T, j host.Journal) {
	const threads, commits = 20, 50
	var (
		mu   sync.Mutex
		seen = map[int][]int{}
		all  sync.WaitGroup
		hand sync.WaitGroup
	)
	all.Add(threads * commits)
	for n := range threads {
		w := write(t, j, "a", fmt.Sprintf("x%d", n))
		hand.Go(func() {
			for k := range commits {
				b := w.batch(1, w.withRow(n))
				j.Commit(b, func(err error) {
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						t.Errorf("thread %d, commit %d: %v", n, k, err)
					}
					seen[n] = append(seen[n], k)
					all.Done()
				})
			}
		})
	}
	hand.Wait()
	acknowledged := make(chan struct{})
	go func() { all.Wait(); close(acknowledged) }()
	if !within(acknowledged, Patience) {
		t.Fatal("not every commit is acknowledged")
	}
	for n := range threads {
		if len(seen[n]) != commits || !slices.IsSorted(seen[n]) {
			t.Errorf("thread %d was acknowledged as %v", n, seen[n])
		}
		sameEvents(t, read(t, j, wire.ThreadID{Type: "a", ID: fmt.Sprintf("x%d", n)}, 0, 1<<40), 0, commits-1)
	}
}

// commitFromAck chains commits, each from the acknowledgement of the one before.
func commitFromAck(t *testing.T, j host.Journal) {
	w := write(t, j, "a", "x")
	end := make(result, 1)
	var next func(left int) func(error)
	next = func(left int) func(error) {
		return func(err error) {
			if err != nil || left == 0 {
				end <- err
				return
			}
			j.Commit(w.batch(1), next(left-1))
		}
	}
	j.Commit(w.batch(1, w.withRow(1)), next(50))
	if err := end.wait(t); err != nil {
		t.Fatal(err)
	}
	sameEvents(t, w.events(), 0, 50)
}

func rangesRead(t *testing.T, j host.Journal) {
	w := write(t, j, "a", "x").create(10, 1)
	sameEvents(t, read(t, j, w.id, 0, 9), 0, 9)
	sameEvents(t, read(t, j, w.id, 3, 5), 3, 5)
	sameEvents(t, read(t, j, w.id, 8, 100), 8, 9)
	sameEvents(t, read(t, j, w.id, 5, 4), 5, 4)
	sameEvents(t, read(t, j, w.id, 10, 20), 10, 9)
	sameEvents(t, read(t, j, wire.ThreadID{Type: "a", ID: "nobody"}, 0, 9), 0, -1)

	var some []host.Event
	if err := j.Read(t.Context(), w.id, 2, 9, func(e host.Event) bool {
		some = append(some, e)
		return len(some) < 3
	}); err != nil {
		t.Fatalf("a read that was ended: %v", err)
	}
	sameEvents(t, some, 2, 4)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := j.Read(ctx, w.id, 0, 9, func(host.Event) bool { return true }); err == nil {
		t.Error("a read under a context that had ended succeeded")
	}
}

func wakesPutAndTaken(t *testing.T, j host.Journal) {
	w := write(t, j, "a", "x")
	w.commit(w.batch(1, w.withRow(1), func(b *host.Batch) { b.Put = []host.Wake{wake("m2"), wake("m1")} }))
	w.commit(w.batch(0, func(b *host.Batch) { b.Put = []host.Wake{wake("m3"), wake("m2")} })) // m2 waits already
	waiting := func(want ...string) {
		t.Helper()
		again := write(t, j, "a", "x")
		var got []string
		for _, k := range again.open.Wakes {
			got = append(got, k.MessageID)
			full := wake(k.MessageID)
			if k.Text != full.Text || k.Admission != full.Admission || !k.At.Equal(full.At) || !slices.Equal(k.Images, full.Images) {
				t.Errorf("wake is %+v, want %+v", k, full)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("waiting: %v, want %v", got, want)
		}
		w.epoch = again.epoch
	}
	waiting("m2", "m1", "m3")
	w.commit(w.batch(1, func(b *host.Batch) { b.Take = []string{"m1", "never"} }))
	waiting("m2", "m3")
	w.commit(w.batch(0, func(b *host.Batch) { b.Put, b.Take = []host.Wake{wake("m4")}, []string{"m4", "m2"} }))
	waiting("m3")
	w.commit(w.batch(0, func(b *host.Batch) { b.Put = []host.Wake{wake("m1")} })) // again, behind the rest
	waiting("m3", "m1")
}

func rowsKept(t *testing.T, j host.Journal) {
	w := write(t, j, "a", "x").create(1, 1)
	want := w.row(1)
	w.commit(w.batch(2))
	got, ok, err := j.Lookup(t.Context(), w.id)
	if !ok || err != nil {
		t.Fatalf("lookup: %v %v", ok, err)
	}
	sameRow(t, got, want)
	w.commit(w.batch(1, func(b *host.Batch) {
		b.Row = w.row(1)
		b.Row.Summary.Title, b.Row.Summary.Status = "Renamed", wire.StatusFailed
		want = b.Row
	}))
	if got, _, err = j.Lookup(t.Context(), w.id); err != nil {
		t.Fatal(err)
	}
	sameRow(t, got, want)
	sameRow(t, write(t, j, "a", "x").open.Row, want)
}

// page lists the ids of a page.
func page(t *testing.T, j host.Journal, q wire.ThreadQuery) (ids []string, next string) {
	t.Helper()
	rows, next, err := j.Query(t.Context(), q)
	if err != nil {
		t.Fatalf("query %+v: %v", q, err)
	}
	for _, r := range rows {
		ids = append(ids, r.Summary.ID)
	}
	return ids, next
}

func everyPage(t *testing.T, j host.Journal, q wire.ThreadQuery) (ids []string, pages int) {
	t.Helper()
	for {
		some, next := page(t, j, q)
		ids, pages = append(ids, some...), pages+1
		if q.Cursor = next; next == "" {
			return ids, pages
		}
		if pages > 1000 {
			t.Fatal("the pages do not end")
		}
	}
}

func pagesNewestFirst(t *testing.T, j host.Journal) {
	var want []string
	for n := range 25 {
		at := (n * 7) % 25 / 2 // made in no order, two at a time in one instant
		write(t, j, "a", fmt.Sprintf("x%02d", (n*7)%25)).create(1, at)
	}
	for n := 24; n >= 0; n-- {
		want = append(want, fmt.Sprintf("a.x%02d", n))
	}
	for _, limit := range []int{1, 4, 5, 24, 25, 26, 500} {
		got, pages := everyPage(t, j, wire.ThreadQuery{Limit: limit})
		if !slices.Equal(got, want) {
			t.Errorf("by %d: %v", limit, got)
		}
		if most := (len(want) + limit - 1) / limit; pages != most {
			t.Errorf("by %d: %d pages, want %d", limit, pages, most)
		}
	}
	if got, _ := page(t, j, wire.ThreadQuery{}); len(got) != 25 {
		t.Errorf("with no limit: %d", len(got))
	}
}

func pagesDoNotShift(t *testing.T, j host.Journal) {
	for n := range 6 {
		write(t, j, "a", fmt.Sprintf("x%d", n)).create(1, n)
	}
	first, next := page(t, j, wire.ThreadQuery{Limit: 3})
	write(t, j, "a", "younger").create(1, 50)
	old := write(t, j, "a", "x1") // an update does not move it
	old.commit(old.batch(1, func(b *host.Batch) {
		b.Row = old.row(1)
		b.Row.Summary.UpdatedAt = wire.At(newYear.Add(time.Hour))
	}))
	second, _ := page(t, j, wire.ThreadQuery{Limit: 3, Cursor: next})
	if got := slices.Concat(first, second); !slices.Equal(got, []string{"a.x5", "a.x4", "a.x3", "a.x2", "a.x1", "a.x0"}) {
		t.Errorf("pages: %v", got)
	}
}

func pagesFiltered(t *testing.T, j host.Journal) {
	for n := range 12 {
		w := write(t, j, []string{"a", "b"}[n%2], fmt.Sprintf("x%02d", n))
		w.commit(w.batch(1, func(b *host.Batch) {
			b.Row = w.row(n)
			s := &b.Row.Summary
			if n%3 == 0 {
				s.Status, s.Parent = wire.StatusArchived, "a.x00"
			}
			if n == 5 {
				s.Title = "Ünder the 100% Sea_Bed"
			}
		}))
	}
	for _, c := range []struct {
		name string
		q    wire.ThreadQuery
		want []string
	}{
		{"type", wire.ThreadQuery{Type: "b"}, []string{"b.x11", "b.x09", "b.x07", "b.x05", "b.x03", "b.x01"}},
		{"status", wire.ThreadQuery{Status: wire.StatusArchived}, []string{"b.x09", "a.x06", "b.x03", "a.x00"}},
		{"parent", wire.ThreadQuery{Parent: "a.x00", Type: "a"}, []string{"a.x06", "a.x00"}},
		{"id", wire.ThreadQuery{Q: "B.X0", Status: wire.StatusIdle}, []string{"b.x07", "b.x05", "b.x01"}},
		{"title", wire.ThreadQuery{Q: "100% sea_bed"}, []string{"b.x05"}},
		{"a pattern is no pattern", wire.ThreadQuery{Q: "x%"}, nil},
		{"nor is one character", wire.ThreadQuery{Q: "x_0"}, nil},
		{"unknown type", wire.ThreadQuery{Type: "c"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, limit := range []int{2, 100} {
				c.q.Limit, c.q.Cursor = limit, ""
				if got, _ := everyPage(t, j, c.q); !slices.Equal(got, c.want) {
					t.Errorf("by %d: %v, want %v", limit, got, c.want)
				}
			}
		})
	}
}

func badQueries(t *testing.T, j host.Journal) {
	write(t, j, "a", "x").create(1, 1)
	for _, q := range []wire.ThreadQuery{
		{Limit: -1}, {Limit: 501}, {Cursor: "nonsense"}, {Cursor: "bm9uc2Vuc2U"}, {Cursor: "'; drop table"},
	} {
		_, _, err := j.Query(t.Context(), q)
		isFailure(t, fmt.Sprintf("query %+v", q), err, wire.CodeInvalid)
	}
}

func typesOfBareID(t *testing.T, j host.Journal) {
	for _, typ := range []string{"b", "a"} {
		write(t, j, typ, "x").create(1, 1)
	}
	write(t, j, "c", "x")
	write(t, j, "a", "xx").create(1, 2)
	got, err := j.Types(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("types: %v", got)
	}
}

// readersBesideWriters reads while it writes: every read is gapless from 0.
func readersBesideWriters(t *testing.T, j host.Journal) {
	w := write(t, j, "a", "x").create(1, 1)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				next := int64(0)
				err := j.Read(context.Background(), w.id, 0, 1<<40, func(e host.Event) bool {
					if e.Seq != next {
						t.Errorf("read %d where %d belongs", e.Seq, next)
						return false
					}
					next++
					return true
				})
				_, ok, err2 := j.Lookup(context.Background(), w.id)
				_, _, err3 := j.Query(context.Background(), wire.ThreadQuery{})
				if err != nil || err2 != nil || err3 != nil || !ok || next == 0 {
					t.Errorf("read %d: %v, %v, %v, %v", next, err, ok, err2, err3)
					return
				}
			}
		})
	}
	for range 100 {
		w.commit(w.batch(2, w.withRow(1)))
	}
	close(stop)
	readers.Wait()
	sameEvents(t, w.events(), 0, 200)
}
