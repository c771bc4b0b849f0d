package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/troupe-run/troupe/host"
)

// applicationID is in the header of every file of ours ("trou").
const applicationID = 0x74726f75

// migrations turn format n into n+1. One that was released never changes; a new
// one comes behind it, with a file of the format before in testdata.
var migrations = []string{
	// ident is the thread's own id, full the id with its type as the catalog orders
	// by it. at is microseconds, created milliseconds, expires microseconds of Unix
	// time. n counts in the order of writing. epoch is written only when the thread's
	// fence leaves memory.
	`
CREATE TABLE meta (one INTEGER PRIMARY KEY CHECK (one = 1), epoch INTEGER NOT NULL, clean INTEGER NOT NULL);
INSERT INTO meta VALUES (1, 0, 1);

CREATE TABLE threads (
	id INTEGER PRIMARY KEY, type TEXT NOT NULL, ident TEXT NOT NULL, epoch INTEGER NOT NULL DEFAULT 0,
	UNIQUE (ident, type));

CREATE TABLE events (
	n INTEGER PRIMARY KEY, thread INTEGER NOT NULL, seq INTEGER NOT NULL,
	at INTEGER NOT NULL, type TEXT NOT NULL, payload BLOB NOT NULL,
	UNIQUE (thread, seq));
CREATE INDEX events_snapshots ON events (thread, seq) WHERE type = '` + host.SnapshotEvent + `';

CREATE TABLE catalog (
	thread INTEGER PRIMARY KEY, created INTEGER NOT NULL, full TEXT NOT NULL,
	type TEXT NOT NULL, status TEXT NOT NULL, parent TEXT NOT NULL, title TEXT NOT NULL,
	summary BLOB NOT NULL, state BLOB);
CREATE INDEX catalog_all ON catalog (created, full);
CREATE INDEX catalog_type ON catalog (type, created, full);
CREATE INDEX catalog_status ON catalog (status, created, full);
CREATE INDEX catalog_type_status ON catalog (type, status, created, full);
CREATE INDEX catalog_parent ON catalog (parent, created, full) WHERE parent <> '';

CREATE TABLE wakes (
	n INTEGER PRIMARY KEY, thread INTEGER NOT NULL, message TEXT NOT NULL, body BLOB NOT NULL,
	UNIQUE (thread, message));

CREATE TABLE receipts (key TEXT PRIMARY KEY, digest BLOB, answer BLOB, expires INTEGER NOT NULL);
CREATE INDEX receipts_expires ON receipts (expires);
`,
}

// deltaMigrations are those of the file of deltas, which may be thrown away: a
// format that is not ours is.
var deltaMigrations = []string{`
CREATE TABLE streams (
	id INTEGER PRIMARY KEY, type TEXT NOT NULL, ident TEXT NOT NULL,
	UNIQUE (ident, type));
CREATE TABLE deltas (
	n INTEGER PRIMARY KEY AUTOINCREMENT, stream INTEGER NOT NULL, pos INTEGER NOT NULL,
	kept INTEGER NOT NULL, payload BLOB NOT NULL,
	UNIQUE (stream, pos));
`}

// migrate brings the file to the newest format, each step in a transaction of its
// own, so that a host killed between two goes on from there.
func migrate(ctx context.Context, c *sql.Conn, steps []string) error {
	var app, version, objects int
	if err := c.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app); err != nil {
		return err
	}
	if err := c.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if err := c.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 FROM sqlite_schema LIMIT 1)").Scan(&objects); err != nil {
		return err
	}
	switch {
	case app != applicationID && (app != 0 || version != 0 || objects > 0):
		return fmt.Errorf("%w: the file is another program's (application id %#x)", ErrDamaged, app)
	case version > len(steps):
		return fmt.Errorf("%w: its format is %d, this program knows up to %d", ErrNewer, version, len(steps))
	}
	for n := version; n < len(steps); n++ {
		if _, err := c.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
			return err
		}
		_, err := c.ExecContext(ctx, fmt.Sprintf("%s; PRAGMA application_id = %d; PRAGMA user_version = %d", steps[n], applicationID, n+1))
		if err == nil {
			_, err = c.ExecContext(ctx, "COMMIT")
		}
		if err != nil {
			_, _ = c.ExecContext(ctx, "ROLLBACK")
			return fmt.Errorf("migration to format %d: %w", n+1, err)
		}
	}
	return nil
}
