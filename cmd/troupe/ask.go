package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/term"

	"github.com/troupe-run/troupe/supervision"
	"github.com/troupe-run/troupe/wire"
)

// asker puts a question to the person at a terminal, on stderr, so that stdout
// stays for results. The end of input cancels.
type asker struct {
	in     *bufio.Reader
	out    io.Writer
	st     style
	hidden func() ([]byte, error)               // reads a line without showing it
	edit   func(prefill string) (string, error) // nil where there is no editor
}

func newAsker(c *cli) *asker {
	a := &asker{in: bufio.NewReader(c.in), out: c.err, st: styleOf(c.err, c.env)}
	if f, ok := c.in.(*os.File); ok {
		a.hidden = func() ([]byte, error) { return readHidden(int(f.Fd()), c.exit) }
	}
	editor := c.env("VISUAL")
	if editor == "" {
		editor = c.env("EDITOR")
	}
	if editor != "" {
		a.edit = func(prefill string) (string, error) { return editFile(editor, prefill) }
	}
	return a
}

// ask is the person's answer, valid as far as the terminal can see.
func (a *asker) ask(d wire.DialogSpec) (wire.AnswerArm, error) {
	lines := dialogLines(d)
	fmt.Fprintln(a.out, a.st.bold(lines[0]))
	if q, ok := d.(*wire.QuestionnaireDialog); ok {
		return a.questionnaire(q)
	}
	for _, l := range lines[1:] {
		fmt.Fprintln(a.out, "  "+l)
	}
	arm, err := a.one(d)
	if errors.Is(err, io.EOF) {
		return &wire.CancelArm{}, nil
	}
	return arm, err
}

func (a *asker) one(d wire.DialogSpec) (wire.AnswerArm, error) {
	switch d := d.(type) {
	case *wire.SelectDialog:
		i, err := a.choice("number, or nothing to cancel: ", len(d.Options))
		if err != nil || len(i) == 0 {
			return &wire.CancelArm{}, err
		}
		return value(d.Options[i[0]]), nil
	case *wire.ConfirmDialog:
		for {
			text, err := a.line("yes or no, or nothing to cancel: ")
			if err != nil {
				return nil, err
			}
			switch strings.ToLower(text) {
			case "":
				return &wire.CancelArm{}, nil
			case "y", "yes":
				return &wire.ConfirmArm{Confirmed: true}, nil
			case "n", "no":
				return &wire.ConfirmArm{Confirmed: false}, nil
			}
		}
	case *wire.InputDialog:
		if d.Secret && a.hidden != nil {
			fmt.Fprint(a.out, "not shown: ")
			b, err := a.hidden()
			fmt.Fprintln(a.out)
			return value(string(b)), err
		}
		text, err := a.line("> ")
		return value(text), err
	case *wire.EditorDialog:
		if a.edit != nil {
			text, err := a.edit(d.Prefill)
			return value(text), err
		}
		fmt.Fprintln(a.out, "the text, ended by a line with a single dot:")
		text, err := a.text()
		return value(text), err
	}
	return nil, fmt.Errorf("this troupe has no way to ask a %s", d.Method())
}

func value(s string) *wire.ValueArm { return &wire.ValueArm{Value: wire.NewSecret(s)} }

func (a *asker) questionnaire(d *wire.QuestionnaireDialog) (wire.AnswerArm, error) {
	out := &wire.AnswersArm{}
	for _, q := range d.Questions {
		for _, l := range questionLines(&q) {
			fmt.Fprintln(a.out, "  "+l)
		}
		answer, err := a.question(&q)
		if errors.Is(err, io.EOF) {
			return &wire.CancelArm{}, nil
		}
		if err != nil {
			return nil, err
		}
		out.Answers = append(out.Answers, answer)
	}
	return out, nil
}

// question is one answer: numbers, or words of the person's own.
func (a *asker) question(q *wire.Question) (wire.QuestionAnswer, error) {
	hint := "number, or your own words: "
	if q.MultiSelect {
		hint = "numbers with commas between, or your own words: "
	}
	for {
		text, err := a.line(hint)
		if err != nil {
			return wire.QuestionAnswer{}, err
		}
		if text == "" {
			continue
		}
		chosen, ok := numbers(text, len(q.Options))
		if !ok {
			return wire.QuestionAnswer{Selected: []string{}, Other: &text}, nil
		}
		if len(chosen) > 1 && !q.MultiSelect {
			fmt.Fprintln(a.out, "only one, please")
			continue
		}
		answer := wire.QuestionAnswer{Selected: []string{}}
		for _, i := range chosen {
			answer.Selected = append(answer.Selected, q.Options[i].Label)
		}
		return answer, nil
	}
}

// choice is one index below n, or none for an empty line.
func (a *asker) choice(hint string, n int) ([]int, error) {
	for {
		text, err := a.line(hint)
		if err != nil || text == "" {
			return nil, err
		}
		if i, ok := numbers(text, n); ok && len(i) == 1 {
			return i, nil
		}
		fmt.Fprintf(a.out, "want a number from 1 to %d\n", n)
	}
}

// numbers reads "1" or "1, 3" as indices below n; false when it is anything else.
func numbers(text string, n int) ([]int, bool) {
	var out []int
	for part := range strings.SplitSeq(text, ",") {
		i, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || i < 1 || i > n {
			return nil, false
		}
		if !slices.Contains(out, i-1) {
			out = append(out, i-1)
		}
	}
	return out, true
}

// line reads one line without its end. The end of input is io.EOF unless text
// came before it.
func (a *asker) line(hint string) (string, error) {
	fmt.Fprint(a.out, hint)
	text, err := a.in.ReadString('\n')
	if err != nil && text == "" {
		return "", err
	}
	return strings.TrimRight(text, "\r\n"), nil
}

func (a *asker) text() (string, error) {
	var lines []string
	for {
		l, err := a.line("")
		if errors.Is(err, io.EOF) && len(lines) > 0 || err == nil && l == "." {
			return strings.Join(lines, "\n"), nil
		}
		if err != nil {
			return "", err
		}
		lines = append(lines, l)
	}
}

// readHidden reads a line that is not shown. A Ctrl-C meanwhile ends the program,
// the terminal being as it was.
func readHidden(fd int, exit func(int)) ([]byte, error) {
	before, err := term.GetState(fd)
	if err != nil {
		return nil, err
	}
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	defer close(done)
	supervision.NewGuard(func(supervision.Fact) {}).Go("hidden input", nil, func() {
		select {
		case <-signals:
			_ = term.Restore(fd, before) // it is ending either way
			exit(exitInterrupted)
		case <-done:
		}
	})
	return term.ReadPassword(fd)
}

// editFile lets the person's editor change a text, in a folder only they can read.
func editFile(editor, prefill string) (string, error) {
	dir, err := os.MkdirTemp("", "troupe-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "answer.txt")
	if err := os.WriteFile(path, []byte(prefill), 0o600); err != nil {
		return "", err
	}
	words := strings.Fields(editor)
	cmd := exec.Command(words[0], append(words[1:], path)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w; nothing was answered", words[0], err)
	}
	b, err := os.ReadFile(path)
	return strings.TrimSuffix(string(b), "\n"), err
}
