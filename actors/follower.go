package actors

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-run/troupe/wire"
)

// FollowOptions says how a follower wants its follow.
type FollowOptions struct {
	// Partials un-elides partial tool results; when the follower lags, the newest
	// of each call wins.
	Partials bool
	// Ended is called at most once, from any goroutine, when the thread ends the
	// follow. It must not block.
	Ended func()
}

// Follower is one follow of a thread: the snapshot, then what the feed holds
// above it. One goroutine uses it; Close may come from another.
type Follower struct {
	partials bool
	onEnd    func()
	open     func(*Follower) ([]byte, error) // the snapshot, encoded
	leave    func(*Follower)

	// Set by the thread when it attaches the follower, before the reply.
	feed  *feed
	pin   *pin
	index int

	// The cursor; only Next moves it. end is what Next gave out last.
	chunk  *chunk
	off    int
	entry  *entry
	end    uint64
	from   uint64 // where the feed was when it attached
	opened bool

	read    atomic.Uint64 // what has been written for sure
	entries atomic.Uint64 // entries read, for partials
	waiting atomic.Bool
	wake    chan struct{}
	timer   *time.Timer

	once   sync.Once
	left   sync.Once
	ended  chan struct{}
	reason *wire.Failure
}

func newFollower(o FollowOptions) *Follower {
	return &Follower{
		partials: o.Partials, onEnd: o.Ended, index: -1,
		wake: make(chan struct{}, 1), ended: make(chan struct{}),
	}
}

// Next waits up to wait for what is due and gives it as whole SSE events, the
// snapshot first. The bytes are shared and must not be changed; calling Next
// again says that they were written. Nothing due is (nil, nil). When the follow
// has ended the error is a *wire.Failure.
func (f *Follower) Next(wait time.Duration) ([]byte, error) {
	if !f.opened {
		f.opened = true
		return f.open(f)
	}
	f.read.Store(f.end)
	f.feed.sentUpTo(f.end)
	for {
		if b := f.due(); b != nil {
			return b, nil
		}
		f.waiting.Store(true)
		if b := f.due(); b != nil {
			f.waiting.Store(false)
			return b, nil
		}
		if f.timer == nil {
			f.timer = time.NewTimer(wait)
		} else {
			f.timer.Reset(wait)
		}
		select {
		case <-f.wake:
			f.timer.Stop()
		case <-f.ended:
			f.timer.Stop()
			return nil, f.reason
		case <-f.timer.C:
			f.waiting.Store(false)
			return nil, nil
		}
	}
}

// due is everything between the cursor and the end of its chunk.
func (f *Follower) due() []byte {
	if f.partials {
		return f.dueEntries()
	}
	for {
		n := int(f.chunk.n.Load())
		if n > f.off {
			b := f.chunk.buf[f.off:n:n]
			f.off = n
			f.end += uint64(len(b))
			return b
		}
		next := f.chunk.next.Load()
		if next == nil {
			return nil
		}
		if int(f.chunk.n.Load()) > f.off {
			continue // the last frame of this chunk came in between
		}
		f.chunk, f.off = next, 0
	}
}

func (f *Follower) dueEntries() []byte {
	var out []byte
	for len(out) < maxChunk {
		next := f.entry.next.Load()
		if next == nil {
			break
		}
		f.entry = next
		f.entries.Add(1)
		if b := next.data.Load(); b != nil {
			out = append(out, *b...)
		}
	}
	if out != nil {
		f.end = f.feed.total.Load()
	}
	return out
}

// poke wakes the follower if it waits, and ends it if it lags past the limit.
func (f *Follower) poke() {
	if f.waiting.CompareAndSwap(true, false) {
		select {
		case f.wake <- struct{}{}:
		default:
		}
		return
	}
	if f.lags() {
		f.finish(&wire.Failure{Code: wire.CodeLimit, Message: "the follower lags too far behind; follow again for a snapshot"})
	}
}

func (f *Follower) lags() bool {
	lag := f.feed.total.Load() - f.read.Load()
	if f.partials {
		lag += entryCost * (f.feed.full.count.Load() - f.entries.Load())
	}
	return lag > f.feed.lag
}

// finish ends the follow once, for reason.
func (f *Follower) finish(reason *wire.Failure) {
	f.once.Do(func() {
		f.reason = reason
		close(f.ended)
		if f.onEnd != nil {
			f.onEnd()
		}
	})
}

// Close leaves. It is idempotent and may be called from another goroutine.
func (f *Follower) Close() {
	f.finish(&wire.Failure{Code: wire.CodeUnavailable, Message: "the follow was closed"})
	f.left.Do(func() { f.leave(f) })
}

// openSnapshot assembles and encodes the snapshot of a follower. The number of
// those at work at once is bounded in the whole host.
func (h *Host) openSnapshot(f *Follower, id wire.ThreadID) ([]byte, error) {
	select {
	case h.snapshots <- struct{}{}:
	case <-f.ended:
		return nil, f.reason
	}
	defer func() { <-h.snapshots }()
	ctx, cancel := context.WithTimeout(context.Background(), h.limits.CallTimeout)
	defer cancel()
	s, err := h.assemble(ctx, id, f.pin)
	if err != nil {
		return nil, wire.AsFailure(err)
	}
	f.pin = nil
	b, err := wire.AppendSSE(nil, s)
	if err != nil {
		return nil, wire.AsFailure(err)
	}
	f.feed.sent.add(s.FrameType(), "", 1)
	h.meter.encoded(len(b))
	return b, nil
}
