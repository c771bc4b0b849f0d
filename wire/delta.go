package wire

// Delta is a live fragment of what the timeline will carry whole: it rides the
// stream beside it, has no seq, and is superseded by the event that it refers to.
// Discriminated by its JSON "kind"; a closed union: [*DeltaText],
// [*DeltaReasoning], [*DeltaToolInput], [*DeltaUsage].
//
// Ref is the id of that event: the message's, the reasoning's, the toolUseId, or
// for usage the runId. Idx counts within a ref from 0; gaps are normal. Of several
// attempts the highest counts; no attempt is the first.
type Delta interface {
	// DeltaKind is the member's name on the wire.
	DeltaKind() string
	delta()
}

// DeltaText is text of the message Ref (kind text).
type DeltaText struct {
	V        int    `json:"v"`
	EntityID string `json:"entityId"`
	RunID    string `json:"runId"`
	Ref      string `json:"ref"`
	Idx      int64  `json:"idx"`
	TS       Time   `json:"ts"`
	Attempt  int64  `json:"attempt,omitempty"`
	Text     string `json:"text"`
}

// DeltaReasoning is text of the reasoning Ref (kind reasoning).
type DeltaReasoning struct {
	V        int    `json:"v"`
	EntityID string `json:"entityId"`
	RunID    string `json:"runId"`
	Ref      string `json:"ref"`
	Idx      int64  `json:"idx"`
	TS       Time   `json:"ts"`
	Attempt  int64  `json:"attempt,omitempty"`
	Text     string `json:"text"`
}

// DeltaToolInput is a piece of the JSON text of the input of the call Ref (kind
// tool_input).
type DeltaToolInput struct {
	V        int    `json:"v"`
	EntityID string `json:"entityId"`
	RunID    string `json:"runId"`
	Ref      string `json:"ref"`
	Idx      int64  `json:"idx"`
	TS       Time   `json:"ts"`
	Attempt  int64  `json:"attempt,omitempty"`
	Text     string `json:"text"`
}

// DeltaUsage is the accounting of the run Ref so far (kind usage).
type DeltaUsage struct {
	V        int      `json:"v"`
	EntityID string   `json:"entityId"`
	RunID    string   `json:"runId"`
	Ref      string   `json:"ref"`
	Idx      int64    `json:"idx"`
	TS       Time     `json:"ts"`
	Attempt  int64    `json:"attempt,omitempty"`
	Usage    RunUsage `json:"usage"`
}

// DeltaKind is "text".
func (*DeltaText) DeltaKind() string { return "text" }

// DeltaKind is "reasoning".
func (*DeltaReasoning) DeltaKind() string { return "reasoning" }

// DeltaKind is "tool_input".
func (*DeltaToolInput) DeltaKind() string { return "tool_input" }

// DeltaKind is "usage".
func (*DeltaUsage) DeltaKind() string { return "usage" }

func (*DeltaText) delta()      {}
func (*DeltaReasoning) delta() {}
func (*DeltaToolInput) delta() {}
func (*DeltaUsage) delta()     {}

func (d *DeltaText) check() error {
	return deltaRefusal(d.V, d.EntityID, d.RunID, d.Ref, d.Idx, d.Attempt)
}

func (d *DeltaReasoning) check() error {
	return deltaRefusal(d.V, d.EntityID, d.RunID, d.Ref, d.Idx, d.Attempt)
}

func (d *DeltaToolInput) check() error {
	return deltaRefusal(d.V, d.EntityID, d.RunID, d.Ref, d.Idx, d.Attempt)
}

func (d *DeltaUsage) check() error {
	return deltaRefusal(d.V, d.EntityID, d.RunID, d.Ref, d.Idx, d.Attempt)
}

func deltaRefusal(v int, entity, run, ref string, idx, attempt int64) error {
	if v != EventVersion {
		return at(refuse("want %d, got %d", EventVersion, v), "v")
	}
	return first(addressed("entityId", entity), nonEmpty("runId", run, "ref", ref), atLeast(0, "idx", idx, "attempt", attempt))
}

// EncodeDelta renders one delta, under the limit of an event. See [Encode].
func EncodeDelta(d Delta) ([]byte, error) {
	b, err := Encode(d)
	if err != nil {
		return nil, err
	}
	if err := fits(len(b), nil); err != nil {
		return nil, err
	}
	return b, nil
}

// DecodeDelta reads one delta strictly. See [DecodeStrict].
func DecodeDelta(b []byte) (Delta, error) {
	if err := fits(len(b), nil); err != nil {
		return nil, err
	}
	return DecodeStrict[Delta](b)
}
