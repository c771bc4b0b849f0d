package proc

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/troupe-run/troupe/wire"
)

// Exit is how an agent ended: its exit status, or -1 and the name of the signal
// that ended it ("KILL").
type Exit struct {
	Code   int    `json:"code"`
	Signal string `json:"signal"`
}

// cookie is the variable by which a tree whose reaper was killed is found again.
const cookie = "TROUPE_REAPER"

// Bounds, beside a grace, of what is waited for.
const (
	answerBound = giveUp + 2*time.Second // the reaper's last word after KILL
	writeBound  = 30 * time.Second       // a Write without a context
	drainBound  = 200 * time.Millisecond // stderr's rest, after the agent's exit
)

// Process is a running agent and everything below it. Its methods are safe for
// concurrent use, but one goroutine reads: ReadLine or Stdout, not both.
type Process struct {
	command Command
	reaper  *os.Process
	mark    string // cookie=value
	pid     int

	orders, words         *os.File
	stdin, stdout, stderr *os.File
	lines                 lineReader
	tail                  tail

	writing chan struct{} // holds one token while nobody writes
	cut     error         // why no write can follow; the writer's

	ordering sync.Mutex // of orders
	started  chan word  // the first word
	done     chan struct{}
	over     chan struct{} // nothing is left, or nothing more can be done
	drained  chan struct{} // stderr is at its end
	exit     Exit          // before done
	ended    []wire.Process
	closing  sync.Once
	closed   chan struct{}
}

// Start starts an agent and returns once it runs. It ends early when ctx does,
// which does not bound the agent's life. On an error, a *wire.Failure of code
// command-missing or start-failed, nothing is left.
func Start(ctx context.Context, c Command) (*Process, error) {
	if !mainCalls {
		return nil, wire.Errorf(wire.CodeInternal, "proc.Main was not called first in this program")
	}
	if len(c.Args) == 0 {
		return nil, wire.Errorf(wire.CodeCommandMissing, "no command is configured")
	}
	if c.MaxLine <= 0 {
		c.MaxLine = DefaultMaxLine
	}
	if c.Grace <= 0 {
		c.Grace = DefaultGrace
	}
	if c.Go == nil {
		c.Go = func(_ string, fn func()) { go fn() }
	}
	path, err := Lookup(c.Args[0], c.Env)
	if err != nil {
		return nil, err
	}
	if c.Dir != "" {
		if info, err := os.Stat(c.Dir); err != nil || !info.IsDir() {
			return nil, wire.Errorf(wire.CodeStartFailed, "the folder %s is not there", c.Dir)
		}
	} else if c.Dir, err = os.Getwd(); err != nil {
		return nil, wire.Errorf(wire.CodeStartFailed, "the host's folder is not there")
	}
	if err := ctx.Err(); err != nil {
		return nil, notStarted(c, err)
	}
	p, err := launch(c)
	if err != nil {
		return nil, notStarted(c, err)
	}
	if err := p.begin(ctx, path); err != nil {
		p.Kill()
		_ = p.Close()
		return nil, notStarted(c, err)
	}
	return p, nil
}

func notStarted(c Command, err error) *wire.Failure {
	return wire.Errorf(wire.CodeStartFailed, "start %s: %v", c.Args[0], err)
}

// launch executes the reaper and starts listening to it.
func launch(c Command) (p *Process, err error) {
	var theirs, ours []*os.File
	defer func() {
		for _, f := range theirs {
			_ = f.Close()
		}
		if err != nil {
			for _, f := range ours {
				_ = f.Close()
			}
		}
	}()
	// In the order of the reaper's descriptors; it reads the first and the fourth.
	for i := range wordsFD + 1 {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		if i == 0 || i == ordersFD {
			r, w = w, r
		}
		ours, theirs = append(ours, r), append(theirs, w)
	}
	self, err := selfPath()
	if err != nil {
		return nil, err
	}
	mark := cookie + "=" + nonce()
	reaper, err := os.StartProcess(self, []string{marker}, &os.ProcAttr{
		Dir: "/", Files: theirs, Sys: &syscall.SysProcAttr{Setsid: true},
		Env: []string{"GOMAXPROCS=1", "GOTRACEBACK=none", mark},
	})
	if err != nil {
		return nil, err
	}
	p = &Process{
		command: c, reaper: reaper, mark: mark,
		stdin: ours[0], stdout: ours[1], stderr: ours[2], orders: ours[ordersFD], words: ours[wordsFD],
		writing: make(chan struct{}, 1), started: make(chan word, 1), done: make(chan struct{}),
		over: make(chan struct{}), drained: make(chan struct{}), closed: make(chan struct{}),
	}
	p.writing <- struct{}{}
	p.lines = lineReader{from: p.stdout, max: c.MaxLine}
	c.Go("stderr", p.drain)
	c.Go("reaper", p.listen)
	return p, nil
}

func nonce() string {
	b := make([]byte, 12)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// begin hands the command over and waits until it runs.
func (p *Process) begin(ctx context.Context, path string) error {
	env := slices.DeleteFunc(slices.Clone(p.command.Env), func(kv string) bool { return strings.HasPrefix(kv, cookie+"=") })
	s := &spec{
		Path: []byte(path), Args: toBytes(p.command.Args), Env: toBytes(append(env, p.mark)),
		Dir: []byte(p.command.Dir), Grace: p.command.Grace,
	}
	expired := make(chan struct{})
	release := context.AfterFunc(ctx, func() {
		_ = p.orders.SetWriteDeadline(time.Unix(1, 0))
		close(expired)
	})
	_, err := p.orders.Write(line(order{Spec: s}))
	if !release() {
		<-expired
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	select {
	case w := <-p.started:
		if w.Started == 0 {
			return errors.New(w.Refused)
		}
		p.pid = w.Started
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// drain keeps stderr's tail.
func (p *Process) drain() {
	defer close(p.drained)
	_, _ = io.Copy(&p.tail, p.stderr)
}

// listen hears the reaper out. When it was silenced, the tree is the host's to
// end.
func (p *Process) listen() {
	var last *ending
	exited := false
	defer func() {
		p.settle(last)
		p.refuse(word{Refused: "the reaper ended"})
		if !exited {
			p.finish(Exit{Code: -1, Signal: "KILL"})
		}
		close(p.over)
	}()
	in := json.NewDecoder(p.words)
	for {
		var w word
		if in.Decode(&w) != nil {
			break
		}
		switch {
		case w.Started != 0, w.Refused != "":
			p.refuse(w)
		case w.Exited != nil:
			exited = true
			p.finish(*w.Exited)
		case w.Ended != nil:
			last = w.Ended
		}
	}
	_, _ = p.reaper.Wait()
	if last == nil {
		last = p.endTree()
	}
}

// refuse passes the first word on, if it is the first.
func (p *Process) refuse(w word) {
	select {
	case p.started <- w:
	default:
	}
}

func (p *Process) finish(e Exit) {
	select {
	case <-p.drained:
	case <-time.After(drainBound):
	}
	p.exit = e
	close(p.done)
}

func (p *Process) settle(e *ending) {
	if e == nil {
		return
	}
	for _, x := range e.Processes {
		p.ended = append(p.ended, wire.Process{PID: x.PID, Command: strings.ToValidUTF8(string(x.Command), "\uFFFD"), Signal: x.Signal})
	}
}

// endTree ends what a killed reaper left behind: its session's processes, those
// that bear its mark, and what is below them.
func (p *Process) endTree() *ending {
	s := newSweep(func() []resident {
		return descend([]int{p.reaper.Pid}, census(), func(r resident) bool {
			return r.sid == p.reaper.Pid || bears(r.pid, p.mark)
		})
	})
	s.begin(time.Now().Add(min(p.command.Grace, orphaned)))
	for {
		now := time.Now()
		found, again := s.pass(now)
		if found == 0 || s.spent(now) {
			return s.ended(found)
		}
		<-time.After(again)
	}
}

// PID is the agent's process id.
func (p *Process) PID() int { return p.pid }

// Done is closed when the agent has exited, whatever it left running.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit is how the agent ended; it waits for Done. When its reaper was killed it
// is not known, and said to be KILL.
func (p *Process) Exit() Exit {
	<-p.done
	return p.exit
}

// StderrTail is the last 8 KiB of the agent's stderr as valid UTF-8; no rune is
// split. After Done it is complete, unless something that the agent left running
// still writes there.
func (p *Process) StderrTail() string { return p.tail.String() }

// Stop ends the agent and every process below it: TERM now, KILL after grace,
// until none is left. It says which, with the strongest signal each took; those
// that ended by themselves, before, are not among them. It returns once nothing
// is left or, a few seconds after KILL, when something cannot be ended. Of
// several calls the earliest KILL holds, and all get the same answer.
func (p *Process) Stop(grace time.Duration) []wire.Process {
	p.order(order{Stop: &stop{Grace: max(grace, 0)}})
	bound := time.NewTimer(max(grace, 0) + answerBound)
	defer bound.Stop()
	select {
	case <-p.over:
	case <-bound.C:
		_ = p.reaper.Kill()
		<-p.over
	}
	return slices.Clone(p.ended)
}

// Kill is Stop without a grace.
func (p *Process) Kill() []wire.Process { return p.Stop(0) }

// Close stops the agent with the command's grace and releases what is held of it.
// It is idempotent; a read or write under way ends.
func (p *Process) Close() error {
	p.closing.Do(func() {
		defer close(p.closed)
		p.Stop(p.command.Grace)
		for _, f := range []*os.File{p.stdin, p.stdout, p.stderr, p.orders, p.words} {
			_ = f.Close()
		}
		<-p.drained
	})
	<-p.closed
	return nil
}

func (p *Process) order(o order) {
	p.ordering.Lock()
	defer p.ordering.Unlock()
	_ = p.orders.SetWriteDeadline(time.Now().Add(time.Second))
	if _, err := p.orders.Write(line(o)); err != nil {
		_ = p.orders.Close() // the end of the pipe says it too
	}
}
