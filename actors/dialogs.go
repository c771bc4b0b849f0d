package actors

import (
	"math"
	"slices"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// dialogs are the questions a thread waits on, oldest first. refusing is the
// window from a stop until its run has settled: every new question gets its
// cancel value at once and nothing is published.
type dialogs struct {
	open     []openDialog
	refusing bool
}

type openDialog struct {
	id     string
	spec   wire.DialogSpec
	origin wire.Origin
}

func (d *dialogs) find(id string) (openDialog, bool) {
	for _, o := range d.open {
		if o.id == id {
			return o, true
		}
	}
	return openDialog{}, false
}

// list is the open questions as a snapshot shows them.
func (d *dialogs) list() []wire.OpenDialog {
	out := make([]wire.OpenDialog, 0, len(d.open))
	for _, o := range d.open {
		out = append(out, wire.OpenDialog{ID: o.id, Dialog: o.spec})
	}
	return out
}

// ask takes a question in: it is published and waits, or, in the window of a
// stop, over the bound or out of the schema, it gets its cancel value at once.
func (s *state) ask(o *wire.ExtensionUIRequest) {
	switch {
	case s.dialogs.refusing:
		s.cancelValue(o.ID, wire.DialogAborted)
		return
	case len(s.dialogs.open) >= s.limits.OpenDialogs || wire.ValidateDialog(o.Dialog) != nil || !sayable(o):
		s.publish(unmapped(o))
		s.cancelValue(o.ID, wire.DialogCancelled)
		return
	}
	if _, twice := s.dialogs.find(o.ID); twice {
		s.publish(unmapped(o))
		return
	}
	s.dialogs.open = append(s.dialogs.open, openDialog{id: o.ID, spec: o.Dialog, origin: o.Origin})
	s.publish(o)
	if ms := o.Dialog.TimeoutMs(); ms > 0 {
		after := time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
		s.do(arm{timer: timerID{timerDialog, o.ID}, after: after})
	}
	s.touch()
}

// finish is the one place where a question stops waiting. The first ending wins:
// it takes the pending entry, gives the asker its value, tells every follower.
// Any later one finds nothing, and learns so.
func (s *state) finish(id string, outcome wire.DialogOutcome, by string, arm wire.AnswerArm) bool {
	i := slices.IndexFunc(s.dialogs.open, func(o openDialog) bool { return o.id == id })
	if i < 0 {
		return false
	}
	d := s.dialogs.open[i]
	s.dialogs.open = slices.Delete(slices.Clone(s.dialogs.open), i, i+1)
	if d.spec.TimeoutMs() > 0 {
		s.do(disarm{timerID{timerDialog, id}})
	}
	if outcome != wire.DialogAnswered {
		arm = nil
	}
	if in, ok := d.spec.(*wire.InputDialog); ok && in.Secret {
		if v, ok := arm.(*wire.ValueArm); ok {
			s.session.scrub.learn(v.Value)
		}
	}
	s.do(call{s.session.number, &callAnswer{host.Reply{ID: id, Outcome: outcome, Arm: arm}}})
	s.publish(&wire.DialogSettled{ID: id, Outcome: outcome, By: by})
	s.touch()
	return true
}

// finishAll settles every open question that which selects, oldest first, and
// says which.
func (s *state) finishAll(outcome wire.DialogOutcome, by string, which func(openDialog) bool) []string {
	ids := []string{}
	for _, d := range slices.Clone(s.dialogs.open) {
		if which(d) && s.finish(d.id, outcome, by, nil) {
			ids = append(ids, d.id)
		}
	}
	return ids
}

func everyDialog(openDialog) bool { return true }

func askedInRun(d openDialog) bool { return d.origin == wire.OriginRun }

// cancelValue gives an asker that was never shown its cancel value.
func (s *state) cancelValue(id string, outcome wire.DialogOutcome) {
	s.do(call{s.session.number, &callAnswer{host.Reply{ID: id, Outcome: outcome}}})
}
