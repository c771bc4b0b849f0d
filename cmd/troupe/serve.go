package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/troupe-run/troupe/supervision"
)

func (c *cli) serveCommand() *cobra.Command {
	var fl flagValues
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve threads of the agents on this machine",
		Long: "Serve threads on a loopback address until SIGINT or SIGTERM; a second signal ends\n" +
			"at once. With nothing configured it offers the agent `scripted` and every known\n" +
			"agent on PATH. When it is ready it prints one line with its address.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(fl, c.env, onPath)
			if err != nil {
				return err
			}
			// Both signals fit while nobody reads: the second must not be lost.
			signals := make(chan os.Signal, 2)
			signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
			defer signal.Stop(signals)
			p := &program{cfg: cfg, out: c.out, log: newLogger(c.err, cfg.LogLevel), signals: signals, exit: c.exit}
			return p.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&fl.listen, "listen", "", "address to listen on (env TROUPE_LISTEN, default "+defaultListen+")")
	cmd.Flags().StringVar(&fl.data, "data", "", "folder for what is kept (env TROUPE_DATA, default in the user's state folder)")
	cmd.Flags().StringVar(&fl.file, "config", "", "configuration file (env TROUPE_CONFIG, default troupe/troupe.yaml in the user's configuration folder)")
	cmd.Flags().StringVar(&fl.logLevel, "log-level", "", "trace, debug, info, warn or error (env TROUPE_LOG_LEVEL, default info)")
	return cmd
}

// newLogger writes lines for a person to a terminal, else JSON.
func newLogger(w io.Writer, level string) *zap.Logger {
	l, err := logLevel(level)
	if err != nil {
		l = zapcore.InfoLevel
	}
	ec := zap.NewProductionEncoderConfig()
	ec.EncodeTime = zapcore.ISO8601TimeEncoder
	ec.EncodeLevel = encodeLevel
	enc := zapcore.NewJSONEncoder(ec)
	if isTerminal(w) {
		enc = zapcore.NewConsoleEncoder(ec)
	}
	return zap.New(zapcore.NewCore(enc, zapcore.Lock(zapcore.AddSync(w)), l))
}

func encodeLevel(l zapcore.Level, e zapcore.PrimitiveArrayEncoder) {
	if l == levelTrace {
		e.AppendString("trace")
		return
	}
	zapcore.LowercaseLevelEncoder(l, e)
}

// program is `troupe serve` as a value: a test starts one on port 0.
type program struct {
	cfg     *config
	out     io.Writer // gets the one line that says it is ready
	log     *zap.Logger
	signals <-chan os.Signal
	exit    func(code int) // for the second signal
	ready   func(url string)
}

// Bounds of the stop steps. Together they stay below what service managers grant.
const (
	stopAccepting = 2 * time.Second
	stopFollowers = 2 * time.Second
	stopRuns      = 8 * time.Second
	stopSessions  = 5 * time.Second
	stopJournal   = 5 * time.Second
	stopFacts     = time.Second
)

// run serves until ctx ends, a signal comes, or a part fails.
func (p *program) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	facts := supervision.NewFacts(1024, supervision.LogFacts(p.log))
	defer func() {
		bounded, done := context.WithTimeout(context.Background(), stopFacts)
		defer done()
		_ = facts.Close(bounded) // a log that nobody reads is no reason to stay
		_ = p.log.Sync()         // not every stderr can be synced
	}()
	if err := os.MkdirAll(p.cfg.Data, 0o700); err != nil {
		return fmt.Errorf("the data folder: %w", err)
	}
	tcp, err := net.Listen("tcp", p.cfg.Listen)
	if err != nil {
		return listenError(p.cfg.Listen, err)
	}
	ln := &onceListener{Listener: tcp}
	guard := supervision.NewGuard(facts.Publish)
	parts, err := compose(p.cfg, ln.Addr(), guard, facts.Publish, p.log)
	if err != nil {
		_ = ln.Close() // the error that follows says more
		return err
	}
	g := &supervision.Group{Signals: p.signals, Exit: p.exit, Publish: facts.Publish, Guard: guard}
	g.Add("caller", func() error { <-ctx.Done(); return nil })
	g.Add("http", func() error { return parts.server.Serve(ln) })
	g.Stop(supervision.Step{Name: "readiness off", Timeout: stopAccepting, Run: func(context.Context) error {
		cancel()
		parts.ready.Store(false)
		return nil
	}})
	// The requests under way are waited for once the runs are over: an abort answers
	// when its run has settled.
	g.Stop(supervision.Step{Name: "stop accepting", Timeout: stopAccepting, Run: func(context.Context) error { return ln.Close() }})
	g.Stop(supervision.Step{Name: "close followers", Timeout: stopFollowers, Run: parts.threads.CloseFollowers})
	g.Stop(supervision.Step{Name: "drain runs", Timeout: stopRuns, Run: parts.threads.Drain})
	g.Stop(supervision.Step{Name: "shut down http", Timeout: stopAccepting, Run: parts.server.Shutdown})
	g.Stop(supervision.Step{Name: "close sessions", Timeout: stopSessions, Run: parts.threads.Close})
	g.Stop(supervision.Step{Name: "flush journal", Timeout: stopJournal, Run: func(context.Context) error { return parts.journal.Close() }})

	url := "http://" + ln.Addr().String()
	parts.ready.Store(true)
	facts.Publish(&supervision.Ready{Address: url})
	if _, err := fmt.Fprintf(p.out, "troupe: serving %s\n", url); err != nil {
		p.log.Warn("nobody reads stdout", zap.Error(err))
	}
	if p.ready != nil {
		p.ready(url)
	}
	return g.Run()
}

// onceListener is closed by the stop step and again by the server.
type onceListener struct {
	net.Listener
	once sync.Once
	err  error
}

// Close answers every call what the first one did.
func (l *onceListener) Close() error {
	l.once.Do(func() { l.err = l.Listener.Close() })
	return l.err
}

func listenError(addr string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s is in use; is a troupe serving there? Another address is given with --listen", addr)
	}
	return err
}
