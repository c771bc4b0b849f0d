package actors

import (
	"sync"
	"sync/atomic"

	"github.com/troupe-run/troupe/wire"
)

// feed is a thread's live log. The thread writes it; each follower reads it at
// its own pace through a cursor, without a lock. A frame is encoded once, as the
// SSE event that every follower sends.
//
// Its memory is what the slowest follower has not read, and a follower that lags
// past the limit is ended, so that it costs nobody else anything.
type feed struct {
	lag  uint64
	sent *sentTail

	last  *chunk // being written
	total atomic.Uint64

	frames atomic.Uint64 // published, for the meter
	phase  uint64        // which of them it times

	mu        sync.RWMutex // followers: written by the thread, read by wakers
	followers []*Follower
	gone      flow // what followers that left were sent; see meter.go
	wakers    []chan struct{}
	guard     Guard

	full *entryLog // every frame, for followers that want partials; nil without one

	rows   sync.Mutex
	unsent []sentRow // frames from first on no follower has sent yet, oldest first
	first  int
	mark   atomic.Uint64
}

// sentRow is one frame in the log: it was sent once a cursor has passed end.
type sentRow struct {
	end  uint64
	kind string
	name string
}

// chunk is a piece of the log. The writer copies beyond n and then moves n; a
// reader only looks below it. next is set once the chunk is full.
type chunk struct {
	buf  []byte
	n    atomic.Int64
	next atomic.Pointer[chunk]
}

const (
	minChunk = 2 << 10
	maxChunk = 64 << 10
	// directWake is how many followers the thread wakes itself; above it wakers do.
	directWake = 64
	wakerCount = 2
)

func newFeed(lagBytes int, sent *sentTail, guard Guard) *feed {
	return &feed{lag: uint64(lagBytes), sent: sent, guard: guard, last: &chunk{buf: make([]byte, minChunk)}}
}

// publish appends a frame and wakes the followers. A partial tool result goes to
// those who asked for partials only.
func (f *feed) publish(fr wire.Frame) error {
	c := f.last
	n := int(c.n.Load())
	b, err := wire.AppendSSE(c.buf[n:n:len(c.buf)], fr)
	if err != nil {
		return err
	}
	call, partial := resultOf(fr)
	if f.full != nil {
		f.full.add(b, call, partial)
	}
	if !partial {
		f.append(b, n)
		f.noteUnsent(fr)
	}
	f.wake()
	return nil
}

// append makes b, encoded behind position n of the last chunk or too large for
// it, part of the log.
func (f *feed) append(b []byte, n int) {
	c := f.last
	if n+len(b) > len(c.buf) {
		next := &chunk{buf: make([]byte, max(len(b), min(2*len(c.buf), maxChunk)))}
		copy(next.buf, b)
		next.n.Store(int64(len(b)))
		f.last = next
		c.next.Store(next)
	} else {
		c.n.Store(int64(n + len(b)))
	}
	f.total.Add(uint64(len(b)))
}

// resultOf is the call whose result the frame carries, and whether it is partial.
func resultOf(fr wire.Frame) (call string, partial bool) {
	if o, ok := fr.(*wire.ObservationFrame); ok {
		if r, ok := o.Observation.(*wire.ToolResult); ok {
			return r.ToolCallID, !r.Complete
		}
	}
	return "", false
}

func (f *feed) wake() {
	if len(f.followers) <= directWake {
		for _, fo := range f.followers {
			fo.poke()
		}
		return
	}
	for _, w := range f.wakers {
		select {
		case w <- struct{}{}:
		default:
		}
	}
}

func (f *feed) attach(fo *Follower, p *pin) {
	if fo.partials {
		if f.full == nil {
			f.full = newEntryLog()
		}
		fo.entry = f.full.last
		fo.entries.Store(f.full.count.Load())
	}
	fo.feed, fo.pin = f, p
	fo.chunk, fo.off = f.last, int(f.last.n.Load())
	fo.end = f.total.Load()
	fo.from = fo.end
	fo.read.Store(fo.end)
	f.mu.Lock()
	fo.index = len(f.followers)
	f.followers = append(f.followers, fo)
	f.mu.Unlock()
	if len(f.followers) > directWake && f.wakers == nil {
		for i := range wakerCount {
			ch := make(chan struct{}, 1)
			f.wakers = append(f.wakers, ch)
			f.guard("feed waker", nil, func() { f.waker(i, ch) })
		}
	}
}

// waker wakes its share of the followers whenever the log has grown.
func (f *feed) waker(share int, grown <-chan struct{}) {
	for range grown {
		f.mu.RLock()
		for i := share; i < len(f.followers); i += wakerCount {
			f.followers[i].poke()
		}
		f.mu.RUnlock()
	}
}

func (f *feed) has(fo *Follower) bool { return fo.feed == f && fo.index >= 0 }

func (f *feed) detach(fo *Follower) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.leaves(fo)
	last := f.followers[len(f.followers)-1]
	f.followers[fo.index] = last
	last.index = fo.index
	f.followers[len(f.followers)-1] = nil
	f.followers = f.followers[:len(f.followers)-1]
	fo.index = -1
}

// close ends every follow, for reason, and the wakers.
func (f *feed) close(reason *wire.Failure) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, fo := range f.followers {
		fo.index = -1
		fo.finish(reason)
		f.leaves(fo)
	}
	f.followers = nil
	for _, w := range f.wakers {
		close(w)
	}
	f.wakers = nil
}

func (f *feed) noteUnsent(fr wire.Frame) {
	name := ""
	if o, ok := fr.(*wire.ObservationFrame); ok {
		name = string(o.Observation.Kind())
	}
	f.rows.Lock()
	f.unsent = append(f.unsent, sentRow{f.total.Load(), fr.FrameType(), name})
	f.rows.Unlock()
}

// sentUpTo records what has crossed to a follower for the first time: the rows of
// a stretch of the log are computed once, whoever sends it first.
func (f *feed) sentUpTo(pos uint64) {
	if pos <= f.mark.Load() {
		return
	}
	f.rows.Lock()
	defer f.rows.Unlock()
	for f.first < len(f.unsent) && f.unsent[f.first].end <= pos {
		f.sent.add(f.unsent[f.first].kind, f.unsent[f.first].name, 1)
		f.first++
	}
	if f.first > len(f.unsent)/2 {
		f.unsent = append([]sentRow(nil), f.unsent[f.first:]...)
		f.first = 0
	}
	if pos > f.mark.Load() {
		f.mark.Store(pos)
	}
}

// entryLog holds every frame on its own, for followers that want partials: a
// newer result of a call takes the place of an older partial one, so that a
// follower that lags gets the newest of each call and no more.
type entryLog struct {
	last     *entry
	partials map[string]*entry
	count    atomic.Uint64
}

type entry struct {
	data atomic.Pointer[[]byte]
	next atomic.Pointer[entry]
}

// entryCost is what an entry weighs against a follower's limit beside the bytes
// that the shared log counts.
const entryCost = 64

func newEntryLog() *entryLog { return &entryLog{last: &entry{}, partials: map[string]*entry{}} }

func (l *entryLog) add(b []byte, call string, partial bool) {
	e := &entry{}
	data := append([]byte(nil), b...)
	e.data.Store(&data)
	if old := l.partials[call]; call != "" && old != nil {
		old.data.Store(nil)
		delete(l.partials, call)
	}
	if partial {
		l.partials[call] = e
	}
	l.count.Add(1)
	l.last.next.Store(e)
	l.last = e
}
