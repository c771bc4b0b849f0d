package scripted

import (
	"encoding/json"
	"slices"

	"github.com/troupe-run/troupe/wire"
)

// call begins a tool call in the current message.
func (r *run) call(name string, input json.RawMessage) (*call, *end) {
	if e := r.openMessage(); e != nil {
		return nil, e
	}
	c := &call{id: r.s.newID(tools), name: name}
	if e := r.tell(&wire.ToolCall{ToolCallID: c.id, ToolName: name, Input: input, MessageID: r.current}); e != nil {
		return nil, e
	}
	r.calls = append(r.calls, c)
	return c, nil
}

func (r *run) partial(c *call, text string) *end {
	return r.tell(&wire.ToolResult{ToolCallID: c.id, ToolName: c.name, Text: text})
}

// result completes a call.
func (r *run) result(c *call, res *wire.ToolResult) *end {
	res.ToolCallID, res.ToolName, res.Complete = c.id, c.name, true
	if e := r.tell(res); e != nil {
		return e
	}
	r.calls = slices.DeleteFunc(r.calls, func(o *call) bool { return o == c })
	return nil
}

// complete completes a call and, as an agent would then ask its model again, the
// turn.
func (r *run) complete(c *call, res *wire.ToolResult) *end {
	if e := r.result(c, res); e != nil {
		return e
	}
	return r.endTurn("tool")
}

type tool struct {
	name  string
	input json.RawMessage
}

func (d tool) play(r *run) *end {
	c, e := r.call(d.name, d.input)
	if e != nil {
		return e
	}
	for _, text := range []string{"working", "working, nearly done"} {
		if e := r.partial(c, text); e != nil {
			return e
		}
	}
	return r.complete(c, &wire.ToolResult{Text: d.name + " took " + string(d.input)})
}

// late is a tool whose result comes once its message has ended and the next one
// has begun, or at the end of the run when there is none.
type late struct {
	name  string
	input json.RawMessage
}

func (d late) play(r *run) *end {
	c, e := r.call(d.name, d.input)
	if e != nil {
		return e
	}
	c.result = &wire.ToolResult{
		ToolCallID: c.id, ToolName: c.name, Text: d.name + " took its time with " + string(d.input), Complete: true,
	}
	r.late = append(r.late, c)
	return r.endTurn("tool")
}

type toolError struct{ name, text string }

func (d toolError) play(r *run) *end {
	c, e := r.call(d.name, json.RawMessage(`{}`))
	if e != nil {
		return e
	}
	return r.complete(c, &wire.ToolResult{Text: d.text, IsError: true})
}

// described is a tool whose result has a descriptor of its own.
type described struct {
	kind  string
	props map[string]json.RawMessage
}

func (d described) play(r *run) *end {
	c, e := r.call("described", json.RawMessage(`{}`))
	if e != nil {
		return e
	}
	return r.complete(c, &wire.ToolResult{
		Text: "described as " + d.kind, Descriptor: &wire.Descriptor{Kind: d.kind, Props: d.props},
	})
}

type bigtool struct{ size int }

const (
	bigParts = 8        // partials of a bigtool
	maxShown = 16 << 10 // bytes that a complete result shows
)

func (d bigtool) play(r *run) *end {
	c, e := r.call("bigtool", json.RawMessage(`{}`))
	if e != nil {
		return e
	}
	const line = "a line of bigtool's output\n"
	text := repeat(line, d.size)
	for i := 1; i <= bigParts; i++ {
		if e := r.partial(c, text[:len(text)*i/bigParts]); e != nil {
			return e
		}
	}
	text = text[:min(len(text), maxShown)]
	return r.complete(c, shown(c.name, text, len(text), int64(d.size)))
}

// shown is a result whose text shows n of total bytes, and says so.
func shown(name, text string, n int, total int64) *wire.ToolResult {
	res := &wire.ToolResult{Text: text}
	if int64(n) < total {
		res.Descriptor = &wire.Descriptor{
			Kind: wire.FloorKind(name), Props: map[string]json.RawMessage{},
			Truncated: &wire.Truncation{Shown: int64(n), Total: total, Unit: wire.UnitBytes},
		}
	}
	return res
}
