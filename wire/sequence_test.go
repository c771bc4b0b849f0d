package wire

import (
	"strings"
	"testing"
)

func ev(seq int64, p Payload) *Event {
	return &Event{V: EventVersion, EntityID: exampleEntity, Seq: seq, TS: exampleTime, Payload: p}
}

func TestSequence(t *testing.T) {
	spawned := &EntitySpawned{EntityType: "helper"}
	start := func(r string) Payload { return &RunStarted{RunID: r} }
	end := func(r string) Payload { return &RunFinished{RunID: r} }
	say := func(r string) Payload { return &MessageEvent{ID: "m", RunID: r} }
	pre, archived := &StateSnapshot{Reason: SnapshotPreArchive}, &Archived{Reason: ArchiveIdle}
	hole := &StateSnapshot{Reason: SnapshotRecovery, HistoryHole: true}
	other := ev(1, start("r1"))
	other.EntityID = exampleChild
	for _, c := range []struct {
		name   string
		events []*Event
		want   string // what is said, one a line; "" when nothing is wrong
	}{
		{"a run", []*Event{ev(0, spawned), ev(1, start("r1")), ev(2, say("r1")), ev(3, end("r1")), ev(4, say(""))}, ""},
		{"from the middle of a run", []*Event{ev(7, say("r1")), ev(8, end("r1")), ev(9, start("r2"))}, ""},
		{"from behind archived", []*Event{ev(7, archived), ev(8, start("r1"))}, ""},
		{"a gap", []*Event{ev(5, say("")), ev(8, say(""))}, "seq 8: want seq 6: 2 are missing"},
		{"twice", []*Event{ev(5, say("")), ev(5, say(""))}, "seq 5: want seq 6: it repeats or goes back"},
		{"a hole", []*Event{ev(0, spawned), ev(1, start("r1")), ev(9, hole), ev(10, start("r5"))}, ""},
		{"a hole inside another run", []*Event{ev(0, spawned), ev(1, start("r1")), ev(9, hole), ev(10, say("r5")), ev(11, end("r5"))}, ""},
		{"a hole backwards", []*Event{ev(5, say("")), ev(3, hole)}, "seq 3: want seq 6: it repeats or goes back"},
		{"a hole behind archived", []*Event{ev(5, pre), ev(6, archived), ev(9, hole)}, ""},
		{"another entity", []*Event{ev(0, spawned), other}, "seq 1: it is of " + exampleChild + ", the one before of " + exampleEntity},
		{"spawned late", []*Event{ev(5, spawned)}, "seq 5: entity_spawned is at seq 0, and nothing else is: this is entity_spawned"},
		{"something else first", []*Event{ev(0, start("r1"))}, "seq 0: entity_spawned is at seq 0, and nothing else is: this is run_started"},
		{"replaces itself", []*Event{ev(5, &Summarization{ReplacesThroughSeq: 5})}, "seq 5: it replaces through seq 5, which is not earlier"},
		{"archived", []*Event{ev(5, pre), ev(6, &Archived{SnapshotSeq: 5}), ev(7, start("r1"))}, ""},
		{"archived without a snapshot", []*Event{ev(5, say("")), ev(6, archived)}, "seq 6: archived is not directly behind a pre_archive snapshot"},
		{"archived naming another", []*Event{ev(5, pre), ev(6, &Archived{SnapshotSeq: 4})}, "seq 6: it names the snapshot at seq 4, its own is at 5"},
		{"not archived", []*Event{ev(5, pre), ev(6, say(""))}, "seq 6: want archived behind a pre_archive snapshot, got message"},
		{"woken by nothing", []*Event{ev(5, pre), ev(6, archived), ev(7, say(""))}, "seq 7: want run_started behind archived, got message"},
		{"archived inside a run", []*Event{ev(0, spawned), ev(1, start("r1")), ev(2, pre), ev(3, archived)}, "seq 3: archived inside run r1"},
		{"never finished", []*Event{ev(0, spawned), ev(1, start("r1")), ev(2, start("r2"))}, "seq 2: run r2 begins, and run r1 has no run_finished"},
		{"finished twice", []*Event{ev(0, spawned), ev(1, start("r1")), ev(2, end("r1")), ev(3, end("r1"))}, "seq 3: it is of run r1, and no run is open"},
		{"begun again", []*Event{ev(0, spawned), ev(1, start("r1")), ev(2, end("r1")), ev(3, start("r1"))}, "seq 3: run r1 begins again"},
		{"of another run", []*Event{ev(0, spawned), ev(1, start("r1")), ev(2, say("r2"))}, "seq 2: it is of run r2 inside run r1"},
		{"of no run", []*Event{ev(0, spawned), ev(1, say("r1"))}, "seq 1: it is of run r1, and no run is open"},
		{"two runs from the middle", []*Event{ev(7, say("r1")), ev(8, say("r2"))}, "seq 8: it is of run r2 inside run r1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s Sequence
			var got []string
			for _, e := range c.events {
				for _, v := range s.Next(e) {
					got = append(got, v.String())
				}
			}
			if strings.Join(got, "\n") != c.want {
				t.Errorf("got %q\nwant %q", got, c.want)
			}
			if last := c.events[len(c.events)-1].Seq; s.Last() != last {
				t.Errorf("the last is %d, want %d", s.Last(), last)
			}
		})
	}
	var s Sequence
	if s.Last() != -1 || s.Open() != "" {
		t.Error("the zero value has seen something")
	}
	s.Next(ev(0, spawned))
	s.Next(ev(1, start("r1")))
	if s.Open() != "r1" {
		t.Errorf("open is %q", s.Open())
	}
}

// Every payload with a runId says it.
func TestRunIDOfKnowsEveryPayload(t *testing.T) {
	for _, e := range exampleEvents() {
		b, err := EncodePayload(e.Payload)
		if err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(string(b), `"runId":"r1"`); has != (RunIDOf(e.Payload) == "r1") {
			if e.Payload.EventType() != EventStateSnapshot {
				t.Errorf("%s: RunIDOf says %q", b, RunIDOf(e.Payload))
			}
		}
	}
}
