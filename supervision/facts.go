package supervision

import (
	"context"
	"sync"
	"sync/atomic"
)

// Facts is the queue between what publishes facts and the one subscriber that
// logs them. Publishing never blocks, so that a log nobody reads holds up no
// supervisor: past the capacity facts are counted and dropped, oldest kept.
type Facts struct {
	queue   chan Fact
	done    chan struct{}
	dropped atomic.Int64

	mu     sync.RWMutex
	closed bool
}

// NewFacts starts the subscriber's goroutine; subscriber gets one fact at a time,
// in the order of publishing. Close ends it.
func NewFacts(capacity int, subscriber func(Fact)) *Facts {
	f := &Facts{queue: make(chan Fact, max(1, capacity)), done: make(chan struct{})}
	// A subscriber that panics must not publish to itself for ever.
	g := NewGuard(func(Fact) {})
	g.Go("facts", nil, func() {
		defer close(f.done)
		for fact := range f.queue {
			if n := f.dropped.Swap(0); n > 0 {
				g.Call("facts", nil, func() { subscriber(&FactsDropped{Count: n}) })
			}
			g.Call("facts", nil, func() { subscriber(fact) })
		}
	})
	return f
}

// Publish hands a fact over. After Close it does nothing.
func (f *Facts) Publish(fact Fact) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.closed {
		return
	}
	select {
	case f.queue <- fact:
	default:
		f.dropped.Add(1)
	}
}

// Close delivers what is queued and ends the goroutine, or gives up with ctx.
func (f *Facts) Close(ctx context.Context) error {
	f.mu.Lock()
	if !f.closed {
		f.closed = true
		close(f.queue)
	}
	f.mu.Unlock()
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
