package sqlite

import (
	"database/sql"

	"github.com/troupe-run/troupe/wire"
)

// WithFences bounds how many writers' fences are held in memory.
func WithFences(o Options, n int) Options {
	o.maxFences = n
	return o
}

// Before calls fn on the committer's goroutine before each transaction.
func Before(o Options, fn func(*sql.Conn)) Options {
	o.before = fn
	return o
}

// Format is the newest format.
var Format = len(migrations)

// OpenWith opens with further migrations.
func OpenWith(dir string, steps ...string) (*Journal, error) {
	return open(dir, Options{}, append(append([]string(nil), migrations...), steps...))
}

// Source is the journal's own way to open its file for writing.
func Source(file string) string { return writerSource(file, "FULL") }

// Selection is the text of a query of the catalog, without its order and limit.
func Selection(q wire.ThreadQuery) (string, []any) { return selection(q) }
