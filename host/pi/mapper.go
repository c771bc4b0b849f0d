package pi

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-run/troupe/wire"
)

// mapper turns the agent's lines into observations: a pure function of the line,
// its origin, and what came before. It has no clock, no I/O and no randomness.
//
// A line is never nothing: it gives observations, or a fact of the protocol, or
// both; what there is no word for is unmapped, whole.
type mapper struct {
	session uint64
	counter int

	expected []handed // prompts handed over whose echo has not come, oldest first
	turn     int

	open  *openMessage
	calls map[string]bool // calls told; true once their result is complete

	model   *wire.ModelState
	usage   wire.SessionUsage
	refused string // the error of the newest assistant message, "" when it had none
}

// handed is a prompt on its way into the transcript. The thread tells the user's
// own messages itself, so its echo is a fact and no observation.
type handed struct {
	messageID string
	text      string
	steered   bool
}

// openMessage is the assistant's message under way.
type openMessage struct {
	id   string
	said strings.Builder
}

// fact is what a line says about the protocol rather than the thread: a closed
// union. A line whose fact is told repeats what another one has said.
type fact interface{ fact() }

type (
	told      struct{}                                   // what it says has been told
	responded struct{ e *event }                         // an answer to a command
	began     struct{}                                   // the agent works
	stopped   struct{ willRetry bool }                   // the agent stopped; it may retry
	settled   struct{ aborted bool }                     // nothing of the run is left
	took      struct{ handed handed }                    // a prompt is in the transcript
	retrying  struct{ on bool }                          // it waits to ask its provider again, or has
	compacts  struct{ on bool }                          // a compaction begins, or is over
	asked     struct{ request *wire.ExtensionUIRequest } // a question, also observed
	malformed struct{ id string }                        // a question out of our schema
	executes  struct {                                   // a tool begins, or has ended
		call string
		on   bool
	}
)

func (told) fact()      {}
func (responded) fact() {}
func (began) fact()     {}
func (stopped) fact()   {}
func (settled) fact()   {}
func (took) fact()      {}
func (retrying) fact()  {}
func (compacts) fact()  {}
func (asked) fact()     {}
func (malformed) fact() {}
func (executes) fact()  {}

// maxUnmapped is how much of a line that is no JSON is told.
const maxUnmapped = 64 << 10

func newMapper(session uint64) *mapper {
	return &mapper{session: session, calls: map[string]bool{}}
}

// handOver says that a prompt was given to the agent. A new run counts its turns
// from 1.
func (m *mapper) handOver(h handed) {
	if !h.steered {
		m.turn = 0
		m.expected = nil
		m.calls = map[string]bool{}
		m.refused = ""
	}
	m.expected = append(m.expected, h)
}

func (m *mapper) newID(kind string) string {
	m.counter++
	return fmt.Sprintf("s%d-%s%d", m.session, kind, m.counter)
}

// mapLine is the function itself.
func (m *mapper) mapLine(line []byte, origin wire.Origin) ([]wire.Observation, fact) {
	e, err := parse(line)
	if err != nil {
		return []wire.Observation{unmappedText(line)}, nil
	}
	obs, f := m.mapEvent(e, origin)
	if _, bad := f.(malformed); bad || len(obs) == 0 && f == nil {
		obs = []wire.Observation{&wire.Unmapped{Event: slices.Clone(line)}}
	}
	return obs, f
}

// unmappedText is a line that is no event.
func unmappedText(line []byte) *wire.Unmapped {
	text := strings.ToValidUTF8(string(line[:min(len(line), maxUnmapped)]), "\uFFFD")
	b, err := json.Marshal(map[string]any{"line": text, "bytes": len(line)})
	if err != nil {
		b = []byte(`{}`)
	}
	return &wire.Unmapped{Event: b}
}

func one(o wire.Observation) []wire.Observation { return []wire.Observation{o} }

func (m *mapper) mapEvent(e *event, origin wire.Origin) ([]wire.Observation, fact) {
	switch e.Type {
	case "response":
		return nil, responded{e}
	case "agent_start":
		return nil, began{}
	case "agent_end":
		return nil, stopped{e.WillRetry}
	case "agent_settled":
		return nil, settled{e.Aborted}
	case "turn_start":
		m.turn++
		return one(&wire.TurnStart{Turn: m.turn}), nil
	case "turn_end":
		return one(&wire.TurnEnd{Turn: max(m.turn, 1)}), nil
	case "message_start":
		return m.messageStart(e)
	case "message_update":
		return m.messageUpdate(e)
	case "message_end":
		return m.messageEnd(e)
	case "tool_execution_start":
		return m.announce(e.ToolCallID, e.ToolName, e.Args, ""), executes{e.ToolCallID, true}
	case "tool_execution_update":
		return m.partial(e), nil
	case "tool_execution_end":
		return m.toolEnd(e), executes{e.ToolCallID, false}
	case "queue_update":
		return nil, told{} // the thread has the queue
	case "auto_retry_start":
		return one(&wire.ProviderRetrying{
			Attempt: max(e.Attempt, 1), MaxAttempts: max(e.MaxAttempts, 1), DelayMs: max(e.DelayMs, 0), Message: e.ErrorMessage,
		}), retrying{true}
	case "auto_retry_end":
		return one(&wire.ProviderRetryEnded{Succeeded: e.Success != nil && *e.Success, Attempt: max(e.Attempt, 1), Error: e.FinalError}), retrying{false}
	case "compaction_start":
		return nil, compacts{true}
	case "compaction_end":
		return m.compacted(e), compacts{false}
	case "thinking_level_changed":
		if m.model == nil {
			return nil, nil
		}
		m.model.ThinkingLevel = e.Level
		return one(m.modelNow()), nil
	case "entry_appended":
		if e.Entry != nil && e.Entry.Type == "custom" && e.Entry.CustomType != "" {
			return one(&wire.CustomEntry{CustomType: e.Entry.CustomType, Data: orNull(e.Entry.Data)}), nil
		}
	case "extension_error":
		return one(&wire.ExtensionError{Extension: orUnknown(e.ExtensionPath), Event: e.Event, Message: e.Error}), nil
	case "extension_ui_request":
		return m.request(e, origin)
	}
	return nil, nil
}

func orNull(b json.RawMessage) json.RawMessage {
	if len(b) == 0 {
		return json.RawMessage("null")
	}
	return b
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

func (m *mapper) modelNow() *wire.Model { return &wire.Model{Model: *m.model} }

// setModel takes what get_state or set_model said.
func (m *mapper) setModel(d *modelData, level string) *wire.ModelState {
	s := &wire.ModelState{Provider: d.Provider, ID: d.ID, Name: d.Name, ThinkingLevel: level, ContextWindow: max(d.ContextWindow, 0)}
	if level == "" && m.model != nil {
		s.ThinkingLevel = m.model.ThinkingLevel
	}
	m.model = s
	c := *s
	return &c
}

// setUsage takes what a resumed session has spent already.
func (m *mapper) setUsage(d *statsData) {
	m.usage = wire.SessionUsage{
		Input: d.Tokens.Input, Output: d.Tokens.Output, CacheRead: d.Tokens.CacheRead, CacheWrite: d.Tokens.CacheWrite, TotalCost: d.Cost,
	}
	if c := d.ContextUsage; c != nil && c.Tokens != nil {
		m.usage.Context = &wire.ContextUsage{Tokens: *c.Tokens, Window: c.ContextWindow}
	}
}

func (m *mapper) compacted(e *event) []wire.Observation {
	var c compaction
	if json.Unmarshal(e.Result, &c) != nil || c.Summary == "" {
		if e.ErrorMessage != "" {
			return one(&wire.ExtensionError{Extension: "compaction", Message: e.ErrorMessage})
		}
		return nil
	}
	reason := wire.CompactionReason(e.Reason)
	switch reason {
	case wire.CompactionManual, wire.CompactionThreshold, wire.CompactionOverflow:
	default:
		reason = wire.CompactionThreshold
	}
	return one(&wire.BranchCompacted{Summary: c.Summary, TokensBefore: max(c.TokensBefore, 0), TokensAfter: c.TokensAfter, Reason: reason})
}

// request maps a call of the extensions' user interface. What only decorates the
// vendor's own screen has no word.
func (m *mapper) request(e *event, origin wire.Origin) ([]wire.Observation, fact) {
	var d wire.DialogSpec
	switch e.Method {
	case "select":
		d = &wire.SelectDialog{Title: e.Title, Options: e.Options, Timeout: e.Timeout}
	case "confirm":
		d = &wire.ConfirmDialog{Title: e.Title, Message: e.Text, Timeout: e.Timeout}
	case "input":
		d = &wire.InputDialog{Title: e.Title, Placeholder: e.Placeholder, Timeout: e.Timeout}
	case "editor":
		d = &wire.EditorDialog{Title: e.Title, Prefill: e.Prefill}
	case "notify":
		level := wire.NoticeLevel(e.NotifyType)
		switch level {
		case wire.NoticeInfo, wire.NoticeWarning, wire.NoticeError:
		default:
			level = wire.NoticeInfo
		}
		return one(&wire.ExtensionUIRequest{ID: e.ID, Origin: origin, Notice: &wire.Notice{Level: level, Message: e.Text}}), nil
	default:
		return nil, nil
	}
	if wire.ValidateDialog(d) != nil || e.ID == "" {
		return nil, malformed{e.ID}
	}
	r := &wire.ExtensionUIRequest{ID: e.ID, Origin: origin, Blocking: true, Dialog: d}
	return one(r), asked{r}
}

var statusPrefix = regexp.MustCompile(`^(\d{3})\b:?\s*`)

// refusal is a provider's error as the agent quotes it: "401: {json}".
func refusal(text string) *wire.ProviderRefused {
	r := &wire.ProviderRefused{Message: text}
	found := statusPrefix.FindStringSubmatch(text)
	if found == nil {
		return r
	}
	r.Status, _ = strconv.Atoi(found[1])
	var body struct {
		Message string `json:"message"`
		Code    string `json:"code"`
		Type    string `json:"type"`
	}
	if json.Unmarshal([]byte(text[len(found[0]):]), &body) == nil && body.Message != "" {
		r.Message, r.Code = body.Message, body.Code
		if r.Code == "" {
			r.Code = body.Type
		}
	}
	return r
}

// drain ends what the agent left open: its run is over, or it is gone.
func (m *mapper) drain(stopReason string) []wire.Observation {
	if m.open == nil {
		return nil
	}
	id := m.open.id
	m.open = nil
	return one(&wire.MessageEnd{MessageID: id, Role: wire.RoleAssistant, StopReason: stopReason})
}

// forget takes back a prompt that was not taken.
func (m *mapper) forget(messageID string) {
	m.expected = slices.DeleteFunc(m.expected, func(h handed) bool { return h.messageID == messageID })
}
