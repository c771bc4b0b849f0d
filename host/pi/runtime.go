package pi

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/host/proc"
	"github.com/troupe-run/troupe/wire"
)

// Options are one configured pi.
type Options struct {
	Name       string            // as configuration says it; "" is "pi"
	Command    []string          // the command and its first arguments; nil is pi
	Model      string            // provider/id, or an id; "" is the agent's own default
	Env        map[string]string // beside the allow-list of proc.Environment
	SessionDir string            // where it keeps its sessions; "" is its own place
}

type runtime struct{ o Options }

// New is a runtime that starts o.
func New(o Options) host.Runtime {
	if o.Name == "" {
		o.Name = "pi"
	}
	if len(o.Command) == 0 {
		o.Command = []string{"pi"}
	}
	return &runtime{o}
}

// Name is the configured name.
func (r *runtime) Name() string { return r.o.Name }

// Capabilities is what pi does in rpc mode. It has no permission modes of its own,
// and its login is its terminal's.
func (r *runtime) Capabilities() wire.Capabilities {
	return wire.Capabilities{Steer: true, Resume: true, Images: true, Dialogs: true, Models: true, Compact: true}
}

// Available is nil when the command is on this machine.
func (r *runtime) Available() error {
	_, err := proc.Lookup(r.o.Command[0], r.env())
	return err
}

func (r *runtime) env() []string {
	own := map[string]string{"PI_SKIP_VERSION_CHECK": "1"}
	for k, v := range r.o.Env {
		own[k] = v
	}
	return proc.Environment(own)
}

func (r *runtime) args(resume string) []string {
	args := append([]string(nil), r.o.Command...)
	args = append(args, "--mode", "rpc")
	if provider, id, ok := strings.Cut(r.o.Model, "/"); ok {
		args = append(args, "--provider", provider, "--model", id)
	} else if r.o.Model != "" {
		args = append(args, "--model", r.o.Model)
	}
	if r.o.SessionDir != "" {
		args = append(args, "--session-dir", r.o.SessionDir)
	}
	if resume != "" {
		args = append(args, "--session", resume)
	}
	return args
}

// grace is what the agent has between TERM and KILL.
const grace = 2 * time.Second

// Start runs pi and waits until it answers. A question that an extension asks
// while pi starts cannot be answered, since pi does not read its input yet: with
// a timeout it takes its default, without one pi exits, and Start fails.
func (r *runtime) Start(ctx context.Context, spec host.StartSpec, sink host.Sink) (host.Session, error) {
	resume := spec.Resume
	if _, err := os.Stat(resume); err != nil {
		resume = "" // it never came to be written, or is gone: a new one
	}
	p, err := proc.Start(ctx, proc.Command{Args: r.args(resume), Dir: spec.Cwd, Env: r.env(), Grace: grace, Go: sink.Go})
	if err != nil {
		return nil, err
	}
	s := newSession(p, spec, sink)
	sink.Go("pi reader", s.read)
	if err := s.begin(ctx, resume != ""); err != nil {
		s.mu.Lock()
		s.closed = true // Start delivers nothing more
		s.mu.Unlock()
		_ = s.Close()
		f := wire.AsFailure(err)
		if text := strings.TrimSpace(p.StderrTail()); text != "" {
			return nil, wire.Errorf(wire.CodeStartFailed, "%s: %s", f.Message, text)
		}
		return nil, wire.Errorf(wire.CodeStartFailed, "%s", f.Message)
	}
	return s, nil
}
