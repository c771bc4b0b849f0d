package actors

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/troupe-run/troupe/wire"
)

// last is the newest event's payload, of type T.
func last[T wire.Payload](t *testing.T, s *scribe) T {
	t.Helper()
	p, ok := s.events[len(s.events)-1].Payload.(T)
	if !ok {
		t.Fatalf("the last is %s", strings.Join(eventLines(t, s.events), "\n"))
	}
	return p
}

// What no observation tells: a whole life, written as a thread writes it.
func TestProjectorLife(t *testing.T) {
	p := newPlayer(t)
	child := wire.ThreadID{Type: "worker", ID: "c1"}
	p.run()
	p.tell(
		&wire.MessageStart{MessageID: "m1", Role: wire.RoleAssistant}, &wire.ThinkingDelta{MessageID: "m1", Delta: "hm"},
		&wire.TextDelta{MessageID: "m1", Delta: "I ask another."},
		&wire.ToolCall{ToolCallID: "t1", ToolName: "spawn", Input: json.RawMessage(`{}`), MessageID: "m1"},
	)
	p.mint(p.p.childSpawned(child, "t1"))
	p.tell(&wire.ToolResult{ToolCallID: "t1", ToolName: "spawn", Text: "spawned", Complete: true}, &wire.MessageEnd{MessageID: "m1", Role: wire.RoleAssistant})
	p.over(wire.RunCompleted, nil)

	p.runs++
	p.mint(p.p.begin(p.moment(), wakeup{run: "r2", source: wire.WakeSystem, from: wire.AddressOf(child).String()}))
	p.mint(childFinished(child, wire.ChildSuccess, wire.RawJSON(`{"answer":42}`)))
	note := "child c1 finished"
	p.p.attribute("n1", author{note: true})
	p.tell(&wire.MessageStart{MessageID: "n1", Role: wire.RoleSystem}, &wire.MessageEnd{MessageID: "n1", Role: wire.RoleSystem, Text: &note})
	p.p.attribute("n2", author{from: wire.AddressOf(child).String()})
	p.tell(userSays("n2", "and I say hello")...)
	p.mint(p.p.dropped("p9"), &wire.Control{Verb: wire.VerbInterrupt, From: "page"})
	p.over(wire.RunAborted, nil)

	snap, err := p.m.snapshot(p.seq.Last()+1, wire.SnapshotPeriodic, "a title")
	if err != nil {
		t.Fatal(err)
	}
	p.mint(snap)
	state, err := wire.DecodeState(snap.State)
	if err != nil || state.Title != "a title" || state.Seq != p.seq.Last() || state.ChildrenFinished != 1 || len(state.Messages) != 4 {
		t.Errorf("%+v, %v", state, err)
	}
	archiving, err := p.m.archiving(p.seq.Last(), &wire.Control{Verb: wire.VerbArchive, Reason: "done"}, "a title")
	if err != nil {
		t.Fatal(err)
	}
	p.mint(archiving...)
	idle, err := p.m.archiving(p.seq.Last(), nil, "")
	if err != nil || len(idle) != 2 || idle[1].(*wire.Archived).Reason != wire.ArchiveIdle {
		t.Errorf("%v, %v", idle, err)
	}
	p.run()
	p.over(wire.RunCompleted, nil)
	p.golden(t, "life")
}

func TestProjectorUsage(t *testing.T) {
	cost := 0.5
	s := newScribe(t)
	s.begin()
	s.observe(&wire.TurnStart{Turn: 1}, &wire.MessageStart{MessageID: "m", Role: wire.RoleAssistant},
		&wire.MessageEnd{MessageID: "m", Usage: &wire.Usage{Input: 10, Output: 2, CacheRead: 100, CacheWrite: 5, TotalCost: &cost}},
		&wire.ProviderRetrying{Attempt: 1, MaxAttempts: 3}, &wire.TurnStart{Turn: 2}, &wire.MessageStart{MessageID: "n", Role: wire.RoleAssistant},
		&wire.TextDelta{MessageID: "n", Delta: "x", Usage: &wire.Usage{Input: 1}},
		&wire.MessageEnd{MessageID: "n", Usage: &wire.Usage{Input: 20, Output: 3, CacheRead: 110, TotalCost: &cost}})
	at := s.ended(wire.RunCompleted, nil)
	at.At = wire.At(s.now.Add(2_000_000_000))
	s.observe(at)
	got := last[*wire.RunFinished](t, s)
	want := `{"inputTokens":35,"cacheReadTokens":210,"outputTokens":5,"contextTokens":130,"steps":2,"costUsd":1,"attempt":2}`
	if b, err := wire.Encode(got.Usage); err != nil || string(b) != want {
		t.Errorf("%s (%v), want %s", b, err, want)
	}
	if got.DurationMs < 2000 {
		t.Errorf("%d ms", got.DurationMs)
	}
	for _, d := range s.deltas {
		if u, ok := d.(*wire.DeltaUsage); ok && u.Idx == 1 && (u.Usage.InputTokens != 16 || u.Attempt != 2) {
			t.Errorf("so far %+v", u)
		}
	}

	// A runtime that tells of its session only.
	total := func(in, out int64) *wire.SessionUsageChanged {
		return &wire.SessionUsageChanged{Usage: wire.SessionUsage{Input: in, Output: out, CacheWrite: 1, TotalCost: &cost, Context: &wire.ContextUsage{Tokens: 77, Window: 100}}}
	}
	for _, c := range []struct {
		u             *wire.SessionUsageChanged
		input, output int64
	}{{total(100, 10), 101, 10}, {total(130, 15), 30, 5}, {total(20, 2), 21, 2}} { // the last is another session's
		s.begin()
		s.observe(c.u, s.ended(wire.RunCompleted, nil))
		if u := last[*wire.RunFinished](t, s).Usage; u.InputTokens != c.input || u.OutputTokens != c.output || u.ContextTokens != 77 || u.Attempt != 0 {
			t.Errorf("%+v, want %d and %d", u, c.input, c.output)
		}
	}
}

// A prompt that is refused has a whole run; a failure is told once.
func TestProjectorErrors(t *testing.T) {
	s := newScribe(t)
	s.begin()
	s.observe(userSays("p1", "/nonsense")...)
	s.observe(&wire.PromptRejected{MessageID: "p1", Reason: "no such command"}, s.ended(wire.RunFailed, wire.Errorf(wire.CodePromptRejected, "no such command")))
	s.begin()
	s.observe(s.ended(wire.RunFailed, wire.Errorf(wire.CodeSessionExited, "it is gone")))
	s.observe(&wire.ExtensionError{Extension: "guard", Event: "tool_call", Message: "threw"}, s.ended(wire.RunFailed, nil), &wire.ProviderRefused{Message: "later", Status: 529, Code: "overloaded"})
	got := strings.Join(eventLines(t, s.events[1:]), "\n")
	want := `1 run_started {"runId":"r1","wake":{"source":"message"},"harness":"native","detail":{"runtime":"scripted"}}
2 message {"id":"p1","runId":"r1","role":"user","content":[{"type":"text","text":"/nonsense"}]}
3 error {"runId":"r1","code":"prompt-rejected","message":"no such command","source":"harness","detail":{"messageId":"p1"}}
4 run_finished {"runId":"r1","outcome":"error","usage":{"inputTokens":0,"outputTokens":0},"durationMs":2,"detail":{"error":{"code":"prompt-rejected","message":"no such command"}}}
5 run_started {"runId":"r2","wake":{"source":"message"},"harness":"native","detail":{"runtime":"scripted"}}
6 error {"runId":"r2","code":"session-exited","message":"it is gone","source":"harness"}
7 run_finished {"runId":"r2","outcome":"error","usage":{"inputTokens":0,"outputTokens":0},"detail":{"error":{"code":"session-exited","message":"it is gone"}}}
8 error {"code":"extension-error","message":"threw","source":"harness","detail":{"extension":"guard","event":"tool_call"}}
9 error {"code":"provider-refused","message":"later","source":"provider","detail":{"status":529,"code":"overloaded"}}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A run that a crash cut off is taken up from a snapshot and finished: its call
// has a result, and what comes too late for it is kept all the same.
func TestProjectorCut(t *testing.T) {
	s := newScribe(t)
	s.begin()
	s.observe(&wire.MessageStart{MessageID: "m", Role: wire.RoleAssistant},
		&wire.ToolCall{ToolCallID: "c1", ToolName: "sh", Input: json.RawMessage(`{}`)}, &wire.ToolCall{ToolCallID: "c2", ToolName: "sh", Input: json.RawMessage(`{}`)},
		&wire.ToolResult{ToolCallID: "c1", ToolName: "sh", Text: "done", Complete: true})
	state, err := wire.EncodeState(s.m.state, wire.MaxSnapshotBytes)
	if err != nil {
		t.Fatal(err)
	}
	back, err := wire.DecodeState(state)
	if err != nil {
		t.Fatal(err)
	}
	s.p = newProjector(projectedThread, "scripted", wire.HarnessNative)
	s.p.resume(back)
	s.mint(s.p.cut(s.ended(wire.RunFailed, wire.Errorf(wire.CodeCrashed, "the host was killed")))...)
	n := len(s.events)
	r := s.events[n-3].Payload.(*wire.ToolResultEvent)
	if r.ToolUseID != "c2" || !r.IsError || s.events[n-2].Payload.(*wire.ErrorEvent).Source != wire.ErrorPlatform || last[*wire.RunFinished](t, s).Outcome != wire.OutcomeError {
		t.Error(strings.Join(eventLines(t, s.events), "\n"))
	}
	if len(s.m.state.OpenCalls) != 0 || s.m.state.Interrupted == nil || s.m.state.Interrupted.LastMessageID != "m" {
		t.Errorf("%+v", s.m.state)
	}
	s.observe(&wire.ToolResult{ToolCallID: "c2", ToolName: "sh", Text: "late", Complete: true})
	if o := last[*wire.Opaque](t, s); o.Kind != wire.OpaqueToolResult {
		t.Errorf("%+v", o)
	}
	if s.mint(s.p.cut(s.ended(wire.RunFailed, nil))...); len(s.events) != n+1 {
		t.Error("no run is open, and one was cut")
	}
}

// Text of any size is on the timeline, in events that fit; the rest is cut and
// says so.
func TestProjectorFits(t *testing.T) {
	p := newPlayer(t)
	p.run()
	long := strings.Repeat("é\x01x", 1<<20)
	p.tell(&wire.MessageStart{MessageID: "m", Role: wire.RoleAssistant}, &wire.ThinkingDelta{MessageID: "m", Delta: long},
		&wire.TextDelta{MessageID: "m", Delta: long}, &wire.MessageEnd{MessageID: "m", Role: wire.RoleAssistant})
	p.over(wire.RunCompleted, nil)
	if got := wire.FoldEvents(wire.NewEntityState(), p.events...).Snapshot(p.live.ThreadID); strings.Join(encodedLines(t, got), "") != strings.Join(encodedLines(t, p.live), "") {
		t.Error("a long message comes back as another")
	}
	if !p.m.state.Truncated || p.m.state.Size() > keptBytes {
		t.Errorf("the materialiser keeps %d bytes, truncated %v", p.m.state.Size(), p.m.state.Truncated)
	}
	if b, err := p.m.snapshot(p.seq.Last()+1, wire.SnapshotPeriodic, "t"); err != nil || len(b.State) > wire.MaxSnapshotBytes {
		t.Errorf("%v", err)
	}

	s := newScribe(t)
	s.begin()
	big, err := json.Marshal(long)
	if err != nil {
		t.Fatal(err)
	}
	s.observe(&wire.ToolCall{ToolCallID: "c", ToolName: "t", Input: big})
	s.observe(&wire.ToolResult{ToolCallID: "c", ToolName: "t", Text: long, Complete: true, Descriptor: &wire.Descriptor{Kind: "k", Props: map[string]json.RawMessage{}}})
	if r := last[*wire.ToolResultEvent](t, s); !strings.Contains(string(r.Detail), "troupe:truncated") || !strings.Contains(string(r.Detail), wire.ToolResultKey) || size(r.Content) < 100_000 {
		t.Errorf("%d bytes, %s", size(r.Content), r.Detail)
	}
	s.observe(&wire.Unmapped{Event: big}, &wire.CustomEntry{CustomType: "x", Data: big}, &wire.BranchCompacted{Summary: long, Reason: wire.CompactionManual},
		&wire.ProviderRefused{Message: long}, s.ended(wire.RunFailed, wire.Errorf(wire.CodeInternal, "%s", long)))
	s.observe(&wire.MessageStart{MessageID: "u", Role: wire.RoleUser}, &wire.MessageEnd{MessageID: "u", Role: wire.RoleUser, Images: []wire.Image{{MimeType: "image/png", Data: strings.Repeat("a", 2<<20)}}})
	if m := last[*wire.MessageEvent](t, s); len(m.Content) != 1 || !strings.Contains(m.Content[0].(*wire.TextBlock).Text, "too large for the timeline") {
		t.Errorf("%+v", m)
	}
}

// The policy: so many events, or bytes, since the last snapshot. What is kept is
// flat however long the thread.
func TestSnapshotPolicy(t *testing.T) {
	s := newScribe(t)
	event := func(text string) {
		s.mint(&wire.MessageEvent{ID: fmt.Sprintf("m%d", len(s.events)), Role: wire.EventRoleUser, Content: []wire.ContentBlock{&wire.TextBlock{Text: text}}})
	}
	for !s.m.due() {
		event("x")
	}
	if len(s.events) != snapshotEvents {
		t.Errorf("due after %d events", len(s.events))
	}
	snap, err := s.m.snapshot(s.seq.Last()+1, wire.SnapshotPeriodic, "")
	if err != nil {
		t.Fatal(err)
	}
	s.mint(snap)
	if s.m.due() {
		t.Error("due right behind a snapshot")
	}
	n := len(s.events)
	for !s.m.due() {
		event(strings.Repeat("x", snapshotBytes/4))
	}
	if got := len(s.events) - n; got > 4 {
		t.Errorf("due after %d large events", got)
	}
	for range 40 {
		event(strings.Repeat("x", snapshotBytes/4))
		if got := s.m.state.Size(); got > keptBytes+snapshotBytes {
			t.Fatalf("%d bytes are kept", got)
		}
	}
	if m := newMaterialiser(s.m.state); m.grown != s.m.state.Size() || m.due() {
		t.Error("one that goes on begins otherwise")
	}
}

// The log of calls is bounded.
func TestCallLogIsBounded(t *testing.T) {
	var l callLog
	for i := range 3 * maxCalls {
		l.add(fmt.Sprint(i), loggedCall{run: "r"})
	}
	if len(l.entries) != maxCalls || len(l.order) != maxCalls || len(l.open("r")) != maxCalls {
		t.Errorf("%d calls are kept", len(l.entries))
	}
}
