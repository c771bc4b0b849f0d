package memory

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// Options are the bound of the intake, and the faults a test wants.
type Options struct {
	// IntakeBytes is how much may be accepted and not committed; a batch over it is
	// refused with code limit-reached. 0 is 64 MiB.
	IntakeBytes int
	// Lag delays every acknowledgement by this long, as a slow disk would.
	Lag time.Duration
	// Fail, when set, is asked before each batch is committed, from the
	// committer's goroutine; an error refuses the batch.
	Fail func(host.Batch) error
}

// Journal is a host.Journal in memory. Make it with New.
type Journal struct {
	opt  Options
	work chan struct{} // the committer has something to do, or Close was called
	done chan struct{} // the committer has ended

	mu      sync.Mutex
	intake  []job
	bytes   int
	closed  bool
	threads map[wire.ThreadID]*thread
}

// thread is one thread's record.
type thread struct {
	epoch  uint64
	exists bool
	row    host.Row
	events []host.Event
	wakes  []host.Wake
}

// job is a batch to commit, or a thread to open behind the batches before it.
type job struct {
	batch  host.Batch
	done   func(error)
	opened chan host.Opened
}

// New starts a journal and its committer.
func New(o Options) *Journal {
	if o.IntakeBytes == 0 {
		o.IntakeBytes = 64 << 20
	}
	j := &Journal{opt: o, work: make(chan struct{}, 1), done: make(chan struct{}), threads: map[wire.ThreadID]*thread{}}
	go j.committer()
	return j
}

func closedFailure() *wire.Failure {
	return &wire.Failure{Code: wire.CodeUnavailable, Message: "the journal is closed"}
}

// Open makes the caller the thread's writer.
func (j *Journal) Open(ctx context.Context, id wire.ThreadID) (host.Opened, error) {
	answer := make(chan host.Opened, 1)
	if err := j.accept(job{batch: host.Batch{Thread: id}, opened: answer}); err != nil {
		return host.Opened{}, err
	}
	select {
	case o := <-answer:
		return o, nil
	case <-ctx.Done():
		return host.Opened{}, &wire.Failure{Code: wire.CodeTimeout, Message: "the journal did not answer in time"}
	}
}

// Commit accepts a batch for the next group commit.
func (j *Journal) Commit(b host.Batch, done func(error)) {
	if err := j.accept(job{batch: b, done: done}); err != nil {
		done(err)
	}
}

func (j *Journal) accept(jb job) error {
	size := sizeOf(jb.batch)
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.closed:
		return closedFailure()
	case j.bytes+size > j.opt.IntakeBytes:
		return &wire.Failure{Code: wire.CodeLimit, Message: "the journal's intake is full"}
	}
	j.intake = append(j.intake, jb)
	j.bytes += size
	j.signal()
	return nil
}

func (j *Journal) signal() {
	select {
	case j.work <- struct{}{}:
	default:
	}
}

const batchOverhead = 256

func sizeOf(b host.Batch) int {
	n := batchOverhead
	for _, e := range b.Events {
		n += len(e.Payload) + batchOverhead
	}
	for _, w := range b.Put {
		n += len(w.Text) + batchOverhead
		for _, i := range w.Images {
			n += len(i.Data)
		}
	}
	if b.Row != nil {
		n += len(b.Row.State)
	}
	return n
}

// committer commits what was accepted, a group at a time, and acknowledges in
// order.
func (j *Journal) committer() {
	defer close(j.done)
	for range j.work {
		for {
			j.mu.Lock()
			group := j.intake
			j.intake = nil
			closed := j.closed
			j.mu.Unlock()
			if len(group) == 0 {
				if closed {
					return
				}
				break
			}
			j.commit(group)
		}
	}
}

func (j *Journal) commit(group []job) {
	if j.opt.Lag > 0 {
		time.Sleep(j.opt.Lag)
	}
	for _, jb := range group {
		if jb.opened != nil {
			jb.opened <- j.open(jb.batch.Thread)
			j.release(jb)
			continue
		}
		err := j.apply(jb.batch)
		j.release(jb)
		jb.done(err)
	}
}

func (j *Journal) release(jb job) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.bytes -= sizeOf(jb.batch)
}

func (j *Journal) open(id wire.ThreadID) host.Opened {
	j.mu.Lock()
	defer j.mu.Unlock()
	t := j.threads[id]
	if t == nil {
		return host.Opened{Epoch: 1, Row: host.Row{}}
	}
	t.epoch++
	return host.Opened{Exists: t.exists, Epoch: t.epoch, Row: t.row, Wakes: slices.Clone(t.wakes)}
}

func (j *Journal) apply(b host.Batch) error {
	if j.opt.Fail != nil {
		if err := j.opt.Fail(b); err != nil {
			return err
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	t := j.threads[b.Thread]
	if t == nil {
		t = &thread{epoch: 1}
	}
	if b.Epoch != t.epoch {
		return wire.Errorf(wire.CodeConflict, "epoch %d of %s has been fenced by %d", b.Epoch, b.Thread, t.epoch)
	}
	head := int64(len(t.events)) - 1
	if b.Expected != head {
		return wire.Errorf(wire.CodeConflict, "seq %d was expected at the head of %s, which is %d", b.Expected, b.Thread, head)
	}
	for i, e := range b.Events {
		if e.Seq != head+1+int64(i) {
			return wire.Errorf(wire.CodeConflict, "event %d of %s is not next after %d", e.Seq, b.Thread, head+int64(i))
		}
	}
	j.threads[b.Thread] = t
	t.exists = true
	t.events = append(t.events, b.Events...)
	t.wakes = append(slices.DeleteFunc(t.wakes, func(w host.Wake) bool { return slices.Contains(b.Take, w.MessageID) }),
		slices.DeleteFunc(slices.Clone(b.Put), func(w host.Wake) bool { return slices.Contains(b.Take, w.MessageID) })...)
	if b.Row != nil {
		t.row = *b.Row
	}
	return nil
}

// Read calls yield for the events of [from, to].
func (j *Journal) Read(ctx context.Context, id wire.ThreadID, from, to int64, yield func(host.Event) bool) error {
	j.mu.Lock()
	var events []host.Event
	if t := j.threads[id]; t != nil {
		last := min(to+1, int64(len(t.events)))
		if first := max(from, 0); first < last {
			events = t.events[first:last:last] // events are only ever appended
		}
	}
	j.mu.Unlock()
	for _, e := range events {
		if ctx.Err() != nil {
			return &wire.Failure{Code: wire.CodeTimeout, Message: "the read was given up"}
		}
		if !yield(e) {
			break
		}
	}
	return nil
}

// Lookup is a thread's catalog row.
func (j *Journal) Lookup(_ context.Context, id wire.ThreadID) (host.Row, bool, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if t := j.threads[id]; t != nil && t.exists {
		return t.row, true, nil
	}
	return host.Row{}, false, nil
}

// Types is every agent type under which a thread of this bare id is recorded.
func (j *Journal) Types(_ context.Context, id string) ([]string, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []string
	for t := range j.threads {
		if t.ID == id {
			out = append(out, t.Type)
		}
	}
	slices.Sort(out)
	return out, nil
}

// Close flushes what was accepted, refuses the rest, and ends the committer.
func (j *Journal) Close() error {
	j.mu.Lock()
	j.closed = true
	j.signal()
	j.mu.Unlock()
	<-j.done
	return nil
}
