package wire

import (
	"encoding/json"
	"strconv"
)

// Message is one entry of a thread's transcript.
type Message struct {
	ID       string `json:"id"`
	Role     Role   `json:"role"`
	Parts    []Part `json:"parts"`
	Complete bool   `json:"complete"`
}

// Part is a piece of a message, discriminated by its JSON "type". A closed
// union: [*TextPart], [*ThinkingPart], [*ToolCallPart], [*ToolResultPart],
// [*CustomPart], [*ImagePart].
type Part interface {
	// PartType is the member's name on the wire.
	PartType() string
	part()
}

// TextPart is text (type text).
type TextPart struct {
	Text string `json:"text"`
}

// ThinkingPart is reasoning (type thinking).
type ThinkingPart struct {
	Text string `json:"text"`
}

// ToolCallPart is a call (type tool-call).
type ToolCallPart struct {
	ToolCallID string          `json:"toolCallId"`
	ToolName   string          `json:"toolName"`
	Input      json.RawMessage `json:"input"`
}

// ToolResultPart is a complete result (type tool-result), directly behind its
// call. Metadata holds the descriptor under [ToolResultKey]; it is never null.
type ToolResultPart struct {
	ToolCallID string   `json:"toolCallId"`
	Text       string   `json:"text"`
	IsError    bool     `json:"isError"`
	Metadata   Metadata `json:"metadata"`
}

// CustomPart is a runtime's own entry (type custom).
type CustomPart struct {
	CustomType string          `json:"customType"`
	Data       json.RawMessage `json:"data"`
}

// ImagePart is a picture (type image). Data is base64.
type ImagePart struct {
	MimeType string `json:"mimeType"`
	Data     string `json:"data"`
}

// PartType is "text".
func (*TextPart) PartType() string { return "text" }

// PartType is "thinking".
func (*ThinkingPart) PartType() string { return "thinking" }

// PartType is "tool-call".
func (*ToolCallPart) PartType() string { return "tool-call" }

// PartType is "tool-result".
func (*ToolResultPart) PartType() string { return "tool-result" }

// PartType is "custom".
func (*CustomPart) PartType() string { return "custom" }

// PartType is "image".
func (*ImagePart) PartType() string { return "image" }

func (*TextPart) part()       {}
func (*ThinkingPart) part()   {}
func (*ToolCallPart) part()   {}
func (*ToolResultPart) part() {}
func (*CustomPart) part()     {}
func (*ImagePart) part()      {}

// CustomMessageID is the id of a custom entry's message, given how many complete
// ones of role custom stand before it.
func CustomMessageID(before int) string { return "custom-" + strconv.Itoa(before) }
