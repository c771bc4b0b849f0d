package scripted

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// A load test reads lateness and loss from the deltas alone: each holds the moment
// at which it was due, not the one at which it came, and its index.
func TestPacedDeltasHoldTheirDueTimeAndIndex(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, k *sink, s host.Session) {
		began := time.Now()
		prompt(t, s, 1, "pace:5,48,4")
		k.await(t, "end", func(r host.Report) bool { _, over := r.(*host.RunOver); return over })
		took := time.Since(began)
		var at []int64
		for _, r := range k.all() {
			o, _ := r.(*host.Observed)
			if o == nil {
				continue
			}
			d, _ := o.Observation.(*wire.TextDelta)
			if d == nil {
				continue
			}
			stamp, rest, _ := strings.Cut(d.Delta, " ")
			index, filler, _ := strings.Cut(rest, " ")
			if len(d.Delta) != 48 || index != strconv.Itoa(len(at)) || filler == "" {
				t.Fatalf("delta %d is %q", len(at), d.Delta)
			}
			n, err := strconv.ParseInt(stamp, 10, 64)
			if err != nil || len(stamp) != 19 {
				t.Fatalf("the time %q of delta %d", stamp, len(at))
			}
			at = append(at, n)
		}
		if len(at) != 5 {
			t.Fatalf("%d deltas, want 5", len(at))
		}
		for i, n := range at {
			if want := began.Add(time.Duration(i) * 250 * time.Millisecond).UnixNano(); n != want {
				t.Errorf("delta %d was due at %d, want %d", i, n, want)
			}
		}
		if took != time.Second {
			t.Errorf("five deltas at four a second took %v, want 1s", took)
		}
	})
}
