package actors

import (
	"math"
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
	host     *Host
	thread   wire.ThreadID

	// Set by the thread when it attaches the follower, before the reply.
	feed    *feed
	opening atomic.Pointer[opening] // nil once its snapshot is written
	index   int

	// The cursor; only Next moves it. end is what Next gave out last.
	chunk  *chunk
	off    int
	entry  *entry
	end    uint64
	began  uint64 // where it came in
	opened bool

	read    atomic.Uint64 // what has been written for sure
	entries atomic.Uint64 // entries read, for partials
	waiting atomic.Bool
	stall   stall
	wake    chan struct{} // has room for one: something is due, the follow has ended, or it was silent
	silence silence

	once   sync.Once
	left   sync.Once
	ended  chan struct{}
	reason *wire.Failure
}

func newFollower(h *Host, id wire.ThreadID, o FollowOptions) *Follower {
	return &Follower{
		partials: o.Partials, onEnd: o.Ended, host: h, thread: id, index: -1,
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
		b, err := f.host.snapshot(f)
		if err == nil {
			f.feed.sent.add((&wire.Snapshot{}).FrameType(), "", 1)
		}
		return b, err
	}
	if !f.stall.armed.Load() {
		f.leaveOpening()
		f.stall.armed.Store(true)
	}
	f.read.Store(f.end)
	f.feed.sentUpTo(f.end)
	for {
		if b := f.due(); b != nil {
			return b, nil
		}
		f.silence.begins(f, wait)
		f.waiting.Store(true)
		if b := f.due(); b != nil {
			f.waiting.Store(false)
			return b, nil
		}
		select {
		case <-f.ended: // its wake may have been taken by the call before
			return nil, f.reason
		default:
		}
		<-f.wake
		select {
		case <-f.ended:
			return nil, f.reason
		default:
		}
		if f.silence.over.Swap(false) {
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

// poke wakes the follower if it waits, and ends it if it is too slow.
func (f *Follower) poke(now time.Time) {
	if f.waiting.CompareAndSwap(true, false) {
		f.rouse()
		return
	}
	read := f.read.Load()
	lag := f.feed.total.Load() - read
	if f.partials {
		lag += entryCost * (f.feed.full.count.Load() - f.entries.Load())
	}
	b := &f.feed.bounds
	if lag > b.lag || lag > b.stall && f.stall.lasts(read, now, b.grace) {
		if f.finish(&wire.Failure{Code: wire.CodeLimit, Message: "the follower lags too far behind; follow again for a snapshot"}) {
			f.feed.meter.closedSlow.Add(1)
		}
	}
}

func (f *Follower) rouse() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// silence wakes a follower that waits for nothing too long. Its timer is not set anew
// for each wait, which would cost more than the rest of it: when it fires it looks how
// long the wait is by then.
type silence struct {
	since, wait atomic.Int64 // ns; wait is 0 before the first
	over        atomic.Bool
	timer       atomic.Pointer[time.Timer]
}

// began is what since counts from: a clock that nobody sets.
var began = time.Now()

func (s *silence) begins(f *Follower, wait time.Duration) {
	s.over.Store(false)
	s.since.Store(int64(time.Since(began)))
	if s.wait.Swap(int64(wait)) == int64(wait) {
		return
	}
	if t := s.timer.Load(); t != nil {
		t.Reset(wait)
		return
	}
	t := time.AfterFunc(math.MaxInt64, f.silent) // it may fire only once it is there
	s.timer.Store(t)
	t.Reset(wait)
	select {
	case <-f.ended: // it may have come too late to be stopped
		s.stop()
	default:
	}
}

func (s *silence) stop() {
	if t := s.timer.Load(); t != nil {
		t.Stop()
	}
}

// silent is the timer's.
func (f *Follower) silent() {
	s := &f.silence
	select {
	case <-f.ended:
		return
	default:
	}
	wait := time.Duration(s.wait.Load())
	left := wait
	if f.waiting.Load() {
		left = time.Duration(s.since.Load()) + wait - time.Since(began)
	}
	if left <= 0 && f.waiting.CompareAndSwap(true, false) {
		s.over.Store(true)
		f.rouse()
		left = wait
	}
	if t := s.timer.Load(); t != nil {
		t.Reset(max(left, time.Microsecond))
	}
}

// stall is since when a follower that lags has not moved. One that is still
// writing its snapshot is told by the deadline of that write.
type stall struct {
	since atomic.Int64 // ns; 0 is not at all
	at    atomic.Uint64
	armed atomic.Bool // the snapshot has been written
}

func (s *stall) lasts(read uint64, now time.Time, grace time.Duration) bool {
	since := s.since.Load()
	if !s.armed.Load() {
		return false
	}
	if since == 0 || s.at.Load() != read {
		s.at.Store(read)
		s.since.Store(now.UnixNano())
		return false
	}
	return now.UnixNano()-since > int64(grace)
}

// finish ends the follow once, for reason, and says whether it was this one.
func (f *Follower) finish(reason *wire.Failure) (first bool) {
	f.once.Do(func() {
		first = true
		f.reason = reason
		close(f.ended)
		f.rouse()
		f.silence.stop()
		if f.onEnd != nil {
			f.onEnd()
		}
	})
	return first
}

// Close leaves. It is idempotent and may be called from another goroutine.
func (f *Follower) Close() {
	f.finish(&wire.Failure{Code: wire.CodeUnavailable, Message: "the follow was closed"})
	f.leaveOpening()
	f.left.Do(func() { f.host.leave(f) })
}

// leaveOpening: the snapshot is written, or will not be.
func (f *Follower) leaveOpening() {
	if o := f.opening.Swap(nil); o != nil {
		o.leave()
	}
}
