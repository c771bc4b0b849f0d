package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/host/sqlite"
	"github.com/troupe-run/troupe/wire"
)

const (
	benchThreads = 1000
	benchPayload = 300
)

// BenchmarkAppend appends events of 300 bytes to 1,000 threads, each of which
// waits for its acknowledgement, through the journal and through a bare loop that
// commits what waits as one transaction: the same schema, driver and settings. It
// takes turns, and prints what the journal reaches of the bare loop's rate.
func BenchmarkAppend(b *testing.B) {
	const turns = 6
	each := max(b.N/turns, benchThreads)
	j := open(b, b.TempDir(), sqlite.Options{})
	epochs, heads := benchWriters(b, j)
	bare := newBareLoop(b)
	var ours, theirs time.Duration
	b.ResetTimer()
	for range turns {
		ours += timed(func() { appendAll(b, j, epochs, heads, each) })
		theirs += timed(func() { bare.appendAll(b, each) })
	}
	b.StopTimer()
	total := float64(each * turns)
	b.ReportMetric(total/ours.Seconds(), "events/s")
	b.ReportMetric(total/theirs.Seconds(), "bare-events/s")
	b.ReportMetric(theirs.Seconds()/ours.Seconds(), "of-bare")
}

func timed(do func()) time.Duration {
	start := time.Now()
	do()
	return time.Since(start)
}

func benchID(n int) wire.ThreadID { return wire.ThreadID{Type: "a", ID: fmt.Sprintf("x%d", n)} }

func benchWriters(b *testing.B, j host.Journal) (epochs []uint64, heads []int64) {
	b.Helper()
	for n := range benchThreads {
		o, err := j.Open(b.Context(), benchID(n))
		if err != nil {
			b.Fatal(err)
		}
		if err := commit(j, batch(benchID(n), o.Epoch, 0, benchPayload)); err != nil {
			b.Fatal(err)
		}
		epochs, heads = append(epochs, o.Epoch), append(heads, 0)
	}
	return epochs, heads
}

// appendAll appends total events, each thread from its own acknowledgements.
func appendAll(b *testing.B, j host.Journal, epochs []uint64, heads []int64, total int) {
	payload := make([]byte, benchPayload)
	var all sync.WaitGroup
	for n := range benchThreads {
		left := total / benchThreads
		all.Add(1)
		var next func(error)
		next = func(err error) {
			if err != nil || left == 0 {
				if err != nil {
					b.Error(err)
				}
				all.Done()
				return
			}
			left--
			heads[n]++
			j.Commit(host.Batch{
				Thread: benchID(n), Epoch: epochs[n], Expected: heads[n] - 1,
				Events: []host.Event{{Seq: heads[n], At: time.Now(), Type: "message", Payload: payload}},
			}, next)
		}
		next(nil)
	}
	all.Wait()
}

// bareLoop is a group commit and nothing else.
type bareLoop struct {
	conn  *sql.Conn
	heads []int64
}

func newBareLoop(b *testing.B) *bareLoop {
	b.Helper()
	dir := b.TempDir()
	_ = open(b, dir, sqlite.Options{}).Close()
	db, err := sql.Open("sqlite", sqlite.Source(filepath.Join(dir, "journal.sqlite")))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	l := &bareLoop{heads: make([]int64, benchThreads)}
	if l.conn, err = db.Conn(context.Background()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.conn.Close() })
	return l
}

type bareEvent struct {
	thread  int
	seq     int64
	payload []byte
	done    func(error)
}

func (l *bareLoop) appendAll(b *testing.B, total int) {
	ctx := context.Background()
	prepare := func(text string) *sql.Stmt {
		s, err := l.conn.PrepareContext(ctx, text)
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	begin, end := prepare("BEGIN IMMEDIATE"), prepare("COMMIT")
	insert := prepare("INSERT INTO events (thread, seq, at, type, payload) VALUES (?, ?, ?, ?, ?)")
	defer func() { _, _, _ = begin.Close(), end.Close(), insert.Close() }()

	queue := make(chan bareEvent, benchThreads)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		var group []bareEvent
		for e := range queue {
			group = append(group[:0], e)
			for len(queue) > 0 {
				group = append(group, <-queue)
			}
			_, err := begin.ExecContext(ctx)
			for _, e := range group {
				if err == nil {
					_, err = insert.ExecContext(ctx, e.thread, e.seq, time.Now().UnixMicro(), "message", e.payload)
				}
			}
			if err == nil {
				_, err = end.ExecContext(ctx)
			}
			for _, e := range group {
				e.done(err)
			}
		}
	}()
	payload := make([]byte, benchPayload)
	var all sync.WaitGroup
	for n := range benchThreads {
		left := total / benchThreads
		all.Add(1)
		var next func(error)
		next = func(err error) {
			if err != nil || left == 0 {
				if err != nil {
					b.Error(err)
				}
				all.Done()
				return
			}
			left--
			l.heads[n]++
			queue <- bareEvent{n, l.heads[n], payload, next}
		}
		next(nil)
	}
	all.Wait()
	close(queue)
	<-stopped
}

// BenchmarkRead1000 reads 1,000 events of 300 bytes of one thread, out of 1,000
// threads that were written in turns.
func BenchmarkRead1000(b *testing.B) {
	j := open(b, b.TempDir(), sqlite.Options{})
	epochs, heads := benchWriters(b, j)
	appendAll(b, j, epochs, heads, 200*benchThreads)
	long := wire.ThreadID{Type: "a", ID: "long"}
	o, err := j.Open(b.Context(), long)
	if err != nil {
		b.Fatal(err)
	}
	for seq := range int64(1000) {
		j.Commit(batch(long, o.Epoch, seq, benchPayload), func(err error) {
			if err != nil {
				b.Error(err)
			}
		})
	}
	if _, err := j.Open(b.Context(), long); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for b.Loop() {
		n := 0
		if err := j.Read(context.Background(), long, 0, 999, func(host.Event) bool { n++; return true }); err != nil || n != 1000 {
			b.Fatalf("%d events: %v", n, err)
		}
	}
}
