package wire

// EntitySpawned begins a timeline, always at seq 0. ParentID is the parent's
// address, nil for a root; WorkspaceRef is "<tenant>/<name>", chosen here and
// never switched. Absent SpawnArgs stay absent, never null.
type EntitySpawned struct {
	EntityType   string  `json:"entityType"`
	ParentID     *string `json:"parentId"`
	SpawnArgs    RawJSON `json:"spawnArgs,omitempty"`
	WorkspaceRef string  `json:"workspaceRef,omitempty"`
}

// WakeSource is why a run began: spawn, message, steer_degraded, cron, control or
// system.
type WakeSource string

// The closed set of wake sources.
const (
	WakeSpawn         WakeSource = "spawn"
	WakeMessage       WakeSource = "message"
	WakeSteerDegraded WakeSource = "steer_degraded"
	WakeCron          WakeSource = "cron"
	WakeControl       WakeSource = "control"
	WakeSystem        WakeSource = "system"
)

// WakeCause is what woke an entity. From is the sender's address when the wake
// came from another entity.
type WakeCause struct {
	Source WakeSource `json:"source"`
	From   string     `json:"from,omitempty"`
}

// Harness is who runs the model loop: native or casdk. The runtime's own name is
// in the detail of run_started, see [RunDetail].
type Harness string

// The closed set of harnesses.
const (
	HarnessNative Harness = "native"
	HarnessCASDK  Harness = "casdk"
)

// RunStarted begins a wake. RunID is unique for each wake; every event of the run
// carries it.
type RunStarted struct {
	RunID   string    `json:"runId"`
	Wake    WakeCause `json:"wake"`
	Harness Harness   `json:"harness"`
	Model   string    `json:"model,omitempty"`
	Detail  RawJSON   `json:"detail,omitempty"`
}

// RunDetail is our detail of run_started: the runtime's own name and the whole
// state of the model.
type RunDetail struct {
	Runtime string      `json:"runtime"`
	Model   *ModelState `json:"model,omitempty"`
}

// EventRole is who a message of the timeline is from: user, assistant or
// system_note, the platform's own annotation.
type EventRole string

// The closed set of roles on the timeline.
const (
	EventRoleUser       EventRole = "user"
	EventRoleAssistant  EventRole = "assistant"
	EventRoleSystemNote EventRole = "system_note"
)

// ContentBlock is a piece of a message's or a result's content, discriminated by
// its JSON "type". A closed union: [*TextBlock], [*ImageBlock].
type ContentBlock interface {
	// BlockType is the member's name on the wire.
	BlockType() string
	block()
}

// TextBlock is text (type text).
type TextBlock struct {
	Text string `json:"text"`
}

// ImageBlock is a picture (type image). Data is base64.
type ImageBlock struct {
	MimeType string `json:"mimeType"`
	Data     string `json:"data"`
}

// MessageEvent is one whole message. ID is what its text deltas referenced. From
// is the sender's address for messages between entities.
type MessageEvent struct {
	ID      string         `json:"id"`
	RunID   string         `json:"runId,omitempty"`
	Role    EventRole      `json:"role"`
	Content []ContentBlock `json:"content"`
	From    string         `json:"from,omitempty"`
}

// ToolCallEvent says that a tool is called. ToolUseID is the provider's; with the
// entity and the run it makes execution exactly-once.
type ToolCallEvent struct {
	RunID     string  `json:"runId"`
	ToolUseID string  `json:"toolUseId"`
	Name      string  `json:"name"`
	Input     RawJSON `json:"input"`
}

// ToolResultEvent is a call's complete result. Detail holds our descriptor under
// [ToolResultKey].
type ToolResultEvent struct {
	RunID     string         `json:"runId"`
	ToolUseID string         `json:"toolUseId"`
	Name      string         `json:"name,omitempty"`
	Content   []ContentBlock `json:"content"`
	Detail    RawJSON        `json:"detail,omitempty"`
	IsError   bool           `json:"isError"`
}

// Reasoning is display-only history: it is never shown to a model again.
type Reasoning struct {
	ID        string `json:"id"`
	RunID     string `json:"runId,omitempty"`
	Text      string `json:"text"`
	Encrypted string `json:"encrypted,omitempty"`
}

// SnapshotReason is why a snapshot was taken: periodic, pre_archive or recovery.
type SnapshotReason string

// The closed set of snapshot reasons.
const (
	SnapshotPeriodic   SnapshotReason = "periodic"
	SnapshotPreArchive SnapshotReason = "pre_archive"
	SnapshotRecovery   SnapshotReason = "recovery"
)

// StateSnapshot asserts that State is the complete materialisation of the entity
// after every event up to its own seq; ours is an [EntityState]. HistoryHole marks
// a gap before it, across which nobody checks for one.
type StateSnapshot struct {
	State       RawJSON        `json:"state"`
	Reason      SnapshotReason `json:"reason"`
	HistoryHole bool           `json:"historyHole,omitempty"`
}

// Summarization is a context boundary: for the model, what bears context up to
// ReplacesThroughSeq is superseded by Summary. History stays as it is.
type Summarization struct {
	RunID              string  `json:"runId,omitempty"`
	Summary            string  `json:"summary"`
	ReplacesThroughSeq int64   `json:"replacesThroughSeq"`
	Detail             RawJSON `json:"detail,omitempty"`
}

// ControlVerb is a control verb: interrupt, pause, resume or archive.
type ControlVerb string

// The closed set of control verbs.
const (
	VerbInterrupt ControlVerb = "interrupt"
	VerbPause     ControlVerb = "pause"
	VerbResume    ControlVerb = "resume"
	VerbArchive   ControlVerb = "archive"
)

// Control records that a control verb was applied. From is the principal or the
// entity that asked, when it is known.
type Control struct {
	Verb   ControlVerb `json:"verb"`
	Reason string      `json:"reason,omitempty"`
	From   string      `json:"from,omitempty"`
}

// ErrorSource is where an error arose: harness, tool, platform, provider or
// projection.
type ErrorSource string

// The closed set of error sources.
const (
	ErrorHarness    ErrorSource = "harness"
	ErrorTool       ErrorSource = "tool"
	ErrorPlatform   ErrorSource = "platform"
	ErrorProvider   ErrorSource = "provider"
	ErrorProjection ErrorSource = "projection"
)

// ErrorEvent says that something went wrong. Code is stable, where there is one.
type ErrorEvent struct {
	RunID   string      `json:"runId,omitempty"`
	Code    string      `json:"code,omitempty"`
	Message string      `json:"message"`
	Source  ErrorSource `json:"source"`
	Detail  RawJSON     `json:"detail,omitempty"`
}

// EventOutcome is how a run ended: success, error or interrupted.
type EventOutcome string

// The closed set of a run's outcomes on the timeline.
const (
	OutcomeSuccess     EventOutcome = "success"
	OutcomeError       EventOutcome = "error"
	OutcomeInterrupted EventOutcome = "interrupted"
)

// RunUsage is the token accounting of one run. InputTokens are the uncached ones,
// fresh prompt and cache writes; ContextTokens is the whole prompt of the last
// step, caches included. Cost in US dollars. Attempt counts from 1 and is there
// once something was retried; of several attempts the latest counts.
type RunUsage struct {
	InputTokens     int64    `json:"inputTokens"`
	CacheReadTokens int64    `json:"cacheReadTokens,omitempty"`
	OutputTokens    int64    `json:"outputTokens"`
	ContextTokens   int64    `json:"contextTokens,omitempty"`
	Steps           int64    `json:"steps,omitempty"`
	CostUSD         *float64 `json:"costUsd,omitempty"`
	Attempt         int64    `json:"attempt,omitempty"`
}

// RunFinished ends a wake.
type RunFinished struct {
	RunID      string       `json:"runId"`
	Outcome    EventOutcome `json:"outcome"`
	Usage      RunUsage     `json:"usage"`
	DurationMs int64        `json:"durationMs,omitempty"`
	Detail     RawJSON      `json:"detail,omitempty"`
}

// ChildSpawned says that a child of this entity was made.
type ChildSpawned struct {
	ChildID   string `json:"childId"`
	ChildType string `json:"childType"`
	RunID     string `json:"runId,omitempty"`
	ToolUseID string `json:"toolUseId,omitempty"`
}

// ChildOutcome is how a child ended: success, error, interrupted or archived.
type ChildOutcome string

// The closed set of a child's outcomes.
const (
	ChildSuccess     ChildOutcome = "success"
	ChildError       ChildOutcome = "error"
	ChildInterrupted ChildOutcome = "interrupted"
	ChildArchived    ChildOutcome = "archived"
)

// ChildFinished says that a child ended, on a later wake of its parent. Result is
// whatever the child reported.
type ChildFinished struct {
	ChildID string       `json:"childId"`
	Outcome ChildOutcome `json:"outcome"`
	Result  RawJSON      `json:"result,omitempty"`
}

// ArchiveReason is why an entity was archived: idle or requested.
type ArchiveReason string

// The closed set of archive reasons.
const (
	ArchiveIdle      ArchiveReason = "idle"
	ArchiveRequested ArchiveReason = "requested"
)

// Archived ends an episode, directly behind its pre_archive snapshot. Any message
// begins another, seq going on.
type Archived struct {
	Reason      ArchiveReason `json:"reason"`
	SnapshotSeq int64         `json:"snapshotSeq,omitempty"`
}

// Opaque carries, verbatim, what would otherwise be lost. Who does not know its
// Origin may ignore it. What ours holds is said at [OpaqueTroupe].
type Opaque struct {
	Origin string  `json:"origin"`
	Kind   string  `json:"kind"`
	Data   RawJSON `json:"data"`
}

// EventType is "entity_spawned".
func (*EntitySpawned) EventType() EventType { return EventEntitySpawned }

// EventType is "run_started".
func (*RunStarted) EventType() EventType { return EventRunStarted }

// EventType is "message".
func (*MessageEvent) EventType() EventType { return EventMessage }

// EventType is "tool_call".
func (*ToolCallEvent) EventType() EventType { return EventToolCall }

// EventType is "tool_result".
func (*ToolResultEvent) EventType() EventType { return EventToolResult }

// EventType is "reasoning".
func (*Reasoning) EventType() EventType { return EventReasoning }

// EventType is "state_snapshot".
func (*StateSnapshot) EventType() EventType { return EventStateSnapshot }

// EventType is "summarization".
func (*Summarization) EventType() EventType { return EventSummarization }

// EventType is "control".
func (*Control) EventType() EventType { return EventControl }

// EventType is "error".
func (*ErrorEvent) EventType() EventType { return EventError }

// EventType is "run_finished".
func (*RunFinished) EventType() EventType { return EventRunFinished }

// EventType is "child_spawned".
func (*ChildSpawned) EventType() EventType { return EventChildSpawned }

// EventType is "child_finished".
func (*ChildFinished) EventType() EventType { return EventChildFinished }

// EventType is "archived".
func (*Archived) EventType() EventType { return EventArchived }

// EventType is "opaque".
func (*Opaque) EventType() EventType { return EventOpaque }

func (*EntitySpawned) payload()   {}
func (*RunStarted) payload()      {}
func (*MessageEvent) payload()    {}
func (*ToolCallEvent) payload()   {}
func (*ToolResultEvent) payload() {}
func (*Reasoning) payload()       {}
func (*StateSnapshot) payload()   {}
func (*Summarization) payload()   {}
func (*Control) payload()         {}
func (*ErrorEvent) payload()      {}
func (*RunFinished) payload()     {}
func (*ChildSpawned) payload()    {}
func (*ChildFinished) payload()   {}
func (*Archived) payload()        {}
func (*Opaque) payload()          {}

// BlockType is "text".
func (*TextBlock) BlockType() string { return "text" }

// BlockType is "image".
func (*ImageBlock) BlockType() string { return "image" }

func (*TextBlock) block()  {}
func (*ImageBlock) block() {}
