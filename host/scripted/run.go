package scripted

import (
	"slices"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// run plays one prompt's script. Each turn is one assistant message; it ends
// after a tool's result, before a second text, and where a prompt is steered in.
type run struct {
	s      *session
	prompt host.Prompt
	first  bool            // the session's first
	before <-chan struct{} // closed once the run before has nothing more to say
	done   chan struct{}
	stop   chan struct{} // closed by abort
	poke   chan struct{} // a prompt waits in steers

	// Of the session's mutex.
	stopped bool
	over    bool // takes no more prompts in
	steers  []steer

	// Of the run's goroutine.
	turn     int
	turning  bool
	depth    int      // of prompts steered into an open message
	current  string   // the message that text and calls go into, "" when there is none
	texted   bool     // current has its text
	open     []string // in the order of their start
	calls    []*call  // without a complete result
	late     []*call  // those of calls whose result follows the next message's start
	spending wire.Usage
	spent    bool
}

// steer is a prompt that waits to be taken in.
type steer struct {
	messageID string
	script    []step
}

// call is a tool call that has no complete result yet.
type call struct {
	id, name string
	said     string           // its output so far
	result   *wire.ToolResult // what a late one will say
}

// end is why a script goes no further. One that is silent has no RunOver.
type end struct {
	outcome wire.RunOutcome
	failure *wire.Failure
	silent  bool
}

var (
	goneEnd    = &end{silent: true}
	abortedEnd = &end{outcome: wire.RunAborted}
	doneEnd    = &end{outcome: wire.RunCompleted}
)

// step is one directive, parsed. play tells what it does; it comes back with why
// the script ends, nil to go on.
type step interface{ play(r *run) *end }

func newRun(s *session, p host.Prompt, before <-chan struct{}, first bool) *run {
	return &run{
		s: s, prompt: p, first: first, before: before,
		done: make(chan struct{}), stop: make(chan struct{}), poke: make(chan struct{}, 1),
	}
}

// abort is called under the session's mutex.
func (r *run) abort() {
	if !r.stopped {
		r.stopped = true
		close(r.stop)
	}
}

func (r *run) play() {
	defer close(r.done)
	if r.before != nil {
		<-r.before
	}
	r.finish(r.whole())
}

func (r *run) whole() *end {
	script, err := r.s.o.script(r.prompt, r.first && r.s.spec.Resume == "")
	if err != nil {
		return &end{outcome: wire.RunFailed, failure: wire.Errorf(wire.CodePromptRejected, "%s", wire.AsFailure(err).Message)}
	}
	if e := r.perform(script); e != nil {
		return e
	}
	for !r.refuseMore() {
		if e := r.boundary(); e != nil {
			return e
		}
	}
	return doneEnd
}

func (r *run) perform(script []step) *end {
	for _, st := range script {
		if e := r.boundary(); e != nil {
			return e
		}
		if e := st.play(r); e != nil {
			return e
		}
	}
	return nil
}

// boundary lies between two directives: a stop is heeded there, and what was
// steered in plays there, in turns of its own.
func (r *run) boundary() *end {
	if e := r.halted(); e != nil {
		return e
	}
	for r.poked() {
		for st, ok := r.nextSteer(); ok; st, ok = r.nextSteer() {
			if e := r.endTurn("end"); e != nil {
				return e
			}
			if e := r.takeIn(st); e != nil {
				return e
			}
		}
	}
	return nil
}

// steerInto plays what was steered in while a message is open: it stays open
// beside the messages of the steered script.
func (r *run) steerInto() *end {
	for st, ok := r.nextSteer(); ok; st, ok = r.nextSteer() {
		current, texted := r.current, r.texted
		r.current, r.texted = "", false
		r.depth++
		if e := r.takeIn(st); e != nil {
			return e
		}
		if e := r.endMessage("end"); e != nil {
			return e
		}
		r.depth--
		r.current, r.texted = current, texted
	}
	return nil
}

func (r *run) poked() bool {
	select {
	case <-r.poke:
		return true
	default:
		return false
	}
}

func (r *run) takeIn(st steer) *end {
	if !r.s.deliver(&host.Steered{MessageID: st.messageID}) {
		return goneEnd
	}
	return r.perform(st.script)
}

func (r *run) nextSteer() (steer, bool) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if len(r.steers) == 0 {
		return steer{}, false
	}
	st := r.steers[0]
	r.steers = r.steers[1:]
	return st, true
}

// refuseMore closes the run to steering, unless a prompt waits: one is either
// taken in or refused.
func (r *run) refuseMore() bool {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.over = len(r.steers) == 0
	return r.over
}

// finish is the one way a run ends: what is open is closed, then its one RunOver.
func (r *run) finish(e *end) {
	if e.silent {
		return
	}
	reason := map[wire.RunOutcome]string{wire.RunCompleted: "end", wire.RunAborted: "aborted", wire.RunFailed: "error"}[e.outcome]
	why := reason
	if e.failure != nil {
		why = e.failure.Message
	}
	for _, c := range slices.Clone(r.calls) {
		res := c.result
		if res == nil || e.outcome != wire.RunCompleted {
			res = &wire.ToolResult{ToolCallID: c.id, ToolName: c.name, Text: c.said + why, Complete: true, IsError: true}
		}
		r.put(res)
	}
	for _, id := range r.open {
		m := &wire.MessageEnd{MessageID: id, Role: wire.RoleAssistant, StopReason: reason, Usage: r.spend()}
		if e.failure != nil {
			m.Error = e.failure.Message
		}
		r.put(m)
	}
	if r.turning {
		r.put(&wire.TurnEnd{Turn: r.turn})
	}
	if r.turning || r.spent {
		r.spend()
		r.put(r.s.usageTold())
	}
	r.s.mu.Lock()
	r.over = true
	r.s.running = nil
	r.s.mu.Unlock()
	r.s.deliver(&host.RunOver{Run: r.prompt.Run, Outcome: e.outcome, Failure: e.failure})
}

// halted is why the run must go no further, nil when it may.
func (r *run) halted() *end {
	select {
	case <-r.s.dead:
		return goneEnd
	case <-r.stop:
		return abortedEnd
	default:
		return nil
	}
}

// tell tells an observation unless the run was stopped: anything but nil says
// that it was not told.
func (r *run) tell(o wire.Observation) *end {
	if e := r.halted(); e != nil {
		return e
	}
	if !r.put(o) {
		return goneEnd
	}
	return nil
}

// put tells an observation even of a stopped run.
func (r *run) put(o wire.Observation) bool {
	return r.s.deliver(&host.Observed{Origin: wire.OriginRun, Observation: o, Bytes: size(o)})
}

// pause waits for d, or for the stop.
func (r *run) pause(d time.Duration) *end {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-r.stop:
		return abortedEnd
	case <-r.s.dead:
		return goneEnd
	}
}
