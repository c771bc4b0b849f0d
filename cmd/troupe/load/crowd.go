package load

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/troupe-run/troupe/wire"
)

// crowd is all followers of a scenario.
type crowd struct {
	dial    *dialer
	host    string // what requests name as their Host
	rules   *violations
	tallies *tallies
	first   *stopwatch // from a prompt to the first delta of its run
	hash    maphash.Seed
	elides  bool                            // runs call tools, whose partial results are elided
	saw     func(*thread, wire.Observation) // told by the checked followers, in their goroutines; may be nil
	until   time.Time
	base    atomic.Pointer[time.Time] // see now; nil is the wall clock

	followers []*follower
	running   errgroup.Group
	leaving   atomic.Bool
	release   chan struct{} // closed when the stuck ones may read again

	opened      atomic.Int64
	settled     atomic.Int64 // runs, times the followers that saw it
	ended       atomic.Int64
	closedStuck atomic.Int64
	lastOpened  atomic.Int64 // ns
}

func newCrowd(d *dialer, rules *violations, until time.Time) *crowd {
	return &crowd{
		dial: d, host: d.addr, rules: rules, tallies: newTallies(), first: newStopwatch(),
		hash: maphash.MakeSeed(), until: until, release: make(chan struct{}),
	}
}

// receiveBuffer is a follower's in the kernel, in bytes, n of them being there. Left
// to itself it grows to megabytes when the server is fast, and what a server may have
// in its sockets is as much again. Some thousand followers that lag then exceed what
// the kernel gives all of TCP: it drops segments, and the tail that is measured is
// their retransmission, up to minutes of it.
func receiveBuffer(n int) int { return min(max(160<<20/n, 32<<10), 128<<10) }

// dialsAtOnce bounds the connections that are being made.
const dialsAtOnce = 64

// join gives every thread n more followers, and waits until all have their
// snapshot. The first follower of the first full threads is fully checked; stuck of
// them all stop reading after their snapshot.
func (c *crowd) join(ctx context.Context, threads []*thread, n, full, stuck int) error {
	checked, rest := c.gather(threads, n, full)
	for i := range min(stuck, len(rest)) {
		rest[len(rest)-1-i].stuck = true
	}
	before := c.opened.Load()
	// The checked ones come first: what they saw is what the others are held to.
	if err := c.connect(ctx, checked); err != nil {
		return err
	}
	if err := c.wait(ctx, "snapshots", func() bool { return c.opened.Load()-before+c.ended.Load() >= int64(len(checked)) }); err != nil {
		return err
	}
	if err := c.connect(ctx, rest); err != nil {
		return err
	}
	return c.wait(ctx, "snapshots", func() bool {
		return c.opened.Load()-before+c.ended.Load() >= int64(len(checked)+len(rest))
	})
}

// now is the receipt's moment in ns. What is said at a pace is stamped with the wall
// clock of the pace's begin and the time since: so is this, and a clock that is set
// meanwhile, as those of virtual machines are, moves neither.
func (c *crowd) now() int64 {
	if base := c.base.Load(); base != nil {
		return base.UnixNano() + int64(time.Since(*base))
	}
	return time.Now().UnixNano()
}

// elapsed is a clock in ns that nobody sets.
func elapsed() int64 { return int64(time.Since(began)) }

var began = time.Now()

// gather makes the followers, the fully checked ones apart.
func (c *crowd) gather(threads []*thread, n, full int) (checked, rest []*follower) {
	for i, th := range threads {
		for j := range n {
			f := &follower{crowd: c, thread: th}
			if j == 0 && i < full {
				th.check = newChecker(th, c.hash, c.rules.add)
				th.check.elides = c.elides
				if c.saw != nil {
					th.check.saw = func(o wire.Observation) { c.saw(th, o) }
				}
				f.check, th.checked = th.check, f
				checked = append(checked, f)
				continue
			}
			rest = append(rest, f)
		}
	}
	return checked, rest
}

// storm lets all followers of one idle thread join in the same instant. It answers
// how long it took until the last had its snapshot.
func (c *crowd) storm(ctx context.Context, th *thread, n int) (time.Duration, error) {
	checked, rest := c.gather([]*thread{th}, n, 1)
	began := time.Now()
	if err := c.connect(ctx, append(checked, rest...)); err != nil {
		return 0, err
	}
	err := c.wait(ctx, "snapshots", func() bool { return c.opened.Load()+c.ended.Load() >= int64(n) })
	return time.Unix(0, c.lastOpened.Load()).Sub(began), err
}

// same holds the snapshots of an idle thread's followers against each other, once
// they have left.
func (c *crowd) same() {
	first := c.followers[0]
	for _, f := range c.followers[1:] {
		if f.opened && (f.asOf != first.asOf || f.crc != first.crc || f.bytes != first.bytes) {
			f.breaks(RuleSameBytes, fmt.Sprintf("a snapshot of %d bytes as of %d", f.bytes, f.asOf), fmt.Sprintf("that of %d bytes as of %d, as another follower got", first.bytes, first.asOf))
		}
	}
}

// connect makes the connections and sends their requests.
func (c *crowd) connect(ctx context.Context, fs []*follower) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(dialsAtOnce)
	n := len(fs) + len(c.followers)
	for i, f := range fs {
		f.tally = c.tallies.of(i, f.check != nil)
		g.Go(func() error {
			conn, err := c.dial.dial(ctx)
			if err != nil {
				return err
			}
			size := receiveBuffer(n)
			if f.stuck {
				size = 4 << 10 // what it does not read should stay with the server
			}
			_ = conn.SetReadBuffer(size)
			_ = conn.SetDeadline(c.until)
			f.conn = conn
			_, err = fmt.Fprintf(conn, "GET /api/threads/%s/follow HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n\r\n", f.thread.id, c.host)
			return err
		})
	}
	err := g.Wait()
	for _, f := range fs {
		if f.conn == nil {
			continue
		}
		c.followers = append(c.followers, f)
		c.running.Go(f.run)
	}
	return err
}

// readers is how many followers read.
func (c *crowd) readers() (n int64) {
	for _, f := range c.followers {
		if !f.stuck {
			n++
		}
	}
	return n
}

var errLate = errors.New("the scenario's deadline has passed")

// wait polls until done, the deadline, or ctx ends. What is late is a broken rule.
func (c *crowd) wait(ctx context.Context, what string, done func() bool) error {
	if err := waitUntil(ctx, c.until, done); errors.Is(err, errLate) {
		c.rules.add(Violation{Rule: RuleInTime, Got: "not all " + what, Want: "all of them, in time"})
		return err
	} else if err != nil {
		return err
	}
	return nil
}

func waitUntil(ctx context.Context, until time.Time, done func() bool) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		if time.Now().After(until) {
			return errLate
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// runsSettled waits until every reading follower has seen so many more runs settle.
func (c *crowd) runsSettled(ctx context.Context, from, runs int64) error {
	want := c.readers() * runs
	return c.wait(ctx, "runs settled for every follower", func() bool {
		return c.settled.Load()-from >= want || c.ended.Load()-c.closedStuck.Load() > 0 && c.settled.Load()-from >= want-runs*c.ended.Load()
	})
}

// stay keeps a stuck follower from reading until it is released, and then reads what
// there is up to the end that the server should have made.
func (c *crowd) stay(f *follower) error {
	wait := time.NewTimer(time.Until(c.until))
	defer wait.Stop()
	select {
	case <-c.release:
	case <-wait.C:
	}
	_ = f.conn.SetReadDeadline(time.Now().Add(stuckGrace))
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	for {
		if _, err := f.conn.Read(*buf); err != nil {
			return err
		}
	}
}

// stuckGrace is how long a server that should have closed a follower may take to,
// once everything was published.
const stuckGrace = 2 * time.Second

// leave closes every follow and waits for the goroutines; then what each thread's
// followers saw is compared.
func (c *crowd) leave() {
	if c.leaving.Swap(true) {
		return
	}
	select {
	case <-c.release:
	default:
		close(c.release)
	}
	for _, f := range c.followers {
		_ = f.conn.SetReadDeadline(time.Unix(1, 0))
	}
	_ = c.running.Wait() // a follower's end is a rule's matter
	for _, f := range c.followers {
		f.agree()
	}
}

// dialer connects to one address. When the ports of one source address would run
// out it goes on with the next.
type dialer struct {
	addr string
	made atomic.Int64
}

// perSource is how many connections one source address makes, closed ones that the
// kernel still remembers among them.
const perSource = 20_000

func (d *dialer) dial(ctx context.Context) (*net.TCPConn, error) {
	nd := net.Dialer{Timeout: 10 * time.Second, KeepAlive: -1}
	if source := (d.made.Add(1) - 1) / perSource % 250; source > 0 {
		nd.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(source+1))}
	}
	conn, err := nd.DialContext(ctx, "tcp", d.addr)
	if err != nil {
		return nil, fmt.Errorf("a follower cannot connect: %w", err)
	}
	return conn.(*net.TCPConn), nil
}

// threads are n new ones, whose ids begin with prefix.
func threadsOf(agent, prefix string, n, size int) []*thread {
	out := make([]*thread, n)
	for i := range out {
		out[i] = &thread{id: agent + "." + prefix + "-" + strconv.Itoa(i), size: size}
	}
	return out
}
