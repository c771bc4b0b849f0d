package actors

import "github.com/troupe-run/troupe/wire"

// When a periodic snapshot is due: so many events, or bytes of them as encoded,
// since the last one.
const (
	snapshotEvents = 200
	snapshotBytes  = 256 << 10
)

// keptBytes bounds what a materialiser keeps of messages; a snapshot holds less.
const keptBytes = 2 * wire.MaxSnapshotBytes

// materialiser keeps the state that an entity's events make, for snapshots. Its
// memory is bounded: of a long thread it has the newest messages, and says so.
type materialiser struct {
	state  *wire.EntityState
	events int // since the last snapshot
	bytes  int
	grown  int // bytes since the state was last measured
}

// newMaterialiser goes on from s: the state of the latest snapshot, or that before
// the first event.
func newMaterialiser(s *wire.EntityState) *materialiser {
	m := &materialiser{state: wire.FoldEvents(s)}
	m.grown = m.state.Size()
	return m
}

// apply takes in an event that was minted, size bytes as encoded.
func (m *materialiser) apply(e *wire.Event, size int) {
	m.state.Apply(e)
	if _, ok := e.Payload.(*wire.StateSnapshot); ok {
		m.events, m.bytes = 0, 0
		return
	}
	m.events++
	m.bytes += size
	m.grown += size
	if m.grown > keptBytes {
		m.state.Trim(keptBytes / 2)
		m.grown = m.state.Size()
	}
}

// due says whether a periodic snapshot is due.
func (m *materialiser) due() bool { return m.events >= snapshotEvents || m.bytes >= snapshotBytes }

// snapshot is the payload of the next event, which is going to be at seq. The
// title is not of the timeline, so it comes in.
func (m *materialiser) snapshot(seq int64, reason wire.SnapshotReason, title string) (*wire.StateSnapshot, error) {
	s := *m.state
	s.Seq, s.Title = seq, title
	b, err := wire.EncodeState(&s, wire.MaxSnapshotBytes)
	if err != nil {
		return nil, err
	}
	return &wire.StateSnapshot{State: b, Reason: reason}, nil
}
