package wire

import "encoding/json"

// Kind names a member of the Observation union, as its JSON "kind" says it.
type Kind string

// The observation kinds. Kinds lists them; the union below is the source of truth.
const (
	KindTextDelta              Kind = "text-delta"
	KindThinkingDelta          Kind = "thinking-delta"
	KindToolCall               Kind = "tool-call"
	KindToolResult             Kind = "tool-result"
	KindCustomEntry            Kind = "custom-entry"
	KindPermissionMode         Kind = "permission-mode"
	KindPermissionModeRejected Kind = "permission-mode-rejected"
	KindModel                  Kind = "model"
	KindMessageStart           Kind = "message-start"
	KindMessageEnd             Kind = "message-end"
	KindSessionUsage           Kind = "session-usage"
	KindBranchCompacted        Kind = "branch-compacted"
	KindLogin                  Kind = "login"
	KindTurnStart              Kind = "turn-start"
	KindTurnEnd                Kind = "turn-end"
	KindProviderRefused        Kind = "provider-refused"
	KindProviderRetrying       Kind = "provider-retrying"
	KindProviderRetryEnded     Kind = "provider-retry-ended"
	KindQueue                  Kind = "queue"
	KindPromptRejected         Kind = "prompt-rejected"
	KindExtensionError         Kind = "extension-error"
	KindExtensionUIRequest     Kind = "extension-ui-request"
	KindDialogSettled          Kind = "dialog-settled"
	KindRunEnded               Kind = "run-ended"
	KindSettled                Kind = "settled"
	KindUnmapped               Kind = "unmapped"
)

// Observation is one semantic fact about a thread, in our words: a closed union
// with no "skip" member, so that dropping an event is inexpressible. Members:
// [*TextDelta], [*ThinkingDelta], [*ToolCall], [*ToolResult], [*CustomEntry],
// [*PermissionMode], [*PermissionModeRejected], [*Model], [*MessageStart],
// [*MessageEnd], [*SessionUsageChanged], [*BranchCompacted], [*Login],
// [*TurnStart], [*TurnEnd], [*ProviderRefused], [*ProviderRetrying],
// [*ProviderRetryEnded], [*Queue], [*PromptRejected], [*ExtensionError],
// [*ExtensionUIRequest], [*DialogSettled], [*RunEnded], [*Settled], [*Unmapped].
//
// An observation is immutable once it has been handed to anyone.
type Observation interface {
	// Kind is the member's name on the wire.
	Kind() Kind
	observation()
}

// Role is who a message is from: system, user, assistant, tool or custom.
type Role string

// The closed set of roles.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
	RoleCustom    Role = "custom"
)

// TextDelta appends text to an open message. Usage, where the runtime gives it,
// is that message's accounting so far.
type TextDelta struct {
	MessageID string `json:"messageId"`
	Delta     string `json:"delta"`
	Usage     *Usage `json:"usage,omitempty"`
}

// ThinkingDelta appends reasoning to an open message.
type ThinkingDelta struct {
	MessageID string `json:"messageId"`
	Delta     string `json:"delta"`
}

// ToolCall says that the agent calls a tool. Input is any JSON. MessageID names
// the message the call belongs to; without it Fold puts it into the newest open
// assistant message.
type ToolCall struct {
	ToolCallID string          `json:"toolCallId"`
	ToolName   string          `json:"toolName"`
	Input      json.RawMessage `json:"input"`
	MessageID  string          `json:"messageId,omitempty"`
}

// ToolResult is a tool's output. Text is ACCUMULATED: it replaces what an
// earlier one of the same call said. One with Complete false is a partial: it is
// numbered but, unless a follower asks for partials, not written to the wire.
type ToolResult struct {
	ToolCallID string      `json:"toolCallId"`
	ToolName   string      `json:"toolName"`
	Text       string      `json:"text"`
	Complete   bool        `json:"complete"`
	IsError    bool        `json:"isError"`
	Descriptor *Descriptor `json:"descriptor,omitempty"`
}

// CustomEntry is an entry of a kind of the runtime's own, any JSON; in the
// transcript it is a complete message of its own, of role custom.
type CustomEntry struct {
	CustomType string          `json:"customType"`
	Data       json.RawMessage `json:"data"`
}

// PermissionMode is the whole state of the permission mode.
type PermissionMode struct {
	Mode      string   `json:"mode"`
	Available []string `json:"available"`
}

// PermissionModeRejected says that a requested mode was not taken, and why.
type PermissionModeRejected struct {
	Requested string `json:"requested"`
	Reason    string `json:"reason"`
}

// Model is the whole state of the session's model.
type Model struct {
	Model ModelState `json:"model"`
}

// MessageStart opens a message. Adapters mint ids that are unique in a thread; a
// second start of an open id changes nothing.
type MessageStart struct {
	MessageID string `json:"messageId"`
	Role      Role   `json:"role"`
}

// MessageEnd completes an open message. Text, where given, replaces the deltas;
// Images are the user's own, appended as parts.
type MessageEnd struct {
	MessageID  string  `json:"messageId"`
	Role       Role    `json:"role"`
	Text       *string `json:"text,omitempty"`
	Images     []Image `json:"images,omitempty"`
	StopReason string  `json:"stopReason,omitempty"`
	Error      string  `json:"error,omitempty"`
	Usage      *Usage  `json:"usage,omitempty"`
}

// SessionUsageChanged carries the whole accounting of the session.
type SessionUsageChanged struct {
	Usage SessionUsage `json:"usage"`
}

// CompactionReason is why a branch was compacted: manual, threshold or overflow.
type CompactionReason string

// The closed set of compaction reasons.
const (
	CompactionManual    CompactionReason = "manual"
	CompactionThreshold CompactionReason = "threshold"
	CompactionOverflow  CompactionReason = "overflow"
)

// BranchCompacted says that the runtime replaced its context by a summary.
// Token counts are of the context.
type BranchCompacted struct {
	Summary      string           `json:"summary"`
	TokensBefore int64            `json:"tokensBefore"`
	TokensAfter  *int64           `json:"tokensAfter,omitempty"`
	Reason       CompactionReason `json:"reason"`
}

// LoginState is how a login stands: waiting, succeeded, failed or ended.
type LoginState string

// The closed set of login states.
const (
	LoginWaiting   LoginState = "waiting"
	LoginSucceeded LoginState = "succeeded"
	LoginFailed    LoginState = "failed"
	LoginEnded     LoginState = "ended"
)

// Login says how a login with a provider stands. Since is when it began.
type Login struct {
	State    LoginState `json:"state"`
	Provider string     `json:"provider"`
	Since    Time       `json:"since"`
	Message  string     `json:"message,omitempty"`
}

// TurnStart opens a turn; Turn counts from 1 within the run.
type TurnStart struct {
	Turn int `json:"turn"`
}

// TurnEnd closes a turn; Turn counts from 1 within the run.
type TurnEnd struct {
	Turn int `json:"turn"`
}

// ProviderRefused says that the model's provider refused a request. Status is
// its HTTP status where known, Code its own word.
type ProviderRefused struct {
	Message string `json:"message"`
	Status  int    `json:"status,omitempty"`
	Code    string `json:"code,omitempty"`
}

// ProviderRetrying says that the runtime will ask its provider again after
// DelayMs. Attempt counts from 1.
type ProviderRetrying struct {
	Attempt     int    `json:"attempt"`
	MaxAttempts int    `json:"maxAttempts"`
	DelayMs     int64  `json:"delayMs"`
	Message     string `json:"message"`
}

// ProviderRetryEnded says how retrying ended.
type ProviderRetryEnded struct {
	Succeeded bool   `json:"succeeded"`
	Attempt   int    `json:"attempt"`
	Error     string `json:"error,omitempty"`
}

// QueuedPrompt is one prompt that waits.
type QueuedPrompt struct {
	MessageID string `json:"messageId"`
	Text      string `json:"text"`
}

// Queue is the whole state of the prompt queue: Interrupting enter at the next
// step boundary where the runtime steers, Enqueued once the run has settled.
type Queue struct {
	Interrupting []QueuedPrompt `json:"interrupting"`
	Enqueued     []QueuedPrompt `json:"enqueued"`
}

// PromptRejected says that a prompt was refused after its receipt went out.
type PromptRejected struct {
	MessageID string `json:"messageId"`
	Reason    string `json:"reason"`
}

// ExtensionError is a failure inside an extension of the runtime.
type ExtensionError struct {
	Extension string `json:"extension"`
	Event     string `json:"event,omitempty"`
	Message   string `json:"message"`
}

// Origin is where a request was raised, tagged at the source: session-start
// (before the session's first run) or run.
type Origin string

// The closed set of origins.
const (
	OriginSessionStart Origin = "session-start"
	OriginRun          Origin = "run"
)

// NoticeLevel is how loud a notice is: info, warning or error.
type NoticeLevel string

// The closed set of notice levels.
const (
	NoticeInfo    NoticeLevel = "info"
	NoticeWarning NoticeLevel = "warning"
	NoticeError   NoticeLevel = "error"
)

// Notice is a one-way message to the person.
type Notice struct {
	Level   NoticeLevel `json:"level"`
	Message string      `json:"message"`
}

// ExtensionUIRequest asks or tells the person something: a blocking one carries
// exactly a Dialog, one that does not block carries exactly a Notice.
type ExtensionUIRequest struct {
	ID       string     `json:"id"`
	Origin   Origin     `json:"origin"`
	Blocking bool       `json:"blocking"`
	Dialog   DialogSpec `json:"dialog,omitempty"`
	Notice   *Notice    `json:"notice,omitempty"`
}

// DialogOutcome is how a question stopped waiting: answered, cancelled, timeout
// or aborted.
type DialogOutcome string

// The closed set of dialog outcomes.
const (
	DialogAnswered  DialogOutcome = "answered"
	DialogCancelled DialogOutcome = "cancelled"
	DialogTimeout   DialogOutcome = "timeout"
	DialogAborted   DialogOutcome = "aborted"
)

// DialogSettled says that a question stopped waiting. It is told once for each
// question; By names who ended it, where that is known.
type DialogSettled struct {
	ID      string        `json:"id"`
	Outcome DialogOutcome `json:"outcome"`
	By      string        `json:"by,omitempty"`
}

// RunOutcome is how a run ended: completed, aborted or failed.
type RunOutcome string

// The closed set of run outcomes.
const (
	RunCompleted RunOutcome = "completed"
	RunAborted   RunOutcome = "aborted"
	RunFailed    RunOutcome = "failed"
)

// RunEnded says how a run ended, and when.
type RunEnded struct {
	Generation uint64     `json:"generation"`
	Outcome    RunOutcome `json:"outcome"`
	Error      *Failure   `json:"error,omitempty"`
	At         Time       `json:"at"`
}

// Settled closes a run: it is told exactly once for each.
type Settled struct {
	Generation uint64 `json:"generation"`
}

// Unmapped carries, whole, a runtime's event that the vocabulary has no word
// for: the one place where a raw event crosses.
type Unmapped struct {
	Event json.RawMessage `json:"event"`
}

func (*TextDelta) Kind() Kind              { return KindTextDelta }
func (*ThinkingDelta) Kind() Kind          { return KindThinkingDelta }
func (*ToolCall) Kind() Kind               { return KindToolCall }
func (*ToolResult) Kind() Kind             { return KindToolResult }
func (*CustomEntry) Kind() Kind            { return KindCustomEntry }
func (*PermissionMode) Kind() Kind         { return KindPermissionMode }
func (*PermissionModeRejected) Kind() Kind { return KindPermissionModeRejected }
func (*Model) Kind() Kind                  { return KindModel }
func (*MessageStart) Kind() Kind           { return KindMessageStart }
func (*MessageEnd) Kind() Kind             { return KindMessageEnd }
func (*SessionUsageChanged) Kind() Kind    { return KindSessionUsage }
func (*BranchCompacted) Kind() Kind        { return KindBranchCompacted }
func (*Login) Kind() Kind                  { return KindLogin }
func (*TurnStart) Kind() Kind              { return KindTurnStart }
func (*TurnEnd) Kind() Kind                { return KindTurnEnd }
func (*ProviderRefused) Kind() Kind        { return KindProviderRefused }
func (*ProviderRetrying) Kind() Kind       { return KindProviderRetrying }
func (*ProviderRetryEnded) Kind() Kind     { return KindProviderRetryEnded }
func (*Queue) Kind() Kind                  { return KindQueue }
func (*PromptRejected) Kind() Kind         { return KindPromptRejected }
func (*ExtensionError) Kind() Kind         { return KindExtensionError }
func (*ExtensionUIRequest) Kind() Kind     { return KindExtensionUIRequest }
func (*DialogSettled) Kind() Kind          { return KindDialogSettled }
func (*RunEnded) Kind() Kind               { return KindRunEnded }
func (*Settled) Kind() Kind                { return KindSettled }
func (*Unmapped) Kind() Kind               { return KindUnmapped }

func (*TextDelta) observation()              {}
func (*ThinkingDelta) observation()          {}
func (*ToolCall) observation()               {}
func (*ToolResult) observation()             {}
func (*CustomEntry) observation()            {}
func (*PermissionMode) observation()         {}
func (*PermissionModeRejected) observation() {}
func (*Model) observation()                  {}
func (*MessageStart) observation()           {}
func (*MessageEnd) observation()             {}
func (*SessionUsageChanged) observation()    {}
func (*BranchCompacted) observation()        {}
func (*Login) observation()                  {}
func (*TurnStart) observation()              {}
func (*TurnEnd) observation()                {}
func (*ProviderRefused) observation()        {}
func (*ProviderRetrying) observation()       {}
func (*ProviderRetryEnded) observation()     {}
func (*Queue) observation()                  {}
func (*PromptRejected) observation()         {}
func (*ExtensionError) observation()         {}
func (*ExtensionUIRequest) observation()     {}
func (*DialogSettled) observation()          {}
func (*RunEnded) observation()               {}
func (*Settled) observation()                {}
func (*Unmapped) observation()               {}
