package host

import (
	"context"

	"github.com/troupe-run/troupe/wire"
)

// Runtime makes sessions of one configured agent. It is safe for concurrent use.
type Runtime interface {
	// Name is the runtime's own name, as configuration says it ("scripted", …).
	Name() string
	// Capabilities is what its sessions can do.
	Capabilities() wire.Capabilities
	// Available is nil when a session could be started on this machine now; else
	// a failure of code command-missing that names what is missing. It is cheap.
	Available() error
	// Start brings a session up. It may block until the agent is ready, and ends
	// early when ctx does; then, as on any error, it leaves no process behind and
	// delivers nothing more. Errors are *wire.Failure: command-missing or
	// start-failed. Reports may be delivered to sink before Start returns.
	Start(ctx context.Context, spec StartSpec, sink Sink) (Session, error)
}

// StartSpec is what a session starts from.
type StartSpec struct {
	Thread  wire.ThreadID
	Session uint64 // unique across the thread's incarnations; part of the ids an adapter mints
	Cwd     string // an existing folder
	Resume  string // the vendor's session id of an earlier session of this thread, or ""
}

// Session is one running conversation with an agent.
//
// The thread calls Prompt, Steer, Answer and the settings verbs one at a time,
// in order; Abort, Kill and Close may overtake them. Every call is bounded by its
// context. After Close has returned nothing is delivered.
type Session interface {
	// Info is what is known of the session after Start.
	Info() SessionInfo
	// Prompt hands a prompt over and returns once the agent has it (written, not
	// necessarily accepted). The run it opens ends with exactly one RunOver of
	// that run; a refusal, at once or later, is a RunOver whose failure has code
	// prompt-rejected. An error says that it was not handed over, and no RunOver
	// will come.
	Prompt(ctx context.Context, p Prompt) error
	// Steer hands a prompt into the busy run. Steered follows when the agent has
	// taken it in. One that the run ended without taking is forgotten by the
	// session: the thread hands it over again. Without the capability:
	// unsupported.
	Steer(ctx context.Context, p Prompt) error
	// Abort asks the agent politely to stop run. It returns once the wish is on
	// its way; RunOver says that it stopped. It must not be lost when the prompt
	// was handed over but the agent has not begun it. On a run that is over it
	// does nothing.
	Abort(ctx context.Context, run uint64) error
	// Answer settles a question towards the agent. A reply with a nil Arm gives
	// the agent its cancel value. Unknown or spent ids are ignored.
	Answer(ctx context.Context, r Reply) error
	// SetMode, SetModel and Compact are settings verbs; a runtime that cannot
	// answers a *wire.Failure of code unsupported with its reason. What they
	// change is reported as observations.
	SetMode(ctx context.Context, mode string) error
	SetModel(ctx context.Context, m wire.ModelRequest) error
	Compact(ctx context.Context, instructions string) error
	// Kill ends every process of the session now, whatever state it is in, and
	// says which. Exited follows.
	Kill() []wire.Process
	// Close ends the session: politely, then by force, within a bound. It is
	// idempotent and returns once nothing of the session is left.
	Close() error
}

// SessionInfo is what a session says of itself once it has started.
type SessionInfo struct {
	Resume string           // the vendor's session id, "" when it cannot be resumed
	Model  *wire.ModelState // nil when the runtime does not say
	Mode   *wire.PermissionModeState
	PID    int // the agent's process, 0 when there is none
}

// Prompt is a prompt on its way to an agent. Run is the thread's generation.
type Prompt struct {
	Run       uint64
	MessageID string
	Text      string
	Images    []wire.Image
}

// Reply settles a question towards the agent. Arm is nil for the cancel value.
type Reply struct {
	ID      string
	Outcome wire.DialogOutcome
	Arm     wire.AnswerArm
}

// Sink is where a session tells its thread. Deliver blocks while the thread's
// byte credit for this session is used up, so that an adapter which delivers
// from its reader stops reading its agent; it returns an error once the session
// is closed or its thread is gone, and then the adapter should wind down.
type Sink interface {
	Deliver(r Report) error
	// Go starts a goroutine of the session's through the guard: a panic in it
	// becomes Crashed. Every goroutine of an adapter starts through it.
	Go(name string, fn func())
}
