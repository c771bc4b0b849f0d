package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// stream is what the goroutine of the deltas knows of one thread's.
type stream struct {
	number int64
	bytes  int   // kept
	newest int64 // position, of what is kept
}

// maxStreams bounds how many are known at once; the others are in the file.
const maxStreams = 4096

// The bounds of one transaction, of a sweep's too: a reader's barrier waits for
// those in front of it.
const (
	maxDeltaGroup = 1024
	maxDeltaSweep = 1000
)

type deltaStatements struct {
	begin, commit, rollback    statement
	find, make, measure        statement
	insert, forget, oldest     statement
	cut, first, drop, leftover statement
	all                        []statement
}

func (s *deltaStatements) prepare(ctx context.Context, c *sql.Conn) error {
	return prepare(ctx, c, &s.all, []prepared{
		{&s.begin, "BEGIN IMMEDIATE"},
		{&s.commit, "COMMIT"},
		{&s.rollback, "ROLLBACK"},
		{&s.find, "SELECT id FROM streams WHERE ident = ? AND type = ?"},
		{&s.make, "INSERT INTO streams (ident, type) VALUES (?, ?)"},
		{&s.measure, "SELECT coalesce(sum(length(payload) + ?1), 0), max(pos) FROM deltas WHERE stream = ?2"},
		{&s.insert, "INSERT INTO deltas (stream, pos, kept, payload) VALUES (?, ?, ?, ?)"},
		{&s.forget, "DELETE FROM deltas WHERE stream = ?"},
		{&s.oldest, "SELECT pos, length(payload) FROM deltas WHERE stream = ? ORDER BY pos"},
		{&s.cut, "DELETE FROM deltas WHERE stream = ? AND pos <= ?"},
		{&s.first, "SELECT count(*), coalesce(max(n), 0) FROM (SELECT n, kept FROM deltas ORDER BY n LIMIT ?1) WHERE kept <= ?2"},
		{&s.drop, "DELETE FROM deltas WHERE n <= ?"},
		{&s.leftover, "DELETE FROM streams WHERE NOT EXISTS (SELECT 1 FROM deltas d WHERE d.stream = streams.id)"},
	})
}

func (s *deltaStatements) close() { closeAll(s.all) }

// write keeps what waited, but for what was forgotten. A transaction that fails
// drops what is in it.
func (d *deltas) write(queue []pendingDelta, forgets map[wire.ThreadID]int) {
	ctx := context.Background()
	if len(forgets) > 0 {
		// What a disk cannot delete now ages out.
		_ = d.transact(ctx, func() error {
			for id := range forgets {
				s, err := d.stream(ctx, id)
				if err == nil {
					err = d.stmts.forget.run(ctx, s.number)
				}
				if err != nil {
					return err
				}
				delete(d.streams, id)
			}
			return nil
		})
	}
	for start := 0; start < len(queue); start += maxDeltaGroup {
		group := queue[start:min(start+maxDeltaGroup, len(queue))]
		dropped := 0
		if err := d.transact(ctx, func() error {
			for i, p := range group {
				if start+i < forgets[p.id] {
					continue
				}
				kept, err := d.keep(ctx, p)
				if err != nil {
					return err
				}
				if !kept {
					dropped++
				}
			}
			return nil
		}); err != nil {
			dropped = len(group)
		}
		d.dropped.Add(uint64(dropped))
	}
}

// transact forgets what it knows of the streams when nothing of it is written.
func (d *deltas) transact(ctx context.Context, do func() error) error {
	if len(d.streams) > maxStreams {
		clear(d.streams)
	}
	err := d.stmts.begin.run(ctx)
	if err == nil {
		err = do()
	}
	if err == nil {
		err = d.stmts.commit.run(ctx)
	}
	if err != nil {
		_ = d.stmts.rollback.run(ctx)
		clear(d.streams)
	}
	return err
}

func (d *deltas) keep(ctx context.Context, p pendingDelta) (bool, error) {
	s, err := d.stream(ctx, p.id)
	if err != nil || p.Pos <= s.newest || p.size() > d.j.opts.MaxDeltas {
		return false, err
	}
	payload := p.Payload
	if payload == nil {
		payload = []byte{}
	}
	if err := d.stmts.insert.run(ctx, s.number, p.Pos, d.j.opts.Now().UnixMicro(), payload); err != nil {
		return false, err
	}
	s.newest, s.bytes = p.Pos, s.bytes+p.size()
	if s.bytes > d.j.opts.MaxDeltas {
		return true, d.shorten(ctx, s)
	}
	return true, nil
}

// stream is what is known of a thread's.
func (d *deltas) stream(ctx context.Context, id wire.ThreadID) (*stream, error) {
	if s := d.streams[id]; s != nil {
		return s, nil
	}
	s := &stream{newest: -1 << 63}
	err := d.stmts.find.row(ctx, id.ID, id.Type).Scan(&s.number)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		r, err := d.stmts.make.ExecContext(ctx, id.ID, id.Type)
		if err != nil {
			return nil, err
		}
		if s.number, err = r.LastInsertId(); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	default:
		var newest sql.NullInt64
		if err := d.stmts.measure.row(ctx, deltaOverhead, s.number).Scan(&s.bytes, &newest); err != nil {
			return nil, err
		}
		if newest.Valid {
			s.newest = newest.Int64
		}
	}
	d.streams[id] = s
	return s, nil
}

// shorten drops the oldest of a stream, a quarter of its bound, so that one that
// streams on is not shortened for every delta.
func (d *deltas) shorten(ctx context.Context, s *stream) error {
	rows, err := d.stmts.oldest.QueryContext(ctx, s.number)
	if err != nil {
		return err
	}
	var last int64
	if err := each(rows, func() (bool, error) {
		var size int
		err := rows.Scan(&last, &size)
		s.bytes -= size + deltaOverhead
		return s.bytes > d.j.opts.MaxDeltas/4*3, err
	}); err != nil {
		return err
	}
	return d.stmts.cut.run(ctx, s.number, last)
}

// sweep drops what is past its retention, and the oldest of all when the file has
// grown past its bound. What it cannot drop now it finds again; readers are not
// shown it.
func (d *deltas) sweep() {
	ctx := context.Background()
	oldest := d.j.opts.Now().Add(-host.DeltaRetention).UnixMicro()
	for {
		limit := oldest
		if n, err := d.size(ctx); err == nil && n > maxAllDeltas {
			limit = 1<<63 - 1
		}
		var count, last int64
		if err := d.stmts.first.row(ctx, maxDeltaSweep, limit).Scan(&count, &last); err != nil || count == 0 {
			return
		}
		if err := d.transact(ctx, func() error {
			if err := d.stmts.drop.run(ctx, last); err != nil || count == maxDeltaSweep {
				return err
			}
			return d.stmts.leftover.run(ctx)
		}); err != nil {
			return
		}
		clear(d.streams) // their sizes have changed
		if count < maxDeltaSweep || d.waiting() {
			return
		}
	}
}

func (d *deltas) waiting() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.queue) > 0 || len(d.barriers) > 0 || d.closed
}

// size is how many bytes of the file are in use.
func (d *deltas) size(ctx context.Context) (int64, error) {
	var pages, unused, size int64
	for text, into := range map[string]*int64{"page_count": &pages, "freelist_count": &unused, "page_size": &size} {
		if err := d.writing.conn.QueryRowContext(ctx, "PRAGMA "+text).Scan(into); err != nil {
			return 0, err
		}
	}
	return (pages - unused) * size, nil
}
