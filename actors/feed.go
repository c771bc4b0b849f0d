package actors

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-run/troupe/wire"
)

// feed is a thread's live log. The thread writes it; each follower reads it at
// its own pace through a cursor, without a lock. A frame is encoded once, as the
// SSE event that every follower sends.
//
// Its memory is what the slowest follower has not read, and a follower that lags
// past the limit is ended, so that it costs nobody else anything.
type feed struct {
	meter   *meter
	frames  atomic.Uint64
	bounds  feedBounds
	sent    *sentTail
	opening *opening // where the last joiner began, for the next; nil when it is too old

	last  *chunk // being written
	total atomic.Uint64

	mu        sync.RWMutex // followers: written by the thread, read by wakers
	followers []*Follower
	closed    bool
	wakers    []chan struct{}
	guard     Guard

	full *entryLog // every frame, for followers that want partials; nil without one

	rows   sync.Mutex
	unsent []sentRow // frames from first on no follower has sent yet, oldest first
	first  int
	mark   atomic.Uint64
}

// feedBounds say when a follower is too slow, in bytes of the log.
type feedBounds struct {
	lag   uint64        // one that lags more is ended at once
	stall uint64        // one that lags more and has not read for grace is ended
	grace time.Duration // so a burst has headroom for those who read
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
	// lingerFrom is the followers from which a wake is put off until linger after the
	// one before, so that a fast thread sends several frames in one write.
	lingerFrom = 512
	linger     = 5 * time.Millisecond
)

func newFeed(b feedBounds, sent *sentTail, m *meter, guard Guard) *feed {
	f := &feed{meter: m, bounds: b, sent: sent, guard: guard, last: &chunk{buf: make([]byte, minChunk)}}
	m.add(f)
	return f
}

// publish appends a frame and wakes the followers. A partial tool result goes to
// those who asked for partials only.
func (f *feed) publish(fr wire.Frame) error {
	if f.frames.Add(1)%publishSampled == 0 {
		began := time.Now()
		defer func() { f.meter.publish.Observe(time.Since(began).Seconds()) }()
	}
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
		// In this order: a follower that is quick must not be ahead of what is counted.
		f.total.Add(uint64(len(b)))
		f.noteUnsent(fr)
		f.append(b, n)
	}
	if f.opening != nil && !f.shares(f.opening) {
		f.opening = nil // it would hold the log from there on
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
		now := time.Now()
		for _, fo := range f.followers {
			fo.poke(now)
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

// attach lets fo begin at p, which is the thread as it is now, or with those who
// joined just before. One that is alone, or wants partials, shares nothing.
func (f *feed) attach(fo *Follower, p *pin, alone bool) {
	if fo.partials {
		if f.full == nil {
			f.full = newEntryLog()
		}
		fo.entry = f.full.last
		fo.entries.Store(f.full.count.Load())
	}
	o := f.opening
	if alone || fo.partials || o == nil || !f.shares(o) || !o.join() {
		o = newOpening(p, f)
		if !alone && !fo.partials {
			f.opening = o
		}
	}
	fo.feed = f
	fo.opening.Store(o)
	fo.chunk, fo.off, fo.end = o.chunk, o.off, o.end
	fo.began = fo.end
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
	var last time.Time
	for range grown {
		f.mu.RLock()
		crowd := len(f.followers) >= lingerFrom
		f.mu.RUnlock()
		if crowd {
			time.Sleep(linger - time.Since(last))
		}
		last = time.Now()
		f.mu.RLock()
		for i := share; i < len(f.followers); i += wakerCount {
			f.followers[i].poke(last)
		}
		f.mu.RUnlock()
	}
}

func (f *feed) has(fo *Follower) bool { return fo.feed == f && fo.index >= 0 }

func (f *feed) detach(fo *Follower) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := f.followers[len(f.followers)-1]
	f.followers[fo.index] = last
	last.index = fo.index
	f.followers[len(f.followers)-1] = nil
	f.followers = f.followers[:len(f.followers)-1]
	fo.index = -1
	f.meter.delivered.Add(fo.read.Load() - fo.began)
}

// close ends every follow, for reason, and the wakers.
func (f *feed) close(reason *wire.Failure) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, fo := range f.followers {
		fo.index = -1
		f.meter.delivered.Add(fo.read.Load() - fo.began)
		fo.finish(reason)
	}
	f.followers, f.closed = nil, true
	f.meter.remove(f)
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
