package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"sync"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// Journal is a host.Journal in a folder. Make it with Open.
type Journal struct {
	folder
	opts    Options
	lock    *os.File
	writing writer
	reading *sql.DB
	reads   reads
	turns   chan struct{} // one per chunk that is being read
	deltas  *deltas

	intake  sync.Mutex
	queue   []entry
	pending int // bytes in queue
	closed  bool
	wake    chan struct{} // holds one token while queue is worth a look
	stopped chan struct{}
	closing sync.Once
	failed  error // of Close
}

var _ host.Journal = (*Journal)(nil)

// entry is one thing for the committer: a commit, one refused at intake, or an
// open.
type entry struct {
	id       wire.ThreadID
	epoch    uint64
	expected int64
	written
	refused error
	done    func(error)
	opened  chan uint64 // the epoch given; nil for a commit
}

// Open is behind every commit accepted before it. It writes nothing. Its error is
// limit-reached when too much waits for the committer, unavailable once the
// journal is closed, timeout when ctx ends before.
func (j *Journal) Open(ctx context.Context, id wire.ThreadID) (host.Opened, error) {
	e := entry{id: id, opened: make(chan uint64, 1)}
	if err := j.accept(e); err != nil {
		return host.Opened{}, err
	}
	select {
	case epoch := <-e.opened:
		o, err := j.recorded(ctx, id)
		o.Epoch = epoch
		return o, j.failure(err)
	case <-ctx.Done():
		return host.Opened{}, wire.Errorf(wire.CodeTimeout, "the journal did not open %s: %v", id, ctx.Err())
	}
}

// Commit refuses with conflict a stale epoch, another expected seq, a receipt's
// key that is held, and whatever follows a refusal in its epoch; with invalid a
// batch with a gap, one that cannot be encoded, or the first of a thread without
// a row; with limit-reached one over the bounds; with storage-full one that the
// disk has no space for; with unavailable one that the disk fails, and, on the
// caller's goroutine, one after Close. It keeps events' payloads, which must not
// change any more.
func (j *Journal) Commit(b host.Batch, done func(error)) {
	e := entry{id: b.Thread, epoch: b.Epoch, expected: b.Expected, done: done}
	var err error
	if e.written, err = write(b); err != nil {
		e.refused = wire.Errorf(wire.CodeInvalid, "a batch of %s cannot be encoded: %v", b.Thread, err)
	}
	if err := j.accept(e); err != nil {
		done(err)
	}
}

func (j *Journal) accept(e entry) error {
	j.intake.Lock()
	defer j.intake.Unlock()
	if j.closed {
		return errClosed()
	}
	if waiting := len(j.queue); j.pending+e.bytes > j.opts.MaxPending && e.bytes > 0 || waiting >= j.opts.MaxEntries {
		over := wire.Errorf(wire.CodeLimit, "the journal has %d bytes in %d batches waiting", j.pending, waiting)
		if e.opened != nil {
			return over
		}
		e.refused, e.written = over, written{}
	}
	j.queue, j.pending = append(j.queue, e), j.pending+e.bytes
	look(j.wake)
	return nil
}

func look(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// take is everything that waits. done is the group before, over by now.
func (j *Journal) take(done []entry) (group []entry, closed bool) {
	clear(done)
	j.intake.Lock()
	defer j.intake.Unlock()
	group, closed = j.queue, j.closed
	j.queue, j.pending = done[:0], 0
	return group, closed
}

// Close writes and acknowledges what was accepted, marks the folder as left in
// order, and gives it up. Reads fail with unavailable from then on. It is
// idempotent.
func (j *Journal) Close() error {
	j.intake.Lock()
	j.closed = true
	look(j.wake)
	j.intake.Unlock()
	<-j.stopped
	j.closing.Do(func() {
		j.deltas.close()
		j.failed = j.release()
	})
	return j.failed
}

// release closes what Open opened; the writer last, so that it leaves one file.
func (j *Journal) release() (err error) {
	if j.deltas != nil {
		err = errors.Join(err, j.deltas.release())
	}
	if j.reading != nil {
		err = errors.Join(err, j.reading.Close())
	}
	err = errors.Join(err, j.writing.close())
	if j.lock != nil {
		err = errors.Join(err, j.lock.Close())
	}
	return err
}
