package actors

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/host/memory"
	"github.com/troupe-run/troupe/host/scripted"
	"github.com/troupe-run/troupe/supervision"
	"github.com/troupe-run/troupe/wire"
)

// rig is a whole host on the scripted runtime and a journal in memory.
type rig struct {
	t       testing.TB
	host    *Host
	c       *Client
	journal *memory.Journal
	mu      sync.Mutex
	facts   []Fact
	real    bool
}

type rigOptions struct {
	limits  Limits
	agents  []Agent
	script  scripted.Options
	journal memory.Options
	around  func(host.Journal) host.Journal // what the host sees of the journal
	trace   func(*thread, input, []effect)
	real    bool // outside a bubble: nothing to wait for at the end
}

type strikes struct{ p *supervision.Policy }

func (s strikes) Strike(k string, now time.Time) (time.Duration, bool) {
	v := s.p.Strike(k, now)
	return v.Delay, v.Exhausted
}

func (s strikes) Current(k string, now time.Time) (time.Duration, bool) {
	v := s.p.Current(k, now)
	return v.Delay, v.Exhausted
}

// newRig starts a host; what is left of it at the end of the test is a failure.
func newRig(t testing.TB, o rigOptions) *rig {
	t.Helper()
	r := &rig{t: t, journal: memory.New(o.journal), real: o.real}
	journal := host.Journal(r.journal)
	if o.around != nil {
		journal = o.around(journal)
	}
	guard := supervision.NewGuard(func(supervision.Fact) {})
	if o.agents == nil {
		o.agents = []Agent{{Name: "scripted", Runtime: scripted.New(o.script), Cwd: t.TempDir(), Default: true}}
	}
	system := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }))
	h, err := Start(Config{
		System: system, Journal: journal, Agents: o.agents, Limits: o.limits,
		Guard:    func(n string, p func(string, any, []byte), fn func()) { guard.Go(n, p, fn) },
		Strategy: supervision.NewStrategy(supervision.NewPolicy(supervision.RestartLimits()), func(supervision.Fact) {}, time.Now),
		Strikes:  strikes{supervision.NewPolicy(supervision.SessionLimits())},
		Facts: func(f Fact) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.facts = append(r.facts, f)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	h.trace = o.trace
	r.host, r.c = h, h.Threads()
	t.Cleanup(r.close)
	return r
}

func (r *rig) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := errors.Join(r.host.CloseFollowers(ctx), r.host.Drain(ctx), r.host.Close(ctx)); err != nil {
		r.t.Errorf("the host did not stop cleanly: %v", err)
	}
	if err := r.journal.Close(); err != nil {
		r.t.Error(err)
	}
	if !r.real {
		time.Sleep(2 * time.Second) // in a bubble: protoactor's dead-letter throttle ends by itself
	}
}

func (r *rig) prompt(id, text string) wire.PromptReceipt {
	r.t.Helper()
	rec, err := r.c.Prompt(context.Background(), id, wire.PromptRequest{Message: text})
	if err != nil {
		r.t.Fatalf("prompt %q: %v", text, err)
	}
	return rec
}

func (r *rig) abort(id string) wire.AbortReceipt {
	r.t.Helper()
	rec, err := r.c.Abort(context.Background(), id)
	if err != nil {
		r.t.Fatalf("abort: %v", err)
	}
	return rec
}

// viewer follows a thread in a goroutine of its own and keeps every frame.
type viewer struct {
	t      testing.TB
	f      *Follower
	real   bool
	mu     sync.Mutex
	frames []wire.Frame
	err    error
	more   chan struct{} // closed and replaced whenever a frame or the end comes
}

func (r *rig) follow(id string) *viewer {
	r.t.Helper()
	return r.followWith(id, FollowOptions{})
}

func (r *rig) followWith(id string, o FollowOptions) *viewer {
	r.t.Helper()
	f, err := r.c.Follow(context.Background(), id, o)
	if err != nil {
		r.t.Fatalf("follow: %v", err)
	}
	v := &viewer{t: r.t, f: f, real: r.real, more: make(chan struct{})}
	go v.read()
	v.await("the snapshot", func([]wire.Frame) bool { return true })
	return v
}

func (v *viewer) read() {
	for {
		b, err := v.f.Next(time.Hour)
		var frames []wire.Frame
		for _, line := range strings.Split(string(b), "\n\n") {
			if line == "" {
				continue
			}
			fr, bad := wire.DecodeFrame([]byte(strings.TrimPrefix(line, "data: ")))
			if bad != nil {
				err = fmt.Errorf("frame %q: %w", line, bad)
				break
			}
			frames = append(frames, fr)
		}
		v.mu.Lock()
		v.frames = append(v.frames, frames...)
		v.err = err
		close(v.more)
		v.more = make(chan struct{})
		v.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// In a bubble everything that is under way has come by then: one view may have seen
// a run's end before another.
func (v *viewer) all() []wire.Frame {
	if !v.real {
		synctest.Wait()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.frames)
}

// ended says whether the thread has ended the follow.
func (v *viewer) ended() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.err != nil
}

// await waits until ok, in a minute of the test's clock.
func (v *viewer) await(what string, ok func([]wire.Frame) bool) []wire.Frame {
	v.t.Helper()
	limit := time.After(time.Minute)
	for {
		v.mu.Lock()
		frames, more, err := slices.Clone(v.frames), v.more, v.err
		v.mu.Unlock()
		if len(frames) > 0 && ok(frames) {
			return frames
		}
		if err != nil {
			v.t.Fatalf("waiting for %s: the follow ended: %v\n%s", what, err, show(frames))
		}
		select {
		case <-more:
		case <-limit:
			v.t.Fatalf("waiting for %s in vain:\n%s", what, show(frames))
		}
	}
}

// settled waits for the end of run gen: settled, and the status behind it.
func (v *viewer) settled(gen uint64) []wire.Frame {
	v.t.Helper()
	return v.await(fmt.Sprintf("run %d to settle", gen), func(fs []wire.Frame) bool {
		seen := false
		for _, f := range fs {
			switch f := f.(type) {
			case *wire.Snapshot:
				if f.Generation >= gen && !f.Busy {
					return true
				}
			case *wire.Status:
				if seen && !f.Busy {
					return true
				}
			case *wire.ObservationFrame:
				if s, ok := f.Observation.(*wire.Settled); ok && s.Generation == gen {
					seen = true
				}
			}
		}
		return false
	})
}

// saw waits for an observation that matches.
func saw[T wire.Observation](v *viewer, what string, ok func(T) bool) T {
	v.t.Helper()
	var found T
	v.await(what, func(fs []wire.Frame) bool {
		for _, f := range fs {
			if o, is := f.(*wire.ObservationFrame); is {
				if x, is := o.Observation.(T); is && ok(x) {
					found = x
					return true
				}
			}
		}
		return false
	})
	return found
}

func asked(v *viewer) *wire.ExtensionUIRequest {
	v.t.Helper()
	return saw(v, "a question", func(q *wire.ExtensionUIRequest) bool { return q.Blocking })
}

func (v *viewer) snapshot() *wire.Snapshot { return v.all()[0].(*wire.Snapshot) }

// observations are the observations of kind T among the frames, in order.
func observations[T wire.Observation](frames []wire.Frame) []T {
	var out []T
	for _, f := range frames {
		if o, ok := f.(*wire.ObservationFrame); ok {
			if x, ok := o.Observation.(T); ok {
				out = append(out, x)
			}
		}
	}
	return out
}

func show(frames []wire.Frame) string {
	var b strings.Builder
	for _, f := range frames {
		line, err := wire.EncodeFrame(f)
		if err != nil {
			line = []byte(err.Error())
		}
		if len(line) > 300 {
			line = append(line[:300:300], "…"...)
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String()
}

// sound holds what every follow obeys: one snapshot, first; seq strictly rising;
// each run's order of status, end and settle; each question settled once.
func sound(t testing.TB, frames []wire.Frame) {
	t.Helper()
	var last uint64
	ended, settled, dialogs := map[uint64]int{}, map[uint64]int{}, map[string]int{}
	for i, f := range frames {
		switch f := f.(type) {
		case *wire.Snapshot:
			if i != 0 {
				t.Errorf("a second snapshot, at frame %d", i)
			}
			last = f.AsOfSeq
		case *wire.ObservationFrame:
			if f.Seq <= last {
				t.Errorf("seq %d after %d", f.Seq, last)
			}
			last = f.Seq
			switch o := f.Observation.(type) {
			case *wire.RunEnded:
				ended[o.Generation]++
			case *wire.Settled:
				settled[o.Generation]++
				if ended[o.Generation] != 1 {
					t.Errorf("run %d settled after %d ends", o.Generation, ended[o.Generation])
				}
			case *wire.DialogSettled:
				dialogs[o.ID]++
			}
		}
	}
	for g, n := range settled {
		if n != 1 {
			t.Errorf("run %d settled %d times", g, n)
		}
	}
	for id, n := range dialogs {
		if n != 1 {
			t.Errorf("question %s settled %d times", id, n)
		}
	}
}

// usable proves that a thread takes a prompt and completes it.
func (r *rig) usable(id string) {
	r.t.Helper()
	v := r.follow(id)
	defer v.f.Close()
	rec := r.prompt(id, "say:still here")
	end := saw(v, "the run to end", func(o *wire.RunEnded) bool {
		return rec.Generation == 0 || o.Generation == rec.Generation
	})
	if end.Outcome != wire.RunCompleted {
		r.t.Errorf("the thread is not usable: the run ended %s (%v)", end.Outcome, end.Error)
	}
	frames := v.settled(end.Generation)
	sound(r.t, frames)
}

// history is the snapshot that a follow would open with.
func (r *rig) history(id string) (*wire.Snapshot, error) {
	h, err := r.c.History(context.Background(), id)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	b, err := io.ReadAll(h)
	if err != nil {
		return nil, err
	}
	f, err := wire.DecodeFrame(b)
	if err != nil {
		return nil, err
	}
	return f.(*wire.Snapshot), nil
}

func said(frames []wire.Frame) string {
	var b strings.Builder
	for _, d := range observations[*wire.TextDelta](frames) {
		b.WriteString(d.Delta)
	}
	return b.String()
}

var _ host.Journal = (*memory.Journal)(nil)

// wait lets ms of the bubble's clock pass.
func wait(ms int) { time.Sleep(time.Duration(ms) * time.Millisecond) }

// foldUpTo folds the frames up to the newcomer's position. Status frames have no
// seq: of those at the position, as many count as make the fold agree.
func foldUpTo(frames []wire.Frame, s *wire.Snapshot) *wire.Snapshot {
	out := frames[0].(*wire.Snapshot)
	for _, f := range frames[1:] {
		if o, ok := f.(*wire.ObservationFrame); ok && o.Seq > s.AsOfSeq {
			break
		}
		if st, ok := f.(*wire.Status); ok && out.AsOfSeq == s.AsOfSeq && same(out, s) && *st != (wire.Status{Live: s.Live, Busy: s.Busy, Generation: s.Generation}) {
			break
		}
		out = wire.Fold(out, f)
	}
	c := *out
	c.AsOfSeq = s.AsOfSeq // elided partials leave the fold's position behind
	return &c
}

// same compares two snapshots but for what is outside the fold.
func same(a, b *wire.Snapshot) bool {
	x, y := *a, *b
	x.RecordedModel, y.RecordedModel, x.AsOfSeq, y.AsOfSeq = nil, nil, 0, 0
	m, err1 := wire.EncodeFrame(&x)
	n, err2 := wire.EncodeFrame(&y)
	return err1 == nil && err2 == nil && string(m) == string(n)
}
