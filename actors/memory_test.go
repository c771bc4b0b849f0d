package actors

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/troupe-run/troupe/host"
)

// What a thread may weigh in memory, in bytes, while it has neither a session nor a
// follower. Once it has left memory it is a row of the journal.
const residentThread = 3 << 10

// TestAThreadAtRestIsSmall: beside its record, which the journal keeps, a thread that
// has run weighs at most residentThread while it waits for its end, and nothing after.
func TestAThreadAtRestIsSmall(t *testing.T) {
	const n = 3000
	weigh := func(grace time.Duration) int64 {
		r := newRig(t, rigOptions{real: true, limits: Limits{IdleSession: time.Millisecond, Passivate: grace}})
		r.prompt("scripted.first", "say:hello")
		before := heap()
		for i := range n {
			r.prompt(fmt.Sprintf("scripted.a%d", i), "say:hello")
		}
		until(t, "the sessions to end", func() bool {
			r.host.directory.mu.Lock()
			defer r.host.directory.mu.Unlock()
			for _, s := range r.host.directory.summaries {
				if s.Live || s.Busy {
					return false
				}
			}
			return grace == time.Hour || len(r.host.directory.summaries) == 0
		})
		return (heap() - before) / n
	}
	record, resident := weigh(time.Millisecond), weigh(time.Hour)
	t.Logf("%d B in the journal, %d B more in memory", record, resident-record)
	if got := resident - record; got > residentThread {
		t.Errorf("a thread at rest weighs %d B beside its record, at most %d", got, residentThread)
	}
}

// forgetful is a journal that keeps no payload, as one on disk keeps none in memory.
type forgetful struct{ host.Journal }

func (j forgetful) Commit(b host.Batch, done func(error)) {
	for i := range b.Events {
		b.Events[i].Payload = nil
	}
	j.Journal.Commit(b, done)
}

// TestAThreadOfAMillionObservationsStaysFlat: beside its record, a thread that is
// followed weighs the same after a million observations as after a tenth of them.
func TestAThreadOfAMillionObservationsStaysFlat(t *testing.T) {
	const each = 5000
	runs := 200 / scale
	r := newRig(t, rigOptions{real: true, around: func(j host.Journal) host.Journal { return forgetful{j} }})
	c := r.count("scripted.a")
	defer c.f.Close()
	var tenth int64
	for run := 1; run <= runs; run++ {
		r.prompt("scripted.a", fmt.Sprintf(`burst:%d,40 ; toolerror:ls gone ; think:hm`, each))
		until(t, "the run to settle", func() bool { return c.settled.Load() == int64(run) })
		if run == runs/10 {
			tenth = heap()
		}
	}
	last := heap()
	t.Logf("%d observations; %d KB after a tenth, %d KB at the end", c.frames.Load(), tenth>>10, last>>10)
	if c.bad.Load() != 0 || c.frames.Load() < int64(runs*each) {
		t.Errorf("%d frames, %d out of order", c.frames.Load(), c.bad.Load())
	}
	if last > tenth+tenth/10 {
		t.Errorf("%d B after a tenth, %d B at the end", tenth, last)
	}
}

// What stays of a thread that was in memory and has left, in bytes: the places of its
// address in protoactor's tables, which keep the size of their best days.
const leftThread = 600

// TestThreadsThatLeaveTogetherAreForgotten: many threads are in memory at once and
// leave at once.
func TestThreadsThatLeaveTogetherAreForgotten(t *testing.T) {
	const n = 10_000 / scale
	r := newRig(t, rigOptions{real: true, limits: Limits{Passivate: 5 * time.Second}})
	before := heap()
	for i := range n {
		if _, err := r.c.Dialogs(context.Background(), fmt.Sprintf("scripted.l%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "the threads to leave", func() bool { return r.host.meter.threads.Load() == 0 })
	var each int64
	until(t, "their memory to come back", func() bool { // the last Terminated is still on its way
		each = (heap() - before) / n
		return each <= leftThread
	})
	t.Logf("%d B are left of each of %d threads", each, n)
}
