package actors

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"sort"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.uber.org/zap"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// Agent is one agent on offer: a type of thread. Its name is a segment of thread
// ids.
type Agent struct {
	Name    string
	Runtime host.Runtime
	Cwd     string // the folder of a thread whose creation names none
	Default bool
}

// Guard starts a goroutine and turns a panic in it into onPanic; a nil onPanic
// only tells the operator.
type Guard func(name string, onPanic func(where string, value any, stack []byte), fn func())

// Strikes counts the failures of a thread's sessions, decaying: how long the next
// session waits, and whether the thread has failed too often. It is safe for
// concurrent use.
type Strikes interface {
	Strike(key string, now time.Time) (delay time.Duration, exhausted bool)
	Current(key string, now time.Time) (delay time.Duration, exhausted bool)
}

// Config is what a Host is made of. Journal, Agents, Guard, Strategy and Strikes
// are required.
type Config struct {
	System   *actor.ActorSystem // nil makes one
	Journal  host.Journal
	Agents   []Agent
	Guard    Guard
	Strategy actor.SupervisorStrategy
	Strikes  Strikes
	Facts    func(Fact)
	Log      *zap.Logger
	Limits   Limits
	Now      func() time.Time
	Entropy  io.Reader // for ids; nil is crypto/rand
}

// Host is all threads. Make it with Start.
type Host struct {
	system    *actor.ActorSystem
	root      *actor.RootContext
	registry  *actor.PID
	journal   host.Journal
	agents    map[string]Agent
	standard  string // the default agent's name
	guard     Guard
	strikes   Strikes
	facts     func(Fact)
	log       *zap.Logger
	limits    Limits
	now       func() time.Time
	entropy   io.Reader
	directory *directory
	lingering lingering
	meter     *meter
	snapshots chan struct{}
	inFlight  chan struct{}
	stopping  chan struct{}                  // closed: nothing new is taken
	closed    chan struct{}                  // closed: the threads are gone
	trace     func(*thread, input, []effect) // for recorded sequences; nil but in tests
}

// Start brings the host up. It does no work per thread.
func Start(c Config) (*Host, error) {
	if c.Journal == nil || c.Guard == nil || c.Strategy == nil || c.Strikes == nil || len(c.Agents) == 0 {
		return nil, errors.New("actors: Journal, Guard, Strategy, Strikes and at least one agent are required")
	}
	h := &Host{
		system: c.System, journal: c.Journal, guard: c.Guard, strikes: c.Strikes, facts: c.Facts, log: c.Log,
		limits: c.Limits.orDefault(), now: c.Now, entropy: c.Entropy, agents: map[string]Agent{},
		directory: newDirectory(), meter: newMeter(), stopping: make(chan struct{}), closed: make(chan struct{}),
	}
	for _, a := range c.Agents {
		if !wire.ValidType(a.Name) {
			return nil, wire.Errorf(wire.CodeInvalid, "agent name %q: want [a-z0-9][a-z0-9_-]*, at most 48 bytes", a.Name)
		}
		h.agents[a.Name] = a
		if a.Default || h.standard == "" {
			h.standard = a.Name
		}
	}
	if h.system == nil {
		h.system = actor.NewActorSystem()
	}
	if h.facts == nil {
		h.facts = func(Fact) {}
	}
	if h.log == nil {
		h.log = zap.NewNop()
	}
	if h.now == nil {
		h.now = time.Now
	}
	if h.entropy == nil {
		h.entropy = rand.Reader
	}
	h.snapshots = make(chan struct{}, h.limits.Snapshots)
	h.inFlight = make(chan struct{}, h.limits.InFlight)
	h.root = h.system.Root
	h.registry = h.root.Spawn(actor.PropsFromProducer(func() actor.Actor {
		return &registry{host: h, threads: map[wire.ThreadID]*resident{}}
	}, actor.WithSupervisor(c.Strategy)))
	return h, nil
}

// Threads is the typed client: the only way in.
func (h *Host) Threads() *Client { return &Client{h} }

// CloseFollowers ends every follow and every watch, and refuses new prompts. It
// returns once all are told.
func (h *Host) CloseFollowers(ctx context.Context) error {
	h.refuseNew()
	h.directory.close()
	return h.all(ctx, func(_ wire.ThreadID, done func()) any { return &endFollows{done: done} })
}

// Drain ends every run as a stop would and closes every session; waiting prompts
// stay in the journal. It returns once nothing of any session is left, or with
// ctx's error: then what is left is killed.
func (h *Host) Drain(ctx context.Context) error {
	h.refuseNew()
	return h.all(ctx, func(id wire.ThreadID, done func()) any {
		return &ask{thread: id, make: func(t token) input { return &drainInput{t} }, done: func(any, *wire.Failure) { done() }}
	})
}

// Close stops the threads and the actor system. A session that Drain did not end
// is killed; Close waits for it until ctx ends. It is called once. The journal stays open: it is the
// caller's.
func (h *Host) Close(ctx context.Context) error {
	h.refuseNew()
	h.directory.close()
	err := h.root.StopFuture(h.registry).Wait()
	close(h.closed)
	for _, gone := range h.lingering.all() {
		select {
		case <-gone:
		case <-ctx.Done():
			err = errors.Join(err, ctx.Err())
		}
	}
	h.system.Shutdown()
	return err
}

func (h *Host) refuseNew() {
	h.directory.mu.Lock()
	defer h.directory.mu.Unlock()
	select {
	case <-h.stopping:
	default:
		close(h.stopping)
	}
}

// all sends a message to every thread in memory and waits for their words.
func (h *Host) all(ctx context.Context, message func(wire.ThreadID, func()) any) error {
	sent := make(chan int, 1)
	words := make(chan struct{}, 64)
	stop := make(chan struct{})
	defer close(stop)
	h.root.Send(h.registry, &toAll{
		sent: func(n int) { sent <- n },
		message: func(id wire.ThreadID) any {
			return message(id, func() {
				h.guard("count", nil, func() {
					select {
					case words <- struct{}{}:
					case <-stop:
					}
				})
			})
		},
	})
	n, have := -1, 0
	for n < 0 || have < n {
		select {
		case n = <-sent:
		case <-words:
			have++
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Agents lists the agents on offer, by name.
func (h *Host) listAgents() []wire.Agent {
	out := make([]wire.Agent, 0, len(h.agents))
	for name, a := range h.agents {
		w := wire.Agent{
			Name: name, Runtime: a.Runtime.Name(), Default: name == h.standard, Available: true,
			Capabilities: a.Runtime.Capabilities(),
		}
		if err := a.Runtime.Available(); err != nil {
			w.Available, w.Reason = false, wire.AsFailure(err).Message
		}
		out = append(out, w)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}
