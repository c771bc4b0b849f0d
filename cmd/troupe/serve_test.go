package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"github.com/troupe-run/troupe/host/proc"
	"github.com/troupe-run/troupe/wire"
)

// asTroupe in the environment makes this test's binary the program itself.
const asTroupe = "TROUPE_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	proc.Main()
	if os.Getenv(asTroupe) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// serving starts a program on a free port; stop sends it SIGTERM and answers what
// run returned.
func serving(t *testing.T) (url string, stop func() error) {
	t.Helper()
	return servingWith(t, zaptest.NewLogger(t))
}

func servingWith(t *testing.T, log *zap.Logger) (url string, stop func() error) {
	t.Helper()
	cfg, err := loadConfig(flagValues{listen: "127.0.0.1:0", data: t.TempDir()}, environment(t.TempDir()), nothing)
	if err != nil {
		t.Fatal(err)
	}
	signals, urls, ended := make(chan os.Signal, 2), make(chan string, 1), make(chan error, 1)
	var out bytes.Buffer
	p := &program{cfg: cfg, out: &out, log: log, signals: signals,
		exit: func(int) { t.Error("exit was called") }, ready: func(u string) { urls <- u }}
	go func() { ended <- p.run(context.Background()) }() // a test's own context ends before its cleanups
	select {
	case url = <-urls:
	case err := <-ended:
		t.Fatalf("run: %v", err)
	case <-time.After(20 * time.Second):
		t.Fatal("it is not ready")
	}
	if want := "troupe: serving " + url + "\n"; out.String() != want {
		t.Errorf("stdout: %q, want %q", out.String(), want)
	}
	var once sync.Once
	var result error
	stop = func() error {
		once.Do(func() {
			signals <- syscall.SIGTERM
			select {
			case result = <-ended:
			case <-time.After(30 * time.Second):
				result = fmt.Errorf("it did not stop")
			}
		})
		return result
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	return url, stop
}

func TestServeFromFirstPromptToStop(t *testing.T) {
	url, stop := serving(t)
	code, out, errOut := execute(t, url, "", "agents")
	if code != 0 || !strings.Contains(out, "scripted") || !strings.Contains(out, "available, default") {
		t.Errorf("agents: %d, %q, %q", code, out, errOut)
	}
	code, out, errOut = execute(t, url, "", "new", "--id", "one", "--title", "First")
	if code != 0 || out != "scripted.one\n" {
		t.Fatalf("new: %d, %q, %q", code, out, errOut)
	}
	for _, c := range []struct {
		prompt string
		code   int
		out    string
	}{
		{"say:Hello", exitOK, "Hello\n"},
		{"just an echo", exitOK, "just an echo\n"},
		{"fail:no credit", exitRunFailed, ""},
		{"exit:3", exitRunFailed, ""},
		{"say:alive", exitOK, "alive\n"},
	} {
		code, out, errOut := execute(t, url, "", "prompt", "--wait", "one", c.prompt)
		if code != c.code || c.out != "" && out != c.out || (code != 0) == (errOut == "") {
			t.Errorf("prompt %q: %d, %q, %q", c.prompt, code, out, errOut)
		}
	}

	// An abort ends a waiting prompt's run.
	type ended struct {
		code int
		out  string
	}
	waiting := make(chan ended, 1)
	go func() {
		code, out, _ := execute(t, url, "", "prompt", "--wait", "--json", "one", "slow:100000")
		waiting <- ended{code, out}
	}()
	aborted := false
	for begin := time.Now(); !aborted && time.Since(begin) < 15*time.Second; {
		_, out, _ := execute(t, url, "", "abort", "--json", "one")
		var r wire.AbortReceipt
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatalf("abort printed %q: %v", out, err)
		}
		aborted = r.Aborted
	}
	if e := <-waiting; e.code != exitRunAborted || !strings.Contains(e.out, `"outcome":"aborted"`) {
		t.Errorf("the aborted prompt: %+v", e)
	}
	if code, out, _ := execute(t, url, "", "abort", "one"); code != 0 || out != "nothing to abort\n" {
		t.Errorf("a second abort: %d, %q", code, out)
	}

	// A question is answered while its prompt waits.
	go func() {
		code, out, _ := execute(t, url, "", "prompt", "--wait", "one", "ask:select red|green ; say:thanks")
		waiting <- ended{code, out}
	}()
	if code, _, errOut := execute(t, url, "", "answer", "--wait", "one", "--value", "green"); code != 0 {
		t.Errorf("answer: %d, %q", code, errOut)
	}
	if e := <-waiting; e.code != 0 || !strings.Contains(e.out, "thanks") {
		t.Errorf("the answered prompt: %+v", e)
	}

	code, out, _ = execute(t, url, "", "follow", "--until-idle", "--json", "one")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	f, err := wire.DecodeFrame([]byte(lines[0]))
	if s, ok := f.(*wire.Snapshot); code != 0 || err != nil || !ok || s.ThreadID != "scripted.one" || len(s.Messages) < 10 {
		t.Errorf("follow: %d, %.200q, %v", code, out, err)
	}
	code, out, _ = execute(t, url, "", "follow", "--until-idle", "one")
	if code != 0 || !strings.Contains(out, "> say:Hello") || !strings.Contains(out, "Hello\n") {
		t.Errorf("follow: %d, %q", code, out)
	}
	if code, _, errOut := execute(t, url, "", "rename", "one", "Another", "title"); code != 0 {
		t.Errorf("rename: %q", errOut)
	}
	if _, out, _ := execute(t, url, "", "ls", "--q", "another"); !strings.Contains(out, "scripted.one") || !strings.Contains(out, "Another title") {
		t.Errorf("ls: %q", out)
	}
	for _, args := range [][]string{{"abort", "nobody.x"}, {"prompt", "one", " "}, {"new", "--type", "nobody"}} {
		if code, _, errOut := execute(t, url, "", args...); code != exitFailure || !strings.Contains(errOut, "(") {
			t.Errorf("%v: %d, %q", args, code, errOut)
		}
	}
	if err := stop(); err != nil {
		t.Errorf("run: %v", err)
	}
	if code, _, _ := execute(t, url, "", "ls"); code != exitNoServer {
		t.Errorf("after the stop: %d", code)
	}
}

func TestServeLeavesNothingBehind(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Run("serve", func(t *testing.T) {
		url, _ := serving(t)
		execute(t, url, "", "prompt", "--wait", "a", "say:x")
		http.DefaultClient.CloseIdleConnections()
	})
	goleak.VerifyNone(t, before,
		// These two end by themselves, some seconds after their shutdown.
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
		goleak.IgnoreAnyFunction("github.com/asynkron/protoactor-go/actor.startTimer"))
}

func TestServeRefusesATakenAddress(t *testing.T) {
	url, _ := serving(t)
	cmd, _, errOut := start(t, "serve", "--listen", strings.TrimPrefix(url, "http://"), "--data", t.TempDir())
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != exitFailure {
		t.Errorf("exit %d, %v", cmd.ProcessState.ExitCode(), err)
	}
	if s := errOut.String(); !strings.Contains(s, "is in use") {
		t.Errorf("stderr: %q", s)
	}
}

// start runs this test's binary as the program.
func start(t *testing.T, args ...string) (cmd *exec.Cmd, out *bufio.Reader, errOut *lockedBuffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	cmd = exec.CommandContext(ctx, self, args...)
	cmd.Env = []string{asTroupe + "=1", "HOME=" + home, "PATH=" + os.Getenv("PATH")}
	errOut = &lockedBuffer{}
	cmd.Stderr = errOut
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, bufio.NewReader(pipe), errOut
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// address reads the one line that says where it serves.
func address(t *testing.T, out *bufio.Reader, errOut *lockedBuffer) string {
	t.Helper()
	line, err := out.ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "troupe: serving ")
	if err != nil || !ok {
		t.Fatalf("stdout: %q, %v\n%s", line, err, errOut.String())
	}
	return url
}

func TestServeStopsWithEverythingOpen(t *testing.T) {
	cmd, out, errOut := start(t, "serve", "--listen", "127.0.0.1:0")
	url := address(t, out, errOut)
	pidFile := filepath.Join(t.TempDir(), "pid")
	for id, prompt := range map[string]string{
		"run":    "slow:100000",
		"asks":   "ask:confirm Sure?",
		"hangs":  "hang",
		"shell":  "sh:trap '' TERM; echo $$ > " + pidFile + "; while :; do sleep 1; done",
		"queued": "slow:100000",
	} {
		if code, _, e := execute(t, url, "", "prompt", "scripted."+id, prompt); code != 0 {
			t.Fatalf("prompt %s: %q", id, e)
		}
	}
	execute(t, url, "", "prompt", "scripted.queued", "say:later")
	follows := make(chan string, 20)
	for range cap(follows) {
		go func() {
			_, out, _ := execute(t, url, "", "follow", "scripted.run", "--json")
			follows <- out
		}()
	}
	pid := pidIn(t, pidFile)
	begin := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	if took := time.Since(begin); err != nil || took > 25*time.Second {
		t.Errorf("it ended after %v: %v\n%s", took, err, errOut.String())
	}
	if syscall.Kill(pid, 0) == nil {
		t.Errorf("the shell %d is still there", pid)
	}
}

// pidIn waits for the file and reads the process id in it.
func pidIn(t *testing.T, file string) (pid int) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 1000 {
		if b, err := os.ReadFile(file); err == nil && bytes.HasSuffix(b, []byte("\n")) {
			if _, err := fmt.Sscan(string(b), &pid); err == nil {
				return pid
			}
		}
		<-tick.C
	}
	t.Fatal("the shell did not start")
	return 0
}

func TestSecondSignalEndsServeAtOnce(t *testing.T) {
	cmd, out, errOut := start(t, "serve", "--listen", "127.0.0.1:0")
	url := address(t, out, errOut)
	execute(t, url, "", "prompt", "scripted.a", "hang")
	for _, s := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	begin := time.Now()
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != 128+int(syscall.SIGINT) && code != 128+int(syscall.SIGTERM) || time.Since(begin) > 10*time.Second {
		t.Errorf("exit %d after %v\n%s", code, time.Since(begin), errOut.String())
	}
}

func TestOpenFilesLimitIsRaised(t *testing.T) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		t.Fatal(err)
	}
	// The Go runtime raises the soft limit at start and gives children the old one.
	if l.Cur < 1024 && l.Cur < l.Max {
		t.Errorf("the soft limit is %d, the hard one %d", l.Cur, l.Max)
	}
}

func TestScenarioIsAnAgentOfItsOwn(t *testing.T) {
	cfg := &config{Agents: map[string]agentConfig{
		"greeter": {Runtime: runtimeScripted, Scenario: "../../testdata/scenarios/greeter.yaml"},
	}}
	if agents, err := agentsOf(cfg); err != nil || len(agents) != 1 || agents[0].Name != "greeter" {
		t.Errorf("%+v, %v", agents, err)
	}
	for _, file := range []string{"/does/not/exist", "compose.go"} {
		cfg.Agents["greeter"] = agentConfig{Runtime: runtimeScripted, Scenario: file}
		if _, err := agentsOf(cfg); err == nil || !strings.Contains(err.Error(), "greeter") {
			t.Errorf("%s: %v", file, err)
		}
	}
	cfg.Agents = map[string]agentConfig{"nobody": {Runtime: runtimeScripted, Scenario: "../../testdata/scenarios/greeter.yaml"}}
	if _, err := agentsOf(cfg); err == nil || !strings.Contains(err.Error(), "no scenario") {
		t.Errorf("an unknown name: %v", err)
	}
}
