package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/troupe-run/troupe/wire"
)

// These tests run the program on a real pi, which asks the scripted model server
// of testdata/tools. testdata/npm/install says where the agents are; without them
// the tests skip, except where they are required.

// piKind is one pi that is tested.
type piKind struct {
	name string
	env  string // names the folder it is installed in
	node string // below that folder; "" is the machine's
	cli  string

	retries bool // it tells when it asks its provider again
}

var pis = []piKind{
	{"1.6.0", "TROUPE_TEST_PI", "node_modules/.bin/node", "node_modules/@earendil-works/pi-coding-agent", true},
	{"0.73.1", "TROUPE_TEST_PI_OLD", "", "node_modules/@mariozechner/pi-coding-agent", false},
}

// eachPi runs a test on each pi that is there.
func eachPi(t *testing.T, f func(t *testing.T, k piKind)) {
	for _, k := range pis {
		t.Run(k.name, func(t *testing.T) {
			if os.Getenv(k.env) == "" {
				if os.Getenv("TROUPE_TEST_REQUIRE") != "" {
					t.Fatalf("%s is not set, and pi is required", k.env)
				}
				t.Skipf("%s is not set: it names the folder that pi %s is installed in", k.env, k.name)
			}
			f(t, k)
		})
	}
}

// piHost is a served host whose agent "pi" is a real one.
type piHost struct {
	t    *testing.T
	c    *client
	cmd  *exec.Cmd
	dir  string
	args []string
	id   string
}

func tools(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "testdata", "tools", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// mockModel starts the scripted model server.
func mockModel(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("node", tools(t, "mock-llm.mjs"), "0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func putFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func newPiHost(t *testing.T, k piKind) *piHost {
	t.Helper()
	base := os.Getenv(k.env)
	node := "node"
	if k.node != "" {
		node = filepath.Join(base, k.node)
	}
	var manifest struct {
		Bin map[string]string `json:"bin"`
	}
	b, err := os.ReadFile(filepath.Join(base, k.cli, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &manifest); err != nil {
		t.Fatal(err)
	}
	h := &piHost{t: t, dir: t.TempDir(), id: "pi.one"}
	agentDir, work := filepath.Join(h.dir, "agent"), filepath.Join(h.dir, "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		t.Fatal(err)
	}
	putFile(t, filepath.Join(agentDir, "models.json"), fmt.Sprintf(
		`{"providers":{"mock":{"baseUrl":"%s/v1","api":"openai-completions","apiKey":"dummy","models":[{"id":"mock-think","reasoning":true},{"id":"mock-1"}]}}}`, mockModel(t)))
	putFile(t, filepath.Join(agentDir, "settings.json"), `{"retry":{"baseDelayMs":100},"compaction":{"keepRecentTokens":1}}`)
	config := map[string]any{
		"default":     "pi",
		"sessionIdle": "2s",
		"agents": map[string]any{"pi": map[string]any{
			"runtime": "pi", "model": "mock/mock-think", "cwd": work,
			"command": []string{node, filepath.Join(base, k.cli, manifest.Bin["pi"]), "-e", tools(t, "dialogs.ts")},
			"env": map[string]string{
				"PI_CODING_AGENT_DIR": agentDir, "PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0",
				"HOME": h.dir, "XDG_CONFIG_HOME": h.dir, "XDG_DATA_HOME": h.dir, "XDG_CACHE_HOME": h.dir,
			},
		}},
	}
	text, err := json.Marshal(config) // JSON is YAML
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(h.dir, "troupe.yaml")
	putFile(t, file, string(text))
	h.args = []string{"serve", "--listen", "127.0.0.1:0", "--config", file, "--data", filepath.Join(h.dir, "data"), "--log-level", "warn"}
	h.serve()
	return h
}

func (h *piHost) serve() {
	h.t.Helper()
	cmd, out, errOut := start(h.t, h.args...)
	h.cmd = cmd
	c, err := newClient(address(h.t, out, errOut))
	if err != nil {
		h.t.Fatal(err)
	}
	h.c = c
	h.t.Cleanup(func() {
		if h.t.Failed() {
			log := errOut.String()
			h.t.Logf("the host said:\n%s", log[max(0, len(log)-4000):])
		}
	})
}

// piView follows the thread and keeps its frames.
type piView struct {
	t      *testing.T
	mu     sync.Mutex
	frames []wire.Frame
	more   chan struct{}
	leave  context.CancelFunc
}

func (h *piHost) follow() *piView {
	h.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	v := &piView{t: h.t, more: make(chan struct{}), leave: cancel}
	h.t.Cleanup(cancel)
	go func() {
		_ = h.c.follow(ctx, h.id, false, func(_ []byte, f wire.Frame) error {
			v.mu.Lock()
			defer v.mu.Unlock()
			v.frames = append(v.frames, f)
			close(v.more)
			v.more = make(chan struct{})
			return nil
		})
	}()
	v.await("the snapshot", func([]wire.Frame) bool { return true })
	return v
}

func (v *piView) all() []wire.Frame {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.frames)
}

func (v *piView) await(what string, ok func([]wire.Frame) bool) []wire.Frame {
	v.t.Helper()
	limit := time.After(40 * time.Second)
	for {
		v.mu.Lock()
		frames, more := slices.Clone(v.frames), v.more
		v.mu.Unlock()
		if len(frames) > 0 && ok(frames) {
			return frames
		}
		select {
		case <-more:
		case <-limit:
			v.t.Fatalf("waiting for %s in vain:\n%s", what, frameLines(frames))
		}
	}
}

func frameLines(frames []wire.Frame) string {
	var b strings.Builder
	for _, f := range frames {
		line, err := wire.EncodeFrame(f)
		if err != nil {
			line = []byte(err.Error())
		}
		b.Write(line[:min(len(line), 400)])
		b.WriteByte('\n')
	}
	return b.String()
}

func observed[T wire.Observation](frames []wire.Frame) []T {
	var out []T
	for _, f := range frames {
		if o, ok := f.(*wire.ObservationFrame); ok {
			if x, ok := o.Observation.(T); ok {
				out = append(out, x)
			}
		}
	}
	return out
}

// nth waits for the n-th observation of a kind, from 1, that matches.
func nth[T wire.Observation](v *piView, n int, what string, ok func(T) bool) T {
	v.t.Helper()
	var found T
	v.await(what, func(fs []wire.Frame) bool {
		k := 0
		for _, o := range observed[T](fs) {
			if ok(o) {
				if k++; k == n {
					found = o
					return true
				}
			}
		}
		return false
	})
	return found
}

// question waits for the n-th question.
func (v *piView) question(n int) *wire.ExtensionUIRequest {
	v.t.Helper()
	return nth(v, n, fmt.Sprintf("question %d", n), func(q *wire.ExtensionUIRequest) bool { return q.Blocking })
}

// ended waits for run gen, checks how it ended, and that everything settled once.
func (v *piView) ended(gen uint64, want wire.RunOutcome) []wire.Frame {
	v.t.Helper()
	frames := v.await(fmt.Sprintf("run %d to settle", gen), func(fs []wire.Frame) bool {
		settled := false
		for _, f := range fs {
			switch f := f.(type) {
			case *wire.ObservationFrame:
				if s, ok := f.Observation.(*wire.Settled); ok && s.Generation == gen {
					settled = true
				}
			case *wire.Status:
				if settled && !f.Busy {
					return true
				}
			}
		}
		return false
	})
	var last uint64
	ends, settles := map[uint64]int{}, map[uint64]int{}
	dialogs := map[string]int{}
	for _, f := range frames[1:] {
		o, ok := f.(*wire.ObservationFrame)
		if !ok {
			continue
		}
		if o.Seq <= last {
			v.t.Errorf("seq %d after %d", o.Seq, last)
		}
		last = o.Seq
		switch o := o.Observation.(type) {
		case *wire.RunEnded:
			ends[o.Generation]++
			if o.Generation == gen && o.Outcome != want {
				v.t.Errorf("run %d ended %s (%v), want %s\n%s", gen, o.Outcome, o.Error, want, frameLines(frames))
			}
		case *wire.Settled:
			settles[o.Generation]++
		case *wire.ExtensionUIRequest:
			if o.Blocking {
				dialogs[o.ID]++
			}
		case *wire.DialogSettled:
			dialogs[o.ID] += 10
		case *wire.Unmapped:
			if !strings.Contains(string(o.Event), "extension_ui_request") && !strings.Contains(string(o.Event), "context_edit") {
				v.t.Logf("unmapped: %.300s", o.Event)
			}
		}
	}
	if ends[gen] != 1 || settles[gen] != 1 {
		v.t.Errorf("run %d: %d ends, %d settles", gen, ends[gen], settles[gen])
	}
	for id, n := range dialogs {
		if n != 11 {
			v.t.Errorf("question %s: asked %d times, settled %d times", id, n%10, n/10)
		}
	}
	for _, m := range wire.Fold(frames[0].(*wire.Snapshot), frames[1:]...).Messages {
		if !m.Complete {
			v.t.Errorf("message %s is still open", m.ID)
		}
	}
	return frames
}

func (h *piHost) do(method string, in, out any, rest ...string) error {
	h.t.Helper()
	var body []byte
	if in != nil {
		var err error
		if body, err = wire.Encode(in); err != nil {
			h.t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	return h.c.do(ctx, method, thread(h.id, rest...), body, func(b []byte) error {
		if out == nil {
			return nil
		}
		return json.Unmarshal(b, out)
	})
}

func (h *piHost) prompt(text string) wire.PromptReceipt {
	h.t.Helper()
	return h.admit(text, "")
}

func (h *piHost) admit(text string, a wire.Admission) (r wire.PromptReceipt) {
	h.t.Helper()
	if err := h.do(http.MethodPost, &wire.PromptRequest{Message: text, Admission: a}, &r, "prompt"); err != nil {
		h.t.Fatalf("prompt %q: %v", text, err)
	}
	return r
}

func (h *piHost) abort() (r wire.AbortReceipt) {
	h.t.Helper()
	if err := h.do(http.MethodPost, nil, &r, "abort"); err != nil {
		h.t.Fatalf("abort: %v", err)
	}
	return r
}

func (h *piHost) answer(id string, arm wire.AnswerArm) {
	h.t.Helper()
	b, err := wire.EncodeAnswer(wire.Answer{ID: id, Arm: arm})
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.c.do(context.Background(), http.MethodPost, thread(h.id, "dialog"), b, nil); err != nil {
		h.t.Errorf("answer: %v", err)
	}
}

func (h *piHost) usable(v *piView, gen uint64) {
	h.t.Helper()
	h.prompt("say:usable " + strconv.FormatUint(gen, 10))
	frames := v.ended(gen, wire.RunCompleted)
	if !strings.Contains(textOf(frames), "usable "+strconv.FormatUint(gen, 10)) {
		h.t.Errorf("the thread did not answer:\n%s", frameLines(frames))
	}
}

func textOf(frames []wire.Frame) string {
	var b strings.Builder
	for _, d := range observed[*wire.TextDelta](frames) {
		b.WriteString(d.Delta)
	}
	return b.String()
}

func bash(command string) string {
	b, _ := json.Marshal(map[string]string{"command": command})
	return "tool:bash " + string(b)
}

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
		if r := observed[*wire.ProviderRefused](frames); len(r) != 1 || r[0].Message == "" {
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
