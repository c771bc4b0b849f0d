package actors

import (
	"reflect"
	"slices"

	"github.com/troupe-run/troupe/wire"
)

// telling is what readers have been told of an open message.
type telling struct {
	parts    []wire.Part // as they fold it: a prefix of the message's own
	segments int         // message events
	thoughts int         // thinking parts
	began    int         // the projector's began right behind its first event

	segment int   // that the text under way is going to be in, from 1
	stage   stage // of that segment
	idx     int64 // of the next delta of its text
	thought int64 // of the next delta of its reasoning
}

// stage is how far a segment has come: its parts are a thought, then text, then
// calls, and what would go backwards begins another.
type stage int

const (
	stageEmpty stage = iota
	stageThinking
	stageText
	stageCalls
)

// tellable says whether an open message can be told in pieces, as canonical
// events: an assistant's, unless its id reads as the segment of another.
func tellable(m *openMessage) bool {
	_, segment := wire.SegmentOf(m.id)
	return m.role == wire.RoleAssistant && !segment
}

func (p *projector) start(o *wire.MessageStart) {
	if p.truth.find(o.MessageID) != nil {
		return
	}
	p.truth.open = append(p.truth.open, &openMessage{id: o.MessageID, role: o.Role})
	p.told[o.MessageID] = &telling{segment: 1}
}

// grow extends an open message and gives the delta of it.
func (p *projector) grow(m moment, id, text string, thinking bool) []wire.Delta {
	msg := p.truth.find(id)
	if msg == nil {
		return nil
	}
	p.truth.grow(id, text, thinking)
	t := p.told[id]
	switch {
	case thinking && t.stage >= stageText, !thinking && t.stage == stageCalls:
		t.segment++
		t.idx, t.thought = 0, 0
	case thinking && t.stage != stageThinking:
		t.thought = 0
	}
	t.stage = stageText
	if thinking {
		t.stage = stageThinking
	}
	if p.run == nil || text == "" || !tellable(msg) {
		return nil
	}
	if thinking {
		n := 0
		for _, part := range msg.parts {
			if part.thinking {
				n++
			}
		}
		t.thought++
		return []wire.Delta{&wire.DeltaReasoning{
			V: wire.EventVersion, EntityID: p.entity, RunID: p.run.id, Ref: reasoningID(id, n), Idx: t.thought - 1,
			TS: wire.At(m.now), Attempt: p.attempt(), Text: text,
		}}
	}
	t.idx++
	return []wire.Delta{&wire.DeltaText{
		V: wire.EventVersion, EntityID: p.entity, RunID: p.run.id, Ref: wire.SegmentID(id, t.segment), Idx: t.idx - 1,
		TS: wire.At(m.now), Attempt: p.attempt(), Text: text,
	}}
}

// wireParts are an open message's parts from the n-th on, as a transcript has them.
func (m *openMessage) wireParts(n int) []wire.Part {
	out := make([]wire.Part, 0, len(m.parts)-n)
	for _, part := range m.parts[n:] {
		switch {
		case part.call != nil:
			out = append(out, callPart(part.call))
		case part.result != nil:
			out = append(out, wire.ResultPart(part.result))
		case part.thinking:
			out = append(out, &wire.ThinkingPart{Text: string(part.text)})
		default:
			out = append(out, &wire.TextPart{Text: string(part.text)})
		}
	}
	return out
}

func callPart(o *wire.ToolCall) *wire.ToolCallPart {
	return &wire.ToolCallPart{ToolCallID: o.ToolCallID, ToolName: o.ToolName, Input: o.Input}
}

// end completes a message.
func (p *projector) end(o *wire.MessageEnd) []wire.Payload {
	m := p.truth.find(o.MessageID)
	if m == nil {
		return nil
	}
	t, by := p.told[m.id], p.authors[m.id]
	delete(p.told, m.id)
	delete(p.authors, m.id)
	p.truth.open = slices.DeleteFunc(p.truth.open, func(x *openMessage) bool { return x == m })

	whole := wire.Message{ID: m.id, Role: m.role, Parts: m.wireParts(0)}
	fold := &wire.Snapshot{Messages: []wire.Message{whole}}
	fold.Apply(o) // by Fold's own rules of text and images
	whole = fold.Messages[0]

	var out []wire.Payload
	switch {
	case tellable(m):
		rest, ok := behind(t.parts, whole.Parts)
		if !ok { // its end replaced what was told: the rest is told as it was, and then all of it restated
			rest = m.wireParts(len(t.parts))
		}
		if len(rest) > 0 || t.segments == 0 || t.idx > 0 { // deltas that went out have their event, even an empty one
			out = p.tell(m.id, t, rest)
		}
	case m.role == wire.RoleUser, m.role == wire.RoleSystem && by.note:
		out = p.tellWhole(&whole, t, by)
	default:
		p.began++
		return append(out, &wire.Opaque{Origin: wire.OpaqueTroupe, Kind: wire.OpaqueMessage, Data: detail(&whole)})
	}
	if !equalParts(t.parts, whole.Parts) || t.began != p.began {
		out = append(out, p.restated(&whole)...)
	}
	return out
}

// restated says a message once more, as it stands at its end. One that is too
// large for an event stays as it was told.
func (p *projector) restated(m *wire.Message) []wire.Payload {
	e := &wire.Opaque{Origin: wire.OpaqueTroupe, Kind: wire.OpaqueMessageRestated, Data: detail(m)}
	if !fitting(e) {
		return nil
	}
	p.began++ // it stands behind the others now
	return []wire.Payload{e}
}

// behind is what whole has behind told; ok is false when it does not begin with it.
func behind(told, whole []wire.Part) (rest []wire.Part, ok bool) {
	if len(told) > len(whole) || !equalParts(told, whole[:len(told)]) {
		return nil, false
	}
	return whole[len(told):], true
}

func equalParts(a, b []wire.Part) bool {
	return slices.EqualFunc(a, b, func(x, y wire.Part) bool { return reflect.DeepEqual(x, y) })
}

// tellWhole tells a message that no agent wrote, in one event.
func (p *projector) tellWhole(m *wire.Message, t *telling, by author) []wire.Payload {
	e := &wire.MessageEvent{ID: m.ID, RunID: p.runID(), Role: wire.EventRoleUser, Content: content(m.Parts), From: by.from}
	if by.note {
		e.Role = wire.EventRoleSystemNote
	}
	p.began++
	p.speaking = ""
	t.began = p.began
	for _, part := range m.Parts {
		switch part.(type) {
		case *wire.TextPart, *wire.ImagePart:
			t.parts = append(t.parts, part)
		}
	}
	return []wire.Payload{e}
}

// content is the text and the images of parts.
func content(parts []wire.Part) []wire.ContentBlock {
	out := []wire.ContentBlock{}
	for _, part := range parts {
		switch part := part.(type) {
		case *wire.TextPart:
			out = append(out, &wire.TextBlock{Text: part.Text})
		case *wire.ImagePart:
			out = append(out, &wire.ImageBlock{MimeType: part.MimeType, Data: part.Data})
		}
	}
	return out
}

// tell tells parts of an assistant's message, those that follow what was told of
// it: thoughts, text and images. Without any it tells an empty segment, for calls
// to go into.
func (p *projector) tell(id string, t *telling, parts []wire.Part) []wire.Payload {
	var out []wire.Payload
	rest := parts
	for first := true; first || len(rest) > 0; first = false {
		segment := rest
		if len(rest) > 0 {
			if thought, ok := rest[0].(*wire.ThinkingPart); ok {
				t.thoughts++
				out = append(out, p.think(reasoningID(id, t.thoughts), thought.Text)...)
				rest = rest[1:]
			}
		}
		n := 0
		for n < len(rest) && !isThought(rest[n]) {
			n++
		}
		for _, blocks := range pieces(content(rest[:n])) {
			t.segments++
			out = append(out, &wire.MessageEvent{
				ID: wire.SegmentID(id, t.segments), RunID: p.runID(), Role: wire.EventRoleAssistant, Content: blocks,
			})
			if t.segments == 1 {
				p.began++
				t.began = p.began
			}
		}
		rest = rest[n:]
		t.parts = wire.JoinParts(t.parts, segment[:len(segment)-len(rest)]) // as readers have them
	}
	t.segment, t.stage, t.idx, t.thought = t.segments, stageCalls, 0, 0
	p.speaking = id
	return out
}

func isThought(part wire.Part) bool {
	_, ok := part.(*wire.ThinkingPart)
	return ok
}

// think is a thought in as many events as its size takes.
func (p *projector) think(id, text string) []wire.Payload {
	var out []wire.Payload
	for i, piece := range split(text) {
		out = append(out, &wire.Reasoning{ID: wire.SegmentID(id, i+1), RunID: p.runID(), Text: piece})
	}
	return out
}
