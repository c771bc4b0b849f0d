package wire

// Frame is one event of a follow, discriminated by its JSON "type". A closed
// union: [*Snapshot], [*ObservationFrame], [*Status].
type Frame interface {
	// FrameType is the member's name on the wire.
	FrameType() string
	frame()
}

// Snapshot is a thread exact as of AsOfSeq: every later observation frame of the
// follow has a greater seq, and nothing falls between. Its lists are complete, so
// a reader replaces rather than appends. What it may say is a matter of Live: not
// live, Model is nil, OpenDialogs is empty, Usage has no context; RecordedModel
// is there only then.
type Snapshot struct {
	ThreadID       string              `json:"threadId"`
	AsOfSeq        uint64              `json:"asOfSeq"`
	Live           bool                `json:"live"`
	Busy           bool                `json:"busy"`
	Generation     uint64              `json:"generation"`
	PermissionMode PermissionModeState `json:"permissionMode"`
	Model          *ModelState         `json:"model"`
	RecordedModel  *ModelState         `json:"recordedModel,omitempty"`
	Cwd            string              `json:"cwd"`
	Usage          SessionUsage        `json:"usage"`
	Messages       []Message           `json:"messages"`
	OpenDialogs    []OpenDialog        `json:"openDialogs"`
	Interrupted    *Interrupted        `json:"interrupted,omitempty"`
	Login          *LoginInProgress    `json:"login,omitempty"`
}

// Interrupted says that the last run did not complete: Reason is its outcome.
// It is cleared when the next run begins.
type Interrupted struct {
	Reason        RunOutcome `json:"reason"`
	LastMessageID string     `json:"lastMessageId,omitempty"`
	At            Time       `json:"at"`
}

// LoginInProgress is a login that waits on its provider.
type LoginInProgress struct {
	Provider string `json:"provider"`
	Since    Time   `json:"since"`
}

// ObservationFrame carries one observation. Seq is minted in one place, the
// thread, from 1; it skips where a partial tool result was elided.
type ObservationFrame struct {
	Seq         uint64      `json:"seq"`
	Observation Observation `json:"observation"`
}

// Status is the thread's lifecycle as the host sees it.
type Status struct {
	Live       bool   `json:"live"`
	Busy       bool   `json:"busy"`
	Generation uint64 `json:"generation"`
}

// FrameType is "snapshot".
func (*Snapshot) FrameType() string { return "snapshot" }

// FrameType is "observation".
func (*ObservationFrame) FrameType() string { return "observation" }

// FrameType is "status".
func (*Status) FrameType() string { return "status" }

func (*Snapshot) frame()         {}
func (*ObservationFrame) frame() {}
func (*Status) frame()           {}
