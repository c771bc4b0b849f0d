package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// show is a transcript in a line: open messages end in "…".
func show(s *Snapshot) string {
	var out []string
	for _, m := range s.Messages {
		var parts []string
		for _, p := range m.Parts {
			switch p := p.(type) {
			case *TextPart:
				parts = append(parts, "'"+p.Text+"'")
			case *ThinkingPart:
				parts = append(parts, "("+p.Text+")")
			case *ToolCallPart:
				parts = append(parts, "call "+p.ToolCallID)
			case *ToolResultPart:
				parts = append(parts, "result "+p.ToolCallID+"="+p.Text)
			case *CustomPart:
				parts = append(parts, "custom "+p.CustomType)
			case *ImagePart:
				parts = append(parts, "image "+p.Data)
			}
		}
		line := fmt.Sprintf("%s %s[%s]", m.ID, m.Role, strings.Join(parts, ", "))
		if !m.Complete {
			line += "…"
		}
		out = append(out, line)
	}
	return strings.Join(out, "; ")
}

func start(id string, role Role) Observation { return &MessageStart{MessageID: id, Role: role} }
func asst(id string) Observation             { return start(id, RoleAssistant) }
func end(id string) Observation              { return &MessageEnd{MessageID: id, Role: RoleAssistant} }
func text(id, s string) Observation          { return &TextDelta{MessageID: id, Delta: s} }
func think(id, s string) Observation         { return &ThinkingDelta{MessageID: id, Delta: s} }
func call(id, in string) Observation {
	return &ToolCall{ToolCallID: id, ToolName: "t", Input: json.RawMessage("{}"), MessageID: in}
}

func result(id, s string) Observation {
	return &ToolResult{ToolCallID: id, ToolName: "t", Text: s, Complete: true}
}
func partial(id, s string) Observation { return &ToolResult{ToolCallID: id, ToolName: "t", Text: s} }
func custom(typ string) Observation    { return &CustomEntry{CustomType: typ, Data: json.RawMessage("1")} }

func frames(from uint64, obs ...Observation) []Frame {
	var out []Frame
	for i, o := range obs {
		out = append(out, &ObservationFrame{Seq: from + uint64(i), Observation: o})
	}
	return out
}

func TestFoldTranscript(t *testing.T) {
	withText := func(id, s string) Observation { return &MessageEnd{MessageID: id, Role: RoleAssistant, Text: &s} }
	for _, c := range []struct {
		name string
		obs  []Observation
		want string
	}{
		{"a message opens, grows, ends", []Observation{asst("a"), text("a", "x"), text("a", "y"), end("a")}, "a assistant['xy']"},
		{"open until it ends", []Observation{asst("a"), text("a", "x")}, "a assistant['x']…"},
		{"a start of an open id changes nothing", []Observation{asst("a"), text("a", "x"), start("a", RoleUser)}, "a assistant['x']…"},
		{"a start of an ended id opens another", []Observation{asst("a"), text("a", "x"), end("a"), asst("b"), end("b"), start("a", RoleUser), text("a", "y")}, "a assistant['x']; b assistant[]; a user['y']…"},
		{"deltas of another type begin a part", []Observation{asst("a"), think("a", "1"), think("a", "2"), text("a", "x"), think("a", "3"), text("a", "y")}, "a assistant[(12), 'x', (3), 'y']…"},
		{"deltas for an unknown id change nothing", []Observation{text("z", "x"), think("z", "y")}, ""},
		{"deltas for an ended id change nothing", []Observation{asst("a"), end("a"), text("a", "x"), think("a", "y")}, "a assistant[]"},
		{"complete ones in the order of their end, open ones of their start", []Observation{asst("a"), asst("b"), asst("c"), asst("d"), end("c"), end("a")}, "c assistant[]; a assistant[]; b assistant[]…; d assistant[]…"},
		{"overlapping messages grow apart", []Observation{asst("a"), asst("b"), text("a", "1"), text("b", "2"), text("a", "3"), text("b", "4")}, "a assistant['13']…; b assistant['24']…"},
		{"steering enters while one is open", []Observation{asst("a"), text("a", "1"), start("u", RoleUser), withText("u", "stop"), text("a", "2")}, "u user['stop']; a assistant['12']…"},
		{"an end of an unknown id changes nothing", []Observation{asst("a"), end("z")}, "a assistant[]…"},
		{"a second end changes nothing", []Observation{asst("a"), withText("a", "x"), withText("a", "y")}, "a assistant['x']"},
		{"the end's text replaces all text, at the first", []Observation{asst("a"), think("a", "h"), text("a", "x"), call("c", "a"), text("a", "y"), withText("a", "final")}, "a assistant[(h), 'final', call c]"},
		{"the end's text where there was none", []Observation{asst("a"), think("a", "h"), withText("a", "final")}, "a assistant[(h), 'final']"},
		{"an empty text removes", []Observation{asst("a"), text("a", "x"), withText("a", "")}, "a assistant[]"},
		{"images are appended", []Observation{start("u", RoleUser), &MessageEnd{MessageID: "u", Role: RoleUser, Text: ptr("look"), Images: []Image{{"image/png", "1"}, {"image/png", "2"}}}}, "u user['look', image 1, image 2]"},
		{"a call goes into the open message it names", []Observation{asst("a"), asst("b"), call("c", "a")}, "a assistant[call c]…; b assistant[]…"},
		{"else into the newest open assistant message", []Observation{asst("a"), asst("b"), start("u", RoleUser), call("c", "")}, "a assistant[]…; b assistant[call c]…; u user[]…"},
		{"open wins over the ended one it names", []Observation{asst("a"), end("a"), asst("b"), call("c", "a")}, "a assistant[]; b assistant[call c]…"},
		{"else into the ended message it names", []Observation{asst("a"), end("a"), start("u", RoleUser), call("c", "a")}, "a assistant[call c]; u user[]…"},
		{"else it stands alone", []Observation{asst("a"), end("a"), start("u", RoleUser), call("c", "z")}, "a assistant[]; c assistant[call c]; u user[]…"},
		{"a call alone without a name", []Observation{call("c", "")}, "c assistant[call c]"},
		{"a result goes behind its call", []Observation{asst("a"), call("1", ""), call("2", ""), result("1", "x"), text("a", "y"), result("2", "z")}, "a assistant[call 1, result 1=x, call 2, result 2=z, 'y']…"},
		{"a late result reaches an ended message", []Observation{asst("a"), call("1", ""), end("a"), asst("b"), text("b", "q"), result("1", "late")}, "a assistant[call 1, result 1=late]; b assistant['q']…"},
		{"a second result replaces the first", []Observation{asst("a"), call("1", ""), result("1", "x"), end("a"), result("1", "y")}, "a assistant[call 1, result 1=y]"},
		{"a partial one changes nothing", []Observation{asst("a"), call("1", ""), partial("1", "x"), partial("2", "x")}, "a assistant[call 1]…"},
		{"a result without a call stands alone", []Observation{asst("a"), result("1", "x"), result("1", "y"), end("a")}, "1 tool[result 1=y]; a assistant[]"},
		{"its call wins over an earlier result alone", []Observation{asst("a"), end("a"), result("1", "x"), call("1", "a"), result("1", "y")}, "a assistant[call 1, result 1=y]; 1 tool[result 1=x]"},
		{"of two calls of an id, the newest message", []Observation{asst("a"), call("1", ""), result("1", "x"), end("a"), asst("b"), call("1", ""), result("1", "y")}, "a assistant[call 1, result 1=x]; b assistant[call 1, result 1=y]…"},
		{"custom entries are messages, numbered", []Observation{custom("p"), asst("a"), custom("q"), end("a"), custom("r")}, "custom-0 custom[custom p]; custom-1 custom[custom q]; a assistant[]; custom-2 custom[custom r]"},
		{"an open custom message is not counted", []Observation{start("x", RoleCustom), custom("p")}, "custom-0 custom[custom p]; x custom[]…"},
		{"what has no place in a transcript changes none", []Observation{asst("a"), &TurnStart{1}, &TurnEnd{1}, &ProviderRefused{}, &ProviderRetrying{}, &ProviderRetryEnded{}, &Queue{}, &PromptRejected{}, &ExtensionError{}, &BranchCompacted{Reason: CompactionManual}, &PermissionModeRejected{}, &Settled{}, &Unmapped{}}, "a assistant[]…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := frames(1, c.obs...)
			got := Fold(&Snapshot{}, all...)
			if show(got) != c.want {
				t.Fatalf("got  %s\nwant %s", show(got), c.want)
			}
			if got.AsOfSeq != uint64(len(c.obs)) {
				t.Fatalf("as of %d after %d", got.AsOfSeq, len(c.obs))
			}
			inPlace := &Snapshot{}
			for _, o := range c.obs {
				inPlace.Apply(o)
			}
			if show(inPlace) != c.want {
				t.Fatalf("Apply gives %s", show(inPlace))
			}
		})
	}
}

func TestFoldState(t *testing.T) {
	model := exampleModel()
	live := func() *Snapshot {
		return &Snapshot{
			Live: true, Generation: 1, Model: &model, Usage: SessionUsage{Input: 5, Context: &ContextUsage{Tokens: 1, Window: 2}},
			OpenDialogs: []OpenDialog{{ID: "d1", Dialog: &EditorDialog{}}},
		}
	}
	ask := func(id string) Observation {
		return &ExtensionUIRequest{ID: id, Origin: OriginRun, Blocking: true, Dialog: &EditorDialog{Title: id}}
	}
	cut := &Interrupted{Reason: RunAborted, LastMessageID: "a", At: exampleTime}
	ids := func(s *Snapshot) (out []string) {
		for _, d := range s.OpenDialogs {
			out = append(out, d.ID)
		}
		return out
	}

	t.Run("a session that is gone takes model, dialogs and the context with it", func(t *testing.T) {
		s := Fold(live(), &Status{Generation: 1})
		if s.Live || s.Model != nil || len(s.OpenDialogs) != 0 || s.OpenDialogs == nil || s.Usage.Context != nil || s.Usage.Input != 5 {
			t.Fatalf("%+v", s)
		}
	})
	t.Run("one that is there takes recordedModel", func(t *testing.T) {
		if s := Fold(&Snapshot{RecordedModel: &model}, &Status{}); s.RecordedModel == nil {
			t.Fatal("gone while not live")
		}
		if s := Fold(&Snapshot{RecordedModel: &model}, &Status{Live: true}); s.RecordedModel != nil {
			t.Fatal("there while live")
		}
	})
	t.Run("a run that begins clears interrupted", func(t *testing.T) {
		for _, c := range []struct {
			busy    bool // before
			status  Status
			cleared bool
		}{
			{false, Status{Live: true, Busy: true, Generation: 2}, true},
			{false, Status{Live: true, Generation: 1}, false},
			{true, Status{Live: true, Busy: true, Generation: 1}, false},
			{true, Status{Live: true, Busy: true, Generation: 2}, true},
			{true, Status{Live: true, Generation: 1}, false},
		} {
			before := live()
			before.Busy, before.Interrupted = c.busy, cut
			if s := Fold(before, &c.status); (s.Interrupted == nil) != c.cleared || s.Busy != c.status.Busy || s.Generation != c.status.Generation {
				t.Errorf("busy %v, %+v: %+v", c.busy, c.status, s.Interrupted)
			}
		}
	})
	t.Run("run-ended sets interrupted unless it completed", func(t *testing.T) {
		base := Fold(live(), frames(1, asst("a"), end("a"), asst("b"))...)
		for outcome, want := range map[RunOutcome]*Interrupted{
			RunCompleted: nil,
			RunAborted:   {Reason: RunAborted, LastMessageID: "a", At: exampleTime},
			RunFailed:    {Reason: RunFailed, LastMessageID: "a", At: exampleTime},
		} {
			s := Fold(base, frames(9, &RunEnded{Generation: 1, Outcome: outcome, At: exampleTime})...)
			if !reflect.DeepEqual(s.Interrupted, want) {
				t.Errorf("%s: %+v", outcome, s.Interrupted)
			}
		}
		before := live()
		before.Interrupted = cut
		if s := Fold(before, frames(1, &RunEnded{Outcome: RunCompleted})...); s.Interrupted != nil {
			t.Error("a completed run is interrupted")
		}
	})
	t.Run("state is replaced whole", func(t *testing.T) {
		other := ModelState{ID: "m-2", ThinkingLevel: "off"}
		s := Fold(live(), frames(1, &PermissionMode{Mode: "auto", Available: []string{"auto"}}, &Model{other}, &SessionUsageChanged{SessionUsage{Output: 7}})...)
		if s.PermissionMode.Mode != "auto" || *s.Model != other || s.Usage != (SessionUsage{Output: 7}) {
			t.Fatalf("%+v", s)
		}
	})
	t.Run("a login while it waits", func(t *testing.T) {
		waiting := &Login{State: LoginWaiting, Provider: "acme", Since: exampleTime}
		s := Fold(live(), frames(1, waiting)...)
		if !reflect.DeepEqual(s.Login, &LoginInProgress{Provider: "acme", Since: exampleTime}) {
			t.Fatalf("%+v", s.Login)
		}
		for _, over := range []LoginState{LoginSucceeded, LoginFailed, LoginEnded} {
			if got := Fold(s, frames(2, &Login{State: over})...); got.Login != nil {
				t.Errorf("%s: %+v", over, got.Login)
			}
		}
	})
	t.Run("open dialogs, oldest first", func(t *testing.T) {
		notice := &ExtensionUIRequest{ID: "n", Origin: OriginRun, Notice: &Notice{Level: NoticeInfo}}
		s := Fold(live(), frames(1, ask("d2"), notice, ask("d3"), &DialogSettled{ID: "d2", Outcome: DialogTimeout}, &DialogSettled{ID: "d9", Outcome: DialogAborted})...)
		if got := ids(s); !reflect.DeepEqual(got, []string{"d1", "d3"}) {
			t.Fatal(got)
		}
	})
	t.Run("a snapshot replaces everything", func(t *testing.T) {
		fresh := &Snapshot{ThreadID: "x.y", AsOfSeq: 40, Messages: []Message{{ID: "z", Role: RoleUser, Complete: true}}}
		s := Fold(live(), append(frames(1, asst("a")), fresh, frames(41, asst("b"))[0])...)
		if show(s) != "z user[]; b assistant[]…" || s.AsOfSeq != 41 || s.ThreadID != "x.y" || s.Live || len(fresh.Messages) != 1 {
			t.Fatalf("%+v", s)
		}
	})
	t.Run("seq skips where a partial was elided", func(t *testing.T) {
		if s := Fold(live(), frames(17, text("a", "x"))...); s.AsOfSeq != 17 {
			t.Fatal(s.AsOfSeq)
		}
	})
	t.Run("lists are there, even empty", func(t *testing.T) {
		if s := Fold(&Snapshot{}); s.Messages == nil || s.OpenDialogs == nil {
			t.Fatalf("%+v", s)
		}
	})
}

// A long message costs in proportion to its length: the text is not copied with
// every delta.
func TestFoldGrowsTextInPlace(t *testing.T) {
	const deltas = 20_000
	obs := make([]Observation, 0, deltas+1)
	obs = append(obs, asst("a"))
	for range deltas {
		obs = append(obs, text("a", "0123456789abcdef"))
	}
	all := frames(1, obs...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s := Fold(&Snapshot{}, all...)
	runtime.ReadMemStats(&after)
	if n := len(s.Messages[0].Parts[0].(*TextPart).Text); n != 16*deltas {
		t.Fatalf("%d bytes of text", n)
	}
	// 320 kB of text; copied with every delta it would be 3.2 GB.
	if b := after.TotalAlloc - before.TotalAlloc; b > 10<<20 {
		t.Errorf("%d bytes were allocated", b)
	}
}
