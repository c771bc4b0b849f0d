package actors

import (
	"bytes"
	"context"
	"os"
	"sync"
	"sync/atomic"

	"github.com/troupe-run/troupe/wire"
)

// opening is where a follow begins: a pin, the place in the log right behind it,
// and the snapshot, encoded once. Followers that join at about the same instant
// share one: the log from that place on tells each of them what has changed since.
type opening struct {
	pin   *pin
	chunk *chunk
	off   int
	end   uint64

	size atomic.Int64  // the encoded snapshot's, in bytes; 0 until it is there
	turn chan struct{} // held by whoever encodes, or looks whether it is done

	mu      sync.Mutex
	holders int // followers that have not written it yet; at 0 it is spent for good
	encoded []byte
	give    func() // gives the host's room for encoded back
	err     error  // why there is none
}

func newOpening(p *pin, f *feed) *opening {
	return &opening{
		pin: p, chunk: f.last, off: int(f.last.n.Load()), end: f.total.Load(),
		turn: make(chan struct{}, 1), holders: 1,
	}
}

// join counts one more holder, unless the last has left or there is no snapshot.
func (o *opening) join() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.holders == 0 || o.err != nil {
		return false
	}
	o.holders++
	return true
}

// leave gives the snapshot back: the last to leave frees it.
func (o *opening) leave() {
	o.mu.Lock()
	o.holders--
	var give func()
	if o.holders == 0 {
		o.encoded = nil
		give, o.give = o.give, nil
	}
	o.mu.Unlock()
	if give != nil {
		give()
	}
}

// made is what came of encoding; neither is set before.
func (o *opening) made() ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.encoded, o.err
}

// make sets what came of it, and frees the pin. It says whether anybody is left who
// will give the room back.
func (o *opening) make(b []byte, give func(), err error) bool {
	o.size.Store(int64(len(b)))
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pin = nil
	if o.holders == 0 {
		return false
	}
	o.encoded, o.give, o.err = b, give, err
	return true
}

// shareFrom is how much may have been told since an opening before a joiner gets
// one of its own, in bytes; for a large snapshot it is a quarter of its size, since
// what has been told since is still the cheaper to send.
const shareFrom = 64 << 10

// shares says whether a joiner may begin where o does: it starts with that lag.
func (f *feed) shares(o *opening) bool {
	since := f.total.Load() - o.end
	return since <= max(shareFrom, uint64(o.size.Load())/4) && since <= f.bounds.lag/4
}

// whileFollowed is a context that ends with a follow.
type whileFollowed struct {
	context.Context
	ended <-chan struct{}
}

func (u whileFollowed) Done() <-chan struct{} { return u.ended }

func (u whileFollowed) Err() error {
	select {
	case <-u.ended:
		return context.Canceled
	default:
		return nil
	}
}

// snapshot is the encoded snapshot of a follower's opening; the first of its holders
// to come makes it, the others wait for it.
func (h *Host) snapshot(f *Follower) ([]byte, error) {
	o := f.opening.Load()
	if o == nil {
		return nil, f.reason // it was closed
	}
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-f.ended:
		return nil, f.reason
	}
	select {
	case <-f.ended: // it has left, and the pin may have gone with the last
		return nil, f.reason
	default:
	}
	if b, err := o.made(); b != nil || err != nil {
		return b, err
	}
	b, give, err := h.encodeSnapshot(whileFollowed{context.Background(), f.ended}, f.thread, o.pin)
	select {
	case <-f.ended: // the next holder tries again
		if give != nil {
			give()
		}
		return nil, f.reason
	default:
	}
	if !o.make(b, give, err) && give != nil {
		give()
	}
	return b, err
}

// encodeSnapshot is the one live-or-cold read behind follow and history, as an SSE
// event. give must be called once it has been written.
func (h *Host) encodeSnapshot(ctx context.Context, id wire.ThreadID, p *pin) (b []byte, give func(), err error) {
	back, err := h.room.take(ctx, id, p.size)
	if err != nil {
		return nil, nil, wire.Errorf(wire.CodeTimeout, "too many snapshots are being sent")
	}
	defer func() {
		if give == nil { // it failed, or panicked
			back()
		}
	}()
	select {
	case h.snapshots <- struct{}{}:
		defer func() { <-h.snapshots }()
	case <-ctx.Done():
		return nil, nil, wire.Errorf(wire.CodeTimeout, "too many snapshots are being read")
	}
	reading, cancel := context.WithTimeout(ctx, h.limits.CallTimeout)
	defer cancel()
	s, err := h.assemble(reading, id, p)
	if err != nil {
		return nil, nil, h.failure(err, "read a thread", id)
	}
	h.meter.encodings.Add(1)
	if b, err = wire.AppendSSE(nil, s); err != nil {
		return nil, nil, h.failure(err, "encode a snapshot", id)
	}
	return b, back, nil
}

// assemble looks at the folder too, since a thread does no I/O: one that is gone
// reads "".
func (h *Host) assemble(ctx context.Context, id wire.ThreadID, p *pin) (*wire.Snapshot, error) {
	s, err := p.assemble(ctx, id, h.journal)
	if err != nil {
		return nil, err
	}
	if fi, err := os.Stat(s.Cwd); err != nil || !fi.IsDir() {
		s.Cwd = ""
	}
	return s, nil
}

// History is an encoded snapshot, as JSON. It takes room until it is closed, which
// may be done more than once.
type History struct {
	*bytes.Reader
	close func()
}

// Close gives the room back.
func (h *History) Close() error {
	h.close()
	return nil
}

// History is the snapshot that a follow would open with.
func (c *Client) History(ctx context.Context, text string) (*History, error) {
	id, err := c.resolve(ctx, text)
	if err != nil {
		return nil, err
	}
	cwd := c.h.agents[id.Type].Cwd
	p, err := send[*pin](ctx, c.h, id, func(t token) input { return &pinInput{token: t, cwd: cwd} })
	if err != nil {
		return nil, err
	}
	b, give, err := c.h.encodeSnapshot(ctx, id, p)
	if err != nil {
		return nil, err
	}
	b = bytes.TrimSuffix(bytes.TrimPrefix(b, []byte("data: ")), []byte("\n\n"))
	return &History{bytes.NewReader(b), sync.OnceFunc(give)}, nil
}
