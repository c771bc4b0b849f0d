package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-run/troupe/wire"
)

// telling is a verb that sends one request about a thread and prints nothing.
func (c *cli) telling(cmd *cobra.Command, verb string, body func(args []string) any) *cobra.Command {
	cmd.ValidArgsFunction = c.completeThreads
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cl, err := c.client()
		if err != nil {
			return err
		}
		return tell(cmd.Context(), cl, http.MethodPost, thread(args[0], verb), body(args))
	}
	return cmd
}

func (c *cli) renameCommand() *cobra.Command {
	return c.telling(&cobra.Command{
		Use:   "rename THREAD TITLE...",
		Short: "Give a thread a title",
		Args:  cobra.MinimumNArgs(2),
	}, "rename", func(args []string) any { return &wire.RenameRequest{Title: strings.Join(args[1:], " ")} })
}

func (c *cli) modeCommand() *cobra.Command {
	return c.telling(&cobra.Command{
		Use:   "mode THREAD MODE",
		Short: "Ask for a permission mode",
		Args:  cobra.ExactArgs(2),
	}, "mode", func(args []string) any { return &wire.ModeRequest{Mode: args[1]} })
}

func (c *cli) modelCommand() *cobra.Command {
	var r wire.ModelRequest
	cmd := c.telling(&cobra.Command{
		Use:   "model THREAD [PROVIDER/]MODEL",
		Short: "Ask for a model",
		Args:  cobra.ExactArgs(2),
	}, "model", func(args []string) any {
		r.ID = args[1]
		if provider, id, ok := strings.Cut(args[1], "/"); ok && r.Provider == "" {
			r.Provider, r.ID = provider, id
		}
		return &r
	})
	cmd.Flags().StringVar(&r.ThinkingLevel, "thinking", "", "its thinking level")
	cmd.Flags().StringVar(&r.Provider, "provider", "", "its provider, where the model's own name holds a slash")
	return cmd
}

func (c *cli) compactCommand() *cobra.Command {
	return c.telling(&cobra.Command{
		Use:   "compact THREAD [INSTRUCTIONS...]",
		Short: "Ask the agent to compact its context now",
		Args:  cobra.MinimumNArgs(1),
	}, "compact", func(args []string) any { return &wire.CompactRequest{Instructions: strings.Join(args[1:], " ")} })
}

func (c *cli) abortCommand() *cobra.Command {
	return c.withJSON(&cobra.Command{
		Use:               "abort THREAD",
		Short:             "Stop the run, drop the queue, settle the questions; print what that ended",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: c.completeThreads,
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := c.client()
			if err != nil {
				return err
			}
			r, raw, err := call[wire.AbortReceipt](cmd.Context(), cl, http.MethodPost, thread(args[0], "abort"), nil)
			if err != nil {
				return err
			}
			if c.json {
				return c.printJSON(raw)
			}
			_, err = fmt.Fprint(c.out, abortText(&r))
			return err
		},
	})
}

// abortText is the receipt, a line for each thing that was ended.
func abortText(r *wire.AbortReceipt) string {
	var b strings.Builder
	if r.Aborted {
		fmt.Fprintf(&b, "aborted run %d\n", r.Generation)
	} else {
		b.WriteString("nothing to abort\n")
	}
	for _, p := range r.Queue {
		fmt.Fprintf(&b, "dropped prompt %s: %s\n", plain(p.MessageID), oneLine(p.Text, 100))
	}
	for _, d := range r.Dialogs {
		fmt.Fprintf(&b, "settled question %s\n", plain(d))
	}
	for _, p := range r.Processes {
		fmt.Fprintf(&b, "ended process %d (%s): %s\n", p.PID, plain(p.Signal), oneLine(p.Command, 100))
	}
	for _, t := range r.Children {
		fmt.Fprintf(&b, "stopped thread %s\n", plain(t))
	}
	return b.String()
}

func (c *cli) versionCommand() *cobra.Command {
	return c.withJSON(&cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if c.json {
				return c.printJSON(fmt.Appendf(nil, `{"version":%q}`, version()))
			}
			_, err := fmt.Fprintln(c.out, "troupe", version())
			return err
		},
	})
}

// openDialogs are the thread's open questions, oldest first.
func openDialogs(ctx context.Context, cl *client, id string) ([]wire.OpenDialog, error) {
	ds, _, err := call[[]wire.OpenDialog](ctx, cl, http.MethodGet, thread(id, "dialog"), nil)
	return ds, err
}
