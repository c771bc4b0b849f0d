package load

import "bytes"

// What follows reads the server's own bytes without decoding them: thousands of
// followers are read beside the server, on its cores. What it cannot read it says,
// and the fully checked followers decode everything.

const (
	snapshotHead    = `data: {"type":"snapshot",`
	observationHead = `data: {"type":"observation","seq":`
	statusHead      = `data: {"type":"status",`
	kindHead        = `,"observation":{"kind":"`
	deltaHead       = kindHead + `text-delta","messageId":"`
	deltaText       = `","delta":"`
	settledHead     = kindHead + `settled","generation":`
	endedHead       = ": ended"
	asOfHead        = `"asOfSeq":`
)

// eventKind is what an event of a follow is.
type eventKind int

const (
	otherEvent eventKind = iota
	commentEvent
	snapshotEvent
	observationEvent
	statusEvent
)

func kindOf(event []byte) eventKind {
	switch {
	case len(event) > 0 && event[0] == ':':
		return commentEvent
	case hasPrefix(event, observationHead):
		return observationEvent
	case hasPrefix(event, statusHead):
		return statusEvent
	case hasPrefix(event, snapshotHead):
		return snapshotEvent
	default:
		return otherEvent
	}
}

func hasPrefix(b []byte, s string) bool { return len(b) >= len(s) && string(b[:len(s)]) == s }

// number reads digits; rest is what follows them.
func number(b []byte) (n uint64, rest []byte, ok bool) {
	i := 0
	for i < len(b) && b[i]-'0' <= 9 {
		n = n*10 + uint64(b[i]-'0')
		i++
	}
	return n, b[i:], i > 0 && i < 20
}

// seqOf is the seq of an observation's event, and what follows it.
func seqOf(event []byte) (seq uint64, rest []byte, ok bool) {
	return number(event[len(observationHead):])
}

// asOf finds a snapshot's asOfSeq in its first bytes.
func asOf(event []byte) (uint64, bool) {
	i := bytes.Index(event, []byte(asOfHead))
	if i < 0 {
		return 0, false
	}
	n, rest, ok := number(event[i+len(asOfHead):])
	return n, ok && len(rest) > 0
}

// stampLen is the length of a paced delta's time, in digits.
const stampLen = 19

// deltaOf is the text of a text delta, from what follows its seq.
func deltaOf(rest []byte) (text []byte, ok bool) {
	if !hasPrefix(rest, deltaHead) {
		return nil, false
	}
	rest = rest[len(deltaHead):]
	i := bytes.IndexByte(rest, '"')
	if i < 0 || !hasPrefix(rest[i:], deltaText) {
		return nil, false
	}
	return rest[i+len(deltaText):], true
}

// paced reads the head of a delta that the directive pace said: when it was due,
// and its index.
func paced(text []byte) (due int64, index uint64, ok bool) {
	if len(text) < stampLen+3 || text[stampLen] != ' ' {
		return 0, 0, false
	}
	n, rest, ok := number(text[:stampLen])
	if !ok || len(rest) > 0 {
		return 0, 0, false
	}
	index, rest, ok = number(text[stampLen+1:])
	return int64(n), index, ok && len(rest) > 0 && rest[0] == ' '
}

// settledOf is the generation of a settled event, from what follows its seq.
func settledOf(rest []byte) (generation uint64, ok bool) {
	if !hasPrefix(rest, settledHead) {
		return 0, false
	}
	generation, _, ok = number(rest[len(settledHead):])
	return generation, ok
}

// alphabet is what a paced delta is filled with: byte i is alphabet[i%62].
const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// filled says whether text, one whole delta, ends in its filler.
func filled(text string) bool {
	_, index, ok := paced([]byte(text[:min(len(text), 64)]))
	if !ok {
		return false
	}
	from := stampLen + 2
	for ; index >= 10; index /= 10 {
		from++
	}
	for i := from + 1; i < len(text); i++ {
		if text[i] != alphabet[i%len(alphabet)] {
			return false
		}
	}
	return true
}
