package wire

import "encoding/json"

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
