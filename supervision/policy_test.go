package supervision

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestDelaysGrowExponentiallyUpToTheCap(t *testing.T) {
	p := NewPolicy(Limits{Limit: 100})
	want := []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second,
		4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second, 30 * time.Second}
	for i, w := range want {
		if got := p.Strike("k", epoch); got.Delay != w || got.Count != float64(i+1) {
			t.Errorf("strike %d: %+v, want a delay of %v", i+1, got, w)
		}
	}
}

func TestCountHalvesInAHalfLife(t *testing.T) {
	p := NewPolicy(SessionLimits())
	for range 4 {
		p.Strike("k", epoch)
	}
	if c := p.Current("k", epoch.Add(time.Minute)).Count; c < 1.99 || c > 2.01 {
		t.Errorf("count after a half-life: %v, want 2", c)
	}
	if c := p.Current("k", epoch.Add(-time.Hour)).Count; c != 4 {
		t.Errorf("a clock that went back changed the count to %v", c)
	}
}

func TestCurrentSaysWhatRemainsOfTheDelay(t *testing.T) {
	p := NewPolicy(SessionLimits())
	p.Strike("k", epoch)
	if d := p.Current("k", epoch.Add(100*time.Millisecond)).Delay; d != 150*time.Millisecond {
		t.Errorf("remaining: %v, want 150ms", d)
	}
	if d := p.Current("k", epoch.Add(time.Second)).Delay; d != 0 {
		t.Errorf("remaining after it passed: %v, want 0", d)
	}
	if v := p.Current("other", epoch); v != (Verdict{}) {
		t.Errorf("a key with no failure: %+v", v)
	}
}

// What fails whenever it is tried must reach the limit although it waits, and so
// decays, before each try.
func TestPersistentFailureIsExhaustedByTheDefaults(t *testing.T) {
	p, now := NewPolicy(SessionLimits()), epoch
	for n := 1; n <= 10; n++ {
		v := p.Strike("k", now)
		if v.Exhausted {
			if n != 6 || now.Sub(epoch) > 15*time.Second {
				t.Errorf("exhausted at strike %d after %v, want the sixth within 15 s", n, now.Sub(epoch))
			}
			p.Forgive("k")
			if v := p.Strike("k", now); v.Exhausted || v.Count != 1 {
				t.Errorf("after Forgive: %+v", v)
			}
			return
		}
		now = now.Add(v.Delay)
	}
	t.Fatal("never exhausted")
}

func TestRareFailureIsNeverExhausted(t *testing.T) {
	p, now := NewPolicy(SessionLimits()), epoch
	for range 1000 {
		if v := p.Strike("k", now); v.Exhausted {
			t.Fatalf("exhausted: %+v", v)
		}
		now = now.Add(time.Minute)
	}
}

func TestDecayedKeysAreDropped(t *testing.T) {
	p, now := NewPolicy(SessionLimits()), epoch
	for i := range 100_000 {
		p.Strike(fmt.Sprint(i), now)
		now = now.Add(time.Second)
	}
	// A single strike is forgotten after 4.4 half-lives, here 260 keys.
	if n := p.Keys(); n > 1000 {
		t.Errorf("%d keys are held", n)
	}
}

func TestVerdictsStayWithinTheirBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := SessionLimits()
		p, now := NewPolicy(l), epoch
		for range rapid.IntRange(1, 40).Draw(t, "strikes") {
			now = now.Add(time.Duration(rapid.Int64Range(-1e9, 1e12).Draw(t, "gap")))
			before := p.Current("k", now)
			v := p.Strike("k", now)
			if v.Delay < l.Base || v.Delay > l.Cap {
				t.Fatalf("delay %v outside [%v, %v]", v.Delay, l.Base, l.Cap)
			}
			if d := v.Count - before.Count; d < 0.999 || d > 1.001 {
				t.Fatalf("a strike raised the count by %v", d)
			}
			if v.Exhausted != (v.Count > l.Limit) {
				t.Fatalf("exhausted %v at count %v", v.Exhausted, v.Count)
			}
		}
	})
}
