package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// deltas are kept in a file of their own, by a goroutine of their own: no commit
// waits for one, and the file is thrown away when it cannot be read.
type deltas struct {
	j       *Journal
	writing writer
	reading *sql.DB
	stmts   deltaStatements
	streams map[wire.ThreadID]*stream // the goroutine's own
	dropped atomic.Uint64

	mu       sync.Mutex
	queue    []pendingDelta
	bytes    int                   // in queue
	forgets  map[wire.ThreadID]int // how much of the queue is forgotten with it
	barriers []chan struct{}       // closed once what came before them is written
	closed   bool
	wake     chan struct{}
	stopped  chan struct{}
}

type pendingDelta struct {
	id wire.ThreadID
	host.Delta
}

// deltaOverhead is what a delta is counted beside its payload, in bytes.
const deltaOverhead = 64

func (d pendingDelta) size() int { return deltaOverhead + len(d.Payload) }

// maxAllDeltas bounds the file of deltas, in bytes.
const maxAllDeltas = 1 << 30

func openDeltas(ctx context.Context, j *Journal) (*deltas, error) {
	file := filepath.Join(string(j.folder), deltasName)
	d, err := tryDeltas(ctx, j, file)
	if err != nil && !j.full(err) {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if err := os.Remove(file + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, err
			}
		}
		d, err = tryDeltas(ctx, j, file)
	}
	return d, err
}

func tryDeltas(ctx context.Context, j *Journal, file string) (_ *deltas, err error) {
	d := &deltas{
		j: j, streams: map[wire.ThreadID]*stream{}, forgets: map[wire.ThreadID]int{},
		wake: make(chan struct{}, 1), stopped: make(chan struct{}),
	}
	defer func() {
		if err != nil {
			_ = d.release()
		}
	}()
	// What a power cut takes is droppable: no transaction waits for the disk.
	if d.writing, err = openWriter(ctx, file, "NORMAL"); err != nil {
		return nil, err
	}
	if err := migrate(ctx, d.writing.conn, deltaMigrations); err != nil {
		return nil, err
	}
	if d.reading, err = openReaders(file, j.opts.Readers); err != nil {
		return nil, err
	}
	return d, d.stmts.prepare(ctx, d.writing.conn)
}

// AppendDeltas is host.Deltas.
func (j *Journal) AppendDeltas(id wire.ThreadID, ds []host.Delta) {
	d := j.deltas
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, v := range ds {
		p := pendingDelta{id, v}
		if d.closed || d.bytes+p.size() > j.opts.MaxPendingDeltas {
			d.dropped.Add(1)
			continue
		}
		d.queue, d.bytes = append(d.queue, p), d.bytes+p.size()
	}
	look(d.wake)
}

// DroppedDeltas is host.Deltas.
func (j *Journal) DroppedDeltas() uint64 { return j.deltas.dropped.Load() }

// ReadDeltas reads a chunk at a time, as Read does.
func (j *Journal) ReadDeltas(ctx context.Context, id wire.ThreadID, after int64, yield func(host.Delta) bool) error {
	if err := j.deltas.flushed(ctx); err != nil {
		return err
	}
	for {
		chunk, err := j.deltas.chunk(ctx, id, after)
		if err != nil || len(chunk) == 0 {
			return j.told(err)
		}
		for _, d := range chunk {
			if err := ctx.Err(); err != nil {
				return j.told(err)
			}
			if !yield(d) {
				return nil
			}
		}
		after = chunk[len(chunk)-1].Pos
	}
}

// flushed waits until what was appended before is written or dropped.
func (d *deltas) flushed(ctx context.Context) error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return errClosed()
	}
	b := make(chan struct{})
	d.barriers = append(d.barriers, b)
	d.mu.Unlock()
	look(d.wake)
	select {
	case <-b:
		return nil
	case <-ctx.Done():
		return d.j.failure(ctx.Err())
	}
}

func (d *deltas) chunk(ctx context.Context, id wire.ThreadID, after int64) (chunk []host.Delta, err error) {
	oldest := d.j.opts.Now().Add(-host.DeltaRetention).UnixMicro()
	rows, err := d.reading.QueryContext(ctx, `SELECT d.pos, d.payload FROM streams s JOIN deltas d ON d.stream = s.id
		WHERE s.ident = ? AND s.type = ? AND d.pos > ? AND d.kept > ? ORDER BY d.pos LIMIT ?`, id.ID, id.Type, after, oldest, chunkEvents)
	if err != nil {
		return nil, err
	}
	bytes := 0
	err = each(rows, func() (bool, error) {
		var v host.Delta
		err := rows.Scan(&v.Pos, &v.Payload)
		chunk, bytes = append(chunk, v), bytes+len(v.Payload)
		return bytes < chunkBytes, err
	})
	return chunk, err
}

// forget drops what a thread streamed, what waits too, and costs its caller, the
// committer, nothing.
func (d *deltas) forget(id wire.ThreadID) {
	d.mu.Lock()
	d.forgets[id] = len(d.queue)
	d.mu.Unlock()
	look(d.wake)
}

// close writes what waits and ends the goroutine.
func (d *deltas) close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	look(d.wake)
	<-d.stopped
}

func (d *deltas) release() (err error) {
	d.stmts.close()
	if d.reading != nil {
		err = d.reading.Close()
	}
	return errors.Join(err, d.writing.close())
}

func (d *deltas) run() {
	defer close(d.stopped)
	sweep := time.NewTicker(d.j.opts.SweepEvery)
	defer sweep.Stop()
	for {
		select {
		case <-d.wake:
		case <-sweep.C:
			d.sweep()
			continue
		}
		d.mu.Lock()
		queue, forgets, barriers, closed := d.queue, d.forgets, d.barriers, d.closed
		d.queue, d.bytes, d.forgets, d.barriers = nil, 0, map[wire.ThreadID]int{}, nil
		d.mu.Unlock()
		d.write(queue, forgets)
		for _, b := range barriers {
			close(b)
		}
		if closed {
			return
		}
	}
}
