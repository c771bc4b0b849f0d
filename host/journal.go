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
	// Receipt is the idempotency record of a key; false when there is none, or it
	// has expired.
	Receipt(ctx context.Context, key string) (Receipt, bool, error)
	// Read calls yield for the events of [from, to], in order, until it says
	// false.
	Read(ctx context.Context, id wire.ThreadID, from, to int64, yield func(Event) bool) error
	// LatestSnapshot is a thread's newest event of type SnapshotEvent, found without
	// reading the others; false when there is none.
	LatestSnapshot(ctx context.Context, id wire.ThreadID) (Event, bool, error)
	// Lookup is a thread's catalog row; false when there is none. It opens nothing.
	Lookup(ctx context.Context, id wire.ThreadID) (Row, bool, error)
	// Query is a page of the catalog, newest first.
	Query(ctx context.Context, q wire.ThreadQuery) (rows []Row, next string, err error)
	// Types is every agent type under which a thread of this bare id is recorded.
	Types(ctx context.Context, id string) ([]string, error)
	// Waiting is a page of the threads that have wakes waiting, in an order of the
	// journal's own: what recovery walks after a start. limit and cursor are those
	// of Query. It costs what waits, not what is recorded.
	Waiting(ctx context.Context, limit int, cursor string) (ids []wire.ThreadID, next string, err error)
	Deltas
	// Close flushes what was accepted and refuses the rest.
	Close() error
}

// Deltas keeps what streamed, beside the record and never in its way: every
// delta may be dropped, none delays a commit, and none is kept longer than
// DeltaRetention, past its thread's byte bound, or once a commit's row says that
// its thread is archived.
type Deltas interface {
	// AppendDeltas takes deltas in without waiting and without an answer. What is
	// over the buffer's bound, or does not come after the thread's newest kept one,
	// is dropped, and counted.
	AppendDeltas(id wire.ThreadID, ds []Delta)
	// ReadDeltas calls yield for the kept deltas after a position, in order, until
	// it says false. What was appended before it and not dropped is there.
	ReadDeltas(ctx context.Context, id wire.ThreadID, after int64, yield func(Delta) bool) error
	// DroppedDeltas is how many AppendDeltas did not keep since the journal was
	// opened. What was kept and aged out is not among them.
	DroppedDeltas() uint64
}

// DeltaRetention is the longest that a delta is kept.
const DeltaRetention = 6 * time.Hour

// Delta is one piece of what streamed. Pos is minted by the thread and grows,
// with gaps, across its writers too: one that begins with the writer's epoch does.
type Delta struct {
	Pos     int64
	Payload []byte
}

// Opened is what Open found. A thread that was never committed may have wakes,
// from the commits of others.
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

// SnapshotEvent is the type of the events that LatestSnapshot finds.
const SnapshotEvent = "state_snapshot"

// Wake is what waits durably for its run: a prompt, or what Kind says. Kind and
// Data are opaque to the journal.
type Wake struct {
	MessageID string
	Kind      string // empty for a prompt
	Data      []byte
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

// Delivery is a wake put to another thread.
type Delivery struct {
	To   wire.ThreadID
	Wake Wake
}

// Receipt is the idempotency record of a request: what was answered to it, kept
// until Expires. Answer and Digest are opaque to the journal.
type Receipt struct {
	Key     string
	Digest  []byte // of the request, to tell another one under the same key
	Answer  []byte
	Expires time.Time
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
	// Send puts wakes to other threads, without an epoch of theirs. One to a thread
	// that was never committed waits for it: Open answers it, Waiting lists the
	// thread, and the catalog does not know it before its own first commit. Who
	// wants to know whether a thread is there asks Lookup; none ever vanishes.
	Send []Delivery
	// Receipt is kept with the batch, nil for none. A key that another receipt
	// holds refuses the batch with conflict.
	Receipt *Receipt
}
