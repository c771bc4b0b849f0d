package scripted

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// separator stands between two directives. Inside a directive's JSON it is text.
const separator = " ; "

// script is what the agent plays for p. first says that p is its thread's first.
func (o *Options) script(p host.Prompt, first bool) ([]step, error) {
	script, scripted := o.Scenario.script(p.Text, first)
	if !scripted {
		var err error
		if script, err = parse(p.Text); err != nil {
			return nil, err
		}
	}
	if n := len(p.Images); n > 0 {
		script = append(script[:len(script):len(script)], say{"with images: " + strconv.Itoa(n)})
	}
	return script, nil
}

// parse reads a prompt's text. A text without a directive is said back verbatim,
// a piece without one among directives is said as it stands. A directive that is
// malformed is a *wire.Failure of code invalid that names it.
func parse(text string) ([]step, error) {
	var script []step
	obeyed := false
	for rest, more := text, true; more; {
		rest = strings.TrimLeft(rest, " \t\r\n")
		d, arg, found := lookUp(rest)
		if !found {
			var piece string
			piece, rest, more = strings.Cut(rest, separator)
			if piece = strings.TrimSpace(piece); piece != "" {
				script = append(script, say{piece})
			}
			continue
		}
		obeyed = true
		var st step
		var err error
		if d.json {
			st, rest, more, err = d.readJSON(arg)
		} else {
			arg, rest, more = strings.Cut(arg, separator)
			st, err = d.parse(strings.TrimRight(arg, " \t\r\n"), nil)
		}
		if err != nil {
			return nil, wire.Errorf(wire.CodeInvalid, "the directive %s: %v, as in %s", d.word, err, d.form())
		}
		script = append(script, st)
	}
	if !obeyed {
		return []step{say{text}}, nil
	}
	return script, nil
}

// lookUp finds the directive that text begins with, and what follows its word.
func lookUp(text string) (*directive, string, bool) {
	for i := range directives {
		d := &directives[i]
		after, ok := strings.CutPrefix(text, d.word)
		if !ok {
			continue
		}
		mark := ":"
		if strings.Contains(d.word, ":") {
			mark = " "
		}
		if arg, ok := strings.CutPrefix(after, mark); ok && d.arg != "" && !(mark == " " && strings.HasPrefix(after, separator)) {
			return d, arg, true
		}
		bare := strings.HasPrefix(after, separator) || strings.TrimSpace(after) == ""
		if bare && (d.bare || mark == " ") {
			return d, after, true
		}
	}
	return nil, "", false
}

// readJSON reads "WORD JSON" or, for a directive without a word, "JSON"; the JSON
// of the former may be left out, and is then {}.
func (d *directive) readJSON(arg string) (st step, rest string, more bool, err error) {
	word := ""
	if d.named {
		end := strings.IndexAny(arg, " \t\r\n")
		if end < 0 {
			end = len(arg)
		}
		if word = arg[:end]; word == "" {
			return nil, "", false, errMissing("a name")
		}
		arg = arg[end:]
		before, after, found := strings.Cut(arg, separator)
		if strings.TrimSpace(before) == "" {
			st, err = d.parse(word, json.RawMessage(`{}`))
			return st, after, found, err
		}
	}
	dec := json.NewDecoder(strings.NewReader(arg))
	var value json.RawMessage
	if err := dec.Decode(&value); err != nil {
		return nil, "", false, errMissing("JSON")
	}
	after := arg[dec.InputOffset():]
	switch {
	case strings.TrimSpace(after) == "":
	case strings.HasPrefix(after, separator):
		rest, more = after[len(separator):], true
	default:
		return nil, "", false, errMissing("nothing behind the JSON")
	}
	var line bytes.Buffer
	if err := json.Compact(&line, value); err != nil {
		return nil, "", false, errMissing("JSON")
	}
	if _, err := wire.EncodeObservation(&wire.Unmapped{Event: line.Bytes()}); err != nil {
		return nil, "", false, errMissing("JSON that can cross")
	}
	st, err = d.parse(word, line.Bytes())
	return st, rest, more, err
}

// malformed is what was wanted in a directive's argument.
type malformed struct{ want string }

func (m malformed) Error() string { return "want " + m.want }

func errMissing(want string) error { return malformed{want} }

// whole reads a whole number of [least, most].
func whole(s string, least, most int64) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil || n < least || n > most {
		return 0, errMissing("a whole number of " + strconv.FormatInt(least, 10) + " to " + strconv.FormatInt(most, 10))
	}
	return n, nil
}

// pair reads "A,B".
func pair(s string, mostA, mostB int64) (a, b int64, err error) {
	first, second, ok := strings.Cut(s, ",")
	if !ok {
		return 0, 0, errMissing("two numbers")
	}
	if a, err = whole(first, 0, mostA); err != nil {
		return 0, 0, err
	}
	b, err = whole(second, 0, mostB)
	return a, b, err
}

// maxWait bounds what a directive waits for, in milliseconds: a day.
const maxWait = int64(24 * time.Hour / time.Millisecond)

// deadline reads the "timeout=MS " that may stand before a question's text.
func deadline(arg string) (timeout int64, text string, err error) {
	after, ok := strings.CutPrefix(arg, "timeout=")
	if !ok {
		return 0, arg, nil
	}
	ms, text, _ := strings.Cut(after, " ")
	timeout, err = whole(ms, 1, maxWait)
	return timeout, strings.TrimLeft(text, " "), err
}

// question checks what the wire would refuse.
func question(a ask) (step, error) {
	if err := wire.ValidateDialog(a.dialog); err != nil {
		return nil, malformed{"a question that can be asked: " + wire.AsFailure(err).Message}
	}
	return a, nil
}

type questionnaire struct {
	Method    string          `json:"method,omitempty"`
	Title     string          `json:"title"`
	Questions []wire.Question `json:"questions"`
}
