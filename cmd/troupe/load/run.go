package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"time"
)

// Run plays the scenarios, each on a server of its own unless one is given. An error
// is that something could not be tried; broken rules and budgets are in the report,
// which is there, if only in part, in every case.
func Run(ctx context.Context, o Options) (*Report, error) {
	r := &Report{Seed: o.Seed, Cores: runtime.NumCPU(), Violations: []Violation{}, OverBudget: []string{}, Results: []*Result{}}
	if err := o.check(); err != nil {
		return r, &OptionError{err}
	}
	r.OpenFiles = raiseOpenFiles()
	show := newProgress(o.Progress)
	defer show.stop()
	for _, one := range o.plan() {
		err := r.play(ctx, &o, one, show)
		if ctx.Err() != nil {
			r.Interrupted = true
			return r, nil
		}
		if err != nil {
			return r, fmt.Errorf("%s: %w", one.name, err)
		}
	}
	r.Complete = true
	return r, nil
}

// OptionError is an option that is wrong.
type OptionError struct{ error }

// Unwrap is the cause.
func (e *OptionError) Unwrap() error { return e.error }

// plan is the scenarios to play, in their shapes. With none named it is a short mix:
// a fan-out at a pace, and one as fast as it goes.
func (o *Options) plan() (out []scenario) {
	all := scenarios()
	if len(o.Scenarios) == 0 {
		fan := all[0]
		fan.shape = o.over(shape{threads: 1, followers: 200, rate: 50, size: 160, frames: 150})
		out = append(out, fan)
		if !o.RateSet {
			fan.shape = o.over(shape{threads: 1, followers: 200, rate: 0, size: 160, frames: 5000})
			out = append(out, fan)
		}
		return out
	}
	for _, s := range all {
		if !slices.Contains(o.Scenarios, s.name) {
			continue
		}
		if o.Short {
			s.shape = s.short
		}
		s.shape = o.over(s.shape)
		out = append(out, s)
	}
	return out
}

// play plays one scenario and adds what came of it.
func (r *Report) play(ctx context.Context, o *Options, s scenario, show *progress) (err error) {
	if need := uint64(s.atOnce() + spareFiles); r.OpenFiles > 0 && need > r.OpenFiles {
		return fmt.Errorf("%d followers want %d open files, and the limit is %d: raise it (ulimit -n), or follow less", s.atOnce(), need, r.OpenFiles)
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout+stopBound)
	defer cancel()
	b := &bench{o: o, shape: s.shape, rules: &violations{scenario: s.name}, until: time.Now().Add(o.Timeout), show: show}
	b.result = &Result{
		Scenario: s.name, Threads: s.shape.threads, Followers: s.shape.threads * s.shape.followers,
		Rate: s.shape.rate, Size: s.shape.size, Frames: s.shape.frames,
	}
	if err := b.begin(ctx); err != nil {
		return err
	}
	err = s.run(ctx, b)
	if errors.Is(err, errStop) || errors.Is(err, errLate) {
		err = nil // the rule that was broken is reported
	}
	err = errors.Join(err, b.end())
	rows := append(b.parts, b.result)
	r.Results = append(r.Results, rows...)
	kept, total := b.rules.all()
	r.Violations, r.Broken = append(r.Violations, kept...), r.Broken+total
	if !o.Short {
		for _, row := range rows {
			r.OverBudget = append(r.OverBudget, o.Budgets.over(row)...)
		}
	}
	return err
}

// begin starts the server, or finds the one given.
func (b *bench) begin(ctx context.Context) error {
	if b.o.Server != "" {
		u, err := url.Parse(b.o.Server)
		if err != nil {
			return err
		}
		b.addr = u.Host
	} else {
		p, err := startServer(ctx, b.o.Self)
		if err != nil {
			return err
		}
		b.server, b.addr, b.meter = p, p.addr, procMeter{p.cmd.Process.Pid}
	}
	b.told = metricsMeter{http: &http.Client{Timeout: 10 * time.Second}, url: "http://" + b.addr + "/metrics"}
	if b.server == nil {
		b.meter = b.told
	}
	b.api, b.dial = newAPI(b.addr), &dialer{addr: b.addr}
	return nil
}

func (b *bench) end() error {
	b.api.close()
	b.told.http.CloseIdleConnections()
	if b.server == nil {
		return nil
	}
	return b.server.stop()
}
