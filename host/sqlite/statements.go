package sqlite

import (
	"context"
	"database/sql"
	"errors"
)

// statement is one that the committer prepared on its connection.
type statement struct{ *sql.Stmt }

func (s statement) run(ctx context.Context, args ...any) error {
	_, err := s.ExecContext(ctx, args...)
	return err
}

func (s statement) changes(ctx context.Context, args ...any) (int64, error) {
	r, err := s.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

func (s statement) row(ctx context.Context, args ...any) *sql.Row {
	return s.QueryRowContext(ctx, args...)
}

// statements are the committer's. That they prepare says that the file has the
// tables and columns that they name.
type statements struct {
	begin, commit, rollback, atWork statement
	find, make, head, born, fence   statement
	event, putWake, takeWake        statement
	enter, replace, refresh         statement
	receipt, expired, sweep         statement
	all                             []statement
}

func (s *statements) prepare(ctx context.Context, c *sql.Conn) error {
	return prepare(ctx, c, &s.all, []prepared{
		{&s.begin, "BEGIN IMMEDIATE"},
		{&s.commit, "COMMIT"},
		{&s.rollback, "ROLLBACK"},
		{&s.atWork, "UPDATE meta SET epoch = ?, clean = 0"},

		{&s.find, "SELECT id, epoch FROM threads WHERE ident = ? AND type = ?"},
		{&s.make, "INSERT INTO threads (ident, type) VALUES (?, ?)"},
		{&s.head, "SELECT coalesce(max(seq), -1) FROM events WHERE thread = ?"},
		{&s.born, "SELECT 1 FROM catalog WHERE thread = ?"},
		{&s.fence, "UPDATE threads SET epoch = ? WHERE ident = ? AND type = ?"},

		{&s.event, "INSERT INTO events (thread, seq, at, type, payload) VALUES (?, ?, ?, ?, ?)"},
		{&s.putWake, "INSERT INTO wakes (thread, message, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"},
		{&s.takeWake, "DELETE FROM wakes WHERE thread = ? AND message = ?"},

		{&s.enter, "INSERT INTO catalog (created, full, type, status, parent, title, summary, state, thread) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"},
		{&s.replace, "UPDATE catalog SET created = ?, full = ?, type = ?, status = ?, parent = ?, title = ?, summary = ?, state = ? WHERE thread = ?"},
		{&s.refresh, "UPDATE catalog SET title = ?, summary = ?, state = ? WHERE thread = ?"},

		{&s.receipt, `INSERT INTO receipts (key, digest, answer, expires) VALUES (?1, ?2, ?3, ?4)
			ON CONFLICT (key) DO UPDATE SET digest = ?2, answer = ?3, expires = ?4 WHERE expires <= ?5`},
		{&s.expired, "SELECT 1 FROM receipts WHERE expires <= ? LIMIT 1"},
		{&s.sweep, "DELETE FROM receipts WHERE key IN (SELECT key FROM receipts WHERE expires <= ? LIMIT ?)"},
	})
}

func (s *statements) close() { closeAll(s.all) }

// prepared is where a statement goes, and its text.
type prepared struct {
	into *statement
	text string
}

func prepare(ctx context.Context, c *sql.Conn, all *[]statement, ps []prepared) error {
	for _, p := range ps {
		stmt, err := c.PrepareContext(ctx, p.text)
		if err != nil {
			closeAll(*all)
			return errors.Join(ErrDamaged, err)
		}
		p.into.Stmt = stmt
		*all = append(*all, *p.into)
	}
	return nil
}

func closeAll(all []statement) {
	for _, s := range all {
		_ = s.Close()
	}
}
