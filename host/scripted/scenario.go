package scripted

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/troupe-run/troupe/wire"
)

// Scenario is an agent defined on top of the directives: what it plays instead of
// obeying its prompts. Make it with [ParseScenarios].
type Scenario struct {
	onSpawn, onMessage *[]step // nil obeys the prompt
}

// placeholder stands for the prompt's text in what a scenario says, thinks,
// notifies of or fails with. The text is never read as directives.
const placeholder = "{text}"

// The handlers of a scenario.
const (
	onSpawn         = "on spawn"          // the thread's first prompt
	onMessage       = "on message"        // every other one
	onChildFinished = "on child_finished" // not there yet
)

// ParseScenarios reads a YAML file of agents, by name:
//
//	greeter:
//	  on spawn: ""
//	  on message: "say:echo: {text}"
//
// A script is directives separated by " ; ", or a list of them; an empty one ends
// the run without a word. A prompt without a handler is obeyed. What cannot be
// read, a malformed directive and a handler for children, which this runtime
// cannot have yet, are each a *wire.Failure of code invalid.
func ParseScenarios(file []byte) (map[string]*Scenario, error) {
	var agents map[string]map[string]any
	if err := yaml.Unmarshal(file, &agents); err != nil {
		return nil, wire.Errorf(wire.CodeInvalid, "the scenario file: %v", err)
	}
	out := map[string]*Scenario{}
	for name, handlers := range agents {
		if !wire.ValidType(name) {
			return nil, wire.Errorf(wire.CodeInvalid, "the scenario %q: an agent's name is of a-z, 0-9, _ and -", name)
		}
		sc := &Scenario{}
		for on, script := range handlers {
			steps, err := handler(on, script)
			if err != nil {
				return nil, wire.Errorf(wire.CodeInvalid, "the scenario %q, %q: %s", name, on, wire.AsFailure(err).Message)
			}
			if on == onSpawn {
				sc.onSpawn = &steps
			} else {
				sc.onMessage = &steps
			}
		}
		out[name] = sc
	}
	return out, nil
}

func handler(on string, script any) ([]step, error) {
	switch on {
	case onSpawn, onMessage:
	case onChildFinished:
		return nil, wire.Errorf(wire.CodeInvalid, "not there yet: this agent cannot have children")
	default:
		return nil, wire.Errorf(wire.CodeInvalid, "no such handler: want one of %s, %s", onSpawn, onMessage)
	}
	text, ok := scriptText(script)
	switch {
	case !ok:
		return nil, wire.Errorf(wire.CodeInvalid, "want a text, or a list of texts")
	case strings.TrimSpace(text) == "":
		return []step{}, nil
	}
	return parse(text)
}

// scriptText is a script as it is written: a text, a list of texts, or nothing.
func scriptText(script any) (string, bool) {
	switch script := script.(type) {
	case nil:
		return "", true
	case string:
		return script, true
	case []any:
		parts := make([]string, len(script))
		for i, part := range script {
			text, ok := part.(string)
			if !ok {
				return "", false
			}
			parts[i] = text
		}
		return strings.Join(parts, separator), true
	}
	return "", false
}

// script is what the scenario plays for a prompt; false says that the prompt is
// to be obeyed.
func (sc *Scenario) script(text string, first bool) ([]step, bool) {
	switch {
	case sc == nil:
		return nil, false
	case first && sc.onSpawn != nil:
		return filled(*sc.onSpawn, text), true
	case !first && sc.onMessage != nil:
		return filled(*sc.onMessage, text), true
	}
	return nil, false
}

func filled(script []step, text string) []step {
	script = slices.Clone(script)
	for i, st := range script {
		switch st := st.(type) {
		case say:
			script[i] = say{strings.ReplaceAll(st.text, placeholder, text)}
		case think:
			script[i] = think{strings.ReplaceAll(st.text, placeholder, text)}
		case notify:
			script[i] = notify{strings.ReplaceAll(st.text, placeholder, text)}
		case fail:
			script[i] = fail{strings.ReplaceAll(st.text, placeholder, text)}
		}
	}
	return script
}
