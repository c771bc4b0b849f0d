package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-run/troupe/cmd/troupe/load"
)

func (c *cli) loadCommand() *cobra.Command {
	var (
		o                 load.Options
		perFollower, grow string
	)
	o.Followers = 0
	about := &strings.Builder{}
	for _, line := range load.Help() {
		fmt.Fprintf(about, "  %-17s %s\n", line[0], line[1])
	}
	cmd := &cobra.Command{
		Use:   "load [SCENARIO...]",
		Short: "Load a server with threads and followers, and check what it does",
		Long: "Start a server, or take the one of --server, load it with threads of the agent\n" +
			"`scripted` and with followers, check every rule of a follow while it measures, and\n" +
			"print a table. The exit code is 1 when a rule or a budget was broken. Scenarios,\n" +
			"`all` for all of them, a short fan-out without any:\n\n" + about.String(),
		ValidArgs: append(load.Names(), "all"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Scenarios = args
			if len(args) == 1 && args[0] == "all" {
				o.Scenarios = load.Names()
			}
			if cmd.Flags().Changed("server") { // TROUPE_SERVER may name one that people use
				o.Server = c.server
			}
			o.RateSet = cmd.Flags().Changed("rate")
			if !cmd.Flags().Changed("seed") {
				o.Seed = rand.Uint64()
			}
			if o.Short {
				o.Idle = 0
			}
			var err error
			if o.Budgets.MemoryPerFollower, err = bytesOf("--max-memory-per-follower", perFollower); err != nil {
				return err
			}
			if o.Budgets.MemoryGrowth, err = bytesOf("--max-memory-growth", grow); err != nil {
				return err
			}
			return c.load(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.Threads, "threads", 0, "threads (default: the scenario's, as with the flags below)")
	f.IntVar(&o.Followers, "followers", 0, "followers of each thread")
	f.Float64Var(&o.Rate, "rate", 0, "frames a second of each thread; 0 is as fast as it goes")
	f.IntVar(&o.Size, "size", 0, "bytes of text in a frame")
	f.IntVar(&o.Frames, "frames", 0, "frames of each thread")
	f.DurationVar(&o.Duration, "duration", 0, "in place of --frames: how long, at --rate")
	f.IntVar(&o.Checked, "checked", 16, "threads with a fully checked follower; the others' are checked for less")
	f.BoolVar(&o.Made, "made", false, "cold-follows: make each thread before it is followed")
	f.Uint64Var(&o.Seed, "seed", 0, "of the schedules (default: a new one, which is printed)")
	f.BoolVar(&o.Short, "short", false, "a form of a few seconds, judged by the rules alone")
	f.BoolVar(&o.Baseline, "baseline", false, "feed the same frames at the same pace to a raw shared-log writer, and compare")
	f.DurationVar(&o.Idle, "idle", 2*time.Second, "how long the followers idle before the memory they take is read")
	f.DurationVar(&o.Timeout, "timeout", 10*time.Minute, "of one scenario")
	f.DurationVar(&o.Budgets.P99, "max-p99", 0, "budget: the delivery's p99")
	f.StringVar(&perFollower, "max-memory-per-follower", "", "budget: the server's memory for each idle follower, as 10KB")
	f.StringVar(&grow, "max-memory-growth", "", "budget: the server's memory above its start, as 100MB")
	f.Float64Var(&o.Budgets.Flat, "max-flat", 0, "budget: the server's memory after a tenth of the deliveries, to what it was then")
	f.Float64Var(&o.Budgets.Ratio, "min-ratio", 0, "budget: deliveries a second, to the baseline's")
	f.Float64Var(&o.Budgets.CPURatio, "max-cpu-ratio", 0, "budget: CPU per delivery, to the baseline's")
	f.Float64Var(&o.Budgets.P99Ratio, "max-p99-ratio", 0, "budget: the delivery's p99, to the baseline's")
	f.Float64Var(&o.Budgets.SlowRatio, "max-slow-ratio", 0, "budget: slow-followers: p99 beside stuck followers, to that without them")
	cmd.AddCommand(c.baselineCommand())
	return c.withJSON(cmd)
}

// baselineCommand is what --baseline starts.
func (c *cli) baselineCommand() *cobra.Command {
	return &cobra.Command{
		Use: load.BaselineVerb, Hidden: true, Args: cobra.NoArgs,
		Short: "Write what stdin says to whoever connects, for --baseline",
		RunE:  func(cmd *cobra.Command, _ []string) error { return load.ServeBaseline(cmd.Context(), c.in, c.out) },
	}
}

func (c *cli) load(ctx context.Context, o load.Options) error {
	ctx, cancel := interruptible(ctx)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	o.Self = load.Self{Path: self, Env: withoutTroupe(os.Environ())}
	if isTerminal(c.err) {
		o.Progress = c.err
	}
	report, err := load.Run(ctx, o)
	if wrong := (*load.OptionError)(nil); errors.As(err, &wrong) {
		return usageError{wrong}
	}
	if c.json {
		b, err := json.MarshalIndent(report, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintf(c.out, "%s\n", b)
	} else {
		report.Print(c.out)
	}
	switch {
	case err != nil:
		return err
	case report.Interrupted:
		return &codedError{code: exitInterrupted}
	case report.Failed():
		return &codedError{code: exitFailure, text: fmt.Sprintf("%d rules broken, %d budgets", report.Broken, len(report.OverBudget))}
	}
	return nil
}

// withoutTroupe leaves out what would configure the tool's own server.
func withoutTroupe(env []string) (out []string) {
	for _, e := range env {
		if !strings.HasPrefix(e, "TROUPE_") || strings.HasPrefix(e, "TROUPE_TEST_") {
			out = append(out, e)
		}
	}
	return out
}

// bytesOf reads a size like 10KB, 10240 or 100MB; K is 1024.
func bytesOf(flag, s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	digits, unit := strings.TrimRight(strings.ToUpper(s), "KMGB"), int64(1)
	switch strings.TrimSuffix(strings.ToUpper(s)[len(digits):], "B") {
	case "":
	case "K":
		unit = 1 << 10
	case "M":
		unit = 1 << 20
	case "G":
		unit = 1 << 30
	default:
		return 0, usagef("%s: %q: want a size like 10KB", flag, s)
	}
	var n int64
	if _, err := fmt.Sscanf(digits+"\n", "%d\n", &n); err != nil || n < 0 {
		return 0, usagef("%s: %q: want a size like 10KB", flag, s)
	}
	return n * unit, nil
}
