package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-run/troupe/wire"
)

// maxPrompt bounds what is read of a file or of stdin, in bytes; the server's own
// limit is lower.
const maxPrompt = 64 << 20

func (c *cli) promptCommand() *cobra.Command {
	var (
		file      string
		images    []string
		interrupt bool
		wait      bool
		messageID string
	)
	cmd := &cobra.Command{
		Use:   "prompt THREAD [TEXT...]",
		Short: "Prompt a thread; --wait prints the answer",
		Long: "Prompt a thread with TEXT, with a file, or with what stdin says. A thread of a\n" +
			"known agent is made by its first prompt.\n\n" +
			"With --wait the answer is printed once the run ended, and the exit code says how:\n" +
			"0 completed, 3 failed, 4 aborted, 5 the prompt was rejected.",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: c.completeThreads,
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := c.client()
			if err != nil {
				return err
			}
			r := wire.PromptRequest{MessageID: messageID}
			if r.Message, err = c.promptText(args[1:], file); err != nil {
				return err
			}
			if r.Images, err = readImages(images); err != nil {
				return err
			}
			if interrupt {
				r.Admission = wire.AdmitInterrupting
			}
			if r.MessageID == "" {
				r.MessageID = wire.NewID(time.Now(), rand.Reader)
			}
			if wait {
				return c.promptAndWait(cmd.Context(), cl, args[0], r)
			}
			receipt, raw, err := call[wire.PromptReceipt](cmd.Context(), cl, http.MethodPost, thread(args[0], "prompt"), &r)
			if err != nil {
				return err
			}
			if c.json {
				return c.printJSON(raw)
			}
			text := plain(receipt.MessageID)
			if receipt.Queued {
				text += " queued"
			}
			_, err = fmt.Fprintln(c.out, text)
			return err
		},
	}
	cmd.Flags().StringVarP(&file, "file", "f", "", "read the prompt from this file, - for stdin")
	cmd.Flags().StringArrayVar(&images, "image", nil, "add this picture")
	cmd.Flags().BoolVar(&interrupt, "interrupt", false, "enter a busy run at its next step, where the agent can")
	cmd.Flags().BoolVar(&wait, "wait", false, "wait for the run's end and print the answer")
	cmd.Flags().StringVar(&messageID, "message-id", "", "the prompt's id: the same id is the same prompt")
	return c.withJSON(cmd)
}

func (c *cli) promptText(args []string, file string) (string, error) {
	switch {
	case len(args) > 0 && file != "":
		return "", usagef("a prompt is a text or a file, not both")
	case len(args) > 0:
		return strings.Join(args, " "), nil
	case file != "" && file != "-":
		f, err := os.Open(file)
		if err != nil {
			return "", usageError{err}
		}
		defer f.Close()
		return readText(f)
	case file == "" && isTerminal(c.in):
		return "", usagef("no prompt: give a text, --file, or stdin")
	}
	text, err := readText(c.in)
	if err == nil && strings.TrimSpace(text) == "" {
		return "", usagef("no prompt: stdin is empty; give a text, --file, or stdin")
	}
	return text, err
}

func readText(r io.Reader) (string, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxPrompt+1))
	if err != nil {
		return "", err
	}
	if len(b) > maxPrompt {
		return "", usagef("the prompt is over %d bytes", maxPrompt)
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}

func readImages(paths []string) ([]wire.Image, error) {
	var out []wire.Image
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			return nil, usageError{err}
		}
		kind := mime.TypeByExtension(strings.ToLower(filepath.Ext(p)))
		if kind == "" {
			kind = http.DetectContentType(b)
		}
		out = append(out, wire.Image{MimeType: kind, Data: base64.StdEncoding.EncodeToString(b)})
	}
	return out, nil
}

// promptAndWait follows first and prompts then, so that no frame of the run can
// be missed.
func (c *cli) promptAndWait(ctx context.Context, cl *client, id string, r wire.PromptRequest) error {
	ctx, cancel := interruptible(ctx)
	defer cancel()
	w := newWaiter(r.MessageID)
	sent := false
	lost := func(err error, wait time.Duration) {
		text, _ := report(err)
		fmt.Fprintf(c.err, "troupe: connection lost (%s), trying again in %s\n", text, wait.Round(time.Millisecond))
	}
	err := cl.followForever(ctx, id, false, lost, func(_ []byte, f wire.Frame) error {
		// A server that came back may not have the prompt: it is the same prompt by
		// its id, so sending it again runs it once.
		if s, ok := f.(*wire.Snapshot); ok && !w.entered {
			sent = true
			w.thread = s.ThreadID
			if _, _, err := call[wire.PromptReceipt](ctx, cl, http.MethodPost, thread(id, "prompt"), &r); err != nil {
				return err
			}
		}
		news, over := w.Frame(f)
		if news != "" {
			fmt.Fprintf(c.err, "troupe: %s\n", news)
		}
		if over {
			return errSeen
		}
		return nil
	})
	if !errors.Is(err, errSeen) {
		if sent && ctx.Err() != nil {
			fmt.Fprintf(c.err, "troupe: waiting no longer; the run goes on: troupe follow %s\n", plain(w.thread))
		}
		return err
	}
	return c.printOutcome(w)
}

// waitResult is what --wait --json prints.
type waitResult struct {
	ThreadID   string        `json:"threadId"`
	MessageID  string        `json:"messageId"`
	Generation uint64        `json:"generation"`
	Outcome    string        `json:"outcome"` // completed, aborted, failed or rejected
	Text       string        `json:"text"`
	Error      *wire.Failure `json:"error,omitempty"`
}

func (c *cli) printOutcome(w *waiter) error {
	res := w.result()
	if c.json {
		raw, err := wire.Encode(&res)
		if err != nil {
			return err
		}
		if err := c.printJSON(raw); err != nil {
			return err
		}
	} else if res.Text != "" {
		if _, err := fmt.Fprintln(c.out, plain(strings.TrimRight(res.Text, "\n"))); err != nil {
			return err
		}
	}
	text := "the run was " + res.Outcome
	if res.Error != nil {
		text = fmt.Sprintf("%s (%s)", plain(res.Error.Message), plain(string(res.Error.Code)))
	}
	switch res.Outcome {
	case string(wire.RunCompleted):
		return nil
	case string(wire.RunAborted):
		return &codedError{exitRunAborted, text}
	case outcomeRejected:
		return &codedError{exitRejected, text}
	default:
		return &codedError{exitRunFailed, text}
	}
}
