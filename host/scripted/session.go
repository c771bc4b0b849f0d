package scripted

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// session is one conversation. While it is idle it is this struct and nothing
// else. Its goroutines are the open run's and those of settings verbs; each is
// counted, so that Close can wait for them and nothing is delivered after it.
type session struct {
	o    Options
	spec host.StartSpec
	sink host.Sink
	dead chan struct{} // closed once nothing more may be delivered, but Exited

	mu         sync.Mutex
	ended      bool          // dead is closed
	closing    chan struct{} // made by the first Close, closed when it comes back
	exiting    chan struct{} // closed once Exited is told; nil until there is one
	goroutines int
	quiet      chan struct{} // closed when goroutines falls to 0; nil unless awaited
	prompted   bool
	running    *run
	newest     uint64        // the newest run handed over
	stopEarly  uint64        // a run that was stopped before it was handed over
	lastRun    chan struct{} // closed once the newest run's goroutine has ended
	lastVerb   chan struct{} // the same of the newest verb's
	asked      map[string]chan host.Reply
	killed     bool
	shell      *heldShell // the one that runs or starts, nil when there is none
	model      wire.ModelState
	mode       string
	usage      wire.SessionUsage
	context    int64 // tokens

	counts [numCounters]int // of the run's goroutine, one at a time
}

// How long Close and Exited wait for goroutines that are still in Deliver, and
// how much longer where a shell has to be ended, beside its grace.
const (
	closeMargin = time.Second
	shellMargin = shellStarts + 5*time.Second
)

var errGone = &wire.Failure{Code: wire.CodeUnavailable, Message: "the session is gone"}

func newSession(o Options, spec host.StartSpec, sink host.Sink) *session {
	return &session{
		o: o, spec: spec, sink: sink, dead: make(chan struct{}),
		model: models[0], mode: modes[0],
	}
}

// counter numbers one family of ids.
type counter int

const (
	messages counter = iota
	tools
	dialogs
	notices
	numCounters
)

// newID is unique across the thread's sessions: "s3-m1".
func (s *session) newID(c counter) string {
	s.counts[c]++
	return "s" + strconv.FormatUint(s.spec.Session, 10) + "-" + string("mtdn"[c]) + strconv.Itoa(s.counts[c])
}

// Info names the session by its number, or by the one it resumes.
func (s *session) Info() host.SessionInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	model := s.model
	resume := s.spec.Resume
	if resume == "" {
		resume = "scripted-" + strconv.FormatUint(s.spec.Session, 10)
	}
	return host.SessionInfo{Resume: resume, Model: &model, Mode: &wire.PermissionModeState{Mode: s.mode, Available: modes}}
}

// Prompt starts the script of p as a run. A directive that is malformed ends that
// run as prompt-rejected.
func (s *session) Prompt(ctx context.Context, p host.Prompt) error {
	if err := wait(ctx, s.o.PromptDelay); err != nil {
		return wire.Errorf(wire.CodeTimeout, "the prompt was not handed over: %v", err)
	}
	if s.o.PromptFailure != nil {
		return s.o.PromptFailure
	}
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return errGone
	}
	if s.running != nil {
		s.mu.Unlock()
		return wire.Errorf(wire.CodeConflict, "run %d is not over", s.running.prompt.Run)
	}
	r := newRun(s, p, s.lastRun, !s.prompted)
	s.running, s.lastRun, s.newest, s.prompted = r, r.done, p.Run, true
	if s.stopEarly == p.Run {
		r.abort()
	}
	s.mu.Unlock()
	if !s.spawn("scripted run", r.play) {
		return errGone
	}
	return nil
}

// Steer adds p's script to the busy run, which takes it in at the next step. It
// is refused where there is no such run, and where a directive is malformed.
func (s *session) Steer(_ context.Context, p host.Prompt) error {
	if s.o.NoSteering {
		return wire.Errorf(wire.CodeUnsupported, "this agent takes no prompt into a busy run")
	}
	script, err := s.o.script(p, false)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r := s.running; {
	case s.ended:
		return errGone
	case r == nil || r.over || r.stopped:
		return wire.Errorf(wire.CodeConflict, "no run takes a prompt in")
	default:
		r.steers = append(r.steers, steer{p.MessageID, script})
		select {
		case r.poke <- struct{}{}:
		default:
		}
	}
	return nil
}

// Abort stops run, or remembers to where it has not been handed over yet.
func (s *session) Abort(_ context.Context, run uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.running != nil && s.running.prompt.Run == run:
		s.running.abort()
	case run > s.newest:
		s.stopEarly = run
	}
	return nil
}

// Answer gives the script that waits its reply.
func (s *session) Answer(_ context.Context, r host.Reply) error {
	if s.o.OnAnswer != nil {
		s.o.OnAnswer(r)
	}
	s.mu.Lock()
	ch := s.asked[r.ID]
	delete(s.asked, r.ID)
	s.mu.Unlock()
	if ch != nil {
		ch <- r // its only reply, and there is room for one
	}
	return nil
}

// Kill ends the session as a signal would. It names the processes of a shell.
func (s *session) Kill() []wire.Process {
	if s.o.IgnoreKill {
		return nil
	}
	s.mu.Lock()
	s.killed = true
	sh := s.shell
	s.mu.Unlock()
	s.exit(&host.Exited{Code: -1, Signal: "KILL"})
	if sh == nil {
		return nil
	}
	return sh.kill()
}

// Close ends the session: its run is given up without a word, its shell stopped.
func (s *session) Close() error {
	s.mu.Lock()
	if c := s.closing; c != nil {
		s.mu.Unlock()
		<-c
		return nil
	}
	s.closing = make(chan struct{})
	defer close(s.closing)
	s.endLocked()
	exiting, bound := s.exiting, s.boundLocked()
	s.mu.Unlock()
	if s.o.CloseDelay > 0 {
		time.Sleep(s.o.CloseDelay)
	}
	s.awaitQuiet(bound)
	if exiting != nil {
		within(exiting, closeMargin)
	}
	return nil
}

// deliver tells the thread; false says that the session is over, and its
// goroutines should wind down.
func (s *session) deliver(r host.Report) bool {
	select {
	case <-s.dead:
		return false
	default:
	}
	if s.sink.Deliver(r) == nil {
		return true
	}
	s.mu.Lock()
	s.endLocked()
	s.mu.Unlock()
	return false
}

func (s *session) endLocked() {
	if !s.ended {
		s.ended = true
		close(s.dead)
	}
}

func (s *session) boundLocked() time.Duration {
	if s.shell == nil {
		return closeMargin
	}
	return closeMargin + s.o.StopGrace + shellMargin
}

// exit ends the session and tells e, once its goroutines have nothing more to
// say. One that has ended already tells nothing.
func (s *session) exit(e *host.Exited) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.endLocked()
	told := make(chan struct{})
	s.exiting = told
	bound := s.boundLocked()
	s.sink.Go("scripted exit", func() {
		defer close(told)
		s.awaitQuiet(bound)
		s.mu.Lock()
		closing := s.closing != nil
		s.mu.Unlock()
		if !closing {
			_ = s.sink.Deliver(e) // the last report: nobody is left to wind down
		}
	})
}

// spawn starts a counted goroutine; false says that the session is over.
func (s *session) spawn(name string, fn func()) bool {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return false
	}
	s.goroutines++
	s.mu.Unlock()
	s.sink.Go(name, func() {
		defer s.left()
		fn()
	})
	return true
}

func (s *session) left() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.goroutines--
	if s.goroutines == 0 && s.quiet != nil {
		close(s.quiet)
		s.quiet = nil
	}
}

// awaitQuiet waits until the counted goroutines have ended, at most bound: one of
// them may be in a Deliver that does not come back.
func (s *session) awaitQuiet(bound time.Duration) {
	s.mu.Lock()
	if s.goroutines == 0 {
		s.mu.Unlock()
		return
	}
	if s.quiet == nil {
		s.quiet = make(chan struct{})
	}
	quiet := s.quiet
	s.mu.Unlock()
	within(quiet, bound)
}

func within(c <-chan struct{}, bound time.Duration) {
	t := time.NewTimer(bound)
	defer t.Stop()
	select {
	case <-c:
	case <-t.C:
	}
}

// announce tells observations from outside a run, in the order of the calls, and
// comes back once they are told or ctx has ended.
func (s *session) announce(ctx context.Context, said ...wire.Observation) error {
	s.mu.Lock()
	origin := wire.OriginSessionStart
	if s.prompted {
		origin = wire.OriginRun
	}
	before, done := s.lastVerb, make(chan struct{})
	s.lastVerb = done
	s.mu.Unlock()
	told := false
	ok := s.spawn("scripted telling", func() {
		defer close(done)
		if before != nil {
			<-before
		}
		for _, o := range said {
			if !s.deliver(&host.Observed{Origin: origin, Observation: o, Bytes: size(o)}) {
				return
			}
		}
		told = true
	})
	if !ok {
		return errGone
	}
	select {
	case <-done:
		if !told {
			return errGone
		}
		return nil
	case <-ctx.Done():
		return wire.Errorf(wire.CodeTimeout, "the thread did not take it in: %v", ctx.Err())
	}
}
