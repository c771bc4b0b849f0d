package actors

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/host/memory"
	"github.com/troupe-run/troupe/wire"
)

// Each benchmark here runs beside a baseline in the same run and reports how many
// times the baseline's time it takes, as "x": the machine cancels out.

// rawLog is the least that a shared log can be: bytes behind each other and a number,
// readers that look at it. It has no frames, no limits and no actor.
type rawLog struct {
	chunk *rawChunk
	total atomic.Uint64
	wake  []chan struct{}
	grown chan struct{} // to the one goroutine that wakes the readers
}

type rawChunk struct {
	buf  [maxChunk]byte
	n    atomic.Int64
	next atomic.Pointer[rawChunk]
}

func (l *rawLog) append(b []byte) {
	c := l.chunk
	n := int(c.n.Load())
	if n+len(b) > len(c.buf) {
		next := &rawChunk{}
		l.chunk = next
		copy(next.buf[:], b)
		next.n.Store(int64(len(b)))
		c.next.Store(next)
	} else {
		copy(c.buf[n:], b)
		c.n.Store(int64(n + len(b)))
	}
	l.total.Add(uint64(len(b)))
	select {
	case l.grown <- struct{}{}:
	default:
	}
}

func (l *rawLog) waker() {
	for range l.grown {
		for _, w := range l.wake {
			select {
			case w <- struct{}{}:
			default:
			}
		}
	}
}

// times runs ours b.N times, then base as often, and reports the ratio.
func times(b *testing.B, ours, base func(n int)) {
	b.ReportAllocs()
	b.ResetTimer()
	ours(b.N)
	b.StopTimer()
	mine := b.Elapsed()
	began := time.Now()
	base(b.N)
	theirs := time.Since(began)
	b.ReportMetric(float64(mine)/float64(max(theirs, 1)), "x")
}

// BenchmarkPublishInTheActor is everything between a session's report and the log:
// the step, the record, the encoding, the wake. The baseline appends the same bytes.
func BenchmarkPublishInTheActor(b *testing.B) {
	for _, followers := range []int{1, 1000, 5000} {
		b.Run(fmt.Sprintf("followers=%d", followers), func(b *testing.B) {
			l := DefaultLimits()
			l.LagBytes, l.StallBytes = 1<<50, 1<<50
			s := newState(wire.ThreadID{Type: "a", ID: "b"}, &l, false)
			now := time.Now()
			step(s, now, &loadedInput{opened: host.Opened{Epoch: 1}})
			s.phase, s.exists, s.followers = phaseRunning, true, followers
			s.session.number, s.session.attached, s.view.live = 1, true, true
			s.run = &run{generation: 1}
			f := newFeed(l.feed(), &sentTail{t: tail{max: 200}}, newMeter(), plainGuard)
			defer f.close(nil)
			for range followers {
				attached(f, FollowOptions{})
			}
			say := func(o wire.Observation) {
				for _, e := range step(s, now, &observedInput{session: 1, origin: wire.OriginRun, observation: o}) {
					if p, ok := e.(publish); ok {
						if err := f.publish(p.frame); err != nil {
							b.Fatal(err)
						}
					}
				}
			}
			delta := &wire.TextDelta{MessageID: "m", Delta: strings.Repeat("x", 200)}
			say(&wire.MessageStart{MessageID: "m", Role: wire.RoleAssistant})
			raw := &rawLog{chunk: &rawChunk{}}
			line := make([]byte, 300)
			times(b, func(n int) {
				for i := range n {
					say(delta)
					if i%1000 == 999 { // nobody reads that would let go of it
						say(&wire.MessageEnd{MessageID: "m", Role: wire.RoleAssistant})
						say(&wire.MessageStart{MessageID: "m", Role: wire.RoleAssistant})
						f.unsent, f.first, s.transcript.tail = nil, 0, nil
						for _, fo := range f.followers {
							fo.chunk, fo.off = f.last, 0
						}
					}
				}
			}, func(n int) {
				for range n {
					raw.append(line)
				}
			})
		})
	}
}

// BenchmarkFanOutInMemory is one delivery to each of a thousand followers that read as
// fast as they can, without a socket. The baseline's readers look at its bytes only.
func BenchmarkFanOutInMemory(b *testing.B) {
	const followers = 1000
	fr := textFrame(1, strings.Repeat("x", 200))
	one, err := wire.AppendSSE(nil, fr)
	if err != nil {
		b.Fatal(err)
	}
	times(b, func(n int) {
		f := newFeed(feedBounds{lag: 1 << 50, stall: 1 << 50, grace: time.Hour}, &sentTail{t: tail{max: 200}}, newMeter(), plainGuard)
		var wg sync.WaitGroup
		for range followers {
			fo := attached(f, FollowOptions{})
			wg.Go(func() {
				for got := 0; got < n*len(one); {
					due, err := fo.Next(time.Minute)
					if err != nil {
						b.Error(err)
						return
					}
					got += len(due)
				}
			})
		}
		for range n {
			mustPublish(b, f, fr)
		}
		wg.Wait()
		f.close(nil)
	}, func(n int) {
		l := &rawLog{chunk: &rawChunk{}, grown: make(chan struct{}, 1)}
		defer close(l.grown)
		var wg sync.WaitGroup
		for range followers {
			w := make(chan struct{}, 1)
			l.wake = append(l.wake, w)
			c, off := l.chunk, 0
			wg.Go(func() {
				for got := 0; got < n*len(one); {
					switch end := int(c.n.Load()); {
					case end > off:
						got += end - off
						off = end
					case c.next.Load() != nil && int(c.n.Load()) == off:
						c, off = c.next.Load(), 0
					default:
						<-w
					}
				}
			})
		}
		go l.waker()
		for range n {
			l.append(one)
		}
		wg.Wait()
	})
}

// BenchmarkPromptRoundTrip is a prompt until its run has settled, in every follower's
// sight. The baseline is a bare actor that answers once as many commits are durable.
func BenchmarkPromptRoundTrip(b *testing.B) {
	r := newRig(b, rigOptions{real: true})
	follow, err := r.c.Follow(context.Background(), "scripted.a", FollowOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer follow.Close()
	settled := func() {
		for {
			due, err := follow.Next(time.Minute)
			if err != nil {
				b.Fatal(err)
			}
			if bytes.Contains(due, []byte(`"kind":"settled"`)) {
				return
			}
		}
	}
	system := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }))
	defer system.Shutdown()
	journal := memory.New(memory.Options{})
	defer journal.Close()
	id := wire.ThreadID{Type: "scripted", ID: "raw"}
	opened, err := journal.Open(context.Background(), id)
	if err != nil {
		b.Fatal(err)
	}
	seq := int64(-1)
	bare := system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if _, ok := c.Message().(string); !ok {
			return
		}
		to := c.Sender()
		seq++
		journal.Commit(host.Batch{
			Thread: id, Epoch: opened.Epoch, Expected: seq - 1, Row: &host.Row{},
			Events: []host.Event{{Seq: seq, At: time.Now(), Type: "x", Payload: []byte("{}")}},
		}, func(error) { system.Root.Send(to, "done") })
	}))
	times(b, func(n int) {
		for range n {
			r.prompt("scripted.a", "say:x")
			settled()
		}
	}, func(n int) {
		for range n {
			for range 3 { // the prompt's, the run's start and its end
				if _, err := system.Root.RequestFuture(bare, "x", time.Minute).Result(); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
