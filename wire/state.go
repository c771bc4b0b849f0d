package wire

// EntityState is what the state of our snapshots holds: the complete
// materialisation of an entity's timeline. [EntityState.Apply] defines it: the
// state at seq n is the state at m with the events m+1..n applied. Only Title is
// not of the timeline: whoever takes the snapshot says it.
type EntityState struct {
	Seq          int64   `json:"seq"` // the newest event's, -1 for none
	EntityType   string  `json:"entityType"`
	ParentID     *string `json:"parentId"`
	SpawnArgs    RawJSON `json:"spawnArgs,omitempty"`
	WorkspaceRef string  `json:"workspaceRef,omitempty"`
	Title        string  `json:"title"`
	Paused       bool    `json:"paused"`
	Archived     bool    `json:"archived"`

	Runs        uint64       `json:"runs"` // how many have begun
	Run         *OpenRun     `json:"run,omitempty"`
	OpenCalls   []OpenCall   `json:"openCalls"` // of the open run, without a result
	Model       *ModelState  `json:"model"`     // the newest run's
	Usage       RunUsage     `json:"usage"`     // of all finished runs; contextTokens of the newest
	Interrupted *Interrupted `json:"interrupted,omitempty"`

	Children         []StateChild `json:"children"` // those that have not finished
	ChildrenFinished int64        `json:"childrenFinished"`

	Summary  *StateSummary `json:"summary,omitempty"` // the newest summarization
	Replaced int64         `json:"replaced"`          // how many of all messages it replaced, from the oldest on
	Omitted  int64         `json:"omitted"`           // how many of all messages are not in Messages, from the oldest on

	// Messages is the transcript in the form of [Fold], all complete, and
	// MessageSeqs the seq of the event that each began with.
	Messages      []Message `json:"messages"`
	MessageSeqs   []int64   `json:"messageSeqs"`
	CustomEntries int64     `json:"customEntries"`      // how many of all messages are of role custom
	Speaking      string    `json:"speaking,omitempty"` // the message that a tool_call goes into
	Thinking      string    `json:"thinking,omitempty"` // reasoning whose message has not come yet
	ThinkingID    string    `json:"thinkingId,omitempty"`

	// Truncated says that messages are missing which no summarization replaced:
	// read the events instead.
	Truncated bool `json:"truncated,omitempty"`
}

// OpenRun is a run that has begun and not finished.
type OpenRun struct {
	RunID     string     `json:"runId"`
	Source    WakeSource `json:"source"`
	Seq       int64      `json:"seq"` // of its run_started
	StartedAt Time       `json:"startedAt"`
}

// OpenCall is a call without a result.
type OpenCall struct {
	RunID     string `json:"runId"`
	ToolUseID string `json:"toolUseId"`
	Name      string `json:"name"`
}

// StateChild is a child that has not finished.
type StateChild struct {
	ChildID   string `json:"childId"`
	ChildType string `json:"childType"`
}

// StateSummary stands for everything up to ReplacesThroughSeq, for the model.
type StateSummary struct {
	Summary            string `json:"summary"`
	ReplacesThroughSeq int64  `json:"replacesThroughSeq"`
}

// NewEntityState is the state before the first event.
func NewEntityState() *EntityState {
	return &EntityState{
		Seq: -1, OpenCalls: []OpenCall{}, Children: []StateChild{}, Messages: []Message{}, MessageSeqs: []int64{},
	}
}

// DecodeState reads the state of one of our snapshots strictly.
func DecodeState(b []byte) (*EntityState, error) {
	s, err := DecodeStrict[EntityState](b)
	if err != nil {
		return nil, err
	}
	return &s, nil
}

func (s *EntityState) check() error {
	if len(s.Messages) != len(s.MessageSeqs) {
		return at(refuse("want one for each of %d messages, got %d", len(s.Messages), len(s.MessageSeqs)), "messageSeqs")
	}
	return first(atLeast(-1, "seq", s.Seq), atLeast(0, "replaced", s.Replaced, "omitted", s.Omitted,
		"customEntries", s.CustomEntries, "childrenFinished", s.ChildrenFinished))
}

// Snapshot is the thread as a follow shows it while no session lives: what the
// timeline knows of it. Permission mode, folder and the session's usage are not on
// the timeline.
func (s *EntityState) Snapshot(thread string) *Snapshot {
	out := &Snapshot{
		ThreadID: thread, Generation: s.Runs, PermissionMode: DefaultPermissionMode(),
		RecordedModel: s.Model, Messages: s.Messages, Interrupted: s.Interrupted,
	}
	return out.clone()
}

// EncodeState renders s as a snapshot's state of at most limit bytes. What does
// not fit is left out of it, not of s: first the messages that a summarization
// replaced, then, with Truncated, older ones.
func EncodeState(s *EntityState, limit int) (RawJSON, error) {
	c := s.clone()
	for {
		b, err := Encode(c)
		if err != nil {
			return nil, err
		}
		over := len(b) - limit
		if over <= 0 {
			return b, nil
		}
		if len(c.Messages) == 0 {
			if c.shed() {
				continue
			}
			return nil, Errorf(CodeTooLarge, "a state of %d bytes without its messages, the limit is %d", len(b), limit)
		}
		n := 0
		for ; n < len(c.Messages) && over > 0; n++ {
			m, err := Encode(&c.Messages[n])
			if err != nil {
				return nil, err
			}
			over -= len(m)
		}
		c.drop(n)
	}
}

// shed leaves out what is large beside the messages, and says whether there was
// anything.
func (s *EntityState) shed() bool {
	if len(s.Children) == 0 && s.Summary == nil && s.Thinking == "" && s.SpawnArgs == nil && len(s.OpenCalls) == 0 {
		return false
	}
	s.Children, s.OpenCalls, s.Summary, s.Thinking, s.SpawnArgs = []StateChild{}, []OpenCall{}, nil, "", nil
	s.Truncated = true
	return true
}

// Size is about how many bytes the messages take; encoded they may take more.
func (s *EntityState) Size() int {
	n := 0
	for i := range s.Messages {
		n += s.Messages[i].size()
	}
	return n
}

const partOverhead = 64

func (m *Message) size() int {
	n := partOverhead + len(m.ID)
	for _, p := range m.Parts {
		n += partOverhead
		switch p := p.(type) {
		case *TextPart:
			n += len(p.Text)
		case *ThinkingPart:
			n += len(p.Text)
		case *ToolCallPart:
			n += len(p.Input) + len(p.ToolCallID) + len(p.ToolName)
		case *ToolResultPart:
			n += len(p.Text) + len(p.ToolCallID)
			for k, v := range p.Metadata {
				n += len(k) + len(v)
			}
		case *CustomPart:
			n += len(p.CustomType) + len(p.Data)
		case *ImagePart:
			n += len(p.Data)
		}
	}
	return n
}

// Trim drops the oldest messages until Size is at most limit. Whoever keeps a
// state for long bounds it so; Omitted and Truncated say what is missing.
func (s *EntityState) Trim(limit int) {
	size, n := s.Size(), 0
	for n < len(s.Messages) && size > limit {
		size -= s.Messages[n].size()
		n++
	}
	s.drop(n)
}

func (s *EntityState) drop(n int) {
	s.Messages = append([]Message{}, s.Messages[n:]...)
	s.MessageSeqs = append([]int64{}, s.MessageSeqs[n:]...)
	s.Omitted += int64(n)
	s.Truncated = s.Omitted > s.Replaced
}
