package pi

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-run/troupe/host/proc"
)

// asFake in the environment makes this test's binary a small agent that speaks
// pi's protocol, as the newer or the older version does.
const asFake = "FAKE_PI"

func TestMain(m *testing.M) {
	proc.Main()
	if v := os.Getenv(asFake); v != "" {
		newFake(v).serve()
		return
	}
	os.Exit(m.Run())
}

// fake is the agent. Its prompts are directives.
type fake struct {
	old  bool // no disposition, no agent_settled
	mu   sync.Mutex
	out  *bufio.Writer
	busy bool
	stop chan struct{}
	asks map[string]chan map[string]any
	n    int

	steers []string
}

func newFake(v string) *fake {
	return &fake{old: v == "old", out: bufio.NewWriter(os.Stdout), asks: map[string]chan map[string]any{}}
}

func (f *fake) say(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.out.Write(append(b, '\n'))
	f.out.Flush()
}

type m map[string]any

func (f *fake) serve() {
	switch os.Getenv("FAKE_START") {
	case "exit":
		fmt.Fprintln(os.Stderr, "no key is configured")
		os.Exit(7)
	case "silent":
		select {}
	case "garbage":
		os.Stdout.WriteString("Warning: this is no JSON\n\xff\xfe half\n")
	}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var c map[string]any
		if json.Unmarshal(line, &c) == nil {
			f.command(c)
		}
	}
}

func (f *fake) respond(c map[string]any, ok bool, data any, why string) {
	r := m{"type": "response", "id": c["id"], "command": c["type"], "success": ok}
	if data != nil {
		r["data"] = data
	}
	if !ok {
		r["error"] = why
	}
	f.say(r)
}

func (f *fake) command(c map[string]any) {
	switch c["type"] {
	case "get_state":
		f.mu.Lock()
		busy := f.busy
		f.mu.Unlock()
		f.respond(c, true, m{
			"model": m{"id": "fake-1", "name": "Fake", "provider": "fake", "contextWindow": 1000}, "thinkingLevel": "off",
			"sessionFile": os.Getenv("FAKE_FILE"), "sessionId": "x", "isStreaming": busy,
		}, "")
	case "get_session_stats":
		f.respond(c, true, m{"tokens": m{"input": 5, "output": 6}, "cost": 0.5}, "")
	case "prompt":
		f.prompt(c)
	case "steer":
		f.mu.Lock()
		f.steers = append(f.steers, c["message"].(string))
		f.mu.Unlock()
		f.respond(c, true, m{"disposition": "queued"}, "")
	case "abort":
		f.mu.Lock()
		if f.stop != nil {
			close(f.stop)
			f.stop = nil
		}
		f.mu.Unlock()
	case "set_model":
		if c["modelId"] == "nope" {
			f.respond(c, false, nil, "Model not found")
			return
		}
		f.respond(c, true, m{"id": c["modelId"], "provider": c["provider"]}, "")
	case "compact":
		f.respond(c, false, nil, "Nothing to compact")
	case "extension_ui_response":
		f.mu.Lock()
		ch := f.asks[c["id"].(string)]
		delete(f.asks, c["id"].(string))
		f.mu.Unlock()
		if ch != nil {
			ch <- c
		}
	default:
		f.respond(c, false, nil, "Unknown command")
	}
}

func (f *fake) prompt(c map[string]any) {
	text := c["message"].(string)
	f.mu.Lock()
	if f.busy || text == "refuse" {
		f.mu.Unlock()
		f.respond(c, false, nil, "not today")
		return
	}
	if strings.HasPrefix(text, "/") {
		f.mu.Unlock()
		go func() { // a slash command is answered when it is done
			f.ask("select", "timeout", float64(0))
			if f.old {
				f.respond(c, true, nil, "")
			} else {
				f.respond(c, true, m{"disposition": "handled"}, "")
			}
		}()
		return
	}
	f.busy, f.stop = true, make(chan struct{})
	stop := f.stop
	f.mu.Unlock()
	if f.old {
		f.respond(c, true, nil, "")
	} else {
		f.respond(c, true, m{"disposition": "started"}, "")
	}
	go f.run(text, stop)
}

func (f *fake) id(p string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	return p + strconv.Itoa(f.n)
}

func (f *fake) ask(method string, extra string, v any) map[string]any {
	id, ch := f.id("q"), make(chan map[string]any, 1)
	f.mu.Lock()
	f.asks[id] = ch
	f.mu.Unlock()
	r := m{"type": "extension_ui_request", "id": id, "method": method, "title": "Which?", "options": []string{"a", "b"}, "message": "m"}
	if extra != "" {
		r[extra] = v
	}
	f.say(r)
	return <-ch
}

func (f *fake) run(text string, stop chan struct{}) {
	f.say(m{"type": "agent_start"})
	f.say(m{"type": "turn_start"})
	f.say(m{"type": "message_start", "message": m{"role": "user", "content": text}})
	f.say(m{"type": "message_end", "message": m{"role": "user", "content": text}})
	word, arg, _ := strings.Cut(text, ":")
	reason, wrong, said := "stop", "", ""
	f.say(m{"type": "message_start", "message": m{"role": "assistant"}})
	delta := func(s string) {
		said += s
		f.say(m{"type": "message_update", "assistantMessageEvent": m{"type": "text_delta", "delta": s}})
	}
	switch word {
	case "say":
		delta(arg)
	case "slow":
		n, _ := strconv.Atoi(arg)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for i := 0; i < n && reason == "stop"; i++ {
			select {
			case <-tick.C:
				delta("tick ")
			case <-stop:
				reason = "aborted"
			}
		}
	case "sh":
		reason = f.shell(arg, stop)
	case "ask":
		a := f.ask("confirm", "", nil)
		delta(fmt.Sprint(a["confirmed"]))
		select {
		case <-stop:
			reason = "aborted"
		default:
		}
	case "invalid":
		a := f.ask("select", "options", []string{})
		delta(fmt.Sprint(a["cancelled"]))
	case "fail":
		reason, wrong = "error", "401: "+arg
	case "exit":
		n, _ := strconv.Atoi(arg)
		fmt.Fprintln(os.Stderr, "bye")
		os.Exit(n)
	case "garbage":
		f.mu.Lock()
		f.out.WriteString("{\"type\":\"message_upd\n\xff\xfe\n[]\n42\n{}\n")
		f.out.Flush()
		f.mu.Unlock()
		delta("done")
	case "big":
		f.mu.Lock()
		f.out.WriteString(`{"type":"x","y":"`)
		f.out.Write(bytes.Repeat([]byte("z"), 50<<20))
		f.out.WriteString("\"}\n")
		f.out.Flush()
		f.mu.Unlock()
		delta("done")
	case "half":
		f.mu.Lock()
		f.out.WriteString(`{"type":"agent_end"`)
		f.out.Flush()
		f.mu.Unlock()
		os.Exit(0)
	}
	end := m{"role": "assistant", "content": []m{{"type": "text", "text": said}}, "stopReason": reason, "usage": m{"input": 1, "output": 2}}
	if wrong != "" {
		end["errorMessage"] = wrong
	}
	f.say(m{"type": "message_end", "message": end})
	f.say(m{"type": "turn_end"})
	f.mu.Lock()
	steers := f.steers
	f.steers = nil
	if reason == "aborted" {
		steers = nil
	}
	f.mu.Unlock()
	for _, text := range steers { // each is a turn of its own
		f.say(m{"type": "turn_start"})
		f.say(m{"type": "message_start", "message": m{"role": "user", "content": text}})
		f.say(m{"type": "message_start", "message": m{"role": "assistant"}})
		_, arg, _ := strings.Cut(text, ":")
		f.say(m{"type": "message_update", "assistantMessageEvent": m{"type": "text_delta", "delta": arg}})
		f.say(m{"type": "message_end", "message": m{"role": "assistant", "stopReason": "stop"}})
		f.say(m{"type": "turn_end"})
	}
	f.mu.Lock()
	f.busy, f.stop = false, nil
	f.mu.Unlock()
	f.say(m{"type": "agent_end", "messages": []m{}})
	if !f.old {
		f.say(m{"type": "agent_settled", "aborted": reason == "aborted"})
	}
}

// shell runs a command as a tool, as pi does: in a process group of its own.
func (f *fake) shell(command string, stop chan struct{}) string {
	id := f.id("c")
	f.say(m{"type": "message_update", "assistantMessageEvent": m{"type": "toolcall_end", "toolCall": m{"id": id, "name": "bash", "arguments": m{"command": command}}}})
	f.say(m{"type": "tool_execution_start", "toolCallId": id, "toolName": "bash", "args": m{"command": command}})
	cmd := exec.Command("setsid", "sh", "-c", command)
	var out bytes.Buffer
	cmd.Stdout = &out
	done := make(chan error, 1)
	if err := cmd.Start(); err != nil {
		done <- err
	} else {
		go func() { done <- cmd.Wait() }()
	}
	reason := "stop"
	select {
	case <-done:
	case <-stop:
		reason = "aborted"
		_ = cmd.Process.Kill()
		<-done
	}
	f.say(m{"type": "tool_execution_end", "toolCallId": id, "toolName": "bash", "isError": reason != "stop", "result": m{"content": []m{{"type": "text", "text": out.String()}}}})
	return reason
}
