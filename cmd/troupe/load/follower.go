package load

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/maphash"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// thread is one thread under load.
type thread struct {
	id   string
	size int // bytes of a paced delta; 0 where the runs say other things too

	frames   atomic.Int64 // paced deltas of each run; 0 when a run may be cut
	prompted atomic.Int64 // elapsed ns; taken by whoever gets the first delta after it
	check    *checker     // what its fully checked follower saw; nil without one
	checked  *follower    // that follower
	asked    chan string  // the ids of its questions, where a scenario answers them
}

// look calls fn while the thread's fully checked follower stands still.
func (th *thread) look(fn func(*checker)) {
	th.checked.tally.mu.Lock()
	defer th.checked.tally.mu.Unlock()
	fn(th.check)
}

// follower is one follow. Its goroutine owns it until the crowd has left. It holds no
// buffer while it waits: bytes are read into one of a few shared ones once there are
// some.
type follower struct {
	crowd  *crowd
	thread *thread
	check  *checker // nil for most
	tally  *tally
	conn   *net.TCPConn
	stuck  bool // stops reading after its snapshot

	carry    []byte // the begin of an event that is not all there yet
	headers  bool   // the response's head has been read
	opened   bool   // the snapshot has been read
	skipping bool   // inside a snapshot
	broken   bool   // no further rule is judged
	ended    bool
	goodbye  string // what the server said last
	bytes    int64  // of the snapshot
	crc      uint32
	asOf     uint64
	seq      uint64
	sum      uint64 // of the hashes of the observations' events
	next     uint64 // the index due
	settled  uint64 // the last generation that settled
}

// readSize is how much is read at once; a server writes at most that.
const readSize = 64 << 10

var (
	buffers    = sync.Pool{New: func() any { b := make([]byte, readSize); return &b }}
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	eventEnd   = []byte("\n\n")
)

// headLen is how much of a snapshot has to be there to read its asOfSeq.
const headLen = 256

// run reads until the follow ends.
func (f *follower) run() error {
	raw, err := f.conn.SyscallConn()
	if err != nil {
		return err
	}
	var end error
	err = raw.Read(func(fd uintptr) bool {
		for {
			var again bool
			again, end = f.readOnce(int(fd))
			if end != nil || f.stuck && f.opened {
				return true
			}
			if !again {
				return false
			}
		}
	})
	if err == nil {
		err = end
	}
	if err == nil { // it is stuck from here on
		err = f.crowd.stay(f)
	}
	f.finish(err)
	return nil
}

// readOnce says whether there may be more at once.
func (f *follower) readOnce(fd int) (again bool, err error) {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	n, err := unix.Read(fd, *buf)
	switch {
	case errors.Is(err, unix.EAGAIN):
		return false, nil
	case errors.Is(err, unix.EINTR):
		return true, nil
	case err != nil:
		return false, err
	case n == 0:
		return false, io.EOF
	}
	now := f.crowd.now()
	f.tally.mu.Lock()
	defer f.tally.mu.Unlock()
	f.tally.bytes += int64(n)
	f.take((*buf)[:n], now)
	return true, nil
}

// take splits what was read into events.
func (f *follower) take(b []byte, now int64) {
	if !f.headers {
		f.carry = append(f.carry, b...)
		i := bytes.Index(f.carry, []byte("\r\n\r\n"))
		if i < 0 {
			return
		}
		head, rest := f.carry[:i], f.carry[i+4:]
		f.headers, f.carry = true, nil
		if !bytes.HasPrefix(head, []byte("HTTP/1.1 200 ")) || !bytes.Contains(head, []byte("text/event-stream")) {
			f.breaks(RuleSnapshot, fmt.Sprintf("%.120q", append(head[:len(head):len(head)], rest...)), "a stream of events")
		}
		b = rest
	}
	for len(b) > 0 {
		if f.skipping {
			b = f.skip(b, now)
			continue
		}
		if len(f.carry) == 0 {
			i := bytes.Index(b, eventEnd)
			if i >= 0 {
				f.event(b[:i+2], now)
				b = b[i+2:]
				continue
			}
			f.carry = append(f.carry, b...)
			b = nil
		} else {
			from := max(len(f.carry)-1, 0)
			i, taken := bytes.Index(b, eventEnd), len(b)
			if f.carry[from] == '\n' && b[0] == '\n' {
				taken = 1
			} else if i >= 0 {
				taken = i + 2
			}
			f.carry = append(f.carry, b[:taken]...)
			b = b[taken:]
			if bytes.HasSuffix(f.carry, eventEnd) {
				event := f.carry
				f.event(event, now)
				if f.carry = event[:0]; cap(event) > readSize {
					f.carry = nil
				}
			}
		}
		f.skipLarge()
	}
}

// skipLarge begins to skip a snapshot of which only the head is looked at: a
// thousand followers cannot hold 5 MB each.
func (f *follower) skipLarge() {
	if f.check != nil || len(f.carry) < headLen || !hasPrefix(f.carry, snapshotHead) {
		return
	}
	f.snapshot(f.carry)
	f.skipping, f.crc, f.bytes = true, crc32.Update(0, castagnoli, f.carry), int64(len(f.carry))
	f.carry = append(make([]byte, 0, 1), f.carry[len(f.carry)-1])
}

// skip looks for the snapshot's end.
func (f *follower) skip(b []byte, now int64) (rest []byte) {
	taken := len(b)
	ended := false
	if f.carry[0] == '\n' && b[0] == '\n' {
		taken, ended = 1, true
	} else if i := bytes.Index(b, eventEnd); i >= 0 {
		taken, ended = i+2, true
	}
	f.crc = crc32.Update(f.crc, castagnoli, b[:taken])
	f.bytes += int64(taken)
	f.carry[0] = b[taken-1]
	if ended {
		f.skipping, f.carry = false, nil
		f.open(now)
	}
	return b[taken:]
}

// event is one whole event, its blank line included.
func (f *follower) event(b []byte, now int64) {
	kind := kindOf(b)
	if kind == observationEvent {
		f.tally.deliveries++
		f.observation(b, now)
	}
	if f.check != nil && kind != commentEvent {
		f.check.event(b)
	}
	switch kind {
	case commentEvent:
		if hasPrefix(b, endedHead) {
			f.goodbye = strings.TrimSpace(string(b[1:]))
		}
	case snapshotEvent:
		f.crc, f.bytes = crc32.Checksum(b, castagnoli), int64(len(b))
		if f.snapshot(b) {
			f.open(now)
		}
	case statusEvent:
		if !f.opened {
			f.breaks(RuleSnapshot, "a status", "a snapshot")
		}
	case otherEvent:
		f.breaks(RuleFrame, fmt.Sprintf("%.80q", b), "a frame")
	}
}

// snapshot reads a snapshot's head.
func (f *follower) snapshot(b []byte) bool {
	if f.opened {
		f.breaks(RuleSnapshot, "a second snapshot", "one")
		return false
	}
	n, ok := asOf(b[:min(len(b), headLen)])
	if !ok {
		f.breaks(RuleSnapshot, fmt.Sprintf("%.80q", b), "a snapshot with its asOfSeq")
		return false
	}
	f.asOf, f.seq = n, n
	return true
}

func (f *follower) open(now int64) {
	f.opened = true
	f.crowd.lastOpened.Store(now)
	f.crowd.opened.Add(1)
}

func (f *follower) observation(b []byte, now int64) {
	seq, rest, ok := seqOf(b)
	switch {
	case !ok:
		f.breaks(RuleFrame, fmt.Sprintf("%.80q", b), "an observation with its seq")
	case !f.opened:
		f.breaks(RuleSnapshot, fmt.Sprintf("observation %d", seq), "a snapshot")
	case seq <= f.seq:
		f.breaks(RuleSeq, fmt.Sprint(seq), fmt.Sprintf("more than %d", f.seq))
	case seq != f.seq+1 && !f.crowd.elides:
		f.breaks(RuleMissing, fmt.Sprint(seq), fmt.Sprint(f.seq+1))
	}
	if seq > f.seq {
		f.seq = seq
	}
	f.sum += maphash.Bytes(f.crowd.hash, b)
	if text, ok := deltaOf(rest); ok {
		if due, index, ok := paced(text); ok {
			f.paced(due, index, now)
		}
		return
	}
	if generation, ok := settledOf(rest); ok {
		f.settle(generation)
	}
}

func (f *follower) paced(due int64, index uint64, now int64) {
	if index != f.next && index != 0 {
		f.breaks(RuleText, fmt.Sprintf("delta %d", index), fmt.Sprintf("delta %d", f.next))
	}
	f.next = index + 1
	f.tally.delivered(due, now)
	if index == 0 {
		if at := f.thread.prompted.Swap(0); at > 0 {
			f.crowd.first.record(elapsed() - at)
		}
	}
}

func (f *follower) settle(generation uint64) {
	if generation <= f.settled {
		f.breaks(RuleSettled, fmt.Sprintf("generation %d settled", generation), fmt.Sprintf("one after %d", f.settled))
	}
	f.settled = generation
	if want := f.thread.frames.Load(); want > 0 && f.next != uint64(want) {
		f.breaks(RuleText, fmt.Sprintf("%d deltas in a run that settled", f.next), fmt.Sprint(want))
	}
	f.next = 0
	f.crowd.settled.Add(1)
}

// breaks reports the first broken rule of a follower; what comes after follows from
// it.
func (f *follower) breaks(rule Rule, got, want string) {
	if f.broken {
		return
	}
	f.broken = true
	f.crowd.rules.add(Violation{Rule: rule, Thread: f.thread.id, Seq: f.seq, Got: got, Want: want})
}

// finish is the end of its follow, for whatever reason.
func (f *follower) finish(err error) {
	_ = f.conn.Close()
	f.ended = true
	f.crowd.ended.Add(1)
	if f.crowd.leaving.Load() {
		return
	}
	switch {
	case f.stuck && errors.Is(err, os.ErrDeadlineExceeded):
		f.breaks(RuleSlow, "it is still open", "the server to close it")
	case f.stuck:
		f.crowd.closedStuck.Add(1)
	case errors.Is(err, os.ErrDeadlineExceeded):
		f.breaks(RuleInTime, "nothing more", "its run's end")
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		f.breaks(RuleOpen, strings.TrimSpace(fmt.Sprintf("closed (%v) %s", err, f.goodbye)), "it to stay open while it reads")
	default:
		f.breaks(RuleOpen, fmt.Sprint(err), "it to stay open while it reads")
	}
}

// agree compares what it got with what the fully checked follower of its thread got,
// both having left.
func (f *follower) agree() {
	c := f.thread.check
	if c == nil || c.broken || f.broken || f.stuck || f.check != nil || !f.opened {
		return
	}
	want, ok := c.sumBetween(f.asOf, f.seq)
	switch {
	case !ok:
		f.breaks(RuleSameBytes, fmt.Sprintf("seq %d to %d", f.asOf, f.seq), fmt.Sprintf("seq %d to %d, as another follower got", c.base, c.seq))
	case want != f.sum:
		f.breaks(RuleSameBytes, "other bytes than another follower between the same seqs", "the same")
	}
}
