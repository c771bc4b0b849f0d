package actors

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-run/troupe/wire"
)

// after waits for ms of real time.
func after(ms int) { <-time.After(time.Duration(ms) * time.Millisecond) }

// TestRule_JoinsAtRandomInstantsAreExact: on busy threads, on the default
// dispatcher, with late results, steering into an open message, two open messages,
// partials and a question, each newcomer's snapshot is the fold of what was seen
// from the beginning, then it misses nothing.
func TestRule_JoinsAtRandomInstantsAreExact(t *testing.T) {
	threads, joins := 20/scale+1, 15
	r := newRig(t, rigOptions{real: true})
	var wg sync.WaitGroup
	for i := range threads {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(i), 1))
			id := fmt.Sprintf("scripted.t%d", i)
			first := r.follow(id)
			r.prompt(id, "slow:4 ; overlap:abcdef|ghijkl ; late:grep {} ; think:hm ; tool:ls {} ; slow:6 ; bigtool:20000 ; ask:confirm timeout=100 sure? ; burst:200,30 ; say:bye")
			var others []*viewer
			for j := range joins {
				after(rnd.IntN(60))
				others = append(others, r.follow(id))
				if j == 2 || j == 8 {
					_, err := r.c.Prompt(context.Background(), id, wire.PromptRequest{Message: "say:steered ; late:find {}", Admission: wire.AdmitInterrupting})
					if err != nil {
						t.Error(err)
					}
				}
			}
			quietView(first)
			for _, o := range others {
				caughtUp(o, first)
			}
			exact(t, first, others)
		})
	}
	wg.Wait()
}

// quietView waits until the thread is idle with nothing queued.
func quietView(v *viewer) {
	v.t.Helper()
	v.await("the thread to come to rest", func(fs []wire.Frame) bool {
		runs, ends, queued := map[string]bool{}, 0, 0
		idle := false
		for _, f := range fs {
			switch f := f.(type) {
			case *wire.Status:
				idle = !f.Busy
			case *wire.ObservationFrame:
				switch o := f.Observation.(type) {
				case *wire.MessageStart:
					if o.Role == wire.RoleUser {
						runs[o.MessageID] = true
					}
				case *wire.Settled:
					ends++
				case *wire.Queue:
					queued = len(o.Interrupting) + len(o.Enqueued)
				}
			}
		}
		return idle && ends > 0 && queued == 0 && len(runs) == 3
	})
}

// caughtUp waits until v has the last frame that first has.
func caughtUp(v, first *viewer) {
	v.t.Helper()
	var last uint64
	frames := first.all()
	for _, f := range frames {
		if o, ok := f.(*wire.ObservationFrame); ok {
			last = o.Seq
		}
	}
	end := *frames[len(frames)-1].(*wire.Status)
	v.await("the last frame", func(fs []wire.Frame) bool {
		for _, f := range fs {
			switch f := f.(type) {
			case *wire.Snapshot:
				if f.AsOfSeq >= last && f.Busy == end.Busy {
					return true
				}
			case *wire.Status:
				if fs[len(fs)-1] == wire.Frame(f) && *f == end {
					return true
				}
			}
		}
		return false
	})
}

// counter follows a thread cheaply: it counts frames and checks their order.
type counter struct {
	f       *Follower
	frames  atomic.Int64
	bad     atomic.Int64
	settled atomic.Int64
	done    chan struct{}
}

func (r *rig) count(id string) *counter {
	r.t.Helper()
	f, err := r.c.Follow(context.Background(), id, FollowOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	c := &counter{f: f, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		last := -1
		for {
			b, err := f.Next(time.Minute)
			if err != nil {
				return
			}
			for line := range strings.SplitSeq(string(b), "\n\n") {
				if line == "" {
					continue
				}
				if strings.Contains(line, `"kind":"settled"`) {
					c.settled.Add(1)
				}
				var seq int
				if _, err := fmt.Sscanf(line, `data: {"type":"observation","seq":%d`, &seq); err != nil {
					continue
				}
				if last >= 0 && seq != last+1 {
					c.bad.Add(1)
				}
				last = seq
				c.frames.Add(1)
			}
		}
	}()
	return c
}

// until waits for ok, in real time.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 8000 {
		if ok() {
			return
		}
		<-tick.C
	}
	t.Fatalf("in vain: %s", what)
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Test500FollowersOnOneThreadAnd4OnEachOf50: no frame is lost, none out of order;
// goroutines and memory are back once they leave.
func Test500FollowersOnOneThreadAnd4OnEachOf50(t *testing.T) {
	r := newRig(t, rigOptions{real: true})
	warm := r.count("scripted.busy")
	r.prompt("scripted.busy", "say:warm")
	until(t, "the first run", func() bool { return warm.settled.Load() == 1 })
	goroutines, before := runtime.NumGoroutine(), heap()

	followers := map[string][]*counter{}
	for range 500 / scale {
		followers["scripted.busy"] = append(followers["scripted.busy"], r.count("scripted.busy"))
	}
	for i := range 50 {
		id := fmt.Sprintf("scripted.q%d", i)
		for range 4 {
			followers[id] = append(followers[id], r.count(id))
		}
	}
	for id := range followers {
		r.prompt(id, "burst:500,100 ; slow:4 ; burst:500,100")
	}
	for id, all := range followers {
		until(t, id+" to settle for all", func() bool {
			for _, c := range all {
				if c.settled.Load() != 1 {
					return false
				}
			}
			return true
		})
		for i, c := range all {
			if c.bad.Load() != 0 || c.frames.Load() != all[0].frames.Load() || c.frames.Load() < 1000 {
				t.Errorf("%s, follower %d: %d frames, %d out of order; the first has %d", id, i, c.frames.Load(), c.bad.Load(), all[0].frames.Load())
			}
		}
	}
	for _, all := range followers {
		for _, c := range all {
			c.f.Close()
			<-c.done
		}
	}
	clear(followers)
	until(t, "the goroutines to be back", func() bool { return runtime.NumGoroutine() <= goroutines+goroutines/10+5 })
	// What the threads wrote into the journal stays: 51 runs of 100 KB, and the
	// threads' own state until they leave memory.
	journal := int64(51 * 2 * 130_000)
	if now := heap(); now > before+before/10+journal {
		t.Errorf("%d KB in use, %d KB before", now>>10, before>>10)
	}
	warm.f.Close()
}

// Test200ThreadsRunWhileOnePanics every 50 ms: the others lose no frame; the
// panicking one settles each run, is failed in the end, and a prompt revives it.
func Test200ThreadsRunWhileOnePanics(t *testing.T) {
	n := 200 / scale
	r := newRig(t, rigOptions{real: true})
	all := make([]*counter, n)
	for i := range n {
		all[i] = r.count(fmt.Sprintf("scripted.g%d", i))
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var panics atomic.Int64
	wg.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				// While it is rebuilt a prompt is refused as unavailable.
				if _, err := r.c.Prompt(context.Background(), "scripted.bad", wire.PromptRequest{Message: "say:x ; panic"}); err == nil {
					panics.Add(1)
				}
			}
		}
	})
	for i := range n {
		r.prompt(fmt.Sprintf("scripted.g%d", i), "slow:40 ; burst:100,50")
	}
	for i, c := range all {
		until(t, "a good thread to settle", func() bool { return c.settled.Load() == 1 })
		if c.bad.Load() != 0 || c.frames.Load() < 140 {
			t.Errorf("thread %d: %d frames, %d lost", i, c.frames.Load(), c.bad.Load())
		}
		c.f.Close()
	}
	until(t, "the bad thread to be failed", func() bool {
		s, err := r.c.Get(context.Background(), "scripted.bad")
		return err == nil && s.Status == wire.StatusFailed && !s.Busy
	})
	close(stop)
	wg.Wait()
	var s *wire.Snapshot
	until(t, "its runs to be settled", func() bool {
		var err error
		s, err = r.history("scripted.bad")
		return err == nil && !s.Busy
	})
	if s.Generation == 0 || s.Interrupted == nil || s.Interrupted.Reason != wire.RunFailed {
		t.Errorf("after %d panics: run %d, interrupted %+v", panics.Load(), s.Generation, s.Interrupted)
	}
	users := 0
	for _, m := range s.Messages {
		if m.Role == wire.RoleUser {
			users++
		}
	}
	if users != int(s.Generation) {
		t.Errorf("%d runs, %d prompts in the transcript", s.Generation, users)
	}
	r.usable("scripted.bad")
}

// TestAFollowerThatStopsReadingCostsNobodyElse: it is ended once it has not read for
// the grace past its limit, and told once; a burst of 20,000 small frames beyond that
// limit ends no follower that reads.
func TestAFollowerThatStopsReadingCostsNobodyElse(t *testing.T) {
	burst := 20_000 / scale
	r := newRig(t, rigOptions{real: true, limits: Limits{StallBytes: 256 << 10, StallGrace: time.Second}})
	var told atomic.Int32
	stuck, err := r.c.Follow(context.Background(), "scripted.a", FollowOptions{Ended: func() { told.Add(1) }})
	if err != nil {
		t.Fatal(err)
	}
	defer stuck.Close()
	if _, err := stuck.Next(time.Second); err != nil { // the snapshot, and no more
		t.Fatal(err)
	}
	var readers []*counter
	for range 5 {
		readers = append(readers, r.count("scripted.a"))
	}
	runs := 0
	for ; runs < 3 || told.Load() == 0; runs++ {
		r.prompt("scripted.a", fmt.Sprintf("burst:%d,40", burst))
		for _, c := range readers {
			until(t, "a reader to settle", func() bool { return c.settled.Load() == int64(runs+1) })
		}
	}
	for i, c := range readers {
		if c.bad.Load() != 0 || c.frames.Load() < int64(runs*burst) {
			t.Errorf("reader %d: %d frames, %d lost", i, c.frames.Load(), c.bad.Load())
		}
		c.f.Close()
	}
	if n := told.Load(); n != 1 {
		t.Errorf("the stuck one was told %d times", n)
	}
}
