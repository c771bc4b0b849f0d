package pi

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/host/hosttest"
	"github.com/troupe-run/troupe/wire"
)

func fakeRuntime(t *testing.T, version string, env map[string]string) host.Runtime {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	e := map[string]string{asFake: version}
	for k, v := range env {
		e[k] = v
	}
	return New(Options{Command: []string{self}, Env: e})
}

func eachVersion(t *testing.T, f func(t *testing.T, version string)) {
	for _, v := range []string{"new", "old"} {
		t.Run(v, func(t *testing.T) { f(t, v) })
	}
}

// TestContract runs the suite that every runtime passes, on the fake agent.
func TestContract(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		hosttest.Run(t, func(t *testing.T) hosttest.Subject {
			file := filepath.Join(t.TempDir(), "session.jsonl")
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return hosttest.Subject{
				Runtime: fakeRuntime(t, version, map[string]string{"FAKE_FILE": file}),
				Prompts: hosttest.Prompts{
					Say:   func(text string) string { return "say:" + text },
					Slow:  func(n int) string { return fmt.Sprintf("slow:%d", n) },
					Shell: func(c string) string { return "sh:" + c },
					Ask:   func(title string) string { return "ask:" + title },
					Fail:  func(text string) string { return "fail:" + text },
					Exit:  func(code int) string { return fmt.Sprintf("exit:%d", code) },
				},
				Model: wire.ModelRequest{ID: "fake-2", Provider: "fake"},
			}
		})
	})
}

// started is a session of the fake with the sink that hears it.
func started(t *testing.T, version string, env map[string]string) (host.Session, *hosttest.Sink) {
	t.Helper()
	sink := hosttest.NewSink()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	s, err := fakeRuntime(t, version, env).Start(ctx, host.StartSpec{Thread: wire.ThreadID{Type: "pi", ID: "x"}, Session: 1, Cwd: t.TempDir()}, sink)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, sink
}

// ran prompts and waits for the end of the run.
func ran(t *testing.T, s host.Session, sink *hosttest.Sink, run uint64, text string) *host.RunOver {
	t.Helper()
	if err := s.Prompt(context.Background(), host.Prompt{Run: run, MessageID: fmt.Sprint("p", run), Text: text}); err != nil {
		t.Fatalf("prompt %q: %v", text, err)
	}
	return sink.AwaitRunOver(t, run)
}

func TestAPromptThatIsRefused(t *testing.T) {
	eachVersion(t, func(t *testing.T, v string) {
		s, sink := started(t, v, nil)
		over := ran(t, s, sink, 1, "refuse")
		if over.Outcome != wire.RunFailed || over.Failure == nil || over.Failure.Code != wire.CodePromptRejected || !strings.Contains(over.Failure.Message, "not today") {
			t.Errorf("%+v %+v", over, over.Failure)
		}
		if over := ran(t, s, sink, 2, "say:still here"); over.Outcome != wire.RunCompleted {
			t.Errorf("%+v", over)
		}
	})
}

// TestASlashCommandEndsItsRun: it has no agent_start; the answer to its prompt is
// the end. A stop cancels its question first.
func TestASlashCommandEndsItsRun(t *testing.T) {
	eachVersion(t, func(t *testing.T, v string) {
		s, sink := started(t, v, nil)
		ctx := context.Background()
		if err := s.Prompt(ctx, host.Prompt{Run: 1, MessageID: "p", Text: "/ask"}); err != nil {
			t.Fatal(err)
		}
		q, _ := hosttest.AwaitObservation[*wire.ExtensionUIRequest](t, sink, 0)
		if err := s.Answer(ctx, host.Reply{ID: q.ID, Outcome: wire.DialogAnswered, Arm: &wire.ValueArm{Value: wire.NewSecret("a")}}); err != nil {
			t.Fatal(err)
		}
		if over := sink.AwaitRunOver(t, 1); over.Outcome != wire.RunCompleted {
			t.Errorf("%+v", over)
		}
		if err := s.Prompt(ctx, host.Prompt{Run: 2, MessageID: "p", Text: "/ask"}); err != nil {
			t.Fatal(err)
		}
		hosttest.AwaitObservation[*wire.ExtensionUIRequest](t, sink, sink.Len())
		if err := s.Abort(ctx, 2); err != nil {
			t.Fatal(err)
		}
		if over := sink.AwaitRunOver(t, 2); over.Outcome != wire.RunAborted {
			t.Errorf("%+v", over)
		}
	})
}

// TestOutputThatIsNoProtocol: garbage, half a line, invalid UTF-8 and 50 MB of
// line are unmapped, bounded, and the run goes on.
func TestOutputThatIsNoProtocol(t *testing.T) {
	eachVersion(t, func(t *testing.T, v string) {
		s, sink := started(t, v, map[string]string{"FAKE_START": "garbage"})
		if over := ran(t, s, sink, 1, "garbage"); over.Outcome != wire.RunCompleted {
			t.Errorf("%+v", over)
		}
		if over := ran(t, s, sink, 2, "big"); over.Outcome != wire.RunCompleted {
			t.Errorf("%+v", over)
		}
		unmapped := 0
		for _, r := range sink.Reports() {
			o, ok := r.(*host.Observed)
			if !ok {
				continue
			}
			if u, ok := o.Observation.(*wire.Unmapped); ok {
				unmapped++
				if len(u.Event) > 2*maxUnmapped {
					t.Errorf("%d bytes of an unmapped line", len(u.Event))
				}
			}
			if _, err := wire.EncodeObservation(o.Observation); err != nil {
				t.Error(err)
			}
		}
		if unmapped < 7 {
			t.Errorf("%d unmapped", unmapped)
		}
	})
}

func TestHalfALineAndGone(t *testing.T) {
	s, sink := started(t, "new", nil)
	if err := s.Prompt(context.Background(), host.Prompt{Run: 1, MessageID: "p", Text: "half"}); err != nil {
		t.Fatal(err)
	}
	if x := sink.AwaitExited(t); x.Code != 0 {
		t.Errorf("%+v", x)
	}
	if err := hosttest.Check(sink.Reports()); err != nil {
		t.Error(err)
	}
}

// TestAQuestionOutOfTheSchemaGetsItsCancelValue at once, and is not shown.
func TestAQuestionOutOfTheSchemaGetsItsCancelValue(t *testing.T) {
	s, sink := started(t, "new", nil)
	if over := ran(t, s, sink, 1, "invalid"); over.Outcome != wire.RunCompleted {
		t.Errorf("%+v", over)
	}
	for _, r := range sink.Reports() {
		if o, ok := r.(*host.Observed); ok {
			if q, ok := o.Observation.(*wire.ExtensionUIRequest); ok {
				t.Errorf("it was shown: %+v", q)
			}
		}
	}
}

func TestStartsThatFail(t *testing.T) {
	spec := host.StartSpec{Thread: wire.ThreadID{Type: "pi", ID: "x"}, Session: 1, Cwd: t.TempDir()}
	for start, want := range map[string]string{"exit": "no key is configured", "silent": "in time"} {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		sink := hosttest.NewSink()
		_, err := fakeRuntime(t, "new", map[string]string{"FAKE_START": start}).Start(ctx, spec, sink)
		cancel()
		if f := wire.AsFailure(err); f == nil || f.Code != wire.CodeStartFailed || !strings.Contains(f.Message, want) {
			t.Errorf("%s: %v", start, err)
		}
	}
	missing := New(Options{Command: []string{"no-such-pi"}})
	if f := wire.AsFailure(missing.Available()); f == nil || f.Code != wire.CodeCommandMissing || !strings.Contains(f.Message, "no-such-pi") {
		t.Errorf("%v", missing.Available())
	}
}

// TestResume passes the session's file, where it is still there, and takes over
// what the session has spent.
func TestResume(t *testing.T) {
	file := filepath.Join(t.TempDir(), "session.jsonl")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := New(Options{Command: []string{"pi"}, Model: "p/m", SessionDir: "d"}).(*runtime)
	if have := strings.Join(r.args(file), " "); have != "pi --mode rpc --provider p --model m --session-dir d --session "+file {
		t.Errorf("%s", have)
	}
	sink := hosttest.NewSink()
	s, err := fakeRuntime(t, "new", map[string]string{"FAKE_FILE": file}).Start(context.Background(),
		host.StartSpec{Thread: wire.ThreadID{Type: "pi", ID: "x"}, Session: 1, Cwd: t.TempDir(), Resume: file}, sink)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if info := s.Info(); info.Resume != file || info.Model == nil || info.Model.ID != "fake-1" {
		t.Errorf("%+v", info)
	}
	if u, _ := hosttest.AwaitObservation[*wire.SessionUsageChanged](t, sink, 0); u.Usage.Input != 5 || u.Usage.TotalCost == nil {
		t.Errorf("%+v", u.Usage)
	}
}

func TestSettingsThatAreRefused(t *testing.T) {
	s, _ := started(t, "new", nil)
	ctx := context.Background()
	for what, err := range map[string]error{
		"model":   s.SetModel(ctx, wire.ModelRequest{ID: "nope"}),
		"compact": s.Compact(ctx, ""),
		"mode":    s.SetMode(ctx, "plan"),
	} {
		if err == nil {
			t.Errorf("%s was taken", what)
		}
	}
}
