package host

import (
	"context"
	"time"

	"github.com/troupe-run/troupe/wire"
)

// Journal is the durable record of all threads. It is safe for concurrent use;
// each thread has one writer at a time, fenced by its epoch.
type Journal interface {
	// Open makes the caller the thread's writer: it raises the writer epoch,
	// behind every commit already accepted, and answers what is recorded. A
	// thread that was never committed has Exists false, and nothing is created.
	Open(ctx context.Context, id wire.ThreadID) (Opened, error)
	// Commit accepts a batch for the next group commit, all of it or nothing, and
	// calls done exactly once, from the committer's goroutine, when it is durable
	// or refused. done must not block. Commits of one thread are acknowledged in
	// order.
	Commit(b Batch, done func(error))
	// Read calls yield for the events of [from, to], in order, until it says
	// false.
	Read(ctx context.Context, id wire.ThreadID, from, to int64, yield func(Event) bool) error
	// Lookup is a thread's catalog row; false when there is none. It opens nothing.
	Lookup(ctx context.Context, id wire.ThreadID) (Row, bool, error)
	// Query is a page of the catalog, newest first.
	Query(ctx context.Context, q wire.ThreadQuery) (rows []Row, next string, err error)
	// Types is every agent type under which a thread of this bare id is recorded.
	Types(ctx context.Context, id string) ([]string, error)
	// Close flushes what was accepted and refuses the rest.
	Close() error
}

// Opened is what Open found.
type Opened struct {
	Exists bool
	Epoch  uint64
	Row    Row
	Wakes  []Wake // waiting, oldest first
}

// Event is one entry of a thread's record. Seq is gapless from 0 and minted by
// the thread; Payload is opaque to the journal.
type Event struct {
	Seq     int64
	At      time.Time
	Type    string
	Payload []byte
}

// Wake is a prompt that waits durably for its run.
type Wake struct {
	MessageID string
	Text      string
	Images    []wire.Image
	Admission wire.Admission
	At        time.Time
}

// Row is a thread's catalog row: its summary as of the record, and the thread's
// own state, opaque to the journal.
type Row struct {
	Summary wire.Summary
	State   []byte
}

// Batch is what is committed together. Expected is the seq of the newest event
// before it, -1 for none: another value, or a stale epoch, refuses the batch.
type Batch struct {
	Thread   wire.ThreadID
	Epoch    uint64
	Expected int64
	Events   []Event
	Put      []Wake   // wakes put
	Take     []string // message ids of wakes taken
	Row      *Row     // the new catalog row, nil to keep it
}
