package actors

import (
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// intake is a session's way to its thread, and its bound: it holds byte credit,
// and while that is used up Deliver waits, so that the adapter stops reading its
// agent. The thread gives credit back as it takes reports in.
type intake struct {
	session uint64
	inc     uint64
	root    *actor.RootContext
	to      *actor.PID
	guard   Guard

	mu     sync.Mutex
	freed  sync.Cond
	credit int
	closed bool
}

// report is what a session tells, on its way to the thread.
type report struct {
	inc     uint64
	session uint64
	report  host.Report
	from    *intake
}

var errIntakeClosed = &wire.Failure{Code: wire.CodeUnavailable, Message: "the session is closed"}

func newIntake(session, inc uint64, credit int, root *actor.RootContext, to *actor.PID, guard Guard) *intake {
	i := &intake{session: session, inc: inc, credit: credit, root: root, to: to, guard: guard}
	i.freed.L = &i.mu
	return i
}

// Deliver hands a report to the thread. The last one over the credit is let
// through whole, so that a report larger than all of it still passes.
func (i *intake) Deliver(r host.Report) error {
	size := r.Size()
	i.mu.Lock()
	for i.credit <= 0 && size > 0 && !i.closed {
		i.freed.Wait()
	}
	if i.closed {
		i.mu.Unlock()
		return errIntakeClosed
	}
	i.credit -= size
	// Under the lock: after close has returned nothing more is sent.
	i.root.Send(i.to, &report{inc: i.inc, session: i.session, report: r, from: i})
	i.mu.Unlock()
	return nil
}

// Go starts a goroutine of the session's; a panic in it becomes Crashed.
func (i *intake) Go(name string, fn func()) {
	i.guard(name, func(where string, value any, stack []byte) {
		_ = i.Deliver(&host.Crashed{Where: where, Value: value, Stack: stack})
	}, fn)
}

func (i *intake) taken(r host.Report) {
	size := r.Size()
	if size == 0 {
		return
	}
	i.mu.Lock()
	i.credit += size
	if i.credit > 0 {
		i.freed.Broadcast()
	}
	i.mu.Unlock()
}

func (i *intake) close() {
	i.mu.Lock()
	i.closed = true
	i.freed.Broadcast()
	i.mu.Unlock()
}
