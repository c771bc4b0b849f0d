package load

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// feedHead is what the baseline's process is told first, as a line of JSON. Then come
// the lengths of the frames, four bytes each, the snapshot, and the frames.
type feedHead struct {
	Snapshot int           `json:"snapshot"` // bytes
	Frames   int           `json:"frames"`
	Bytes    int           `json:"bytes"` // of all frames
	Threads  int           `json:"threads"`
	Rate     float64       `json:"rate"`    // deltas a second; 0 spreads them evenly
	Spread   time.Duration `json:"spread"`  // over this
	Stagger  time.Duration `json:"stagger"` // between the begin of the first thread and the last
}

// baseline feeds the recording to the raw writer, at the same pace, and measures it
// with the same followers.
func (b *bench) baseline(ctx context.Context, rec *recording, publishing, stagger time.Duration) error {
	if rec.over || len(rec.lengths) == 0 {
		return fmt.Errorf("the run is too large to be recorded for the baseline: at most %d MB of frames", maxRecording>>20)
	}
	p, err := start(ctx, b.o.Self, func(string) ([]string, error) { return []string{"load", BaselineVerb}, nil })
	if err != nil {
		return err
	}
	var feeding errgroup.Group
	feeding.Go(func() error {
		head, err := json.Marshal(feedHead{
			Snapshot: len(rec.snapshot), Frames: len(rec.lengths), Bytes: len(rec.bytes), Threads: b.shape.threads,
			Rate: b.shape.rate, Spread: publishing, Stagger: stagger,
		})
		if err != nil {
			return err
		}
		lengths := make([]byte, 0, 4*len(rec.lengths))
		for _, n := range rec.lengths {
			lengths = binary.LittleEndian.AppendUint32(lengths, n)
		}
		for _, part := range [][]byte{append(head, '\n'), lengths, rec.snapshot, rec.bytes} {
			if _, err := p.stdin.Write(part); err != nil {
				return err
			}
		}
		return nil
	})
	if err := feeding.Wait(); err != nil {
		_ = p.cmd.Process.Kill()
		_ = p.stop()
		return fmt.Errorf("the baseline cannot be fed: %w", err)
	}
	r := &Result{
		Scenario: "baseline", Threads: b.shape.threads, Followers: b.result.Followers, Rate: b.shape.rate,
		Size: b.shape.size, Frames: b.shape.frames, Checked: b.result.Checked,
	}
	err = b.measureBaseline(ctx, p, r)
	_ = p.cmd.Process.Kill() // it has nothing to lose
	_ = p.stop()
	b.result.Baseline = r
	b.result.compare()
	return err
}

func (b *bench) measureBaseline(ctx context.Context, p *process, r *Result) error {
	// The same followers, on another server.
	own := *b
	defer func() { b.result, b.dial, b.meter, b.rules = own.result, own.dial, own.meter, own.rules }()
	b.result, b.dial, b.meter = r, &dialer{addr: p.addr}, procMeter{p.cmd.Process.Pid}
	c := b.crowd()
	defer c.leave()
	threads := threadsOf(agent, "raw", b.shape.threads, b.shape.size)
	if err := b.join(ctx, c, threads, 0); err != nil {
		return err
	}
	for _, th := range threads {
		th.frames.Store(int64(b.shape.frames))
	}
	_, err := b.measure(ctx, c, b.meter, r, func(context.Context) error {
		_, err := p.stdin.Write([]byte("go\n"))
		return err
	})
	return err
}
