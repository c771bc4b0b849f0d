package actors

import (
	"slices"
	"unicode/utf8"

	"github.com/troupe-run/troupe/wire"
)

// transcript is the part of a thread's messages that the journal does not hold
// yet: the open ones, and the records that are not durable. Everything else is
// history, read from the journal up to the committed head. It obeys the rules of
// wire.Fold; a test holds the two together.
type transcript struct {
	open []*openMessage // in the order of their start
	tail []record       // not durable, in the order of seq; never changed in place
}

// openMessage is a message under way. Text grows in place in append-only
// buffers, so that a pin is a prefix and concatenation is never quadratic.
type openMessage struct {
	id    string
	role  wire.Role
	parts []openPart
}

// openPart is a piece of an open message: growing text (kind text or thinking),
// or a finished part.
type openPart struct {
	text     []byte
	thinking bool
	call     *wire.ToolCall
	result   *wire.ToolResult
}

func (t *transcript) find(id string) *openMessage {
	for _, m := range t.open {
		if m.id == id {
			return m
		}
	}
	return nil
}

// apply takes one observation in. done are the observations of a new record of
// type what, nil when none is due.
func (t *transcript) apply(o wire.Observation) (what string, done []wire.Observation) {
	switch o := o.(type) {
	case *wire.MessageStart:
		if t.find(o.MessageID) == nil {
			t.open = append(t.open, &openMessage{id: o.MessageID, role: o.Role})
		}
	case *wire.TextDelta:
		t.grow(o.MessageID, o.Delta, false)
	case *wire.ThinkingDelta:
		t.grow(o.MessageID, o.Delta, true)
	case *wire.MessageEnd:
		m := t.find(o.MessageID)
		if m == nil {
			return "", nil
		}
		t.open = slices.DeleteFunc(slices.Clone(t.open), func(x *openMessage) bool { return x == m })
		return recordMessage, m.ended(o)
	case *wire.ToolCall:
		if m := t.caller(o.MessageID); m != nil {
			m.parts = append(m.parts, openPart{call: o})
			return "", nil
		}
		return recordTouched, []wire.Observation{o}
	case *wire.ToolResult:
		if !o.Complete {
			return "", nil
		}
		for _, m := range slices.Backward(t.open) {
			if m.result(o) {
				return "", nil
			}
		}
		return recordTouched, []wire.Observation{o}
	case *wire.CustomEntry:
		return recordTouched, []wire.Observation{o}
	}
	return "", nil
}

// caller is the open message that a call naming id goes into: that one, else the
// newest open assistant message.
func (t *transcript) caller(id string) *openMessage {
	if m := t.find(id); m != nil {
		return m
	}
	for _, m := range slices.Backward(t.open) {
		if m.role == wire.RoleAssistant {
			return m
		}
	}
	return nil
}

// grow appends to an open message. Bytes that are no text become U+FFFD here, one by
// one as the encoder has it: halves of a rune that came in two deltas must not join in
// the record when every follower saw them apart.
func (t *transcript) grow(id, delta string, thinking bool) {
	m := t.find(id)
	if m == nil {
		return
	}
	if !utf8.ValidString(delta) {
		delta = string([]rune(delta))
	}
	if n := len(m.parts); n > 0 {
		if p := &m.parts[n-1]; p.call == nil && p.result == nil && p.thinking == thinking {
			p.text = append(p.text, delta...)
			return
		}
	}
	m.parts = append(m.parts, openPart{text: []byte(delta), thinking: thinking})
}

// result puts r behind its call, or in place of an earlier result, and says
// whether m holds either. The part list is copied: a pin may hold it.
func (m *openMessage) result(r *wire.ToolResult) bool {
	for i, p := range m.parts {
		switch {
		case p.result != nil && p.result.ToolCallID == r.ToolCallID:
			m.parts = slices.Clone(m.parts)
			m.parts[i].result = r
			return true
		case p.call != nil && p.call.ToolCallID == r.ToolCallID:
			if i+1 < len(m.parts) && m.parts[i+1].result != nil && m.parts[i+1].result.ToolCallID == r.ToolCallID {
				m.parts = slices.Clone(m.parts)
				m.parts[i+1].result = r
				return true
			}
			m.parts = slices.Insert(slices.Clone(m.parts), i+1, openPart{result: r})
			return true
		}
	}
	return false
}

// ended is m as a record: the fewest observations that fold to it.
func (m *openMessage) ended(end *wire.MessageEnd) []wire.Observation {
	obs := []wire.Observation{&wire.MessageStart{MessageID: m.id, Role: m.role}}
	for _, p := range m.parts {
		obs = append(obs, p.observation(m.id))
	}
	return append(obs, end)
}

func (p openPart) observation(id string) wire.Observation {
	switch {
	case p.call != nil:
		c := *p.call
		c.MessageID = id
		return &c
	case p.result != nil:
		return p.result
	case p.thinking:
		return &wire.ThinkingDelta{MessageID: id, Delta: string(p.text)}
	}
	return &wire.TextDelta{MessageID: id, Delta: string(p.text)}
}

// committed forgets the records up to seq: the journal has them.
func (t *transcript) committed(seq int64) {
	n := 0
	for n < len(t.tail) && t.tail[n].seq <= seq {
		n++
	}
	t.tail = slices.Clone(t.tail[n:])
}

// pinOpen is the open messages as they are now, as prefixes of what grows.
func (t *transcript) pinOpen() []openMessage {
	out := make([]openMessage, 0, len(t.open))
	for _, m := range t.open {
		c := *m
		c.parts = slices.Clone(m.parts)
		for i := range c.parts {
			c.parts[i].text = slices.Clip(c.parts[i].text)
		}
		out = append(out, c)
	}
	return out
}
