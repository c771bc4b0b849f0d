package load

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/troupe-run/troupe/wire"
)

func TestTheRawLogGivesEveryFollowerEveryByteFromWhereItJoined(t *testing.T) {
	l := newRawLog()
	var g errgroup.Group
	const followers, frames = 2*directly + 1, 3000 // with wakers, over several chunks
	frame := []byte(strings.Repeat("x", 99) + "\n")
	got := make([]chan int, followers)
	for i := range got {
		ours, theirs := net.Pipe()
		t.Cleanup(func() { ours.Close() })
		f := l.attach(theirs, &g)
		g.Go(f.serve)
		got[i] = make(chan int, 1)
		g.Go(func() error {
			n, err := io.CopyN(io.Discard, ours, int64(frames*len(frame)))
			got[i] <- int(n)
			return err
		})
	}
	for range frames {
		l.append(frame, -1, time.Time{})
		l.notify()
	}
	for i := range got {
		select {
		case n := <-got[i]:
			if n != frames*len(frame) {
				t.Fatalf("follower %d has %d bytes, want %d", i, n, frames*len(frame))
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("follower %d has not got everything", i)
		}
	}
}

func TestTheRawLogSetsTheTimeInPlace(t *testing.T) {
	event := encoded(t, []said{text(1, delta(0))})
	at := stampOf(event)
	if at < 0 || event[at+stampLen] != ' ' {
		t.Fatalf("the time is at %d of %q", at, event)
	}
	if got := stampOf(encoded(t, []said{text(1, "no time")})); got != -1 {
		t.Errorf("a text without a time has one at %d", got)
	}
	l := newRawLog()
	due := time.Unix(1_700_000_000, 123)
	l.append(event, at, due)
	b := (&rawFollower{chunk: l.last}).due()
	if got := string(b[at : at+stampLen]); got != "1700000000000000123" || len(b) != len(event) {
		t.Errorf("it became %q", b)
	}
}

// The baseline passes the same check as a server, at its pace.
func TestTheBaselinePassesTheCheck(t *testing.T) {
	run := goodRun()
	rec, err := newRecording(run[0].frame.(*wire.Snapshot))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range run[1:] {
		rec.add(encoded(t, []said{s}))
	}
	in, feed := io.Pipe()
	out, said := io.Pipe()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var g errgroup.Group
	g.Go(func() error { return ServeBaseline(ctx, in, said) })
	line, err := bufio.NewReader(out).ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), "baseline: serving http://")
	if err != nil || !ok {
		t.Fatalf("%q, %v", line, err)
	}
	head, err := json.Marshal(feedHead{Snapshot: len(rec.snapshot), Frames: len(rec.lengths), Bytes: len(rec.bytes), Threads: 2, Rate: 100})
	if err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	fmt.Fprintf(&all, "%s\n", head)
	for _, n := range rec.lengths {
		_ = binary.Write(&all, binary.LittleEndian, n)
	}
	all.Write(rec.snapshot)
	all.Write(rec.bytes)
	if _, err := feed.Write(all.Bytes()); err != nil {
		t.Fatal(err)
	}
	c := newCrowd(&dialer{addr: addr}, &violations{scenario: "baseline"}, time.Now().Add(20*time.Second))
	threads := threadsOf(agent, "raw", 2, testSize)
	for _, th := range threads {
		th.frames.Store(3)
	}
	if err := c.join(ctx, threads, 5, 2, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := feed.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	if err := c.runsSettled(ctx, 0, 1); err != nil {
		t.Fatal(err)
	}
	c.leave()
	if kept, n := c.rules.all(); n > 0 {
		t.Errorf("broken: %v", kept)
	}
	s := c.tallies.sum()
	if s.deliveries != 90 || s.latency.TotalCount() != 30 {
		t.Errorf("%d observations, %d timed; want 90 and 30", s.deliveries, s.latency.TotalCount())
	}
	if s.publishing < 20*time.Millisecond {
		t.Errorf("three deltas at 100 a second were published in %v", s.publishing)
	}
	feed.Close()
}
