package supervision

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/oklog/run"
)

// Step is one part of stopping. Run gets a context that ends at Timeout; a step
// that does not return by then is left behind, and the next one begins.
type Step struct {
	Name    string
	Timeout time.Duration
	Run     func(ctx context.Context) error
}

// Group is the process: what runs in it, and how it stops. It stops when one of
// its parts returns or the first signal comes. Then the steps run, one at a time,
// in the order they were added. A second signal exits at once.
//
// Parts are expected to return because of the steps (closing a listener ends its
// Serve); one that does not is left behind like a step.
type Group struct {
	// Signals starts the stop with its first value. Nil is none.
	Signals <-chan os.Signal
	// Exit ends the process at the second signal, with 128 and its number.
	Exit func(code int)
	// Publish is told the facts. It must not block.
	Publish func(Fact)
	// Guard starts the goroutines.
	Guard *Guard
	// Linger is how long parts may take to return once the steps are done.
	Linger time.Duration

	parts []part
	steps []Step
}

type part struct {
	name string
	run  func() error
}

// OverranError names the steps and parts that were left behind.
type OverranError struct{ Names []string }

// Error lists them.
func (e *OverranError) Error() string { return "did not stop in time: " + strings.Join(e.Names, ", ") }

// PanicError is the end of a part that panicked.
type PanicError struct{ Reason string }

// Error is the redacted reason.
func (e *PanicError) Error() string { return "panicked: " + e.Reason }

// Add adds a part: run serves until a step makes it return.
func (g *Group) Add(name string, run func() error) {
	g.parts = append(g.parts, part{name, run})
}

// Stop adds a step behind those added before.
func (g *Group) Stop(s Step) { g.steps = append(g.steps, s) }

// Run serves until the stop is done. It returns nil after a signal's orderly
// stop, the error of the part that ended first, or an [*OverranError].
func (g *Group) Run() error {
	var (
		rg      run.Group
		overran []string
		begun   = make(chan struct{}) // closed when the stop begins
		left    = make(chan struct{}) // closed when parts are waited for no longer
		started time.Time
	)
	rg.Add(func() error {
		select {
		case s := <-g.Signals:
			return &signalled{s}
		case <-begun:
			return nil
		}
	}, func(cause error) {
		// run.Group interrupts in order, this one first: all of the stop is here,
		// bounded, and the parts that follow have nothing left to interrupt.
		close(begun)
		started = time.Now()
		g.Publish(&Stopping{Cause: causeText(cause)})
		g.watchSecond(left)
		overran = g.stop()
	})
	type ended struct{ i int }
	over := make(chan ended, len(g.parts))
	for i, p := range g.parts {
		result := make(chan error, 1)
		g.Guard.Go(p.name, func(_ string, v any, _ []byte) { result <- &PanicError{Redact(v)} }, func() { result <- p.run() })
		rg.Add(func() error {
			defer func() { over <- ended{i} }()
			select {
			case err := <-result:
				if err != nil {
					return fmt.Errorf("%s: %w", p.name, err)
				}
				return &partEnded{p.name}
			case <-left:
				return nil
			}
		}, func(error) {})
	}
	rg.Add(func() error { <-begun; return nil }, func(error) {
		// The last interrupt: give the parts their linger, then leave them.
		missing := map[int]bool{}
		for i := range g.parts {
			missing[i] = true
		}
		limit := time.NewTimer(g.linger())
		defer limit.Stop()
		for len(missing) > 0 {
			select {
			case e := <-over:
				delete(missing, e.i)
				continue
			case <-limit.C:
			}
			break
		}
		for i, p := range g.parts {
			if missing[i] {
				overran = append(overran, p.name)
				g.Publish(&ProcessStepOverran{Step: p.name, Limit: g.linger()})
			}
		}
		close(left)
	})
	err := rg.Run()
	g.Publish(&Stopped{Took: time.Since(started)})
	switch err.(type) {
	case *signalled, *partEnded:
		err = nil
	}
	if err == nil && len(overran) > 0 {
		return &OverranError{overran}
	}
	return err
}

func (g *Group) linger() time.Duration {
	if g.Linger > 0 {
		return g.Linger
	}
	return time.Second
}

// stop performs the steps and names those left behind.
func (g *Group) stop() (overran []string) {
	for _, s := range g.steps {
		ctx, cancel := context.WithTimeout(context.Background(), s.Timeout)
		result := make(chan error, 1)
		begin := time.Now()
		g.Guard.Go("stop: "+s.Name, func(_ string, v any, _ []byte) { result <- &PanicError{Redact(v)} }, func() { result <- s.Run(ctx) })
		select {
		case err := <-result:
			if err != nil {
				g.Publish(&StopStepFailed{Step: s.Name, Err: err})
			} else {
				g.Publish(&StopStepDone{Step: s.Name, Took: time.Since(begin)})
			}
		case <-ctx.Done():
			overran = append(overran, s.Name)
			g.Publish(&ProcessStepOverran{Step: s.Name, Limit: s.Timeout})
		}
		cancel()
	}
	return overran
}

func (g *Group) watchSecond(left <-chan struct{}) {
	g.Guard.Go("second signal", nil, func() {
		select {
		case s := <-g.Signals:
			code := 128
			if n, ok := s.(syscall.Signal); ok {
				code += int(n)
			}
			g.Exit(code)
		case <-left:
		}
	})
}

type signalled struct{ os.Signal }

func (s *signalled) Error() string { return "signal: " + s.String() }

type partEnded struct{ name string }

func (p *partEnded) Error() string { return p.name + " ended" }

func causeText(err error) string {
	if err == nil {
		return "asked to"
	}
	return err.Error()
}
