package scripted

import (
	"encoding/json"
	"slices"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// stray says what no well-behaved agent says, for the proofs of its thread.
type stray struct{ what string }

const strayID = "stray"

type strayKind struct {
	what, does string
	play       func(r *run) *end
}

// strays are in the order in which the directives' page lists them.
var strays = []strayKind{
	{"delta", "text and a thought for a message that is not open", func(r *run) *end {
		if e := r.tell(&wire.TextDelta{MessageID: strayID, Delta: "lost"}); e != nil {
			return e
		}
		return r.tell(&wire.ThinkingDelta{MessageID: strayID, Delta: "lost"})
	}},
	{"end", "the end of a message that is not open", func(r *run) *end {
		return r.tell(&wire.MessageEnd{MessageID: strayID, Role: wire.RoleAssistant})
	}},
	{"start", "a second start of an open message, in the middle of its text", func(r *run) *end {
		if e := r.speak("before "); e != nil {
			return e
		}
		if e := r.tell(&wire.MessageStart{MessageID: r.current, Role: wire.RoleAssistant}); e != nil {
			return e
		}
		return r.delta("after")
	}},
	{"restart", "a second message under the id of one that has ended", func(r *run) *end {
		if e := r.speak("the old one"); e != nil {
			return e
		}
		id := r.current
		if e := r.endMessage("end"); e != nil {
			return e
		}
		if e := r.tell(&wire.MessageStart{MessageID: id, Role: wire.RoleAssistant}); e != nil {
			return e
		}
		r.open = append(r.open, id)
		r.current, r.texted = id, true
		return r.delta("the new one")
	}},
	{"open", "a message that is still open when the run is over", func(r *run) *end {
		e := r.speak("left open")
		r.open = slices.DeleteFunc(r.open, func(id string) bool { return id == r.current })
		r.current, r.texted = "", false
		return e
	}},
	{"call", "a tool call and its result outside any message", func(r *run) *end {
		if e := r.endMessage("end"); e != nil {
			return e
		}
		id := r.s.newID(tools)
		if e := r.tell(&wire.ToolCall{ToolCallID: id, ToolName: strayID, Input: json.RawMessage(`{}`)}); e != nil {
			return e
		}
		return r.tell(&wire.ToolResult{ToolCallID: id, ToolName: strayID, Text: "found", Complete: true})
	}},
	{"result", "two results of a call that never was", func(r *run) *end {
		id := r.s.newID(tools)
		for _, text := range []string{"the first", "the second"} {
			if e := r.tell(&wire.ToolResult{ToolCallID: id, ToolName: strayID, Text: text, Complete: true}); e != nil {
				return e
			}
		}
		return nil
	}},
	{"settled", "the end of a question that was never asked", func(r *run) *end {
		return r.tell(&wire.DialogSettled{ID: strayID, Outcome: wire.DialogAborted})
	}},
	{"thread", "run-ended, settled, queue and prompt-rejected, which only a thread may say", func(r *run) *end {
		return r.tellAll(
			&wire.RunEnded{Generation: r.prompt.Run, Outcome: wire.RunFailed},
			&wire.Settled{Generation: r.prompt.Run},
			&wire.Queue{},
			&wire.PromptRejected{MessageID: strayID, Reason: "none"},
		)
	}},
	{"run-over", "the end of another run", func(r *run) *end {
		return r.report(&host.RunOver{Run: r.prompt.Run + 1, Outcome: wire.RunCompleted})
	}},
	{"steered", "that it took in a prompt which nobody steered", func(r *run) *end {
		return r.report(&host.Steered{MessageID: strayID})
	}},
}

func strayWords() []string {
	words := make([]string, len(strays))
	for i, k := range strays {
		words[i] = k.what
	}
	return words
}

func (d stray) play(r *run) *end {
	return strays[slices.IndexFunc(strays, func(k strayKind) bool { return k.what == d.what })].play(r)
}

func (r *run) tellAll(said ...wire.Observation) *end {
	for _, o := range said {
		if e := r.tell(o); e != nil {
			return e
		}
	}
	return nil
}

func (r *run) report(rep host.Report) *end {
	if e := r.halted(); e != nil {
		return e
	}
	if !r.s.deliver(rep) {
		return goneEnd
	}
	return nil
}
