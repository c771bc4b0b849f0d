package sqlite

import "database/sql"

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
