package wire

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestEventLimits(t *testing.T) {
	message := func(n int) *Event {
		return ev(1, &MessageEvent{ID: "m", Role: EventRoleUser, Content: []ContentBlock{&TextBlock{Text: strings.Repeat("x", n)}}})
	}
	empty, err := EncodeEvent(message(0))
	if err != nil {
		t.Fatal(err)
	}
	full, err := EncodeEvent(message(MaxEventBytes - len(empty)))
	if err != nil || len(full) != MaxEventBytes {
		t.Fatalf("%d bytes, %v", len(full), err)
	}
	if _, err := DecodeEvent(full); err != nil {
		t.Error(err)
	}
	over := message(MaxEventBytes - len(empty) + 1)
	_, err = EncodeEvent(over)
	tooLarge(t, "an event", err)
	b, _ := Encode(over)
	_, err = DecodeEvent(b)
	tooLarge(t, "an event read", err)
	_, err = EncodePayload(message(MaxEventBytes).Payload)
	tooLarge(t, "a payload", err)
	_, err = DecodeDelta(b)
	tooLarge(t, "a delta", err)

	snap := func(n int) *Event {
		return ev(1, &StateSnapshot{State: RawJSON(`"` + strings.Repeat("x", n-2) + `"`), Reason: SnapshotPeriodic})
	}
	if _, err := EncodeEvent(snap(MaxSnapshotBytes)); err != nil {
		t.Error(err)
	}
	_, err = EncodeEvent(snap(MaxSnapshotBytes + 1))
	tooLarge(t, "a state", err)
	b, _ = Encode(snap(MaxSnapshotBytes + 1))
	_, err = DecodeEvent(b)
	tooLarge(t, "a state read", err)
	b, _ = Encode(snap(MaxSnapshotBytes + 1).Payload)
	_, err = DecodePayload(EventStateSnapshot, b)
	tooLarge(t, "a state's payload read", err)
}

func tooLarge(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || AsFailure(err).Code != CodeTooLarge {
		t.Errorf("%s over the limit: %v", what, err)
	}
}

func TestEventRefusals(t *testing.T) {
	byType := map[string]string{}
	for _, e := range exampleEvents() {
		b, err := EncodeEvent(e)
		if err != nil {
			t.Fatal(err)
		}
		byType[string(e.Payload.EventType())] = string(b)
	}
	for _, c := range []struct{ typ, old, new, want string }{
		{"message", `"v":1`, `"v":2`, "v: want 1, got 2"},
		{"message", `"entityId":"` + exampleEntity, `"entityId":"helper.01`, "entityId: \"helper.01\" is no address"},
		{"message", `"seq":2`, `"seq":-2`, "seq: want at least 0"},
		{"message", `"seq":2`, `"seq":0`, "seq: entity_spawned is at seq 0, and nothing else is"},
		{"entity_spawned", `"seq":0`, `"seq":1`, "seq: entity_spawned is at seq 0, and nothing else is"},
		{"message", `"type":"message"`, `"type":"massage"`, `type: "massage" is not one of entity_spawned, `},
		{"message", `"type":"message",`, ``, `the field "type" is missing`},
		{"message", `"type":"message"`, `"type":"message","type":"message"`, `the field "type" is there twice`},
		{"message", `"type":"message"`, `"type":"reasoning"`, `payload: unknown field "role"`},
		{"message", `"payload":{`, `"payload":{"type":"message",`, `payload: unknown field "type"`},
		{"message", `"role":"user"`, `"role":"system"`, `payload.role: "system" is not one of user, assistant, system_note`},
		{"message", `"from":"` + exampleChild, `"from":"me`, `payload.from: "me" is no address`},
		{"message", `"id":"p1"`, `"id":""`, `payload.id: empty`},
		{"message", `"type":"image"`, `"type":"video"`, `payload.content[1].type: "video" is not one of text, image`},
		{"message", `"from":"` + exampleChild + `"`, `"from":null`, `payload.from: want a value, got null; leave the field out instead`},
		{"entity_spawned", `"spawnArgs":{`, `"spawnArgs":null,"x":{`, `payload: unknown field "x"`},
		{"entity_spawned", `"spawnArgs":{"path":"a.txt","deep":[1,{"x":null}]}`, `"spawnArgs":null`, `payload.spawnArgs: want a value, got null`},
		{"entity_spawned", `default/app`, `app`, `payload.workspaceRef: "app" is no workspace`},
		{"entity_spawned", `/t/default/a/helper/00`, `x`, `payload.parentId: "x" is no address`},
		{"entity_spawned", `"entityType":"helper"`, `"entityType":"He"`, `payload.entityType: "He" is no type`},
		{"run_started", `"source":"message"`, `"source":"whim"`, `payload.wake.source: "whim" is not one of spawn, message, steer_degraded, cron, control, system`},
		{"run_started", `"harness":"native"`, `"harness":"pony"`, `payload.harness: "pony" is not one of native, casdk`},
		{"run_started", `"runId":"r1"`, `"runId":""`, `payload.runId: empty`},
		{"tool_call", `"toolUseId":"c1"`, `"toolUseId":""`, `payload.toolUseId: empty`},
		{"tool_result", `"toolUseId":"c1"`, `"toolUseId":""`, `payload.toolUseId: empty`},
		{"summarization", `"replacesThroughSeq":4`, `"replacesThroughSeq":7`, `payload.replacesThroughSeq: want less than the event's own seq 7, got 7`},
		{"run_finished", `"inputTokens":1206`, `"inputTokens":-1`, `payload.usage.inputTokens: want at least 0`},
		{"run_finished", `"costUsd":0.0125`, `"costUsd":-1`, `payload.usage.costUsd: want at least 0`},
		{"child_spawned", exampleChild, `x`, `payload.childId: "x" is no address`},
		{"child_spawned", `"childType":"helper"`, `"childType":""`, `payload.childType: "" is no type`},
		{"child_finished", exampleChild, `x`, `payload.childId: "x" is no address`},
		{"opaque", `"origin":"scripted"`, `"origin":""`, `payload.origin: empty`},
	} {
		bad := strings.Replace(byType[c.typ], c.old, c.new, 1)
		if bad == byType[c.typ] {
			t.Errorf("%s: the mutation changed nothing: %s", c.typ, bad)
		}
		_, err := DecodeEvent([]byte(bad))
		if err == nil || AsFailure(err).Code != CodeBadRequest || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v\nwant %s", c.typ, err, c.want)
		}
	}
	if _, err := DecodePayload("massage", []byte("{}")); err == nil {
		t.Error("a payload of no type was read")
	}
	for _, none := range []Payload{nil, (*Opaque)(nil)} {
		if b, err := EncodeEvent(ev(1, none)); err == nil {
			t.Errorf("nothing is %s", b)
		}
	}
}

// The envelope's type decides, wherever it stands; what is any JSON stays as it
// was said.
func TestEventTypeMayStandAnywhere(t *testing.T) {
	text := ` {"payload":{"data":{"b":1.0, "b":[1e999,"\ud800"]},"kind":"k","origin":"o"} ,"seq":3,"ts":"2026-03-04T04:06:07.890Z","entityId":"` + exampleEntity + `","v":1, "type":"opaque"}`
	e, err := DecodeEvent([]byte(text))
	want := ev(3, &Opaque{Origin: "o", Kind: "k", Data: RawJSON(`{"b":1.0,"b":[1e999,"\ud800"]}`)})
	if err != nil || !reflect.DeepEqual(e, want) {
		t.Fatalf("%+v, %v", e, err)
	}
	b, err := EncodeEvent(e)
	if err != nil || !bytes.Contains(b, []byte(`"type":"opaque","payload":{"origin":"o","kind":"k","data":{"b":1.0,"b":[1e999,"\ud800"]}}`)) {
		t.Fatalf("%s, %v", b, err)
	}
}

func TestPayloadsAlone(t *testing.T) {
	for _, e := range exampleEvents() {
		b, err := EncodePayload(e.Payload)
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodePayload(e.Payload.EventType(), b)
		if err != nil || !reflect.DeepEqual(back, e.Payload) {
			t.Errorf("%s comes back as %+v, %v", b, back, err)
		}
		whole, err := EncodeEvent(e)
		if err != nil || !bytes.Contains(whole, append([]byte(`"payload":`), b...)) {
			t.Errorf("%s is not in %s", b, whole)
		}
	}
}

func TestSegments(t *testing.T) {
	for id, want := range map[string]string{"m+2": "m", "m+2+3": "m+2", "m+1": "", "m+02": "", "m": "", "+2": "", "m+": "", "m+x": ""} {
		got, ok := SegmentOf(id)
		if ok != (want != "") || ok && got != want || !ok && got != id {
			t.Errorf("%q goes on in %q, %v", id, got, ok)
		}
	}
	if SegmentID("m", 1) != "m" || SegmentID("m", 3) != "m+3" {
		t.Error(SegmentID("m", 1), SegmentID("m", 3))
	}
}

func FuzzDecodeEvent(f *testing.F) {
	seeds(f, "event/")
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := DecodeEvent(b)
		if err != nil {
			return
		}
		out, err := Encode(e)
		if err != nil {
			t.Fatalf("%s was read and does not encode: %v", b, err)
		}
		if len(out) > MaxEventBytes {
			return // escapes may grow
		}
		again(t, e, EncodeEvent, DecodeEvent)
		new(Sequence).Next(e)
		s := FoldEvents(NewEntityState(), e, e)
		state, err := Encode(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeState(state); err != nil {
			t.Fatalf("%s does not read: %v", state, err)
		}
	})
}

func FuzzDecodeDelta(f *testing.F) {
	seeds(f, "delta/")
	f.Fuzz(func(t *testing.T, b []byte) {
		if d, err := DecodeDelta(b); err == nil {
			again(t, d, EncodeDelta, DecodeDelta)
		}
	})
}

// Whatever the events and their order, the checker says what is wrong and the
// fold goes on. Each byte picks an event and how far its seq is from the last.
func FuzzSequence(f *testing.F) {
	f.Add([]byte{0, 1, 2, 10})
	f.Add([]byte{6, 13, 1, 0x41, 0x81})
	f.Fuzz(func(t *testing.T, picks []byte) {
		examples := exampleEvents()
		var s Sequence
		state := NewEntityState()
		seq := int64(-1)
		for _, p := range picks {
			e := *examples[int(p&0x3f)%len(examples)]
			seq = max(0, seq+1+int64(p>>6)-int64(p>>7)*3)
			e.Seq = seq
			jumped := s.Last() >= 0 && seq != s.Last()+1
			hole := e.Payload.EventType() == EventStateSnapshot && seq > s.Last()
			if found := s.Next(&e); jumped && !hole && len(found) == 0 {
				t.Fatalf("seq %d is behind the one before, and nothing is said", seq)
			}
			state.Apply(&e)
		}
		if _, err := Encode(state); err != nil {
			t.Fatal(err)
		}
	})
}

func TestEventTypesAreThoseOfTheSchema(t *testing.T) {
	want := []EventType{
		"entity_spawned", "run_started", "message", "tool_call", "tool_result", "reasoning", "state_snapshot", "summarization",
		"control", "error", "run_finished", "child_spawned", "child_finished", "archived", "opaque",
	}
	if got := EventTypes(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
