package actors

import (
	"slices"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// queue holds the prompts that wait, in the order of their arrival. All of them
// are wakes in the journal, or on their way there.
type queue struct {
	entries []queued
	bytes   int
}

// queued is one waiting prompt.
type queued struct {
	wake    host.Wake
	durable bool // its wake is committed
	cut     bool // asked to interrupt the run that was under way when it came
	handed  bool // given to the runtime's steering
	offered bool // was given to it at some time
	doomed  bool // waited when the thread failed: rejected, not run
}

func promptSize(text string, images []wire.Image) int {
	n := len(text)
	for _, i := range images {
		n += len(i.Data)
	}
	return n
}

func (q *queue) index(messageID string) int {
	return slices.IndexFunc(q.entries, func(e queued) bool { return e.wake.MessageID == messageID })
}

func (q *queue) push(e queued) {
	q.entries = append(slices.Clone(q.entries), e)
	q.bytes += promptSize(e.wake.Text, e.wake.Images)
}

func (q *queue) remove(i int) queued {
	e := q.entries[i]
	q.entries = slices.Delete(slices.Clone(q.entries), i, i+1)
	q.bytes -= promptSize(e.wake.Text, e.wake.Images)
	return e
}

// next is the index of the prompt that runs next: one that asked to cut in, else
// the oldest; -1 when none waits durably.
func (q *queue) next() int {
	oldest := -1
	for i, e := range q.entries {
		if !e.durable {
			continue
		}
		if e.cut {
			return i
		}
		if oldest < 0 {
			oldest = i
		}
	}
	return oldest
}

// view is the queue as followers see it.
func (q *queue) view(entries []queued) *wire.Queue {
	v := &wire.Queue{Interrupting: []wire.QueuedPrompt{}, Enqueued: []wire.QueuedPrompt{}}
	for _, e := range entries {
		p := wire.QueuedPrompt{MessageID: e.wake.MessageID, Text: e.wake.Text}
		if e.cut {
			v.Interrupting = append(v.Interrupting, p)
		} else {
			v.Enqueued = append(v.Enqueued, p)
		}
	}
	return v
}

// drop empties the queue and gives what waited: interrupting first.
func (q *queue) drop() ([]wire.QueuedPrompt, []string) {
	v := q.view(q.entries)
	ids := make([]string, 0, len(q.entries))
	for _, e := range q.entries {
		ids = append(ids, e.wake.MessageID)
	}
	*q = queue{}
	return append(v.Interrupting, v.Enqueued...), ids
}
