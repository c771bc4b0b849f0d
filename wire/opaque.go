package wire

import "strings"

// OpaqueTroupe is the origin of the opaque events that are our own: what a reader
// of the whole transcript needs and the event types have no place for. A reader
// of the plain timeline may ignore them all. Their kinds are below. Every other
// origin is a runtime's own name, its data verbatim.
const OpaqueTroupe = "troupe"

// The kinds of our own opaque events, and those of a runtime's data.
const (
	// OpaqueMessage: data is a [Message] of a role that the timeline has no word for.
	OpaqueMessage = "message"
	// OpaqueMessageRestated: data is a [Message], the newest of its id as it stands
	// at its end, behind all others: the events before said it in other pieces or
	// in another order.
	OpaqueMessageRestated = "message-restated"
	// OpaqueToolCall: data is a [ToolCall] outside a run, or a second one of its id.
	OpaqueToolCall = "tool-call"
	// OpaqueToolResult: data is a [ToolResult] that came after its run, or after
	// another result of its call, which it replaces.
	OpaqueToolResult = "tool-result"
	// OpaqueUnmapped: data is a runtime's event that the vocabulary has no word for.
	OpaqueUnmapped = "unmapped"
	// opaqueCustom is followed by a custom entry's type; data is its data.
	opaqueCustom = "custom-entry:"
)

// CustomKind is the kind of the opaque event that carries a custom entry.
func CustomKind(customType string) string { return opaqueCustom + customType }

// CustomType is the type of the custom entry that an opaque event of this kind
// carries; ok is false when it carries none.
func CustomType(kind string) (customType string, ok bool) {
	return strings.CutPrefix(kind, opaqueCustom)
}
