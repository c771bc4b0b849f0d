package supervision

import "time"

// Fact is something supervision did or saw. A closed union: [*ActorRestarted],
// [*ActorStopped], [*ActorAbandoned], [*ThreadTrouble], [*GoroutinePanicked],
// [*FactsDropped], [*Ready], [*Stopping], [*StopStepDone], [*StopStepFailed],
// [*ProcessStepOverran], [*Stopped]. A fact is immutable once published.
type Fact interface {
	// FactName is the member's name in logs.
	FactName() string
	fact()
}

// ActorRestarted says that an actor panicked and was rebuilt at once. Input is
// the type of the message it was handling, Count its decayed number of failures.
type ActorRestarted struct {
	Actor  string
	Input  string
	Reason string
	Count  float64
}

// StopCause is why an actor was stopped rather than restarted.
type StopCause string

// The closed set of stop causes.
const (
	// StopStarting: it panicked while it started or restarted.
	StopStarting StopCause = "panicked while starting"
	// StopLimit: it failed so often that another restart would be a hot loop.
	StopLimit StopCause = "restart limit"
)

// ActorStopped says that an actor was stopped after a panic. Its parent gets
// Terminated as for any other stop.
type ActorStopped struct {
	Actor  string
	Input  string
	Reason string
	Cause  StopCause
}

// ActorAbandoned says that an actor panicked while it stopped. It was taken out
// of the registry and its parent told Terminated; its other watchers were not.
type ActorAbandoned struct {
	Actor  string
	Reason string
}

// ThreadTrouble is what a thread itself says went wrong: that it panicked, at
// which kind of input, or that the journal refused a commit. It holds no payload.
type ThreadTrouble struct {
	Thread string
	What   string
	Detail string
}

// GoroutinePanicked says that a guarded goroutine panicked. Where is the name it
// was started with.
type GoroutinePanicked struct {
	Where  string
	Reason string
	Stack  []byte
}

// FactsDropped says how many facts found the queue full since the last one that
// was delivered.
type FactsDropped struct{ Count int64 }

// Ready says that the process serves, and where.
type Ready struct{ Address string }

// Stopping says that the stop steps begin, and why: a signal's name, or the name
// of what ended with its error.
type Stopping struct{ Cause string }

// StopStepDone says that a stop step ended within its limit.
type StopStepDone struct {
	Step string
	Took time.Duration
}

// StopStepFailed says that a stop step ended with an error; the next one follows
// all the same.
type StopStepFailed struct {
	Step string
	Err  error
}

// ProcessStepOverran says that a stop step was not done within its limit and was
// left behind.
type ProcessStepOverran struct {
	Step  string
	Limit time.Duration
}

// Stopped says that all stop steps are behind.
type Stopped struct{ Took time.Duration }

// FactName is "actor restarted".
func (*ActorRestarted) FactName() string { return "actor restarted" }

// FactName is "actor stopped".
func (*ActorStopped) FactName() string { return "actor stopped" }

// FactName is "actor abandoned".
func (*ActorAbandoned) FactName() string { return "actor abandoned" }

// FactName is "thread trouble".
func (*ThreadTrouble) FactName() string { return "thread trouble" }

// FactName is "goroutine panicked".
func (*GoroutinePanicked) FactName() string { return "goroutine panicked" }

// FactName is "facts dropped".
func (*FactsDropped) FactName() string { return "facts dropped" }

// FactName is "ready".
func (*Ready) FactName() string { return "ready" }

// FactName is "stopping".
func (*Stopping) FactName() string { return "stopping" }

// FactName is "stop step done".
func (*StopStepDone) FactName() string { return "stop step done" }

// FactName is "stop step failed".
func (*StopStepFailed) FactName() string { return "stop step failed" }

// FactName is "stop step overran".
func (*ProcessStepOverran) FactName() string { return "stop step overran" }

// FactName is "stopped".
func (*Stopped) FactName() string { return "stopped" }

func (*ActorRestarted) fact()     {}
func (*ActorStopped) fact()       {}
func (*ActorAbandoned) fact()     {}
func (*ThreadTrouble) fact()      {}
func (*GoroutinePanicked) fact()  {}
func (*FactsDropped) fact()       {}
func (*Ready) fact()              {}
func (*Stopping) fact()           {}
func (*StopStepDone) fact()       {}
func (*StopStepFailed) fact()     {}
func (*ProcessStepOverran) fact() {}
func (*Stopped) fact()            {}
