package main

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/troupe-run/troupe/wire"
)

func TestRealPiSpeaks(t *testing.T) {
	eachPi(t, func(t *testing.T, k piKind) {
		h := newPiHost(t, k)
		v, other := h.follow(), h.follow()
		h.prompt("say:Hello from the model")
		frames := v.ended(1, wire.RunCompleted)
		if got := textOf(frames); got != "Hello from the model" {
			t.Errorf("said %q", got)
		}
		if ms := observed[*wire.Model](frames); len(ms) == 0 || ms[0].Model.ID != "mock-think" {
			t.Errorf("model %+v", ms)
		}
		if us := observed[*wire.SessionUsageChanged](frames); len(us) == 0 || us[len(us)-1].Usage.Output == 0 {
			t.Errorf("usage %+v", us)
		}
		other.ended(1, wire.RunCompleted)
		if a, b := frameLines(v.all()), frameLines(other.all()); a != b {
			t.Errorf("two followers saw\n%s\nand\n%s", a, b)
		}

		h.prompt("think:let me see say:done thinking")
		frames = v.ended(2, wire.RunCompleted)
		var thought strings.Builder
		for _, d := range observed[*wire.ThinkingDelta](frames) {
			thought.WriteString(d.Delta)
		}
		if thought.String() != "let me see" {
			t.Errorf("thought %q", thought.String())
		}

		h.prompt(bash("echo from the shell"))
		frames = v.ended(3, wire.RunCompleted)
		result := lastResult(t, frames)
		if !strings.Contains(result.Text, "from the shell") || result.IsError {
			t.Errorf("result %+v", result)
		}

		h.prompt(bash("seq 1 20000"))
		frames = v.ended(4, wire.RunCompleted)
		if d := lastResult(t, frames).Descriptor; d == nil || d.Truncated == nil || d.Truncated.Total <= d.Truncated.Shown || d.Kind != "tool.bash" {
			t.Errorf("a truncated result has descriptor %+v", d)
		}

		h.prompt("please fail:503 once")
		frames = v.ended(5, wire.RunCompleted)
		if !strings.Contains(textOf(frames), "recovered from 503") {
			t.Errorf("said %q", textOf(frames))
		}
		if k.retries {
			if r := observed[*wire.ProviderRetrying](frames); len(r) == 0 {
				t.Error("no retry was told")
			}
			if r := observed[*wire.ProviderRetryEnded](frames); len(r) == 0 || !r[len(r)-1].Succeeded {
				t.Errorf("retries ended %+v", r)
			}
		}

		h.prompt("fail:401")
		frames = v.ended(6, wire.RunFailed)
		refused := observed[*wire.ProviderRefused](frames)
		if r := refused[len(refused)-1]; r.Status != 401 || !strings.Contains(r.Message, "mock failure 401") {
			t.Errorf("refused %+v", r)
		}
		h.usable(v, 7)

		// A newcomer's snapshot is the fold of what was seen from the beginning.
		frames = v.all()
		fold := wire.Fold(frames[0].(*wire.Snapshot), frames[1:]...)
		have := h.follow().all()[0].(*wire.Snapshot)
		have.AsOfSeq, have.RecordedModel, fold.AsOfSeq, fold.RecordedModel = 0, nil, 0, nil
		if a, b := frameLines([]wire.Frame{have}), frameLines([]wire.Frame{fold}); a != b {
			t.Errorf("snapshot\n%s\nfold\n%s", a, b)
		}
	})
}

func lastResult(t *testing.T, frames []wire.Frame) *wire.ToolResult {
	t.Helper()
	rs := observed[*wire.ToolResult](frames)
	if len(rs) == 0 {
		t.Fatalf("no tool result:\n%s", frameLines(frames))
	}
	return rs[len(rs)-1]
}

func TestRealPiAsks(t *testing.T) {
	eachPi(t, func(t *testing.T, k piKind) {
		h := newPiHost(t, k)
		v := h.follow()
		h.prompt("/ask")
		h.answer(v.question(1).ID, &wire.ValueArm{Value: wire.NewSecret("green")})
		h.answer(v.question(2).ID, &wire.ConfirmArm{Confirmed: true})
		h.answer(v.question(3).ID, &wire.ValueArm{Value: wire.NewSecret("Ada")})
		q := v.question(4)
		if d, ok := q.Dialog.(*wire.EditorDialog); !ok || d.Prefill != "line 1\nline 2" {
			t.Errorf("editor %+v", q.Dialog)
		}
		h.answer(q.ID, &wire.ValueArm{Value: wire.NewSecret("edited\ntext")})
		frames := v.ended(1, wire.RunCompleted)
		if n := notices(frames); len(n) != 1 || !strings.Contains(n[0], `"pick":"green"`) || !strings.Contains(n[0], "Ada") || !strings.Contains(n[0], "edited") {
			t.Errorf("notices %q", n)
		}

		h.prompt("/ask")
		for i := 5; i <= 8; i++ {
			h.answer(v.question(i).ID, &wire.CancelArm{})
		}
		frames = v.ended(2, wire.RunCompleted)
		if n := notices(frames); len(n) != 2 || n[1] != `{"sure":false}` {
			t.Errorf("after cancels: %q", n)
		}

		h.prompt("/ask-timed")
		frames = v.ended(3, wire.RunCompleted)
		outcome(t, frames, v.question(9).ID, wire.DialogTimeout)

		h.prompt("/ask-signal")
		frames = v.ended(4, wire.RunCompleted)
		outcome(t, frames, v.question(10).ID, wire.DialogAborted)

		h.prompt("/decorate")
		frames = v.ended(5, wire.RunCompleted)
		if n := len(observed[*wire.Unmapped](frames)); n < 6 {
			t.Errorf("%d unmapped: a status bar, widget, title and editor text are no words of ours", n)
		}
		h.prompt("/boom")
		frames = v.ended(6, wire.RunCompleted)
		if e := observed[*wire.ExtensionError](frames); len(e) != 1 || !strings.Contains(e[0].Message, "boom") {
			t.Errorf("extension errors %+v", e)
		}

		h.prompt(bash("rm -rf ./nothing-here"))
		h.answer(v.question(11).ID, &wire.ValueArm{Value: wire.NewSecret("No")})
		frames = v.ended(7, wire.RunCompleted)
		if r := lastResult(t, frames); !r.IsError || !strings.Contains(r.Text, "Blocked by user") {
			t.Errorf("a refused command: %+v", r)
		}
		h.prompt(bash("rm -rf ./nothing-here; echo gone"))
		h.answer(v.question(12).ID, &wire.ValueArm{Value: wire.NewSecret("Yes")})
		frames = v.ended(8, wire.RunCompleted)
		if r := lastResult(t, frames); !strings.Contains(r.Text, "gone") {
			t.Errorf("an allowed command: %+v", r)
		}
		h.usable(v, 9)
	})
}

func notices(frames []wire.Frame) []string {
	var out []string
	for _, q := range observed[*wire.ExtensionUIRequest](frames) {
		if q.Notice != nil {
			out = append(out, q.Notice.Message)
		}
	}
	return out
}

func outcome(t *testing.T, frames []wire.Frame, id string, want wire.DialogOutcome) {
	t.Helper()
	for _, d := range observed[*wire.DialogSettled](frames) {
		if d.ID == id && d.Outcome != want {
			t.Errorf("question %s was %s, want %s", id, d.Outcome, want)
		}
	}
}

func TestRealPiIsSteeredAndQueued(t *testing.T) {
	eachPi(t, func(t *testing.T, k piKind) {
		h := newPiHost(t, k)
		v := h.follow()
		h.prompt(bash("sleep 1; echo slept"))
		nth(v, 1, "the call", func(*wire.ToolCall) bool { return true })
		if r := h.admit("say:follow-up reply", wire.AdmitEnqueued); !r.Queued {
			t.Errorf("receipt %+v", r)
		}
		h.admit("say:steered reply", wire.AdmitInterrupting)
		frames := v.ended(2, wire.RunCompleted)
		var users []string
		for _, m := range observed[*wire.MessageEnd](frames) {
			if m.Role == wire.RoleUser {
				users = append(users, *m.Text)
			}
		}
		if len(users) != 3 || users[1] != "say:steered reply" || users[2] != "say:follow-up reply" {
			t.Errorf("the user's messages entered as %q", users)
		}
		if n := len(observed[*wire.RunEnded](frames)); n != 2 {
			t.Errorf("%d runs", n)
		}
		text := textOf(frames)
		if !strings.Contains(text, "steered reply") || !strings.Contains(text, "follow-up reply") {
			t.Errorf("said %q", text)
		}
	})
}

func TestRealPiSettings(t *testing.T) {
	eachPi(t, func(t *testing.T, k piKind) {
		h := newPiHost(t, k)
		v := h.follow()
		long := strings.Repeat("lorem ipsum dolor ", 400)
		h.prompt(long)
		v.ended(1, wire.RunCompleted)
		h.prompt(long + "again")
		v.ended(2, wire.RunCompleted)
		if err := h.do(http.MethodPost, &wire.CompactRequest{Instructions: "say:A short summary."}, nil, "compact"); err != nil {
			t.Errorf("compact: %v", err)
		}
		c := nth(v, 1, "the compaction", func(*wire.BranchCompacted) bool { return true })
		if c.Reason != wire.CompactionManual || c.Summary == "" || c.TokensBefore == 0 {
			t.Errorf("compacted %+v", c)
		}
		if err := h.do(http.MethodPost, &wire.ModelRequest{ID: "mock-1", Provider: "mock"}, nil, "model"); err != nil {
			t.Errorf("model: %v", err)
		}
		nth(v, 1, "the model", func(m *wire.Model) bool { return m.Model.ID == "mock-1" })
		if err := h.do(http.MethodPost, &wire.ModelRequest{ID: "nope", Provider: "mock"}, nil, "model"); err == nil {
			t.Error("an unknown model was taken")
		}
		if err := h.do(http.MethodPost, &wire.ModelRequest{ID: "mock-think", Provider: "mock", ThinkingLevel: "low"}, nil, "model"); err != nil {
			t.Errorf("thinking level: %v", err)
		}
		nth(v, 1, "the thinking level", func(m *wire.Model) bool { return m.Model.ThinkingLevel == "low" })
		if err := h.do(http.MethodPost, &wire.ModeRequest{Mode: "plan"}, nil, "mode"); wire.AsFailure(err).Code != wire.CodeUnsupported {
			t.Errorf("pi has no permission modes: %v", err)
		}
		h.usable(v, 3)
	})
}

func TestRealPiIsStoppedAnywhere(t *testing.T) {
	eachPi(t, func(t *testing.T, k piKind) {
		h := newPiHost(t, k)
		v := h.follow()

		h.prompt("say:never said") // while starting, before the run exists
		if r := h.abort(); !r.Aborted || r.Generation != 1 {
			t.Errorf("while starting: %+v", r)
		}
		v.ended(1, wire.RunAborted)
		h.usable(v, 2)

		h.prompt("say:maybe said") // before pi has begun it
		if r := h.abort(); r.Generation != 3 {
			t.Errorf("at once: %+v", r)
		}
		v.await("run 3", func(fs []wire.Frame) bool {
			return slices.ContainsFunc(observed[*wire.Settled](fs), func(s *wire.Settled) bool { return s.Generation == 3 })
		})
		h.usable(v, 4)

		h.prompt("slow:400")
		nth(v, 1, "text", func(d *wire.TextDelta) bool { return strings.HasPrefix(d.Delta, "tick") })
		if r := h.abort(); !r.Aborted {
			t.Errorf("in text: %+v", r)
		}
		v.ended(5, wire.RunAborted)
		h.usable(v, 6)

		pidFile := filepath.Join(h.dir, "shell.pid")
		h.prompt(bash("trap '' TERM; echo $$ > " + pidFile + "; while :; do sleep 0.2; done"))
		shell := pidIn(t, pidFile)
		begin := time.Now()
		if r := h.abort(); !r.Aborted {
			t.Errorf("in a shell: %+v", r)
		}
		if took := time.Since(begin); took > 15*time.Second {
			t.Errorf("it took %v", took)
		}
		gone(t, shell)
		v.ended(7, wire.RunAborted)
		h.usable(v, 8)

		h.prompt(bash("rm -rf ./nothing-here"))
		q := v.question(1)
		r := h.abort()
		if !r.Aborted || len(r.Dialogs) != 1 || r.Dialogs[0] != q.ID {
			t.Errorf("with a question: %+v", r)
		}
		v.ended(9, wire.RunAborted)
		h.usable(v, 10)

		h.prompt("/ask")
		v.question(2)
		if r := h.abort(); len(r.Dialogs) != 1 {
			t.Errorf("in a command: %+v", r)
		}
		v.await("run 11", func(fs []wire.Frame) bool {
			return slices.ContainsFunc(observed[*wire.Settled](fs), func(s *wire.Settled) bool { return s.Generation == 11 })
		})
		h.usable(v, 12)

		h.prompt("slow:400")
		nth(v, 2, "text", func(d *wire.TextDelta) bool { return strings.HasPrefix(d.Delta, "tick 1") })
		h.prompt("say:dropped")
		receipts := make(chan wire.AbortReceipt, 2)
		for range 2 {
			go func() { receipts <- h.abort() }()
		}
		queue := 0
		for range 2 {
			queue = max(queue, len((<-receipts).Queue))
		}
		if queue != 1 {
			t.Errorf("%d prompts in the receipt", queue)
		}
		v.ended(13, wire.RunAborted)
		if r := h.abort(); r.Aborted {
			t.Errorf("while idle: %+v", r)
		}
		h.usable(v, 14)
	})
}

// gone waits until the process is no more.
func gone(t *testing.T, pid int) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 250 {
		if syscall.Kill(pid, 0) != nil {
			return
		}
		<-tick.C
	}
	t.Errorf("process %d is still there", pid)
}

func TestRealPiIsKilled(t *testing.T) {
	eachPi(t, func(t *testing.T, k piKind) {
		h := newPiHost(t, k)
		v := h.follow()
		pidFile, piFile := filepath.Join(h.dir, "shell.pid"), filepath.Join(h.dir, "pi.pid")
		h.prompt(bash("trap '' TERM HUP; echo $PPID > " + piFile + "; echo $$ > " + pidFile + "; while :; do sleep 0.2; done"))
		shell, pi := pidIn(t, pidFile), pidIn(t, piFile)
		if err := syscall.Kill(pi, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		frames := v.ended(1, wire.RunFailed)
		if e := observed[*wire.RunEnded](frames)[0]; e.Error == nil || e.Error.Code != wire.CodeSessionExited {
			t.Errorf("error %+v", e.Error)
		}
		gone(t, shell)
		h.usable(v, 2)

		for _, f := range []string{pidFile, piFile} {
			if err := os.Remove(f); err != nil {
				t.Fatal(err)
			}
		}
		h.prompt(bash("trap '' TERM HUP; echo $PPID > " + piFile + "; echo $$ > " + pidFile + "; setsid sleep 600 & while :; do sleep 0.2; done"))
		shell, pi = pidIn(t, pidFile), pidIn(t, piFile)
		if err := h.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = h.cmd.Wait()
		gone(t, shell)
		gone(t, pi)
	})
}

func TestRealPiSessionIsResumed(t *testing.T) {
	eachPi(t, func(t *testing.T, k piKind) {
		h := newPiHost(t, k)
		v := h.follow()
		h.prompt("say:first")
		v.ended(1, wire.RunCompleted)
		v.await("the idle session's end", func(fs []wire.Frame) bool {
			s, ok := fs[len(fs)-1].(*wire.Status)
			return ok && !s.Live
		})
		h.usable(v, 2)
		v.await("its end", func(fs []wire.Frame) bool {
			s, ok := fs[len(fs)-1].(*wire.Status)
			return ok && !s.Live
		})
		// The same session file has both prompts.
		found := 0
		err := filepath.WalkDir(h.dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".jsonl") {
				return err
			}
			b, err := os.ReadFile(path)
			if strings.Contains(string(b), "say:first") && strings.Contains(string(b), "say:usable 2") {
				found++
			}
			return err
		})
		if err != nil || found != 1 {
			t.Errorf("%d session files hold both prompts (%v)", found, err)
		}
	})
}
