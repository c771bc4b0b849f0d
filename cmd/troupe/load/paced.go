package load

import (
	"context"
	"fmt"
	"time"
)

// fanOut is the scenario of every kind of fan-out: threads whose followers are all
// there before one run of each is measured.
func fanOut(ctx context.Context, b *bench) error { return pacedWith(ctx, b, 0) }

func pacedWith(ctx context.Context, b *bench, stuck int) error {
	c := b.crowd()
	defer c.leave()
	threads := threadsOf(agent, b.prefix("run"), b.shape.threads, b.shape.size)
	if err := b.join(ctx, c, threads, stuck); err != nil {
		return err
	}
	b.result.Checked = min(b.o.Checked, len(threads))
	if err := b.warm(ctx, c, threads); err != nil {
		return err
	}
	var rec *recording
	if b.o.Baseline {
		var err error
		if threads[0].check == nil {
			return fmt.Errorf("the baseline is fed what a fully checked follower saw; want --checked 1 at least")
		}
		threads[0].look(func(k *checker) {
			if k.folder == nil {
				err = errStop
				return
			}
			rec, err = newRecording(k.folder.Snapshot())
			k.record = rec
		})
		if err != nil {
			return err
		}
	}
	var stagger time.Duration
	s, err := b.measure(ctx, c, b.meter, b.result, func(ctx context.Context) (err error) {
		stagger, err = b.promptAll(ctx, threads, int64(b.shape.frames), b.shape.paceText())
		return err
	})
	if err != nil {
		return err
	}
	if stuck > 0 {
		close(c.release)
		if err := c.wait(ctx, "stuck followers closed", func() bool { return c.closedStuck.Load() >= int64(stuck) || c.ended.Load() >= int64(stuck) }); err != nil {
			return err
		}
		b.result.figure("closed as stuck", float64(c.closedStuck.Load()), "")
	}
	if err := b.exact(ctx, threads); err != nil {
		return err
	}
	if rec == nil {
		return nil
	}
	threads[0].look(func(k *checker) { k.record = nil })
	c.leave()
	return b.baseline(ctx, rec, s.publishing, stagger)
}

// slowFollowers runs twice: without stuck followers, and with a tenth of them.
func slowFollowers(ctx context.Context, b *bench) error {
	whole := b.result
	without := *whole
	b.result = &without
	b.result.Scenario = "slow-followers, none stuck"
	b.parts = append(b.parts, &without)
	frames := b.shape.frames
	if b.o.Short { // nothing is compared
		b.shape.frames = min(frames, int(b.shape.rate))
		without.Frames = b.shape.frames
	}
	if err := pacedWith(ctx, b, 0); err != nil {
		return err
	}
	b.result, b.shape.frames = whole, frames
	b.o = withoutBaseline(b.o)
	err := pacedWith(ctx, b, max(1, b.shape.followers*b.shape.threads/10))
	if whole.Delivery != nil && without.Delivery != nil {
		whole.figure("p99 without stuck", without.Delivery.P99, "ms")
		whole.figure(figureSlowRatio, whole.Delivery.P99/without.Delivery.P99, "")
	}
	return err
}

func withoutBaseline(o *Options) *Options {
	c := *o
	c.Baseline = false
	return &c
}
