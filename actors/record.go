package actors

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// record is one entry of a thread's durable record. Its observations are the
// compacted form of what was published: folded in order of seq they give the
// transcript (wire.Fold), so that history needs no rules of its own. A record is
// immutable.
type record struct {
	seq  int64
	at   time.Time
	what string
	obs  []wire.Observation
}

// The types of records.
const (
	recordCreated    = "created"     // seq 0, and nothing else is
	recordRunStarted = "run-started" // with the taking of its wake
	recordMessage    = "message"     // a message, whole, when it ended
	recordTouched    = "touched"     // what reached an ended message, or stands alone
	recordRunEnded   = "run-ended"
)

// encodeRecord is r as the journal keeps it.
func encodeRecord(r record) (host.Event, error) {
	raw := make([]json.RawMessage, 0, len(r.obs))
	for _, o := range r.obs {
		b, err := wire.EncodeObservation(o)
		if err != nil {
			return host.Event{}, fmt.Errorf("encode %s of record %d: %w", o.Kind(), r.seq, err)
		}
		raw = append(raw, b)
	}
	payload, err := json.Marshal(raw)
	if err != nil {
		return host.Event{}, fmt.Errorf("encode record %d: %w", r.seq, err)
	}
	return host.Event{Seq: r.seq, At: r.at, Type: r.what, Payload: payload}, nil
}

// decodeRecord reads what encodeRecord wrote.
func decodeRecord(e host.Event) (record, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(e.Payload, &raw); err != nil {
		return record{}, fmt.Errorf("decode record %d: %w", e.Seq, err)
	}
	r := record{seq: e.Seq, at: e.At, what: e.Type}
	for _, b := range raw {
		o, err := wire.DecodeObservation(b)
		if err != nil {
			return record{}, fmt.Errorf("decode record %d: %w", e.Seq, err)
		}
		r.obs = append(r.obs, o)
	}
	return r, nil
}

// weigh is about what an observation takes in a snapshot, in bytes.
func weigh(o wire.Observation) int64 {
	const frame = 64
	n := 0
	switch o := o.(type) {
	case *wire.TextDelta:
		n = len(o.Delta)
	case *wire.ThinkingDelta:
		n = len(o.Delta)
	case *wire.ToolCall:
		n = len(o.Input)
	case *wire.ToolResult:
		n = len(o.Text)
		if o.Descriptor != nil {
			for _, p := range o.Descriptor.Props {
				n += len(p)
			}
		}
	case *wire.CustomEntry:
		n = len(o.Data)
	case *wire.MessageEnd:
		if o.Text != nil {
			n = len(*o.Text)
		}
		for _, i := range o.Images {
			n += len(i.Data)
		}
	}
	return int64(n + frame)
}

func (p openPart) weigh() int64 {
	switch {
	case p.call != nil:
		return weigh(p.call)
	case p.result != nil:
		return weigh(p.result)
	}
	return int64(len(p.text))
}

// rowState is the thread's own state in its catalog row: what a new incarnation
// must know and cannot derive from the waiting wakes.
type rowState struct {
	Title       string                   `json:"title"`
	Tags        map[string]string        `json:"tags"`
	Parent      string                   `json:"parent,omitempty"`
	Cwd         string                   `json:"cwd"`
	CreatedAt   time.Time                `json:"createdAt"`
	UpdatedAt   time.Time                `json:"updatedAt"`
	Head        int64                    `json:"head"`
	Generation  uint64                   `json:"generation"`
	OpenRun     bool                     `json:"openRun,omitempty"` // run Generation has begun and not ended
	Mode        wire.PermissionModeState `json:"mode"`
	Model       *wire.ModelState         `json:"model,omitempty"` // the last one it ran on
	Usage       wire.SessionUsage        `json:"usage"`
	Interrupted *wire.Interrupted        `json:"interrupted,omitempty"`
	Resume      string                   `json:"resume,omitempty"`
	Failed      bool                     `json:"failed,omitempty"`
	Size        int64                    `json:"size,omitempty"`   // of the record, about: in bytes of what was said
	Recent      []string                 `json:"recent,omitempty"` // message ids of the newest prompts, oldest first
}
