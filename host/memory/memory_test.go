package memory_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/host/hosttest"
	"github.com/troupe-run/troupe/host/memory"
	"github.com/troupe-run/troupe/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	hosttest.RunJournal(t, func(_ *testing.T, s hosttest.JournalSettings) host.Journal {
		return memory.New(memory.Options{Now: s.Now, MaxDeltas: s.MaxDeltas})
	})
}

func TestContractWithLaggingAcknowledgements(t *testing.T) {
	for _, lag := range []int{1, 3} {
		hosttest.RunJournal(t, func(_ *testing.T, s hosttest.JournalSettings) host.Journal {
			return memory.New(memory.Options{Now: s.Now, MaxDeltas: s.MaxDeltas, Lag: lag, LagTimeout: time.Millisecond})
		})
	}
}

var id = wire.ThreadID{Type: "a", ID: "x"}

func open(t *testing.T, j *memory.Journal) uint64 {
	t.Helper()
	o, err := j.Open(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return o.Epoch
}

func batch(epoch uint64, seq int64, payload int) host.Batch {
	return host.Batch{
		Thread: id, Epoch: epoch, Expected: seq - 1, Row: &host.Row{},
		Events: []host.Event{{Seq: seq, Type: "message", Payload: make([]byte, payload)}},
	}
}

// TestLagWithholdsAcknowledgements in virtual time: a commit is acknowledged once
// Lag later ones are applied, or when nothing follows for LagTimeout.
func TestLagWithholdsAcknowledgements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := memory.New(memory.Options{Lag: 2, LagTimeout: time.Minute})
		defer func() { _ = j.Close() }()
		epoch := open(t, j)
		var acks atomic.Int64
		for seq := range int64(5) {
			j.Commit(batch(epoch, seq, 1), func(err error) {
				if err != nil {
					t.Error(err)
				}
				acks.Add(1)
			})
			synctest.Wait()
			if acked, want := acks.Load(), max(0, seq-1); acked != want {
				t.Fatalf("after %d commits %d are acknowledged, want %d", seq+1, acked, want)
			}
		}
		time.Sleep(time.Minute - time.Nanosecond)
		synctest.Wait()
		if acked := acks.Load(); acked != 3 {
			t.Fatalf("%d are acknowledged before the timeout, want 3", acked)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if acked := acks.Load(); acked != 5 {
			t.Fatalf("%d are acknowledged after the timeout, want 5", acked)
		}
	})
}

func TestCloseAcknowledgesWhatLags(t *testing.T) {
	j := memory.New(memory.Options{Lag: 10, LagTimeout: time.Hour})
	epoch := open(t, j)
	acked := 0
	for seq := range int64(3) {
		j.Commit(batch(epoch, seq, 1), func(error) { acked++ })
	}
	if err := j.Close(); err != nil || acked != 3 {
		t.Fatalf("%d are acknowledged: %v", acked, err)
	}
}

// TestFailRefusesOneCommit and what was accepted behind it; the next writer goes on.
func TestFailRefusesOneCommit(t *testing.T) {
	broken := errors.New("the disk is full")
	fail := false
	j := memory.New(memory.Options{Fail: func(host.Batch) error {
		if fail {
			fail = false
			return broken
		}
		return nil
	}})
	defer func() { _ = j.Close() }()
	commit := func(b host.Batch) error {
		done := make(chan error, 1)
		j.Commit(b, func(err error) { done <- err })
		return <-done
	}
	epoch := open(t, j)
	if err := commit(batch(epoch, 0, 1)); err != nil {
		t.Fatal(err)
	}
	fail = true
	if err := commit(batch(epoch, 1, 1)); !errors.Is(err, broken) {
		t.Fatalf("got %v", err)
	}
	if f := wire.AsFailure(commit(batch(epoch, 1, 1))); f == nil || f.Code != wire.CodeConflict {
		t.Fatalf("got %v", f)
	}
	if err := commit(batch(open(t, j), 1, 1)); err != nil {
		t.Fatal(err)
	}
}

// TestIntakeIsBounded: over the bound a commit is refused, never blocked, on the
// committer's goroutine and in order.
func TestIntakeIsBounded(t *testing.T) {
	hold, held := make(chan struct{}), make(chan struct{}, 1)
	j := memory.New(memory.Options{MaxPending: 4096, Fail: func(host.Batch) error {
		select {
		case held <- struct{}{}:
		default:
		}
		<-hold
		return nil
	}})
	defer func() { _ = j.Close() }()
	epoch := open(t, j)
	var acks []error
	done := make(chan struct{})
	const commits = 6
	ack := func(err error) {
		if acks = append(acks, err); len(acks) == commits {
			close(done)
		}
	}
	j.Commit(batch(epoch, 0, 1), ack)
	<-held // the committer has taken it: the queue is empty
	for seq := int64(1); seq < commits; seq++ {
		j.Commit(batch(epoch, seq, 1000), ack)
	}
	close(hold)
	<-done
	for i, err := range acks {
		want := wire.Code("")
		switch {
		case i == 3:
			want = wire.CodeLimit
		case i > 3:
			want = wire.CodeConflict // it follows a refusal
		}
		var got wire.Code
		if f := wire.AsFailure(err); f != nil {
			got = f.Code
		}
		if got != want {
			t.Errorf("commit %d: %v, want %q", i, err, want)
		}
	}
}

// TestAcknowledgementThatPanics is its caller's bug: the guard hears of it and
// the journal goes on.
func TestAcknowledgementThatPanics(t *testing.T) {
	caught := make(chan any, 1)
	j := memory.New(memory.Options{Go: func(_ string, fn func()) {
		go func() {
			defer func() {
				if v := recover(); v != nil {
					caught <- v
				}
			}()
			fn()
		}()
	}})
	defer func() { _ = j.Close() }()
	epoch := open(t, j)
	j.Commit(batch(epoch, 0, 1), func(error) { panic("a bug") })
	if v := <-caught; v != "a bug" {
		t.Fatalf("caught %v", v)
	}
	done := make(chan error, 1)
	j.Commit(batch(epoch, 1, 1), func(err error) { done <- err })
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestOpeningUnknownThreadsIsBounded: a writer that opened long before many
// others is fenced, and writes once it has opened again.
func TestOpeningUnknownThreadsIsBounded(t *testing.T) {
	j := memory.New(memory.Options{})
	defer func() { _ = j.Close() }()
	epoch := open(t, j)
	for range 17_000 {
		other := wire.ThreadID{Type: "a", ID: wire.NewID(time.Now(), counter{})}
		if _, err := j.Open(t.Context(), other); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error, 1)
	j.Commit(batch(epoch, 0, 1), func(err error) { done <- err })
	if f := wire.AsFailure(<-done); f == nil || f.Code != wire.CodeConflict {
		t.Fatalf("got %v", f)
	}
	j.Commit(batch(open(t, j), 0, 1), func(err error) { done <- err })
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

var count uint64

// counter is entropy that never repeats.
type counter struct{}

func (counter) Read(b []byte) (int, error) {
	count++
	clear(b)
	for i := range min(8, len(b)) {
		b[i] = byte(count >> (8 * i))
	}
	return len(b), nil
}
