package memory

import (
	"slices"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// ack is an acknowledgement that is due.
type ack struct {
	done func(error)
	err  error
}

// commit is the committer: everything that waits is one group.
func (j *Journal) commit() {
	defer close(j.stopped)
	var withheld []ack
	overdue := time.NewTimer(time.Hour)
	overdue.Stop()
	for {
		select {
		case <-j.wake:
		case <-overdue.C:
			j.acknowledge(withheld)
			withheld = nil
			continue
		}
		j.intake.Lock()
		group, closed := j.queue, j.closed
		j.queue, j.pending = nil, 0
		j.intake.Unlock()

		for _, e := range group {
			if e.open != nil {
				e.open.opened <- j.open(e.open.id)
				continue
			}
			withheld = append(withheld, ack{e.done, j.apply(e)})
		}
		if due := len(withheld) - j.opts.Lag; closed {
			j.acknowledge(withheld)
			overdue.Stop()
			return
		} else if due > 0 {
			j.acknowledge(withheld[:due])
			withheld = slices.Clone(withheld[due:])
		}
		if len(withheld) > 0 {
			overdue.Reset(j.opts.LagTimeout)
		}
	}
}

// acknowledge keeps the committer alive when one of its callers panics: the
// panic goes on in a goroutine of its own, where the guard finds it.
func (j *Journal) acknowledge(acks []ack) {
	for _, a := range acks {
		func() {
			defer func() {
				if v := recover(); v != nil {
					j.run("journal acknowledgement", func() { panic(v) })
				}
			}()
			a.done(a.err)
		}()
	}
}

// maxUnborn bounds how many threads that were never committed are fenced one by
// one. Beyond it all of them are fenced off at once, and must open again to write.
const maxUnborn = 16 << 10

func (j *Journal) open(id wire.ThreadID) host.Opened {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.epoch++
	if t := j.threads[id]; t != nil {
		t.fence = fence{epoch: j.epoch}
		return host.Opened{Exists: true, Epoch: j.epoch, Row: t.row, Wakes: slices.Clone(j.wakes[id])}
	}
	if len(j.unborn) >= maxUnborn {
		clear(j.unborn)
	}
	j.unborn[id] = &fence{epoch: j.epoch}
	return host.Opened{Epoch: j.epoch, Wakes: slices.Clone(j.wakes[id])}
}

func (j *Journal) apply(e entry) error {
	err := e.refused
	if err == nil && j.opts.Fail != nil {
		err = j.opts.Fail(e.batch)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	b := e.batch
	t := j.threads[b.Thread]
	f := j.unborn[b.Thread]
	if t != nil {
		f = &t.fence
	}
	switch {
	case f == nil || f.epoch != b.Epoch:
		return wire.Errorf(wire.CodeConflict, "%s has another writer: epoch %d is stale", b.Thread, b.Epoch)
	case f.broken:
		return wire.Errorf(wire.CodeConflict, "a commit of %s before this one was refused", b.Thread)
	}
	now := j.opts.Now()
	j.sweep(now)
	if err == nil {
		err = check(t, b)
	}
	if err == nil && b.Receipt != nil {
		err = j.free(b.Receipt.Key, now)
	}
	if err != nil {
		f.broken = true
		return err
	}
	if t == nil {
		t = &thread{fence: *f, id: b.Thread, row: *b.Row, latest: -1}
		delete(j.unborn, b.Thread)
		j.threads[b.Thread] = t
		j.types[b.Thread.ID] = insert(j.types[b.Thread.ID], b.Thread.Type)
		j.enter(t)
	} else if b.Row != nil {
		j.update(t, *b.Row)
	}
	for _, e := range b.Events {
		if e.Type == host.SnapshotEvent {
			t.latest = e.Seq
		}
	}
	t.events = append(t.events, b.Events...)
	j.change(b.Thread, b.Put, b.Take)
	for _, d := range b.Send {
		j.change(d.To, []host.Wake{d.Wake}, nil)
	}
	if b.Receipt != nil {
		j.receipts[b.Receipt.Key] = *b.Receipt
	}
	if b.Row != nil && b.Row.Summary.Status == wire.StatusArchived {
		j.deltas.forget(b.Thread)
	}
	return nil
}

func check(t *thread, b host.Batch) error {
	head := int64(-1)
	if t != nil {
		head = int64(len(t.events)) - 1
	} else if b.Row == nil {
		return wire.Errorf(wire.CodeInvalid, "the first commit of %s has no row", b.Thread)
	}
	if b.Expected != head {
		return wire.Errorf(wire.CodeConflict, "%s is at %d, not at %d", b.Thread, head, b.Expected)
	}
	for i, e := range b.Events {
		if e.Seq != head+1+int64(i) {
			return wire.Errorf(wire.CodeInvalid, "event %d of %s stands at %d", e.Seq, b.Thread, head+1+int64(i))
		}
	}
	return nil
}

func insert(sorted []string, s string) []string {
	i, _ := slices.BinarySearch(sorted, s)
	return slices.Insert(sorted, i, s)
}
