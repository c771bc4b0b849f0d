package scripted

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// stubborn says its pid, and ignores TERM, in a session of its own too.
const stubborn = `trap '' TERM; echo pid $$; while :; do sleep 0.05; done`

func startShell(t *testing.T, command string) (*sink, host.Session) {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs sh")
	}
	k := newSink()
	s, err := New(Options{StopGrace: 100 * time.Millisecond}).Start(context.Background(), host.StartSpec{
		Thread: wire.ThreadID{Type: "scripted", ID: "a"}, Session: 1, Cwd: t.TempDir(),
	}, k)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Prompt(context.Background(), host.Prompt{Run: 1, MessageID: "u1", Text: "sh:" + command}); err != nil {
		t.Fatal(err)
	}
	return k, s
}

func isResult(r host.Report) *wire.ToolResult {
	if o, ok := r.(*host.Observed); ok {
		if res, ok := o.Observation.(*wire.ToolResult); ok {
			return res
		}
	}
	return nil
}

func complete(r host.Report) bool { res := isResult(r); return res != nil && res.Complete }

func over(r host.Report) bool { _, ok := r.(*host.RunOver); return ok }

func TestShell(t *testing.T) {
	for name, c := range map[string]struct {
		command, text string
		isError       bool
	}{
		"output and errors":    {"echo out; echo err >&2", "out\nerr\n", false},
		"exit status":          {"echo out; exit 3", "out\nexit status 3", true},
		"silent failure":       {"exit 4", "exit status 4", true},
		"signal":               {"kill -KILL $$", "ended by KILL", true},
		"no input":             {"cat; echo done", "done\n", false},
		"invalid UTF-8":        {`printf 'a\377b\n'`, "a\uFFFDb\n", false},
		"runs in the folder":   {`touch here; ls`, "here\n", false},
		"half a line":          {`printf half`, "half\n", false},
		"a background process": {`sleep 60 & echo gone`, "gone\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, _ := startShell(t, c.command)
			k.await(t, "end of the run", over)
			res := isResult(k.await(t, "result", complete))
			if res.Text != c.text || res.IsError != c.isError || res.Descriptor != nil {
				t.Errorf("got %q, error %v, %+v; want %q, error %v", res.Text, res.IsError, res.Descriptor, c.text, c.isError)
			}
		})
	}
}

func TestShellShowsTheEndOfALongOutput(t *testing.T) {
	k, _ := startShell(t, "seq 1 20000")
	k.await(t, "end of the run", over)
	res := isResult(k.await(t, "result", complete))
	if !strings.HasSuffix(res.Text, "\n19999\n20000\n") || len(res.Text) != maxShown {
		t.Errorf("got %d bytes that end in %q", len(res.Text), res.Text[max(0, len(res.Text)-20):])
	}
	d := res.Descriptor
	if d == nil || d.Kind != "tool.sh" || d.Truncated == nil {
		t.Fatalf("got the descriptor %+v", d)
	}
	if want := (wire.Truncation{Shown: maxShown, Total: 108_894, Unit: wire.UnitBytes}); *d.Truncated != want {
		t.Errorf("got %+v, want %+v", *d.Truncated, want)
	}
}

// pidSaid is the pid that a stubborn shell printed.
func pidSaid(t *testing.T, k *sink) int {
	t.Helper()
	r := k.await(t, "partial result with the pid", func(r host.Report) bool {
		res := isResult(r)
		return res != nil && strings.HasPrefix(res.Text, "pid ")
	})
	pid, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(isResult(r).Text, "pid ")))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func wantDead(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("process %d: %v, want none", pid, err)
	}
}

func TestAbortEndsAShellThatTrapsTERM(t *testing.T) {
	k, s := startShell(t, stubborn)
	pid := pidSaid(t, k)
	begun := time.Now()
	if err := s.Abort(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	end := k.await(t, "end of the run", over).(*host.RunOver)
	if end.Outcome != wire.RunAborted {
		t.Errorf("got %v", end.Outcome)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	wantDead(t, pid)
	if res := isResult(k.await(t, "result", complete)); !res.IsError || !strings.HasSuffix(res.Text, "aborted") {
		t.Errorf("got %+v", res)
	}
	if err := s.Prompt(context.Background(), host.Prompt{Run: 2, MessageID: "u2", Text: "say:still here"}); err != nil {
		t.Error(err)
	}
	k.await(t, "end of the next run", func(r host.Report) bool { o, ok := r.(*host.RunOver); return ok && o.Run == 2 })
}

func TestKillEndsAShellAndSaysSo(t *testing.T) {
	k, s := startShell(t, stubborn)
	pid := pidSaid(t, k)
	killed := s.Kill()
	if len(killed) == 0 || killed[0].Signal == "" || killed[0].PID == 0 {
		t.Errorf("got %+v", killed)
	}
	wantDead(t, pid)
	k.await(t, "exit", func(r host.Report) bool { _, ok := r.(*host.Exited); return ok })
	for _, r := range k.all() {
		if over(r) {
			t.Error("a killed session told the end of its run")
		}
	}
}

func TestCloseEndsAShell(t *testing.T) {
	k, s := startShell(t, stubborn)
	pid := pidSaid(t, k)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantDead(t, pid)
}

func TestAShellThatCannotStartIsAnError(t *testing.T) {
	t.Setenv("PATH", "/nowhere")
	k := newSink()
	s, err := New(Options{}).Start(context.Background(), host.StartSpec{Session: 1, Cwd: t.TempDir()}, k)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := s.Prompt(context.Background(), host.Prompt{Run: 1, Text: "sh:true"}); err != nil {
		t.Fatal(err)
	}
	k.await(t, "end of the run", over)
	if res := isResult(k.await(t, "result", complete)); !res.IsError || !strings.Contains(res.Text, "sh") {
		t.Errorf("got %+v", res)
	}
}
