package scripted

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/troupe-run/troupe/host"
)

// sink is a thread that takes in everything and notes it. While gate is set, it
// has no credit: only what costs nothing gets through, until the gate is closed.
type sink struct {
	begun time.Time
	gate  chan struct{}
	gone  chan struct{} // set and closed: the thread is gone

	mu      sync.Mutex
	reports []host.Report
	lines   []string
}

func (k *sink) Deliver(r host.Report) error {
	if k.gate != nil && r.Size() > 0 {
		select {
		case <-k.gate:
		case <-k.gone:
			return errors.New("the thread is gone")
		}
	}
	k.mu.Lock()
	k.reports = append(k.reports, r)
	k.mu.Unlock()
	k.note(show(r))
	return nil
}

func (k *sink) Go(name string, fn func()) {
	go func() {
		defer func() {
			if v := recover(); v != nil {
				_ = k.Deliver(&host.Crashed{Where: name, Value: v})
			}
		}()
		fn()
	}()
}

func (k *sink) note(line string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lines = append(k.lines, fmt.Sprintf("%5d %s", time.Since(k.begun).Milliseconds(), line))
}

func (k *sink) take() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]string(nil), k.lines...)
}

func (k *sink) all() []host.Report {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]host.Report(nil), k.reports...)
}
