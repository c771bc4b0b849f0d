package wire

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// FoldEvents applies events to a copy of s.
func FoldEvents(s *EntityState, events ...*Event) *EntityState {
	c := s.clone()
	for _, e := range events {
		c.Apply(e)
	}
	return c
}

// clone copies s deeply enough that Apply never reaches the original.
func (s *EntityState) clone() *EntityState {
	c := *s
	c.Messages = slices.Clone(s.Messages)
	for i := range c.Messages {
		c.Messages[i].Parts = slices.Clone(c.Messages[i].Parts)
	}
	c.MessageSeqs = slices.Clone(s.MessageSeqs)
	c.OpenCalls = slices.Clone(s.OpenCalls)
	c.Children = slices.Clone(s.Children)
	return &c
}

// Apply folds one event into s, in place. What it gives of messages equals what
// [Fold] gives of the observations that the events were projected from, once no
// message is open. The rules of messages, in full:
//
//   - message is a complete message, its content text and image parts. One of
//     role assistant whose id is "<id>+<n>", n at least 2, goes on in the newest
//     message <id>, when there is one: text meets text in one part.
//   - reasoning is the first part of the assistant message that follows it.
//   - tool_call goes into the newest assistant message of its run; without one it
//     is a message of its own, whose id is the call's.
//   - tool_result goes behind its call, as in [Fold].
//   - opaque of kind custom-entry is a message of role custom, as in [Fold]; those
//     of our own do what their kinds say.
//   - run_started clears interrupted; a run_finished that is no success sets it.
//   - a state_snapshot with historyHole replaces everything, others nothing.
func (s *EntityState) Apply(e *Event) {
	s.Seq = e.Seq
	switch p := e.Payload.(type) {
	case *EntitySpawned:
		s.EntityType, s.ParentID, s.SpawnArgs, s.WorkspaceRef = p.EntityType, p.ParentID, p.SpawnArgs, p.WorkspaceRef
	case *RunStarted:
		s.runStarted(e, p)
	case *MessageEvent:
		s.message(p)
	case *ToolCallEvent:
		s.toolCall(p)
	case *ToolResultEvent:
		s.toolResult(p.resultPart())
	case *Reasoning:
		if s.ThinkingID == "" {
			s.ThinkingID = p.ID
		}
		s.Thinking += p.Text
	case *StateSnapshot:
		if p.HistoryHole {
			if state, err := DecodeState(p.State); err == nil {
				*s = *state
				s.Seq = e.Seq
			}
		}
	case *Summarization:
		s.Summary = &StateSummary{Summary: p.Summary, ReplacesThroughSeq: p.ReplacesThroughSeq}
		n := 0
		for n < len(s.MessageSeqs) && s.MessageSeqs[n] <= p.ReplacesThroughSeq {
			n++
		}
		s.Replaced = max(s.Replaced, s.Omitted+int64(n))
		s.Truncated = s.Omitted > s.Replaced
	case *Control:
		switch p.Verb {
		case VerbPause:
			s.Paused = true
		case VerbResume:
			s.Paused = false
		}
	case *RunFinished:
		s.runFinished(e, p)
	case *ChildSpawned:
		s.Children = append(s.Children, StateChild{ChildID: p.ChildID, ChildType: p.ChildType})
	case *ChildFinished:
		s.ChildrenFinished++
		s.Children = slices.DeleteFunc(s.Children, func(c StateChild) bool { return c.ChildID == p.ChildID })
	case *Archived:
		s.Archived = true
	case *Opaque:
		s.opaque(p)
	}
}

func (s *EntityState) runStarted(e *Event, p *RunStarted) {
	s.settleThinking()
	s.Archived, s.Interrupted, s.Speaking = false, nil, ""
	s.Runs++
	s.Run = &OpenRun{RunID: p.RunID, Source: p.Wake.Source, Seq: e.Seq, StartedAt: e.TS}
	s.OpenCalls = []OpenCall{}
	if d, err := DecodeStrict[RunDetail](p.Detail); err == nil && d.Model != nil {
		s.Model = d.Model
	}
}

func (s *EntityState) runFinished(e *Event, p *RunFinished) {
	s.settleThinking()
	s.Run, s.OpenCalls, s.Speaking = nil, []OpenCall{}, ""
	s.Usage = s.Usage.plus(p.Usage)
	s.Interrupted = nil
	reason := map[EventOutcome]RunOutcome{OutcomeError: RunFailed, OutcomeInterrupted: RunAborted}[p.Outcome]
	if reason != "" {
		s.Interrupted = &Interrupted{Reason: reason, At: e.TS}
		if n := len(s.Messages); n > 0 {
			s.Interrupted.LastMessageID = s.Messages[n-1].ID
		}
	}
}

// plus adds a later run's accounting.
func (u RunUsage) plus(v RunUsage) RunUsage {
	u.InputTokens += v.InputTokens
	u.CacheReadTokens += v.CacheReadTokens
	u.OutputTokens += v.OutputTokens
	u.Steps += v.Steps
	if v.ContextTokens != 0 {
		u.ContextTokens = v.ContextTokens
	}
	if v.CostUSD != nil {
		cost := *v.CostUSD
		if u.CostUSD != nil {
			cost += *u.CostUSD
		}
		u.CostUSD = &cost
	}
	return u
}

// settleThinking makes a message of reasoning that none followed.
func (s *EntityState) settleThinking() {
	if s.ThinkingID == "" {
		return
	}
	id := s.ThinkingID
	s.push(Message{ID: id, Role: RoleAssistant, Complete: true, Parts: s.takeThinking()})
}

func (s *EntityState) takeThinking() []Part {
	if s.ThinkingID == "" {
		return []Part{}
	}
	p := &ThinkingPart{Text: s.Thinking}
	s.Thinking, s.ThinkingID = "", ""
	return []Part{p}
}

func (s *EntityState) push(m Message) {
	s.Messages = append(s.Messages, m)
	s.MessageSeqs = append(s.MessageSeqs, s.Seq)
	if m.Role == RoleCustom {
		s.CustomEntries++
	}
}

// newest is the newest message of this id, nil when there is none.
func (s *EntityState) newest(id string) *Message {
	for i := len(s.Messages) - 1; i >= 0; i-- {
		if s.Messages[i].ID == id {
			return &s.Messages[i]
		}
	}
	return nil
}

// SegmentID is the id of the n-th message event of an assistant's message that
// takes several, n from 1.
func SegmentID(message string, n int) string {
	if n < 2 {
		return message
	}
	return message + "+" + strconv.Itoa(n)
}

// SegmentOf is the message that a message event goes on in; ok is false when it
// begins one.
func SegmentOf(id string) (message string, ok bool) {
	i := strings.LastIndexByte(id, '+')
	if i <= 0 {
		return id, false
	}
	n, err := strconv.Atoi(id[i+1:])
	if err != nil || n < 2 || strconv.Itoa(n) != id[i+1:] {
		return id, false
	}
	return id[:i], true
}

func (s *EntityState) message(p *MessageEvent) {
	if p.Role != EventRoleAssistant {
		s.settleThinking()
		s.Speaking = ""
		role := map[EventRole]Role{EventRoleUser: RoleUser, EventRoleSystemNote: RoleSystem}[p.Role]
		s.push(Message{ID: p.ID, Role: role, Parts: contentParts([]Part{}, p.Content), Complete: true})
		return
	}
	parts := contentParts(s.takeThinking(), p.Content)
	if base, ok := SegmentOf(p.ID); ok {
		if m := s.newest(base); m != nil {
			m.Parts = JoinParts(m.Parts, parts)
			s.Speaking = base
			return
		}
	}
	s.push(Message{ID: p.ID, Role: RoleAssistant, Parts: parts, Complete: true})
	s.Speaking = p.ID
}

// JoinParts is more behind parts, where text meets text, or thinking thinking, in
// one part.
func JoinParts(parts, more []Part) []Part {
	out := slices.Clone(parts)
	if len(out) > 0 && len(more) > 0 {
		last := &out[len(out)-1]
		switch a := (*last).(type) {
		case *TextPart:
			if b, ok := more[0].(*TextPart); ok {
				*last, more = &TextPart{Text: a.Text + b.Text}, more[1:]
			}
		case *ThinkingPart:
			if b, ok := more[0].(*ThinkingPart); ok {
				*last, more = &ThinkingPart{Text: a.Text + b.Text}, more[1:]
			}
		}
	}
	return append(out, more...)
}

func contentParts(parts []Part, content []ContentBlock) []Part {
	for _, b := range content {
		switch b := b.(type) {
		case *TextBlock:
			parts = append(parts, &TextPart{Text: b.Text})
		case *ImageBlock:
			parts = append(parts, &ImagePart{MimeType: b.MimeType, Data: b.Data})
		}
	}
	return parts
}

func (s *EntityState) toolCall(p *ToolCallEvent) {
	s.OpenCalls = append(s.OpenCalls, OpenCall{RunID: p.RunID, ToolUseID: p.ToolUseID, Name: p.Name})
	part := &ToolCallPart{ToolCallID: p.ToolUseID, ToolName: p.Name, Input: p.Input}
	if s.Speaking != "" {
		if m := s.newest(s.Speaking); m != nil {
			m.Parts = append(m.Parts, part)
			return
		}
	}
	s.push(Message{ID: p.ToolUseID, Role: RoleAssistant, Complete: true, Parts: []Part{part}})
}

// resultPart is the part that the result is in a transcript: the bag of metadata is
// its detail, where that is an object.
func (p *ToolResultEvent) resultPart() *ToolResultPart {
	var text strings.Builder
	for _, b := range p.Content {
		if t, ok := b.(*TextBlock); ok {
			text.WriteString(t.Text)
		}
	}
	md := Metadata{}
	var detail map[string]json.RawMessage
	if json.Unmarshal(p.Detail, &detail) == nil {
		for k, v := range detail {
			md[k] = v
		}
	}
	return &ToolResultPart{ToolCallID: p.ToolUseID, Text: text.String(), IsError: p.IsError, Metadata: md}
}

// fold runs one of [Fold]'s own rules on the messages.
func (s *EntityState) fold(rule func(*Snapshot)) {
	f := Snapshot{Messages: s.Messages}
	rule(&f)
	s.Messages = f.Messages
	for len(s.MessageSeqs) < len(s.Messages) {
		s.MessageSeqs = append(s.MessageSeqs, s.Seq)
	}
}

func (s *EntityState) toolResult(part *ToolResultPart) {
	s.OpenCalls = slices.DeleteFunc(s.OpenCalls, func(c OpenCall) bool { return c.ToolUseID == part.ToolCallID })
	s.fold(func(f *Snapshot) { f.placeResult(part) })
}

func (s *EntityState) opaque(p *Opaque) {
	if customType, ok := CustomType(p.Kind); ok {
		s.push(Message{
			ID: CustomMessageID(int(s.CustomEntries)), Role: RoleCustom, Complete: true,
			Parts: []Part{&CustomPart{CustomType: customType, Data: p.Data}},
		})
		return
	}
	if p.Origin != OpaqueTroupe {
		return
	}
	switch p.Kind {
	case OpaqueMessage:
		if m, err := DecodeStrict[Message](p.Data); err == nil {
			s.push(m)
		}
	case OpaqueMessageRestated:
		if m, err := DecodeStrict[Message](p.Data); err == nil {
			s.restate(m)
		}
	case OpaqueToolCall:
		if c, err := DecodeStrict[ToolCall](p.Data); err == nil {
			s.fold(func(f *Snapshot) { f.toolCall(&c) })
		}
	case OpaqueToolResult:
		if r, err := DecodeStrict[ToolResult](p.Data); err == nil {
			s.toolResult(ResultPart(&r))
		}
	}
}

// restate puts m behind all others, in place of the newest of its id.
func (s *EntityState) restate(m Message) {
	seq := s.Seq
	for i := len(s.Messages) - 1; i >= 0; i-- {
		if s.Messages[i].ID == m.ID {
			seq = s.MessageSeqs[i]
			s.Messages = slices.Delete(slices.Clone(s.Messages), i, i+1)
			s.MessageSeqs = slices.Delete(slices.Clone(s.MessageSeqs), i, i+1)
			break
		}
	}
	s.push(m)
	s.MessageSeqs[len(s.MessageSeqs)-1] = max(seq, 0)
}
