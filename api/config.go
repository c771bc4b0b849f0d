package api

import (
	"runtime/debug"
	"time"

	"go.uber.org/zap"
)

// Config is what the HTTP surface needs. Only Threads is required; a zero value
// elsewhere takes the default its field names.
type Config struct {
	// Threads is the port to everything behind the routes.
	Threads Threads
	// Listen is the address served, as it was configured: its host is one that
	// requests may name. See [CheckListen].
	Listen string
	// AllowedHosts are further hosts that requests may name: "name" on any port, or
	// "name:port". Loopback's names are always served.
	AllowedHosts []string
	// Version is what /healthz and / tell.
	Version string
	// Log takes requests and followers at debug, bugs of ours at error. Nil is none.
	Log *zap.Logger
	// Ready is asked by /readyz. Nil is always ready until Shutdown.
	Ready func() bool
	// Go starts every goroutine of ours, followers included. It should recover a
	// panic. Nil starts a plain goroutine that reports one to Panicked.
	Go func(name string, fn func())
	// Panicked is told of a panic in a handler, which is answered with 500. Nil logs
	// its place and stack.
	Panicked func(where string, value any, stack []byte)
	// Metrics gives what /metrics serves, in Prometheus' text format 0.0.4. Nil: the
	// route is not found.
	Metrics func() ([]byte, error)
	// MaxBody bounds a request's body, in bytes. 0 is 8 MiB.
	MaxBody int
	// MaxHeader bounds a request's line and headers together, in bytes. 0 is 16 KiB.
	MaxHeader int
	// MaxFollowers bounds the streams that are open at once. 0 is 20,000.
	MaxFollowers int
	// Heartbeat is the silence after which a stream gets a comment. 0 is 15 s.
	Heartbeat time.Duration
	// WriteTimeout is how long one write to a follower may be stuck. 0 is 30 s.
	WriteTimeout time.Duration
	// CallTimeout bounds one call of the port. 0 is 2 min: a stop answers only once
	// it has settled.
	CallTimeout time.Duration
}

// Limits that no deployment has had a reason to move.
const (
	readTimeout   = time.Minute     // for a whole request to arrive
	idleTimeout   = 2 * time.Minute // between two requests of a connection
	workerIdle    = 5 * time.Second // until a burst's stacks are given back
	writePiece    = 256 << 10       // bytes under one write deadline
	maxNoise      = 16 << 10        // bytes a follower may send after its request
	maxKey        = 255             // bytes of an Idempotency-Key
	receiptLife   = 24 * time.Hour  // how long a POST's result is replayed
	maxReceipts   = 10_000          // results kept at once
	maxReceiptMem = 16 << 20        // bytes of their bodies
	goodbyeBound  = time.Second     // for a stream's last comment
	streamsBound  = 2 * time.Second // for followers to leave at shutdown
	lingerBound   = time.Second     // for the rest of a refused body
	lingerBytes   = 64 << 20        // how much of it is read
)

func (c Config) withDefaults() Config {
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	if c.Panicked == nil {
		log := c.Log
		// The value is left out: it may hold what a client sent.
		c.Panicked = func(where string, _ any, stack []byte) {
			log.Error("a handler panicked", zap.String("where", where), zap.ByteString("stack", stack))
		}
	}
	if c.Go == nil {
		panicked := c.Panicked
		c.Go = func(name string, fn func()) {
			go func() {
				defer func() {
					if v := recover(); v != nil {
						panicked(name, v, debug.Stack())
					}
				}()
				fn()
			}()
		}
	}
	if c.Ready == nil {
		c.Ready = func() bool { return true }
	}
	c.MaxBody = orDefault(c.MaxBody, 8<<20)
	c.MaxHeader = orDefault(c.MaxHeader, 16<<10)
	c.MaxFollowers = orDefault(c.MaxFollowers, 20_000)
	c.Heartbeat = orDefault(c.Heartbeat, 15*time.Second)
	c.WriteTimeout = orDefault(c.WriteTimeout, 30*time.Second)
	c.CallTimeout = orDefault(c.CallTimeout, 2*time.Minute)
	return c
}

func orDefault[T int | time.Duration](v, standard T) T {
	if v > 0 {
		return v
	}
	return standard
}
