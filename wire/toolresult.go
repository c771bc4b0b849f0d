package wire

import (
	"encoding/json"
	"strings"
)

// ToolResultKey is the metadata key that our descriptor occupies. A colon, never
// a dot: a dot in a key collides with every path-based accessor.
const ToolResultKey = "troupe:toolResult"

// TruncationUnit is what a truncation counts: lines, bytes or items.
type TruncationUnit string

// The closed set of truncation units.
const (
	UnitLines TruncationUnit = "lines"
	UnitBytes TruncationUnit = "bytes"
	UnitItems TruncationUnit = "items"
)

// Truncation is a cut carried as data, so that each surface renders it itself.
type Truncation struct {
	Shown int64          `json:"shown"`
	Total int64          `json:"total"`
	Unit  TruncationUnit `json:"unit"`
}

// Descriptor says how to render a tool's result, beside the text that is always
// there. Kind is an open, non-empty string: an unknown one falls back to the
// text, never to blank. The floor is [FloorKind].
type Descriptor struct {
	Kind      string                     `json:"kind"`
	Props     map[string]json.RawMessage `json:"props"`
	Truncated *Truncation                `json:"truncated,omitempty"`
}

// Metadata is the shared bag of a tool-result part.
type Metadata map[string]json.RawMessage

// FloorKind is the descriptor kind of a tool that has no richer one.
func FloorKind(toolName string) string { return "tool." + toolName }

// ReadDescriptor is the descriptor in a result's metadata. There is none, or a
// malformed one: ok is false, and the text is what a surface shows. It is never
// coerced into shape.
func ReadDescriptor(m Metadata) (d *Descriptor, ok bool) {
	raw, ok := m[ToolResultKey]
	if !ok {
		return nil, false
	}
	v, err := DecodeStrict[Descriptor](raw)
	if err != nil {
		return nil, false
	}
	return &v, true
}

// ValidateDescriptor says why d is no descriptor, as a *Failure of code invalid,
// or nil. Its kind is open: any non-empty string will do.
func ValidateDescriptor(d *Descriptor) error {
	if d == nil {
		return Errorf(CodeInvalid, "no descriptor")
	}
	if _, err := Encode(d); err != nil {
		return Errorf(CodeInvalid, "%s", AsFailure(err).Message)
	}
	return nil
}

func (d *Descriptor) check() error {
	if d.Kind == "" {
		return at(refuse("empty"), "kind")
	}
	return nil
}

func (t *Truncation) check() error { return atLeast(0, "shown", t.Shown, "total", t.Total) }

// CallState is how a tool call stands, in the order in which surfaces decide what
// to show: pending, aborted, error, done.
type CallState string

// The closed set of call states.
const (
	// CallPending: the run is open and no result has come.
	CallPending CallState = "pending"
	// CallAborted: the run is over and no result came.
	CallAborted CallState = "aborted"
	// CallError: show the result's text as an error; its descriptor is not consulted.
	CallError CallState = "error"
	// CallDone: show the renderer of the descriptor's kind, else the text.
	CallDone CallState = "done"
)

// StateOf is how the call of result stands; result is nil when none has come.
// runOpen says whether the run of the call is in flight, which only the caller
// knows.
func StateOf(result *ToolResultPart, runOpen bool) CallState {
	switch {
	case result == nil && runOpen:
		return CallPending
	case result == nil:
		return CallAborted
	case result.IsError:
		return CallError
	default:
		return CallDone
	}
}

// Rendered is what a surface shows of a call: its state, the text, which is never
// blank, and the descriptor where its renderer is to be tried first.
type Rendered struct {
	State      CallState
	Text       string
	Descriptor *Descriptor // only in state done, nil where there is none
}

// Render decides for every surface what a call shows. A surface without a
// renderer for the descriptor's kind shows the text.
func Render(result *ToolResultPart, runOpen bool) Rendered {
	r := Rendered{State: StateOf(result, runOpen)}
	switch r.State {
	case CallPending:
		r.Text = "running…"
	case CallAborted:
		r.Text = "aborted"
	case CallError:
		r.Text = orElse(result.Text, "failed without a message")
	case CallDone:
		r.Text = orElse(result.Text, "no output")
		r.Descriptor, _ = ReadDescriptor(result.Metadata)
	}
	return r
}

func orElse(text, other string) string {
	if strings.TrimSpace(text) == "" {
		return other
	}
	return text
}
