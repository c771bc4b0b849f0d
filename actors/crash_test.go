package actors

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// durable is what a journal holds beside the events of a world: the row and the
// wakes, each commit's applied when it is.
type durable struct {
	row     *rowState
	wakes   []host.Wake
	waiting []commit
}

func (d *durable) apply(c commit) {
	if c.row != nil {
		// As the journal does: through JSON.
		b, err := json.Marshal(c.row)
		if err != nil {
			panic(err)
		}
		d.row = &rowState{}
		if err := json.Unmarshal(b, d.row); err != nil {
			panic(err)
		}
	}
	taken := func(w host.Wake) bool { return slices.Contains(c.take, w.MessageID) }
	d.wakes = slices.DeleteFunc(append(slices.Clone(d.wakes), c.put...), taken)
}

// crashing is a world whose thread is rebuilt from the journal now and then.
type crashing struct {
	*world
	d       durable
	epoch   uint64
	acked   map[string]bool // acknowledged
	gone    map[string]bool // withdrawn, or dropped by a stop: they need not run
	highest uint64
}

// TestNothingAcknowledgedIsLostInACrash: at any instant the thread is thrown away
// and rebuilt from its row, its records and its wakes. Every prompt that was
// acknowledged has entered the transcript exactly once, or still waits; a run that
// was open has settled once, as failed; generations never repeat.
func TestNothingAcknowledgedIsLostInACrash(t *testing.T) {
	seeds := 60
	if os.Getenv("CI") != "" {
		seeds = 200
	}
	for seed := range seeds {
		c := newCrashing(t, uint64(seed))
		for range 300 {
			if c.rnd.IntN(40) == 0 {
				c.crash()
				continue
			}
			c.act()
			c.note()
		}
		c.crash()
		c.rest()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func newCrashing(t *testing.T, seed uint64) *crashing {
	c := &crashing{world: newWorld(t, seed, 2), epoch: 1, acked: map[string]bool{}, gone: map[string]bool{}}
	c.onCommit = func(cm commit) { c.d.waiting = append(c.d.waiting, cm) }
	c.onAck = func() {
		c.d.apply(c.d.waiting[0])
		c.d.waiting = c.d.waiting[1:]
	}
	c.onReply = func(r reply) {
		switch v := r.value.(type) {
		case wire.PromptReceipt:
			c.acked[v.MessageID] = true
		case wire.AbortReceipt:
			for _, q := range v.Queue {
				c.gone[q.MessageID] = true
			}
		}
	}
	c.onWithdrawn = func(id string) { c.gone[id] = true }
	return c
}

// note holds that generations only rise. What a stop dropped is gone even where a
// crash takes its receipt.
func (c *crashing) note() {
	if r := c.s.run; r != nil && r.stop != nil {
		for _, q := range r.stop.receipt.Queue {
			c.gone[q.MessageID] = true
		}
	}
	if g := c.s.row.Generation; g < c.highest {
		c.t.Errorf("generation %d after %d", g, c.highest)
	} else {
		c.highest = g
	}
}

// crash throws the thread away. The journal opens behind what it has accepted.
func (c *crashing) crash() {
	for len(c.under) > 0 {
		c.journal = append(c.journal, c.under[0]...)
		c.under = c.under[1:]
		c.d.apply(c.d.waiting[0])
		c.d.waiting = c.d.waiting[1:]
	}
	c.epoch++
	old := c.s
	c.s = newState(old.id, old.limits, true)
	c.facts, c.pins, c.first, c.frames, c.seq = nil, nil, nil, nil, 0
	c.live, c.inRun, c.open, c.calls = false, 0, nil, nil
	c.asked, c.pending = map[string]bool{}, map[token]bool{} // the shell answers those who waited
	c.ended, c.settled, c.runs = map[uint64]int{}, map[uint64]int{}, map[uint64]bool{}
	in := &loadedInput{opened: host.Opened{Epoch: c.epoch}}
	if c.d.row != nil {
		in.opened.Exists, in.record, in.opened.Wakes = true, *c.d.row, slices.Clone(c.d.wakes)
	}
	c.feed(in)
	f := newFollower(nil, wire.ThreadID{}, FollowOptions{})
	c.ask(func(tok token) input { return &subscribeInput{token: tok, follower: f} })
	c.note()
}

// rest lets everything run to its end without a stop, then counts.
func (c *crashing) rest() {
	for range 5000 {
		switch {
		case len(c.facts) > 0:
			in := c.facts[0]
			c.facts = c.facts[1:]
			c.feed(in)
		case len(c.under) > 0:
			c.ack()
		case c.inRun != 0:
			run := c.inRun
			c.inRun = 0
			c.feed(&runOverInput{session: c.session, run: run, outcome: wire.RunCompleted})
		case c.s.phase == phaseCold && len(c.s.queue.entries) > 0:
			c.now = c.now.Add(1 << 40)
			c.feed(&timerInput{timerID{kind: timerBackoff}})
		}
		if len(c.facts)+len(c.under)+len(c.s.queue.entries) == 0 && c.s.run == nil {
			break
		}
	}
	if c.s.run != nil || len(c.s.queue.entries) > 0 {
		c.t.Errorf("not at rest: %s, %d prompts wait", c.s.phase, len(c.s.queue.entries))
	}
	entered := map[string]int{}
	ended := map[uint64]int{}
	for _, e := range c.journal {
		r, err := decodeRecord(e)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, o := range r.obs {
			switch o := o.(type) {
			case *wire.MessageStart:
				if o.Role == wire.RoleUser {
					entered[o.MessageID]++
				}
			case *wire.RunEnded:
				ended[o.Generation]++
			}
		}
	}
	for id := range c.acked {
		if n := entered[id]; n != 1 && !(n == 0 && c.gone[id]) {
			c.t.Errorf("prompt %s was acknowledged and entered %d times", id, n)
		}
	}
	for g := uint64(1); g <= c.s.row.Generation; g++ {
		if ended[g] != 1 {
			c.t.Errorf("run %d ended %d times in the record", g, ended[g])
		}
	}
}
