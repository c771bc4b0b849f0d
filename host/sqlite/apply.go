package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// apply writes one commit into the transaction. A refusal is the commit's own,
// and comes before anything of it is written; err is the transaction's end.
func (c *committer) apply(ctx context.Context, e *entry) (refused, err error) {
	f, err := c.fenceOf(ctx, e)
	if err != nil {
		return nil, err
	}
	switch {
	case f == nil || f.epoch != e.epoch:
		return wire.Errorf(wire.CodeConflict, "%s has another writer: epoch %d is stale", e.id, e.epoch), nil
	case f.broken:
		return wire.Errorf(wire.CodeConflict, "a commit of %s before this one was refused", e.id), nil
	}
	if refused = e.refused; refused == nil {
		refused = f.check(e)
	}
	if refused == nil && e.receipt != nil {
		refused, err = c.keep(ctx, e.receipt)
	}
	if refused != nil || err != nil {
		f.broken = true
		return refused, err
	}
	if f.thread == 0 {
		if f.thread, err = c.thread(ctx, e.id); err != nil {
			return nil, err
		}
	}
	if err := c.record(ctx, f, e); err != nil {
		return nil, err
	}
	for _, d := range e.send {
		to, err := c.thread(ctx, d.to)
		if err == nil {
			err = c.stmts.putWake.run(ctx, to, d.wake.message, d.wake.body)
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// record writes what is the thread's own.
func (c *committer) record(ctx context.Context, f *fence, e *entry) error {
	if r := e.row; r != nil {
		var err error
		switch {
		case !f.born:
			err = c.stmts.enter.run(ctx, r.created, r.full, r.typ, r.status, r.parent, r.title, r.summary, r.state, f.thread)
		case r.hash != f.keys:
			err = c.stmts.replace.run(ctx, r.created, r.full, r.typ, r.status, r.parent, r.title, r.summary, r.state, f.thread)
		default:
			err = c.stmts.refresh.run(ctx, r.title, r.summary, r.state, f.thread)
		}
		if err != nil {
			return err
		}
		f.born, f.keys = true, r.hash
	}
	for i := range e.events {
		v := &e.events[i]
		payload := v.Payload
		if payload == nil {
			payload = []byte{} // an empty one, not NULL
		}
		if err := c.stmts.event.run(ctx, f.thread, v.Seq, v.At.UnixMicro(), v.Type, payload); err != nil {
			return err
		}
	}
	f.head += int64(len(e.events))
	for _, w := range e.put {
		if err := c.stmts.putWake.run(ctx, f.thread, w.message, w.body); err != nil {
			return err
		}
	}
	for _, m := range e.take {
		if err := c.stmts.takeWake.run(ctx, f.thread, m); err != nil {
			return err
		}
	}
	return nil
}

// keep writes a receipt, unless one that has not expired holds its key.
func (c *committer) keep(ctx context.Context, r *host.Receipt) (refused, err error) {
	n, err := c.stmts.receipt.changes(ctx, r.Key, r.Digest, r.Answer, r.Expires.UnixMicro(), c.j.opts.Now().UnixMicro())
	if err == nil && n == 0 {
		refused = wire.Errorf(wire.CodeConflict, "the idempotency key %q has its receipt already", r.Key)
	}
	return refused, err
}

// thread is the number of a thread, which it gets when it has none.
func (c *committer) thread(ctx context.Context, id wire.ThreadID) (n int64, err error) {
	var epoch int64
	err = c.stmts.find.row(ctx, id.ID, id.Type).Scan(&n, &epoch)
	if !errors.Is(err, sql.ErrNoRows) {
		return n, err
	}
	r, err := c.stmts.make.ExecContext(ctx, id.ID, id.Type)
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
}
