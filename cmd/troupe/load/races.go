package load

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/troupe-run/troupe/wire"
)

// racers is how many do the same thing at once.
const racers = 8

// listen lets a scenario hear of questions.
func listen(c *crowd, threads []*thread) {
	for _, th := range threads {
		th.asked = make(chan string, 64)
	}
	c.saw = func(th *thread, o wire.Observation) {
		if q, ok := o.(*wire.ExtensionUIRequest); ok && q.Blocking {
			select {
			case th.asked <- q.ID:
			default: // more than a thread may have open
			}
		}
	}
}

// answerText is an answer to a yes or a no, or its cancel.
func answerText(id string, cancel bool) []byte {
	a := map[string]any{"id": id, "confirmed": true}
	if cancel {
		a = map[string]any{"id": id, "cancelled": true}
	}
	b, err := json.Marshal(a)
	if err != nil {
		panic(err) // of two fields that can be encoded
	}
	return b
}

// race answers and cancels one question from n sides, and says how many won. Whoever
// lost has to be told that the question is gone.
func (b *bench) race(ctx context.Context, th *thread, id string, n int) (won int64, err error) {
	var wins atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for i := range n {
		g.Go(func() error {
			status, err := b.api.answer(ctx, th.id, answerText(id, i%2 == 1))
			switch {
			case err != nil:
				return b.refused(ctx, th, err)
			case status == http.StatusNoContent:
				wins.Add(1)
			case status != http.StatusNotFound:
				b.rules.add(Violation{Rule: RuleDialog, Thread: th.id, Got: fmt.Sprintf("status %d for question %s", status, id), Want: "204 for one, 404 for the others"})
			}
			return nil
		})
	}
	err = g.Wait()
	return wins.Load(), err
}

// dialogRace lets many end one question, over and over.
func dialogRace(ctx context.Context, b *bench) error {
	threads := threadsOf(agent, b.prefix("dialog"), b.shape.threads, 0)
	c := b.crowd()
	defer c.leave()
	listen(c, threads)
	if err := c.join(ctx, threads, b.shape.followers, len(threads), 0); err != nil {
		return err
	}
	b.result.Checked = len(threads)
	var raced atomic.Int64
	b.show.stage(b.result.Scenario, int64(b.shape.times*len(threads)), raced.Load)
	began := time.Now()
	for range b.shape.times {
		from := c.settled.Load()
		if _, err := b.promptAll(ctx, threads, 0, "ask:confirm go on? ; say:thank you"); err != nil {
			return err
		}
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(promptsAtOnce)
		for _, th := range threads {
			g.Go(func() error {
				id, err := b.question(gctx, th)
				if err != nil {
					return err
				}
				won, err := b.race(gctx, th, id, racers)
				if err == nil && won != 1 {
					b.rules.add(Violation{Rule: RuleDialog, Thread: th.id, Got: fmt.Sprintf("%d of %d ended question %s", won, racers, id), Want: "1"})
				}
				raced.Add(1)
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		if err := c.runsSettled(ctx, from, 1); err != nil {
			return err
		}
	}
	b.result.Seconds = time.Since(began).Seconds()
	b.result.figure("questions", float64(raced.Load()), "")
	b.result.figure("answers", float64(raced.Load()*racers)/b.result.Seconds, "a second")
	return b.finish(ctx, c, threads)
}

// question waits for a thread's next one.
func (b *bench) question(ctx context.Context, th *thread) (string, error) {
	late := time.NewTimer(time.Until(b.until))
	defer late.Stop()
	select {
	case id := <-th.asked:
		return id, nil
	case <-ctx.Done():
		return "", ctx.Err()
	case <-late.C:
		b.rules.add(Violation{Rule: RuleInTime, Thread: th.id, Got: "no question", Want: "one"})
		return "", errLate
	}
}

// finish counts what was delivered, and holds what the threads are now against what
// their followers saw.
func (b *bench) finish(ctx context.Context, c *crowd, threads []*thread) error {
	b.result.Deliveries = c.tallies.sum().deliveries
	if b.result.Seconds > 0 {
		b.result.PerSecond = float64(b.result.Deliveries) / b.result.Seconds
	}
	for _, th := range threads {
		if th.check == nil {
			continue
		}
		th.look(func(k *checker) {
			if n := k.open(); n > 0 {
				k.breaks(RuleDialog, fmt.Sprintf("%d questions open after every run has settled", n), "none")
			}
		})
	}
	return b.exact(ctx, threads)
}

// abortStorm stops a run from many sides, over and over.
func abortStorm(ctx context.Context, b *bench) error {
	threads := threadsOf(agent, b.prefix("abort"), b.shape.threads, b.shape.size)
	c := b.crowd()
	defer c.leave()
	if err := c.join(ctx, threads, b.shape.followers, len(threads), 0); err != nil {
		return err
	}
	b.result.Checked = len(threads)
	stopped := newStopwatch()
	began := time.Now()
	var rounds atomic.Int64
	b.show.stage(b.result.Scenario, int64(b.shape.times), rounds.Load)
	for range b.shape.times {
		from := c.settled.Load()
		if _, err := b.promptAll(ctx, threads, 0, fmt.Sprintf("pace:1000000,%d,500", b.shape.size)); err != nil {
			return err
		}
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(promptsAtOnce)
		for _, th := range threads {
			g.Go(func() error { return b.stopAtOnce(gctx, c, th, stopped) })
		}
		if err := g.Wait(); err != nil {
			return err
		}
		if err := c.runsSettled(ctx, from, 1); err != nil {
			return err
		}
		from = c.settled.Load()
		if _, err := b.promptAll(ctx, threads, 5, fmt.Sprintf("pace:5,%d,0", b.shape.size)); err != nil {
			return err
		}
		if err := c.runsSettled(ctx, from, 1); err != nil {
			return err
		}
		rounds.Add(1)
	}
	l := stopped.latency()
	b.result.Seconds = time.Since(began).Seconds()
	b.result.figure("runs stopped", float64(len(threads)*b.shape.times), "")
	b.result.figure("abort p50", l.P50, "ms")
	b.result.figure("abort p99", l.P99, "ms")
	return b.finish(ctx, c, threads)
}

// stopAtOnce aborts a run from all sides once it speaks. Each abort answers, and one
// at least says that it stopped something.
func (b *bench) stopAtOnce(ctx context.Context, c *crowd, th *thread, stopped *stopwatch) error {
	if err := c.wait(ctx, "runs begun", func() bool { return th.prompted.Load() == 0 }); err != nil {
		return err
	}
	var did atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range racers {
		g.Go(func() error {
			began := time.Now()
			receipt, err := b.api.abort(ctx, th.id)
			if err != nil {
				return b.refused(ctx, th, err)
			}
			stopped.record(int64(time.Since(began)))
			if receipt.Aborted {
				did.Add(1)
			}
			return nil
		})
	}
	err := g.Wait()
	if err == nil && did.Load() == 0 {
		b.rules.add(Violation{Rule: RuleAbort, Thread: th.id, Got: fmt.Sprintf("none of %d aborts of a busy thread stopped anything", racers), Want: "one at least"})
	}
	return err
}
