package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/troupe-run/troupe/supervision"
	"github.com/troupe-run/troupe/wire"
)

// minInterval keeps the viewer from being the load.
const minInterval = 100 * time.Millisecond

// maxRows is the most threads that are asked for, twice: those that run, and the
// newest.
const maxRows = 100

func (c *cli) topCommand() *cobra.Command {
	var once bool
	interval := time.Second
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show what the server does, and its busiest threads, until q or Ctrl-C",
		Long: "Show the server's numbers (those of /metrics) and its threads: the ones that wait\n" +
			"for an answer first, then the ones that run, then the most recent. It refreshes\n" +
			"until q or Ctrl-C. Rates are of the last interval, publish p50 and p99 of the last\n" +
			"15 s. With --once, or where stdout is no terminal, it looks twice, an interval\n" +
			"apart, and prints one plain page. With --json each refresh is a line.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if interval < minInterval {
				return usagef("--interval %s: want at least %s", interval, minInterval)
			}
			cl, err := c.client()
			if err != nil {
				return err
			}
			ctx, cancel := interruptible(cmd.Context())
			defer cancel()
			t := &top{cl: cl, interval: interval}
			switch {
			case once:
				return t.once(ctx, c)
			case c.json:
				return t.lines(ctx, c)
			case !isTerminal(c.out):
				return t.once(ctx, c)
			}
			return t.watch(ctx, c)
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "print one page and end")
	cmd.Flags().DurationVar(&interval, "interval", interval, "time between two looks")
	return c.withJSON(cmd)
}

// top looks at one server again and again.
type top struct {
	cl       *client
	interval time.Duration
	seen     history
}

// look is one refresh.
func (t *top) look(ctx context.Context) (*vitals, error) {
	ctx, cancel := context.WithTimeout(ctx, max(5*time.Second, t.interval))
	defer cancel()
	now, err := scrape(ctx, t.cl)
	if err != nil {
		return nil, err
	}
	list, err := t.threads(ctx)
	if err != nil {
		return nil, err
	}
	before, oldest := t.seen.add(now)
	v := vitalsOf(t.cl.base, before, oldest, now)
	v.List = list
	return &v, nil
}

// threads are those that run and the newest, once each.
func (t *top) threads(ctx context.Context) ([]wire.Summary, error) {
	var all []wire.Summary
	have := map[string]bool{}
	for _, status := range []wire.ThreadStatus{wire.StatusActive, ""} {
		page, _, err := listThreads(ctx, t.cl, &wire.ThreadQuery{Status: status, Limit: maxRows})
		if err != nil {
			return nil, err
		}
		for _, s := range page.Threads {
			if !have[s.ID] {
				have[s.ID] = true
				all = append(all, s)
			}
		}
	}
	busiest(all)
	return all[:min(len(all), maxRows)], nil
}

// pause waits for the next look.
func (t *top) pause(ctx context.Context) error {
	timer := time.NewTimer(t.interval)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// once prints one page, or one line of JSON, with rates.
func (t *top) once(ctx context.Context, c *cli) error {
	if _, err := t.look(ctx); err != nil {
		return err
	}
	if err := t.pause(ctx); err != nil {
		return err
	}
	v, err := t.look(ctx)
	if err != nil {
		return err
	}
	if c.json {
		return c.printVitals(v)
	}
	_, err = fmt.Fprintln(c.out, strings.Join(page{}.render(v, "", ""), "\n"))
	return err
}

// lines prints a line of JSON to each look, until ctx ends or the server goes.
func (t *top) lines(ctx context.Context, c *cli) error {
	for {
		v, err := t.look(ctx)
		if err != nil {
			return err
		}
		if err := c.printVitals(v); err != nil {
			return err
		}
		if err := t.pause(ctx); err != nil {
			return err
		}
	}
}

func (c *cli) printVitals(v *vitals) error {
	b, err := wire.Encode(v)
	if err != nil {
		return err
	}
	return c.printJSON(b)
}

// errQuit ends the view because somebody pressed q.
var errQuit = errors.New("quit")

// watch is the view on a terminal. Whatever ends it, the terminal is as it was. A
// server that goes meanwhile is tried again; one that was never there ends it.
func (t *top) watch(ctx context.Context, c *cli) error {
	v, err := t.look(ctx)
	if err != nil {
		return err
	}
	out := c.out.(*os.File)
	ctx, quit := context.WithCancelCause(ctx)
	defer quit(nil)
	hint := "Ctrl-C quits"
	leave, err := enterScreen(c.in, out, quit)
	if err != nil {
		return err
	}
	defer leave()
	if isTerminal(c.in) {
		hint = "q quits"
	}
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	tick := time.NewTicker(t.interval)
	defer tick.Stop()
	trouble := ""
	for {
		if err := draw(out, styleOf(out, c.env), v, trouble, hint); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errQuit) {
				return nil
			}
			return ctx.Err()
		case <-resized:
			continue
		case <-tick.C:
		}
		newer, err := t.look(ctx)
		if err == nil {
			v, trouble = newer, ""
		} else if ctx.Err() == nil {
			text, _ := report(err)
			trouble = "trying again, as of " + v.At.Format(time.TimeOnly) + ": " + text
		}
	}
}

// The terminal's words: the other screen and back, the cursor hidden and shown, to
// the first cell, the rest of the line and of the screen cleared.
const (
	otherScreen = "\x1b[?1049h\x1b[?25l"
	firstScreen = "\x1b[?25h\x1b[?1049l"
	home        = "\x1b[H"
	restOfLine  = "\x1b[K"
	restOfAll   = "\x1b[J"
)

// enterScreen takes the terminal over, and gives what gives it back. Where stdin is
// a terminal its keys are read: q quits, and Ctrl-C is a key too, since the
// terminal makes no signal of it in this state.
func enterScreen(in io.Reader, out io.Writer, quit context.CancelCauseFunc) (leave func(), err error) {
	restore := func() {}
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		before, err := term.MakeRaw(int(f.Fd()))
		if err != nil {
			return nil, fmt.Errorf("the terminal: %w", err)
		}
		restore = func() { _ = term.Restore(int(f.Fd()), before) } // it is ending either way
		// Its read ends with the process: nothing else wakes it.
		supervision.NewGuard(func(supervision.Fact) {}).Go("keys", nil, func() { keys(f, quit) })
	}
	leave = func() {
		_, _ = io.WriteString(out, firstScreen) // there is nobody to tell
		restore()
	}
	if _, err := io.WriteString(out, otherScreen); err != nil {
		restore()
		return nil, err
	}
	return leave, nil
}

// keys reads until one of them quits, or there are no more.
func keys(in io.Reader, quit context.CancelCauseFunc) {
	const ctrlC = 3
	b := make([]byte, 64)
	for {
		n, err := in.Read(b)
		for _, k := range b[:n] {
			switch k {
			case 'q', 'Q':
				quit(errQuit)
				return
			case ctrlC:
				quit(context.Canceled)
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// draw writes a whole screen at once, so that nothing flickers.
func draw(out *os.File, st style, v *vitals, trouble, hint string) error {
	width, height, err := term.GetSize(int(out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		width, height = 80, 24
	}
	var b bytes.Buffer
	b.WriteString(home)
	for i, line := range (page{width, height, st}).render(v, trouble, hint) {
		if i > 0 {
			b.WriteString("\r\n") // in this state the terminal adds no return of its own
		}
		b.WriteString(line + restOfLine)
	}
	b.WriteString(restOfAll)
	_, err = out.Write(b.Bytes())
	return err
}
