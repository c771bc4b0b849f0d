package scripted

import (
	"context"
	"fmt"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// Options make a runtime. The zero value is a well-behaved agent; the rest play
// an agent that is not.
type Options struct {
	Name string // as configuration says it; "" is "scripted"

	Scenario *Scenario // plays its scripts for those of the prompts; nil obeys the prompts

	Missing    string // the command that Available says is missing; "" is none
	NoSteering bool   // no prompt enters a busy run

	StartDelay   time.Duration      // before Start comes back
	StartFailure *wire.Failure      // what Start answers instead of a session
	StartPanics  bool               // Start panics
	OnStart      []wire.Observation // told before Start comes back; a question without an id gets one

	PromptDelay   time.Duration // before Prompt comes back
	PromptFailure *wire.Failure // what Prompt answers: not handed over

	IgnoreKill bool          // Kill does nothing, as for a process that cannot be ended
	CloseDelay time.Duration // before Close comes back

	// OnAnswer hears every reply that the session is given, spent ids included,
	// before the script goes on. It must not block.
	OnAnswer func(host.Reply)

	StopGrace time.Duration // what a shell gets between TERM and KILL; 0 is 2 s
}

const defaultStopGrace = 2 * time.Second

type embedded struct{ o Options }

// New is a runtime that plays o.
func New(o Options) host.Runtime {
	if o.Name == "" {
		o.Name = "scripted"
	}
	if o.StopGrace <= 0 {
		o.StopGrace = defaultStopGrace
	}
	return &embedded{o}
}

// Name is the configured name.
func (r *embedded) Name() string { return r.o.Name }

// Capabilities is everything but a login.
func (r *embedded) Capabilities() wire.Capabilities {
	return wire.Capabilities{
		Steer: !r.o.NoSteering, Resume: true, Images: true, Dialogs: true, Modes: true, Models: true, Compact: true,
	}
}

// Available is nil, or command-missing where the options say so.
func (r *embedded) Available() error {
	if r.o.Missing != "" {
		return wire.Errorf(wire.CodeCommandMissing, "the command %q is not on this machine", r.o.Missing)
	}
	return nil
}

// Start brings a session up: it tells the model and the permission mode, then
// what Options.OnStart holds, and comes back. A session has no memory, so that
// resuming one keeps its id and nothing else.
func (r *embedded) Start(ctx context.Context, spec host.StartSpec, sink host.Sink) (host.Session, error) {
	if r.o.StartPanics {
		panic("the scripted start panics, as it was told to")
	}
	err := wait(ctx, r.o.StartDelay)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, wire.Errorf(wire.CodeStartFailed, "the start was given up: %v", err)
	}
	if r.o.StartFailure != nil {
		return nil, r.o.StartFailure
	}
	s := newSession(r.o, spec, sink)
	said := []wire.Observation{s.modelTold(), s.modeTold()}
	for i, o := range r.o.OnStart {
		if q, ok := o.(*wire.ExtensionUIRequest); ok {
			tagged := *q
			tagged.Origin = wire.OriginSessionStart
			if q.ID == "" {
				tagged.ID = fmt.Sprintf("s%d-start%d", spec.Session, i+1)
			}
			o = &tagged
		}
		said = append(said, o)
	}
	if err = s.announce(ctx, said...); err != nil {
		_ = s.Close()
		return nil, wire.Errorf(wire.CodeStartFailed, "the start was given up: %v", err)
	}
	return s, nil
}

// wait is a pause that ctx ends early. None at all does not look at ctx.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
