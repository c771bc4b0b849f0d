package scripted

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
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
	news    chan struct{} // has room for one
	live    int           // goroutines
}

// await gives the first report, told or to come, that says yes.
func (k *sink) await(t *testing.T, what string, yes func(host.Report) bool) host.Report {
	t.Helper()
	late := time.After(30 * time.Second)
	for {
		for _, r := range k.all() {
			if yes(r) {
				return r
			}
		}
		select {
		case <-k.news:
		case <-late:
			t.Fatalf("no %s among\n%s", what, strings.Join(k.take(), "\n"))
		}
	}
}

func newSink() *sink { return &sink{begun: time.Now(), news: make(chan struct{}, 1)} }

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
	select {
	case k.news <- struct{}{}:
	default:
	}
	return nil
}

func (k *sink) Go(name string, fn func()) {
	k.count(1)
	go func() {
		defer k.count(-1)
		defer func() {
			if v := recover(); v != nil {
				_ = k.Deliver(&host.Crashed{Where: name, Value: v})
			}
		}()
		fn()
	}()
}

func (k *sink) count(n int) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.live += n
	return k.live
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
