package pi

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// event is one line that the agent prints, as far as it is read. Fields of all its
// types are here together, since each line is looked at once.
type event struct {
	Type string `json:"type"`
	ID   string `json:"id"`

	// response
	Command string          `json:"command"`
	Success *bool           `json:"success"`
	Data    json.RawMessage `json:"data"`
	Error   string          `json:"error"`

	// message_start, message_update, message_end
	Message *message   `json:"message"`
	Update  *update    `json:"assistantMessageEvent"`
	Usage   *usageData `json:"usage"`

	// tool_execution_*
	ToolCallID    string          `json:"toolCallId"`
	ToolName      string          `json:"toolName"`
	Args          json.RawMessage `json:"args"`
	PartialResult *output         `json:"partialResult"`
	Result        json.RawMessage `json:"result"` // of a tool: output; of a compaction: compaction
	IsError       bool            `json:"isError"`

	// agent_end, agent_settled
	WillRetry bool `json:"willRetry"`
	Aborted   bool `json:"aborted"`

	// auto_retry_*
	Attempt      int    `json:"attempt"`
	MaxAttempts  int    `json:"maxAttempts"`
	DelayMs      int64  `json:"delayMs"`
	ErrorMessage string `json:"errorMessage"`
	FinalError   string `json:"finalError"`

	// compaction_*, thinking_level_changed, entry_appended, extension_error
	Reason        string `json:"reason"`
	Level         string `json:"level"`
	Entry         *entry `json:"entry"`
	ExtensionPath string `json:"extensionPath"`
	Event         string `json:"event"`

	// extension_ui_request; Text says what a notify has in message
	Method      string   `json:"method"`
	Title       string   `json:"title"`
	Options     []string `json:"options"`
	Placeholder string   `json:"placeholder"`
	Prefill     string   `json:"prefill"`
	Timeout     int64    `json:"timeout"`
	NotifyType  string   `json:"notifyType"`
	Text        string   `json:"-"`
}

// message is a message of the agent's. A notify and a confirm have a plain string
// where the other events have this.
type message struct {
	Role         string         `json:"role"`
	Content      content        `json:"content"`
	Sections     orderedStrings `json:"sections"`
	Usage        *usageData     `json:"usage"`
	StopReason   string         `json:"stopReason"`
	ErrorMessage string         `json:"errorMessage"`
	ToolCallID   string         `json:"toolCallId"`
	ToolName     string         `json:"toolName"`
	IsError      bool           `json:"isError"`
	CustomType   string         `json:"customType"`
	Details      *details       `json:"details"`
}

// update is a piece of an assistant message.
type update struct {
	Type     string    `json:"type"`
	Delta    string    `json:"delta"`
	ToolCall *toolCall `json:"toolCall"`
}

type toolCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// content is a list of blocks, or a string that stands for one of text.
type content []block

type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	MimeType  string          `json:"mimeType"`
	Data      string          `json:"data"`
}

func (c *content) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		*c = nil
		if s != "" {
			*c = content{{Type: "text", Text: s}}
		}
		return nil
	}
	return json.Unmarshal(b, (*[]block)(c))
}

// text is all text of the blocks; n says how many there are.
func (c content) text() (text string, n int) {
	var b strings.Builder
	for _, p := range c {
		if p.Type == "text" {
			b.WriteString(p.Text)
			n++
		}
	}
	return b.String(), n
}

// output is what a tool gives back.
type output struct {
	Content content  `json:"content"`
	Details *details `json:"details"`
}

type details struct {
	Truncation *truncation `json:"truncation"`
}

type truncation struct {
	Truncated   *bool  `json:"truncated"`
	TruncatedBy string `json:"truncatedBy"`
	TotalLines  int64  `json:"totalLines"`
	OutputLines int64  `json:"outputLines"`
	TotalBytes  int64  `json:"totalBytes"`
	OutputBytes int64  `json:"outputBytes"`
}

type usageData struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cacheRead"`
	CacheWrite int64 `json:"cacheWrite"`
	Cost       *struct {
		Total float64 `json:"total"`
	} `json:"cost"`
}

type compaction struct {
	Summary      string `json:"summary"`
	TokensBefore int64  `json:"tokensBefore"`
	TokensAfter  *int64 `json:"estimatedTokensAfter"`
}

type entry struct {
	Type       string          `json:"type"`
	CustomType string          `json:"customType"`
	Data       json.RawMessage `json:"data"`
}

// modelData is a model as get_state and set_model give it.
type modelData struct {
	ID            string `json:"id"`
	Name          string `json:"name"`
	Provider      string `json:"provider"`
	ContextWindow int64  `json:"contextWindow"`
}

// stateData is what get_state answers.
type stateData struct {
	Model         *modelData `json:"model"`
	ThinkingLevel string     `json:"thinkingLevel"`
	SessionFile   string     `json:"sessionFile"`
	SessionID     string     `json:"sessionId"`
	IsStreaming   bool       `json:"isStreaming"`
	IsCompacting  bool       `json:"isCompacting"`
}

// statsData is what get_session_stats answers.
type statsData struct {
	Tokens struct {
		Input      int64 `json:"input"`
		Output     int64 `json:"output"`
		CacheRead  int64 `json:"cacheRead"`
		CacheWrite int64 `json:"cacheWrite"`
	} `json:"tokens"`
	Cost         *float64 `json:"cost"`
	ContextUsage *struct {
		Tokens        *int64 `json:"tokens"`
		ContextWindow int64  `json:"contextWindow"`
	} `json:"contextUsage"`
}

// orderedStrings is a JSON object of strings, its values in their order.
type orderedStrings []string

func (o *orderedStrings) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(strings.NewReader(string(b)))
	depth := 0
	key := true
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case json.Delim:
			if t == '{' || t == '[' {
				depth++
			} else {
				depth--
			}
			key = true
		case string:
			if depth == 1 && !key {
				*o = append(*o, t)
			}
			key = !key
		default:
			key = true
		}
	}
}

// parse reads a line. A notify's and a confirm's message is a string.
func parse(line []byte) (*event, error) {
	var probe struct {
		Type    string          `json:"type"`
		Message json.RawMessage `json:"message"`
	}
	if err := json.Unmarshal(line, &probe); err != nil {
		return nil, err
	}
	e := &event{}
	if len(probe.Message) > 0 && probe.Message[0] == '"' {
		type plain event
		v := struct {
			*plain
			Message string `json:"message"`
		}{plain: (*plain)(e)}
		if err := json.Unmarshal(line, &v); err != nil {
			return nil, err
		}
		e.Text = v.Message
		return e, nil
	}
	if err := json.Unmarshal(line, e); err != nil {
		return nil, err
	}
	return e, nil
}
