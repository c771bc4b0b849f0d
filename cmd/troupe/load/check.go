package load

import (
	"bytes"
	"fmt"
	"hash/maphash"

	"github.com/troupe-run/troupe/wire"
)

// checker is the full check of one follow: it decodes every frame strictly, folds
// it, and keeps what the other followers of the thread are compared with.
type checker struct {
	thread *thread
	hash   maphash.Seed
	report func(Violation)
	elides bool                   // gaps may be partial results, while a call is open
	saw    func(wire.Observation) // may be nil

	broken   bool
	opened   bool
	folder   *wire.Folder
	base     uint64   // the snapshot's asOfSeq
	seq      uint64   // the newest
	sums     []uint64 // at seq-base: of the hashes of the events up to seq
	calls    map[string]bool
	next     uint64
	ran      uint64 // the last generation that ended
	settled  uint64 // the last that settled
	runs     int    // how many settled
	entered  map[string]bool
	rejected map[string]bool
	dialogs  map[string]bool // whether it is settled, by id
	record   *recording      // nil when nothing is recorded
}

func newChecker(th *thread, hash maphash.Seed, report func(Violation)) *checker {
	return &checker{
		thread: th, hash: hash, report: report, calls: map[string]bool{},
		entered: map[string]bool{}, rejected: map[string]bool{}, dialogs: map[string]bool{},
	}
}

func (c *checker) breaks(rule Rule, got, want string) {
	if c.broken {
		return
	}
	c.broken = true
	c.report(Violation{Rule: rule, Thread: c.thread.id, Seq: c.seq, Got: got, Want: want})
}

// event checks one whole event.
func (c *checker) event(b []byte) {
	if c.broken {
		return
	}
	body, ok := bytes.CutPrefix(b, []byte("data: "))
	body, whole := bytes.CutSuffix(body, eventEnd)
	if !ok || !whole || bytes.IndexByte(body, '\n') >= 0 {
		c.breaks(RuleFrame, fmt.Sprintf("%.80q", b), "one line of data")
		return
	}
	frame, err := wire.DecodeFrame(body)
	if err != nil {
		c.breaks(RuleFrame, fmt.Sprintf("%.120q: %v", body, err), "a frame")
		return
	}
	if snapshot, ok := frame.(*wire.Snapshot); ok {
		if c.opened {
			c.breaks(RuleSnapshot, "a second snapshot", "one")
			return
		}
		c.opened, c.folder = true, wire.NewFolder(snapshot)
		c.base, c.seq, c.sums = snapshot.AsOfSeq, snapshot.AsOfSeq, []uint64{0}
		c.ran, c.settled = snapshot.Generation, snapshot.Generation
		if snapshot.Busy {
			c.ran, c.settled = c.ran-1, c.settled-1
		}
		for _, d := range snapshot.OpenDialogs {
			c.dialogs[d.ID] = false
		}
		return
	}
	if !c.opened {
		c.breaks(RuleSnapshot, "a "+frame.FrameType(), "a snapshot")
		return
	}
	if c.record != nil {
		c.record.add(b)
	}
	if o, ok := frame.(*wire.ObservationFrame); ok {
		c.observation(o, b)
	}
	c.folder.Add(frame)
	if o, ok := frame.(*wire.ObservationFrame); ok {
		if s, ok := o.Observation.(*wire.Settled); ok {
			c.settle(s)
		}
		if c.saw != nil {
			c.saw(o.Observation)
		}
	}
}

func (c *checker) observation(o *wire.ObservationFrame, b []byte) {
	gap := o.Seq - c.seq - 1
	switch {
	case o.Seq <= c.seq:
		c.breaks(RuleSeq, fmt.Sprint(o.Seq), fmt.Sprintf("more than %d", c.seq))
		return
	case gap > 0 && (!c.elides || len(c.calls) == 0):
		c.breaks(RuleMissing, fmt.Sprint(o.Seq), fmt.Sprint(c.seq+1))
		return
	}
	last := c.sums[len(c.sums)-1]
	for range gap {
		c.sums = append(c.sums, last)
	}
	c.sums = append(c.sums, last+maphash.Bytes(c.hash, b))
	c.seq = o.Seq
	switch o := o.Observation.(type) {
	case *wire.TextDelta:
		c.delta(o.Delta)
	case *wire.ToolCall:
		c.calls[o.ToolCallID] = true
	case *wire.ToolResult:
		if o.Complete {
			delete(c.calls, o.ToolCallID)
		}
	case *wire.MessageEnd:
		if o.Role == wire.RoleUser {
			if c.entered[o.MessageID] {
				c.breaks(RulePrompt, "prompt "+o.MessageID+" entered twice", "once")
			}
			c.entered[o.MessageID] = true
		}
	case *wire.PromptRejected:
		c.rejected[o.MessageID] = true
	case *wire.ExtensionUIRequest:
		if o.Blocking {
			c.dialogs[o.ID] = false
		}
	case *wire.DialogSettled:
		if settled, open := c.dialogs[o.ID]; !open || settled {
			c.breaks(RuleDialog, "question "+o.ID+" settled twice, or never opened", "once")
		}
		c.dialogs[o.ID] = true
	case *wire.RunEnded:
		if o.Generation != c.ran+1 || c.ran != c.settled {
			c.breaks(RuleSettled, fmt.Sprintf("run %d ended", o.Generation), fmt.Sprintf("run %d, %d having settled", c.ran+1, c.ran))
		}
		c.ran = o.Generation
		clear(c.calls) // a run takes its calls with it
	}
}

// delta checks a paced delta; others say nothing that could be checked.
func (c *checker) delta(text string) {
	_, index, ok := paced([]byte(text[:min(len(text), 64)]))
	if !ok {
		return
	}
	if index != c.next && index != 0 {
		c.breaks(RuleText, fmt.Sprintf("delta %d", index), fmt.Sprintf("delta %d", c.next))
	}
	if !filled(text) || c.thread.size > 0 && len(text) != c.thread.size {
		c.breaks(RuleText, fmt.Sprintf("delta %d as %.60q of %d bytes", index, text, len(text)), fmt.Sprintf("%d bytes with their filler", c.thread.size))
	}
	c.next = index + 1
}

// settle checks the run's end, after it was folded in.
func (c *checker) settle(s *wire.Settled) {
	if s.Generation != c.ran || s.Generation != c.settled+1 {
		c.breaks(RuleSettled, fmt.Sprintf("run %d settled", s.Generation), fmt.Sprintf("run %d, which ended", c.settled+1))
	}
	c.settled = s.Generation
	c.runs++
	frames := c.thread.frames.Load()
	if frames == 0 || c.thread.size == 0 {
		return
	}
	if got := foldedDeltas(c.folder.Snapshot(), c.thread.size); got != frames {
		c.breaks(RuleText, fmt.Sprintf("%d whole deltas in the folded message", got), fmt.Sprint(frames))
	}
	c.next = 0
}

// foldedDeltas counts the paced deltas of the newest assistant message, up to the
// first that is out of order; -1 is a message that is not a row of them.
func foldedDeltas(s *wire.Snapshot, size int) int64 {
	for i := len(s.Messages) - 1; i >= 0; i-- {
		m := s.Messages[i]
		if m.Role != wire.RoleAssistant {
			continue
		}
		if len(m.Parts) != 1 {
			return -1
		}
		p, ok := m.Parts[0].(*wire.TextPart)
		if !ok || len(p.Text)%size != 0 {
			return -1
		}
		n := int64(0)
		for text := p.Text; text != ""; text = text[size:] {
			_, index, ok := paced([]byte(text[:min(size, 64)]))
			if !ok || int64(index) != n || !filled(text[:size]) {
				return n
			}
			n++
		}
		return n
	}
	return 0
}

// sumBetween is the sum of the hashes of the events in (from, to]; !ok says that
// this follower has not seen all of them, or more.
func (c *checker) sumBetween(from, to uint64) (sum uint64, ok bool) {
	if from < c.base || to < from || to != c.seq {
		return 0, false
	}
	return c.sums[to-c.base] - c.sums[from-c.base], true
}

// exact compares the folded snapshot with one that the server gives now.
func (c *checker) exact(now *wire.Snapshot) {
	if c.broken {
		return
	}
	folded := c.folder.Snapshot()
	got, errGot := wire.Encode(now)
	want, errWant := wire.Encode(folded)
	switch {
	case errGot != nil || errWant != nil:
		c.breaks(RuleFold, fmt.Sprint(errGot, errWant), "two snapshots")
	case string(got) != string(want):
		i := 0
		for i < min(len(got), len(want)) && got[i] == want[i] {
			i++
		}
		at := max(i-40, 0)
		c.breaks(RuleFold, fmt.Sprintf("…%.100q", got[at:]), fmt.Sprintf("…%.100q, as folded (byte %d)", want[at:], i))
	}
}

// open are the questions that are not settled.
func (c *checker) open() (n int) {
	for _, settled := range c.dialogs {
		if !settled {
			n++
		}
	}
	return n
}
