package api

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
	"go.uber.org/zap"

	"github.com/troupe-run/troupe/wire"
)

// CheckListen says why addr ("host:port") may not be listened on, as a
// *wire.Failure of code invalid, or nil. Without a key only loopback may: whoever
// reaches the port commands the agents.
func CheckListen(addr string, hasKey bool) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return wire.Errorf(wire.CodeInvalid, "listen address %q: want host:port", addr)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return wire.Errorf(wire.CodeInvalid, "listen address %q: the port is a number from 0 to 65535", addr)
	}
	switch {
	case isLoopback(strings.ToLower(host)) || hasKey:
		return nil
	case host == "":
		return wire.Errorf(wire.CodeInvalid, "refusing to listen on %q: that is every interface, and without a key anyone who reaches the port commands the agents; use 127.0.0.1:%s", addr, port)
	default:
		return wire.Errorf(wire.CodeInvalid, "refusing to listen on %q: it is not loopback, and without a key anyone who reaches the port commands the agents; use 127.0.0.1:%s", addr, port)
	}
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// listener keeps every connection in the server's set. It survives what fasthttp
// takes for the end: a shortage of file descriptors.
type listener struct {
	net.Listener
	conns  *connSet
	log    *zap.Logger
	once   sync.Once
	closed chan struct{}
	err    error
}

func newListener(ln net.Listener, conns *connSet, log *zap.Logger) *listener {
	return &listener{Listener: ln, conns: conns, log: log, closed: make(chan struct{})}
}

// Accept waits out a shortage.
func (l *listener) Accept() (net.Conn, error) {
	const longest = time.Second
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, longest) {
		c, err := l.Listener.Accept()
		switch {
		case err == nil:
			return l.conns.add(c), nil
		case !shortage(err):
			return nil, err
		}
		if pause == longest {
			l.log.Warn("cannot accept connections for now", zap.Error(err))
		}
		select {
		case <-time.After(pause):
		case <-l.closed:
			return nil, net.ErrClosed
		}
	}
}

// Close may be called by the server and by fasthttp, which takes an error of the
// second call for a failed shutdown.
func (l *listener) Close() error {
	l.once.Do(func() {
		close(l.closed)
		l.err = l.Listener.Close()
	})
	return l.err
}

func shortage(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// conn is a connection in the server's set until it is closed.
type conn struct {
	net.Conn
	set    *connSet
	active atomic.Bool // a request is being read or answered
	linger atomic.Bool
	once   sync.Once
	err    error
}

// Close leaves the set. After a refusal that left part of the request unread, the
// rest is read first, within bounds: closing over unread bytes resets the
// connection, and the client would lose the answer.
func (c *conn) Close() error {
	c.once.Do(func() {
		c.set.remove(c)
		if c.linger.Load() {
			c.drain()
		}
		c.err = c.Conn.Close()
	})
	return c.err
}

func (c *conn) drain() {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil || c.SetReadDeadline(time.Now().Add(lingerBound)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes)
}

// reset closes without waiting for what the client has not taken.
func (c *conn) reset() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// connSet is every open connection.
type connSet struct {
	mu       sync.Mutex
	open     map[*conn]struct{}
	stopping bool
}

func (s *connSet) add(nc net.Conn) *conn {
	c := &conn{Conn: nc, set: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[c] = struct{}{}
	return c
}

func (s *connSet) remove(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
}

// changed is fasthttp's report of a connection's state. One that turns quiet while
// the server stops is closed here: fasthttp waits seconds for one that never said
// anything, as browsers open them.
func (s *connSet) changed(nc net.Conn, state fasthttp.ConnState) {
	c, ok := nc.(*conn)
	if !ok {
		return
	}
	c.active.Store(state == fasthttp.StateActive || state == fasthttp.StateHijacked)
	if state != fasthttp.StateNew && state != fasthttp.StateIdle {
		return
	}
	s.mu.Lock()
	stopping := s.stopping
	s.mu.Unlock()
	if stopping {
		_ = c.Close()
	}
}

// stop closes the quiet connections, now and from now on.
func (s *connSet) stop() {
	s.mu.Lock()
	s.stopping = true
	quiet := make([]*conn, 0, len(s.open))
	for c := range s.open {
		if !c.active.Load() {
			quiet = append(quiet, c)
		}
	}
	s.mu.Unlock()
	for _, c := range quiet {
		_ = c.Close()
	}
}

// sever cuts every connection, whatever it does.
func (s *connSet) sever() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		_ = c.Conn.Close()
	}
}
