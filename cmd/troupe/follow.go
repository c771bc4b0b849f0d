package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-run/troupe/wire"
)

// errSeen ends a follow that has shown what it was asked for.
var errSeen = errors.New("seen")

func (c *cli) followCommand() *cobra.Command {
	var partials, untilIdle, verbose bool
	cmd := &cobra.Command{
		Use:   "follow THREAD",
		Short: "Show a thread as it talks",
		Long: "Show a thread: what was said, then what is said, until Ctrl-C. When the server\n" +
			"goes, it is tried again; each reconnect begins with a new snapshot.\n" +
			"With --json each frame is a line.",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: c.completeThreads,
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := c.client()
			if err != nil {
				return err
			}
			ctx, cancel := interruptible(cmd.Context())
			defer cancel()
			v := newView(styleOf(c.out, c.env), verbose)
			lost := func(err error, wait time.Duration) {
				if c.json {
					text, _ := report(err)
					fmt.Fprintf(c.err, "troupe: connection lost (%s), trying again in %s\n", text, wait.Round(time.Millisecond))
				} else {
					fmt.Fprint(c.out, v.Lost(wait))
				}
			}
			err = cl.followForever(ctx, args[0], partials, lost, func(raw []byte, f wire.Frame) error {
				if err := c.show(v, raw, f); err != nil {
					return err
				}
				if untilIdle && idle(f) {
					return errSeen
				}
				return nil
			})
			if errors.Is(err, errSeen) {
				return nil
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&partials, "partials", false, "ask for partial tool results too")
	cmd.Flags().BoolVar(&untilIdle, "until-idle", false, "end once nothing runs")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "show turns, partial results and events without a word of ours")
	return c.withJSON(cmd)
}

func (c *cli) show(v *view, raw []byte, f wire.Frame) error {
	if c.json {
		return c.printJSON(raw)
	}
	_, err := fmt.Fprint(c.out, v.Frame(f))
	return err
}

// idle says that f leaves the thread with no run.
func idle(f wire.Frame) bool {
	switch f := f.(type) {
	case *wire.Snapshot:
		return !f.Busy
	case *wire.Status:
		return !f.Busy
	}
	return false
}
