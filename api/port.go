package api

import (
	"context"
	"io"
	"time"

	"github.com/troupe-run/troupe/wire"
)

// Threads is everything the routes need of the threads. Every error it returns
// is a *wire.Failure. An id is as a client wrote it, "<type>.<id>" or bare; the
// answers hold the full form. Reads start, create and change nothing.
type Threads interface {
	// Resolve is the full form of an id. not-found: an unknown type; ambiguous-id.
	Resolve(ctx context.Context, id string) (string, error)
	// Agents lists the agents on offer, by name.
	Agents(ctx context.Context) []wire.Agent
	// List is a page of summaries, newest first. invalid: a bad cursor or limit.
	List(ctx context.Context, q wire.ThreadQuery) (wire.ThreadPage, error)
	// Watch streams summaries: all of them, then each that changes.
	Watch(ctx context.Context) (SummaryStream, error)
	// Create makes a thread or reattaches; created says which. not-found: an
	// unknown type; invalid: a bad id, cwd or tag.
	Create(ctx context.Context, r wire.CreateThread) (s wire.Summary, created bool, err error)
	// Get is one summary. not-found, ambiguous-id.
	Get(ctx context.Context, id string) (wire.Summary, error)
	// Follow subscribes. not-found only for an unknown type; limit-reached.
	Follow(ctx context.Context, id string, o FollowOptions) (Follower, error)
	// History is the snapshot that a follow would open with.
	History(ctx context.Context, id string) (Encoded, error)
	// Prompt admits a prompt, and returns once it is durable. It creates a thread
	// of a known type. invalid, not-found, limit-reached.
	Prompt(ctx context.Context, id string, r wire.PromptRequest) (wire.PromptReceipt, error)
	// Withdraw takes a waiting prompt out of the queue. not-found.
	Withdraw(ctx context.Context, id, messageID string) error
	// Abort stops the run and answers once it has settled, within a bound.
	Abort(ctx context.Context, id string) (wire.AbortReceipt, error)
	// Dialogs lists the open questions, oldest first.
	Dialogs(ctx context.Context, id string) ([]wire.OpenDialog, error)
	// Answer answers one. not-found: spent or never open; invalid: refused, and
	// still open.
	Answer(ctx context.Context, id string, a wire.Answer) error
	// SetMode, SetModel and Compact act on the thread's session, starting one when
	// there is none. unsupported: the runtime cannot, with its reason.
	SetMode(ctx context.Context, id string, r wire.ModeRequest) error
	SetModel(ctx context.Context, id string, r wire.ModelRequest) error
	Compact(ctx context.Context, id string, r wire.CompactRequest) error
	// Rename sets the title. not-found.
	Rename(ctx context.Context, id string, r wire.RenameRequest) error
	// Tails are the thread's two rings; empty without a session.
	Tails(ctx context.Context, id string) (wire.Tails, error)
}

// Encoded is an answer that is JSON already, and takes room until it is closed.
type Encoded interface {
	io.ReadCloser
	Size() int64 // in bytes
}

// FollowOptions says how a follower wants its follow.
type FollowOptions struct {
	// Partials un-elides partial tool results; when the follower lags, the newest
	// of each call wins.
	Partials bool
	// Ended is called at most once, from any goroutine, when the thread ends the
	// follow while Next is not being waited for: the connection should be closed
	// so that a blocked write returns. It must not block.
	Ended func()
}

// Follower is one follow of a thread. One goroutine uses it.
type Follower interface {
	// Next waits up to wait for what is due and returns it as one or more whole
	// SSE events ("data: …\n\n"), the snapshot first. The bytes are shared: they
	// must not be changed, and calling Next again says that they were written.
	// Nothing due is (nil, nil): time for a heartbeat. When the follow has ended
	// the error is a *wire.Failure.
	Next(wait time.Duration) ([]byte, error)
	// Close leaves. It is idempotent and may be called from another goroutine.
	Close()
}

// SummaryStream is a stream of summaries. One goroutine uses it.
type SummaryStream interface {
	// Next waits up to wait for changed summaries, the newest state of each.
	// Nothing due is (nil, nil).
	Next(wait time.Duration) ([]wire.Summary, error)
	// Close leaves. It is idempotent and may be called from another goroutine.
	Close()
}
