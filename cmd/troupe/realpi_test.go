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
