// Package memory is the journal that forgets: a host.Journal in memory, for
// tests, for load, and for a host that wants no disk. It keeps every promise of
// the interface but durability beyond the process.
//
// One committer goroutine takes what has been accepted as one group, applies it
// batch by batch, and acknowledges. It blocks on channels and the time package
// alone, so that it runs in a synctest bubble; close it before the bubble ends.
package memory
