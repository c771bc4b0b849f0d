package load

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// BaselineVerb is the hidden verb below load that is [ServeBaseline].
const BaselineVerb = "raw-writer"

// rawChunk is the size of the pieces of a raw log.
const rawChunk = 64 << 10

// chunk is a piece of a log: what is below n may be read, next is set once it is
// full.
type chunk struct {
	buf  []byte
	n    atomic.Int64
	next atomic.Pointer[chunk]
}

// rawLog is one thread of the baseline: a shared log, and followers that each write
// everything between their cursor and its head.
type rawLog struct {
	last      *chunk
	mu        sync.Mutex
	followers []*rawFollower
	wakers    [rawWakers]chan struct{}
	waking    bool
}

// Up to directly many followers the log's own goroutine wakes them.
const (
	rawWakers = 2
	directly  = 64
)

type rawFollower struct {
	conn    net.Conn
	chunk   *chunk
	off     int
	waiting atomic.Bool
	wake    chan struct{}
}

func newRawLog() *rawLog { return &rawLog{last: &chunk{buf: make([]byte, rawChunk)}} }

// attach adds a follower at the head.
func (l *rawLog) attach(conn net.Conn, g *errgroup.Group) *rawFollower {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := &rawFollower{conn: conn, chunk: l.last, off: int(l.last.n.Load()), wake: make(chan struct{}, 1)}
	l.followers = append(l.followers, f)
	if len(l.followers) > directly && !l.waking {
		l.waking = true
		for i := range l.wakers {
			l.wakers[i] = make(chan struct{}, 1)
			g.Go(func() error { l.waker(i); return nil })
		}
	}
	return f
}

// append adds a frame. stamp, where it is not negative, is where the time is set.
func (l *rawLog) append(frame []byte, stamp int, due time.Time) {
	c := l.last
	n := int(c.n.Load())
	if n+len(frame) > len(c.buf) {
		next := &chunk{buf: make([]byte, max(rawChunk, len(frame)))}
		write(next.buf, frame, stamp, due)
		next.n.Store(int64(len(frame)))
		l.last = next
		c.next.Store(next)
	} else {
		write(c.buf[n:], frame, stamp, due)
		c.n.Store(int64(n + len(frame)))
	}
}

func write(into, frame []byte, stamp int, due time.Time) {
	copy(into, frame)
	if stamp < 0 {
		return
	}
	ns := due.UnixNano()
	for i := stamp + stampLen - 1; i >= stamp; i-- {
		into[i] = byte('0' + ns%10)
		ns /= 10
	}
}

// notify wakes whoever waits.
func (l *rawLog) notify() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waking {
		for _, w := range l.wakers {
			select {
			case w <- struct{}{}:
			default:
			}
		}
		return
	}
	for _, f := range l.followers {
		f.poke()
	}
}

func (l *rawLog) waker(share int) {
	for range l.wakers[share] {
		l.mu.Lock()
		all := l.followers
		l.mu.Unlock()
		for i := share; i < len(all); i += rawWakers {
			all[i].poke()
		}
	}
}

func (f *rawFollower) poke() {
	if f.waiting.CompareAndSwap(true, false) {
		select {
		case f.wake <- struct{}{}:
		default:
		}
	}
}

func (f *rawFollower) due() []byte {
	for {
		n := int(f.chunk.n.Load())
		if n > f.off {
			b := f.chunk.buf[f.off:n]
			f.off = n
			return b
		}
		next := f.chunk.next.Load()
		if next == nil {
			return nil
		}
		if int(f.chunk.n.Load()) == f.off {
			f.chunk, f.off = next, 0
		}
	}
}

// serve writes until the connection breaks.
func (f *rawFollower) serve() error {
	for {
		b := f.due()
		if b == nil {
			f.waiting.Store(true)
			if b = f.due(); b == nil {
				<-f.wake
				continue
			}
			f.waiting.Store(false)
		}
		if _, err := f.conn.Write(b); err != nil {
			return err
		}
	}
}

// rawFeed is what is published, to every log.
type rawFeed struct {
	feedHead
	snapshot []byte
	frames   [][]byte
	stamps   []int // where a frame's time is, or -1
}

func readFeed(in *bufio.Reader) (*rawFeed, error) {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	f := &rawFeed{}
	if err := json.Unmarshal(line, &f.feedHead); err != nil {
		return nil, err
	}
	lengths := make([]byte, 4*f.Frames)
	f.snapshot = make([]byte, f.Snapshot)
	all := make([]byte, f.Bytes)
	for _, part := range [][]byte{lengths, f.snapshot, all} {
		if _, err := io.ReadFull(in, part); err != nil {
			return nil, err
		}
	}
	for ; len(lengths) > 0; lengths = lengths[4:] {
		n := int(binary.LittleEndian.Uint32(lengths))
		if n > len(all) {
			return nil, io.ErrUnexpectedEOF
		}
		frame := all[:n]
		f.frames, f.stamps, all = append(f.frames, frame), append(f.stamps, stampOf(frame)), all[n:]
	}
	return f, nil
}

// stampOf is where the time of a paced delta's event begins, or -1.
func stampOf(event []byte) int {
	if kindOf(event) != observationEvent {
		return -1
	}
	_, rest, _ := seqOf(event)
	text, ok := deltaOf(rest)
	if !ok {
		return -1
	}
	if _, _, ok = paced(text); !ok {
		return -1
	}
	return len(event) - len(text)
}

// play publishes everything on one log.
func (f *rawFeed) play(l *rawLog, began time.Time) {
	deltas := 0
	for _, s := range f.stamps {
		if s >= 0 {
			deltas++
		}
	}
	step := float64(f.Spread) / float64(max(deltas-1, 1))
	if f.Rate > 0 {
		step = float64(time.Second) / f.Rate
	}
	i, due := 0, began
	for k, frame := range f.frames {
		if f.stamps[k] >= 0 {
			due = began.Add(time.Duration(float64(i) * step))
			i++
			if wait := time.Until(due); wait > 0 {
				time.Sleep(wait)
			}
		}
		at := due
		if f.Rate == 0 {
			at = time.Now()
		}
		l.append(frame, f.stamps[k], at)
		l.notify()
	}
}

const rawHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache, no-transform\r\nConnection: close\r\n\r\n"

// ServeBaseline is the process of the baseline: plain TCP, a shared log for each
// thread, and for each follower a goroutine with a cursor. It is told on stdin what
// to publish and when, and ends when that does.
func ServeBaseline(_ context.Context, in io.Reader, out io.Writer) error {
	raiseOpenFiles()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "baseline: serving http://%s\n", ln.Addr())
	r := bufio.NewReaderSize(in, 1<<20)
	feed, err := readFeed(r)
	if err != nil {
		return err
	}
	var g errgroup.Group
	var mu sync.Mutex
	logs := map[string]*rawLog{}
	g.Go(func() error {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return err
			}
			g.Go(func() error {
				path, err := requestPath(conn)
				if err != nil {
					return conn.Close()
				}
				mu.Lock()
				l := logs[path]
				if l == nil {
					l = newRawLog()
					logs[path] = l
				}
				mu.Unlock()
				f := l.attach(conn, &g)
				if _, err := conn.Write(append([]byte(rawHead), feed.snapshot...)); err == nil {
					_ = f.serve() // a broken connection is all that ends it
				}
				return conn.Close()
			})
		}
	})
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return ln.Close() // the tool has ended, and so does this
		}
		if strings.TrimSpace(line) != "go" {
			return fmt.Errorf("unknown word %q", line)
		}
		mu.Lock()
		began, k := time.Now(), 0
		for _, l := range logs {
			from := began.Add(feed.Stagger * time.Duration(k) / time.Duration(len(logs)))
			k++
			g.Go(func() error { feed.play(l, from); return nil })
		}
		mu.Unlock()
	}
}

// requestPath reads a request's head.
func requestPath(conn net.Conn) (string, error) {
	buf := make([]byte, 0, 512)
	for !strings.Contains(string(buf), "\r\n\r\n") {
		if len(buf) == cap(buf) {
			return "", os.ErrInvalid
		}
		n, err := conn.Read(buf[len(buf):cap(buf)])
		if err != nil {
			return "", err
		}
		buf = buf[:len(buf)+n]
	}
	path, _, _ := strings.Cut(strings.TrimPrefix(string(buf), "GET "), " ")
	return path, nil
}
