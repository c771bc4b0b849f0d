package hosttest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// Factory makes what one test of the suite runs on: a runtime that shares nothing
// with another test's. What it starts itself it ends by t.Cleanup.
type Factory func(t *testing.T) Subject

// Subject is an adapter under test.
type Subject struct {
	Runtime host.Runtime
	Cwd     string // an existing folder; empty is a folder of the test's own
	Prompts Prompts
	// AbortGrace is how long a polite stop may take when the agent's shell traps
	// TERM, before the suite kills the session as a thread would; 0 is 5 s.
	AbortGrace time.Duration
	// Mode and Model are settings this agent takes; the zero values skip them.
	Mode  string
	Model wire.ModelRequest
}

// Prompts say how this agent is told to do what the suite wants to see. A nil
// function, or one that returns "", says that it cannot: the test is skipped.
type Prompts struct {
	// Say has the agent answer with text, and end.
	Say func(text string) string
	// Slow has it answer with n pieces of text, tens of milliseconds apart.
	Slow func(n int) string
	// Shell has it run command, free of quotes, in a shell of its own, as a tool.
	Shell func(command string) string
	// Ask has it ask one question that blocks, and end once it was answered.
	Ask func(title string) string
	// Fail has its provider refuse for good: the run fails.
	Fail func(text string) string
	// Exit has the agent's process end by itself in mid-run, with this status.
	Exit func(code int) string
}

// Run holds a runtime to the contract of host.Runtime and host.Session.
func Run(t *testing.T, f Factory) {
	for _, c := range []struct {
		name string
		test func(*testing.T, *stage)
	}{
		{"says who it is", saysWhoItIs},
		{"a run completes", runCompletes},
		{"runs follow one another", runsFollow},
		{"a refused run fails", runFails},
		{"an exit in mid-run is told once", exitsInMidRun},
		{"a stop right behind the prompt is not lost", stopBehindPrompt},
		{"a stop in mid-text", stopInText},
		{"a stop in a shell that traps TERM", stopInShell},
		{"a stop with an open question", stopInQuestion},
		{"a stop of a run that is over does nothing", stopAfterRun},
		{"a kill in mid-text", killInText},
		{"a kill in a shell that traps TERM", killInShell},
		{"a kill while idle", killIdle},
		{"a kill with no credit returns", killBlocked},
		{"a question is answered", questionAnswered},
		{"a question is declined", questionDeclined},
		{"an unknown answer is ignored", unknownAnswer},
		{"a steered prompt is taken in once", steers},
		{"what it cannot do it refuses", refusesTheUnsupported},
		{"settings are taken", settings},
		{"a session with no credit holds up no other", creditIsPerSession},
		{"close in mid-run", closeInMidRun},
		{"close is idempotent and concurrent", closesOften},
		{"close in a shell that traps TERM", closeInShell},
		{"close with a thread that is gone", closeWithoutThread},
		{"a call after the end returns", callsAfterEnd},
		{"a start that is cancelled before", startCancelled},
		{"a start that is cancelled at any time", startCancelledAnyTime},
		{"a session is resumed", resumes},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, f(t))
			c.test(t, s)
		})
	}
}

// bound is what every call into a session gets; it is generous, since its end
// fails a test.
const bound = 20 * time.Second

var sessions atomic.Uint64

// stage is one test's subject with the sessions it started.
type stage struct {
	t *testing.T
	Subject
	before map[int]string // the processes below this one, as they were
}

func newStage(t *testing.T, s Subject) *stage {
	if s.Cwd == "" {
		s.Cwd = t.TempDir()
	}
	if s.AbortGrace == 0 {
		s.AbortGrace = 5 * time.Second
	}
	g := &stage{t: t, Subject: s, before: below(os.Getpid())}
	t.Cleanup(func() {
		for pid, command := range below(os.Getpid()) {
			if _, old := g.before[pid]; !old {
				t.Errorf("process %d is left: %s", pid, command)
			}
		}
	})
	return g
}

// prompt is the text for a behaviour; it skips the test when there is none.
func prompt[A any](g *stage, name string, say func(A) string, arg A) string {
	g.t.Helper()
	if say == nil {
		g.t.Skipf("%s is not told how to %s", g.Runtime.Name(), name)
	}
	text := say(arg)
	if text == "" {
		g.t.Skipf("%s cannot %s", g.Runtime.Name(), name)
	}
	return text
}

func (g *stage) say(text string) string { g.t.Helper(); return prompt(g, "say", g.Prompts.Say, text) }
func (g *stage) slow(n int) string      { g.t.Helper(); return prompt(g, "slow", g.Prompts.Slow, n) }
func (g *stage) shell(command string) string {
	g.t.Helper()
	return prompt(g, "shell", g.Prompts.Shell, command)
}
func (g *stage) ask(title string) string { g.t.Helper(); return prompt(g, "ask", g.Prompts.Ask, title) }

// actor is a session with its sink, driven as a thread would.
type actor struct {
	*stage
	sink    *Sink
	session host.Session
	run     uint64
}

func (g *stage) spec(resume string) host.StartSpec {
	n := sessions.Add(1)
	return host.StartSpec{Thread: wire.ThreadID{Type: "hosttest", ID: "t"}, Session: n, Cwd: g.Cwd, Resume: resume}
}

// start brings a session up; the test's end closes it and holds it to the
// contract.
func (g *stage) start(resume string) *actor {
	g.t.Helper()
	a := &actor{stage: g, sink: NewSink()}
	ctx, cancel := context.WithTimeout(context.Background(), 2*bound)
	defer cancel()
	var err error
	if a.session, err = g.Runtime.Start(ctx, g.spec(resume), a.sink); err != nil {
		g.t.Fatalf("start: %v", err)
	}
	g.t.Cleanup(a.end)
	return a
}

// end closes the session and checks all it said.
func (a *actor) end() {
	a.sink.Unblock()
	if err := a.session.Close(); err != nil {
		a.t.Errorf("close: %v", err)
	}
	a.sink.Seal()
	a.sink.AwaitQuiet(a.t)
	for _, r := range a.sink.Late() {
		a.t.Errorf("delivered after Close had returned: %s", tell(r))
	}
	if err := Check(a.sink.Reports()); err != nil {
		a.t.Errorf("%v\nin:\n%s", err, a.sink.Story())
	}
}

// call makes one bounded call into the session, which must succeed.
func (a *actor) call(what string, fn func(context.Context) error) {
	a.t.Helper()
	if err := bounded(fn); err != nil {
		a.t.Fatalf("%s: %v\nafter:\n%s", what, err, a.sink.Story())
	}
}

func bounded(fn func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	return fn(ctx)
}

func (a *actor) newPrompt(text string) host.Prompt {
	a.run++
	return host.Prompt{Run: a.run, MessageID: fmt.Sprintf("prompt-%d-%d", sessions.Load(), a.run), Text: text}
}

// prompt hands text over as the next run.
func (a *actor) prompt(text string) uint64 {
	a.t.Helper()
	p := a.newPrompt(text)
	a.call("prompt", func(ctx context.Context) error { return a.session.Prompt(ctx, p) })
	return p.Run
}

func (a *actor) abort(run uint64) {
	a.t.Helper()
	a.call("abort", func(ctx context.Context) error { return a.session.Abort(ctx, run) })
}

func (a *actor) answer(r host.Reply) {
	a.t.Helper()
	a.call("answer", func(ctx context.Context) error { return a.session.Answer(ctx, r) })
}

// over waits for the run's end and wants this outcome of it.
func (a *actor) over(run uint64, want wire.RunOutcome) *host.RunOver {
	a.t.Helper()
	r := a.sink.AwaitRunOver(a.t, run)
	if r.Outcome != want {
		a.t.Fatalf("run %d is %s (%v), want %s:\n%s", run, r.Outcome, r.Failure, want, a.sink.Story())
	}
	return r
}

// works proves that the session takes a prompt and completes it.
func (a *actor) works() {
	a.t.Helper()
	from := a.sink.Len()
	a.over(a.prompt(a.say("still here")), wire.RunCompleted)
	if got := said(a.sink.Reports()[from:]); got != "still here" {
		a.t.Fatalf("said %q, want %q:\n%s", got, "still here", a.sink.Story())
	}
}

// said is the assistant's text in the reports, by the fold that readers use.
func said(reports []host.Report) string {
	fold := wire.NewFolder(&wire.Snapshot{})
	for i, r := range reports {
		if o, ok := r.(*host.Observed); ok {
			fold.Add(&wire.ObservationFrame{Seq: uint64(i) + 1, Observation: o.Observation})
		}
	}
	text := ""
	for _, m := range fold.Snapshot().Messages {
		for _, p := range m.Parts {
			if t, ok := p.(*wire.TextPart); ok && m.Role == wire.RoleAssistant {
				text += t.Text
			}
		}
	}
	return text
}

// isFailure wants one of the codes.
func isFailure(t *testing.T, what string, err error, codes ...wire.Code) {
	t.Helper()
	var f *wire.Failure
	if !errors.As(err, &f) {
		t.Fatalf("%s: want a *wire.Failure, got %T %v", what, err, err)
	}
	for _, c := range codes {
		if f.Code == c {
			return
		}
	}
	t.Fatalf("%s: want a failure of code %v, got %v", what, codes, f)
}
