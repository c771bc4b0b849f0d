package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-run/troupe/wire"
)

// view renders a follow for a person: frames go in, text to append comes out. It
// has no I/O and no clock. Nothing printed is ever changed, so that the same text
// serves a terminal and a pipe.
type view struct {
	st      style
	verbose bool // unmapped events and turns are shown too

	out strings.Builder
	pos position
	mid bool // the cursor stands in mid-line

	lastCall string // the call that the last line printed is of

	opened   bool // a snapshot was seen
	thread   string
	live     bool
	busy     bool
	gen      uint64
	usage    wire.SessionUsage
	waiting  int                        // prompts in the queue
	messages map[string]*openMessage    // open ones
	shown    map[string]bool            // complete ones that were printed
	resulted map[string]bool            // calls whose result was printed
	calls    []pendingCall              // without a result, oldest first
	dialogs  map[string]wire.DialogSpec // open ones
}

// position is what the text being streamed belongs to.
type position struct {
	message string
	part    string
}

type openMessage struct {
	role wire.Role
	text strings.Builder // as streamed
}

type pendingCall struct{ id, name string }

func newView(st style, verbose bool) *view {
	return &view{st: st, verbose: verbose, messages: map[string]*openMessage{},
		shown: map[string]bool{}, resulted: map[string]bool{}, dialogs: map[string]wire.DialogSpec{}}
}

// Frame is what f adds to the screen.
func (v *view) Frame(f wire.Frame) string {
	switch f := f.(type) {
	case *wire.Snapshot:
		v.snapshot(f)
	case *wire.Status:
		v.status(f)
	case *wire.ObservationFrame:
		v.observe(f.Observation)
	}
	return v.flush()
}

// Lost is the line for a connection that went.
func (v *view) Lost(wait time.Duration) string {
	v.line(v.st.yellow(fmt.Sprintf("── connection lost, trying again in %s", wait.Round(time.Millisecond))))
	return v.flush()
}

func (v *view) flush() string {
	s := v.out.String()
	v.out.Reset()
	return s
}

// line prints one line of its own; text is plain already.
func (v *view) line(text string) {
	v.fresh()
	v.lastCall = ""
	v.out.WriteString(text)
	v.out.WriteByte('\n')
}

// fresh ends the text that is being streamed.
func (v *view) fresh() {
	if v.mid {
		v.out.WriteByte('\n')
	}
	v.mid, v.pos = false, position{}
}

// stream appends text of one part, after a line's end where another came between.
func (v *view) stream(p position, label string, dress func(string) string, text string) {
	if text == "" {
		return
	}
	if v.pos != p {
		v.fresh()
		v.pos = p
		text = label + text
	}
	v.lastCall = ""
	text = plain(text)
	v.mid = !strings.HasSuffix(text, "\n")
	v.out.WriteString(dress(text))
}

func (v *view) snapshot(s *wire.Snapshot) {
	again := v.opened
	v.opened, v.thread = true, s.ThreadID
	head := []string{plain(s.ThreadID), stateWord(s.Live, s.Busy)}
	if m := cmpModel(s); m != "" {
		head = append(head, m)
	}
	if s.Cwd != "" {
		head = append(head, plain(s.Cwd))
	}
	if again {
		head = append([]string{"connected again"}, head...)
	}
	v.line(v.st.dim("── " + strings.Join(head, " · ")))
	v.live, v.busy, v.gen, v.usage = s.Live, s.Busy, s.Generation, s.Usage
	v.messages, v.calls = map[string]*openMessage{}, nil
	for i := range s.Messages {
		v.message(&s.Messages[i])
	}
	if len(s.Messages) == 0 && s.Generation == 0 && !s.Busy {
		v.line(v.st.dim("nothing was said on this thread yet"))
	}
	if !s.Busy {
		v.abortCalls()
	}
	for id, d := range v.dialogs {
		if !slices.ContainsFunc(s.OpenDialogs, func(o wire.OpenDialog) bool { return o.ID == id }) {
			v.line(v.st.dim("? " + dialogTitle(d) + ": settled meanwhile"))
			delete(v.dialogs, id)
		}
	}
	for _, d := range s.OpenDialogs {
		v.dialog(d.ID, d.Dialog)
	}
	if s.Interrupted != nil && !s.Busy {
		v.line(v.st.yellow("── the last run " + endWord(s.Interrupted.Reason)))
	}
	if s.Login != nil {
		v.line(v.st.yellow("── a login with " + plain(s.Login.Provider) + " is waiting"))
	}
}

func endWord(o wire.RunOutcome) string {
	if o == wire.RunAborted {
		return "was aborted"
	}
	return plain(string(o))
}

func stateWord(live, busy bool) string {
	switch {
	case busy:
		return "running"
	case live:
		return "idle"
	default:
		return "no session"
	}
}

func cmpModel(s *wire.Snapshot) string {
	m := s.Model
	if m == nil {
		m = s.RecordedModel
	}
	if m == nil {
		return ""
	}
	return modelText(m)
}

func modelText(m *wire.ModelState) string {
	text := plain(m.ID)
	if m.Provider != "" {
		text = plain(m.Provider) + "/" + text
	}
	if m.ThinkingLevel != "" && m.ThinkingLevel != "off" {
		text += " (thinking " + plain(m.ThinkingLevel) + ")"
	}
	return text
}

func (v *view) status(s *wire.Status) {
	if v.live && !s.Live {
		v.line(v.st.dim("── the session ended"))
	}
	if v.busy && !s.Busy {
		v.abortCalls()
	}
	v.live, v.busy, v.gen = s.Live, s.Busy, s.Generation
	if !s.Live {
		v.dialogs = map[string]wire.DialogSpec{}
	}
}

// message prints a message of a snapshot, unless it stands there already.
func (v *view) message(m *wire.Message) {
	if m.Complete && v.shown[m.ID] {
		v.settleShown(m)
		return
	}
	v.fresh()
	open := &openMessage{role: m.Role}
	for _, p := range m.Parts {
		switch p := p.(type) {
		case *wire.TextPart:
			open.text.WriteString(p.Text)
			if m.Role == wire.RoleAssistant {
				v.text(m.ID, p.Text)
			} else {
				v.quoted(m.Role, p.Text)
			}
		case *wire.ThinkingPart:
			v.thinking(m.ID, p.Text)
		case *wire.ToolCallPart:
			v.call(p.ToolCallID, p.ToolName, p.Input)
		case *wire.ToolResultPart:
			v.result(p, "")
		case *wire.CustomPart:
			v.custom(p.CustomType, p.Data)
		case *wire.ImagePart:
			v.line(v.st.dim("[image " + oneLine(p.MimeType, 40) + "]"))
		}
	}
	if m.Complete {
		v.fresh()
		v.shown[m.ID] = true
		return
	}
	v.messages[m.ID] = open
}

// settleShown looks for news in a message that is not printed again: calls that
// wait still, results that came meanwhile.
func (v *view) settleShown(m *wire.Message) {
	for _, p := range m.Parts {
		switch p := p.(type) {
		case *wire.ToolCallPart:
			v.calls = append(v.calls, pendingCall{p.ToolCallID, p.ToolName})
		case *wire.ToolResultPart:
			if v.resulted[p.ToolCallID] {
				v.dropCall(p.ToolCallID)
			} else {
				v.result(p, "")
			}
		}
	}
}

func (v *view) text(id, text string) {
	v.stream(position{id, "text"}, "", func(s string) string { return s }, text)
}

func (v *view) thinking(id, text string) {
	v.stream(position{id, "thinking"}, "thinking: ", v.st.dim, text)
}

// quoted prints what a person, or the system, said.
func (v *view) quoted(role wire.Role, text string) {
	mark, dress := "> ", v.st.bold
	if role != wire.RoleUser {
		mark, dress = string(role)+": ", v.st.dim
		text = oneLine(text, 160)
	}
	for l := range strings.SplitSeq(strings.TrimRight(plain(text), "\n"), "\n") {
		v.line(dress(mark + l))
	}
}

func (v *view) dialog(id string, d wire.DialogSpec) {
	if _, ok := v.dialogs[id]; ok {
		return
	}
	v.dialogs[id] = d
	for i, l := range dialogLines(d) {
		if i == 0 {
			l = v.st.cyan("? ") + v.st.bold(l)
		} else {
			l = "  " + l
		}
		v.line(l)
	}
	v.line(v.st.dim("  answer it: troupe answer " + plain(v.thread) + " " + plain(id)))
}

func (v *view) settled(o *wire.DialogSettled) {
	title := plain(o.ID)
	if d, ok := v.dialogs[o.ID]; ok {
		title = dialogTitle(d)
		delete(v.dialogs, o.ID)
	}
	text := title + ": " + plain(string(o.Outcome))
	if o.By != "" {
		text += " by " + oneLine(o.By, 60)
	}
	v.line(v.st.cyan("? ") + text)
}
