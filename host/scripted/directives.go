package scripted

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/troupe-run/troupe/wire"
)

// directive is one word that the agent obeys.
type directive struct {
	word  string
	arg   string // as the page shows it
	does  string
	bare  bool // may stand without an argument
	json  bool // takes JSON
	named bool // takes a name before the JSON
	parse func(arg string, value json.RawMessage) (step, error)
}

// form is how the directive is written.
func (d *directive) form() string {
	switch {
	case d.arg == "":
		return d.word
	case strings.Contains(d.word, ":"):
		return d.word + " " + d.arg
	case d.bare:
		return d.word + "[:" + d.arg + "]"
	}
	return d.word + ":" + d.arg
}

const (
	maxDeltas = 10_000_000
	maxBytes  = 64 << 20
	maxDelta  = 1 << 20
)

// directives are all of them, in the order of their page. A longer word stands
// before one that it begins with.
var directives = []directive{
	{word: "say", arg: "TEXT", does: "says the text, in several deltas without a pause", parse: text(func(s string) step { return say{s} })},
	{word: "think", arg: "TEXT", does: "thinks the text; what is said next belongs to the same message", parse: text(func(s string) step { return think{s} })},
	{word: "slow", arg: "N", does: "says N deltas, 50 ms apart: `1 2 3 …`", parse: count(0, maxDeltas, func(n int) step { return slow{n} })},
	{word: "burst", arg: "N,SIZE", does: "says N deltas of SIZE bytes without a pause; neighbours differ", parse: func(arg string, _ json.RawMessage) (step, error) {
		n, size, err := pair(arg, maxDeltas, maxDelta)
		return burst{int(n), int(size)}, err
	}},
	{word: "pace", arg: "N,SIZE,RATE", does: "says N deltas of SIZE bytes, RATE of them a second (0: without a pause), for a load test: each holds the nanosecond since 1970 at which it was due, its index from 0, and filler", parse: func(arg string, _ json.RawMessage) (step, error) {
		return parsePace(arg)
	}},
	{word: "wait", arg: "MS", does: "does nothing for so many milliseconds", parse: count(0, maxWait, func(n int) step { return idle{time.Duration(n) * time.Millisecond} })},
	{word: "overlap", arg: "A|B|…", does: "says each text in a message of its own, all open at once, a delta of each in turn; they end in the opposite order", parse: func(arg string, _ json.RawMessage) (step, error) {
		texts := strings.Split(arg, "|")
		if len(texts) < 2 {
			return nil, errMissing("two texts at least")
		}
		return overlap{texts}, nil
	}},
	{word: "tool", arg: "NAME JSON", json: true, named: true, does: "calls a tool with that input: two partial results, then a complete one that repeats the input", parse: func(name string, v json.RawMessage) (step, error) { return tool{name, v}, nil }},
	{word: "late", arg: "NAME JSON", json: true, named: true, does: "calls a tool whose result comes after its message has ended: right after the start of the next message, or at the end of the run", parse: func(name string, v json.RawMessage) (step, error) { return late{name, v}, nil }},
	{word: "toolerror", arg: "NAME TEXT", does: "calls a tool that fails with that text", parse: func(arg string, _ json.RawMessage) (step, error) {
		name, what, _ := strings.Cut(arg, " ")
		if name == "" {
			return nil, errMissing("a name")
		}
		return toolError{name, what}, nil
	}},
	{word: "described", arg: "KIND JSON", json: true, named: true, does: "calls a tool whose result carries a descriptor of that kind, with the JSON object as its props", parse: func(kind string, v json.RawMessage) (step, error) {
		props, err := wire.DecodeStrict[map[string]json.RawMessage](v)
		if err != nil {
			return nil, errMissing("a JSON object")
		}
		return described{kind, props}, nil
	}},
	{word: "bigtool", arg: "BYTES", does: "calls a tool with so much output: 8 accumulated partial results, then the first 16 KiB of it, marked as truncated where there is more", parse: count(0, maxBytes, func(n int) step { return bigtool{n} })},
	{word: "sh", arg: "COMMAND", does: "runs a real shell in the thread's folder as a tool: partial results while it prints, then the last 16 KiB; a stop ends every process of it. A ` ; ` ends the directive", parse: func(arg string, _ json.RawMessage) (step, error) {
		if strings.TrimSpace(arg) == "" {
			return nil, errMissing("a command")
		}
		return shell{arg}, nil
	}},
	{word: "ask:confirm", arg: "[timeout=MS ]TITLE", does: "asks for a yes or a no, and says which (no when cancelled)", parse: func(arg string, _ json.RawMessage) (step, error) {
		ms, title, err := deadline(arg)
		if err != nil {
			return nil, err
		}
		return question(ask{dialog: &wire.ConfirmDialog{Title: title, Timeout: ms}})
	}},
	{word: "ask:select", arg: "[timeout=MS ]A|B|C", does: "asks for one of the options, and says it (`nothing` when cancelled, here and below)", parse: func(arg string, _ json.RawMessage) (step, error) {
		ms, list, err := deadline(arg)
		if err != nil {
			return nil, err
		}
		if list == "" {
			return nil, errMissing("an option at least")
		}
		return question(ask{dialog: &wire.SelectDialog{Title: "Choose one", Options: strings.Split(list, "|"), Timeout: ms}})
	}},
	{word: "ask:input", arg: "[timeout=MS ]TITLE", does: "asks for a line of text, and says it", parse: func(arg string, _ json.RawMessage) (step, error) {
		ms, title, err := deadline(arg)
		if err != nil {
			return nil, err
		}
		return question(ask{dialog: &wire.InputDialog{Title: title, Timeout: ms}})
	}},
	{word: "ask:secret", arg: "TITLE", does: "asks for a secret, as the host would, and says only that there was one", parse: asking(func(s string) ask {
		return ask{dialog: &wire.InputDialog{Title: s, Secret: true}}
	})},
	{word: "ask:leak", arg: "TITLE", does: "asks for a secret and says it, as no agent should: the host scrubs it", parse: asking(func(s string) ask {
		return ask{dialog: &wire.InputDialog{Title: s, Secret: true}, leak: true}
	})},
	{word: "ask:editor", arg: "TEXT", does: "asks for a text of any length, the given one filled in, and says it", parse: asking(func(s string) ask {
		return ask{dialog: &wire.EditorDialog{Title: "Edit", Prefill: s}}
	})},
	{word: "ask:questionnaire", arg: "JSON", json: true, does: "asks a set of questions, {title, questions}, and says what was chosen", parse: func(_ string, v json.RawMessage) (step, error) {
		q, err := wire.DecodeStrict[questionnaire](v)
		if err != nil {
			return nil, malformed{"a questionnaire: " + wire.AsFailure(err).Message}
		}
		return question(ask{dialog: &wire.QuestionnaireDialog{Title: q.Title, Questions: q.Questions}})
	}},
	{word: "ask:withdraw", arg: "MS TITLE", does: "asks for a yes or a no, and withdraws the question itself after so many milliseconds", parse: func(arg string, _ json.RawMessage) (step, error) {
		ms, title, _ := strings.Cut(arg, " ")
		n, err := whole(ms, 1, maxWait)
		if err != nil {
			return nil, err
		}
		return question(ask{dialog: &wire.ConfirmDialog{Title: title}, withdraw: time.Duration(n) * time.Millisecond})
	}},
	{word: "ask", arg: "…", does: "any other question is malformed", parse: func(string, json.RawMessage) (step, error) {
		return nil, errMissing("one of confirm, select, input, secret, leak, editor, questionnaire, withdraw")
	}},
	{word: "notify", arg: "TEXT", does: "tells the person, without waiting", parse: text(func(s string) step { return notify{s} })},
	{word: "spawn", arg: "TYPE JSON", json: true, named: true, does: "is not there yet: an extension-error says so, and the run goes on", parse: func(string, json.RawMessage) (step, error) { return notYet{"spawn"}, nil }},
	{word: "finish", arg: "JSON", json: true, does: "says the result and ends the run; what follows is not played", parse: func(_ string, v json.RawMessage) (step, error) { return finish{v}, nil }},
	{word: "fail", arg: "TEXT", does: "its provider refuses: the run fails with that text", parse: text(func(s string) step { return fail{s} })},
	{word: "reject", arg: "TEXT", does: "refuses the prompt, after it was handed over", parse: text(func(s string) step { return reject{s} })},
	{word: "retry", arg: "N", does: "its provider is asked again N times, 50 ms apart, and then answers", parse: count(1, 1000, func(n int) step { return retry{n} })},
	{word: "usage", arg: "IN,OUT", does: "counts so many tokens to the open message, or to the next one", parse: func(arg string, _ json.RawMessage) (step, error) {
		in, out, err := pair(arg, 1<<40, 1<<40)
		return usage{in, out}, err
	}},
	{word: "compact", arg: "REASON", bare: true, does: "compacts its context to a tenth; the reason is manual, threshold or overflow", parse: func(arg string, _ json.RawMessage) (step, error) {
		switch reason := wire.CompactionReason(strings.TrimSpace(arg)); reason {
		case "":
			return compact{wire.CompactionManual}, nil
		case wire.CompactionManual, wire.CompactionThreshold, wire.CompactionOverflow:
			return compact{reason}, nil
		}
		return nil, errMissing("manual, threshold or overflow")
	}},
	{word: "custom", arg: "TYPE JSON", json: true, named: true, does: "adds an entry of a kind of its own", parse: func(kind string, v json.RawMessage) (step, error) { return custom{kind, v}, nil }},
	{word: "unmapped", arg: "JSON", json: true, does: "says what the vocabulary has no word for", parse: func(_ string, v json.RawMessage) (step, error) { return raw{v}, nil }},
	{word: "exit", arg: "CODE", does: "ends the session with that status, in mid-run", parse: count(0, 255, func(n int) step { return exit{n} })},
	{word: "hang", bare: true, does: "never ends, and ignores a polite stop", parse: only(hang{})},
	{word: "panic", bare: true, does: "panics in its mapper", parse: only(crash{})},
	{word: "stray", arg: "WHAT", does: "says what no well-behaved agent says: see below", parse: func(arg string, _ json.RawMessage) (step, error) {
		words := strayWords()
		if !slices.Contains(words, arg) {
			return nil, errMissing("one of " + strings.Join(words, ", "))
		}
		return stray{arg}, nil
	}},
}

func text(build func(string) step) func(string, json.RawMessage) (step, error) {
	return func(arg string, _ json.RawMessage) (step, error) { return build(arg), nil }
}

func count(least, most int64, build func(int) step) func(string, json.RawMessage) (step, error) {
	return func(arg string, _ json.RawMessage) (step, error) {
		n, err := whole(arg, least, most)
		if err != nil {
			return nil, err
		}
		return build(int(n)), nil
	}
}

func asking(build func(string) ask) func(string, json.RawMessage) (step, error) {
	return func(arg string, _ json.RawMessage) (step, error) { return question(build(arg)) }
}

func only(st step) func(string, json.RawMessage) (step, error) {
	return func(string, json.RawMessage) (step, error) { return st, nil }
}

// size is about how many bytes of an agent's output o stands for.
func size(o wire.Observation) int {
	switch o := o.(type) {
	case *wire.TextDelta:
		return len(o.Delta)
	case *wire.ThinkingDelta:
		return len(o.Delta)
	case *wire.ToolCall:
		return len(o.Input)
	case *wire.ToolResult:
		return len(o.Text)
	case *wire.CustomEntry:
		return len(o.Data)
	case *wire.Unmapped:
		return len(o.Event)
	}
	return 0
}
