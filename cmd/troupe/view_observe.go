package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-run/troupe/wire"
)

// observe prints one observation. Every kind has its place here; those that say
// nothing to a person, or say it elsewhere, are named at the end.
func (v *view) observe(o wire.Observation) {
	switch o := o.(type) {
	case *wire.MessageStart:
		if v.messages[o.MessageID] == nil {
			v.messages[o.MessageID] = &openMessage{role: o.Role}
			delete(v.shown, o.MessageID)
		}
	case *wire.TextDelta:
		if m := v.messages[o.MessageID]; m != nil {
			m.text.WriteString(o.Delta)
			v.text(o.MessageID, o.Delta)
		}
	case *wire.ThinkingDelta:
		if v.messages[o.MessageID] != nil {
			v.thinking(o.MessageID, o.Delta)
		}
	case *wire.MessageEnd:
		v.messageEnd(o)
	case *wire.ToolCall:
		v.call(o.ToolCallID, o.ToolName, o.Input)
	case *wire.ToolResult:
		if o.Complete {
			v.result(wire.ResultPart(o), o.ToolName)
		} else if v.verbose {
			v.line(v.st.dim(fmt.Sprintf("  │ %s: %d bytes so far", oneLine(o.ToolName, 60), len(o.Text))))
		}
	case *wire.CustomEntry:
		v.custom(o.CustomType, o.Data)
	case *wire.ExtensionUIRequest:
		switch {
		case o.Blocking && o.Dialog != nil:
			v.dialog(o.ID, o.Dialog)
		case o.Notice != nil:
			v.notice(o.Notice)
		}
	case *wire.DialogSettled:
		v.settled(o)
	case *wire.RunEnded:
		v.runEnded(o)
	case *wire.PromptRejected:
		v.line(v.st.red("! the prompt was rejected: ") + plain(o.Reason))
	case *wire.Queue:
		v.queue(o)
	case *wire.SessionUsageChanged:
		v.usage = o.Usage
	default:
		v.observeState(o)
	}
}

// observeState prints what changed about the thread rather than in its talk.
func (v *view) observeState(o wire.Observation) {
	switch o := o.(type) {
	case *wire.PermissionMode:
		v.line(v.st.dim("── mode " + plain(o.Mode)))
	case *wire.PermissionModeRejected:
		v.line(v.st.yellow(fmt.Sprintf("! mode %s was not taken: %s", plain(o.Requested), plain(o.Reason))))
	case *wire.Model:
		v.line(v.st.dim("── model " + modelText(&o.Model)))
	case *wire.BranchCompacted:
		after := ""
		if o.TokensAfter != nil {
			after = fmt.Sprintf(" to %s", count(*o.TokensAfter))
		}
		v.line(v.st.dim(fmt.Sprintf("── context compacted (%s): from %s tokens%s", plain(string(o.Reason)), count(o.TokensBefore), after)))
	case *wire.Login:
		text := fmt.Sprintf("── login with %s: %s", plain(o.Provider), plain(string(o.State)))
		if o.Message != "" {
			text += ": " + plain(o.Message)
		}
		v.line(v.st.yellow(text))
	case *wire.ProviderRefused:
		text := plain(o.Message)
		if o.Status != 0 {
			text += fmt.Sprintf(" (HTTP %d)", o.Status)
		}
		v.line(v.st.red("! the provider refused: ") + text)
	case *wire.ProviderRetrying:
		v.line(v.st.yellow(fmt.Sprintf("! the provider failed, attempt %d of %d in %.1f s: %s",
			o.Attempt, o.MaxAttempts, float64(o.DelayMs)/1000, oneLine(o.Message, 200))))
	case *wire.ProviderRetryEnded:
		if o.Succeeded {
			v.line(v.st.dim(fmt.Sprintf("── attempt %d succeeded", o.Attempt)))
		} else {
			v.line(v.st.red("! retrying ended: ") + oneLine(o.Error, 200))
		}
	case *wire.ExtensionError:
		v.line(v.st.red("! extension "+oneLine(o.Extension, 80)+": ") + plain(o.Message))
	case *wire.Unmapped:
		if v.verbose {
			v.line(v.st.dim("· " + oneLine(string(o.Event), 160)))
		}
	case *wire.TurnStart:
		if v.verbose {
			v.line(v.st.dim(fmt.Sprintf("· turn %d", o.Turn)))
		}
	case *wire.TurnEnd, *wire.Settled:
		// A turn's end shows in what it said; a run's settling in its end.
	}
}

func (v *view) messageEnd(o *wire.MessageEnd) {
	m := v.messages[o.MessageID]
	if m == nil {
		return
	}
	delete(v.messages, o.MessageID)
	v.shown[o.MessageID] = true
	switch {
	case m.role != wire.RoleAssistant:
		text := m.text.String()
		if o.Text != nil {
			text = *o.Text
		}
		if text != "" {
			v.quoted(m.role, text)
		}
	case o.Text != nil && *o.Text != m.text.String():
		// The final text replaces what was streamed; print what is new of it.
		if rest, ok := strings.CutPrefix(*o.Text, m.text.String()); ok {
			v.text(o.MessageID, rest)
		} else if *o.Text != "" {
			v.line(v.st.dim("── the final text of this message:"))
			v.text(o.MessageID, *o.Text)
		}
	}
	for _, img := range o.Images {
		v.line(v.st.dim("[image " + oneLine(img.MimeType, 40) + "]"))
	}
	v.fresh() // an error of its own is told by what follows: the provider's refusal, the run's end
}

func (v *view) call(id, name string, input json.RawMessage) {
	v.calls = append(v.calls, pendingCall{id, name})
	text := v.st.bold("● " + oneLine(name, 80))
	if in := inputText(input); in != "" {
		text += "  " + in
	}
	v.line(text)
	v.lastCall = id
}

// inputText is a call's input on one line: the value itself where it is the only
// one, else JSON.
func inputText(input json.RawMessage) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) == nil && len(fields) == 1 {
		for _, f := range fields {
			var s string
			if json.Unmarshal(f, &s) == nil {
				return oneLine(s, 200)
			}
		}
	}
	if len(fields) == 0 && len(input) <= 4 { // {}, null
		return ""
	}
	return oneLine(string(input), 200)
}

// maxResultLines is how much of a result a person is shown.
const maxResultLines = 12

// result prints a call's outcome: its text, never blank, and what the descriptor
// says of a cut. The terminal has no renderer for any kind, so the text stands
// for all of them.
func (v *view) result(p *wire.ToolResultPart, name string) {
	if name == "" {
		name = "a call"
	}
	v.resulted[p.ToolCallID] = true
	if i := slices.IndexFunc(v.calls, func(c pendingCall) bool { return c.id == p.ToolCallID }); i >= 0 {
		name = v.calls[i].name
		v.calls = slices.Delete(v.calls, i, i+1)
	}
	r := wire.Render(p, v.busy)
	dress := v.st.dim
	switch {
	case r.State == wire.CallError:
		dress = v.st.red
		v.line(dress("  ↳ " + oneLine(name, 80) + " failed:"))
	case v.lastCall != p.ToolCallID: // else it stands right below its call
		v.line(dress("  ↳ " + oneLine(name, 80) + ":"))
	}
	lines := strings.Split(strings.TrimRight(plain(r.Text), "\n"), "\n")
	hidden := 0
	if len(lines) > maxResultLines+1 {
		hidden = len(lines) - maxResultLines
		lines = lines[:maxResultLines]
	}
	for _, l := range lines {
		v.line(dress("  │ " + clipLine(l)))
	}
	if hidden > 0 {
		v.line(v.st.dim(fmt.Sprintf("  │ … %d more lines", hidden)))
	}
	if r.Descriptor != nil && r.Descriptor.Truncated != nil {
		t := r.Descriptor.Truncated
		v.line(v.st.dim(fmt.Sprintf("  │ (cut by the tool: %d of %d %s)", t.Shown, t.Total, plain(string(t.Unit)))))
	}
}

func clipLine(l string) string {
	const most = 500
	if r := []rune(l); len(r) > most {
		return string(r[:most]) + "…"
	}
	return l
}

func (v *view) dropCall(id string) {
	v.calls = slices.DeleteFunc(v.calls, func(c pendingCall) bool { return c.id == id })
}

// abortCalls says of each call without a result that none will come.
func (v *view) abortCalls() {
	for _, c := range v.calls {
		v.line(v.st.dim("  ↳ " + oneLine(c.name, 80) + ": " + wire.Render(nil, false).Text))
	}
	v.calls = nil
}

func (v *view) custom(customType string, data json.RawMessage) {
	v.line(v.st.dim("· " + oneLine(customType, 60) + " " + oneLine(string(data), 160)))
}

func (v *view) notice(n *wire.Notice) {
	dress, mark := v.st.cyan, "· "
	switch n.Level {
	case wire.NoticeWarning:
		dress, mark = v.st.yellow, "! "
	case wire.NoticeError:
		dress, mark = v.st.red, "! "
	}
	v.line(dress(mark+plain(string(n.Level))+": ") + plain(n.Message))
}

func (v *view) queue(q *wire.Queue) {
	n := len(q.Interrupting) + len(q.Enqueued)
	if n == 0 {
		if v.waiting > 0 {
			v.line(v.st.dim("── the queue is empty"))
		}
		v.waiting = 0
		return
	}
	v.waiting = n
	v.line(v.st.dim(fmt.Sprintf("── %d waiting:", n)))
	for _, p := range q.Interrupting {
		v.line(v.st.dim("   next step: " + oneLine(p.Text, 100)))
	}
	for _, p := range q.Enqueued {
		v.line(v.st.dim("   then: " + oneLine(p.Text, 100)))
	}
}

func (v *view) runEnded(o *wire.RunEnded) {
	v.abortCalls()
	text := fmt.Sprintf("── run %d %s", o.Generation, plain(string(o.Outcome)))
	if u := usageText(v.usage); u != "" {
		text += " · " + u
	}
	switch o.Outcome {
	case wire.RunCompleted:
		v.line(v.st.green(text))
	case wire.RunAborted:
		v.line(v.st.yellow(text))
	default:
		v.line(v.st.red(text))
	}
	if o.Error != nil {
		v.line(v.st.red("! ") + fmt.Sprintf("%s (%s)", plain(o.Error.Message), plain(string(o.Error.Code))))
	}
}

func usageText(u wire.SessionUsage) string {
	if u.Input+u.Output+u.CacheRead+u.CacheWrite == 0 {
		return ""
	}
	text := fmt.Sprintf("%s in, %s out", count(u.Input+u.CacheRead+u.CacheWrite), count(u.Output))
	if u.TotalCost != nil {
		text += fmt.Sprintf(", $%.4f", *u.TotalCost)
	}
	if u.Context != nil && u.Context.Window > 0 {
		text += fmt.Sprintf(", context %d%%", 100*u.Context.Tokens/u.Context.Window)
	}
	return text
}

// count shortens a number of tokens.
func count(n int64) string {
	switch {
	case n >= 10_000_000:
		return fmt.Sprintf("%dM", n/1_000_000)
	case n >= 10_000:
		return fmt.Sprintf("%dk", n/1000)
	case n >= 1000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	default:
		return strconv.FormatInt(n, 10)
	}
}
