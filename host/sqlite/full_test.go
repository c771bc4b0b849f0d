package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/host/sqlite"
	"github.com/troupe-run/troupe/wire"
)

// TestFullFile bounds the file's pages, as a quota of the file would.
func TestFullFile(t *testing.T) {
	var limit atomic.Int64
	j := open(t, t.TempDir(), sqlite.Before(sqlite.Options{}, func(c *sql.Conn) {
		if n := limit.Load(); n > 0 {
			var now int64
			if err := c.QueryRowContext(context.Background(), fmt.Sprintf("PRAGMA max_page_count = %d", n)).Scan(&now); err != nil {
				t.Error(err)
			}
		}
	}))
	fullThenNot(t, j, func() { limit.Store(200) }, func() { limit.Store(1 << 30) })
}

// TestFullDisk fills a disk of its own.
func TestFullDisk(t *testing.T) {
	dir := smallDisk(t, 8<<20)
	j := open(t, filepath.Join(dir, "data"), sqlite.Options{})
	ballast := filepath.Join(dir, "ballast")
	fullThenNot(t, j, func() {
		f, err := os.Create(ballast)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for block := make([]byte, 64<<10); err == nil; {
			_, err = f.Write(block)
		}
	}, func() {
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
	})
}

// fullThenNot commits until there is no space, and wants each refusal to be
// storage-full and to leave nothing; then that everything is read, opened and,
// once there is space, written again.
func fullThenNot(t *testing.T, j *sqlite.Journal, fill, empty func()) {
	x, y := wire.ThreadID{Type: "a", ID: "x"}, wire.ThreadID{Type: "a", ID: "y"}
	epoch := epochOf(t, j, x)
	head := int64(-1)
	for range 3 {
		head++
		if err := commit(j, batch(x, epoch, head, 1<<10)); err != nil {
			t.Fatal(err)
		}
	}
	fill()
	var err error
	for range 10_000 {
		b := batch(x, epoch, head+1, 16<<10)
		b.Put = []host.Wake{{MessageID: fmt.Sprint("m", head+1)}}
		b.Send = []host.Delivery{{To: y, Wake: host.Wake{MessageID: fmt.Sprint("m", head+1)}}}
		if err = commit(j, b); err != nil {
			break
		}
		head++
	}
	if f := wire.AsFailure(err); f == nil || f.Code != wire.CodeStorageFull {
		t.Fatalf("after event %d: %v", head, err)
	}
	for range 3 { // and again, each by a writer that read what is there
		gapless(t, j, x, head)
		o, err := j.Open(t.Context(), x)
		if err != nil || int64(len(o.Wakes)) != head-2 || o.Row.Summary.HeadSeq != head {
			t.Fatalf("opened with %d wakes at %d, want %d: %v", len(o.Wakes), o.Row.Summary.HeadSeq, head-2, err)
		}
		if f := wire.AsFailure(commit(j, batch(x, o.Epoch, head+1, 1<<20))); f == nil || f.Code != wire.CodeStorageFull {
			t.Fatalf("refused with %v", f)
		}
		if f := wire.AsFailure(commit(j, batch(x, o.Epoch, head+1, 1))); f == nil || f.Code != wire.CodeConflict {
			t.Fatalf("behind a refusal: %v", f)
		}
	}
	empty()
	epoch = epochOf(t, j, x)
	for range 20 {
		head++
		if err := commit(j, batch(x, epoch, head, 16<<10)); err != nil {
			t.Fatalf("with space again: %v", err)
		}
	}
	gapless(t, j, x, head)
	if err := j.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func epochOf(t *testing.T, j host.Journal, id wire.ThreadID) uint64 {
	t.Helper()
	o, err := j.Open(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return o.Epoch
}

// gapless wants the thread's events to be 0 to head.
func gapless(t *testing.T, j host.Journal, id wire.ThreadID, head int64) {
	t.Helper()
	next := int64(0)
	if err := j.Read(t.Context(), id, 0, 1<<40, func(e host.Event) bool {
		if e.Seq != next {
			t.Errorf("event %d stands at %d", e.Seq, next)
		}
		next++
		return true
	}); err != nil || next != head+1 {
		t.Fatalf("%s has %d events, want %d: %v", id, next, head+1, err)
	}
}
