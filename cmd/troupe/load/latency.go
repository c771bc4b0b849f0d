package load

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The histograms' range, in microseconds, and digits.
const (
	shortest = 1
	longest  = int64(10 * time.Minute / time.Microsecond)
	digits   = 3
)

// Latency is a distribution in milliseconds.
type Latency struct {
	Count int64   `json:"count"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

func latencyOf(h *hdrhistogram.Histogram) Latency {
	ms := func(us int64) float64 { return float64(us) / 1000 }
	return Latency{
		Count: h.TotalCount(), P50: ms(h.ValueAtQuantile(50)), P90: ms(h.ValueAtQuantile(90)),
		P99: ms(h.ValueAtQuantile(99)), Max: ms(h.Max()),
	}
}

// tally is what a share of the followers has seen. A follower locks it once for each
// read, not for each frame.
type tally struct {
	mu         sync.Mutex
	latency    *hdrhistogram.Histogram
	deliveries int64 // observation frames
	bytes      int64
	firstDue   int64 // ns; of the paced deltas
	lastDue    int64
	lastSeen   int64
}

// tallies spread the followers, so that they do not wait for each other. The last is
// for those that are fully checked, which takes its time.
type tallies [9]tally

func (ts *tallies) of(i int, full bool) *tally {
	if full {
		return &ts[len(ts)-1]
	}
	return &ts[i%(len(ts)-1)]
}

func newTallies() *tallies {
	t := &tallies{}
	for i := range t {
		t[i].latency = hdrhistogram.New(shortest, longest, digits)
	}
	return t
}

// delivered counts one paced delta, t being locked.
func (t *tally) delivered(due, seen int64) {
	us := max((seen-due)/int64(time.Microsecond), shortest)
	_ = t.latency.RecordValue(min(us, longest)) // it is within the range
	if t.firstDue == 0 || due < t.firstDue {
		t.firstDue = due
	}
	t.lastDue = max(t.lastDue, due)
	t.lastSeen = max(t.lastSeen, seen)
}

// reset forgets what was counted: a measurement begins.
func (ts *tallies) reset() {
	for i := range ts {
		t := &ts[i]
		t.mu.Lock()
		t.latency.Reset()
		t.deliveries, t.bytes, t.firstDue, t.lastDue, t.lastSeen = 0, 0, 0, 0, 0
		t.mu.Unlock()
	}
}

// seen is the sum of all tallies.
type seen struct {
	latency    *hdrhistogram.Histogram
	deliveries int64
	bytes      int64
	publishing time.Duration // from the first delta's time to the last's
	delivering time.Duration // from the first delta's time to the last receipt
}

func (ts *tallies) sum() seen {
	s := seen{latency: hdrhistogram.New(shortest, longest, digits)}
	var first, lastDue, lastSeen int64
	for i := range ts {
		t := &ts[i]
		t.mu.Lock()
		s.latency.Merge(t.latency)
		s.deliveries += t.deliveries
		s.bytes += t.bytes
		if t.firstDue > 0 && (first == 0 || t.firstDue < first) {
			first = t.firstDue
		}
		lastDue, lastSeen = max(lastDue, t.lastDue), max(lastSeen, t.lastSeen)
		t.mu.Unlock()
	}
	s.publishing, s.delivering = time.Duration(lastDue-first), time.Duration(lastSeen-first)
	return s
}

// deliveriesNow is the number alone, for the progress bar.
func (ts *tallies) deliveriesNow() (n int64) {
	for i := range ts {
		ts[i].mu.Lock()
		n += ts[i].deliveries
		ts[i].mu.Unlock()
	}
	return n
}

// stopwatch is a distribution that any goroutine may add to.
type stopwatch struct {
	mu sync.Mutex
	h  *hdrhistogram.Histogram
}

func newStopwatch() *stopwatch { return &stopwatch{h: hdrhistogram.New(shortest, longest, digits)} }

func (s *stopwatch) record(ns int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.h.RecordValue(min(max(ns/int64(time.Microsecond), shortest), longest)) // it is within the range
}

func (s *stopwatch) latency() Latency {
	s.mu.Lock()
	defer s.mu.Unlock()
	return latencyOf(s.h)
}

func (s *stopwatch) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.h.Reset()
}
