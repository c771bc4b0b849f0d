package memory

import (
	"context"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// sweepEvery bounds how long an expired receipt takes up memory once commits
// come: no timer runs, so that an idle journal stays idle in a bubble.
const sweepEvery = time.Minute

// Receipt is what the newest batch with this key brought.
func (j *Journal) Receipt(_ context.Context, key string) (host.Receipt, bool, error) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	r, ok := j.receipts[key]
	if !ok || !r.Expires.After(j.opts.Now()) {
		return host.Receipt{}, false, nil
	}
	return r, true, nil
}

// free refuses a key that a receipt still holds.
func (j *Journal) free(key string, now time.Time) error {
	if r, held := j.receipts[key]; held && r.Expires.After(now) {
		return wire.Errorf(wire.CodeConflict, "the idempotency key %q has its receipt already", key)
	}
	return nil
}

func (j *Journal) sweep(now time.Time) {
	if now.Sub(j.swept) < sweepEvery {
		return
	}
	j.swept = now
	for key, r := range j.receipts {
		if !r.Expires.After(now) {
			delete(j.receipts, key)
		}
	}
	j.deltas.sweep(now)
}
