package hosttest

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// Check says what is wrong with a session's reports, in their order, under the
// contract of host.Session and of the observations; nil when nothing is. It is
// what the suite holds every session to, and fits recorded sequences too.
func Check(reports []host.Report) error {
	c := checker{open: map[string]wire.Role{}, seen: map[string]bool{}, over: map[uint64]bool{}, steered: map[string]bool{}}
	var all error
	for i, r := range reports {
		if err := c.report(r); err != nil {
			all = errors.Join(all, fmt.Errorf("report %d, %s: %w", i, tell(r), err))
		}
	}
	return all
}

type checker struct {
	open    map[string]wire.Role // messages
	seen    map[string]bool      // messages, ended ones too
	over    map[uint64]bool      // runs
	steered map[string]bool
	exited  bool
	began   bool // an observation of origin run was seen
}

func (c *checker) report(r host.Report) error {
	if c.exited {
		return errors.New("comes after the exit, the last report")
	}
	switch r := r.(type) {
	case *host.Observed:
		return c.observed(r)
	case *host.Steered:
		if c.steered[r.MessageID] {
			return errors.New("was told before")
		}
		c.steered[r.MessageID] = true
	case *host.RunOver:
		return c.runOver(r)
	case *host.Exited:
		c.exited = true
		if (r.Code == -1) != (r.Signal != "") {
			return errors.New("the code is -1 exactly when a signal ended it")
		}
	case *host.Crashed:
		return errors.New("a goroutine of the session panicked")
	}
	return nil
}

func (c *checker) runOver(r *host.RunOver) error {
	if c.over[r.Run] {
		return errors.New("this run was over before")
	}
	c.over[r.Run] = true
	switch r.Outcome {
	case wire.RunCompleted, wire.RunAborted:
		if r.Failure != nil {
			return errors.New("a failure beside another outcome")
		}
	case wire.RunFailed:
		if r.Failure == nil || r.Failure.Code == "" {
			return errors.New("failed without a failure")
		}
	default:
		return errors.New("an outcome outside the closed set")
	}
	for id := range c.open {
		return fmt.Errorf("message %q is still open", id)
	}
	return nil
}

func (c *checker) observed(r *host.Observed) error {
	switch {
	case r.Origin == wire.OriginRun:
		c.began = true
	case r.Origin != wire.OriginSessionStart:
		return errors.New("an origin outside the closed set")
	case c.began:
		return errors.New("an origin session-start after one of a run")
	}
	if r.Bytes < 0 {
		return errors.New("a negative size")
	}
	if err := crosses(r.Observation); err != nil {
		return err
	}
	switch o := r.Observation.(type) {
	case *wire.MessageStart:
		if o.MessageID == "" {
			return errors.New("a message without an id")
		}
		c.open[o.MessageID], c.seen[o.MessageID] = o.Role, true
	case *wire.MessageEnd:
		role, ok := c.open[o.MessageID]
		if !ok {
			return errors.New("ends a message that is not open")
		}
		if role != o.Role {
			return fmt.Errorf("was opened as %s", role)
		}
		delete(c.open, o.MessageID)
	case *wire.TextDelta:
		return c.within(o.MessageID)
	case *wire.ThinkingDelta:
		return c.within(o.MessageID)
	case *wire.ToolCall:
		if o.MessageID != "" && !c.seen[o.MessageID] {
			return fmt.Errorf("message %q was never opened", o.MessageID)
		}
	case *wire.ExtensionUIRequest:
		if o.Origin != r.Origin {
			return errors.New("its own origin differs from its delivery's")
		}
		if o.Blocking {
			return wire.ValidateDialog(o.Dialog)
		}
	case *wire.Queue, *wire.PromptRejected, *wire.RunEnded, *wire.Settled, *wire.PermissionModeRejected, *wire.Login:
		return errors.New("only the thread or the host produces this kind")
	}
	return nil
}

func (c *checker) within(message string) error {
	if _, ok := c.open[message]; !ok {
		return fmt.Errorf("message %q is not open", message)
	}
	return nil
}

// crosses says why o does not survive the strict codec.
func crosses(o wire.Observation) error {
	js, err := wire.EncodeObservation(o)
	if err != nil {
		return err
	}
	back, err := wire.DecodeObservation(js)
	if err != nil {
		return err
	}
	again, err := wire.EncodeObservation(back)
	if err == nil && !bytes.Equal(js, again) {
		return fmt.Errorf("came back as %s", again)
	}
	return err
}
