package wire

// The timeline's types speak the wire through plain encoding/json too; see marshal.go.

// MarshalJSON is [Encode].
func (v Event) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *Event) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v EntitySpawned) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *EntitySpawned) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v RunStarted) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *RunStarted) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v RunDetail) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *RunDetail) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v MessageEvent) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *MessageEvent) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v ToolCallEvent) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *ToolCallEvent) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v ToolResultEvent) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *ToolResultEvent) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v Reasoning) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *Reasoning) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v StateSnapshot) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *StateSnapshot) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v Summarization) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *Summarization) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v Control) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *Control) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v ErrorEvent) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *ErrorEvent) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v RunFinished) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *RunFinished) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v ChildSpawned) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *ChildSpawned) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v ChildFinished) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *ChildFinished) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v Archived) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *Archived) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v Opaque) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *Opaque) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v TextBlock) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *TextBlock) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v ImageBlock) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *ImageBlock) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v DeltaText) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *DeltaText) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v DeltaReasoning) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *DeltaReasoning) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v DeltaToolInput) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *DeltaToolInput) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v DeltaUsage) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *DeltaUsage) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }

// MarshalJSON is [Encode].
func (v EntityState) MarshalJSON() ([]byte, error) { return Encode(v) }

// UnmarshalJSON is [DecodeStrict].
func (v *EntityState) UnmarshalJSON(b []byte) error { return unmarshal(b, v) }
