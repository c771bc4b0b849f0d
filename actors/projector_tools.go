package actors

import (
	"slices"
	"strconv"

	"github.com/troupe-run/troupe/wire"
)

// reasoningID is the id of a message's n-th thought, from 1.
func reasoningID(message string, n int) string { return message + "~" + strconv.Itoa(n) }

// callLog remembers the newest calls, so that each has one call and one result on
// the timeline.
type callLog struct {
	entries map[string]loggedCall
	order   []string // oldest first
}

// loggedCall is what is known of a call.
type loggedCall struct {
	run  string // "" when it was called in none
	name string
	done bool // its result has been told
	bare bool // it is on the timeline in an opaque event only
}

// maxCalls bounds the log. A result that comes later than so many calls is told as
// that of an unknown call, which reads the same.
const maxCalls = 1024

func (l *callLog) add(id string, c loggedCall) {
	if l.entries == nil {
		l.entries = map[string]loggedCall{}
	}
	if _, ok := l.entries[id]; !ok {
		l.order = append(l.order, id)
	}
	l.entries[id] = c
	if len(l.order) > maxCalls {
		delete(l.entries, l.order[0])
		l.order = slices.Delete(l.order, 0, 1)
	}
}

func (l *callLog) settle(id string) {
	if c, ok := l.entries[id]; ok {
		c.done = true
		l.entries[id] = c
	}
}

// open are the calls of a run without a result, oldest first.
func (l *callLog) open(run string) []string {
	var out []string
	for _, id := range l.order {
		if c := l.entries[id]; c.run == run && !c.done && !c.bare {
			out = append(out, id)
		}
	}
	return out
}

// call tells a call, behind what its message has said so far.
func (p *projector) call(o *wire.ToolCall) []wire.Payload {
	_, known := p.calls.entries[o.ToolCallID]
	bare := p.run == nil || known || o.ToolCallID == ""
	m := p.truth.caller(o.MessageID)
	if m == nil {
		return p.callAlone(o, bare)
	}
	m.parts = append(m.parts, openPart{call: o})
	if !tellable(m) { // it is told whole at its end
		p.calls.add(o.ToolCallID, loggedCall{run: p.runID(), name: o.ToolName, bare: true})
		return nil
	}
	t := p.told[m.id]
	untold := m.wireParts(len(t.parts))
	untold = untold[:len(untold)-1] // the call itself
	var out []wire.Payload
	if len(untold) > 0 || t.segments == 0 || !bare && p.speaking != m.id {
		out = p.tell(m.id, t, untold)
	}
	t.parts = append(t.parts, callPart(o))
	t.stage = stageCalls
	in := *o
	in.MessageID = m.id
	return append(out, p.callEvent(&in, bare))
}

// callAlone tells a call that no open message holds: one that names the message
// which spoke last goes on in it, one that names none is a message of its own.
func (p *projector) callAlone(o *wire.ToolCall, bare bool) []wire.Payload {
	_, segment := wire.SegmentOf(o.ToolCallID)
	switch {
	case bare:
	case o.MessageID != "" && o.MessageID == p.speaking:
		return []wire.Payload{p.callEvent(o, false)}
	case o.MessageID == "" && !segment:
		p.began++
		p.speaking = o.ToolCallID
		return []wire.Payload{
			&wire.MessageEvent{ID: o.ToolCallID, RunID: p.runID(), Role: wire.EventRoleAssistant, Content: []wire.ContentBlock{}},
			p.callEvent(o, false),
		}
	}
	p.began++
	return []wire.Payload{p.callEvent(o, true)}
}

// callEvent is the event of a call; bare, it is the observation itself.
func (p *projector) callEvent(o *wire.ToolCall, bare bool) wire.Payload {
	if bare {
		if _, known := p.calls.entries[o.ToolCallID]; !known {
			p.calls.add(o.ToolCallID, loggedCall{run: p.runID(), name: o.ToolName, bare: true})
		}
		return &wire.Opaque{Origin: wire.OpaqueTroupe, Kind: wire.OpaqueToolCall, Data: observed(o)}
	}
	p.calls.add(o.ToolCallID, loggedCall{run: p.run.id, name: o.ToolName})
	return &wire.ToolCallEvent{RunID: p.run.id, ToolUseID: o.ToolCallID, Name: o.ToolName, Input: o.Input}
}

// observed is an observation as an opaque event carries it.
func observed(o wire.Observation) []byte {
	b, err := wire.EncodeObservation(o)
	if err != nil {
		return []byte("null")
	}
	return b
}

// result tells a complete result. One that belongs to no open run, or replaces
// another, is opaque: on the timeline each call has one result, in its own run.
func (p *projector) result(o *wire.ToolResult) []wire.Payload {
	if !o.Complete {
		return nil
	}
	for _, m := range slices.Backward(p.truth.open) {
		if !m.result(o) {
			continue
		}
		if !tellable(m) { // it is told whole at its end
			p.calls.settle(o.ToolCallID)
			return nil
		}
		t := p.told[m.id]
		fold := &wire.Snapshot{Messages: []wire.Message{{Role: m.role, Parts: t.parts}}}
		fold.Apply(o)
		t.parts = fold.Messages[0].Parts
		return []wire.Payload{p.resultEvent(o)}
	}
	if _, known := p.calls.entries[o.ToolCallID]; !known {
		p.began++ // it may be a message of its own
	}
	return []wire.Payload{p.resultEvent(o)}
}

func (p *projector) resultEvent(o *wire.ToolResult) wire.Payload {
	c, known := p.calls.entries[o.ToolCallID]
	canonical := p.run != nil && o.ToolCallID != "" && (!known || c.run == p.run.id && !c.done && !c.bare)
	if !known {
		c = loggedCall{run: p.runID(), name: o.ToolName}
		p.calls.add(o.ToolCallID, c)
	}
	p.calls.settle(o.ToolCallID)
	if !canonical {
		return &wire.Opaque{Origin: wire.OpaqueTroupe, Kind: wire.OpaqueToolResult, Data: observed(o)}
	}
	e := &wire.ToolResultEvent{RunID: p.run.id, ToolUseID: o.ToolCallID, Name: o.ToolName, IsError: o.IsError, Content: []wire.ContentBlock{}}
	if o.Text != "" {
		e.Content = append(e.Content, &wire.TextBlock{Text: o.Text})
	}
	if md := wire.ResultPart(o).Metadata; len(md) > 0 {
		e.Detail = detail(md)
	}
	return e
}
