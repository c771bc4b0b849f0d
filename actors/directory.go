package actors

import (
	"sync"
	"time"

	"github.com/troupe-run/troupe/wire"
)

// directory holds the summaries of the threads in memory, and tells watchers
// what changed. A watcher that lags gets the newest state of each thread and no
// more: its buffer is bounded by the number of threads that changed.
type directory struct {
	mu        sync.Mutex
	summaries map[string]wire.Summary
	watchers  map[*Watcher]struct{}
	closed    bool
}

func newDirectory() *directory {
	return &directory{summaries: map[string]wire.Summary{}, watchers: map[*Watcher]struct{}{}}
}

func (d *directory) put(s wire.Summary) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.summaries[s.ID] = s
	for w := range d.watchers {
		w.changed(s)
	}
}

func (d *directory) remove(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.summaries, id)
}

func (d *directory) get(id string) (wire.Summary, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, ok := d.summaries[id]
	return s, ok
}

func (d *directory) watch() *Watcher {
	w := &Watcher{dir: d, due: map[string]wire.Summary{}, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		close(w.ended)
		return w
	}
	d.watchers[w] = struct{}{}
	return w
}

// close ends every watch: the host stops.
func (d *directory) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for w := range d.watchers {
		delete(d.watchers, w)
		close(w.ended)
	}
}

// Watcher is a stream of summaries. One goroutine uses it; Close may come from
// another.
type Watcher struct {
	dir   *directory
	due   map[string]wire.Summary
	order []string
	wake  chan struct{}
	ended chan struct{}
}

// changed is called under the directory's lock.
func (w *Watcher) changed(s wire.Summary) {
	if _, twice := w.due[s.ID]; !twice {
		w.order = append(w.order, s.ID)
	}
	w.due[s.ID] = s
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Next waits up to wait for changed summaries, the newest state of each. Nothing
// due is (nil, nil).
func (w *Watcher) Next(wait time.Duration) ([]wire.Summary, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		if out := w.take(); len(out) > 0 {
			return out, nil
		}
		select {
		case <-w.wake:
		case <-w.ended:
			return nil, &wire.Failure{Code: wire.CodeUnavailable, Message: "the stream was closed"}
		case <-timer.C:
			return nil, nil
		}
	}
}

func (w *Watcher) take() []wire.Summary {
	w.dir.mu.Lock()
	defer w.dir.mu.Unlock()
	out := make([]wire.Summary, 0, len(w.order))
	for _, id := range w.order {
		out = append(out, w.due[id])
	}
	clear(w.due)
	w.order = nil
	return out
}

// Close leaves. It is idempotent.
func (w *Watcher) Close() {
	w.dir.mu.Lock()
	defer w.dir.mu.Unlock()
	if _, there := w.dir.watchers[w]; there {
		delete(w.dir.watchers, w)
		close(w.ended)
	}
}
