package actors

import (
	"time"

	"github.com/troupe-run/troupe/wire"
)

// timers are a thread's armed timers, and replies those who wait for it. Both are
// few, and a list of few weighs a tenth of a map: most threads in memory wait for
// their end with one timer and no reply.
type (
	timers  []armed
	replies []waiting
)

type armed struct {
	fired *fired // what it will tell
	t     *time.Timer
}

// arm takes the place of a timer of the same id.
func (ts *timers) arm(m *fired, t *time.Timer) {
	ts.disarm(m.timer)
	*ts = append(*ts, armed{m, t})
}

func (ts *timers) disarm(id timerID) {
	for i, a := range *ts {
		if a.fired.timer == id {
			a.t.Stop()
			ts.remove(i)
			return
		}
	}
}

// fired says whether m is of a timer that is still armed, which it then no longer is.
func (ts *timers) fired(m *fired) bool {
	for i, a := range *ts {
		if a.fired == m {
			ts.remove(i)
			return true
		}
	}
	return false
}

func (ts *timers) remove(i int) { *ts = without(*ts, i) }

func (ts *timers) stop() {
	for _, a := range *ts {
		a.t.Stop()
	}
	*ts = nil
}

type waiting struct {
	token token
	done  func(any, *wire.Failure)
}

func (rs *replies) put(t token, done func(any, *wire.Failure)) { *rs = append(*rs, waiting{t, done}) }

// take is the reply's function, once; nil when it is no longer waited for.
func (rs *replies) take(t token) func(any, *wire.Failure) {
	for i, w := range *rs {
		if w.token == t {
			*rs = without(*rs, i)
			return w.done
		}
	}
	return nil
}

// all answers everybody the same.
func (rs *replies) all(value any, failure *wire.Failure) {
	for len(*rs) > 0 {
		last := len(*rs) - 1
		done := (*rs)[last].done
		*rs = (*rs)[:last]
		done(value, failure)
	}
}

// without is list less its element i, in another order. An empty list that was long
// lets go of its memory.
func without[T any](list []T, i int) []T {
	last := len(list) - 1
	var zero T
	list[i], list[last] = list[last], zero
	if last == 0 && cap(list) > 4 {
		return nil
	}
	return list[:last]
}
