package actors

import (
	"fmt"
	"testing"
	"time"
)

// What a thread may weigh in memory, in bytes, while it has neither a session nor a
// follower. Once it has left memory it is a row of the journal.
const residentThread = 3 << 10

// TestAThreadAtRestIsSmall: beside its record, which the journal keeps, a thread that
// has run weighs at most residentThread while it waits for its end, and nothing after.
func TestAThreadAtRestIsSmall(t *testing.T) {
	const n = 3000
	weigh := func(grace time.Duration) int64 {
		r := newRig(t, rigOptions{real: true, limits: Limits{IdleSession: time.Millisecond, Passivate: grace}})
		r.prompt("scripted.first", "say:hello")
		before := heap()
		for i := range n {
			r.prompt(fmt.Sprintf("scripted.a%d", i), "say:hello")
		}
		until(t, "the sessions to end", func() bool {
			r.host.directory.mu.Lock()
			defer r.host.directory.mu.Unlock()
			for _, s := range r.host.directory.summaries {
				if s.Live || s.Busy {
					return false
				}
			}
			return grace == time.Hour || len(r.host.directory.summaries) == 0
		})
		return (heap() - before) / n
	}
	record, resident := weigh(time.Millisecond), weigh(time.Hour)
	t.Logf("%d B in the journal, %d B more in memory", record, resident-record)
	if got := resident - record; got > residentThread {
		t.Errorf("a thread at rest weighs %d B beside its record, at most %d", got, residentThread)
	}
}
