package actors

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-run/troupe/wire"
)

// roomy says that every byte of the room for snapshots has been given back.
func (r *rig) roomy() bool {
	room := r.host.room
	room.mu.Lock()
	defer room.mu.Unlock()
	return r.host.meter.snapshotBytes.Load() == 0 && len(room.threads) == 0
}

// TestFollowersThatJoinTogetherShareOneSnapshot: it is encoded once, whether the
// thread is quiet or speaks while they join, and each of them sees the thread
// exactly; the next to come after they have written it gets one of its own.
func TestFollowersThatJoinTogetherShareOneSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		first := r.follow("scripted.a")
		r.prompt("scripted.a", "say:hello ; slow:100")
		saw(first, "text", func(*wire.TextDelta) bool { return true })
		before := r.host.meter.encodings.Load()
		var joined []*Follower
		for range 50 {
			f, err := r.c.Follow(context.Background(), "scripted.a", FollowOptions{})
			if err != nil {
				t.Fatal(err)
			}
			joined = append(joined, f)
			wait(20) // the thread goes on meanwhile
		}
		var want []byte
		for i, f := range joined {
			b, err := f.Next(time.Second)
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				want = b
			} else if &b[0] != &want[0] {
				t.Fatalf("follower %d has a snapshot of its own", i)
			}
		}
		if n := r.host.meter.encodings.Load() - before; n != 1 {
			t.Errorf("%d encodings, want 1", n)
		}
		first.settled(1)
		final := fold(first.all())
		for i, f := range joined {
			frames := decode(t, want)
			for {
				b, err := f.Next(time.Millisecond)
				if err != nil {
					t.Fatal(err)
				}
				if b == nil {
					break
				}
				frames = append(frames, decode(t, b)...)
			}
			sound(t, frames)
			if have := fold(frames); !same(have, final) {
				t.Fatalf("follower %d ends with another thread", i)
			}
			f.Close()
		}
		r.follow("scripted.a")
		if n := r.host.meter.encodings.Load() - before; n != 2 {
			t.Errorf("%d encodings, want a second for who comes later", n)
		}
		if !r.roomy() {
			t.Error("room for snapshots was not given back")
		}
	})
}

// TestAnOpeningThatIsTooOldIsNotShared: what was told since would be more to send
// than a snapshot, and would hold the log.
func TestAnOpeningThatIsTooOldIsNotShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _ := newTestFeed(64 << 20)
		a := attached(f, FollowOptions{})
		mustPublish(t, f, textFrame(1, "x"))
		b := attached(f, FollowOptions{})
		if a.opening.Load() != b.opening.Load() {
			t.Error("one frame later it should be shared")
		}
		alone := newFollower(nil, wire.ThreadID{}, FollowOptions{})
		f.attach(alone, &pin{}, true)
		partial := attached(f, FollowOptions{Partials: true})
		if o := a.opening.Load(); alone.opening.Load() == o || partial.opening.Load() == o {
			t.Error("one that is alone, or wants partials, shares nothing")
		}
		mustPublish(t, f, textFrame(2, strings.Repeat("x", shareFrom)))
		if f.opening != nil {
			t.Error("the feed holds its log for an opening that nobody will join")
		}
		if c := attached(f, FollowOptions{}); c.opening.Load() == a.opening.Load() {
			t.Error("it is shared beyond its bound")
		}
		f.close(nil)
	})
}

// Followers that come and go at random instants, many of them before their snapshot
// was made or while it was waited for, leave nothing behind.
func TestRoomForSnapshotsIsAlwaysGivenBack(t *testing.T) {
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	r := newRig(t, rigOptions{real: true, limits: Limits{SnapshotBytes: 3000, Snapshots: 1}})
	for i := range 4 {
		r.prompt(id(i), "say:"+strings.Repeat("word ", 100*i)+" ; slow:60")
	}
	var wg sync.WaitGroup
	for range 400 {
		in, read, stay := rnd.IntN(4), rnd.IntN(3), time.Duration(rnd.IntN(4))*time.Millisecond
		wg.Go(func() {
			f, err := r.c.Follow(context.Background(), id(in), FollowOptions{})
			if err != nil {
				t.Error(err)
				return
			}
			left := time.AfterFunc(stay, f.Close)
			defer left.Stop()
			for range read {
				if _, err := f.Next(stay); err != nil {
					break
				}
			}
			f.Close()
		})
	}
	wg.Wait()
	for i := range 4 { // a history takes room too
		h, err := r.c.History(context.Background(), id(i))
		if err != nil {
			t.Fatal(err)
		}
		if r.roomy() {
			t.Error("a history that is open takes no room")
		}
		h.Close()
		h.Close()
	}
	until(t, fmt.Sprintf("the room to be given back (seed %d)", seed), r.roomy)
}

// TestWhoDoesNotReadKeepsNoOtherThreadWaiting: histories of one long thread that are
// never read fill its part of the room and no more.
func TestWhoDoesNotReadKeepsNoOtherThreadWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		v := r.follow("scripted.long")
		r.prompt("scripted.long", "burst:80,50000")
		v.settled(1)
		v.f.Close()
		r.prompt("scripted.short", "say:x")
		for range 16 {
			go func() {
				h, err := r.c.History(context.Background(), "scripted.long")
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Minute) // it is not read
				h.Close()
			}()
		}
		synctest.Wait()
		if n, most := r.host.meter.snapshotBytes.Load(), int64(r.host.limits.SnapshotBytes); n > most {
			t.Errorf("%d bytes are being sent, at most %d", n, most)
		}
		began := time.Now()
		if _, err := r.history("scripted.short"); err != nil {
			t.Error(err)
		}
		other := r.follow("scripted.short")
		r.prompt("scripted.middle", "burst:3,300000")
		wait(100)
		if _, err := r.history("scripted.middle"); err != nil {
			t.Error(err)
		}
		other.f.Close()
		if took := time.Since(began); took > time.Second {
			t.Errorf("other threads waited %v", took)
		}
		wait(600_000)
		if !r.roomy() {
			t.Error("the room was not given back")
		}
	})
}

func id(i int) string { return fmt.Sprintf("scripted.%c", 'a'+i) }

// fold is the thread that the frames tell.
func fold(frames []wire.Frame) *wire.Snapshot {
	out := frames[0].(*wire.Snapshot)
	for _, f := range frames[1:] {
		out = wire.Fold(out, f)
	}
	return out
}

// decode reads whole SSE events.
func decode(t *testing.T, b []byte) []wire.Frame {
	t.Helper()
	var out []wire.Frame
	for event := range bytes.SplitSeq(bytes.TrimSuffix(b, []byte("\n\n")), []byte("\n\n")) {
		fr, err := wire.DecodeFrame(bytes.TrimPrefix(event, []byte("data: ")))
		if err != nil {
			t.Fatalf("%q: %v", event, err)
		}
		out = append(out, fr)
	}
	return out
}
