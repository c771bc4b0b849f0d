package sqlite

import (
	"container/list"
	"context"
	"database/sql"
	"errors"

	"github.com/troupe-run/troupe/wire"
)

// fence is who may write a thread, and what the committer knows of it. A refused
// commit breaks it: those behind were made on a state that never became durable.
type fence struct {
	id     wire.ThreadID
	epoch  uint64
	broken bool

	loaded bool  // what follows is known
	thread int64 // its number, 0 before its first commit
	born   bool  // the catalog has it
	head   int64 // seq of its newest event
	keys   uint64

	noted uint64 // the transaction that noted what it was
}

// check says why the batch does not fit behind what is recorded.
func (f *fence) check(e *entry) error {
	if !f.born && e.row == nil {
		return wire.Errorf(wire.CodeInvalid, "the first commit of %s has no row", e.id)
	}
	if e.expected != f.head {
		return wire.Errorf(wire.CodeConflict, "%s is at %d, not at %d", e.id, f.head, e.expected)
	}
	for i := range e.events {
		if want := f.head + 1 + int64(i); e.events[i].Seq != want {
			return wire.Errorf(wire.CodeInvalid, "event %d of %s stands at %d", e.events[i].Seq, e.id, want)
		}
	}
	return nil
}

// fences are those of the writers that were at work last, oldest first. Older ones
// are in the file; of a thread that was never committed, and of one that is
// broken, they are gone, and their writers must open again.
type fences struct {
	byID map[wire.ThreadID]*list.Element // of *fence
	used *list.List
}

func newFences() *fences { return &fences{byID: map[wire.ThreadID]*list.Element{}, used: list.New()} }

func (s *fences) get(id wire.ThreadID) *fence {
	e := s.byID[id]
	if e == nil {
		return nil
	}
	s.used.MoveToBack(e)
	return e.Value.(*fence)
}

func (s *fences) put(f *fence) {
	if e := s.byID[f.id]; e != nil {
		e.Value = f
		s.used.MoveToBack(e)
		return
	}
	s.byID[f.id] = s.used.PushBack(f)
}

func (s *fences) breakUp(id wire.ThreadID, epoch uint64) {
	if f := s.get(id); f != nil && f.epoch == epoch {
		f.broken = true
	}
}

// trim keeps at most maxFences, a sixteenth more for a while, so that what it
// writes is written together. What it cannot write is gone too.
func (s *fences) trim(c *committer) {
	limit := c.j.opts.maxFences
	if s.used.Len() <= limit+limit/16 {
		return
	}
	ctx := context.Background()
	begun := c.open(ctx) == nil
	for s.used.Len() > limit {
		e := s.used.Front()
		f := e.Value.(*fence)
		if begun && !f.broken {
			begun = c.stmts.fence.run(ctx, int64(f.epoch), f.id.ID, f.id.Type) == nil
		}
		s.used.Remove(e)
		delete(s.byID, f.id)
	}
	if begun && c.stmts.commit.run(ctx) == nil {
		c.begun = true
		return
	}
	_ = c.stmts.rollback.run(ctx)
}

// fenceOf is the fence of an entry's thread, with what is recorded; nil when no
// writer of this process holds it. What it was is noted, once per
// transaction.
func (c *committer) fenceOf(ctx context.Context, e *entry) (*fence, error) {
	f := c.fences.get(e.id)
	if f == nil || !f.loaded {
		var number, epoch int64
		err := c.stmts.find.row(ctx, e.id.ID, e.id.Type).Scan(&number, &epoch)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, err
		}
		if f == nil {
			if number == 0 || uint64(epoch) <= c.base {
				return nil, nil
			}
			f = &fence{id: e.id, epoch: uint64(epoch)}
			c.fences.put(f)
		}
		f.thread, f.head, f.born, f.keys = number, -1, false, 0
		if number != 0 {
			if err := c.load(ctx, f); err != nil {
				return nil, err
			}
		}
		f.loaded = true
	}
	if f.noted != c.transaction {
		c.before = append(c.before, undone{f, *f})
		f.noted = c.transaction
	}
	return f, nil
}

func (c *committer) load(ctx context.Context, f *fence) error {
	if err := c.stmts.head.row(ctx, f.thread).Scan(&f.head); err != nil {
		return err
	}
	err := c.stmts.born.row(ctx, f.thread).Scan(&f.born)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return err
}
