package scripted

import (
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/troupe-run/troupe/wire"
)

// openMessage makes sure that there is a message to speak in.
func (r *run) openMessage() *end {
	if r.current != "" {
		return nil
	}
	id, e := r.startMessage()
	r.current, r.texted = id, false
	return e
}

// startMessage opens a message, in a turn, and tells the results that were to
// come late: after the next message began.
func (r *run) startMessage() (id string, e *end) {
	if r.depth == 0 && !r.turning {
		if e := r.tell(&wire.TurnStart{Turn: r.turn + 1}); e != nil {
			return "", e
		}
		r.turn++
		r.turning = true
	}
	id = r.s.newID(messages)
	if e := r.tell(&wire.MessageStart{MessageID: id, Role: wire.RoleAssistant}); e != nil {
		return "", e
	}
	r.open = append(r.open, id)
	for len(r.late) > 0 {
		c := r.late[0]
		if e := r.result(c, c.result); e != nil {
			return id, e
		}
		r.late = r.late[1:]
	}
	return id, nil
}

// endOne ends an open message; the tokens that `usage:` counted are its own.
func (r *run) endOne(id, reason string) *end {
	if e := r.halted(); e != nil {
		return e
	}
	if !r.put(&wire.MessageEnd{MessageID: id, Role: wire.RoleAssistant, StopReason: reason, Usage: r.spend()}) {
		return goneEnd
	}
	r.open = slices.DeleteFunc(r.open, func(o string) bool { return o == id })
	return nil
}

func (r *run) endMessage(reason string) *end {
	if r.current == "" {
		return nil
	}
	id := r.current
	r.current, r.texted = "", false
	return r.endOne(id, reason)
}

// endTurn ends the message and, unless it is one steered into another, its turn.
func (r *run) endTurn(reason string) *end {
	if e := r.endMessage(reason); e != nil {
		return e
	}
	if r.depth > 0 || !r.turning {
		return nil
	}
	if e := r.tell(&wire.TurnEnd{Turn: r.turn}); e != nil {
		return e
	}
	r.turning = false
	return r.tell(r.s.usageTold())
}

// spend takes what `usage:` counted.
func (r *run) spend() *wire.Usage {
	u := r.spending
	r.s.spend(u)
	r.spending, r.spent = wire.Usage{}, false
	return &u
}

// begin is the message that a text or a thought goes into: a new one, in a new
// turn, when the current one has its text.
func (r *run) begin(text bool) *end {
	if r.texted {
		if e := r.endTurn("end"); e != nil {
			return e
		}
	}
	if e := r.openMessage(); e != nil {
		return e
	}
	r.texted = text
	return nil
}

// delta tells a piece of the current message's text, and lets in what was steered.
func (r *run) delta(text string) *end {
	if e := r.tell(&wire.TextDelta{MessageID: r.current, Delta: text}); e != nil {
		return e
	}
	if r.poked() {
		return r.steerInto()
	}
	return nil
}

func (r *run) speak(text string) *end {
	if e := r.begin(true); e != nil {
		return e
	}
	for piece := range pieces(text) {
		if e := r.delta(piece); e != nil {
			return e
		}
	}
	return nil
}

type say struct{ text string }

func (d say) play(r *run) *end { return r.speak(d.text) }

type think struct{ text string }

func (d think) play(r *run) *end {
	if e := r.begin(false); e != nil {
		return e
	}
	for piece := range pieces(d.text) {
		if e := r.tell(&wire.ThinkingDelta{MessageID: r.current, Delta: piece}); e != nil {
			return e
		}
	}
	return nil
}

const tick = 50 * time.Millisecond

type slow struct{ n int }

func (d slow) play(r *run) *end {
	if e := r.begin(true); e != nil {
		return e
	}
	for i := 1; i <= d.n; i++ {
		if i > 1 {
			if e := r.pause(tick); e != nil {
				return e
			}
		}
		if e := r.delta(strconv.Itoa(i) + " "); e != nil {
			return e
		}
	}
	return nil
}

type burst struct{ n, size int }

// alphabet is where a burst takes its text from. A start that moves on makes
// neighbouring deltas differ, so that a lost one shows.
const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

func (d burst) play(r *run) *end {
	if e := r.begin(true); e != nil {
		return e
	}
	text := repeat(alphabet, d.size+len(alphabet))
	for i := range d.n {
		from := i % len(alphabet)
		if e := r.delta(text[from : from+d.size]); e != nil {
			return e
		}
	}
	return nil
}

// repeat is n bytes of pattern, over and over.
func repeat(pattern string, n int) string {
	b := make([]byte, n)
	for i := 0; i < n; i += copy(b[i:], pattern) {
	}
	return string(b)
}

type overlap struct{ texts []string }

// play opens a message for each text, lets them speak in turns, and ends them in
// the opposite order.
func (d overlap) play(r *run) *end {
	if e := r.endMessage("end"); e != nil {
		return e
	}
	ids := make([]string, len(d.texts))
	rest := make([][]string, len(d.texts))
	for i, text := range d.texts {
		id, e := r.startMessage()
		if e != nil {
			return e
		}
		ids[i], rest[i] = id, slices.Collect(pieces(text))
	}
	for told := true; told; {
		told = false
		for i, id := range ids {
			if len(rest[i]) == 0 {
				continue
			}
			if e := r.tell(&wire.TextDelta{MessageID: id, Delta: rest[i][0]}); e != nil {
				return e
			}
			rest[i], told = rest[i][1:], true
		}
	}
	for _, id := range slices.Backward(ids) {
		if e := r.endOne(id, "end"); e != nil {
			return e
		}
	}
	return r.endTurn("end")
}

// The least size of a piece, in bytes, and the most pieces of one text.
const (
	pieceSize = 16
	maxPieces = 64
)

// pieces cuts a text as an agent would stream it, never within a rune.
func pieces(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		size := max(pieceSize, (len(text)+maxPieces-1)/maxPieces)
		for text != "" {
			n := min(size, len(text))
			for n < len(text) && !utf8.RuneStart(text[n]) {
				n++
			}
			if !yield(text[:n]) {
				return
			}
			text = text[n:]
		}
	}
}
