package actors

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// world drives a state with no actor around it: a journal whose acknowledgements
// lag by up to maxLag commits, a session that says anything in any order, and a
// follower that has been there from the beginning. Whatever it folds must be what
// any later pin assembles, however late that is read.
type world struct {
	t    *testing.T
	rnd  *rand.Rand
	s    *state
	now  time.Time
	lag  int
	next int // for ids

	journal []host.Event   // durable
	under   [][]host.Event // accepted, not acknowledged
	facts   []input        // on their way back

	frames  []wire.Frame // since the first snapshot
	seq     uint64
	first   *wire.Snapshot
	pins    []laterPin
	pending map[token]bool
	lastTok token

	open     []string        // ids of messages the session believes open
	calls    []string        // calls without a complete result
	asked    map[string]bool // questions shown and not settled
	ended    map[uint64]int
	settled  map[uint64]int
	runs     map[uint64]bool
	promptID []string
	session  uint64
	live     bool
	inRun    uint64

	onCommit    func(commit) // for worlds on top of this one
	onAck       func()
	onReply     func(reply)
	onWithdrawn func(string)
}

// laterPin is read only after more has been committed.
type laterPin struct {
	pin    *pin
	frames int
}

func newWorld(t *testing.T, seed uint64, lag int) *world {
	l := DefaultLimits()
	w := &world{
		t: t, rnd: rand.New(rand.NewPCG(seed, 7)), lag: lag, now: time.Unix(1_700_000_000, 0),
		pending: map[token]bool{}, asked: map[string]bool{}, ended: map[uint64]int{},
		settled: map[uint64]int{}, runs: map[uint64]bool{},
	}
	w.s = newState(wire.ThreadID{Type: "a", ID: "b"}, &l, true)
	w.feed(&loadedInput{opened: host.Opened{Epoch: 1}})
	f := newFollower(nil, wire.ThreadID{}, FollowOptions{})
	w.ask(func(tok token) input { return &subscribeInput{token: tok, follower: f} })
	return w
}

func (w *world) ask(make func(token) input) {
	w.lastTok++
	w.pending[w.lastTok] = true
	w.feed(make(w.lastTok))
}

func (w *world) feed(in input) {
	w.now = w.now.Add(time.Duration(w.rnd.IntN(1000)) * time.Microsecond)
	for _, e := range step(w.s, w.now, in) {
		w.perform(e)
	}
}

func (w *world) perform(e effect) {
	switch e := e.(type) {
	case publish:
		if e.prov == provLive || e.prov == provReplayed {
			w.published(e.frame)
		}
	case attach:
		if w.first == nil {
			w.first = w.assemble(e.pin)
			return
		}
		w.pins = append(w.pins, laterPin{e.pin, len(w.frames)})
	case commit:
		var events []host.Event
		for i, r := range e.records {
			ev, err := encodeRecord(r)
			if err != nil {
				w.t.Fatal(err)
			}
			if r.seq != e.before+1+int64(i) {
				w.t.Fatalf("record %d in a batch behind %d at place %d", r.seq, e.before, i)
			}
			events = append(events, ev)
		}
		if _, err := json.Marshal(e.row); err != nil {
			w.t.Fatal(err)
		}
		w.under = append(w.under, events)
		if w.onCommit != nil {
			w.onCommit(e)
		}
	case startSession:
		w.session = e.session
		w.facts = append(w.facts, &sessionStartedInput{session: e.session, info: host.SessionInfo{Model: &wire.ModelState{ID: "m"}}})
	case call:
		w.called(e)
	case kill:
		w.facts = append(w.facts, &killedInput{session: e.session}, &exitedInput{session: e.session, exit: &host.Exited{Code: -1}})
	case dispose:
		w.live, w.inRun, w.open = false, 0, nil
		w.facts = append(w.facts, &sessionClosedInput{session: e.session})
	case reply:
		if !w.pending[e.token] {
			w.t.Fatalf("reply %d answered twice or never asked", e.token)
		}
		delete(w.pending, e.token)
		if w.onReply != nil {
			w.onReply(e)
		}
	}
}

func (w *world) called(e call) {
	switch c := e.call.(type) {
	case *callPrompt:
		w.inRun, w.live = c.prompt.Run, true
	case *callAbort:
		w.facts = append(w.facts, &runOverInput{session: e.session, run: c.run, outcome: wire.RunAborted})
		w.inRun = 0
	case *callSteer:
		if w.rnd.IntN(2) == 0 {
			w.facts = append(w.facts, &steeredInput{session: e.session, messageID: c.prompt.MessageID})
		}
	}
	w.facts = append(w.facts, &calledInput{session: e.session, call: e.call})
}

// published holds the rules of the order around a run.
func (w *world) published(f wire.Frame) {
	w.frames = append(w.frames, f)
	switch f := f.(type) {
	case *wire.Status:
		if f.Busy {
			w.runs[f.Generation] = true
		}
	case *wire.ObservationFrame:
		if f.Seq != w.seq+1 {
			w.t.Fatalf("seq %d after %d", f.Seq, w.seq)
		}
		w.seq = f.Seq
		switch o := f.Observation.(type) {
		case *wire.RunEnded:
			w.ended[o.Generation]++
			if w.s.committed < w.endRecord(o.Generation) {
				w.t.Fatalf("run %d ended before its commit", o.Generation)
			}
		case *wire.Settled:
			w.settled[o.Generation]++
			if w.ended[o.Generation] != 1 || w.settled[o.Generation] != 1 {
				w.t.Fatalf("run %d: %d ends, %d settles", o.Generation, w.ended[o.Generation], w.settled[o.Generation])
			}
		case *wire.ExtensionUIRequest:
			w.asked[o.ID] = true
		case *wire.DialogSettled:
			if !w.asked[o.ID] {
				w.t.Fatalf("question %s settled twice or never shown", o.ID)
			}
			delete(w.asked, o.ID)
		}
	}
}

// endRecord is the seq of the record that ends the run.
func (w *world) endRecord(gen uint64) int64 {
	for _, e := range w.journal {
		if e.Type != recordRunEnded {
			continue
		}
		r, err := decodeRecord(e)
		if err != nil {
			w.t.Fatal(err)
		}
		if r.obs[0].(*wire.RunEnded).Generation == gen {
			return e.Seq
		}
	}
	w.t.Fatalf("run %d ended without a durable record", gen)
	return 0
}

// ack makes the oldest commit durable.
func (w *world) ack() {
	if len(w.under) == 0 {
		return
	}
	w.journal = append(w.journal, w.under[0]...)
	w.under = w.under[1:]
	if w.onAck != nil {
		w.onAck()
	}
	w.feed(&committedInput{})
}

// Read is the journal that pins are assembled from.
func (w *world) read(_ context.Context, _ wire.ThreadID, from, to int64, yield func(host.Event) bool) error {
	for _, e := range w.journal {
		if e.Seq >= from && e.Seq <= to && !yield(e) {
			return nil
		}
	}
	return nil
}

type reader struct {
	host.Journal
	w *world
}

func (r reader) Read(ctx context.Context, id wire.ThreadID, from, to int64, yield func(host.Event) bool) error {
	return r.w.read(ctx, id, from, to, yield)
}

func (w *world) assemble(p *pin) *wire.Snapshot {
	s, err := p.assemble(context.Background(), w.s.id, reader{w: w})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// check assembles every pin taken so far and holds it against the fold.
func (w *world) check() {
	for _, p := range w.pins {
		have := w.assemble(p.pin)
		want := wire.Fold(w.first, w.frames[:p.frames]...)
		have.RecordedModel, want.RecordedModel, have.Cwd, want.Cwd = nil, nil, "", ""
		if !reflect.DeepEqual(have, want) {
			w.t.Fatalf("after %d frames the snapshot is not the fold:\n%s", p.frames, firstDifference(have, want))
		}
	}
	w.pins = nil
}

func (w *world) id(p string) string { w.next++; return fmt.Sprintf("%s%d", p, w.next) }

func (w *world) observe(o wire.Observation) {
	w.feed(&observedInput{session: w.session, origin: wire.OriginRun, observation: o})
}

func (w *world) pick(ids []string) string {
	if len(ids) == 0 || w.rnd.IntN(12) == 0 {
		return "stray"
	}
	return ids[w.rnd.IntN(len(ids))]
}

// say is one thing the session may say, right or wrong.
func (w *world) say() {
	switch w.rnd.IntN(16) {
	case 0, 1:
		id := w.id("m")
		role := []wire.Role{wire.RoleAssistant, wire.RoleAssistant, wire.RoleSystem, wire.RoleCustom}[w.rnd.IntN(4)]
		if w.rnd.IntN(10) == 0 && w.next > 3 {
			id = fmt.Sprintf("m%d", 1+w.rnd.IntN(w.next)) // open already, or ended: it replaces
		}
		w.open = append(w.open, id)
		w.observe(&wire.MessageStart{MessageID: id, Role: role})
	case 2, 3, 4:
		w.observe(&wire.TextDelta{MessageID: w.pick(w.open), Delta: w.id("t")})
	case 5:
		w.observe(&wire.ThinkingDelta{MessageID: w.pick(w.open), Delta: w.id("r")})
	case 6, 7:
		id := w.pick(w.open)
		w.open = slices.DeleteFunc(w.open, func(o string) bool { return o == id })
		end := &wire.MessageEnd{MessageID: id, Role: wire.RoleAssistant}
		if w.rnd.IntN(3) == 0 {
			text := w.id("whole")
			end.Text = &text
		}
		w.observe(end)
	case 8, 9:
		c := &wire.ToolCall{ToolCallID: w.id("c"), ToolName: "t", Input: json.RawMessage(`{"a":1}`)}
		if w.rnd.IntN(3) > 0 {
			c.MessageID = w.pick(append(slices.Clone(w.open), "m1"))
		}
		w.calls = append(w.calls, c.ToolCallID)
		w.observe(c)
	case 10, 11:
		r := &wire.ToolResult{ToolCallID: w.pick(w.calls), ToolName: "t", Text: w.id("out"), Complete: w.rnd.IntN(3) > 0}
		if w.rnd.IntN(3) == 0 {
			r.Descriptor = &wire.Descriptor{Kind: "tool.t", Props: map[string]json.RawMessage{}}
		}
		w.observe(r)
	case 12:
		w.observe(&wire.CustomEntry{CustomType: "x", Data: json.RawMessage(`[1]`)})
	case 13:
		w.observe(&wire.ExtensionUIRequest{ID: w.id("d"), Blocking: true, Dialog: &wire.ConfirmDialog{Title: "?", Message: "m"}})
	case 14:
		w.observe(&wire.SessionUsageChanged{Usage: wire.SessionUsage{Input: int64(w.next), Context: &wire.ContextUsage{Tokens: 1, Window: 2}}})
	case 15:
		if w.rnd.IntN(2) == 0 {
			w.observe(&wire.PermissionMode{Mode: w.id("mode"), Available: []string{"a"}})
		} else {
			w.observe(&wire.Settled{Generation: 9}) // only a thread may say this
		}
	}
}

// act is one thing that may happen.
func (w *world) act() {
	for len(w.under) > w.lag {
		w.ack()
	}
	switch w.rnd.IntN(20) {
	case 0:
		id := w.id("p")
		adm := wire.AdmitEnqueued
		if w.rnd.IntN(2) == 0 {
			adm = wire.AdmitInterrupting
		}
		w.promptID = append(w.promptID, id)
		w.ask(func(t token) input {
			return &promptInput{token: t, wake: host.Wake{MessageID: id, Text: "hello " + id, Admission: adm}}
		})
	case 1:
		if w.inRun != 0 && w.rnd.IntN(2) == 0 {
			run := w.inRun
			w.inRun = 0
			out := wire.RunCompleted
			if w.rnd.IntN(4) == 0 {
				out = wire.RunFailed
			}
			w.feed(&runOverInput{session: w.session, run: run, outcome: out})
		}
	case 2, 3:
		f := newFollower(nil, wire.ThreadID{}, FollowOptions{})
		w.ask(func(t token) input { return &subscribeInput{token: t, follower: f} })
	case 4:
		w.ack()
	case 5, 6, 7:
		if len(w.facts) > 0 {
			in := w.facts[0]
			w.facts = w.facts[1:]
			w.feed(in)
		}
	case 8:
		switch w.rnd.IntN(12) {
		case 0, 1:
			w.ask(func(t token) input { return &abortInput{t} })
		case 2:
			w.feed(&exitedInput{session: w.session, exit: &host.Exited{Code: 1}})
		case 3:
			w.feed(&timerInput{timerID{kind: timerIdle}})
		case 4:
			w.feed(&timerInput{timerID{kind: timerAbort}})
		case 5:
			id := w.pick(w.promptID)
			if w.onWithdrawn != nil {
				w.onWithdrawn(id)
			}
			w.ask(func(t token) input { return &withdrawInput{t, id} })
		case 6:
			w.feed(&timerInput{timerID{kind: timerKill}})
		}
	case 9:
		for id := range w.asked {
			if w.rnd.IntN(2) == 0 {
				w.feed(&timerInput{timerID{timerDialog, id}})
			} else {
				w.ask(func(t token) input {
					return &answerInput{t, wire.Answer{ID: id, Arm: &wire.ConfirmArm{Confirmed: true}}}
				})
			}
			break
		}
	default:
		w.say()
	}
}

// calm lets everything under way come back, and stops the run.
func (w *world) calm() {
	w.ask(func(t token) input { return &abortInput{t} })
	for range 10_000 {
		switch {
		case len(w.facts) > 0:
			in := w.facts[0]
			w.facts = w.facts[1:]
			w.feed(in)
		case len(w.under) > 0:
			w.ack()
		case w.s.phase == phaseRunning: // an abort while the run before settled stopped nothing
			w.ask(func(t token) input { return &abortInput{t} })
		case w.s.run != nil:
			w.feed(&timerInput{timerID{kind: timerAbort}})
		case w.s.phase == phaseCold && len(w.s.queue.entries) > 0:
			w.now = w.now.Add(time.Minute)
			w.feed(&timerInput{timerID{kind: timerBackoff}})
		default:
			return
		}
	}
	w.t.Fatalf("the thread never came to rest: %s", w.s.phase)
}

// TestPinIsExactWithALaggingJournal: a snapshot taken at any instant of any run,
// read at any later time, is the fold of what was published, with a journal that
// lags by 0 to 3 commits.
func TestPinIsExactWithALaggingJournal(t *testing.T) {
	seeds := 50
	if os.Getenv("CI") != "" {
		seeds = 100
	}
	for lag := range 4 {
		for seed := range seeds {
			w := newWorld(t, uint64(seed), lag)
			for i := range 400 {
				w.act()
				if i%50 == 0 {
					w.check()
				}
			}
			w.calm()
			f := newFollower(nil, wire.ThreadID{}, FollowOptions{})
			w.ask(func(tok token) input { return &subscribeInput{token: tok, follower: f} })
			w.check()
			w.rested()
			if t.Failed() {
				t.Fatalf("lag %d, seed %d", lag, seed)
			}
		}
	}
}

// rested holds what must be true of a thread that has come to rest.
func (w *world) rested() {
	if p := w.s.phase; p != phaseIdle && p != phaseCold {
		w.t.Errorf("at rest in %s", p)
	}
	if len(w.pending) > 0 {
		w.t.Errorf("%d replies were never given", len(w.pending))
	}
	if len(w.asked) > 0 && !w.s.view.live {
		w.t.Errorf("questions left open by a session that is gone: %v", w.asked)
	}
	for gen := range w.runs {
		if w.ended[gen] != 1 || w.settled[gen] != 1 {
			w.t.Errorf("run %d: %d ends, %d settles", gen, w.ended[gen], w.settled[gen])
		}
	}
	if n := len(w.s.transcript.tail); n > 0 {
		w.t.Errorf("%d records kept in memory after their commit", n)
	}
	seen := int64(-1)
	for _, e := range w.journal {
		if e.Seq != seen+1 {
			w.t.Errorf("record %d after %d", e.Seq, seen)
		}
		seen = e.Seq
	}
}

func firstDifference(have, want *wire.Snapshot) string {
	a, _ := json.MarshalIndent(have, "", " ")
	b, _ := json.MarshalIndent(want, "", " ")
	x, y := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			lo, hi := max(0, i-8), i+8
			return "have\n" + strings.Join(x[lo:min(hi, len(x))], "\n") + "\nwant\n" + strings.Join(y[lo:min(hi, len(y))], "\n")
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(x), len(y))
}
