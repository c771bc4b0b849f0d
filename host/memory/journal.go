package memory

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// Options are the bounds and the faults of a journal. The zero value is a
// faultless one.
type Options struct {
	// MaxPending is how many bytes may be accepted and not yet applied; a commit
	// over it is refused with limit-reached, so that it never blocks its actor. 0
	// is DefaultMaxPending.
	MaxPending int
	// Go starts the committer; nil is a plain go statement.
	Go func(name string, fn func())

	// Now is the clock of what expires; nil is time.Now.
	Now func() time.Time
	// MaxDeltas is how many bytes of deltas are kept per thread, 0 is
	// DefaultMaxDeltas.
	MaxDeltas int

	// Lag withholds the acknowledgement of a commit until this many later ones
	// were applied, or LagTimeout has passed with none. What is withheld is
	// already applied.
	Lag int
	// LagTimeout is 10 ms when 0.
	LagTimeout time.Duration
	// Fail, where given, is asked before each commit is applied, on the
	// committer's goroutine, which it may hold up; an error refuses the commit.
	Fail func(b host.Batch) error
}

// DefaultMaxPending is the bound of what waits for the committer, in bytes.
const DefaultMaxPending = 256 << 20

// DefaultMaxDeltas is the bound of a thread's deltas, in bytes.
const DefaultMaxDeltas = 4 << 20

const defaultLagTimeout = 10 * time.Millisecond

// Journal is a host.Journal in memory. Make it with New.
type Journal struct {
	opts Options
	run  func(name string, fn func())

	intake  sync.Mutex
	queue   []entry
	pending int // bytes in queue
	closed  bool
	wake    chan struct{} // holds one token while queue is worth a look
	stopped chan struct{}

	mu      sync.RWMutex
	threads map[wire.ThreadID]*thread
	unborn  map[wire.ThreadID]*fence // opened, never committed
	epoch   uint64                   // the newest given
	index   []*thread                // of the catalog, newest last
	types   map[string][]string      // by bare id, sorted

	wakes    map[wire.ThreadID][]host.Wake // waiting, oldest first; no empty lists
	receipts map[string]host.Receipt
	swept    time.Time // when the expired receipts were last looked for
	deltas   deltas
}

var _ host.Journal = (*Journal)(nil)

// fence is who may write a thread. A refused commit breaks its epoch: those
// behind it were made on a state that never became durable.
type fence struct {
	epoch  uint64
	broken bool
}

type thread struct {
	fence
	id     wire.ThreadID
	row    host.Row
	events []host.Event // append-only
	latest int64        // seq of the newest snapshot, -1 for none
}

// entry is one thing for the committer: a commit, one refused at intake, or an
// open.
type entry struct {
	batch   host.Batch
	bytes   int
	refused error
	done    func(error)
	open    *opening
}

type opening struct {
	id     wire.ThreadID
	opened chan host.Opened
}

// New starts a journal's committer; Close stops it.
func New(o Options) *Journal {
	if o.MaxPending <= 0 {
		o.MaxPending = DefaultMaxPending
	}
	if o.MaxDeltas <= 0 {
		o.MaxDeltas = DefaultMaxDeltas
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.LagTimeout <= 0 {
		o.LagTimeout = defaultLagTimeout
	}
	j := &Journal{
		opts: o, run: o.Go,
		wake: make(chan struct{}, 1), stopped: make(chan struct{}),
		threads: map[wire.ThreadID]*thread{}, unborn: map[wire.ThreadID]*fence{}, types: map[string][]string{},
		wakes: map[wire.ThreadID][]host.Wake{}, receipts: map[string]host.Receipt{},
		deltas: deltas{threads: map[wire.ThreadID]*streamed{}},
	}
	if j.run == nil {
		j.run = func(_ string, fn func()) { go fn() }
	}
	j.run("journal", j.commit)
	return j
}

// Open is behind every commit accepted before it. Its error is unavailable once
// the journal is closed, or ctx's as a timeout.
func (j *Journal) Open(ctx context.Context, id wire.ThreadID) (host.Opened, error) {
	o := &opening{id: id, opened: make(chan host.Opened, 1)}
	if !j.accept(entry{open: o}) {
		return host.Opened{}, errClosed()
	}
	select {
	case opened := <-o.opened:
		return opened, nil
	case <-ctx.Done():
		return host.Opened{}, wire.Errorf(wire.CodeTimeout, "the journal did not open %s: %v", id, ctx.Err())
	}
}

// Commit refuses with conflict a stale epoch, another expected seq, a receipt's
// key that is held, and whatever follows a refusal in its epoch; with invalid a batch with a gap, or the first
// of a thread without a row; with limit-reached one over the bound; with
// unavailable, on the caller's goroutine, one after Close. It keeps what the
// batch refers to, which must not change any more.
func (j *Journal) Commit(b host.Batch, done func(error)) {
	if !j.accept(entry{batch: b, bytes: size(b), done: done}) {
		done(errClosed())
	}
}

func errClosed() error { return wire.Errorf(wire.CodeUnavailable, "the journal is closed") }

func (j *Journal) accept(e entry) bool {
	j.intake.Lock()
	defer j.intake.Unlock()
	if j.closed {
		return false
	}
	if e.bytes > 0 && j.pending+e.bytes > j.opts.MaxPending {
		e.refused = wire.Errorf(wire.CodeLimit, "the journal has %d bytes waiting", j.pending)
		e.batch, e.bytes = host.Batch{Thread: e.batch.Thread, Epoch: e.batch.Epoch}, 0
	}
	j.queue, j.pending = append(j.queue, e), j.pending+e.bytes
	j.look()
	return true
}

func (j *Journal) look() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

const entryOverhead = 128

// size is what a batch is counted as, in bytes.
func size(b host.Batch) int {
	n := entryOverhead
	for _, e := range b.Events {
		n += entryOverhead + len(e.Payload)
	}
	for _, w := range b.Put {
		n += wakeSize(w)
	}
	for _, d := range b.Send {
		n += wakeSize(d.Wake)
	}
	if b.Receipt != nil {
		n += entryOverhead + len(b.Receipt.Key) + len(b.Receipt.Digest) + len(b.Receipt.Answer)
	}
	if b.Row != nil {
		n += entryOverhead + len(b.Row.State)
	}
	return n
}

func wakeSize(w host.Wake) int {
	n := entryOverhead + len(w.Text) + len(w.Data)
	for _, i := range w.Images {
		n += len(i.Data)
	}
	return n
}

// Read yields what there is of the range; an unknown thread has nothing.
func (j *Journal) Read(ctx context.Context, id wire.ThreadID, from, to int64, yield func(host.Event) bool) error {
	j.mu.RLock()
	var events []host.Event
	if t := j.threads[id]; t != nil {
		events = t.events
	}
	j.mu.RUnlock()
	from, to = max(from, 0), min(to, int64(len(events))-1)
	for seq := from; seq <= to; seq++ {
		if err := ctx.Err(); err != nil {
			return wire.Errorf(wire.CodeTimeout, "the record of %s was not read to its end: %v", id, err)
		}
		if !yield(events[seq]) {
			return nil
		}
	}
	return nil
}

// LatestSnapshot costs the same however long the record is.
func (j *Journal) LatestSnapshot(_ context.Context, id wire.ThreadID) (host.Event, bool, error) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	if t := j.threads[id]; t != nil && t.latest >= 0 {
		return t.events[t.latest], true, nil
	}
	return host.Event{}, false, nil
}

// Lookup opens nothing.
func (j *Journal) Lookup(_ context.Context, id wire.ThreadID) (host.Row, bool, error) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	if t := j.threads[id]; t != nil {
		return t.row, true, nil
	}
	return host.Row{}, false, nil
}

// Types is sorted.
func (j *Journal) Types(_ context.Context, id string) ([]string, error) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	return slices.Clone(j.types[id]), nil
}

// Close applies and acknowledges what was accepted, then stops the committer. It
// is idempotent. What is recorded can still be read.
func (j *Journal) Close() error {
	j.intake.Lock()
	j.closed = true
	j.look()
	j.intake.Unlock()
	<-j.stopped
	return nil
}
