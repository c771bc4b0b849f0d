package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// The bounds of a chunk: what a read holds at once, beside one event of any size.
// Between two of them it holds no connection, so that a slow reader neither keeps
// others waiting nor the write-ahead log from being emptied.
const (
	chunkEvents = 256
	chunkBytes  = 256 << 10
)

// reads are the statements of the pool.
type reads struct {
	row, wakes, number, events, snapshot, types, receipt, waiting *sql.Stmt
}

func (j *Journal) prepareReads(file string) (err error) {
	if j.reading, err = openReaders(file, j.opts.Readers); err != nil {
		return err
	}
	for _, p := range []struct {
		into **sql.Stmt
		text string
	}{
		{&j.reads.row, "SELECT c.summary, c.state FROM threads t JOIN catalog c ON c.thread = t.id WHERE t.ident = ? AND t.type = ?"},
		{&j.reads.wakes, "SELECT w.message, w.body FROM threads t JOIN wakes w ON w.thread = t.id WHERE t.ident = ? AND t.type = ? ORDER BY w.n"},
		{&j.reads.number, "SELECT id FROM threads WHERE ident = ? AND type = ?"},
		{&j.reads.events, "SELECT seq, at, type, payload FROM events WHERE thread = ? AND seq BETWEEN ? AND ? ORDER BY seq LIMIT ?"},
		{&j.reads.snapshot, `SELECT e.seq, e.at, e.type, e.payload FROM threads t JOIN events e INDEXED BY events_snapshots ON e.thread = t.id
			WHERE t.ident = ? AND t.type = ? AND e.type = '` + host.SnapshotEvent + `' ORDER BY e.seq DESC LIMIT 1`},
		{&j.reads.types, "SELECT t.type FROM threads t JOIN catalog c ON c.thread = t.id WHERE t.ident = ? ORDER BY t.type"},
		{&j.reads.receipt, "SELECT digest, answer, expires FROM receipts WHERE key = ? AND expires > ?"},
		// One step in the index per thread, not per wake.
		{&j.reads.waiting, `WITH RECURSIVE w (thread) AS (
				SELECT min(thread) FROM wakes WHERE thread > ?1
				UNION ALL SELECT (SELECT min(thread) FROM wakes WHERE thread > w.thread) FROM w WHERE w.thread IS NOT NULL)
			SELECT t.id, t.type, t.ident FROM w JOIN threads t ON t.id = w.thread LIMIT ?2`},
	} {
		if *p.into, err = j.reading.Prepare(p.text); err != nil {
			return err
		}
	}
	return nil
}

// told is a read's error as it crosses the seam.
func (j *Journal) told(err error) error {
	if err == nil {
		return nil
	}
	j.intake.Lock()
	defer j.intake.Unlock()
	if j.closed {
		return errClosed()
	}
	return j.failure(err)
}

// recorded is what Open answers. It needs no transaction: nobody else writes the
// thread, but for wakes that others put, which may be there already or come after.
func (j *Journal) recorded(ctx context.Context, id wire.ThreadID) (o host.Opened, err error) {
	if o.Row, o.Exists, err = j.Lookup(ctx, id); err != nil {
		return host.Opened{}, err
	}
	rows, err := j.reads.wakes.QueryContext(ctx, id.ID, id.Type)
	if err != nil {
		return host.Opened{}, j.told(err)
	}
	err = each(rows, func() (bool, error) {
		var message string
		var body []byte
		if err := rows.Scan(&message, &body); err != nil {
			return false, err
		}
		w, err := decodeWake(message, body)
		o.Wakes = append(o.Wakes, w)
		return true, err
	})
	return o, j.told(err)
}

// each calls next for every row, until it says false, and closes rows.
func each(rows *sql.Rows, next func() (bool, error)) error {
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if more, err := next(); err != nil || !more {
			return err
		}
	}
	return rows.Err()
}

// Read yields what there is of the range when it comes to it; an unknown thread
// has nothing. It holds a chunk of events at a time.
func (j *Journal) Read(ctx context.Context, id wire.ThreadID, from, to int64, yield func(host.Event) bool) error {
	if err := ctx.Err(); err != nil {
		return j.told(err)
	}
	var number int64
	err := j.reads.number.QueryRowContext(ctx, id.ID, id.Type).Scan(&number)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return j.told(err)
	}
	for chunk := make([]host.Event, 0, min(chunkEvents, max(0, to-from+1))); from <= to; {
		if chunk, err = j.chunk(ctx, chunk[:0], number, from, to); err != nil {
			return j.told(err)
		}
		if len(chunk) == 0 {
			return nil
		}
		for _, e := range chunk {
			if err := ctx.Err(); err != nil {
				return j.told(err)
			}
			if !yield(e) {
				return nil
			}
		}
		from = chunk[len(chunk)-1].Seq + 1
	}
	return nil
}

// chunk waits for its turn under ctx, and then reads without: the driver's watch
// over a context costs a fifth of the read, and a chunk ends by itself.
func (j *Journal) chunk(ctx context.Context, chunk []host.Event, number, from, to int64) ([]host.Event, error) {
	select {
	case j.turns <- struct{}{}:
		defer func() { <-j.turns }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	rows, err := j.reads.events.QueryContext(context.Background(), number, from, to, chunkEvents)
	if err != nil {
		return nil, err
	}
	bytes := 0
	err = each(rows, func() (bool, error) {
		e, err := scanEvent(rows)
		chunk, bytes = append(chunk, e), bytes+len(e.Payload)
		return bytes < chunkBytes, err
	})
	return chunk, err
}

func scanEvent(rows interface{ Scan(...any) error }) (e host.Event, err error) {
	var at int64
	err = rows.Scan(&e.Seq, &at, &e.Type, &e.Payload)
	e.At = time.UnixMicro(at).UTC()
	return e, err
}

// LatestSnapshot is one step in an index that holds only snapshots.
func (j *Journal) LatestSnapshot(ctx context.Context, id wire.ThreadID) (host.Event, bool, error) {
	e, err := scanEvent(j.reads.snapshot.QueryRowContext(ctx, id.ID, id.Type))
	if errors.Is(err, sql.ErrNoRows) {
		return host.Event{}, false, nil
	}
	return e, err == nil, j.told(err)
}

// Lookup opens nothing.
func (j *Journal) Lookup(ctx context.Context, id wire.ThreadID) (host.Row, bool, error) {
	var summary, state []byte
	err := j.reads.row.QueryRowContext(ctx, id.ID, id.Type).Scan(&summary, &state)
	if errors.Is(err, sql.ErrNoRows) {
		return host.Row{}, false, nil
	}
	if err != nil {
		return host.Row{}, false, j.told(err)
	}
	r, err := decodeRow(summary, state)
	return r, err == nil, j.told(err)
}

// Types is sorted.
func (j *Journal) Types(ctx context.Context, id string) (types []string, err error) {
	rows, err := j.reads.types.QueryContext(ctx, id)
	if err != nil {
		return nil, j.told(err)
	}
	err = each(rows, func() (bool, error) {
		var t string
		err := rows.Scan(&t)
		types = append(types, t)
		return true, err
	})
	return types, j.told(err)
}

// Receipt hides what has expired, whether it was swept or not.
func (j *Journal) Receipt(ctx context.Context, key string) (host.Receipt, bool, error) {
	r := host.Receipt{Key: key}
	var expires int64
	err := j.reads.receipt.QueryRowContext(ctx, key, j.opts.Now().UnixMicro()).Scan(&r.Digest, &r.Answer, &expires)
	if errors.Is(err, sql.ErrNoRows) {
		return host.Receipt{}, false, nil
	}
	r.Expires = time.UnixMicro(expires).UTC()
	return r, err == nil, j.told(err)
}

// Waiting lists by number; its cursor is the last number of the page before.
func (j *Journal) Waiting(ctx context.Context, limit int, cursor string) (ids []wire.ThreadID, next string, err error) {
	if limit, err = host.PageLimit(limit); err != nil {
		return nil, "", err
	}
	after := int64(0)
	if cursor != "" {
		if after, err = strconv.ParseInt(cursor, 10, 64); err != nil {
			return nil, "", wire.Errorf(wire.CodeInvalid, "cursor: not from a page before")
		}
	}
	rows, err := j.reads.waiting.QueryContext(ctx, after, limit+1)
	if err != nil {
		return nil, "", j.told(err)
	}
	err = each(rows, func() (bool, error) {
		if len(ids) == limit {
			next = strconv.FormatInt(after, 10)
			return false, nil
		}
		var id wire.ThreadID
		err := rows.Scan(&after, &id.Type, &id.ID)
		ids = append(ids, id)
		return true, err
	})
	return ids, next, j.told(err)
}
