package wire

import (
	"slices"
	"strings"
)

// Fold defines "exact": the snapshot at n equals Fold of the snapshot at m over
// the frames m+1..n, status frames among them. It does not change s. A snapshot
// frame replaces everything. The rules, in full:
//
//   - message-start opens a message at the end of the open ones; of an id that is
//     open it changes nothing, of an ended id it opens another of the same id.
//   - text-delta and thinking-delta extend the open message's last part when it
//     is of their type, else append one; for an id that is not open they change
//     nothing (a thread turns such a record into unmapped before it gets here).
//   - message-end moves the message behind the complete ones. Its text, where
//     given, becomes the first text part and the only one (none when it is
//     empty); images are appended.
//   - tool-call goes into the open message it names, else into the newest open
//     assistant message, else into the ended message it names, else it becomes a
//     complete assistant message of its own, whose id is the call's.
//   - a complete tool-result goes directly behind its call, wherever that is (of
//     several, in the newest message that holds one), replacing an earlier one;
//     without a call it becomes a complete message of role tool, whose id is the
//     call's, or replaces the part in it. A partial one changes nothing.
//   - custom-entry is a complete message of role custom; its id is
//     "custom-<number of complete custom messages before it>".
//   - permission-mode, model and session-usage replace that state whole; login
//     sets login while it waits and clears it after.
//   - extension-ui-request, when it blocks, adds its dialog to the open ones;
//     dialog-settled takes it away.
//   - status sets live, busy and generation. A run that begins clears
//     interrupted; a session that is gone takes model, dialogs and the context
//     with it, one that is there takes recordedModel.
//   - run-ended that is not completed sets interrupted, one that is clears it.
//   - every other kind changes nothing but asOfSeq.
func Fold(s *Snapshot, frames ...Frame) *Snapshot {
	f := NewFolder(s)
	f.Add(frames...)
	return f.s
}

// Folder folds frame by frame into a snapshot of its own, text in buffers that
// only grow: what Fold does at once, for whoever follows a long run. One
// goroutine uses it.
type Folder struct {
	s     *Snapshot
	tails map[string]*tail // by message id; nil folds without buffers
}

// tail is the growing text of an open message's last part. It counts only while
// that part is still the last.
type tail struct {
	part Part
	text strings.Builder
}

// NewFolder starts from a copy of s.
func NewFolder(s *Snapshot) *Folder {
	return &Folder{s: s.clone(), tails: map[string]*tail{}}
}

// Add folds frames in.
func (f *Folder) Add(frames ...Frame) {
	for _, frame := range frames {
		switch frame := frame.(type) {
		case *Snapshot:
			*f = *NewFolder(frame)
		case *Status:
			f.s.status(frame)
		case *ObservationFrame:
			f.s.AsOfSeq = frame.Seq
			f.Observe(frame.Observation)
		}
	}
}

// Snapshot is a copy of what was folded so far.
func (f *Folder) Snapshot() *Snapshot { return f.s.clone() }

// Apply folds one observation into s, in place. Use Fold unless s is yours, and a
// [Folder] for a stream of deltas.
func (s *Snapshot) Apply(o Observation) { (&Folder{s: s}).Observe(o) }

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

// Observe folds one observation in; it leaves AsOfSeq to Add.
func (f *Folder) Observe(o Observation) {
	s := f.s
	switch o := o.(type) {
	case *MessageStart:
		s.messageStart(o)
	case *TextDelta:
		f.grow(o.MessageID, o.Delta, false)
	case *ThinkingDelta:
		f.grow(o.MessageID, o.Delta, true)
	case *MessageEnd:
		s.messageEnd(o)
		delete(f.tails, o.MessageID)
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

// grow extends the open message's last part by delta. Parts are replaced, never
// changed: a copy of the snapshot may hold them.
func (f *Folder) grow(id, delta string, thinking bool) {
	m := f.s.open(id)
	if m == nil {
		return
	}
	before, extends := "", false
	if n := len(m.Parts); n > 0 {
		switch p := m.Parts[n-1].(type) {
		case *TextPart:
			before, extends = p.Text, !thinking
		case *ThinkingPart:
			before, extends = p.Text, thinking
		}
	}
	if !extends {
		m.Parts, before = append(m.Parts, nil), ""
	}
	last := &m.Parts[len(m.Parts)-1]
	t := f.tails[id]
	if t == nil || *last == nil || t.part != *last {
		t = &tail{}
		t.text.Grow(len(before) + len(delta))
		t.text.WriteString(before)
	}
	t.text.WriteString(delta)
	if thinking {
		t.part = &ThinkingPart{Text: t.text.String()}
	} else {
		t.part = &TextPart{Text: t.text.String()}
	}
	*last = t.part
	if f.tails != nil {
		f.tails[id] = t
	}
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
	s.Messages = append(s.Messages, Message{ID: o.MessageID, Role: o.Role, Parts: []Part{}})
}

func (s *Snapshot) messageEnd(o *MessageEnd) {
	first := s.completeCount()
	at := slices.IndexFunc(s.Messages[first:], func(m Message) bool { return m.ID == o.MessageID })
	if at < 0 {
		return
	}
	ended := s.Messages[first+at]
	ended.Complete = true
	if o.Text != nil {
		ended.Parts = replaceText(ended.Parts, *o.Text)
	}
	for _, img := range o.Images {
		ended.Parts = append(ended.Parts, &ImagePart{MimeType: img.MimeType, Data: img.Data})
	}
	copy(s.Messages[first+1:], s.Messages[first:first+at]) // the open ones before it move up
	s.Messages[first] = ended
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
	if m := s.caller(o.MessageID); m != nil {
		m.Parts = append(m.Parts, call)
		return
	}
	s.addComplete(Message{ID: o.ToolCallID, Role: RoleAssistant, Complete: true, Parts: []Part{call}})
}

// caller is the message that a call naming id goes into, nil when there is none.
func (s *Snapshot) caller(id string) *Message {
	if m := s.open(id); m != nil && id != "" {
		return m
	}
	complete := s.completeCount()
	for i := len(s.Messages) - 1; i >= complete; i-- {
		if s.Messages[i].Role == RoleAssistant {
			return &s.Messages[i]
		}
	}
	for i := complete - 1; i >= 0 && id != ""; i-- {
		if s.Messages[i].ID == id {
			return &s.Messages[i]
		}
	}
	return nil
}

func (s *Snapshot) toolResult(o *ToolResult) { s.placeResult(ResultPart(o)) }

// placeResult puts part where its call is.
func (s *Snapshot) placeResult(part *ToolResultPart) {
	for i := len(s.Messages) - 1; i >= 0; i-- {
		if s.Messages[i].placeResult(part) {
			return
		}
	}
	for i := len(s.Messages) - 1; i >= 0; i-- {
		if s.Messages[i].replaceResult(part) {
			return
		}
	}
	s.addComplete(Message{ID: part.ToolCallID, Role: RoleTool, Complete: true, Parts: []Part{part}})
}

// placeResult puts part behind its call, in place of an earlier result, and says
// whether m holds the call.
func (m *Message) placeResult(part *ToolResultPart) bool {
	for i, p := range m.Parts {
		if call, ok := p.(*ToolCallPart); !ok || call.ToolCallID != part.ToolCallID {
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
	return false
}

// replaceResult puts part in place of an earlier result that has no call.
func (m *Message) replaceResult(part *ToolResultPart) bool {
	for i, p := range m.Parts {
		if r, ok := p.(*ToolResultPart); ok && r.ToolCallID == part.ToolCallID {
			m.Parts[i] = part
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
		if b, err := Encode(o.Descriptor); err == nil {
			md[ToolResultKey] = b
		}
	}
	return &ToolResultPart{ToolCallID: o.ToolCallID, Text: o.Text, IsError: o.IsError, Metadata: md}
}
