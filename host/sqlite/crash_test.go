package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/host/sqlite"
	"github.com/troupe-run/troupe/wire"
)

// commitsIn names the folder in which this binary, run again, commits until it is
// killed, and prints "<thread> <head>" for every acknowledgement.
const commitsIn = "JOURNAL_TEST_COMMITS_IN"

const crashThreads = 20

func crashID(n int) wire.ThreadID { return wire.ThreadID{Type: "a", ID: fmt.Sprintf("x%02d", n)} }
func sinkID(n int) wire.ThreadID  { return wire.ThreadID{Type: "b", ID: fmt.Sprintf("x%02d", n)} }

func crashKey(n int, head int64) string { return fmt.Sprintf("%d/%d", n, head) }

// crashBatch is one whose parts say of each other what they are: the last of 1 to
// 3 events, a wake of its own in the place of the last one, one for another thread,
// the row and a receipt.
func crashBatch(n int, epoch uint64, head int64) host.Batch {
	size := 1 + (int(head)+1+n)%3
	id := crashID(n)
	b := host.Batch{Thread: id, Epoch: epoch, Expected: head, Take: []string{fmt.Sprint(head)}}
	for i := range size {
		b.Events = append(b.Events, host.Event{
			Seq: head + 1 + int64(i), At: time.Unix(1, 0), Type: "message", Payload: fmt.Appendf(nil, "%d of %d %0200d", i+1, size, n),
		})
	}
	head += int64(size)
	b.Row = &host.Row{Summary: wire.Summary{ID: id.String(), Type: id.Type, Status: wire.StatusIdle, HeadSeq: head}}
	b.Put = []host.Wake{{MessageID: fmt.Sprint(head)}}
	b.Send = []host.Delivery{{To: sinkID(n), Wake: host.Wake{MessageID: fmt.Sprint(head)}}}
	b.Receipt = &host.Receipt{Key: crashKey(n, head), Answer: fmt.Append(nil, head), Expires: time.Now().Add(24 * time.Hour)}
	return b
}

func commitForEver(dir string) {
	j, err := sqlite.Open(dir, sqlite.Options{})
	if err != nil {
		panic(err)
	}
	var printing sync.Mutex
	for n := range crashThreads {
		o, err := j.Open(context.Background(), crashID(n))
		if err != nil {
			panic(err)
		}
		head := int64(-1)
		if o.Exists {
			head = o.Row.Summary.HeadSeq
		}
		var next func()
		next = func() {
			b := crashBatch(n, o.Epoch, head)
			head += int64(len(b.Events))
			acked := head
			j.Commit(b, func(err error) {
				if err != nil {
					panic(err)
				}
				printing.Lock()
				_, _ = fmt.Fprintln(os.Stdout, n, acked) // a broken pipe ends the process
				printing.Unlock()
				next()
			})
		}
		next()
	}
	select {}
}

// TestKilledAtAnyInstant kills a process that commits, again and again in one
// folder. What it had acknowledged is there after each, whatever is there is
// there whole, and no seq is missing.
func TestKilledAtAnyInstant(t *testing.T) {
	kills := 50
	if testing.Short() {
		kills = 10
	}
	dir := t.TempDir()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var before [crashThreads]int64
	for n := range before {
		before[n] = -1
	}
	commits := 0
	for range kills {
		acked := killed(t, dir, time.Duration(random.IntN(120_000))*time.Microsecond)
		for n, head := range before {
			acked[n] = max(acked[n], head)
		}
		j := open(t, dir, sqlite.Options{})
		for n := range crashThreads {
			head, whole := survived(t, j, n, before[n])
			if head < acked[n] {
				t.Fatalf("thread %d was acknowledged to %d, and is at %d", n, acked[n], head)
			}
			before[n], commits = head, commits+whole
		}
		if err := j.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			return
		}
	}
	if t.Logf("%d commits, %d kills", commits, kills); commits < kills {
		t.Errorf("only %d commits survived: nothing was tested", commits)
	}
}

// killed runs the process for a while, and answers what it acknowledged.
func killed(t *testing.T, dir string, after time.Duration) (acked [crashThreads]int64) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), commitsIn+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(after+10*time.Millisecond, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	for n := range acked {
		acked[n] = -1
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var n int
		var head int64
		// The last line may have been cut: what is left of its number is a smaller one.
		if _, err := fmt.Sscanf(lines.Text(), "%d %d", &n, &head); err == nil && head > acked[n] {
			acked[n] = head
		}
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.Exited() {
		t.Fatalf("the process was not killed: %v", err)
	}
	return acked
}

// survived checks what is recorded of a thread after from, and answers its head
// and how many commits that is.
func survived(t *testing.T, j *sqlite.Journal, n int, from int64) (head int64, commits int) {
	t.Helper()
	o, err := j.Open(t.Context(), crashID(n))
	if err != nil {
		t.Fatal(err)
	}
	sink, err := j.Open(t.Context(), sinkID(n))
	if err != nil {
		t.Fatal(err)
	}
	sent := map[string]bool{}
	for _, w := range sink.Wakes {
		sent[w.MessageID] = true
	}
	head = from
	part, size := 0, 0
	if err := j.Read(t.Context(), crashID(n), from+1, 1<<40, func(e host.Event) bool {
		if e.Seq != head+1 {
			t.Errorf("thread %d: event %d stands at %d", n, e.Seq, head+1)
		}
		head = e.Seq
		before := part
		if _, err := fmt.Sscanf(string(e.Payload), "%d of %d", &part, &size); err != nil || part != before+1 {
			t.Errorf("thread %d: event %d is %q", n, e.Seq, e.Payload)
		}
		if part == size {
			part, commits = 0, commits+1
			r, ok, err := j.Receipt(t.Context(), crashKey(n, head))
			if err != nil || !ok || string(r.Answer) != fmt.Sprint(head) || !sent[fmt.Sprint(head)] {
				t.Errorf("thread %d: the commit at %d lacks its receipt or what it sent: %v", n, head, err)
			}
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	switch {
	case part != 0:
		t.Errorf("thread %d: half a commit is there", n)
	case !o.Exists:
		if head != -1 || len(sink.Wakes) > 0 {
			t.Errorf("thread %d: %d events and %d wakes without a row", n, head+1, len(sink.Wakes))
		}
	case o.Row.Summary.HeadSeq != head || len(o.Wakes) != 1 || o.Wakes[0].MessageID != fmt.Sprint(head) || sent[fmt.Sprint(head+1)]:
		t.Errorf("thread %d at %d: its row says %d, its wakes are %v", n, head, o.Row.Summary.HeadSeq, o.Wakes)
	}
	return head, commits
}
