package host

import "github.com/troupe-run/troupe/wire"

// Report is everything a session tells its thread, and nothing else: a closed
// union of [*Observed], [*Steered], [*RunOver], [*LoginChanged], [*Exited],
// [*Crashed].
type Report interface {
	// Size is what the report costs of the session's byte credit.
	Size() int
	report()
}

// Observed is one observation with the origin of its delivery: session-start
// before the session's first prompt was handed over, else run. Size says how
// many bytes of the agent's output it stands for.
//
// A DialogSettled in it says that the runtime itself ended a question: one more
// finish, never published as it is.
type Observed struct {
	Origin      wire.Origin
	Observation wire.Observation
	Bytes       int
}

// Steered says that the agent took in a steered prompt.
type Steered struct{ MessageID string }

// RunOver says that a run ended, and how. Failure is nil unless it failed.
type RunOver struct {
	Run     uint64
	Outcome wire.RunOutcome
	Failure *wire.Failure
}

// LoginChanged says how a login stands.
type LoginChanged struct{ Login *wire.Login }

// Exited says that the agent is gone, by itself or by Kill. Code is the exit
// status, -1 when a signal ended it; Stderr is the tail of what it said there.
// It is the session's last report.
type Exited struct {
	Code   int
	Signal string
	Stderr string
}

// Crashed says that a goroutine of the session panicked. It is the guard's.
type Crashed struct {
	Where string
	Value any
	Stack []byte
}

const reportOverhead = 64

// Size is the observation's share of the agent's output.
func (r *Observed) Size() int { return r.Bytes + reportOverhead }

// Size is a constant.
func (*Steered) Size() int { return reportOverhead }

// Size is a constant.
func (*RunOver) Size() int { return reportOverhead }

// Size is a constant.
func (*LoginChanged) Size() int { return reportOverhead }

// Size is 0: the end of a session never waits for credit.
func (*Exited) Size() int { return 0 }

// Size is 0: a crash never waits for credit.
func (*Crashed) Size() int { return 0 }

func (*Observed) report()     {}
func (*Steered) report()      {}
func (*RunOver) report()      {}
func (*LoginChanged) report() {}
func (*Exited) report()       {}
func (*Crashed) report()      {}
