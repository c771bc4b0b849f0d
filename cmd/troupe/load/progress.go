package load

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// progress is a bar on a terminal. A nil one shows nothing.
type progress struct {
	out   io.Writer
	group errgroup.Group
	done  chan struct{}

	mu    sync.Mutex
	name  string
	total int64
	now   func() int64
}

// showEvery is the time between two pictures of the bar.
const showEvery = 200 * time.Millisecond

func newProgress(out io.Writer) *progress {
	if out == nil {
		return nil
	}
	p := &progress{out: out, done: make(chan struct{})}
	p.group.Go(func() error {
		tick := time.NewTicker(showEvery)
		defer tick.Stop()
		for {
			select {
			case <-p.done:
				return nil
			case <-tick.C:
				p.show()
			}
		}
	})
	return p
}

// stage says what is under way; now counts up to total.
func (p *progress) stage(name string, total int64, now func() int64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.name, p.total, p.now = name, max(total, 1), now
}

const barWidth = 24

func (p *progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now == nil {
		return
	}
	n := min(p.now(), p.total)
	filled := int(barWidth * n / p.total)
	fmt.Fprintf(p.out, "\r\x1b[K%-28.28s [%s%s] %3d%% of %d", p.name, strings.Repeat("=", filled), strings.Repeat(" ", barWidth-filled), 100*n/p.total, p.total)
}

// stop takes the bar away.
func (p *progress) stop() {
	if p == nil {
		return
	}
	close(p.done)
	_ = p.group.Wait() // it has no error
	fmt.Fprint(p.out, "\r\x1b[K")
}
