package actors

import (
	"path"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-run/troupe/wire"
)

// registry is the parent of all threads and the only one that looks a thread up,
// by its identity. Every command passes through it, so that none is lost while a
// thread leaves memory. It never blocks: it would delay every restart behind it.
type registry struct {
	host    *Host
	props   *actor.Props // of every thread
	threads map[wire.ThreadID]*resident
}

// resident is a thread in memory. While it is leaving, commands for it are parked;
// they go to it if it declines, else to its next incarnation.
type resident struct {
	pid     *actor.PID
	leaving bool
	parked  []*ask
	all     []*toAll // came while it was leaving
}

// The registry's messages, beside *ask: quiet and declined are the threads' half
// of the passivation handshake, stopIfQuiet the registry's; toAll reaches every
// thread in memory; leave takes a follower out of its thread, if that is in memory.
type (
	quiet struct {
		thread wire.ThreadID
		pid    *actor.PID
	}
	declined struct {
		thread wire.ThreadID
		pid    *actor.PID
	}
	stopIfQuiet struct{}
	farewell    struct{}
	leave       struct {
		thread   wire.ThreadID
		follower *Follower
	}
	toAll struct {
		message func(wire.ThreadID) any
		gone    func() // in place of a message's word: the thread has left meanwhile
		sent    func(int)
	}
)

// IgnoreDeadLetterLogging says that nobody is meant to hear it. protoactor's set of
// children keeps the addresses of those that are gone in the rest of its array, and an
// address keeps its actor, with all its state, until something is sent there.
func (farewell) IgnoreDeadLetterLogging() {}

func (r *registry) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *ask:
		r.deliver(c, m)
	case *quiet:
		if res := r.threads[m.thread]; res != nil && res.pid.Equal(m.pid) {
			res.leaving = true
			c.Send(res.pid, stopIfQuiet{})
		}
	case *declined:
		if res := r.threads[m.thread]; res != nil && res.pid.Equal(m.pid) {
			res.leaving = false
			r.forward(c, m.thread, res)
		}
	case *leave:
		if res := r.threads[m.thread]; res != nil {
			c.Send(res.pid, &left{m.follower})
		}
	case *actor.Terminated:
		r.terminated(c, m.Who)
	case *toAll:
		for id, res := range r.threads {
			if res.leaving { // it may stop before it would read this
				res.all = append(res.all, m)
				continue
			}
			c.Send(res.pid, m.message(id))
		}
		m.sent(len(r.threads))
	}
}

func (r *registry) deliver(c actor.Context, m *ask) {
	res := r.threads[m.thread]
	if res == nil {
		var failure *wire.Failure
		if res, failure = r.spawn(c, m.thread); failure != nil {
			m.done(nil, failure)
			return
		}
	}
	if !res.leaving {
		c.Send(res.pid, m)
		return
	}
	if len(res.parked) >= r.host.limits.Parked {
		m.done(nil, &wire.Failure{Code: wire.CodeUnavailable, Message: "the thread is leaving memory"})
		return
	}
	res.parked = append(res.parked, m)
}

// spawn names the actor after the thread, which is how it knows who it is.
func (r *registry) spawn(c actor.Context, id wire.ThreadID) (*resident, *wire.Failure) {
	if _, ok := r.host.agents[id.Type]; !ok {
		return nil, &wire.Failure{Code: wire.CodeNotFound, Message: "no agent type " + id.Type}
	}
	pid, err := c.SpawnNamed(r.props, id.String())
	if err != nil { // a name is free once its actor has terminated, and only then are we here
		return nil, &wire.Failure{Code: wire.CodeInternal, Message: "the thread could not be brought up: " + err.Error()}
	}
	res := &resident{pid: pid}
	r.threads[id] = res
	return res, nil
}

func (r *registry) forward(c actor.Context, id wire.ThreadID, res *resident) {
	parked, all := res.parked, res.all
	res.parked, res.all = nil, nil
	for _, m := range parked {
		c.Send(res.pid, m)
	}
	for _, m := range all {
		c.Send(res.pid, m.message(id))
	}
}

// terminated: an incarnation is gone, by passivation or because supervision gave
// it up. What was parked goes to the next.
func (r *registry) terminated(c actor.Context, pid *actor.PID) {
	id, _, err := wire.ParseThreadID(path.Base(pid.Id))
	res := r.threads[id]
	if err != nil || res == nil || !res.pid.Equal(pid) {
		return
	}
	delete(r.threads, id)
	if len(r.threads) == 0 {
		r.threads = map[wire.ThreadID]*resident{} // a map keeps the size of its best days
	}
	c.Send(res.pid, farewell{})
	for _, m := range res.all {
		m.gone()
	}
	for _, m := range res.parked {
		r.deliver(c, m)
	}
}
