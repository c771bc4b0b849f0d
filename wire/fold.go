package wire

import (
	"encoding/json"
	"slices"
)

// Fold defines "exact": the snapshot at n equals Fold of the snapshot at m over
// the frames m+1..n, status frames among them. It does not change s. A snapshot
// frame replaces everything. The rules, in full:
//
//   - message-start opens a message at the end of the open ones; of an id that is
//     open it changes nothing, of an ended id the new message replaces the old.
//   - text-delta and thinking-delta extend the open message's last part when it
//     is of their type, else append one; for an id that is not open they change
//     nothing (a thread turns such a record into unmapped before it gets here).
//   - message-end moves the message behind the complete ones. Its text, where
//     given, becomes the first text part and the only one; images are appended.
//   - tool-call goes into the open message it names, else into the newest open
//     assistant message, else into the ended message it names, else it becomes a
//     complete assistant message of its own, whose id is the call's.
//   - a complete tool-result goes directly behind its call, wherever that is,
//     replacing an earlier one; without a call it becomes a complete message of
//     role tool, whose id is the call's. A partial one changes nothing.
//   - custom-entry is a complete message of role custom; its id is
//     "custom-<number of complete custom messages before it>".
//   - status sets live, busy and generation. A run that begins clears
//     interrupted; a session that is gone takes model, dialogs and the context
//     with it.
//   - run-ended that is not completed sets interrupted.
func Fold(s *Snapshot, frames ...Frame) *Snapshot {
	out := s.clone()
	for _, f := range frames {
		switch f := f.(type) {
		case *Snapshot:
			out = f.clone()
		case *Status:
			out.status(f)
		case *ObservationFrame:
			out.AsOfSeq = f.Seq
			out.Apply(f.Observation)
		}
	}
	return out
}

// clone copies s deeply enough that Apply never reaches the original: messages
// and their part lists are copied, parts are replaced rather than changed.
func (s *Snapshot) clone() *Snapshot {
	c := *s
	c.Messages = slices.Clone(s.Messages)
	for i := range c.Messages {
		c.Messages[i].Parts = slices.Clone(c.Messages[i].Parts)
	}
	if c.Messages == nil {
		c.Messages = []Message{}
	}
	c.OpenDialogs = slices.Clone(s.OpenDialogs)
	if c.OpenDialogs == nil {
		c.OpenDialogs = []OpenDialog{}
	}
	return &c
}

func (s *Snapshot) status(st *Status) {
	if st.Busy && (!s.Busy || st.Generation != s.Generation) {
		s.Interrupted = nil
	}
	s.Live, s.Busy, s.Generation = st.Live, st.Busy, st.Generation
	if s.Live {
		s.RecordedModel = nil
		return
	}
	s.Model = nil
	s.OpenDialogs = []OpenDialog{}
	s.Usage.Context = nil
}

// Apply folds one observation into s, in place. Use Fold unless s is yours.
func (s *Snapshot) Apply(o Observation) {
	switch o := o.(type) {
	case *MessageStart:
		s.messageStart(o)
	case *TextDelta:
		if m := s.open(o.MessageID); m != nil {
			if p, ok := last(m).(*TextPart); ok {
				m.Parts[len(m.Parts)-1] = &TextPart{Text: p.Text + o.Delta}
			} else {
				m.Parts = append(m.Parts, &TextPart{Text: o.Delta})
			}
		}
	case *ThinkingDelta:
		if m := s.open(o.MessageID); m != nil {
			if p, ok := last(m).(*ThinkingPart); ok {
				m.Parts[len(m.Parts)-1] = &ThinkingPart{Text: p.Text + o.Delta}
			} else {
				m.Parts = append(m.Parts, &ThinkingPart{Text: o.Delta})
			}
		}
	case *MessageEnd:
		s.messageEnd(o)
	case *ToolCall:
		s.toolCall(o)
	case *ToolResult:
		if o.Complete {
			s.toolResult(o)
		}
	case *CustomEntry:
		s.addComplete(Message{
			ID: CustomMessageID(s.customCount()), Role: RoleCustom, Complete: true,
			Parts: []Part{&CustomPart{CustomType: o.CustomType, Data: o.Data}},
		})
	case *PermissionMode:
		s.PermissionMode = PermissionModeState{Mode: o.Mode, Available: o.Available}
	case *Model:
		m := o.Model
		s.Model = &m
	case *SessionUsageChanged:
		s.Usage = o.Usage
	case *Login:
		s.Login = nil
		if o.State == LoginWaiting {
			s.Login = &LoginInProgress{Provider: o.Provider, Since: o.Since}
		}
	case *ExtensionUIRequest:
		if o.Blocking && o.Dialog != nil {
			s.OpenDialogs = append(s.OpenDialogs, OpenDialog{ID: o.ID, Dialog: o.Dialog})
		}
	case *DialogSettled:
		s.OpenDialogs = slices.DeleteFunc(s.OpenDialogs, func(d OpenDialog) bool { return d.ID == o.ID })
	case *RunEnded:
		s.Interrupted = nil
		if o.Outcome != RunCompleted {
			s.Interrupted = &Interrupted{Reason: o.Outcome, LastMessageID: s.lastID(), At: o.At}
		}
	}
}

func last(m *Message) Part {
	if len(m.Parts) == 0 {
		return nil
	}
	return m.Parts[len(m.Parts)-1]
}

// lastID is the id of the newest complete message.
func (s *Snapshot) lastID() string {
	if n := s.completeCount(); n > 0 {
		return s.Messages[n-1].ID
	}
	return ""
}

// completeCount is where the open messages begin.
func (s *Snapshot) completeCount() int {
	n := len(s.Messages)
	for n > 0 && !s.Messages[n-1].Complete {
		n--
	}
	return n
}

func (s *Snapshot) customCount() int {
	n := 0
	for i := range s.completeCount() {
		if s.Messages[i].Role == RoleCustom {
			n++
		}
	}
	return n
}

func (s *Snapshot) open(id string) *Message {
	for i := s.completeCount(); i < len(s.Messages); i++ {
		if s.Messages[i].ID == id {
			return &s.Messages[i]
		}
	}
	return nil
}

func (s *Snapshot) addComplete(m Message) {
	s.Messages = slices.Insert(s.Messages, s.completeCount(), m)
}

func (s *Snapshot) messageStart(o *MessageStart) {
	if s.open(o.MessageID) != nil {
		return
	}
	s.Messages = slices.DeleteFunc(s.Messages, func(m Message) bool { return m.ID == o.MessageID })
	s.Messages = append(s.Messages, Message{ID: o.MessageID, Role: o.Role, Parts: []Part{}})
}

func (s *Snapshot) messageEnd(o *MessageEnd) {
	m := s.open(o.MessageID)
	if m == nil {
		return
	}
	ended := *m
	ended.Complete = true
	if o.Text != nil {
		ended.Parts = replaceText(ended.Parts, *o.Text)
	}
	for _, img := range o.Images {
		ended.Parts = append(ended.Parts, &ImagePart{MimeType: img.MimeType, Data: img.Data})
	}
	s.Messages = slices.DeleteFunc(s.Messages, func(m Message) bool { return m.ID == o.MessageID && !m.Complete })
	s.addComplete(ended)
}

func replaceText(parts []Part, text string) []Part {
	out := make([]Part, 0, len(parts)+1)
	placed := false
	for _, p := range parts {
		if _, ok := p.(*TextPart); !ok {
			out = append(out, p)
			continue
		}
		if !placed && text != "" {
			out = append(out, &TextPart{Text: text})
		}
		placed = true
	}
	if !placed && text != "" {
		out = append(out, &TextPart{Text: text})
	}
	return out
}

func (s *Snapshot) toolCall(o *ToolCall) {
	call := &ToolCallPart{ToolCallID: o.ToolCallID, ToolName: o.ToolName, Input: o.Input}
	m := s.open(o.MessageID)
	if m == nil {
		for i := len(s.Messages) - 1; i >= s.completeCount() && m == nil; i-- {
			if s.Messages[i].Role == RoleAssistant {
				m = &s.Messages[i]
			}
		}
	}
	if m == nil && o.MessageID != "" {
		for i := range s.Messages {
			if s.Messages[i].ID == o.MessageID {
				m = &s.Messages[i]
			}
		}
	}
	if m == nil {
		s.addComplete(Message{ID: o.ToolCallID, Role: RoleAssistant, Complete: true, Parts: []Part{call}})
		return
	}
	m.Parts = append(m.Parts, call)
}

func (s *Snapshot) toolResult(o *ToolResult) {
	part := ResultPart(o)
	for i := len(s.Messages) - 1; i >= 0; i-- {
		if placeResult(&s.Messages[i], part) {
			return
		}
	}
	s.addComplete(Message{ID: o.ToolCallID, Role: RoleTool, Complete: true, Parts: []Part{part}})
}

// placeResult puts part behind its call in m, or in place of an earlier result,
// and says whether m holds either.
func placeResult(m *Message, part *ToolResultPart) bool {
	for i, p := range m.Parts {
		switch p := p.(type) {
		case *ToolResultPart:
			if p.ToolCallID == part.ToolCallID {
				m.Parts[i] = part
				return true
			}
		case *ToolCallPart:
			if p.ToolCallID != part.ToolCallID {
				continue
			}
			if i+1 < len(m.Parts) {
				if r, ok := m.Parts[i+1].(*ToolResultPart); ok && r.ToolCallID == part.ToolCallID {
					m.Parts[i+1] = part
					return true
				}
			}
			m.Parts = slices.Insert(m.Parts, i+1, Part(part))
			return true
		}
	}
	return false
}

// ResultPart is the transcript's part of a tool result: the one place where the
// descriptor is written into the metadata, so that live and stored agree.
func ResultPart(o *ToolResult) *ToolResultPart {
	md := Metadata{}
	if o.Descriptor != nil {
		if b, err := json.Marshal(o.Descriptor); err == nil {
			md[ToolResultKey] = b
		}
	}
	return &ToolResultPart{ToolCallID: o.ToolCallID, Text: o.Text, IsError: o.IsError, Metadata: md}
}
