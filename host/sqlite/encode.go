package sqlite

import (
	"encoding/json"
	"hash/maphash"
	"strings"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// The stored forms. They are read leniently: a field that a later version adds is
// absent in what an earlier one wrote.

// storedWake is the body of a wake.
type storedWake struct {
	Kind      string         `json:"kind,omitempty"`
	Data      []byte         `json:"data,omitempty"`
	Text      string         `json:"text,omitempty"`
	Images    []storedImage  `json:"images,omitempty"`
	Admission wire.Admission `json:"admission,omitempty"`
	AtMicros  int64          `json:"at"`
}

type storedImage struct {
	MimeType string `json:"mimeType"`
	Data     string `json:"data"`
}

// storedSummary is a summary without wire's strict reading of it.
type storedSummary wire.Summary

// written is a commit as the committer takes it: encoded already, on the
// goroutine that handed it over.
type written struct {
	events  []host.Event
	put     []wake
	take    []string
	row     *row
	send    []delivery
	receipt *host.Receipt
	bytes   int // of it all, with what it costs to hold
}

type wake struct {
	message string
	body    []byte
}

type delivery struct {
	to   wire.ThreadID
	wake wake
}

type row struct {
	rowKeys
	title          string // in lower case
	summary, state []byte
	hash           uint64 // of the keys
}

// rowKeys are the columns that the catalog's indexes hold. They are written anew
// only when their hash says that one changed.
type rowKeys struct {
	created                   int64
	full, typ, status, parent string
}

// overhead is what an entry, an event or a wake costs beside its bytes.
const overhead = 128

func write(b host.Batch) (w written, err error) {
	w = written{events: b.Events, take: b.Take, receipt: b.Receipt, bytes: overhead}
	for _, e := range b.Events {
		w.bytes += overhead + len(e.Payload)
	}
	for _, k := range b.Put {
		e, err := encodeWake(k)
		if err != nil {
			return written{}, err
		}
		w.put, w.bytes = append(w.put, e), w.bytes+overhead+len(e.body)
	}
	for _, d := range b.Send {
		e, err := encodeWake(d.Wake)
		if err != nil {
			return written{}, err
		}
		w.send, w.bytes = append(w.send, delivery{d.To, e}), w.bytes+overhead+len(e.body)
	}
	if r := b.Receipt; r != nil {
		w.bytes += overhead + len(r.Key) + len(r.Digest) + len(r.Answer)
	}
	if b.Row != nil {
		if w.row, err = encodeRow(b.Row); err != nil {
			return written{}, err
		}
		w.bytes += overhead + len(w.row.summary) + len(w.row.state)
	}
	return w, nil
}

func encodeWake(w host.Wake) (wake, error) {
	s := storedWake{Kind: w.Kind, Data: w.Data, Text: w.Text, Admission: w.Admission, AtMicros: w.At.UnixMicro()}
	for _, i := range w.Images {
		s.Images = append(s.Images, storedImage(i))
	}
	body, err := json.Marshal(&s)
	return wake{w.MessageID, body}, err
}

func decodeWake(message string, body []byte) (host.Wake, error) {
	var s storedWake
	if err := json.Unmarshal(body, &s); err != nil {
		return host.Wake{}, err
	}
	w := host.Wake{
		MessageID: message, Kind: s.Kind, Data: s.Data, Text: s.Text, Admission: s.Admission,
		At: time.UnixMicro(s.AtMicros).UTC(),
	}
	for _, i := range s.Images {
		w.Images = append(w.Images, wire.Image(i))
	}
	return w, nil
}

var seed = maphash.MakeSeed()

func encodeRow(r *host.Row) (*row, error) {
	summary, err := json.Marshal((*storedSummary)(&r.Summary))
	if err != nil {
		return nil, err
	}
	s, p := &r.Summary, host.PlaceOf(*r)
	out := &row{
		rowKeys: rowKeys{created: p.CreatedMs, full: p.ID, typ: s.Type, status: string(s.Status), parent: s.Parent},
		title:   strings.ToLower(s.Title), summary: summary, state: r.State,
	}
	out.hash = maphash.Comparable(seed, out.rowKeys)
	return out, nil
}

func decodeRow(summary, state []byte) (host.Row, error) {
	r := host.Row{State: state}
	err := json.Unmarshal(summary, (*storedSummary)(&r.Summary))
	return r, err
}
