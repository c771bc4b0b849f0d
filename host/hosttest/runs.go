package hosttest

import (
	"context"
	"testing"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

func saysWhoItIs(t *testing.T, g *stage) {
	if g.Runtime.Name() == "" {
		t.Error("the runtime has no name")
	}
	if err := g.Runtime.Available(); err != nil {
		t.Fatalf("not available: %v", err)
	}
	a := g.start("")
	info := a.session.Info()
	caps := g.Runtime.Capabilities()
	if caps.Modes != (info.Mode != nil) {
		t.Errorf("modes: the capability says %v, the session %v", caps.Modes, info.Mode)
	}
	if caps.Models && info.Model == nil {
		t.Error("models: the capability is there, the session names none")
	}
}

func runCompletes(t *testing.T, g *stage) {
	a := g.start("")
	for _, r := range a.sink.Reports() {
		if o, ok := r.(*host.Observed); ok && o.Origin != wire.OriginSessionStart {
			t.Errorf("before the first prompt: %s", tell(r))
		}
	}
	text := g.say("a plain answer")
	run := a.prompt(text)
	a.over(run, wire.RunCompleted)
	if got := said(a.sink.Reports()); got != "a plain answer" {
		t.Errorf("said %q:\n%s", got, a.sink.Story())
	}
	start, _ := a.sink.Await(t, "the assistant's message", 0, func(r host.Report) bool {
		o, ok := r.(*host.Observed)
		if !ok {
			return false
		}
		m, ok := o.Observation.(*wire.MessageStart)
		return ok && m.Role == wire.RoleAssistant
	})
	if origin := start.(*host.Observed).Origin; origin != wire.OriginRun {
		t.Errorf("the answer's origin is %s", origin)
	}
}

func runsFollow(t *testing.T, g *stage) {
	g.say("probe")
	a := g.start("")
	for range 3 {
		a.works()
	}
	ids := map[string]bool{}
	for _, o := range a.sink.Observations() {
		if m, ok := o.(*wire.MessageStart); ok {
			if ids[m.MessageID] {
				t.Errorf("message id %q is used again", m.MessageID)
			}
			ids[m.MessageID] = true
		}
	}
}

func runFails(t *testing.T, g *stage) {
	text := prompt(g, "fail", g.Prompts.Fail, "no credit left")
	a := g.start("")
	if f := a.over(a.prompt(text), wire.RunFailed).Failure; f.Message == "" {
		t.Errorf("the failure has no message: %v", f)
	}
	a.works()
}

func exitsInMidRun(t *testing.T, g *stage) {
	text := prompt(g, "exit", g.Prompts.Exit, 3)
	a := g.start("")
	a.prompt(text)
	if e := a.sink.AwaitExited(t); e.Code != 3 {
		t.Errorf("exited with %d (signal %q), want 3", e.Code, e.Signal)
	}
}

func questionAnswered(t *testing.T, g *stage) {
	a := g.start("")
	run := a.prompt(g.ask("Shall we?"))
	q, _ := a.question(0)
	arm := accept(q.Dialog)
	a.answer(host.Reply{ID: q.ID, Outcome: wire.DialogAnswered, Arm: arm})
	a.answer(host.Reply{ID: q.ID, Outcome: wire.DialogAnswered, Arm: arm}) // spent: ignored
	a.over(run, wire.RunCompleted)
	a.works()
}

func questionDeclined(t *testing.T, g *stage) {
	a := g.start("")
	run := a.prompt(g.ask("Shall we?"))
	q, _ := a.question(0)
	a.answer(host.Reply{ID: q.ID, Outcome: wire.DialogCancelled})
	if o := a.sink.AwaitRunOver(t, run); o.Outcome == wire.RunFailed {
		t.Errorf("declining failed the run: %v", o.Failure)
	}
	a.works()
}

func unknownAnswer(t *testing.T, g *stage) {
	g.say("probe")
	a := g.start("")
	a.answer(host.Reply{ID: "never-asked", Outcome: wire.DialogAnswered, Arm: &wire.ConfirmArm{Confirmed: true}})
	a.answer(host.Reply{ID: "never-asked", Outcome: wire.DialogCancelled})
	a.works()
}

// question waits for the first blocking request at or after index from.
func (a *actor) question(from int) (*wire.ExtensionUIRequest, int) {
	a.t.Helper()
	for {
		q, at := AwaitObservation[*wire.ExtensionUIRequest](a.t, a.sink, from)
		if q.Blocking {
			return q, at
		}
		from = at
	}
}

// accept is an answer that the dialog takes.
func accept(d wire.DialogSpec) wire.AnswerArm {
	switch d := d.(type) {
	case *wire.SelectDialog:
		return &wire.ValueArm{Value: wire.NewSecret(d.Options[0])}
	case *wire.ConfirmDialog:
		return &wire.ConfirmArm{Confirmed: true}
	case *wire.QuestionnaireDialog:
		var all []wire.QuestionAnswer
		for _, q := range d.Questions {
			all = append(all, wire.QuestionAnswer{Selected: []string{q.Options[0].Label}})
		}
		return &wire.AnswersArm{Answers: all}
	default:
		return &wire.ValueArm{Value: wire.NewSecret("yes")}
	}
}

func steers(t *testing.T, g *stage) {
	if !g.Runtime.Capabilities().Steer {
		t.Skipf("%s does not steer", g.Runtime.Name())
	}
	slow, say := g.slow(60), g.say("by the way")
	a := g.start("")
	run := a.prompt(slow)
	AwaitObservation[*wire.TextDelta](t, a.sink, 0)
	p := host.Prompt{Run: run, MessageID: "steered-1", Text: say}
	a.call("steer", func(ctx context.Context) error { return a.session.Steer(ctx, p) })
	_, at := a.sink.Await(t, "the steered prompt's entry", 0, func(r host.Report) bool {
		s, ok := r.(*host.Steered)
		return ok && s.MessageID == p.MessageID
	})
	a.over(run, wire.RunCompleted)
	for _, r := range a.sink.Reports()[:at] {
		if isRunOver(run)(r) {
			t.Errorf("the run was over before the prompt was taken in:\n%s", a.sink.Story())
		}
	}
	a.works()
}

func refusesTheUnsupported(t *testing.T, g *stage) {
	a := g.start("")
	caps := g.Runtime.Capabilities()
	for _, v := range []struct {
		name string
		can  bool
		call func(context.Context) error
	}{
		{"steer", caps.Steer, func(ctx context.Context) error {
			return a.session.Steer(ctx, host.Prompt{Run: 1, MessageID: "s", Text: "x"})
		}},
		{"mode", caps.Modes, func(ctx context.Context) error { return a.session.SetMode(ctx, "plan") }},
		{"model", caps.Models, func(ctx context.Context) error {
			return a.session.SetModel(ctx, wire.ModelRequest{ID: "another"})
		}},
		{"compact", caps.Compact, func(ctx context.Context) error { return a.session.Compact(ctx, "") }},
	} {
		if !v.can {
			isFailure(t, v.name, bounded(v.call), wire.CodeUnsupported)
		}
	}
}

func settings(t *testing.T, g *stage) {
	if g.Mode == "" && g.Model.ID == "" {
		t.Skipf("%s is not told what to set", g.Runtime.Name())
	}
	a := g.start("")
	if g.Mode != "" {
		from := a.sink.Len()
		a.call("mode", func(ctx context.Context) error { return a.session.SetMode(ctx, g.Mode) })
		if m, _ := AwaitObservation[*wire.PermissionMode](t, a.sink, from); m.Mode != g.Mode {
			t.Errorf("the mode is %q, want %q", m.Mode, g.Mode)
		}
	}
	if g.Model.ID != "" {
		from := a.sink.Len()
		a.call("model", func(ctx context.Context) error { return a.session.SetModel(ctx, g.Model) })
		a.sink.Await(t, "the model", from, func(r host.Report) bool {
			o, ok := r.(*host.Observed)
			if !ok {
				return false
			}
			m, ok := o.Observation.(*wire.Model)
			return ok && m.Model.ID == g.Model.ID && (g.Model.ThinkingLevel == "" || m.Model.ThinkingLevel == g.Model.ThinkingLevel)
		})
	}
	a.works()
}

func creditIsPerSession(t *testing.T, g *stage) {
	slow := g.slow(5)
	a, b := g.start(""), g.start("")
	a.sink.Block()
	run := a.prompt(slow)
	a.sink.AwaitBlocked(t)
	b.works()
	a.sink.Unblock()
	a.over(run, wire.RunCompleted)
	a.works()
}

func resumes(t *testing.T, g *stage) {
	if !g.Runtime.Capabilities().Resume {
		t.Skipf("%s does not resume", g.Runtime.Name())
	}
	g.say("probe")
	a := g.start("")
	a.works()
	resume := a.session.Info().Resume
	if resume == "" {
		t.Fatal("the session cannot be named")
	}
	if err := a.session.Close(); err != nil {
		t.Fatal(err)
	}
	b := g.start(resume)
	if got := b.session.Info().Resume; got != resume {
		t.Errorf("resumed %q as %q", resume, got)
	}
	b.works()
}

// within says whether c is closed before d has passed.
func within(c <-chan struct{}, d time.Duration) bool {
	over := time.NewTimer(d)
	defer over.Stop()
	select {
	case <-c:
		return true
	case <-over.C:
		return false
	}
}
