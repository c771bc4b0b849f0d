package actors

import (
	"context"
	"slices"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// pin is a thread at one instant, immutable: everything a snapshot says but the
// history up to head, which is immutable too and is read from the journal outside
// the actor. base has no messages.
type pin struct {
	base wire.Snapshot
	head int64         // the committed head T; -1 when nothing is recorded
	tail []record      // the records above T
	open []openMessage // the open messages, as prefixes
	size int64         // about what it encodes to, in bytes
}

// assemble is the snapshot that p stands for: the history up to T, the records
// above it, then the open messages, all by the rules of wire.Fold.
func (p *pin) assemble(ctx context.Context, id wire.ThreadID, j host.Journal) (*wire.Snapshot, error) {
	s := &wire.Snapshot{Messages: []wire.Message{}}
	if p.head >= 0 {
		var bad error
		err := j.Read(ctx, id, 0, p.head, func(e host.Event) bool {
			r, err := decodeRecord(e)
			if err != nil {
				bad = err
				return false
			}
			r.fold(s)
			return true
		})
		if err != nil {
			return nil, err
		}
		if bad != nil {
			return nil, bad
		}
	}
	for _, r := range p.tail {
		r.fold(s)
	}
	for _, m := range p.open {
		s.Apply(&wire.MessageStart{MessageID: m.id, Role: m.role})
		for _, part := range m.parts {
			s.Apply(part.observation(m.id))
		}
	}
	out := p.base
	out.Messages = s.Messages
	if out.Interrupted != nil && s.Interrupted != nil {
		in := *out.Interrupted
		in.LastMessageID = s.Interrupted.LastMessageID // the record knows where the run stopped
		out.Interrupted = &in
	}
	return &out, nil
}

func (r record) fold(s *wire.Snapshot) {
	for _, o := range r.obs {
		s.Apply(o)
	}
}

// pinNow is the thread as it is now.
func (s *state) pinNow(cwd string) *pin {
	b := wire.Snapshot{
		ThreadID:       s.id.String(),
		AsOfSeq:        s.feedSeq,
		Live:           s.view.live,
		Busy:           s.view.busy,
		Generation:     s.row.Generation,
		PermissionMode: s.row.Mode,
		Cwd:            s.row.Cwd,
		Usage:          s.row.Usage,
		OpenDialogs:    s.dialogs.list(),
		Interrupted:    s.view.interrupted,
		Login:          s.view.login,
	}
	b.Model, b.RecordedModel = s.models()
	if !s.exists {
		b.Cwd = cwd
	}
	tail := slices.Clone(s.transcript.tail)
	if s.batch != nil {
		tail = append(tail, s.batch.records...)
	}
	p := &pin{base: b, head: s.committed, tail: tail, open: s.transcript.pinOpen(), size: s.row.Size}
	for _, m := range p.open {
		for _, part := range m.parts {
			p.size += part.weigh()
		}
	}
	return p
}

// models is what a snapshot says of the model: the session's while live, else
// the recorded one.
func (s *state) models() (live, recorded *wire.ModelState) {
	if s.view.live {
		return s.view.model, nil
	}
	return nil, s.row.Model
}
