package hosttest

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// Patience is how long the waiting helpers wait before they fail the test.
const Patience = 30 * time.Second

// ErrClosed is what Deliver answers once the sink is closed.
var ErrClosed = errors.New("hosttest: the sink is closed")

// Sink is a host.Sink that records. It is safe for concurrent use.
type Sink struct {
	mu      sync.Mutex
	reports []host.Report
	changed chan struct{} // closed and replaced at every change
	open    chan struct{} // closed while there is credit
	gone    chan struct{} // closed by Close
	sealed  bool
	late    []host.Report
	blocked int
	running map[string]int
	total   int
}

var _ host.Sink = (*Sink)(nil)

// NewSink is an open sink.
func NewSink() *Sink {
	s := &Sink{changed: make(chan struct{}), open: make(chan struct{}), gone: make(chan struct{}), running: map[string]int{}}
	close(s.open)
	return s
}

// Deliver records r. Between Block and Unblock it blocks, for a report that costs
// credit. Once the sink is closed it records nothing and answers ErrClosed.
func (s *Sink) Deliver(r host.Report) error {
	s.mu.Lock()
	for r.Size() > 0 && !s.isGone() {
		open := s.open
		select {
		case <-open:
		default:
			s.blocked++
			s.change()
			s.mu.Unlock()
			select {
			case <-open:
			case <-s.gone:
			}
			s.mu.Lock()
			s.blocked--
			continue
		}
		break
	}
	defer s.mu.Unlock()
	defer s.change()
	switch {
	case s.sealed:
		s.late = append(s.late, r)
		return ErrClosed
	case s.isGone():
		return ErrClosed
	}
	s.reports = append(s.reports, r)
	return nil
}

// Go runs fn in a goroutine and records its panic as *host.Crashed.
func (s *Sink) Go(name string, fn func()) {
	s.mu.Lock()
	s.running[name]++
	s.total++
	s.mu.Unlock()
	go func() {
		defer func() {
			if v := recover(); v != nil {
				_ = s.Deliver(&host.Crashed{Where: name, Value: v, Stack: debug.Stack()})
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.running[name]--; s.running[name] == 0 {
				delete(s.running, name)
			}
			s.total--
			s.change()
		}()
		fn()
	}()
}

// Block takes the credit away; Unblock gives it back.
func (s *Sink) Block() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = make(chan struct{})
}

// Unblock gives the credit back, and lets every blocked Deliver go on.
func (s *Sink) Unblock() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.open:
	default:
		close(s.open)
	}
}

// Close makes the sink one whose thread is gone.
func (s *Sink) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isGone() {
		close(s.gone)
	}
	s.change()
}

// Seal is for the moment when the session's Close has returned: what is delivered
// from then on is late.
func (s *Sink) Seal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = true
}

// Late is what was delivered after Seal.
func (s *Sink) Late() []host.Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.late
}

func (s *Sink) isGone() bool {
	select {
	case <-s.gone:
		return true
	default:
		return false
	}
}

func (s *Sink) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Len is how many reports there are.
func (s *Sink) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.reports)
}

// Reports is everything that was delivered, in order.
func (s *Sink) Reports() []host.Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reports[:len(s.reports):len(s.reports)]
}

// Observations is every observation that was delivered, in order.
func (s *Sink) Observations() []wire.Observation {
	var out []wire.Observation
	for _, r := range s.Reports() {
		if o, ok := r.(*host.Observed); ok {
			out = append(out, o.Observation)
		}
	}
	return out
}

// Until waits until ready, which sees the sink's reports, says true. It fails the
// test, naming what and listing what came, when that takes longer than Patience.
func (s *Sink) Until(t testing.TB, what string, ready func([]host.Report) bool) {
	t.Helper()
	s.until(t, what, func() bool { return ready(s.reports) })
}

func (s *Sink) until(t testing.TB, what string, ready func() bool) {
	t.Helper()
	if !s.within(Patience, ready) {
		t.Fatalf("waited in vain for %s; there came:\n%s", what, s.Story())
	}
}

func (s *Sink) within(bound time.Duration, ready func() bool) bool {
	over := time.NewTimer(bound)
	defer over.Stop()
	for {
		s.mu.Lock()
		ok, changed := ready(), s.changed
		s.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-changed:
		case <-over.C:
			return false
		}
	}
}

// Await waits for the first report at or after index from that match accepts, and
// returns it with the index that follows it.
func (s *Sink) Await(t testing.TB, what string, from int, match func(host.Report) bool) (host.Report, int) {
	t.Helper()
	var found host.Report
	at := from
	s.Until(t, what, func(all []host.Report) bool {
		for ; at < len(all); at++ {
			if match(all[at]) {
				found = all[at]
				at++
				return true
			}
		}
		return false
	})
	return found, at
}

// AwaitObservation waits for the first observation of this type at or after index
// from, and returns it with the index that follows it.
func AwaitObservation[O wire.Observation](t testing.TB, s *Sink, from int) (O, int) {
	t.Helper()
	var found O
	_, at := s.Await(t, string(found.Kind()), from, func(r host.Report) bool {
		o, ok := r.(*host.Observed)
		if ok {
			found, ok = o.Observation.(O)
		}
		return ok
	})
	return found, at
}

// AwaitRunOver waits for the end of run.
func (s *Sink) AwaitRunOver(t testing.TB, run uint64) *host.RunOver {
	t.Helper()
	r, _ := s.Await(t, fmt.Sprintf("the end of run %d", run), 0, isRunOver(run))
	return r.(*host.RunOver)
}

func isRunOver(run uint64) func(host.Report) bool {
	return func(r host.Report) bool {
		o, ok := r.(*host.RunOver)
		return ok && o.Run == run
	}
}

// AwaitExited waits for the end of the agent.
func (s *Sink) AwaitExited(t testing.TB) *host.Exited {
	t.Helper()
	r, _ := s.Await(t, "the agent's exit", 0, isExited)
	return r.(*host.Exited)
}

func isExited(r host.Report) bool { _, ok := r.(*host.Exited); return ok }

// AwaitBlocked waits until a Deliver is blocked.
func (s *Sink) AwaitBlocked(t testing.TB) {
	t.Helper()
	s.until(t, "a delivery that blocks", func() bool { return s.blocked > 0 })
}

// AwaitQuiet waits until every goroutine that Go started has ended.
func (s *Sink) AwaitQuiet(t testing.TB) {
	t.Helper()
	if !s.within(Patience, func() bool { return s.total == 0 }) {
		s.mu.Lock()
		defer s.mu.Unlock()
		t.Fatalf("goroutines that do not end: %v", s.running)
	}
}

// Story is the reports, one a line.
func (s *Sink) Story() string {
	var b strings.Builder
	for i, r := range s.Reports() {
		fmt.Fprintf(&b, "%4d  %s\n", i, tell(r))
	}
	return b.String()
}

func tell(r host.Report) string {
	const most = 300
	var text string
	switch r := r.(type) {
	case *host.Observed:
		js, err := wire.EncodeObservation(r.Observation)
		text = fmt.Sprintf("observed (%s) %s", r.Origin, js)
		if err != nil {
			text = fmt.Sprintf("observed (%s) %#v: %v", r.Origin, r.Observation, err)
		}
	case *host.RunOver:
		text = fmt.Sprintf("run %d over: %s %v", r.Run, r.Outcome, r.Failure)
	case *host.Crashed:
		text = fmt.Sprintf("crashed in %s: %v\n%s", r.Where, r.Value, r.Stack)
		return text
	default:
		text = fmt.Sprintf("%T %+v", r, r)
	}
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
