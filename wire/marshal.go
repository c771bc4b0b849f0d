package wire

// The methods below make plain encoding/json speak the wire: discriminators,
// lists that are never null, and the strict reading of [DecodeStrict]. Encode is
// the same without encoding/json's second pass.

// MarshalJSON is [Encode].
func (v TextDelta) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *TextDelta) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v ThinkingDelta) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *ThinkingDelta) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v ToolCall) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *ToolCall) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v ToolResult) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *ToolResult) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v CustomEntry) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *CustomEntry) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v PermissionMode) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *PermissionMode) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v PermissionModeRejected) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *PermissionModeRejected) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v Model) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *Model) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v MessageStart) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *MessageStart) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v MessageEnd) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *MessageEnd) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v SessionUsageChanged) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *SessionUsageChanged) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v BranchCompacted) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *BranchCompacted) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v Login) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *Login) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v TurnStart) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *TurnStart) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v TurnEnd) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *TurnEnd) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v ProviderRefused) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *ProviderRefused) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v ProviderRetrying) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *ProviderRetrying) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v ProviderRetryEnded) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *ProviderRetryEnded) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v Queue) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *Queue) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v PromptRejected) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *PromptRejected) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v ExtensionError) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *ExtensionError) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v ExtensionUIRequest) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *ExtensionUIRequest) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v DialogSettled) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *DialogSettled) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v RunEnded) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *RunEnded) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v Settled) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *Settled) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v Unmapped) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *Unmapped) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v Snapshot) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *Snapshot) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v ObservationFrame) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *ObservationFrame) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v Status) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *Status) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v TextPart) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *TextPart) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v ThinkingPart) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *ThinkingPart) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v ToolCallPart) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *ToolCallPart) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v ToolResultPart) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *ToolResultPart) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v CustomPart) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *CustomPart) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v ImagePart) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *ImagePart) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v SelectDialog) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *SelectDialog) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v ConfirmDialog) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *ConfirmDialog) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v InputDialog) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *InputDialog) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v EditorDialog) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *EditorDialog) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v QuestionnaireDialog) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *QuestionnaireDialog) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v Message) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *Message) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v OpenDialog) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *OpenDialog) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v Question) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *Question) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v QuestionAnswer) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *QuestionAnswer) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v PermissionModeState) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *PermissionModeState) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v Descriptor) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *Descriptor) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v Metadata) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *Metadata) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v Summary) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *Summary) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v ThreadPage) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *ThreadPage) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v CreateThread) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *CreateThread) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v PromptRequest) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *PromptRequest) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v AbortReceipt) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *AbortReceipt) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v Tails) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *Tails) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }
