package scripted

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// pace says deltas that a load test can time and check: "<when it was due, 19
// digits> <index> <filler>". With a rate that moment is the planned one, so that a
// late delta counts as late; without one it is the moment at which it is said.
type pace struct {
	n, size int
	rate    float64 // deltas a second; 0 is without a pause
}

// minPaced holds the time, the longest index and the two spaces.
const (
	minPaced = 30
	maxRate  = 1e6
)

func parsePace(arg string) (step, error) {
	pairs, last, _ := cutLast(arg, ",")
	n, size, err := pair(pairs, maxDeltas, maxDelta)
	if err != nil {
		return nil, err
	}
	if size < minPaced {
		return nil, errMissing("at least " + strconv.Itoa(minPaced) + " bytes a delta")
	}
	rate, err := strconv.ParseFloat(strings.TrimSpace(last), 64)
	if err != nil || math.IsNaN(rate) || rate < 0 || rate > maxRate {
		return nil, errMissing("a rate of 0 to 1000000 deltas a second")
	}
	return pace{int(n), int(size), rate}, nil
}

// cutLast cuts s around the last sep.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func (d pace) play(r *run) *end {
	if e := r.begin(true); e != nil {
		return e
	}
	filler := repeat(alphabet, d.size)
	began := time.Now()
	piece := make([]byte, 0, d.size)
	for i := range d.n {
		due := time.Now()
		if d.rate > 0 {
			due = began.Add(time.Duration(float64(i) / d.rate * float64(time.Second)))
			if wait := time.Until(due); wait > 0 {
				if e := r.pause(wait); e != nil {
					return e
				}
			}
		}
		piece = fmt.Appendf(piece[:0], "%019d %d ", due.UnixNano(), i)
		piece = append(piece, filler[len(piece):]...)
		if e := r.delta(string(piece)); e != nil {
			return e
		}
	}
	return nil
}
