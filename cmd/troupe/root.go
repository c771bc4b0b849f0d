package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

const defaultServer = "http://127.0.0.1:4777"

// cli is one run of the program: its streams and environment, and what the
// persistent flags say.
type cli struct {
	in   io.Reader
	out  io.Writer
	err  io.Writer
	env  func(string) string
	exit func(int)

	server string
	json   bool
	ran    bool // a verb's own code was reached: an error is no longer cobra's
}

// run is main without the process: it answers the exit code.
func (c *cli) run(ctx context.Context, args []string) int {
	root := c.root()
	root.SetArgs(args)
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.err)
	err := root.ExecuteContext(ctx)
	if err != nil && !c.ran {
		err = usageError{err}
	}
	text, code := report(err)
	if errors.Is(err, context.Canceled) { // nothing but a signal cancels a verb
		text, code = "", exitInterrupted
	}
	if text != "" {
		fmt.Fprintf(c.err, "troupe: %s\n", text)
	}
	if code == exitUsage && !c.ran {
		fmt.Fprintln(c.err, "Run `troupe --help` for the verbs, `troupe VERB --help` for one.")
	}
	return code
}

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "troupe",
		Short:         "Run threads of coding agents, and follow, prompt, answer and stop them",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		PersistentPreRun: func(*cobra.Command, []string) {
			c.ran = true
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	server := c.env("TROUPE_SERVER")
	if server == "" {
		server = defaultServer
	}
	root.PersistentFlags().StringVar(&c.server, "server", server, "address of the server (env TROUPE_SERVER)")
	root.AddCommand(
		c.serveCommand(), c.agentsCommand(), c.lsCommand(), c.newCommand(), c.promptCommand(),
		c.followCommand(), c.answerCommand(), c.abortCommand(), c.renameCommand(), c.modeCommand(),
		c.modelCommand(), c.compactCommand(), c.topCommand(), c.loadCommand(), c.versionCommand(),
	)
	return root
}

// withJSON gives a verb the flag --json.
func (c *cli) withJSON(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&c.json, "json", false, "print JSON")
	return cmd
}

// interruptible ends ctx at the first Ctrl-C or TERM.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

// client is the client of --server.
func (c *cli) client() (*client, error) { return newClient(c.server) }

// printJSON prints a server's answer as it came, on one line.
func (c *cli) printJSON(raw []byte) error {
	_, err := fmt.Fprintf(c.out, "%s\n", plainJSON(raw))
	return err
}

// completeThreads offers the ids of the server's threads to the shell.
func (c *cli) completeThreads(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	cl, err := c.client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), time.Second)
	defer cancel()
	page, _, err := listThreads(ctx, cl, nil)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var ids []string
	for _, s := range page.Threads {
		if strings.HasPrefix(s.ID, prefix) {
			ids = append(ids, s.ID)
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// version is the module's version, with the commit where the build knows it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "devel"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 && !strings.Contains(v, s.Value[:12]) {
			v += "+" + s.Value[:12]
		}
	}
	return v
}
