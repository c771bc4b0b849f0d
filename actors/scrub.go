package actors

import (
	"bytes"
	"strings"

	"github.com/troupe-run/troupe/wire"
)

// scrubber keeps the secrets that a session was given out of what it says: they
// are answers, so they belong in no feed, tail or record. It lives with the
// session. Text comes in pieces, so the end of one that may be the beginning of a
// secret is held back until the next one shows.
type scrubber struct {
	secrets []wire.Secret
	held    map[heldKey]string
}

type heldKey struct {
	message  string
	thinking bool
}

// minSecret is the shortest answer that is scrubbed: below it ordinary text would
// be blacked out with it.
const minSecret = 4

func (s *scrubber) learn(v wire.Secret) {
	if len(v.Reveal()) >= minSecret {
		s.secrets = append(s.secrets, v)
	}
}

// scrub is what may be told of o: it, or more, or less, in order.
func (s *scrubber) scrub(o wire.Observation) []wire.Observation {
	if len(s.secrets) == 0 {
		return []wire.Observation{o}
	}
	switch o := o.(type) {
	case *wire.TextDelta:
		out := s.flush(o.MessageID, heldKey{o.MessageID, false})
		if text := s.stream(heldKey{o.MessageID, false}, o.Delta); text != "" || o.Usage != nil {
			out = append(out, &wire.TextDelta{MessageID: o.MessageID, Delta: text, Usage: o.Usage})
		}
		return out
	case *wire.ThinkingDelta:
		out := s.flush(o.MessageID, heldKey{o.MessageID, true})
		if text := s.stream(heldKey{o.MessageID, true}, o.Delta); text != "" {
			out = append(out, &wire.ThinkingDelta{MessageID: o.MessageID, Delta: text})
		}
		return out
	case *wire.MessageEnd:
		return append(s.flush(o.MessageID, heldKey{}), s.whole(o))
	case *wire.ToolCall:
		return append(s.flush(o.MessageID, heldKey{}), s.whole(o))
	}
	return []wire.Observation{s.whole(o)}
}

// stream scrubs a piece of growing text.
func (s *scrubber) stream(k heldKey, delta string) string {
	text := s.held[k] + delta
	for _, v := range s.secrets {
		text = strings.ReplaceAll(text, v.Reveal(), wire.Redacted)
	}
	keep := 0
	for _, v := range s.secrets {
		keep = max(keep, overlap(text, v.Reveal()))
	}
	delete(s.held, k)
	if keep > 0 {
		if s.held == nil {
			s.held = map[heldKey]string{}
		}
		s.held[k] = text[len(text)-keep:]
	}
	return text[:len(text)-keep]
}

// overlap is how long the end of text is that a secret may begin with.
func overlap(text, secret string) int {
	for n := min(len(text), len(secret)-1); n > 0; n-- {
		if strings.HasSuffix(text, secret[:n]) {
			return n
		}
	}
	return 0
}

// flush gives out what was held back of a message, but for one kind of its text:
// it was not a secret after all.
func (s *scrubber) flush(message string, but heldKey) []wire.Observation {
	var out []wire.Observation
	for _, thinking := range []bool{false, true} {
		k := heldKey{message, thinking}
		text := s.held[k]
		if text == "" || k == but {
			continue
		}
		delete(s.held, k)
		if thinking {
			out = append(out, &wire.ThinkingDelta{MessageID: message, Delta: text})
		} else {
			out = append(out, &wire.TextDelta{MessageID: message, Delta: text})
		}
	}
	return out
}

// whole scrubs an observation that is told at once, wherever a secret stands in
// it.
func (s *scrubber) whole(o wire.Observation) wire.Observation {
	b, err := wire.EncodeObservation(o)
	if err != nil {
		return o
	}
	clean := b
	for _, v := range s.secrets {
		quoted, err := wire.Encode(v.Reveal())
		if err != nil || len(quoted) < 2 {
			continue
		}
		clean = bytes.ReplaceAll(clean, quoted[1:len(quoted)-1], []byte(wire.Redacted))
	}
	if bytes.Equal(b, clean) {
		return o
	}
	if back, err := wire.DecodeObservation(clean); err == nil {
		return back
	}
	return &wire.Unmapped{Event: []byte(`"` + wire.Redacted + `"`)}
}
