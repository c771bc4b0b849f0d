package load

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-run/troupe/wire"
)

const testSize = 64

// delta is a paced one.
func delta(index int) string {
	b := fmt.Appendf(nil, "%019d %d ", time.Now().UnixNano(), index)
	for len(b) < testSize {
		b = append(b, alphabet[len(b)%len(alphabet)])
	}
	return string(b)
}

// spoilt is a delta with a byte of its filler changed.
func spoilt(index int) string {
	b := []byte(delta(index))
	b[50]++
	return string(b)
}

// said is one frame of a stream.
type said struct{ frame wire.Frame }

func observed(seq uint64, o wire.Observation) said {
	return said{&wire.ObservationFrame{Seq: seq, Observation: o}}
}

func text(seq uint64, s string) said {
	return observed(seq, &wire.TextDelta{MessageID: "m1", Delta: s})
}

func snapshot(asOf uint64) said {
	return said{&wire.Snapshot{ThreadID: "scripted.t", AsOfSeq: asOf, PermissionMode: wire.PermissionModeState{Mode: "default"}}}
}

// goodRun is a run of three deltas, seq 1 to 9, its frames by their index.
func goodRun() []said {
	user := "pace:3"
	return []said{
		snapshot(0),
		{&wire.Status{Live: true, Busy: true, Generation: 1}},
		observed(1, &wire.MessageStart{MessageID: "u1", Role: wire.RoleUser}),
		observed(2, &wire.MessageEnd{MessageID: "u1", Role: wire.RoleUser, Text: &user}),
		observed(3, &wire.MessageStart{MessageID: "m1", Role: wire.RoleAssistant}),
		text(4, delta(0)), text(5, delta(1)), text(6, delta(2)),
		observed(7, &wire.MessageEnd{MessageID: "m1", Role: wire.RoleAssistant}),
		observed(8, &wire.RunEnded{Generation: 1, Outcome: wire.RunCompleted}),
		observed(9, &wire.Settled{Generation: 1}),
		{&wire.Status{Live: true, Generation: 1}},
	}
}

const testHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

func encoded(t *testing.T, run []said) []byte {
	t.Helper()
	var out []byte
	var err error
	for _, s := range run {
		if out, err = wire.AppendSSE(out, s.frame); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// rig is a thread with a fully checked follower and one that is not.
type rig struct {
	crowd       *crowd
	thread      *thread
	full, quick *follower
}

func newRig() *rig {
	c := newCrowd(&dialer{addr: "127.0.0.1:1"}, &violations{scenario: "test"}, time.Now().Add(time.Minute))
	th := &thread{id: "scripted.t", size: testSize}
	th.frames.Store(3)
	r := &rig{crowd: c, thread: th}
	checked, rest := c.gather([]*thread{th}, 2, 1)
	r.full, r.quick = checked[0], rest[0]
	for i, f := range []*follower{r.full, r.quick} {
		f.tally = c.tallies.of(i, f.check != nil)
	}
	return r
}

// feed gives a follower a stream in pieces of n bytes.
func feed(f *follower, stream []byte, n int) {
	for piece := range slices.Chunk(append([]byte(testHead), stream...), n) {
		f.take(piece, time.Now().UnixNano())
	}
}

func rules(c *crowd) (out []Rule) {
	kept, _ := c.rules.all()
	for _, v := range kept {
		out = append(out, v.Rule)
	}
	return out
}

func TestAGoodStreamBreaksNoRuleHoweverItIsCut(t *testing.T) {
	stream := encoded(t, goodRun())
	for _, n := range []int{1, 2, 3, 7, 64, 100, 255, 1000, len(stream) + 1000} {
		r := newRig()
		feed(r.full, stream, n)
		feed(r.quick, append([]byte(": hb\n\n"), stream...), n)
		r.quick.agree()
		if got := rules(r.crowd); len(got) > 0 {
			t.Fatalf("in pieces of %d: %v", n, r.crowd.rules.kept)
		}
		if got := r.crowd.settled.Load(); got != 2 {
			t.Errorf("in pieces of %d: %d followers saw the run settle, want 2", n, got)
		}
		s := r.crowd.tallies.sum()
		if s.deliveries != 18 || s.latency.TotalCount() != 6 {
			t.Errorf("in pieces of %d: %d observations, %d of them timed; want 18 and 6", n, s.deliveries, s.latency.TotalCount())
		}
		if r.quick.seq != 9 || r.quick.asOf != 0 {
			t.Errorf("in pieces of %d: seq %d from %d, want 9 from 0", n, r.quick.seq, r.quick.asOf)
		}
	}
}

// Each rule is caught: by the full check, by the quick one, or by both.
func TestEveryBrokenStreamIsCaught(t *testing.T) {
	without := func(run []said, i int) []said { return slices.Delete(run, i, i+1) }
	again := func(run []said, i int) []said { return slices.Insert(run, i, run[i]) }
	for _, c := range []struct {
		name        string
		full, quick Rule // "" is that this check cannot see it
		broken      func(run []said) []said
	}{
		{"no snapshot", RuleSnapshot, RuleSnapshot, func(run []said) []said { return without(run, 0) }},
		{"no snapshot before an observation", RuleSnapshot, RuleSnapshot, func(run []said) []said { return without(without(run, 0), 0) }},
		{"two snapshots", RuleSnapshot, RuleSnapshot, func(run []said) []said { return again(run, 0) }},
		{"a seq twice", RuleSeq, RuleSeq, func(run []said) []said { return again(run, 6) }},
		{"two that changed places", RuleMissing, RuleMissing, func(run []said) []said { run[6], run[7] = run[7], run[6]; return run }},
		{"a seq that goes back", RuleSeq, RuleSeq, func(run []said) []said { return append(run, observed(3, &wire.TurnEnd{Turn: 1})) }},
		{"an observation is missing", RuleMissing, RuleMissing, func(run []said) []said { return without(run, 4) }},
		{"a delta is missing", RuleMissing, RuleMissing, func(run []said) []said { return without(run, 6) }},
		{"a delta is missing and the seqs hide it", RuleText, RuleText, func(run []said) []said {
			run = without(run, 6)
			for i := 6; i < len(run); i++ {
				if o, ok := run[i].frame.(*wire.ObservationFrame); ok {
					o.Seq--
				}
			}
			return run
		}},
		{"the last delta is missing and the seqs hide it", RuleText, RuleText, func(run []said) []said {
			run = without(run, 7)
			for i := 7; i < len(run); i++ {
				if o, ok := run[i].frame.(*wire.ObservationFrame); ok {
					o.Seq--
				}
			}
			return run
		}},
		{"a delta is cut", RuleText, "", func(run []said) []said { run[6] = text(5, delta(1)[:40]); return run }},
		{"a delta's filler is wrong", RuleText, "", func(run []said) []said { run[6] = text(5, spoilt(1)); return run }},
		{"a run settles twice", RuleSettled, RuleSettled, func(run []said) []said {
			return append(run, observed(10, &wire.Settled{Generation: 1}))
		}},
		{"a run ends twice", RuleSettled, "", func(run []said) []said {
			return append(run, observed(10, &wire.RunEnded{Generation: 1, Outcome: wire.RunFailed}))
		}},
		{"a run settles that did not end", RuleSettled, "", func(run []said) []said {
			run[9] = observed(8, &wire.TurnEnd{Turn: 1})
			return run
		}},
		{"a prompt enters twice", RulePrompt, "", func(run []said) []said {
			return append(run, observed(10, &wire.MessageStart{MessageID: "u1", Role: wire.RoleUser}), observed(11, &wire.MessageEnd{MessageID: "u1", Role: wire.RoleUser}))
		}},
		{"a question settles that never opened", RuleDialog, "", func(run []said) []said {
			return append(run, observed(10, &wire.DialogSettled{ID: "d1", Outcome: wire.DialogAnswered}))
		}},
		{"a question settles twice", RuleDialog, "", func(run []said) []said {
			return append(run, observed(10, &wire.ExtensionUIRequest{ID: "d1", Origin: wire.OriginRun, Blocking: true, Dialog: &wire.ConfirmDialog{Title: "?"}}),
				observed(11, &wire.DialogSettled{ID: "d1", Outcome: wire.DialogAnswered}), observed(12, &wire.DialogSettled{ID: "d1", Outcome: wire.DialogCancelled}))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := encoded(t, c.broken(goodRun()))
			for _, one := range []struct {
				of   func(*rig) *follower
				want Rule
			}{{func(r *rig) *follower { return r.full }, c.full}, {func(r *rig) *follower { return r.quick }, c.quick}} {
				r := newRig()
				f := one.of(r)
				feed(f, b, 50)
				got := rules(r.crowd)
				if one.want == "" {
					if len(got) > 0 {
						t.Errorf("full %v: broken %v, want nothing", f.check != nil, r.crowd.rules.kept)
					}
					continue
				}
				if !slices.Contains(got, one.want) {
					t.Errorf("full %v: broken %v, want %s", f.check != nil, r.crowd.rules.kept, one.want)
				}
			}
		})
	}
}

func TestBytesThatDifferFromAnothersAreCaught(t *testing.T) {
	r := newRig()
	feed(r.full, encoded(t, goodRun()), 100)
	run := goodRun()
	run[6] = text(5, spoilt(1))
	feed(r.quick, encoded(t, run), 100)
	if got := rules(r.crowd); len(got) > 0 {
		t.Fatalf("broken before they are compared: %v", r.crowd.rules.kept)
	}
	r.quick.agree()
	if got := rules(r.crowd); !slices.Equal(got, []Rule{RuleSameBytes}) {
		t.Errorf("broken %v, want %s", r.crowd.rules.kept, RuleSameBytes)
	}
	kept, total := r.crowd.rules.all()
	if total != 1 || kept[0].Thread != "scripted.t" || !strings.Contains(kept[0].String(), "test: same-for-all, thread scripted.t, seq 9: got ") {
		t.Errorf("it is told as %q", kept[0])
	}
}

func TestAStreamThatStopsShortOfAnothersIsCaught(t *testing.T) {
	r := newRig()
	feed(r.full, encoded(t, goodRun()), 100)
	feed(r.quick, encoded(t, goodRun()[:8]), 100)
	r.quick.agree()
	if got := rules(r.crowd); !slices.Equal(got, []Rule{RuleSameBytes}) {
		t.Errorf("broken %v, want %s", r.crowd.rules.kept, RuleSameBytes)
	}
}

// Only a call's partial results may be left out, and only while it is open.
func TestElidedPartialsAreNotMissing(t *testing.T) {
	call := observed(4, &wire.ToolCall{ToolCallID: "c1", ToolName: "look", Input: wire.RawJSON("{}")})
	result := observed(7, &wire.ToolResult{ToolCallID: "c1", ToolName: "look", Text: "seen", Complete: true})
	good := append(goodRun()[:5], call, result, observed(8, &wire.TurnEnd{Turn: 1}))
	bad := append(goodRun()[:5], call, result, observed(9, &wire.TurnEnd{Turn: 1}))
	r := newRig()
	r.crowd.elides, r.full.check.elides = true, true
	feed(r.full, encoded(t, good), 80)
	feed(r.quick, encoded(t, good), 80)
	r.quick.agree()
	if got := rules(r.crowd); len(got) > 0 {
		t.Errorf("broken %v, want nothing", r.crowd.rules.kept)
	}
	r = newRig()
	r.crowd.elides, r.full.check.elides = true, true
	feed(r.full, encoded(t, bad), 80)
	if got := rules(r.crowd); !slices.Equal(got, []Rule{RuleMissing}) {
		t.Errorf("broken %v, want %s", r.crowd.rules.kept, RuleMissing)
	}
}

func TestFramesThatAreNoneAreCaught(t *testing.T) {
	for name, bad := range map[string]string{
		"not JSON":          "data: {\"type\":\"status\",oops}\n\n",
		"an unknown field":  "data: {\"type\":\"status\",\"live\":true,\"busy\":false,\"generation\":1,\"more\":1}\n\n",
		"an unknown type":   "data: {\"type\":\"thing\"}\n\n",
		"a field of SSE":    "id: 7\n\n",
		"two lines of data": "data: {\"type\":\"status\",\ndata: \"live\":true,\"busy\":false,\"generation\":1}\n\n",
	} {
		r := newRig()
		feed(r.full, append(encoded(t, goodRun()), bad...), 60)
		if got := rules(r.crowd); len(got) == 0 || got[0] != RuleFrame {
			t.Errorf("%s: broken %v, want %s", name, r.crowd.rules.kept, RuleFrame)
		}
	}
	r := newRig()
	r.quick.take([]byte("HTTP/1.1 404 Not Found\r\nContent-Type: application/problem+json\r\n\r\n{}"), 1)
	if got := rules(r.crowd); !slices.Equal(got, []Rule{RuleSnapshot}) {
		t.Errorf("a 404: broken %v, want %s", r.crowd.rules.kept, RuleSnapshot)
	}
}

// A follower that is not fully checked holds none of a large snapshot.
func TestALargeSnapshotIsSkipped(t *testing.T) {
	run := goodRun()
	large := snapshot(0).frame.(*wire.Snapshot)
	large.Messages = []wire.Message{{ID: "old", Role: wire.RoleAssistant, Complete: true, Parts: []wire.Part{&wire.TextPart{Text: strings.Repeat("history\n", 100_000)}}}}
	run[0] = said{large}
	stream := encoded(t, run)
	for _, n := range []int{1 << 10, 64 << 10, 64<<10 + 1} {
		r := newRig()
		most := 0
		for piece := range slices.Chunk(append([]byte(testHead), stream...), n) {
			r.quick.take(piece, 1)
			most = max(most, cap(r.quick.carry))
		}
		feed(r.full, stream, n)
		r.quick.agree()
		if got := rules(r.crowd); len(got) > 0 {
			t.Fatalf("broken %v", r.crowd.rules.kept)
		}
		if most > 2*n+headLen {
			t.Errorf("in pieces of %d: it held %d bytes of a snapshot of %d", n, most, len(stream))
		}
		if r.quick.crc != r.full.crc || r.quick.bytes != r.full.bytes || r.quick.bytes < 800_000 {
			t.Errorf("in pieces of %d: %d bytes with sum %x, and fully checked %d with %x", n, r.quick.bytes, r.quick.crc, r.full.bytes, r.full.crc)
		}
	}
}

func TestSnapshotsThatDifferAreCaught(t *testing.T) {
	r := newRig()
	r.crowd.followers = []*follower{r.full, r.quick}
	feed(r.full, encoded(t, goodRun()), 100)
	other := snapshot(0).frame.(*wire.Snapshot)
	other.Cwd = "/elsewhere"
	feed(r.quick, encoded(t, append([]said{{other}}, goodRun()[1:]...)), 100)
	r.crowd.same()
	if got := rules(r.crowd); !slices.Equal(got, []Rule{RuleSameBytes}) {
		t.Errorf("broken %v, want %s", r.crowd.rules.kept, RuleSameBytes)
	}
}

func TestASnapshotThatIsNotTheFoldIsCaught(t *testing.T) {
	r := newRig()
	feed(r.full, encoded(t, goodRun()), 100)
	now := r.thread.check.folder.Snapshot()
	r.thread.check.exact(now)
	if got := rules(r.crowd); len(got) > 0 {
		t.Fatalf("broken %v", r.crowd.rules.kept)
	}
	now.Messages = now.Messages[:1]
	r.thread.check.exact(now)
	if got := rules(r.crowd); !slices.Equal(got, []Rule{RuleFold}) {
		t.Errorf("broken %v, want %s", r.crowd.rules.kept, RuleFold)
	}
}

func TestTheLedgerKnowsWhatBecameOfAPrompt(t *testing.T) {
	c := newChecker(&thread{}, newRig().crowd.hash, func(Violation) {})
	l := &ledger{accepted: []string{"ran", "rejected", "dropped", "lost"}, dropped: map[string]bool{}}
	c.entered["ran"], c.rejected["rejected"] = true, true
	l.abort(wire.AbortReceipt{Queue: []wire.QueuedPrompt{{MessageID: "dropped"}}})
	if got := l.open(c); got != "lost" {
		t.Errorf("%q is open, want lost", got)
	}
	c.entered["lost"] = true
	if got := l.open(c); got != "" {
		t.Errorf("%q is open, want none", got)
	}
}

// What is not fully checked allocates nothing for a frame.
func TestAQuickFollowerAllocatesNothingForAFrame(t *testing.T) {
	r := newRig()
	r.thread.frames.Store(0)
	stream := encoded(t, goodRun())
	feed(r.quick, stream, len(stream)+len(testHead))
	// In pieces that cut every frame, so that it carries parts of them.
	seq, index := uint64(9), 0
	frames := func(n int) (pieces [][]byte) {
		var all []byte
		for range n {
			seq++
			all = append(all, encoded(t, []said{text(seq, delta(index))})...)
			index++
		}
		return slices.Collect(slices.Chunk(all, 100))
	}
	const n = 1000
	parts := [][][]byte{frames(n), frames(n)} // the first lets the buffers grow
	got := testing.AllocsPerRun(1, func() {
		for _, piece := range parts[0] {
			r.quick.take(piece, 1)
		}
		parts = parts[1:]
	})
	if len(rules(r.crowd)) > 0 {
		t.Fatalf("broken %v", r.crowd.rules.kept)
	}
	if got > 0 {
		t.Errorf("%v allocations for %d frames", got, n)
	}
}
