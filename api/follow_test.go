package api

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-run/troupe/wire"
)

// openStream opens a stream and reads its header.
func openStream(t testing.TB, url string) (head http.Header, r *bufio.Reader, leave func()) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	leave = func() { res.Body.Close() }
	t.Cleanup(leave)
	return res.Header, bufio.NewReader(res.Body), leave
}

// line reads the next line that is not empty.
func line(t testing.TB, r *bufio.Reader) string {
	t.Helper()
	for {
		s, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if s = strings.TrimRight(s, "\n"); s != "" {
			return s
		}
	}
}

// TestRule_TheFollowIsNeverCached: the headers of the vocabulary, no cursor, the
// bytes as the thread gave them, and a heartbeat in silence.
func TestRule_TheFollowIsNeverCached(t *testing.T) {
	fo := newFollower(FollowOptions{})
	url, s := serve(t, &fakeThreads{follow: func(o FollowOptions) *fakeFollower {
		if !o.Partials {
			t.Error("partials=1 was not passed on")
		}
		return fo
	}}, func(c *Config) { c.Heartbeat = 50 * time.Millisecond })
	fo.events <- []byte("data: {\"a\":1}\n\ndata: {\"b\":2}\n\n")
	head, r, _ := openStream(t, url+"/api/threads/a/follow?partials=1")
	for k, want := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no",
	} {
		if have := head.Get(k); have != want {
			t.Errorf("%s: %q, want %q", k, have, want)
		}
	}
	if a, b := line(t, r), line(t, r); a != `data: {"a":1}` || b != `data: {"b":2}` {
		t.Errorf("%q, %q", a, b)
	}
	if hb := line(t, r); !strings.HasPrefix(hb, ":") {
		t.Errorf("a heartbeat is a comment: %q", hb)
	}
	fo.events <- []byte("data: {\"c\":3}\n\n")
	for {
		l := line(t, r)
		if strings.HasPrefix(l, "id:") {
			t.Error("there is no cursor")
		}
		if l == `data: {"c":3}` {
			break
		}
	}
	if n := s.Followers(); n != 1 {
		t.Errorf("%d followers", n)
	}
}

// TestAnIdleDisconnectIsNoticedWithinASecond.
func TestAnIdleDisconnectIsNoticedWithinASecond(t *testing.T) {
	fo := newFollower(FollowOptions{})
	url, _ := serve(t, &fakeThreads{follow: func(FollowOptions) *fakeFollower { return fo }}, nil)
	fo.events <- []byte("data: 1\n\n")
	_, r, leave := openStream(t, url+"/api/threads/a/follow")
	line(t, r)
	leave()
	select {
	case <-fo.gone:
	case <-time.After(time.Second):
		t.Error("it was not noticed")
	}
}

// TestAThreadEndsAFollowWhoseClientDoesNotRead: the blocked write returns, and
// others are not held up.
func TestAThreadEndsAFollowWhoseClientDoesNotRead(t *testing.T) {
	var mu sync.Mutex
	var made []*fakeFollower
	url, s := serve(t, &fakeThreads{follow: func(o FollowOptions) *fakeFollower {
		mu.Lock()
		defer mu.Unlock()
		made = append(made, newFollower(o))
		return made[len(made)-1]
	}}, nil)
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /api/threads/a/follow HTTP/1.1\r\nHost: %s\r\n\r\n", strings.TrimPrefix(url, "http://"))
	if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	stuck := made[0]
	mu.Unlock()
	big := []byte("data: " + strings.Repeat("x", 1<<20) + "\n\n")
	for range 60 { // more than the socket's buffers take
		stuck.events <- big
	}
	_, r, _ := openStream(t, url+"/api/threads/a/follow")
	mu.Lock()
	other := made[1]
	mu.Unlock()
	other.events <- []byte("data: quick\n\n")
	if l := line(t, r); l != "data: quick" {
		t.Errorf("%q", l)
	}
	stuck.end()
	select {
	case <-stuck.gone:
	case <-time.After(3 * time.Second):
		t.Error("its handler is stuck in the write")
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 200 {
		if s.Followers() == 1 {
			return
		}
		<-tick.C
	}
	t.Errorf("%d followers", s.Followers())
}

// TestShutdownWith500Follows is bounded, ends every one, and leaves no goroutine.
func TestShutdownWith500Follows(t *testing.T) {
	before := runtime.NumGoroutine()
	const n = 500
	f := &fakeThreads{follow: func(o FollowOptions) *fakeFollower {
		fo := newFollower(o)
		fo.events <- []byte("data: 1\n\n")
		return fo
	}}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := New(Config{Threads: f, Listen: ln.Addr().String()})
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	client := &http.Client{Transport: &http.Transport{}}
	var open atomic.Int32
	var wg sync.WaitGroup
	all := make(chan struct{})
	for range n {
		wg.Go(func() {
			res, err := client.Get("http://" + ln.Addr().String() + "/api/threads/a/follow")
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()
			r := bufio.NewReader(res.Body)
			if _, err := r.ReadString('\n'); err != nil {
				t.Error(err)
			}
			if open.Add(1) == n {
				close(all)
			}
			_, _ = io.Copy(io.Discard, r)
		})
	}
	select {
	case <-all:
	case <-time.After(20 * time.Second):
		t.Fatalf("%d are open", open.Load())
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Errorf("shutdown: %v", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	wg.Wait()
	if err := <-served; err != nil {
		t.Error(err)
	}
	client.CloseIdleConnections()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 500 {
		if runtime.NumGoroutine() <= before+10 {
			return
		}
		<-tick.C
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

// TestSummariesAreStreamed, one to an event.
func TestSummariesAreStreamed(t *testing.T) {
	w := &fakeWatch{*newFollower(FollowOptions{})}
	url, _ := serve(t, &fakeThreads{watch: w}, nil)
	w.events <- []byte("x")
	_, r, _ := openStream(t, url+"/api/threads/stream")
	if l := line(t, r); !strings.HasPrefix(l, `data: {"type":"summary","summary":{"id":"scripted.a"`) {
		t.Errorf("%q", l)
	}
}

func TestFollowThatIsRefused(t *testing.T) {
	f := &fakeThreads{}
	url, _ := serve(t, f, func(c *Config) { c.MaxFollowers = 1 })
	fo := newFollower(FollowOptions{})
	f.follow = func(FollowOptions) *fakeFollower { return fo }
	fo.events <- []byte("data: 1\n\n")
	_, r, _ := openStream(t, url+"/api/threads/a/follow")
	line(t, r)
	res, body := request(t, "GET", url+"/api/threads/a/follow", "")
	refused(t, "one too many", res, body, 429, "limit-reached")
	if res, _ = request(t, "HEAD", url+"/api/threads/a/follow", ""); res.StatusCode != 200 {
		t.Errorf("HEAD: %d", res.StatusCode)
	}
	f.refuse(wire.Errorf(wire.CodeNotFound, "no agent type"))
	if res, _ = request(t, "HEAD", url+"/api/threads/nosuch.a/follow", ""); res.StatusCode != 404 {
		t.Errorf("HEAD of an unknown type: %d", res.StatusCode)
	}
}

// BenchmarkIdleFollower says what an open follow costs: everything of the process,
// the test's own client included, less what it had before.
func BenchmarkIdleFollower(b *testing.B) {
	const n = 1000
	f := &fakeThreads{follow: func(o FollowOptions) *fakeFollower {
		fo := newFollower(o)
		fo.events <- []byte("data: 1\n\n")
		return fo
	}}
	url, _ := serve(b, f, nil)
	addr := strings.TrimPrefix(url, "http://")
	for b.Loop() {
		before := inUse()
		var conns []net.Conn
		for range n {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				b.Fatal(err)
			}
			fmt.Fprintf(c, "GET /api/threads/a/follow HTTP/1.1\r\nHost: %s\r\n\r\n", addr)
			var head [16]byte
			if _, err := io.ReadFull(c, head[:]); err != nil {
				b.Fatal(err)
			}
			conns = append(conns, c)
		}
		b.ReportMetric(float64(inUse()-before)/n, "B/follower")
		for _, c := range conns {
			c.Close()
		}
	}
}

func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// endingSource is a follower as actors has them: Close ends it, and the end is told once, from Close.
type endingSource struct {
	once  sync.Once
	ended func()
	left  chan struct{}
}

func (a *endingSource) Next(time.Duration) ([]byte, error) {
	return nil, &wire.Failure{Code: wire.CodeUnavailable, Message: "the follow was closed"}
}
func (a *endingSource) Close() { a.once.Do(a.ended); close(a.left) }

// A client that leaves before its subscription is there: the source is closed, and nobody is stuck.
func TestAClientThatLeavesWhileItSubscribes(t *testing.T) {
	s := New(Config{})
	here, there := net.Pipe()
	defer there.Close()
	set := &connSet{open: map[*conn]struct{}{}}
	st := &stream{srv: s, conn: set.add(here), path: "/x"}
	st.end() // the client has gone
	src := &endingSource{left: make(chan struct{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = st.subscribe(func(_ context.Context, ended func()) (source, error) { src.ended = ended; return src, nil })
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("subscribe is stuck: it closes the source with its own lock held")
	}
}
