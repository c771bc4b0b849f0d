package scripted

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/troupe-run/troupe/host/proc"
	"github.com/troupe-run/troupe/wire"
)

const (
	shellName   = "sh"
	shellStarts = 5 * time.Second
)

// shell is a real shell in the thread's folder, its errors among its output.
type shell struct{ command string }

func (d shell) play(r *run) *end {
	input, err := json.Marshal(map[string]string{"command": d.command})
	if err != nil {
		panic(err) // a string always encodes
	}
	c, e := r.call(shellName, input)
	if e != nil {
		return e
	}
	p, err := r.startShell(d.command)
	if err != nil {
		if e := r.halted(); e != nil {
			return e
		}
		return r.complete(c, &wire.ToolResult{Text: wire.AsFailure(err).Message, IsError: true})
	}
	defer func() { _ = p.Close() }()
	defer r.s.dropShell()
	var out output
	if e := r.follow(c, p, &out); e != nil {
		c.said = out.text()
		p.Stop(r.s.shellGrace())
		return e
	}
	res := shown(shellName, out.text(), len(out.end()), out.total)
	if x := p.Exit(); x.Code != 0 {
		res.IsError = true
		res.Text = strings.TrimPrefix(strings.TrimSuffix(res.Text, "\n")+"\n"+exitText(x), "\n")
	}
	return r.complete(c, res)
}

func exitText(x proc.Exit) string {
	if x.Signal != "" {
		return "ended by " + x.Signal
	}
	return fmt.Sprintf("exit status %d", x.Code)
}

// heldShell is the session's shell, from before its start: Kill waits until it is
// there, or it would leave behind one that is just coming up.
type heldShell struct {
	ready chan struct{}
	p     *proc.Process // nil when it did not start
}

func (h *heldShell) kill() []wire.Process {
	if <-h.ready; h.p == nil {
		return nil
	}
	return h.p.Kill()
}

// startShell starts the shell, unless the session has ended. A stop waits for the
// start, which is short, and then ends what came up.
func (r *run) startShell(command string) (*proc.Process, error) {
	h := &heldShell{ready: make(chan struct{})}
	if !r.s.holdShell(h) {
		return nil, errGone
	}
	defer close(h.ready)
	ctx, cancel := context.WithTimeout(context.Background(), shellStarts)
	defer cancel()
	p, err := proc.Start(ctx, proc.Command{
		Args: []string{shellName, "-c", "exec 2>&1\n" + command},
		Dir:  r.s.spec.Cwd, Env: proc.Environment(nil), Grace: r.s.o.StopGrace, Go: r.s.sink.Go,
	})
	if err != nil {
		r.s.dropShell()
		return nil, err
	}
	h.p = p
	_ = p.CloseStdin() // a shell that went at once has none
	return p, nil
}

func (s *session) holdShell(h *heldShell) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.shell = h
	return true
}

func (s *session) dropShell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shell = nil
}

// shellGrace is what a stop gives the shell now: nothing once the session was
// killed.
func (s *session) shellGrace() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.killed {
		return 0
	}
	return s.o.StopGrace
}

// follow tells the output as it comes, at most once in a tick, until it ends.
func (r *run) follow(c *call, p *proc.Process, out *output) *end {
	lines, quit := make(chan proc.Line), make(chan struct{})
	defer close(quit)
	if !r.s.spawn("scripted shell", func() {
		defer close(lines)
		for {
			l, err := p.ReadLine()
			if err != nil {
				return
			}
			select {
			case lines <- l:
			case <-quit:
				return
			}
		}
	}) {
		return goneEnd
	}
	var due <-chan time.Time
	for {
		select {
		case l, more := <-lines:
			if !more {
				return nil
			}
			out.add(l)
			if due == nil {
				due = time.After(tick)
			}
		case <-due:
			due = nil
			if e := r.partial(c, out.text()); e != nil {
				return e
			}
		case <-r.stop:
			return abortedEnd
		case <-r.s.dead:
			return goneEnd
		}
	}
}

// output keeps the end of what a shell printed.
type output struct {
	kept  []byte
	total int64
}

func (o *output) add(l proc.Line) {
	o.kept = append(append(o.kept, l.Bytes...), '\n')
	o.total += l.Size + 1
	if len(o.kept) > 2*maxShown {
		o.kept = append([]byte(nil), o.kept[len(o.kept)-maxShown:]...)
	}
}

// end is what of it is shown: at most maxShown bytes, in whole runes.
func (o *output) end() []byte {
	b := o.kept[max(0, len(o.kept)-maxShown):]
	for len(b) > 0 && len(b) < len(o.kept) && !utf8.RuneStart(b[0]) {
		b = b[1:]
	}
	return b
}

func (o *output) text() string { return strings.ToValidUTF8(string(o.end()), "\uFFFD") }
