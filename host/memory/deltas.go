package memory

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// deltas are kept at once: there is no buffer here, and nothing to wait for.
type deltas struct {
	mu      sync.Mutex
	threads map[wire.ThreadID]*streamed
	dropped atomic.Uint64
}

// streamed is what one thread streamed, oldest first.
type streamed struct {
	kept   []kept
	bytes  int
	newest int64 // position, of those that aged out too
}

type kept struct {
	host.Delta
	at time.Time
}

// deltaOverhead is what a delta is counted beside its payload, in bytes.
const deltaOverhead = 64

func deltaSize(d host.Delta) int { return deltaOverhead + len(d.Payload) }

// AppendDeltas keeps the newest MaxDeltas bytes of a thread.
func (j *Journal) AppendDeltas(id wire.ThreadID, ds []host.Delta) {
	now := j.opts.Now()
	j.deltas.mu.Lock()
	defer j.deltas.mu.Unlock()
	s := j.deltas.threads[id]
	if s == nil {
		s = &streamed{newest: -1 << 63}
		j.deltas.threads[id] = s
	}
	for _, d := range ds {
		if d.Pos <= s.newest || deltaSize(d) > j.opts.MaxDeltas {
			j.deltas.dropped.Add(1)
			continue
		}
		s.kept, s.bytes, s.newest = append(s.kept, kept{d, now}), s.bytes+deltaSize(d), d.Pos
	}
	old := 0
	for over := s.bytes; over > j.opts.MaxDeltas; old++ {
		over -= deltaSize(s.kept[old].Delta)
	}
	s.cut(old)
}

// cut forgets the oldest n.
func (s *streamed) cut(n int) {
	for _, k := range s.kept[:n] {
		s.bytes -= deltaSize(k.Delta)
	}
	s.kept = slices.Delete(s.kept, 0, n)
}

// ReadDeltas reads what is kept at its call.
func (j *Journal) ReadDeltas(ctx context.Context, id wire.ThreadID, after int64, yield func(host.Delta) bool) error {
	oldest := j.opts.Now().Add(-host.DeltaRetention)
	var out []host.Delta
	j.deltas.mu.Lock()
	if s := j.deltas.threads[id]; s != nil {
		for _, k := range s.kept {
			if k.Pos > after && k.at.After(oldest) {
				out = append(out, k.Delta)
			}
		}
	}
	j.deltas.mu.Unlock()
	for _, d := range out {
		if err := ctx.Err(); err != nil {
			return wire.Errorf(wire.CodeTimeout, "the deltas of %s were not read to their end: %v", id, err)
		}
		if !yield(d) {
			return nil
		}
	}
	return nil
}

// DroppedDeltas counts since New.
func (j *Journal) DroppedDeltas() uint64 { return j.deltas.dropped.Load() }

func (d *deltas) forget(id wire.ThreadID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.threads, id)
}

// sweep forgets what is past its retention.
func (d *deltas) sweep(now time.Time) {
	oldest := now.Add(-host.DeltaRetention)
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, s := range d.threads {
		n := 0
		for n < len(s.kept) && !s.kept[n].at.After(oldest) {
			n++
		}
		if s.cut(n); len(s.kept) == 0 {
			delete(d.threads, id)
		}
	}
}
