package supervision

import (
	"math"
	"sync"
	"time"
)

// Limits configures a [Policy]. A zero field takes its default.
type Limits struct {
	Base     time.Duration // delay after the first failure; 250 ms
	Factor   float64       // growth with each further one; 2
	Cap      time.Duration // longest delay; 30 s
	HalfLife time.Duration // after which half of the count is forgotten; 60 s
	Limit    float64       // a count above it is exhausted; 5
}

// SessionLimits are the defaults: what fails whenever it is tried is exhausted
// at its sixth strike, eight seconds after the first. A limit above 6 would never
// be reached at this half-life, since the waits themselves let the count decay.
func SessionLimits() Limits { return Limits{}.withDefaults() }

// RestartLimits are for restarts of actors, which are not delayed: only the rate
// counts, more than a hundred or so in a second.
func RestartLimits() Limits {
	return Limits{HalfLife: time.Second, Limit: 100}.withDefaults()
}

func (l Limits) withDefaults() Limits {
	if l.Base <= 0 {
		l.Base = 250 * time.Millisecond
	}
	if l.Factor < 1 {
		l.Factor = 2
	}
	if l.Cap <= 0 {
		l.Cap = 30 * time.Second
	}
	if l.HalfLife <= 0 {
		l.HalfLife = time.Minute
	}
	if l.Limit <= 0 {
		l.Limit = 5
	}
	return l
}

// Verdict is what follows from a key's failures: how long to wait before the
// next try, whether to try at all, and the decayed count behind both.
type Verdict struct {
	Delay     time.Duration
	Exhausted bool
	Count     float64
}

// Policy counts failures by key. It reads no clock: every instant comes in. It is
// safe for concurrent use, and holds only keys whose count has not decayed.
type Policy struct {
	limits Limits

	mu      sync.Mutex
	entries map[string]strikes
	sweepAt int
}

type strikes struct {
	count float64
	at    time.Time
}

const (
	decayed  = 0.05 // below it a key is forgotten
	minSweep = 64
)

// NewPolicy is a policy with no failures yet.
func NewPolicy(l Limits) *Policy {
	return &Policy{limits: l.withDefaults(), entries: map[string]strikes{}, sweepAt: minSweep}
}

// Strike counts one failure of key and says what follows: Delay counts from now.
func (p *Policy) Strike(key string, now time.Time) Verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	e, ok := p.entries[key]
	if !ok && len(p.entries) >= p.sweepAt {
		p.sweep(now)
	}
	e = strikes{count: p.decay(e, now) + 1, at: now}
	p.entries[key] = e
	return Verdict{Delay: p.delay(e.count), Exhausted: e.count > p.limits.Limit, Count: e.count}
}

// Current is key's verdict without another failure: Delay is what remains of the
// last one's, Exhausted holds until enough has decayed.
func (p *Policy) Current(key string, now time.Time) Verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	e, ok := p.entries[key]
	if !ok {
		return Verdict{}
	}
	c := p.decay(e, now)
	left := max(0, p.delay(e.count)-max(0, now.Sub(e.at)))
	return Verdict{Delay: left, Exhausted: c > p.limits.Limit, Count: c}
}

// Forgive forgets key's failures.
func (p *Policy) Forgive(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.entries, key)
}

// Keys is how many keys are held.
func (p *Policy) Keys() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.entries)
}

// decay is e's count at now. A clock that went backwards decays nothing.
func (p *Policy) decay(e strikes, now time.Time) float64 {
	if e.count == 0 {
		return 0
	}
	age := max(0, now.Sub(e.at))
	return e.count * math.Exp2(-float64(age)/float64(p.limits.HalfLife))
}

func (p *Policy) delay(count float64) time.Duration {
	d := float64(p.limits.Base) * math.Pow(p.limits.Factor, max(0, count-1))
	return time.Duration(min(d, float64(p.limits.Cap)))
}

// sweep drops what has decayed. It runs when the map has doubled since the last
// one, so that a strike costs constant time on average.
func (p *Policy) sweep(now time.Time) {
	for k, e := range p.entries {
		if p.decay(e, now) < decayed {
			delete(p.entries, k)
		}
	}
	p.sweepAt = max(minSweep, 2*len(p.entries))
}
