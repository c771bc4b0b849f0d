package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-run/troupe/wire"
)

// answerFlags are the ways to answer without being asked.
type answerFlags struct {
	value   string
	stdin   bool
	yes, no bool
	cancel  bool
	answers string
}

func (c *cli) answerCommand() *cobra.Command {
	var fl answerFlags
	var wait bool
	cmd := &cobra.Command{
		Use:   "answer THREAD [QUESTION]",
		Short: "Answer an open question",
		Long: "Answer an open question of a thread: the one with the id QUESTION, or the only\n" +
			"one. Without a flag the question is put on the terminal; what answers a secret\n" +
			"is not shown. With --json and no flag the open questions are printed.\n\n" +
			"A credential should be given with --stdin: a --value stands in the process list.",
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: c.completeThreads,
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := c.client()
			if err != nil {
				return err
			}
			n := 0
			for _, name := range []string{"value", "stdin", "yes", "no", "cancel", "answers"} {
				if cmd.Flags().Changed(name) {
					n++
				}
			}
			if n > 1 {
				return usagef("an answer is one of --value, --stdin, --yes, --no, --cancel, --answers")
			}
			ctx := cmd.Context()
			if wait {
				waiting, cancel := interruptible(ctx)
				err := questionOpen(waiting, cl, args[0])
				cancel() // from here on Ctrl-C ends a question at the terminal
				if err != nil {
					return err
				}
			}
			open, err := openDialogs(ctx, cl, args[0])
			if err != nil {
				return err
			}
			if c.json && n == 0 {
				raw, err := wire.Encode(open)
				if err != nil {
					return err
				}
				return c.printJSON(raw)
			}
			question := ""
			if len(args) == 2 {
				question = args[1]
			}
			d, err := pick(args[0], open, question)
			if err != nil {
				return err
			}
			return c.answer(ctx, cl, args[0], d, &fl, cmd.Flags().Changed)
		},
	}
	f := cmd.Flags()
	f.StringVar(&fl.value, "value", "", "the option, or the text")
	f.BoolVar(&fl.stdin, "stdin", false, "read the text from stdin")
	f.BoolVar(&fl.yes, "yes", false, "confirm")
	f.BoolVar(&fl.no, "no", false, "do not confirm")
	f.BoolVar(&fl.cancel, "cancel", false, "decline to answer")
	f.BoolVar(&wait, "wait", false, "wait for a question to open")
	f.StringVar(&fl.answers, "answers", "", `JSON for a questionnaire: [{"selected":["A"],"other":"…"}]`)
	return c.withJSON(cmd)
}

// questionOpen returns once a question is open in the thread.
func questionOpen(ctx context.Context, cl *client, id string) error {
	err := cl.followForever(ctx, id, false, func(error, time.Duration) {}, func(_ []byte, f wire.Frame) error {
		switch f := f.(type) {
		case *wire.Snapshot:
			if len(f.OpenDialogs) > 0 {
				return errSeen
			}
		case *wire.ObservationFrame:
			if o, ok := f.Observation.(*wire.ExtensionUIRequest); ok && o.Blocking {
				return errSeen
			}
		}
		return nil
	})
	if errors.Is(err, errSeen) {
		return nil
	}
	return err
}

// pick is the question that id names, or the only one.
func pick(thread string, open []wire.OpenDialog, id string) (wire.OpenDialog, error) {
	for _, d := range open {
		if d.ID == id {
			return d, nil
		}
	}
	switch {
	case id != "":
		return wire.OpenDialog{}, wire.Errorf(wire.CodeNotFound, "no question %s is open in %s", id, thread)
	case len(open) == 0:
		return wire.OpenDialog{}, wire.Errorf(wire.CodeNotFound, "no question is open in %s", thread)
	case len(open) == 1:
		return open[0], nil
	}
	text := ""
	for _, d := range open {
		text += fmt.Sprintf("\n  %s  %s", plain(d.ID), dialogTitle(d.Dialog))
	}
	return wire.OpenDialog{}, usagef("%d questions are open, name one:%s", len(open), text)
}

// answer finds the arm, checks it where the question is, and sends it.
func (c *cli) answer(ctx context.Context, cl *client, id string, d wire.OpenDialog, fl *answerFlags, changed func(string) bool) error {
	arm, err := c.armOf(d, fl, changed)
	if err != nil {
		return err
	}
	a := wire.Answer{ID: d.ID, Arm: arm}
	if err := wire.ValidateAnswer(d.Dialog, a); err != nil {
		return err
	}
	body, err := wire.EncodeAnswer(a)
	if err != nil {
		return err
	}
	return cl.do(ctx, http.MethodPost, thread(id, "dialog"), body, nil)
}

func (c *cli) armOf(d wire.OpenDialog, fl *answerFlags, changed func(string) bool) (wire.AnswerArm, error) {
	switch {
	case fl.cancel:
		return &wire.CancelArm{}, nil
	case fl.yes || fl.no:
		return &wire.ConfirmArm{Confirmed: fl.yes}, nil
	case changed("value"):
		return &wire.ValueArm{Value: wire.NewSecret(fl.value)}, nil
	case fl.stdin:
		text, err := readText(c.in)
		return &wire.ValueArm{Value: wire.NewSecret(text)}, err
	case changed("answers"):
		answers, err := wire.DecodeStrict[[]wire.QuestionAnswer]([]byte(fl.answers))
		if err != nil {
			if !json.Valid([]byte(fl.answers)) {
				return nil, usagef("--answers: not JSON")
			}
			return nil, usagef("--answers: %s", wire.AsFailure(err).Message)
		}
		return &wire.AnswersArm{Answers: answers}, nil
	}
	if !isTerminal(c.in) {
		return nil, usagef("stdin is no terminal: answer with --value, --stdin, --yes, --no, --cancel or --answers")
	}
	return newAsker(c).ask(d.Dialog)
}
