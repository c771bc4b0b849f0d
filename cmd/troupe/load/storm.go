package load

import (
	"context"
	"fmt"
	"time"
)

// reconnectStorm makes a long history, and lets everybody come back to it at once.
func reconnectStorm(ctx context.Context, b *bench) error {
	threads := threadsOf(agent, b.prefix("storm"), 1, b.shape.size)
	before := b.crowd()
	defer before.leave()
	if err := b.join(ctx, before, threads, 0); err != nil {
		return err
	}
	from := before.settled.Load()
	if _, err := b.promptAll(ctx, threads, int64(b.shape.frames), b.shape.paceText()); err != nil {
		return err
	}
	if err := before.runsSettled(ctx, from, 1); err != nil {
		return err
	}
	if err := b.exact(ctx, threads); err != nil {
		return err
	}
	before.leave()

	r := b.result
	start := b.usage(ctx)
	watch := watchMemory(ctx, b.meter, func() float64 { return 0 })
	c := b.crowd()
	defer c.leave()
	th := threadsOf(agent, "", 1, 0)[0]
	th.id = threads[0].id
	b.show.stage(r.Scenario, int64(b.shape.followers), c.opened.Load)
	took, err := c.storm(ctx, th, b.shape.followers)
	peak, _ := watch.stop()
	if err != nil {
		return err
	}
	after := b.usage(ctx)
	th.look(func(k *checker) {
		if k.folder == nil {
			return
		}
		if got := foldedDeltas(k.folder.Snapshot(), b.shape.size); got != int64(b.shape.frames) {
			k.breaks(RuleText, fmt.Sprintf("%d whole deltas in the snapshot", got), fmt.Sprint(b.shape.frames))
		}
	})
	// They follow on from there.
	from = c.settled.Load()
	if _, err := b.promptAll(ctx, []*thread{th}, 10, fmt.Sprintf("pace:10,%d,0", minSize)); err != nil {
		return err
	}
	if err := c.runsSettled(ctx, from, 1); err != nil {
		return err
	}
	if err := b.exact(ctx, []*thread{th}); err != nil {
		return err
	}
	c.leave()
	c.same()
	r.Checked = 1
	r.Seconds = took.Seconds()
	size := c.followers[0].bytes
	r.figure("all served in", took.Seconds(), "s")
	r.figure("a snapshot is", float64(size)/(1<<20), "MB")
	r.figure("served", float64(size)*float64(b.shape.followers)/(1<<20)/took.Seconds(), "MB/s")
	if start != nil && after != nil {
		r.Memory = &Memory{Start: start.memory, Joined: after.memory, Peak: max(peak, after.memory), End: after.memory}
		r.figure("memory above its start", float64(r.Memory.Peak-start.memory)/(1<<20), "MB")
	}
	return nil
}

// coldBatch is how many threads are followed at once.
const coldBatch = 500

// coldFollows follows threads that nobody prompts, each once.
func coldFollows(ctx context.Context, b *bench) error {
	start := b.usage(ctx)
	watch := watchMemory(ctx, b.meter, func() float64 { return 0 })
	threads := threadsOf(agent, b.prefix("cold"), b.shape.threads, 0)
	done := int64(0)
	b.show.stage(b.result.Scenario, int64(len(threads)), func() int64 { return 0 })
	began := time.Now()
	err := func() error {
		for len(threads) > 0 {
			batch := threads[:min(coldBatch, len(threads))]
			threads = threads[len(batch):]
			if err := b.followOnce(ctx, batch); err != nil {
				return err
			}
			done += int64(len(batch))
			now := done
			b.show.stage(b.result.Scenario, int64(b.shape.threads), func() int64 { return now })
		}
		return nil
	}()
	peak, _ := watch.stop()
	r := b.result
	r.Checked = b.shape.threads / coldBatch * min(b.o.Checked, coldBatch)
	r.Seconds = time.Since(began).Seconds()
	r.figure("followed", float64(done)/r.Seconds, "threads/s")
	if err != nil || start == nil || b.o.Short {
		return err
	}
	b.show.stage("waiting for the memory", 1, func() int64 { return 0 })
	return b.memoryBack(ctx, *start, peak)
}

func (b *bench) followOnce(ctx context.Context, batch []*thread) error {
	if b.o.Made {
		if err := b.makeAll(ctx, batch); err != nil {
			return err
		}
	}
	c := b.crowd()
	defer c.leave()
	return c.join(ctx, batch, 1, b.o.Checked, 0)
}

// backWithin is how long a server may take to passivate its threads, collect its
// garbage and give the memory back: one that idles collects every two minutes, and
// what it pools goes with the second collection.
const backWithin = 5 * time.Minute

// memoryBack waits until a tenth or less of what was taken is left.
func (b *bench) memoryBack(ctx context.Context, start usage, peak int64) error {
	r := b.result
	began := time.Now()
	until := began.Add(backWithin)
	if b.until.Before(until) {
		until = b.until
	}
	last := usage{memory: peak}
	err := waitUntil(ctx, until, func() bool {
		if u, err := b.meter.read(ctx); err == nil {
			last = u
		}
		return last.memory-start.memory <= (peak-start.memory)/10
	})
	if u := b.usage(ctx); u != nil {
		last = *u
	}
	threads := float64(b.shape.threads)
	r.Memory = &Memory{Start: start.memory, Joined: peak, Peak: peak, End: last.memory, PerThread: float64(last.memory-start.memory) / threads}
	r.figure("a thread took", float64(peak-start.memory)/threads/1024, "KB at most")
	if start.heap > 0 && last.heap > 0 {
		r.figure("heap and stack in use at the end above the start", float64(last.heap-start.heap)/threads/1024, "KB a thread")
	}
	r.figure("memory settled in", time.Since(began).Seconds(), "s")
	if err != nil && ctx.Err() != nil {
		return err
	}
	return nil // what is left is the budgets' matter
}
