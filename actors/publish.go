package actors

import (
	"encoding/json"

	"github.com/troupe-run/troupe/wire"
)

// publish is the one place where a thread tells: it takes the observation into
// the record and the view, mints its seq, and delivers it to the feed, or to
// what is held until the first subscriber, or to nobody. The emitted tail says
// which.
func (s *state) publish(o wire.Observation) {
	if what, obs := s.transcript.apply(o); obs != nil {
		s.record(what, obs...)
	}
	s.applyToView(o)
	switch {
	case s.followers > 0:
		s.deliver(o, provLive)
	case s.hold(o):
		s.tell(&wire.ObservationFrame{Observation: o}, provHeld)
	default:
		s.tell(&wire.ObservationFrame{Observation: o}, provDropped)
	}
}

func (s *state) deliver(o wire.Observation, p provenance) {
	s.feedSeq++
	s.tell(&wire.ObservationFrame{Seq: s.feedSeq, Observation: o}, p)
}

// tell records a frame in the emitted tail, which lives with the session, and has it
// performed.
func (s *state) tell(f wire.Frame, p provenance) {
	name := ""
	if o, ok := f.(*wire.ObservationFrame); ok {
		name = string(o.Observation.Kind())
	}
	if s.session.attached {
		s.emitted.add(f.FrameType(), name, p, 1)
	}
	s.do(publish{f, p})
}

func (s *state) applyToView(o wire.Observation) {
	switch o := o.(type) {
	case *wire.Model:
		m := o.Model
		s.view.model, s.row.Model = &m, &m
		s.wants().row = true
	case *wire.PermissionMode:
		s.row.Mode = wire.PermissionModeState{Mode: o.Mode, Available: o.Available}
		s.wants().row = true
	case *wire.SessionUsageChanged:
		s.row.Usage = o.Usage
		s.touch()
	case *wire.Login:
		s.view.login = nil
		if o.State == wire.LoginWaiting {
			s.view.login = &wire.LoginInProgress{Provider: o.Provider, Since: o.Since}
		}
	case *wire.RunEnded:
		s.view.interrupted = nil
		if o.Outcome != wire.RunCompleted {
			s.view.interrupted = &wire.Interrupted{Reason: o.Outcome, At: o.At}
		}
	}
}

// setStatus moves the thread's lifecycle and tells followers, when it moved.
func (s *state) setStatus(live, busy bool) {
	if live == s.view.live && busy == s.view.busy {
		return
	}
	if busy && !s.view.busy {
		s.view.interrupted, s.row.Interrupted = nil, nil
	}
	s.view.live, s.view.busy = live, busy
	if !live {
		s.view.model = nil
		s.row.Usage.Context = nil
	}
	s.touch()
	prov := provDropped
	if s.followers > 0 {
		prov = provLive
	}
	s.tell(&wire.Status{Live: live, Busy: busy, Generation: s.row.Generation}, prov)
}

// held is what a session said before its first run while nobody had followed
// yet: the first follower's snapshot is base, then items are replayed once.
type held struct {
	base  *pin
	items []wire.Observation
	bytes int
}

// hold keeps o for the first subscriber and says whether it did. Over the bound
// the whole of it is given up: a replay with a hole would be worse than none.
func (s *state) hold(o wire.Observation) bool {
	if !s.session.attached || s.session.listened || s.session.prompted || s.held == nil {
		return false
	}
	b, err := wire.EncodeObservation(o)
	if err != nil || s.held.bytes+len(b) > s.limits.HeldBytes {
		s.giveUpHolding()
		return false
	}
	s.held.items = append(s.held.items, o)
	s.held.bytes += len(b)
	return true
}

func (s *state) giveUpHolding() {
	s.held = nil
	s.session.listened = true
}

// replayable is what the first subscriber is told: everything held but the
// questions that have settled meanwhile.
func (h *held) replayable() []wire.Observation {
	settled := map[string]bool{}
	for _, o := range h.items {
		if d, ok := o.(*wire.DialogSettled); ok {
			settled[d.ID] = true
		}
	}
	out := make([]wire.Observation, 0, len(h.items))
	for _, o := range h.items {
		switch o := o.(type) {
		case *wire.DialogSettled:
			continue
		case *wire.ExtensionUIRequest:
			if settled[o.ID] {
				continue
			}
		}
		out = append(out, o)
	}
	return out
}

func (s *state) subscribe(in *subscribeInput) {
	if s.followers >= s.limits.Followers {
		s.refuse(in.token, wire.CodeLimit, "this thread has %d followers, its limit", s.followers)
		return
	}
	p := s.pinNow(in.cwd)
	var replay []wire.Observation
	if s.held != nil {
		replay = s.held.replayable()
		if len(s.held.items) > 0 {
			base := *s.held.base
			base.base.Live, base.base.Busy = s.view.live, s.view.busy
			p = &base
		}
		s.held = nil
	}
	s.session.listened = true
	s.followers++
	s.do(attach{follower: in.follower, pin: p, alone: len(replay) > 0})
	s.answer(in.token, nil)
	for _, o := range replay {
		s.deliver(o, provReplayed)
	}
}

func (s *state) unsubscribe(in *unsubscribeInput) {
	if s.followers == 0 {
		return
	}
	s.followers--
	s.do(detach{in.follower})
	if s.followers == 0 {
		s.feedSeq = 0
		s.do(forgetFeed{})
	}
}

// unmapped is what becomes of an observation that breaks the vocabulary's rules: it
// is told, whole, as an event without a word; what cannot even be written as JSON of
// ours is told as text.
func unmapped(o wire.Observation) *wire.Unmapped {
	b, err := wire.EncodeObservation(o)
	if err != nil {
		b = asText(o)
	}
	return &wire.Unmapped{Event: b}
}

func asText(o wire.Observation) []byte {
	said, err := json.Marshal(o)
	if err != nil {
		said = []byte(err.Error())
	}
	b, err := json.Marshal(struct {
		Kind wire.Kind `json:"kind"`
		Said string    `json:"said"`
	}{o.Kind(), string(said)})
	if err != nil { // two strings
		panic(err)
	}
	return b
}
