package wire

// ThreadStatus is a thread's status: idle, active, paused, archived or failed.
type ThreadStatus string

// The closed set of thread statuses.
const (
	StatusIdle     ThreadStatus = "idle"
	StatusActive   ThreadStatus = "active"
	StatusPaused   ThreadStatus = "paused"
	StatusArchived ThreadStatus = "archived"
	StatusFailed   ThreadStatus = "failed"
)

// Summary is a thread as lists show it.
type Summary struct {
	ID            string            `json:"id"`
	Type          string            `json:"type"`
	Title         string            `json:"title"`
	Status        ThreadStatus      `json:"status"`
	AwaitingInput bool              `json:"awaitingInput"`
	Live          bool              `json:"live"`
	Busy          bool              `json:"busy"`
	Generation    uint64            `json:"generation"`
	OpenDialogs   int               `json:"openDialogs"`
	HeadSeq       int64             `json:"headSeq"` // the record's newest seq, -1 when it has none
	Parent        string            `json:"parent,omitempty"`
	Children      []string          `json:"children"`
	Cwd           string            `json:"cwd"`
	Model         *ModelState       `json:"model"`
	Usage         SessionUsage      `json:"usage"`
	CreatedAt     Time              `json:"createdAt"`
	UpdatedAt     Time              `json:"updatedAt"`
	Tags          map[string]string `json:"tags"`
}

// ThreadQuery selects summaries. The zero value is all, newest first.
type ThreadQuery struct {
	Type   string
	Status ThreadStatus
	Parent string
	Q      string // a substring of the id or the title, case-insensitive
	Limit  int    // 1..500; 0 is 100
	Cursor string // opaque, from the page before
}

// ThreadPage is one page of summaries. Next is the following page's cursor,
// empty at the end.
type ThreadPage struct {
	Threads []Summary `json:"threads"`
	Next    string    `json:"next,omitempty"`
}

// CreateThread makes a thread, or reattaches to the one with the same type and
// id. It wakes the thread only when Args are given: their JSON text is its first
// prompt.
type CreateThread struct {
	Type   string            `json:"type,omitempty"`
	ID     string            `json:"id,omitempty"`
	Title  string            `json:"title,omitempty"`
	Args   RawJSON           `json:"args,omitempty"`
	Parent string            `json:"parent,omitempty"`
	Cwd    string            `json:"cwd,omitempty"`
	Tags   map[string]string `json:"tags,omitempty"`
}

// Admission says when a prompt enters: interrupting at the next step boundary of
// a busy run where the runtime steers, enqueued (the default) once it settled.
type Admission string

// The closed set of admissions.
const (
	AdmitInterrupting Admission = "interrupting"
	AdmitEnqueued     Admission = "enqueued"
)

// PromptRequest is a prompt. The same MessageID is the same prompt.
type PromptRequest struct {
	Message   string    `json:"message"`
	Images    []Image   `json:"images,omitempty"`
	Admission Admission `json:"admission,omitempty"`
	MessageID string    `json:"messageId,omitempty"`
}

// PromptReceipt acknowledges a durable prompt. Generation is the run it opened,
// given only when the session was already idle.
type PromptReceipt struct {
	MessageID  string `json:"messageId"`
	Queued     bool   `json:"queued"`
	Generation uint64 `json:"generation,omitempty"`
}

// AbortReceipt says what a stop ended. Aborted is false when there was nothing
// to stop. Queue holds the prompts it dropped, Dialogs the ids it settled,
// Processes what it had to kill, Children the threads it stopped.
type AbortReceipt struct {
	Aborted    bool           `json:"aborted"`
	Generation uint64         `json:"generation"`
	Queue      []QueuedPrompt `json:"queue"`
	Dialogs    []string       `json:"dialogs"`
	Processes  []Process      `json:"processes"`
	Children   []string       `json:"children"`
}

// Process is one process that a stop ended. Signal is the strongest one it took.
type Process struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
	Signal  string `json:"signal"`
}

// ModeRequest asks for a permission mode.
type ModeRequest struct {
	Mode string `json:"mode"`
}

// ModelRequest asks for a model.
type ModelRequest struct {
	ID            string `json:"id"`
	Provider      string `json:"provider,omitempty"`
	ThinkingLevel string `json:"thinkingLevel,omitempty"`
}

// CompactRequest asks the runtime to compact its context now.
type CompactRequest struct {
	Instructions string `json:"instructions,omitempty"`
}

// RenameRequest sets a thread's title.
type RenameRequest struct {
	Title string `json:"title"`
}

// TailRow is one row of a tail: consecutive events of one type, name and
// provenance, with their exact count. Provenance is held, replayed, live or
// dropped on the emitted tail, sent on the sent one.
type TailRow struct {
	Type       string `json:"type"`
	Name       string `json:"name,omitempty"`
	Provenance string `json:"provenance"`
	Count      int64  `json:"count"`
}

// Tails are the two rings that live with a session, oldest row first.
type Tails struct {
	Emitted []TailRow `json:"emitted"`
	Sent    []TailRow `json:"sent"`
}

// Agent is one agent this host offers. Available is false with the Reason why
// its prompts would be refused.
type Agent struct {
	Name         string       `json:"name"`
	Runtime      string       `json:"runtime"`
	Default      bool         `json:"default"`
	Available    bool         `json:"available"`
	Reason       string       `json:"reason,omitempty"`
	Capabilities Capabilities `json:"capabilities"`
}

// Capabilities is what a runtime can do.
type Capabilities struct {
	Steer   bool `json:"steer"`   // takes a prompt into a busy run
	Resume  bool `json:"resume"`  // finds its own session again after the host's restart
	Images  bool `json:"images"`  // takes images in prompts
	Dialogs bool `json:"dialogs"` // asks questions
	Modes   bool `json:"modes"`   // has permission modes
	Models  bool `json:"models"`  // switches models
	Compact bool `json:"compact"` // compacts on demand
	Login   bool `json:"login"`   // offers a login
}
