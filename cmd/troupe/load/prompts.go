package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/troupe-run/troupe/wire"
)

// ledger is what became of a thread's prompts, as its requests were answered.
type ledger struct {
	mu       sync.Mutex
	accepted []string
	dropped  map[string]bool
}

func (l *ledger) abort(r wire.AbortReceipt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, q := range r.Queue {
		l.dropped[q.MessageID] = true
	}
}

// open is the first accepted prompt of which nothing was heard, "" without one.
func (l *ledger) open(c *checker) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range l.accepted {
		if !l.dropped[id] && !c.entered[id] && !c.rejected[id] {
			return id
		}
	}
	return ""
}

// promptStorm sends prompts of every kind to many threads, stops some, races for
// their questions, all by a schedule that its seed gives.
func promptStorm(ctx context.Context, b *bench) error {
	threads := threadsOf(agent, b.prefix("prompts"), b.shape.threads, 0)
	c := b.crowd()
	defer c.leave()
	c.elides = true
	listen(c, threads)
	if err := c.join(ctx, threads, b.shape.followers, len(threads), 0); err != nil {
		return err
	}
	b.result.Checked = len(threads)
	each := max(1, b.shape.times/len(threads))
	total := int64(each * len(threads))
	var sent atomic.Int64
	b.show.stage(b.result.Scenario, total, sent.Load)
	start := b.usage(ctx)
	watch := watchMemory(ctx, b.meter, func() float64 { return float64(sent.Load()) / float64(total) })
	began := time.Now()
	ledgers := make([]*ledger, len(threads))
	g, gctx := errgroup.WithContext(ctx)
	answering, stop := context.WithCancel(ctx)
	defer stop()
	var answers errgroup.Group
	for i, th := range threads {
		l := &ledger{dropped: map[string]bool{}}
		ledgers[i] = l
		rng := rand.New(rand.NewPCG(b.o.Seed, uint64(i)))
		answers.Go(func() error { return b.answerAll(answering, th, l, rand.New(rand.NewPCG(b.o.Seed, ^uint64(i)))) })
		g.Go(func() error {
			for range each {
				if err := b.scheduled(gctx, th, l, rng); err != nil {
					return err
				}
				sent.Add(1)
			}
			return nil
		})
	}
	err := g.Wait()
	if err == nil {
		err = b.allSettled(ctx, threads, ledgers)
	}
	stop()
	_ = answers.Wait() // its errors are the rules'
	peak, flat := watch.stop()
	if end := b.usage(ctx); start != nil && end != nil {
		b.result.Memory = &Memory{Start: start.memory, Joined: start.memory, Peak: max(peak, end.memory), End: end.memory, Flat: flat}
	}
	if err != nil {
		return err
	}
	b.result.Seconds = time.Since(began).Seconds()
	dropped, runs := 0, 0
	for i, th := range threads {
		dropped += len(ledgers[i].dropped)
		th.look(func(k *checker) { runs += k.runs })
	}
	b.result.figure("prompts", float64(total), "")
	b.result.figure("prompts", float64(total)/b.result.Seconds, "a second")
	b.result.figure("runs", float64(runs), "")
	b.result.figure("dropped by aborts", float64(dropped), "")
	return b.finish(ctx, c, threads)
}

// scheduled sends one prompt, and sometimes stops what it is the last of.
func (b *bench) scheduled(ctx context.Context, th *thread, l *ledger, rng *rand.Rand) error {
	r := wire.PromptRequest{}
	stop := false
	switch n := rng.IntN(100); {
	case n < 50:
		r.Message = fmt.Sprintf("pace:%d,%d,0", 1+rng.IntN(20), minSize+rng.IntN(200))
	case n < 60:
		r.Message = `tool:look {"at":"it"} ; say:seen`
	case n < 70:
		r.Message, r.Admission = "say:by the way", wire.AdmitInterrupting
	case n < 80:
		r.Message = "ask:confirm go on? ; say:thank you"
	case n < 90:
		r.Message, stop = "slow:40", true
	default:
		r.Message = "say:" + strings.Repeat("long ", 1+rng.IntN(200))
	}
	receipt, err := b.api.prompt(ctx, th.id, r)
	if err != nil {
		return b.refused(ctx, th, err)
	}
	l.mu.Lock()
	l.accepted = append(l.accepted, receipt.MessageID)
	l.mu.Unlock()
	if !stop {
		return nil
	}
	return b.stopOne(ctx, th, l)
}

func (b *bench) stopOne(ctx context.Context, th *thread, l *ledger) error {
	receipt, err := b.api.abort(ctx, th.id)
	if err != nil {
		return b.refused(ctx, th, err)
	}
	l.abort(receipt)
	return nil
}

// answerAll races for every question of a thread, now and then beside an abort.
func (b *bench) answerAll(ctx context.Context, th *thread, l *ledger, rng *rand.Rand) error {
	for {
		var id string
		select {
		case <-ctx.Done():
			return nil
		case id = <-th.asked:
		}
		abort := rng.IntN(4) == 0
		var g errgroup.Group
		g.Go(func() error {
			won, err := b.race(ctx, th, id, 3)
			if err == nil && won > 1 {
				b.rules.add(Violation{Rule: RuleDialog, Thread: th.id, Got: fmt.Sprintf("%d answers won question %s", won, id), Want: "1 at most"})
			}
			return err
		})
		if abort {
			g.Go(func() error { return b.stopOne(ctx, th, l) })
		}
		if err := g.Wait(); err != nil {
			return err
		}
	}
}

// allSettled waits until every prompt was heard of and nothing runs.
func (b *bench) allSettled(ctx context.Context, threads []*thread, ledgers []*ledger) error {
	for i, th := range threads {
		var open string
		var busy bool
		err := waitUntil(ctx, b.until, func() bool {
			th.look(func(k *checker) {
				open, busy = "", false
				if k.broken || k.folder == nil {
					return
				}
				open, busy = ledgers[i].open(k), k.ran != k.settled || k.folder.Snapshot().Busy
			})
			return open == "" && !busy
		})
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return ctx.Err()
		case open != "":
			b.rules.add(Violation{Rule: RulePrompt, Thread: th.id, Got: "nothing of prompt " + open, Want: "it to be run, dropped or rejected"})
			return errLate
		default:
			b.rules.add(Violation{Rule: RuleSettled, Thread: th.id, Got: "a run that does not settle", Want: "it to"})
			return errLate
		}
	}
	return nil
}

// makeAll creates threads.
func (b *bench) makeAll(ctx context.Context, threads []*thread) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(promptsAtOnce)
	for _, th := range threads {
		g.Go(func() error {
			_, id, _ := strings.Cut(th.id, ".")
			return b.refused(ctx, th, b.api.create(ctx, wire.CreateThread{Type: agent, ID: id}))
		})
	}
	return g.Wait()
}
