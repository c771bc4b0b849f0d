package api

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/troupe-run/troupe/wire"
)

// source is what a stream writes: a [Follower], or summaries made to look like one.
type source interface {
	Next(wait time.Duration) ([]byte, error)
	Close()
}

// opener subscribes. ended may be called at any time from then on, also before
// opener has returned, from any goroutine: see [FollowOptions].
type opener func(ctx context.Context, ended func()) (source, error)

// stream is one SSE response on a hijacked connection. Two goroutines serve it:
// one writes, one reads, which is how a client that has gone is noticed at once.
type stream struct {
	srv  *Server
	conn *conn
	path string

	mu       sync.Mutex
	source   source
	ended    bool      // the client has gone, or the server stops
	deadline time.Time // of writes
	cut      bool      // no write may begin or go on, the last one excepted
	last     bool      // the last write has begun

	buf [64]byte // for the reader
}

var (
	errCut  = errors.New("the stream was ended")
	beat    = []byte(": hb\n\n")
	sseHead = "Content-Type: " + mediaSSE + "\r\nCache-Control: no-cache, no-transform\r\n" +
		"X-Accel-Buffering: no\r\nX-Content-Type-Options: nosniff\r\n" +
		"Cross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n\r\n"
)

// serve is the life of a stream: subscribe, write until either side ends it,
// leave. It owns the connection.
//
// It subscribes here, not in the handler: between a handler's return and the
// hijack fasthttp may find the connection broken, and then nobody would leave.
func (st *stream) serve(open opener) {
	defer func() { _ = st.conn.Close() }()
	if f := st.srv.streams.add(st); f != nil {
		st.refuse(f)
		return
	}
	defer st.srv.streams.remove(st)
	st.srv.cfg.Go("follower's reader", st.watch)
	src, first, failure := st.begin(open)
	if src != nil {
		defer src.Close()
	}
	if failure != nil {
		st.refuse(failure)
		return
	}
	err := st.copy(src, first)
	if reason := (*wire.Failure)(nil); errors.As(err, &reason) {
		err = st.goodbye(reason)
	}
	if err != nil {
		st.conn.reset() // what it has not taken is not worth the kernel's memory
	}
	st.srv.log.Debug("a stream ended", zap.String("path", clip(st.path)), zap.Error(err))
}

func (st *stream) refuse(f *wire.Failure) { _ = st.write(problem(f, st.path).raw()) }

// begin subscribes and takes the first bytes: a stream that cannot begin is answered
// with a problem. It does so in a goroutine of its own: these are the deepest calls of
// a follow, and the stack that they take would stay with it while it is idle.
func (st *stream) begin(open opener) (src source, first []byte, failure *wire.Failure) {
	failure = wire.Errorf(wire.CodeInternal, "an internal error") // if it panics
	done := make(chan struct{})
	st.srv.cfg.Go("follower's beginning", func() {
		defer close(done)
		var failed *wire.Failure
		if src, failed = st.subscribe(open); failed == nil {
			b, err := src.Next(0)
			if first = b; err != nil {
				failed = st.srv.failure(err, st.path)
			}
		}
		failure = failed
	})
	<-done
	return src, first, failure
}

func (st *stream) subscribe(open opener) (source, *wire.Failure) {
	ctx, cancel := context.WithTimeout(st.srv.base, st.srv.cfg.CallTimeout)
	defer cancel()
	src, err := open(ctx, st.interrupt)
	if err != nil {
		return nil, st.srv.failure(err, st.path)
	}
	st.mu.Lock()
	st.source = src
	left := st.ended
	st.mu.Unlock()
	if left {
		src.Close() // without the lock: a source tells of its end from here
	}
	return src, nil
}

// copy writes the head, then b, then what src gives, until one of them fails: an
// error of src is a *wire.Failure.
func (st *stream) copy(src source, b []byte) error {
	if err := st.write(append(statusLine(200), sseHead...)); err != nil {
		return err
	}
	for {
		if b != nil {
			if err := st.write(b); err != nil {
				return err
			}
		}
		var err error
		if b, err = src.Next(st.srv.cfg.Heartbeat); err != nil {
			return wire.AsFailure(err)
		}
		if b == nil {
			b = beat
		}
	}
}

// write writes b in pieces, each under a deadline of its own, so that a slow
// client is told from a stuck one; and under one for the whole, or a client that
// trickles would hold a long snapshot for hours.
func (st *stream) write(b []byte) error {
	now := time.Now()
	last := now.Add(st.srv.cfg.WriteTimeout + time.Duration(len(b))*time.Second/leastRate)
	for len(b) > 0 {
		n := min(len(b), writePiece)
		if !st.mayWrite(now, last) {
			return errCut
		}
		if _, err := st.conn.Conn.Write(b[:n]); err != nil {
			return err
		}
		if b = b[n:]; len(b) > 0 {
			now = time.Now()
		}
	}
	return nil
}

// mayWrite sets the deadline of the next write, at last the latest. One that was set a
// moment ago stays: setting it costs what a small write does.
func (st *stream) mayWrite(now, last time.Time) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.cut {
		return false
	}
	bound := st.srv.cfg.WriteTimeout
	if left := st.deadline.Sub(now); left < bound-bound/8 || st.deadline.After(last) {
		st.deadline = now.Add(bound)
		if st.deadline.After(last) {
			st.deadline = last
		}
		_ = st.conn.SetWriteDeadline(st.deadline)
	}
	return true
}

// goodbye says in a comment why the stream ends. Comments are no frames: it is for
// whoever looks at the raw stream. Every write before it was whole, so this one may
// still be made, however the end came about.
func (st *stream) goodbye(reason *wire.Failure) error {
	st.mu.Lock()
	st.last = true
	_ = st.conn.SetWriteDeadline(time.Now().Add(goodbyeBound))
	st.mu.Unlock()
	_, err := st.conn.Conn.Write([]byte(": ended, " + string(reason.Code) + "\n\n"))
	return err
}

// interrupt makes a blocked write return, and keeps the next from beginning. It
// never blocks.
func (st *stream) interrupt() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.cut = true
	if !st.last {
		_ = st.conn.SetWriteDeadline(time.Unix(1, 0))
	}
}

// end ends the source, whose Next then tells the writer. It is not the source's
// own end, so it must not be called from there.
func (st *stream) end() {
	st.mu.Lock()
	st.ended = true
	src := st.source
	st.mu.Unlock()
	if src != nil {
		src.Close()
	}
}

// watch reads until the client has gone. What it says after its request, a
// pipelined request perhaps, is ignored; too much of it ends the stream.
func (st *stream) watch() {
	defer func() {
		st.interrupt()
		st.end()
	}()
	for noise := 0; noise < maxNoise; {
		n, err := st.conn.Conn.Read(st.buf[:])
		if err != nil {
			return
		}
		noise += n
	}
}

// streams is the registry of open streams, which shutdown closes first: fasthttp
// knows nothing of hijacked connections.
type streams struct {
	mu     sync.Mutex
	most   int
	open   map[*stream]struct{}
	closed bool
	none   chan struct{} // closed when closed and the last has left
}

func newStreams(most int) *streams {
	return &streams{most: most, open: map[*stream]struct{}{}, none: make(chan struct{})}
}

func (r *streams) add(st *stream) *wire.Failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return wire.Errorf(wire.CodeUnavailable, "the server is stopping")
	case len(r.open) >= r.most:
		return wire.Errorf(wire.CodeLimit, "%d streams are open, which is the most this server holds", r.most)
	}
	r.open[st] = struct{}{}
	return nil
}

func (r *streams) remove(st *stream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, st)
	if r.closed && len(r.open) == 0 {
		close(r.none)
	}
}

func (r *streams) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.open)
}

// close ends every stream and refuses new ones. It waits until they have left or
// ctx ends; those that have not are cut off by their connection.
func (r *streams) close(ctx context.Context) {
	r.mu.Lock()
	all := make([]*stream, 0, len(r.open))
	if !r.closed {
		r.closed = true
		for st := range r.open {
			all = append(all, st)
		}
		if len(all) == 0 {
			close(r.none)
		}
	}
	r.mu.Unlock()
	for _, st := range all {
		st.end()
	}
	select {
	case <-r.none:
	case <-ctx.Done():
		for _, st := range all {
			st.interrupt()
			_ = st.conn.Conn.Close()
		}
	}
}
