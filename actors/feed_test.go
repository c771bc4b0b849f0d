package actors

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-run/troupe/wire"
)

func plainGuard(_ string, _ func(string, any, []byte), fn func()) { go fn() }

func textFrame(seq uint64, text string) wire.Frame {
	return &wire.ObservationFrame{Seq: seq, Observation: &wire.TextDelta{MessageID: "m", Delta: text}}
}

func partialFrame(seq uint64, call, text string, complete bool) wire.Frame {
	return &wire.ObservationFrame{Seq: seq, Observation: &wire.ToolResult{ToolCallID: call, ToolName: "t", Text: text, Complete: complete}}
}

// attached is a follower that has had its snapshot.
func attached(f *feed, o FollowOptions) *Follower {
	fo := newFollower(nil, wire.ThreadID{}, o)
	fo.opened = true
	f.attach(fo, &pin{}, false)
	return fo
}

// drain reads what is due now.
func drain(t *testing.T, fo *Follower) string {
	t.Helper()
	var out bytes.Buffer
	for {
		b, err := fo.Next(time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if b == nil {
			return out.String()
		}
		out.Write(b)
	}
}

func mustPublish(t testing.TB, f *feed, fr wire.Frame) {
	t.Helper()
	if err := f.publish(fr); err != nil {
		t.Fatal(err)
	}
}

func newTestFeed(lag int) (*feed, *sentTail) {
	sent := &sentTail{t: tail{max: 100}}
	return newFeed(feedBounds{lag: uint64(lag), stall: uint64(lag), grace: time.Second}, sent, newMeter(), plainGuard), sent
}

func TestFeedGivesEveryFollowerTheSameBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _ := newTestFeed(64 << 20)
		var want bytes.Buffer
		var all []*Follower
		for range 3 * directWake { // above the bound where wakers take over
			all = append(all, attached(f, FollowOptions{}))
		}
		var wg sync.WaitGroup
		got := make([]bytes.Buffer, len(all))
		for i, fo := range all {
			wg.Go(func() {
				for {
					b, err := fo.Next(time.Hour)
					if err != nil {
						return
					}
					got[i].Write(b)
				}
			})
		}
		for i := range 3000 {
			fr := textFrame(uint64(i+1), strings.Repeat("x", i%700))
			mustPublish(t, f, fr)
			b, _ := wire.AppendSSE(nil, fr)
			want.Write(b)
		}
		big := textFrame(3001, strings.Repeat("y", 3*maxChunk))
		mustPublish(t, f, big)
		b, _ := wire.AppendSSE(nil, big)
		want.Write(b)
		synctest.Wait()
		f.close(&wire.Failure{Code: wire.CodeUnavailable})
		wg.Wait()
		for i := range got {
			if !bytes.Equal(got[i].Bytes(), want.Bytes()) {
				t.Fatalf("follower %d has %d bytes, want %d", i, got[i].Len(), want.Len())
			}
		}
	})
}

// TestRule_PartialToolResultsDoNotCross: a partial result is numbered and not
// written; one follower may ask for them, and the newest of each call wins.
func TestRule_PartialToolResultsDoNotCross(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, sent := newTestFeed(1 << 20)
		plain := attached(f, FollowOptions{})
		partials := attached(f, FollowOptions{Partials: true})
		mustPublish(t, f, partialFrame(1, "c", "a", false))
		mustPublish(t, f, textFrame(2, "between"))
		mustPublish(t, f, partialFrame(3, "c", "ab", false))
		mustPublish(t, f, partialFrame(4, "d", "other", false))
		have := drain(t, partials)
		if strings.Contains(have, `"seq":1,`) || strings.Count(have, "data: ") != 3 {
			t.Errorf("a lagging follower should have the newest of each call only:\n%s", have)
		}
		mustPublish(t, f, partialFrame(5, "c", "abc", false))
		if have = drain(t, partials); !strings.Contains(have, `"seq":5,`) {
			t.Errorf("no partial 5 in\n%s", have)
		}
		mustPublish(t, f, partialFrame(6, "c", "abcd", true))
		have = drain(t, plain)
		if strings.Count(have, "data: ") != 2 || !strings.Contains(have, `"seq":2,`) || !strings.Contains(have, `"seq":6,`) {
			t.Errorf("want frames 2 and 6, have\n%s", have)
		}
		drain(t, partials)
		for _, r := range sent.list() {
			if r.Name == "tool-result" && r.Count != 1 {
				t.Errorf("the sent tail claims %d results", r.Count)
			}
		}
		f.close(nil)
	})
}

func TestSentTailCountsWhatCrossedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, sent := newTestFeed(1 << 20)
		a, b := attached(f, FollowOptions{}), attached(f, FollowOptions{})
		for i := range 10 {
			mustPublish(t, f, textFrame(uint64(i+1), "x"))
		}
		mustPublish(t, f, &wire.Status{Live: true})
		if len(sent.list()) != 0 {
			t.Error("rows before anything was sent")
		}
		drain(t, a)
		drain(t, b)
		want := []wire.TailRow{
			{Type: "observation", Name: "text-delta", Provenance: "sent", Count: 10},
			{Type: "status", Provenance: "sent", Count: 1},
		}
		if have := sent.list(); fmt.Sprint(have) != fmt.Sprint(want) {
			t.Errorf("have %v, want %v", have, want)
		}
		f.close(nil)
	})
}

// TestFollowerThatLagsIsEnded: at its limit in bytes, its connection told once,
// and nobody else is touched.
func TestFollowerThatLagsIsEnded(t *testing.T) {
	for _, followers := range []int{2, 2 * directWake} {
		synctest.Test(t, func(t *testing.T) {
			f, _ := newTestFeed(10_000)
			told := 0
			stuck := attached(f, FollowOptions{Ended: func() { told++ }})
			stuck.waiting.Store(false)
			var others []*Follower
			for range followers - 1 {
				others = append(others, attached(f, FollowOptions{}))
			}
			for i := range 120 {
				mustPublish(t, f, textFrame(uint64(i+1), strings.Repeat("z", 50)))
				for _, o := range others {
					drain(t, o)
				}
				synctest.Wait()
			}
			if told != 1 {
				t.Errorf("%d followers: the stuck one was told %d times", followers, told)
			}
			if _, err := stuck.Next(time.Hour); err == nil {
				for err == nil { // what it still gets is whole; then it learns
					_, err = stuck.Next(time.Hour)
				}
			}
			for i, o := range others {
				select {
				case <-o.ended:
					t.Errorf("follower %d was ended too", i)
				default:
				}
			}
			f.close(nil)
		})
	}
}

// A follow that has ended says so however often it is asked.
func TestAnEndedFollowStaysEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _ := newTestFeed(1 << 20)
		fo := attached(f, FollowOptions{})
		drain(t, fo)
		f.close(&wire.Failure{Code: wire.CodeUnavailable})
		for range 3 {
			if _, err := fo.Next(time.Hour); err == nil {
				t.Error("it has not ended")
			}
		}
	})
}

func TestDetachLeavesTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _ := newTestFeed(1 << 20)
		var all []*Follower
		for range 5 {
			all = append(all, attached(f, FollowOptions{}))
		}
		for _, i := range []int{2, 0, 4} {
			f.detach(all[i])
			if f.has(all[i]) {
				t.Errorf("%d is still there", i)
			}
		}
		mustPublish(t, f, textFrame(1, "x"))
		for _, i := range []int{1, 3} {
			if have := drain(t, all[i]); strings.Count(have, "data: ") != 1 {
				t.Errorf("%d got %q", i, have)
			}
		}
		f.close(nil)
	})
}

// TestNothingIsAllocatedPerFollowerPerFrame: neither where the thread publishes nor
// where a follower takes what is due.
func TestNothingIsAllocatedPerFollowerPerFrame(t *testing.T) {
	const frames, followers = 500, 200
	count := func(n int) float64 {
		f, _ := newTestFeed(1 << 40)
		defer f.close(nil)
		var all []*Follower
		for range n {
			all = append(all, attached(f, FollowOptions{}))
		}
		fr := textFrame(1, strings.Repeat("x", 200))
		return testing.AllocsPerRun(5, func() {
			for range frames {
				mustPublish(t, f, fr)
				for _, fo := range all {
					if b, err := fo.Next(time.Hour); b == nil || err != nil {
						t.Fatalf("nothing is due: %v", err)
					}
				}
			}
		})
	}
	one, many := count(1), count(followers)
	if perFrame := (many - one) / frames; perFrame > 0.1 { // a hundredth each would be two
		t.Errorf("%d followers: %.2f allocations a frame more than for one", followers, perFrame)
	}
}

// BenchmarkPublish says what a frame costs the thread, by followers; nothing is
// allocated per follower.
func BenchmarkPublish(b *testing.B) {
	for _, n := range []int{1, 64, 5000} {
		b.Run(fmt.Sprintf("followers=%d", n), func(b *testing.B) {
			f, _ := newTestFeed(1 << 40)
			for range n {
				attached(f, FollowOptions{})
			}
			fr := textFrame(1, strings.Repeat("x", 200))
			b.ReportAllocs()
			for b.Loop() {
				mustPublish(b, f, fr)
				if f.total.Load()%(64<<20) < 300 { // the test has no reader that would let go
					b.StopTimer()
					f.unsent, f.first = nil, 0
					for _, fo := range f.followers {
						fo.chunk, fo.off = f.last, 0
					}
					b.StartTimer()
				}
			}
			f.close(nil)
		})
	}
}
