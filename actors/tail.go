package actors

import (
	"slices"
	"sync"

	"github.com/troupe-run/troupe/wire"
)

// provenance is how an emitted event was delivered.
type provenance string

const (
	provHeld     provenance = "held"
	provReplayed provenance = "replayed"
	provLive     provenance = "live"
	provDropped  provenance = "dropped"
	provSent     provenance = "sent"
)

// tail is a ring of rows: consecutive events of one type, name and provenance
// fold into one row with an exact count; the oldest rows fall off.
type tail struct {
	rows []wire.TailRow
	max  int
}

func (t *tail) add(kind, name string, p provenance, n int64) {
	if k := len(t.rows); k > 0 {
		if r := &t.rows[k-1]; r.Type == kind && r.Name == name && r.Provenance == string(p) {
			r.Count += n
			return
		}
	}
	if len(t.rows) >= t.max {
		t.rows = slices.Delete(t.rows, 0, len(t.rows)-t.max+1)
	}
	t.rows = append(t.rows, wire.TailRow{Type: kind, Name: name, Provenance: string(p), Count: n})
}

func (t *tail) list() []wire.TailRow { return append([]wire.TailRow{}, t.rows...) }

// sentTail is the tail of what crossed to followers; they write it, the thread
// reads and resets it.
type sentTail struct {
	mu sync.Mutex
	t  tail
}

func (s *sentTail) add(kind, name string, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.t.add(kind, name, provSent, n)
}

func (s *sentTail) list() []wire.TailRow {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.t.list()
}

func (s *sentTail) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.t.rows = nil
}
