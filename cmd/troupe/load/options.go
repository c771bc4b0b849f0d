package load

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"
)

// agent is whose threads are loaded: it says what its prompts say.
const agent = "scripted"

// Self is how the tool starts its own binary.
type Self struct {
	Path string
	Env  []string
}

// Options are everything a check is told. A zero field of the shape takes what the
// scenario has.
type Options struct {
	Scenarios []string
	Server    string // http://host:port on loopback; "" starts one
	Self      Self

	Threads   int
	Followers int     // of each thread
	Rate      float64 // deltas a second of each thread; 0 is as fast as it goes
	RateSet   bool
	Size      int // bytes of a delta
	Frames    int // deltas of a run
	Duration  time.Duration
	Checked   int // threads with a fully checked follower
	Made      bool
	Seed      uint64

	Short    bool
	Baseline bool
	Idle     time.Duration // between the last follower's joining and reading the memory they take
	Timeout  time.Duration // of one scenario
	Budgets  Budgets
	Progress io.Writer // nil is none
}

// Budgets are what a result may come to. A zero one is not looked at.
type Budgets struct {
	P99               time.Duration // of the delivery
	MemoryPerFollower int64         // bytes
	MemoryGrowth      int64         // bytes, at the most above the start
	Flat              float64       // memory after the first tenth of the deliveries, to what it was then
	Ratio             float64       // at least: deliveries a second, to the baseline's
	CPURatio          float64       // at most: CPU per delivery, to the baseline's
	P99Ratio          float64       // at most: p99, to the baseline's
	SlowRatio         float64       // at most: p99 beside stuck followers, to that without them
}

// shape is how much of it.
type shape struct {
	threads, followers int
	rate               float64
	size, frames       int
	times              int // rounds, prompts, racers: what the scenario counts
}

// Limits of a shape, which the directive pace has too.
const (
	minSize    = 30
	maxSize    = 64 << 10
	maxFrames  = 10_000_000
	maxThreads = 1_000_000
)

func (o *Options) check() error {
	names := Names()
	for _, n := range o.Scenarios {
		if !slices.Contains(names, n) {
			return fmt.Errorf("no scenario is called %q; there are %s, and all", n, strings.Join(names, ", "))
		}
	}
	switch {
	case o.Size != 0 && (o.Size < minSize || o.Size > maxSize):
		return fmt.Errorf("--size: want %d to %d bytes", minSize, maxSize)
	case o.Frames < 0 || o.Frames > maxFrames:
		return fmt.Errorf("--frames: want at most %d", maxFrames)
	case o.Threads < 0 || o.Threads > maxThreads || o.Followers < 0:
		return fmt.Errorf("--threads, --followers: want a number above 0")
	case o.Rate < 0 || o.Rate > 1e6:
		return fmt.Errorf("--rate: want 0 to 1000000 a second")
	case o.Duration > 0 && o.Frames > 0:
		return fmt.Errorf("--duration and --frames say the same; want one")
	case o.Timeout <= 0:
		return fmt.Errorf("--timeout: want a duration like 10m")
	case o.Short && o.Budgets != (Budgets{}):
		return fmt.Errorf("--short is judged by the rules alone; want no budget beside it")
	case !o.Baseline && (o.Budgets.Ratio > 0 || o.Budgets.CPURatio > 0 || o.Budgets.P99Ratio > 0):
		return fmt.Errorf("a ratio to the baseline wants --baseline")
	}
	if o.Server == "" {
		return nil
	}
	u, err := url.Parse(o.Server)
	if err != nil || u.Scheme != "http" || u.Port() == "" {
		return fmt.Errorf("--server %s: want an address like http://127.0.0.1:4777", o.Server)
	}
	if ip := net.ParseIP(u.Hostname()); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("--server %s: want a loopback address, since delivery is timed by one clock", o.Server)
	}
	return nil
}

// over is the scenario's shape with what the options say.
func (o *Options) over(s shape) shape {
	set := func(v *int, given int) {
		if given > 0 {
			*v = given
		}
	}
	set(&s.threads, o.Threads)
	set(&s.followers, o.Followers)
	set(&s.size, o.Size)
	set(&s.frames, o.Frames)
	if o.RateSet {
		s.rate = o.Rate
	}
	if o.Duration > 0 && s.rate > 0 {
		s.frames = max(1, int(s.rate*o.Duration.Seconds()))
	}
	return s
}
