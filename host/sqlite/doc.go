// Package sqlite is the durable journal: a host.Journal in one folder, on
// modernc.org/sqlite. README.md has its schema, what it promises, and what each
// refusal means.
//
// One committer goroutine owns the one connection that writes. It takes what has
// been accepted as one group, writes it in one transaction, and acknowledges
// after the transaction's fsync. Reads have connections of their own and see what
// was acknowledged. Deltas live in a second file with a goroutine of its own, so
// that none ever delays a commit.
package sqlite
