package pi

import (
	"encoding/json"
	"strings"

	"github.com/troupe-run/troupe/wire"
)

func (m *mapper) messageStart(e *event) ([]wire.Observation, fact) {
	if e.Message == nil {
		return nil, nil
	}
	switch e.Message.Role {
	case "user":
		return m.userMessage(e.Message)
	case "assistant":
		obs := m.drain("error") // never two at once
		m.open = &openMessage{id: m.newID("m")}
		return append(obs, &wire.MessageStart{MessageID: m.open.id, Role: wire.RoleAssistant}), nil
	case "toolResult":
		return nil, told{} // its end carries the result
	case "system", "custom":
		return nil, told{} // complete at its end
	}
	return nil, nil
}

// userMessage is a message of the user's role. The first of a run is its prompt,
// whatever the agent made of its text; a steered one is known by its text; any
// other was written by an extension.
func (m *mapper) userMessage(msg *message) ([]wire.Observation, fact) {
	text, _ := msg.Content.text()
	for i, h := range m.expected {
		if !h.steered || strings.TrimSpace(h.text) == strings.TrimSpace(text) {
			m.expected = append(append([]handed(nil), m.expected[:i]...), m.expected[i+1:]...)
			return nil, took{h}
		}
	}
	id := m.newID("m")
	return []wire.Observation{
		&wire.MessageStart{MessageID: id, Role: wire.RoleUser},
		&wire.MessageEnd{MessageID: id, Role: wire.RoleUser, Text: &text, Images: images(msg.Content)},
	}, nil
}

func images(c content) []wire.Image {
	var out []wire.Image
	for _, b := range c {
		if b.Type == "image" {
			out = append(out, wire.Image{MimeType: b.MimeType, Data: b.Data})
		}
	}
	return out
}

func (m *mapper) messageUpdate(e *event) ([]wire.Observation, fact) {
	if e.Update == nil {
		return nil, nil
	}
	if m.open == nil {
		return nil, nil // a piece of no message
	}
	switch u := e.Update; u.Type {
	case "text_delta":
		if u.Delta == "" {
			return nil, told{}
		}
		m.open.said.WriteString(u.Delta)
		return one(&wire.TextDelta{MessageID: m.open.id, Delta: u.Delta}), nil
	case "thinking_delta":
		if u.Delta == "" {
			return nil, told{}
		}
		return one(&wire.ThinkingDelta{MessageID: m.open.id, Delta: u.Delta}), nil
	case "toolcall_end":
		if u.ToolCall == nil {
			return nil, nil
		}
		if obs := m.announce(u.ToolCall.ID, u.ToolCall.Name, u.ToolCall.Arguments, m.open.id); obs != nil {
			return obs, nil
		}
		return nil, told{}
	case "start", "text_start", "text_end", "thinking_start", "thinking_end", "toolcall_start", "toolcall_delta", "done", "error":
		return nil, told{} // the deltas and the end of the message say it
	}
	return nil, nil
}

func (m *mapper) messageEnd(e *event) ([]wire.Observation, fact) {
	msg := e.Message
	if msg == nil {
		return nil, nil
	}
	switch msg.Role {
	case "user":
		return nil, told{} // at its start
	case "assistant":
		return m.assistantEnd(msg), nil
	case "toolResult":
		return m.resultMessage(msg)
	case "system":
		return m.whole(wire.RoleSystem, systemText(msg)), nil
	case "custom":
		text, _ := msg.Content.text()
		return m.whole(wire.RoleCustom, text), nil
	}
	return nil, nil
}

// whole is a message that came at once.
func (m *mapper) whole(role wire.Role, text string) []wire.Observation {
	id := m.newID("m")
	return []wire.Observation{
		&wire.MessageStart{MessageID: id, Role: role},
		&wire.MessageEnd{MessageID: id, Role: role, Text: &text},
	}
}

func systemText(msg *message) string {
	if text, _ := msg.Content.text(); text != "" {
		return text
	}
	return strings.Join(msg.Sections, "\n\n")
}

// assistantEnd completes the message: calls that were not announced, the text
// where the deltas had another and it is the only block of text, the accounting.
func (m *mapper) assistantEnd(msg *message) []wire.Observation {
	var obs []wire.Observation
	if m.open == nil {
		m.open = &openMessage{id: m.newID("m")}
		obs = append(obs, &wire.MessageStart{MessageID: m.open.id, Role: wire.RoleAssistant})
	}
	for _, b := range msg.Content {
		if b.Type == "toolCall" {
			obs = append(obs, m.announce(b.ID, b.Name, b.Arguments, m.open.id)...)
		}
	}
	end := &wire.MessageEnd{MessageID: m.open.id, Role: wire.RoleAssistant, StopReason: msg.StopReason, Usage: usage(msg.Usage)}
	if text, n := msg.Content.text(); n == 1 && text != m.open.said.String() {
		end.Text = &text
	}
	failed := msg.StopReason == "error"
	if failed || msg.StopReason == "aborted" {
		end.Error = msg.ErrorMessage
	}
	m.open = nil
	obs = append(obs, end)
	m.refused = ""
	if failed {
		m.refused = msg.ErrorMessage
		obs = append(obs, refusal(msg.ErrorMessage))
	}
	return append(obs, m.account(msg.Usage)...)
}

func usage(u *usageData) *wire.Usage {
	if u == nil {
		return nil
	}
	w := &wire.Usage{Input: max(u.Input, 0), Output: max(u.Output, 0), CacheRead: max(u.CacheRead, 0), CacheWrite: max(u.CacheWrite, 0)}
	if u.Cost != nil && u.Cost.Total >= 0 {
		c := u.Cost.Total
		w.TotalCost = &c
	}
	return w
}

// account adds a message to what the session has spent.
func (m *mapper) account(u *usageData) []wire.Observation {
	w := usage(u)
	if w == nil || w.Input+w.Output+w.CacheRead+w.CacheWrite == 0 {
		return nil
	}
	s := m.usage
	s.Input, s.Output = s.Input+w.Input, s.Output+w.Output
	s.CacheRead, s.CacheWrite = s.CacheRead+w.CacheRead, s.CacheWrite+w.CacheWrite
	if w.TotalCost != nil {
		total := *w.TotalCost
		if s.TotalCost != nil {
			total += *s.TotalCost
		}
		s.TotalCost = &total
	}
	s.Context = nil
	if m.model != nil && m.model.ContextWindow > 0 {
		s.Context = &wire.ContextUsage{Tokens: w.Input + w.Output + w.CacheRead + w.CacheWrite, Window: m.model.ContextWindow}
	}
	m.usage = s
	return one(&wire.SessionUsageChanged{Usage: s})
}

// announce tells a call once.
func (m *mapper) announce(id, name string, args json.RawMessage, messageID string) []wire.Observation {
	if _, told := m.calls[id]; told || id == "" {
		return nil
	}
	m.calls[id] = false
	return one(&wire.ToolCall{ToolCallID: id, ToolName: orUnknown(name), Input: orNull(args), MessageID: messageID})
}

func (m *mapper) partial(e *event) []wire.Observation {
	if e.ToolCallID == "" {
		return nil
	}
	out := e.PartialResult
	if out == nil {
		out = &output{}
	}
	text, _ := out.Content.text()
	return append(m.announce(e.ToolCallID, e.ToolName, e.Args, ""), &wire.ToolResult{
		ToolCallID: e.ToolCallID, ToolName: orUnknown(e.ToolName), Text: text, Descriptor: descriptor(e.ToolName, out.Details),
	})
}

func (m *mapper) toolEnd(e *event) []wire.Observation {
	var out output
	if e.ToolCallID == "" || len(e.Result) > 0 && json.Unmarshal(e.Result, &out) != nil {
		return nil
	}
	obs := m.announce(e.ToolCallID, e.ToolName, e.Args, "")
	return append(obs, m.result(e.ToolCallID, e.ToolName, out.Content, e.IsError, out.Details))
}

// resultMessage repeats tool_execution_end, except where there was none.
func (m *mapper) resultMessage(msg *message) ([]wire.Observation, fact) {
	if m.calls[msg.ToolCallID] {
		return nil, told{}
	}
	if msg.ToolCallID == "" {
		return nil, nil
	}
	obs := m.announce(msg.ToolCallID, msg.ToolName, nil, "")
	return append(obs, m.result(msg.ToolCallID, msg.ToolName, msg.Content, msg.IsError, msg.Details)), nil
}

func (m *mapper) result(id, name string, c content, isError bool, d *details) wire.Observation {
	m.calls[id] = true
	text, _ := c.text()
	return &wire.ToolResult{
		ToolCallID: id, ToolName: orUnknown(name), Text: text, Complete: true, IsError: isError, Descriptor: descriptor(name, d),
	}
}

// descriptor is the floor kind with the cut, where the tool says that it cut its
// output. Anything richer is for the tool to say.
func descriptor(name string, d *details) *wire.Descriptor {
	if d == nil || d.Truncation == nil || d.Truncation.Truncated != nil && !*d.Truncation.Truncated {
		return nil
	}
	t := &wire.Truncation{Shown: d.Truncation.OutputLines, Total: d.Truncation.TotalLines, Unit: wire.UnitLines}
	if d.Truncation.TruncatedBy == "bytes" {
		t = &wire.Truncation{Shown: d.Truncation.OutputBytes, Total: d.Truncation.TotalBytes, Unit: wire.UnitBytes}
	}
	if t.Shown < 0 || t.Total < t.Shown || t.Total == 0 {
		return nil
	}
	return &wire.Descriptor{Kind: wire.FloorKind(orUnknown(name)), Props: map[string]json.RawMessage{}, Truncated: t}
}
