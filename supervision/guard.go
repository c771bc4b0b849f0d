package supervision

import (
	"runtime/debug"
	"time"
)

// Guard starts goroutines, so that a panic in one does not end the process. Every
// goroutine, timer and handler of ours goes through it. Out of its reach are the
// runtime's fatal errors: out of memory, concurrent map writes.
type Guard struct{ publish func(Fact) }

// OnPanic is told of a panic: where it happened (the name given to the guard),
// its value and its stack. It runs on the panicking goroutine, and a panic of its
// own is caught and published too.
type OnPanic func(where string, value any, stack []byte)

// maxStack bounds the stack that a fact carries, in bytes.
const maxStack = 8 << 10

// NewGuard publishes each panic as a [*GoroutinePanicked]; publish must not block.
func NewGuard(publish func(Fact)) *Guard { return &Guard{publish: publish} }

// Go runs fn in a goroutine of its own. onPanic may be nil: the fact is published
// either way.
func (g *Guard) Go(name string, onPanic func(where string, value any, stack []byte), fn func()) {
	go func() {
		defer g.catch(name, onPanic)
		fn()
	}()
}

// Call runs fn here, under the guard. It returns normally after a panic.
func (g *Guard) Call(name string, onPanic func(where string, value any, stack []byte), fn func()) {
	defer g.catch(name, onPanic)
	fn()
}

// catch is deferred. It is no closure: the stack of a goroutine that waits for most
// of its life, of which there are two a follower, is counted in its frames.
func (g *Guard) catch(name string, onPanic OnPanic) {
	if v := recover(); v != nil {
		g.caught(name, v, debug.Stack(), onPanic)
	}
}

// AfterFunc runs fn after d, under the guard.
func (g *Guard) AfterFunc(d time.Duration, name string, onPanic OnPanic, fn func()) *time.Timer {
	return time.AfterFunc(d, func() { g.Call(name, onPanic, fn) })
}

func (g *Guard) caught(name string, v any, stack []byte, onPanic OnPanic) {
	g.publish(&GoroutinePanicked{Where: name, Reason: Redact(v), Stack: clip(stack)})
	if onPanic == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			g.publish(&GoroutinePanicked{Where: name + " (its panic handler)", Reason: Redact(v), Stack: clip(debug.Stack())})
		}
	}()
	onPanic(name, v, stack)
}

func clip(stack []byte) []byte { return stack[:min(len(stack), maxStack)] }
