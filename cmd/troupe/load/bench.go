package load

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/troupe-run/troupe/wire"
)

// bench is one scenario under way.
type bench struct {
	o     *Options
	shape shape
	rules *violations
	until time.Time
	show  *progress

	server *process // nil when it was there before
	addr   string
	api    *api
	meter  meter
	told   metricsMeter // the server's own page, where it has one
	dial   *dialer
	result *Result
	parts  []*Result // rows before it
}

// prefix makes ids of this call's own: a server may have seen others.
func (b *bench) prefix(part string) string {
	return fmt.Sprintf("load-%s-%d-%x", part, b.o.Seed%1e6, time.Now().UnixMilli()%1e9)
}

func (b *bench) crowd() *crowd { return newCrowd(b.dial, b.rules, b.until) }

// usage is the server's; nil where it is not known.
func (b *bench) usage(ctx context.Context) *usage {
	u, err := b.meter.read(ctx)
	if err != nil {
		return nil
	}
	if own, ok := b.meter.(procMeter); ok && b.server != nil && own.pid == b.server.cmd.Process.Pid {
		if told, err := b.told.read(ctx); err == nil {
			u.heap = told.heap
		}
	}
	return &u
}

// promptsAtOnce bounds the prompts under way.
const promptsAtOnce = 32

// promptAll prompts every thread, and answers how long that took. A prompt that is
// refused is a broken rule.
func (b *bench) promptAll(ctx context.Context, threads []*thread, frames int64, text string) (time.Duration, error) {
	began := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(promptsAtOnce)
	for _, th := range threads {
		g.Go(func() error {
			th.frames.Store(frames)
			th.prompted.Store(elapsed())
			_, err := b.api.prompt(ctx, th.id, wire.PromptRequest{Message: text})
			return b.refused(ctx, th, err)
		})
	}
	err := g.Wait()
	return time.Since(began), err
}

// refused makes a broken rule of a request's error, unless the tool itself is ending.
func (b *bench) refused(ctx context.Context, th *thread, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	b.rules.add(Violation{Rule: RulePrompt, Thread: th.id, Got: err.Error(), Want: "it to be accepted"})
	return errStop
}

// errStop ends a scenario whose broken rule has been reported.
var errStop = errors.New("a rule was broken")

// probes are short runs before the measured one: the first starts the sessions, the
// others time a prompt's way to its first delta.
const probes = 20

// join lets the followers join and notes the memory they take.
func (b *bench) join(ctx context.Context, c *crowd, threads []*thread, stuck int) error {
	start := b.usage(ctx)
	b.show.stage("joining", int64(len(threads)*b.shape.followers), c.opened.Load)
	if err := c.join(ctx, threads, b.shape.followers, b.o.Checked, stuck); err != nil {
		return err
	}
	if err := pause(ctx, b.o.Idle); err != nil {
		return err
	}
	joined := b.usage(ctx)
	if start == nil || joined == nil {
		return nil
	}
	b.result.Memory = &Memory{
		Start: start.memory, Joined: joined.memory, Peak: joined.memory, End: joined.memory,
		PerFollower: float64(joined.memory-start.memory) / float64(len(c.followers)),
	}
	if start.heap > 0 && joined.heap > 0 {
		b.result.Memory.InUse = float64(joined.heap-start.heap) / float64(len(c.followers))
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// warm runs the probes.
func (b *bench) warm(ctx context.Context, c *crowd, threads []*thread) error {
	n := min(probes, max(1, 200/len(threads)))
	before := b.usage(ctx)
	for i := range n {
		from := c.settled.Load()
		if _, err := b.promptAll(ctx, threads, 1, fmt.Sprintf("pace:1,%d,0", b.shape.size)); err != nil {
			return err
		}
		if err := c.runsSettled(ctx, from, 1); err != nil {
			return err
		}
		if i == 0 {
			c.first.reset() // it waited for the session's start
			if after := b.usage(ctx); before != nil && after != nil && b.result.Memory != nil {
				b.result.Memory.PerThread = float64(after.memory-before.memory) / float64(len(threads))
			}
		}
	}
	return nil
}

// measure calls publish, which makes every thread run once, and fills in what the
// followers saw of it.
func (b *bench) measure(ctx context.Context, c *crowd, m meter, r *Result, publish func(context.Context) error) (seen, error) {
	c.tallies.reset()
	expect := c.readers() * int64(b.shape.frames)
	b.show.stage(r.Scenario, expect, c.tallies.deliveriesNow)
	read := func() *usage {
		u, err := m.read(ctx)
		if err != nil {
			return nil
		}
		return &u
	}
	before, own := read(), ownCPU()
	watch := watchMemory(ctx, m, func() float64 { return float64(c.tallies.deliveriesNow()) / float64(expect) })
	from := c.settled.Load()
	began := time.Now()
	if b.shape.rate > 0 {
		c.base.Store(&began)
	}
	err := publish(ctx)
	if err == nil && b.shape.rate > 0 && b.shape.threads > 1 {
		// Threads that are still being started load the server with their prompts: that
		// is told apart from what follows.
		ramp := c.tallies.sum()
		r.figure("started in", time.Since(began).Seconds(), "s")
		if ramp.latency.TotalCount() > 0 {
			r.figure("p99 meanwhile", latencyOf(ramp.latency).P99, "ms")
		}
		c.tallies.reset()
		before, own = read(), ownCPU()
	}
	if err == nil {
		err = c.runsSettled(ctx, from, 1)
	}
	after := read()
	peak, flat := watch.stop()
	s := c.tallies.sum()
	if step := clockStep(began, time.Now()); step.Abs() > time.Millisecond {
		// Without a rate deliveries are timed by the wall clock, which two processes share.
		r.figure("the clock was set meanwhile by", float64(step)/float64(time.Millisecond), "ms")
	}
	r.Deliveries, r.Seconds = s.deliveries, s.delivering.Seconds()
	if s.delivering > 0 {
		r.PerSecond = float64(s.deliveries) / s.delivering.Seconds()
	}
	r.figure("published in", s.publishing.Seconds(), "s")
	r.figure("delivered in", s.delivering.Seconds(), "s")
	if s.deliveries > 0 {
		r.figure("the tool's own CPU", float64((ownCPU()-own)/time.Microsecond)/float64(s.deliveries), "µs/delivery")
	}
	if s.latency.TotalCount() > 0 {
		l := latencyOf(s.latency)
		r.Delivery = &l
	}
	if l := c.first.latency(); l.Count > 0 {
		r.First = &l
	}
	if before != nil && after != nil {
		if s.deliveries > 0 {
			cpu := float64(after.cpu-before.cpu) / float64(time.Microsecond) / float64(s.deliveries)
			r.CPUPerDelivery = &cpu
		}
		if r.Memory != nil {
			r.Memory.Peak, r.Memory.End, r.Memory.Flat = max(peak, r.Memory.Peak), after.memory, flat
		}
	}
	return s, err
}

// clockStep is how much further the wall clock has gone than time did.
func clockStep(from, to time.Time) time.Duration {
	return to.Round(0).Sub(from.Round(0)) - to.Sub(from)
}

// exact compares, while nothing runs, each checked follower's folded snapshot with
// the server's own.
func (b *bench) exact(ctx context.Context, threads []*thread) error {
	for _, th := range threads {
		if th.check == nil {
			continue
		}
		// Its own last status may still be on its way.
		err := waitUntil(ctx, time.Now().Add(5*time.Second), func() (quiet bool) {
			th.look(func(c *checker) { quiet = c.broken || c.folder == nil || !c.folder.Snapshot().Busy })
			return quiet
		})
		if err != nil && !errors.Is(err, errLate) {
			return err
		}
		now, err := b.api.history(ctx, th.id)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			b.rules.add(Violation{Rule: RuleFold, Thread: th.id, Got: err.Error(), Want: "a snapshot"})
			continue
		}
		th.look(func(c *checker) {
			if c.folder != nil {
				c.exact(now)
			}
		})
	}
	return nil
}

// paceText is the prompt of a measured run.
func (s shape) paceText() string {
	return fmt.Sprintf("pace:%d,%d,%s", s.frames, s.size, strings.TrimSuffix(fmt.Sprintf("%.3f", s.rate), ".000"))
}

// memoryWatch samples a server's memory while it works.
type memoryWatch struct {
	group  errgroup.Group
	cancel context.CancelFunc
	peak   int64
	tenth  int64 // when a tenth was done
	most   int64 // from then on
}

// watchEvery is the time between two samples.
const watchEvery = 100 * time.Millisecond

func watchMemory(ctx context.Context, m meter, done func() float64) *memoryWatch {
	ctx, cancel := context.WithCancel(ctx)
	w := &memoryWatch{cancel: cancel}
	w.group.Go(func() error {
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
			u, err := m.read(ctx)
			if err != nil {
				continue
			}
			w.peak = max(w.peak, u.memory)
			if done() < 0.1 {
				continue
			}
			if w.tenth == 0 {
				w.tenth = u.memory
			}
			w.most = max(w.most, u.memory)
		}
	})
	return w
}

// stop answers the peak, and the most after a tenth was done, to what it was then.
func (w *memoryWatch) stop() (peak int64, flat float64) {
	w.cancel()
	_ = w.group.Wait() // it has no error
	if w.tenth > 0 {
		flat = float64(w.most) / float64(w.tenth)
	}
	return w.peak, flat
}
