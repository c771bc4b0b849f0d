package wire

import (
	"reflect"
)

// The timeline's limits, in bytes as encoded, and its version.
const (
	// EventVersion is the v of every event and delta.
	EventVersion = 1
	// MaxEventBytes is the most that one event takes.
	MaxEventBytes = 1 << 20
	// MaxSnapshotBytes is the most that the state of a state_snapshot takes.
	MaxSnapshotBytes = 256 << 10
)

// EventType names a member of the Payload union, as the envelope's "type" says it.
type EventType string

// The event types of the timeline.
const (
	EventEntitySpawned EventType = "entity_spawned"
	EventRunStarted    EventType = "run_started"
	EventMessage       EventType = "message"
	EventToolCall      EventType = "tool_call"
	EventToolResult    EventType = "tool_result"
	EventReasoning     EventType = "reasoning"
	EventStateSnapshot EventType = "state_snapshot"
	EventSummarization EventType = "summarization"
	EventControl       EventType = "control"
	EventError         EventType = "error"
	EventRunFinished   EventType = "run_finished"
	EventChildSpawned  EventType = "child_spawned"
	EventChildFinished EventType = "child_finished"
	EventArchived      EventType = "archived"
	EventOpaque        EventType = "opaque"
)

// Event is one entry of an entity's timeline: the envelope {v, entityId, seq, ts,
// type, payload}. Seq is gapless from 0 and minted by the thread; type is the
// payload's.
type Event struct {
	V        int     `json:"v"`
	EntityID string  `json:"entityId"`
	Seq      int64   `json:"seq"`
	TS       Time    `json:"ts"`
	Payload  Payload `json:"payload"`
}

// Payload is what an event says, told apart by the envelope's "type", beside it.
// A closed union: [*EntitySpawned], [*RunStarted], [*MessageEvent],
// [*ToolCallEvent], [*ToolResultEvent], [*Reasoning], [*StateSnapshot],
// [*Summarization], [*Control], [*ErrorEvent], [*RunFinished], [*ChildSpawned],
// [*ChildFinished], [*Archived], [*Opaque].
//
// A payload is immutable once it has been handed to anyone.
type Payload interface {
	// EventType is the member's name on the wire.
	EventType() EventType
	payload()
}

func (e *Event) check() error {
	if e.V != EventVersion {
		return at(refuse("want %d, got %d", EventVersion, e.V), "v")
	}
	if err := addressed("entityId", e.EntityID); err != nil {
		return err
	}
	if err := atLeast(0, "seq", e.Seq); err != nil {
		return err
	}
	if s, ok := e.Payload.(*Summarization); ok && s.ReplacesThroughSeq >= e.Seq {
		return at(refuse("want less than the event's own seq %d, got %d", e.Seq, s.ReplacesThroughSeq), "payload.replacesThroughSeq")
	}
	if _, spawned := e.Payload.(*EntitySpawned); spawned != (e.Seq == 0) {
		return at(refuse("entity_spawned is at seq 0, and nothing else is"), "seq")
	}
	return nil
}

// EncodeEvent renders one event. Besides what [Encode] refuses it refuses, with
// code too-large, an event over [MaxEventBytes] and a state over
// [MaxSnapshotBytes].
func EncodeEvent(e *Event) ([]byte, error) {
	b, err := Encode(e)
	if err != nil {
		return nil, err
	}
	if err := fits(len(b), e.Payload); err != nil {
		return nil, err
	}
	return b, nil
}

// DecodeEvent reads one event strictly, under the same limits. See [DecodeStrict].
func DecodeEvent(b []byte) (*Event, error) {
	if err := fits(len(b), nil); err != nil {
		return nil, err
	}
	e, err := DecodeStrict[Event](b)
	if err != nil {
		return nil, err
	}
	if err := fits(len(b), e.Payload); err != nil {
		return nil, err
	}
	return &e, nil
}

// EncodePayload renders a payload alone: what a journal keeps beside the type.
func EncodePayload(p Payload) ([]byte, error) {
	b, err := Encode(p)
	if err != nil {
		return nil, err
	}
	if err := fits(len(b), p); err != nil {
		return nil, err
	}
	return b, nil
}

// DecodePayload reads a payload of type t strictly. See [DecodeStrict].
func DecodePayload(t EventType, b []byte) (Payload, error) {
	u := unions[reflect.TypeFor[Payload]()]
	member, ok := u.members[string(t)]
	if !ok {
		return nil, Errorf(CodeBadRequest, "%v", at(notInSet(string(t), u.words), u.tag))
	}
	p := reflect.New(member)
	if err := decodeInto(b, p.Elem()); err != nil {
		return nil, Errorf(CodeBadRequest, "%s: %v", t, err)
	}
	out := p.Interface().(Payload)
	if err := fits(len(b), out); err != nil {
		return nil, err
	}
	return out, nil
}

// fits holds the limits of an event of size bytes.
func fits(size int, p Payload) error {
	if size > MaxEventBytes {
		return Errorf(CodeTooLarge, "an event of %d bytes, the limit is %d", size, MaxEventBytes)
	}
	if s, ok := p.(*StateSnapshot); ok && len(s.State) > MaxSnapshotBytes {
		return Errorf(CodeTooLarge, "a snapshot's state of %d bytes, the limit is %d", len(s.State), MaxSnapshotBytes)
	}
	return nil
}

// EventTypes lists the event types in the order of their declaration, derived
// from the union.
func EventTypes() []EventType {
	var out []EventType
	for _, w := range unions[reflect.TypeFor[Payload]()].words {
		out = append(out, EventType(w))
	}
	return out
}
