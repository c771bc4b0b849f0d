package load

import "github.com/troupe-run/troupe/wire"

// recording is what the server published in a run: the baseline is fed with it.
type recording struct {
	snapshot []byte // as of its begin, as an event
	bytes    []byte
	lengths  []uint32
	over     bool // it was too large
}

// maxRecording bounds a recording, in bytes.
const maxRecording = 512 << 20

func newRecording(asOf *wire.Snapshot) (*recording, error) {
	b, err := wire.AppendSSE(nil, asOf)
	return &recording{snapshot: b}, err
}

func (r *recording) add(event []byte) {
	if r.over || len(r.bytes)+len(event) > maxRecording {
		r.over = true
		return
	}
	r.bytes = append(r.bytes, event...)
	r.lengths = append(r.lengths, uint32(len(event)))
}
