package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"time"

	"github.com/troupe-run/troupe/wire"
)

// committer is the goroutine that writes. What it holds is its own.
type committer struct {
	j     *Journal
	conn  *sql.Conn
	stmts statements

	fences *fences
	epoch  uint64 // the newest given
	base   uint64 // what epochs of this process are above
	begun  bool   // this process has written that it is at work

	transaction uint64   // the current one
	before      []undone // what its fences were
}

type undone struct {
	fence *fence
	was   fence
}

// epochsPerProcess is how many epochs a process may give, so that one that was
// killed never gave one that the next gives again.
const epochsPerProcess = 1 << 32

// The bounds of one transaction, beyond which a group is cut: a commit that comes
// meanwhile waits for the transaction in front of it.
const (
	maxGroup      = 4096
	maxGroupBytes = 16 << 20
)

// begin reads where the last process left off, and checks what it left.
func (c *committer) begin(ctx context.Context, file string) error {
	var clean bool
	if err := c.conn.QueryRowContext(ctx, "SELECT epoch, clean FROM meta").Scan(&c.base, &clean); err != nil {
		return err
	}
	c.epoch = c.base
	if err := check(ctx, c.conn, file, clean); err != nil {
		return err
	}
	return c.stmts.prepare(ctx, c.conn)
}

// check costs the same however much is recorded. SQLite's own recovery has run by
// now. A file left in order must be as long as its header says; after a kill, the
// newest events, the ones that it can have torn, must have their predecessors.
func check(ctx context.Context, conn *sql.Conn, file string, clean bool) error {
	if clean {
		var pages, size int64
		if err := conn.QueryRowContext(ctx, "PRAGMA page_count").Scan(&pages); err != nil {
			return err
		}
		if err := conn.QueryRowContext(ctx, "PRAGMA page_size").Scan(&size); err != nil {
			return err
		}
		s, err := os.Stat(file)
		if err != nil {
			return err
		}
		log, err := os.Stat(file + "-wal")
		if (err != nil || log.Size() == 0) && s.Size() < pages*size {
			return fmt.Errorf("%w: the file has %d bytes, its header says %d", ErrDamaged, s.Size(), pages*size)
		}
		return nil
	}
	var torn int
	if err := conn.QueryRowContext(ctx, `
		SELECT count(*) FROM (SELECT n, thread, seq FROM events ORDER BY n DESC LIMIT 1000) e
		WHERE NOT EXISTS (SELECT 1 FROM catalog c WHERE c.thread = e.thread)
		   OR NOT EXISTS (SELECT 1 FROM events s WHERE s.thread = e.thread AND s.seq = e.seq)
		   OR e.seq > 0 AND NOT EXISTS (SELECT 1 FROM events p WHERE p.thread = e.thread AND p.seq = e.seq - 1)`,
	).Scan(&torn); err != nil {
		return err
	}
	if torn > 0 {
		return fmt.Errorf("%w: %d of the newest events have no predecessor", ErrDamaged, torn)
	}
	return nil
}

func (c *committer) run() {
	defer close(c.j.stopped)
	sweep := time.NewTicker(c.j.opts.SweepEvery)
	defer sweep.Stop()
	var group []entry
	for {
		select {
		case <-c.j.wake:
		case <-sweep.C:
			c.sweep()
			continue
		}
		var closed bool
		if cap(group) > maxGroup { // a flood's, not worth keeping
			group = nil
		}
		group, closed = c.j.take(group)
		c.group(group)
		c.fences.trim(c)
		if closed {
			c.end()
			return
		}
	}
}

// group writes what waited: in one transaction, unless it is over the bounds, or
// a thread is opened behind a commit of its own.
func (c *committer) group(group []entry) {
	start, bytes := 0, 0
	var touched map[wire.ThreadID]bool // since start; kept from the first open on
	cut := func(end int) {
		c.flush(group[start:end])
		start, bytes = end, 0
		clear(touched)
	}
	for i := range group {
		e := &group[i]
		if e.opened != nil {
			if touched == nil {
				touched = map[wire.ThreadID]bool{}
				for _, o := range group[start:i] {
					touched[o.id] = true
				}
			}
			if touched[e.id] {
				cut(i)
			}
			c.epoch++
			c.fences.put(&fence{id: e.id, epoch: c.epoch})
			e.opened <- c.epoch
			continue
		}
		if touched != nil {
			touched[e.id] = true
		}
		if bytes += e.bytes; bytes > maxGroupBytes || i-start >= maxGroup {
			cut(i + 1)
		}
	}
	cut(len(group))
}

// flush writes the commits of group in one transaction and acknowledges them. A
// transaction that fails for another reason than space is tried again commit by
// commit, so that only the one that cannot be written fails.
func (c *committer) flush(group []entry) {
	errs, err := c.transact(group)
	if err != nil && len(group) > 1 && !c.j.full(err) {
		for i := range group {
			c.flush(group[i : i+1])
		}
		return
	}
	for i := range group {
		e := &group[i]
		if e.opened != nil {
			continue
		}
		if err != nil {
			c.fences.breakUp(e.id, e.epoch)
			errs[i] = c.j.failure(err)
		} else if errs[i] == nil && e.row != nil && e.row.status == string(wire.StatusArchived) {
			c.j.deltas.forget(e.id)
		}
		c.acknowledge(e.done, errs[i])
	}
}

// transact answers what each commit was refused for, and what the transaction
// failed for, when nothing of it is written.
func (c *committer) transact(group []entry) (errs []error, err error) {
	errs = make([]error, len(group))
	ctx := context.Background()
	if c.j.opts.before != nil {
		c.j.opts.before(c.conn)
	}
	begun := false
	c.before = c.before[:0]
	c.transaction++
	for i := range group {
		e := &group[i]
		if e.opened != nil {
			continue
		}
		if !begun {
			if err = c.open(ctx); err != nil {
				break
			}
			begun = true
		}
		if errs[i], err = c.apply(ctx, e); err != nil {
			break
		}
	}
	if err == nil && begun {
		err = c.stmts.commit.run(ctx)
	}
	if err == nil {
		c.begun = c.begun || begun
		return errs, nil
	}
	// The failure may have rolled back already; then this one says so.
	_ = c.stmts.rollback.run(ctx)
	for _, b := range c.before {
		*b.fence = b.was
		b.fence.loaded = false
	}
	return errs, err
}

// open begins a transaction. The first of a process says that it is at work, and
// which epochs it gives.
func (c *committer) open(ctx context.Context) error {
	err := c.stmts.begin.run(ctx)
	if err != nil || c.begun {
		return err
	}
	return c.stmts.atWork.run(ctx, int64(c.base+epochsPerProcess))
}

// end says that the folder is left in order. A failure costs a check at the next
// start.
func (c *committer) end() {
	if c.begun {
		_, _ = c.conn.ExecContext(context.Background(), "UPDATE meta SET clean = 1")
	}
	c.stmts.close()
}

// acknowledge keeps the committer alive when one of its callers panics: the
// panic goes on in a goroutine of its own, where the guard finds it.
func (c *committer) acknowledge(done func(error), err error) {
	defer func() {
		if v := recover(); v != nil {
			c.j.opts.Go("journal acknowledgement", func() { panic(v) })
		}
	}()
	done(err)
}

// maxSweep is how many expired receipts one transaction deletes.
const maxSweep = 1000

// sweep deletes receipts that have expired. What it cannot delete now it finds
// again; Receipt hides it already.
func (c *committer) sweep() {
	ctx, now := context.Background(), c.j.opts.Now().UnixMicro()
	for {
		var due bool
		err := c.stmts.expired.row(ctx, now).Scan(&due)
		if err != nil { // none, as a rule
			return
		}
		n, err := c.stmts.sweep.changes(ctx, now, maxSweep)
		c.j.intake.Lock()
		waiting := len(c.j.queue) > 0
		c.j.intake.Unlock()
		if err != nil || n < maxSweep || waiting {
			return
		}
	}
}
