package actors

import (
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// meter counts what the threads of a host do. Counting costs the hot path an addition
// to a number that nobody else writes: what can be read off the feeds is read when
// somebody asks. It is a prometheus.Collector.
type meter struct {
	threads, sessions, runs, dialogs                                  atomic.Int64 // there are now
	snapshotBytes                                                     atomic.Int64
	frames, frameBytes, delivered                                     atomic.Uint64 // of feeds that are gone
	closedSlow, encodings, prompts, rebuilt, failedSessions, refusals atomic.Uint64

	publish prometheus.Histogram

	mu    sync.Mutex
	feeds map[*feed]struct{}
}

// publishSampled is how many frames are published for each one that is timed.
const publishSampled = 32

func newMeter() *meter {
	return &meter{
		feeds: map[*feed]struct{}{},
		publish: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "troupe_publish_seconds", Help: "What a frame costs its thread: encoded, appended, followers woken. One in 32 is timed.",
			Buckets: prometheus.ExponentialBuckets(250e-9, 2, 16),
		}),
	}
}

// metrics are all of them but the histogram, with what each reads.
var metrics = []struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*meter, *feedSums) float64
}{
	nowOf("threads", "Threads in memory.", func(m *meter, _ *feedSums) float64 { return float64(m.threads.Load()) }),
	nowOf("sessions", "Sessions of agents: starting and live.", func(m *meter, _ *feedSums) float64 { return float64(m.sessions.Load()) }),
	nowOf("runs", "Runs under way.", func(m *meter, _ *feedSums) float64 { return float64(m.runs.Load()) }),
	nowOf("dialogs_open", "Questions that wait for an answer.", func(m *meter, _ *feedSums) float64 { return float64(m.dialogs.Load()) }),
	nowOf("followers", "Followers of threads.", func(_ *meter, f *feedSums) float64 { return float64(f.followers) }),
	nowOf("follower_lag_bytes", "What followers have not read yet, all of them together.", func(_ *meter, f *feedSums) float64 { return float64(f.lag) }),
	nowOf("follower_lag_max_bytes", "What the slowest follower has not read yet.", func(_ *meter, f *feedSums) float64 { return float64(f.maxLag) }),
	nowOf("snapshot_bytes", "Encoded snapshots and histories that are being sent.", func(m *meter, _ *feedSums) float64 { return float64(m.snapshotBytes.Load()) }),
	sumOf("followers_closed_slow_total", "Followers that were closed because they lagged.", func(m *meter, _ *feedSums) float64 { return float64(m.closedSlow.Load()) }),
	sumOf("frames_total", "Frames told to followers, each once however many there are.", func(m *meter, f *feedSums) float64 { return float64(m.frames.Load() + f.frames) }),
	sumOf("frame_bytes_total", "Bytes of those frames.", func(m *meter, f *feedSums) float64 { return float64(m.frameBytes.Load() + f.bytes) }),
	sumOf("delivered_bytes_total", "Bytes of frames that followers have taken.", func(m *meter, f *feedSums) float64 { return float64(m.delivered.Load() + f.delivered) }),
	sumOf("snapshot_encodings_total", "Snapshots and histories encoded.", func(m *meter, _ *feedSums) float64 { return float64(m.encodings.Load()) }),
	sumOf("prompts_total", "Prompts that were acknowledged.", func(m *meter, _ *feedSums) float64 { return float64(m.prompts.Load()) }),
	sumOf("restarts_total", "Threads that were rebuilt after a panic.", func(m *meter, _ *feedSums) float64 { return float64(m.rebuilt.Load()) }),
	sumOf("session_failures_total", "Sessions that did not start, or ended in a run.", func(m *meter, _ *feedSums) float64 { return float64(m.failedSessions.Load()) }),
	sumOf("commit_failures_total", "Commits that the journal refused.", func(m *meter, _ *feedSums) float64 { return float64(m.refusals.Load()) }),
}

type metric = struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*meter, *feedSums) float64
}

func nowOf(name, help string, value func(*meter, *feedSums) float64) metric {
	return metric{prometheus.NewDesc("troupe_"+name, help, nil, nil), prometheus.GaugeValue, value}
}

func sumOf(name, help string, value func(*meter, *feedSums) float64) metric {
	return metric{prometheus.NewDesc("troupe_"+name, help, nil, nil), prometheus.CounterValue, value}
}

// Describe names every metric.
func (m *meter) Describe(out chan<- *prometheus.Desc) {
	for _, x := range metrics {
		out <- x.desc
	}
	m.publish.Describe(out)
}

// Collect reads every metric.
func (m *meter) Collect(out chan<- prometheus.Metric) {
	sums := m.sum()
	for _, x := range metrics {
		out <- prometheus.MustNewConstMetric(x.desc, x.kind, x.value(m, &sums))
	}
	m.publish.Collect(out)
}

// Metrics is what the host's threads do, for a Prometheus registry.
func (h *Host) Metrics() prometheus.Collector { return h.meter }

// feedSums is what the live feeds hold between them.
type feedSums struct {
	followers                int
	lag, maxLag              uint64
	frames, bytes, delivered uint64
}

func (m *meter) sum() feedSums {
	m.mu.Lock()
	feeds := make([]*feed, 0, len(m.feeds))
	for f := range m.feeds {
		feeds = append(feeds, f)
	}
	m.mu.Unlock()
	var s feedSums
	for _, f := range feeds {
		f.mu.RLock()
		if f.closed {
			f.mu.RUnlock()
			continue // it was folded in meanwhile
		}
		s.frames += f.frames.Load()
		s.bytes += f.total.Load()
		for _, fo := range f.followers {
			read := fo.read.Load()
			lag := max(f.total.Load(), read) - read
			s.followers++
			s.lag += lag
			s.maxLag = max(s.maxLag, lag)
			s.delivered += read - fo.began
		}
		f.mu.RUnlock()
	}
	return s
}

func (m *meter) add(f *feed) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.feeds[f] = struct{}{}
}

// remove folds in what the feed counted. The feed is locked.
func (m *meter) remove(f *feed) {
	m.frames.Add(f.frames.Load())
	m.frameBytes.Add(f.total.Load())
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.feeds, f)
}

// fact counts what supervision is told.
func (m *meter) fact(f Fact) {
	switch f.(type) {
	case *ThreadPanicked:
		m.rebuilt.Add(1)
	case *CommitFailed:
		m.refusals.Add(1)
	}
}

// tally is what one incarnation of a thread has put into the gauges, so that it can
// take it out again however it ends.
type tally struct{ sessions, runs, dialogs int64 }

func (t *tally) become(m *meter, now tally) {
	if now == *t {
		return
	}
	m.sessions.Add(now.sessions - t.sessions)
	m.runs.Add(now.runs - t.runs)
	m.dialogs.Add(now.dialogs - t.dialogs)
	*t = now
}

func (s *state) tally() tally {
	out := tally{dialogs: int64(len(s.dialogs.open))}
	if s.session.attached {
		out.sessions = 1
	}
	if s.run != nil {
		out.runs = 1
	}
	return out
}
