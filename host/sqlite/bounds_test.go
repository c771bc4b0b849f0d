package sqlite_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/host/sqlite"
	"github.com/troupe-run/troupe/wire"
)

// TestFencesLeaveMemory has more writers than fences: each goes on after its fence
// was written and read back, and stays fenced off once there is another.
func TestFencesLeaveMemory(t *testing.T) {
	j := open(t, t.TempDir(), sqlite.WithFences(sqlite.Options{}, 4))
	const threads = 40
	var epochs [threads]uint64
	for n := range threads {
		epochs[n] = epochOf(t, j, crashID(n))
		if err := commit(j, batch(crashID(n), epochs[n], 0, 1)); err != nil {
			t.Fatal(err)
		}
	}
	for seq := int64(1); seq < 4; seq++ {
		for n := range threads {
			if err := commit(j, batch(crashID(n), epochs[n], seq, 1)); err != nil {
				t.Fatalf("thread %d, event %d: %v", n, seq, err)
			}
		}
	}
	var young [threads]uint64
	for n := range threads {
		young[n] = epochOf(t, j, crashID(n))
	}
	for n := range threads {
		if f := wire.AsFailure(commit(j, batch(crashID(n), epochs[n], 4, 1))); f == nil || f.Code != wire.CodeConflict {
			t.Fatalf("thread %d: its old writer got %v", n, f)
		}
		if err := commit(j, batch(crashID(n), young[n], 4, 1)); err != nil {
			t.Fatalf("thread %d: %v", n, err)
		}
		gapless(t, j, crashID(n), 4)
	}
}

// TestIntakeIsBounded: over a bound a commit is refused in its place, an open at
// once, and neither blocks.
func TestIntakeIsBounded(t *testing.T) {
	for _, bound := range []sqlite.Options{{MaxPending: 8 << 10}, {MaxEntries: 4}} {
		held, hold := make(chan struct{}), make(chan struct{})
		var holding atomic.Bool
		j := open(t, t.TempDir(), sqlite.Before(bound, func(*sql.Conn) {
			if holding.CompareAndSwap(true, false) {
				close(held)
				<-hold
			}
		}))
		x := crashID(1)
		epoch := epochOf(t, j, x)
		holding.Store(true)
		const commits = 10
		acks := make(chan error, commits)
		for seq := range int64(commits) {
			j.Commit(batch(x, epoch, seq, 1500), func(err error) { acks <- err })
			if seq == 0 {
				<-held
			}
		}
		if bound.MaxEntries > 0 {
			if _, err := j.Open(t.Context(), x); err == nil || wire.AsFailure(err).Code != wire.CodeLimit {
				t.Errorf("%+v: opened over the bound: %v", bound, err)
			}
		}
		close(hold)
		var codes []wire.Code
		for range commits {
			if f := wire.AsFailure(<-acks); f != nil {
				codes = append(codes, f.Code)
			}
		}
		if len(codes) == 0 || len(codes) > commits-3 || codes[0] != wire.CodeLimit {
			t.Errorf("%+v: refused with %v", bound, codes)
		}
		for _, c := range codes[1:] {
			if c != wire.CodeConflict {
				t.Errorf("behind a refusal: %v", c)
			}
		}
		gapless(t, j, x, int64(commits-len(codes))-1)
	}
}

// TestDeltasNeverDelayCommits: with the file of deltas held by another, commits are
// acknowledged, deltas wait up to their bound, and the rest is dropped and counted.
func TestDeltasNeverDelayCommits(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, sqlite.Options{MaxPendingDeltas: 64 << 10})
	db, err := sql.Open("sqlite", filepath.Join(dir, "deltas.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	x := crashID(1)
	epoch := epochOf(t, j, x)
	const deltas = 1000
	for n := range int64(deltas) {
		j.AppendDeltas(x, []host.Delta{{Pos: n + 1, Payload: make([]byte, 1<<10)}})
		if n%100 == 0 {
			if err := commit(j, batch(x, epoch, n/100, 10)); err != nil {
				t.Fatal(err)
			}
		}
	}
	dropped := j.DroppedDeltas()
	if dropped < deltas/2 {
		t.Errorf("%d of %d are dropped: the buffer has no bound", dropped, deltas)
	}
	if _, err := db.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	kept := uint64(0)
	if err := j.ReadDeltas(t.Context(), x, 0, func(host.Delta) bool { kept++; return true }); err != nil || kept+j.DroppedDeltas() != deltas || kept == 0 {
		t.Errorf("%d kept, %d dropped of %d: %v", kept, j.DroppedDeltas(), deltas, err)
	}
}

// TestExpiredIsSwept from the files, not only hidden.
func TestExpiredIsSwept(t *testing.T) {
	var passed atomic.Int64
	start := time.Now()
	dir := t.TempDir()
	j := open(t, dir, sqlite.Options{SweepEvery: time.Millisecond, Now: func() time.Time { return start.Add(time.Duration(passed.Load())) }})
	x := crashID(1)
	epoch := epochOf(t, j, x)
	for n := range int64(2500) { // more than one sweep takes
		b := batch(x, epoch, n, 1)
		b.Receipt = &host.Receipt{Key: fmt.Sprint(n), Expires: start.Add(time.Hour)}
		j.Commit(b, func(err error) {
			if err != nil {
				t.Error(err)
			}
		})
		j.AppendDeltas(x, []host.Delta{{Pos: n + 1}})
	}
	if err := j.ReadDeltas(t.Context(), x, 0, func(host.Delta) bool { return true }); err != nil {
		t.Fatal(err)
	}
	epochOf(t, j, x) // behind them all
	left := func(file, table string) (n int) {
		db, err := sql.Open("sqlite", filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.QueryRow("SELECT count(*) FROM " + table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if r, d := left("journal.sqlite", "receipts"), left("deltas.sqlite", "deltas"); r != 2500 || d != 2500 {
		t.Fatalf("%d receipts and %d deltas before", r, d)
	}
	passed.Store(int64(host.DeltaRetention + time.Hour))
	over := time.Now().Add(30 * time.Second)
	for left("journal.sqlite", "receipts") > 0 || left("deltas.sqlite", "deltas") > 0 || left("deltas.sqlite", "streams") > 0 {
		if time.Now().After(over) {
			t.Fatal("what has expired is not swept")
		}
	}
}

// TestPagesAreIndexed holds every way of listing to an index that gives its order:
// a page then costs the same whatever lies before and behind it.
func TestPagesAreIndexed(t *testing.T) {
	dir := t.TempDir()
	_ = open(t, dir, sqlite.Options{}).Close()
	db, err := sql.Open("sqlite", filepath.Join(dir, "journal.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, q := range []wire.ThreadQuery{
		{}, {Type: "a"}, {Status: wire.StatusIdle}, {Type: "a", Status: wire.StatusIdle}, {Parent: "a.x"}, {Parent: "a.x", Type: "a"}, {Q: "x"}, {Q: "x", Type: "a"},
	} {
		text, args := sqlite.Selection(q)
		rows, err := db.Query("EXPLAIN QUERY PLAN "+text+" AND (created, full) < (?, ?) ORDER BY created DESC, full DESC LIMIT 101", append(args, 1, "a.x")...)
		if err != nil {
			t.Fatal(err)
		}
		var plan []string
		for rows.Next() {
			var a, b, c int
			var detail string
			if err := rows.Scan(&a, &b, &c, &detail); err != nil {
				t.Fatal(err)
			}
			plan = append(plan, detail)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
		if len(plan) != 1 || !strings.HasPrefix(plan[0], "SEARCH catalog USING INDEX") || !strings.Contains(plan[0], "(created,full)<") {
			t.Errorf("%+v is listed by %q", q, plan)
		}
	}
}

// TestReadsStream a record far larger than what they hold, and a reader that stops
// half-way does not keep the log from being emptied.
func TestReadsStream(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, sqlite.Options{})
	const events, size = 4000, 16 << 10
	x, y := crashID(1), crashID(2)
	write := func(id wire.ThreadID) {
		epoch := epochOf(t, j, id)
		for seq := range int64(events) {
			j.Commit(batch(id, epoch, seq, size), func(err error) {
				if err != nil {
					t.Error(err)
				}
			})
			if seq%500 == 0 {
				if _, err := j.Open(t.Context(), wire.ThreadID{Type: "z", ID: "barrier"}); err != nil {
					t.Fatal(err)
				}
			}
		}
		epochOf(t, j, id)
	}
	write(x)
	live := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, most, n := live(), uint64(0), 0
	if err := j.Read(t.Context(), x, 0, events, func(host.Event) bool {
		if n++; n%1000 == 999 {
			most = max(most, live())
		}
		if n == events/2 {
			write(y)
		}
		return true
	}); err != nil || n != events {
		t.Fatalf("%d events: %v", n, err)
	}
	if grown := int64(most) - int64(before); grown > events*size/10 {
		t.Errorf("reading %d bytes held %d", events*size, grown)
	}
	log, err := os.Stat(filepath.Join(dir, "journal.sqlite-wal"))
	if err != nil {
		t.Fatal(err)
	}
	if log.Size() > events*size*3/4 {
		t.Errorf("the log has %d bytes after a slow read beside %d", log.Size(), events*size)
	}
}

// TestOneThatCannotBeWritten fails alone: the others of its transaction are written.
func TestOneThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	_ = open(t, dir, sqlite.Options{}).Close()
	raw(t, dir, "CREATE TRIGGER poison BEFORE INSERT ON events WHEN NEW.type = 'poison' BEGIN SELECT RAISE(ABORT, 'poison'); END")
	var holding atomic.Bool
	held, hold := make(chan struct{}), make(chan struct{})
	j := open(t, dir, sqlite.Before(sqlite.Options{}, func(*sql.Conn) {
		if holding.CompareAndSwap(true, false) {
			close(held)
			<-hold
		}
	}))
	const threads, bad = 5, 2
	var epochs [threads]uint64
	for n := range threads {
		epochs[n] = epochOf(t, j, crashID(n))
	}
	holding.Store(true)
	first := make(chan error, 1)
	z := wire.ThreadID{Type: "z", ID: "z"}
	zEpoch := epochOf(t, j, z)
	j.Commit(batch(z, zEpoch, 0, 1), func(err error) { first <- err })
	<-held // what follows waits together
	var acks [threads][2]chan error
	for n := range threads {
		for seq := range int64(2) {
			b := batch(crashID(n), epochs[n], seq, 1)
			if n == bad && seq == 1 {
				b.Events[0].Type = "poison"
			}
			done := make(chan error, 1)
			acks[n][seq] = done
			j.Commit(b, func(err error) { done <- err })
		}
	}
	close(hold)
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	for n := range threads {
		for seq := range 2 {
			f := wire.AsFailure(<-acks[n][seq])
			if poisoned := n == bad && seq == 1; poisoned != (f != nil) || poisoned && f.Code != wire.CodeInternal {
				t.Errorf("thread %d, event %d: %v", n, seq, f)
			}
		}
	}
	gapless(t, j, crashID(bad), 0)
	if err := commit(j, batch(crashID(bad), epochOf(t, j, crashID(bad)), 1, 1)); err != nil {
		t.Error(err)
	}
}
