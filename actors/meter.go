package actors

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/troupe-run/troupe/wire"
)

// meter counts what the host does, for whoever scrapes it. A frame costs it one
// addition, in the feed that its thread alone writes, and a follower nothing:
// what is a sum over feeds and followers is added up when somebody looks, and kept
// here when a feed is forgotten.
type meter struct {
	threads, sessions, runs, dialogs, followers atomic.Int64

	prompts, restarts, sessionFailures atomic.Uint64
	encodings, snapshotBytes           atomic.Uint64

	publish prometheus.Histogram

	mu    sync.Mutex
	feeds map[*feed]struct{}
	past  flow // of the feeds that are forgotten
	phase uint64
}

// flow is what went through one feed or several.
type flow struct {
	frames    uint64
	bytes     uint64
	delivered uint64 // bytes that followers have written
	slow      uint64 // followers that were ended because they lagged
}

func (f *flow) add(o flow) {
	f.frames += o.frames
	f.bytes += o.bytes
	f.delivered += o.delivered
	f.slow += o.slow
}

// lag is how far followers are behind, in bytes.
type lag struct{ sum, most uint64 }

// gauges are what one thread counts for. The thread's shell compares them with
// what it counted before, after each step. Four words: a struct that the compiler
// keeps in registers.
type gauges struct{ sessions, runs, dialogs, followers int }

// publishBuckets, in seconds, reach from one frame's encoding to what a thread
// must never take.
var publishBuckets = []float64{
	250e-9, 500e-9, 1e-6, 2.5e-6, 5e-6, 10e-6, 25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3,
}

const (
	publishName = "troupe_publish_seconds"
	publishHelp = "What publishing a frame costs its thread: encoding, appending, waking followers. One frame of 31 is timed."
	// timedEvery is how many frames of a feed one timing stands for: one costs some
	// 130 ns, a tenth of a frame's encoding. Prime, so that a rhythm of the frames is
	// not mistaken for the whole.
	timedEvery = 31
)

func newMeter() *meter {
	return &meter{
		feeds: map[*feed]struct{}{},
		publish: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: publishName, Help: publishHelp, Buckets: publishBuckets,
		}),
	}
}

// gauges is what the thread counts for now.
func (s *state) gauges() gauges {
	g := gauges{dialogs: len(s.dialogs.open), followers: s.followers}
	if s.session.attached {
		g.sessions = 1
	}
	if s.run != nil {
		g.runs = 1
	}
	return g
}

// moved takes in what a thread counts for now, and notes it in was. Most steps move
// nothing.
func (m *meter) moved(was *gauges, now gauges) {
	if *was != now {
		m.shift(was, now)
	}
}

func (m *meter) shift(was *gauges, now gauges) {
	m.sessions.Add(int64(now.sessions - was.sessions))
	m.runs.Add(int64(now.runs - was.runs))
	m.dialogs.Add(int64(now.dialogs - was.dialogs))
	m.followers.Add(int64(now.followers - was.followers))
	*was = now
}

// begun and over frame an incarnation of a thread; over may come twice.
func (m *meter) begun(t *thread) {
	t.resident = true
	m.threads.Add(1)
}

func (m *meter) over(t *thread) {
	m.moved(&t.counted, gauges{})
	if t.resident {
		t.resident = false
		m.threads.Add(-1)
	}
}

// publishing counts a frame of f; the time is zero where it is not timed.
func (m *meter) publishing(f *feed) (began time.Time) {
	if (f.frames.Add(1)+f.phase)%timedEvery == 1 {
		began = time.Now()
	}
	return began
}

func (m *meter) published(began time.Time) {
	if !began.IsZero() {
		m.publish.Observe(time.Since(began).Seconds())
	}
}

// encoded counts a snapshot that was encoded.
func (m *meter) encoded(bytes int) {
	m.encodings.Add(1)
	m.snapshotBytes.Add(uint64(bytes))
}

// made takes a new feed in. Each begins its timings at another frame, or those of
// short feeds would all be of a feed's first, which is the slowest.
func (m *meter) made(f *feed) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.feeds[f] = struct{}{}
	f.phase = m.phase
	m.phase++
}

// forgotten keeps what went through a feed that is closed.
func (m *meter) forgotten(f *feed) {
	whole, _ := f.flow()
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, there := m.feeds[f]; there {
		delete(m.feeds, f)
		m.past.add(whole)
	}
}

// flow is what went through every feed so far. A feed that is forgotten meanwhile
// keeps its last figures, so that nothing is counted twice or lost, and no sum
// ever falls; the lock is held for the list alone.
func (m *meter) flow() (flow, lag) {
	m.mu.Lock()
	sum := m.past
	feeds := make([]*feed, 0, len(m.feeds))
	for f := range m.feeds {
		feeds = append(feeds, f)
	}
	m.mu.Unlock()
	var behind lag
	for _, f := range feeds {
		through, l := f.flow()
		sum.add(through)
		behind.sum += l.sum
		behind.most = max(behind.most, l.most)
	}
	return sum, behind
}

// flow is what went through the feed, and how far its followers are behind.
func (f *feed) flow() (flow, lag) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	sum := f.gone
	sum.frames, sum.bytes = f.frames.Load(), f.total.Load()
	var behind lag
	for _, fo := range f.followers {
		read := fo.read.Load()
		sum.delivered += read - fo.from
		if total := f.total.Load(); total > read { // it may have read what is not in total yet
			behind.sum += total - read
			behind.most = max(behind.most, total-read)
		}
	}
	return sum, behind
}

// leaves keeps what a follower was sent that leaves the feed, under the feed's
// lock. Only its lag ends a follow with limit-reached.
func (f *feed) leaves(fo *Follower) {
	f.gone.delivered += fo.read.Load() - fo.from
	select {
	case <-fo.ended:
		if fo.reason != nil && fo.reason.Code == wire.CodeLimit {
			f.gone.slow++
		}
	default: // it has not ended: nobody may look at its reason yet
	}
}
