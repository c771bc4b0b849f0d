package pi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/host/proc"
	"github.com/troupe-run/troupe/wire"
)

// session is one pi process. Its reader maps each line and delivers from where it
// reads, so that a thread without credit stops the reading; answers to commands
// are handed to those who wait before anything is delivered.
type session struct {
	p    *proc.Process
	sink host.Sink

	done chan struct{} // closed once the reader has ended

	mu       sync.Mutex
	m        *mapper
	info     host.SessionInfo
	closed   bool // nothing more is delivered
	lastID   int
	waiting  map[string]chan *event
	prompted bool
	run      *run
	open     []question
	tools    map[string]bool // executing
	retrying bool
	settles  bool          // this pi says agent_settled; an older one only agent_end
	idle     chan struct{} // closed unless a compaction is under way
}

// run is the run under way, from the moment it was handed over.
type run struct {
	number  uint64
	command string // the id of its prompt command
	begun   bool
	stop    bool // a stop was asked for
}

// question is one that the agent waits on.
type question struct {
	id      string
	call    string // the tool call that asked, where only one was executing
	at      time.Time
	timeout time.Duration
}

func newSession(p *proc.Process, spec host.StartSpec, sink host.Sink) *session {
	idle := make(chan struct{})
	close(idle)
	return &session{
		p: p, sink: sink, done: make(chan struct{}), m: newMapper(spec.Session),
		waiting: map[string]chan *event{}, tools: map[string]bool{}, idle: idle,
	}
}

// begin waits until pi answers, and asks what it is.
func (s *session) begin(ctx context.Context, resumed bool) error {
	e, err := s.ask(ctx, map[string]any{"type": "get_state"})
	if err != nil {
		return err
	}
	var state stateData
	if err := json.Unmarshal(e.Data, &state); err != nil {
		return wire.Errorf(wire.CodeStartFailed, "pi answered with a state that cannot be read")
	}
	var stats statsData
	if resumed {
		if e, err := s.ask(ctx, map[string]any{"type": "get_session_stats"}); err == nil {
			_ = json.Unmarshal(e.Data, &stats) // what it has spent is not worth a start
		}
	}
	s.mu.Lock()
	s.info = host.SessionInfo{Resume: state.SessionFile, PID: s.p.PID()}
	var told []wire.Observation
	if state.Model != nil {
		s.info.Model = s.m.setModel(state.Model, state.ThinkingLevel)
		told = append(told, s.m.modelNow())
	}
	if resumed {
		s.m.setUsage(&stats)
		told = append(told, &wire.SessionUsageChanged{Usage: s.m.usage})
	}
	s.mu.Unlock()
	for _, o := range told {
		s.deliver(&host.Observed{Origin: wire.OriginSessionStart, Observation: o})
	}
	return nil
}

// Info is what pi said of itself when it started.
func (s *session) Info() host.SessionInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info
}

func (s *session) deliver(r host.Report) {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if !closed {
		_ = s.sink.Deliver(r) // a thread that is gone closes the session
	}
}

// read is the reader: it ends when pi's output does.
func (s *session) read() {
	defer close(s.done)
	for {
		line, err := s.p.ReadLine()
		if err != nil {
			s.ended(err)
			return
		}
		if line.Truncated {
			o := unmappedText(line.Bytes)
			s.deliver(&host.Observed{Origin: s.origin(), Observation: o, Bytes: len(line.Bytes)})
			continue
		}
		s.line(line.Bytes)
	}
}

func (s *session) origin() wire.Origin {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.originLocked()
}

func (s *session) originLocked() wire.Origin {
	if s.prompted {
		return wire.OriginRun
	}
	return wire.OriginSessionStart
}

// line maps one line, acts on its fact, and delivers: what was observed first.
func (s *session) line(b []byte) {
	s.mu.Lock()
	origin := s.originLocked()
	obs, f := s.m.mapLine(b, origin)
	reports := s.act(f)
	s.mu.Unlock()
	for _, o := range obs {
		s.deliver(&host.Observed{Origin: origin, Observation: o, Bytes: len(b)})
		b = nil // its size counts once
	}
	for _, r := range reports {
		s.deliver(r)
	}
}

// ended: pi's output is over, so pi is.
func (s *session) ended(err error) {
	<-s.p.Done()
	s.mu.Lock()
	for id, ch := range s.waiting {
		delete(s.waiting, id)
		close(ch)
	}
	origin := s.originLocked()
	left := s.m.drain("error")
	s.run, s.open = nil, nil
	s.mu.Unlock()
	for _, o := range left {
		s.deliver(&host.Observed{Origin: origin, Observation: o})
	}
	x := s.p.Exit()
	stderr := s.p.StderrTail()
	if err != nil && !errors.Is(err, io.EOF) && stderr == "" {
		stderr = err.Error()
	}
	s.deliver(&host.Exited{Code: x.Code, Signal: x.Signal, Stderr: stderr})
}

// act takes a fact in, and gives what the thread is to be told of it. It holds mu.
func (s *session) act(f fact) []host.Report {
	switch f := f.(type) {
	case responded:
		return s.responded(f.e)
	case began:
		if r := s.run; r != nil && !r.begun {
			r.begun = true
			if r.stop {
				s.post(map[string]any{"type": "abort"})
			}
		}
	case took:
		if f.handed.steered {
			return []host.Report{&host.Steered{MessageID: f.handed.messageID}}
		}
	case retrying:
		s.retrying = f.on
	case compacts:
		s.compacting(f.on)
	case asked:
		s.asked(f.request)
	case malformed:
		s.post(cancelled(f.id))
	case executes:
		return s.executes(f.call, f.on)
	case stopped:
		return s.agentEnd(f.willRetry)
	case settled:
		if s.run != nil {
			return s.over(f.aborted)
		}
	}
	return nil
}

// agentEnd: an older pi has nothing more to say, but may retry or compact. It is
// asked: its answer comes behind whatever it does next.
func (s *session) agentEnd(willRetry bool) []host.Report {
	if s.run == nil || willRetry || s.settles {
		return nil
	}
	s.query("settled?")
	return nil
}

func (s *session) asked(r *wire.ExtensionUIRequest) {
	q := question{id: r.ID, at: time.Now(), timeout: time.Duration(r.Dialog.TimeoutMs()) * time.Millisecond}
	if len(s.tools) == 1 {
		for call := range s.tools {
			q.call = call
		}
	}
	s.open = append(s.open, q)
}

// executes: pi sends no record for a question that timed out or was withdrawn, so
// what a call left open is settled when the call ends.
func (s *session) executes(call string, on bool) []host.Report {
	if on {
		s.tools[call] = true
		return nil
	}
	delete(s.tools, call)
	return s.settle(func(q question) bool { return q.call == call })
}

// settle ends the open questions that which selects.
func (s *session) settle(which func(question) bool) []host.Report {
	var out []host.Report
	var rest []question
	for _, q := range s.open {
		if !which(q) {
			rest = append(rest, q)
			continue
		}
		outcome := wire.DialogAborted
		if q.timeout > 0 && time.Since(q.at) >= q.timeout-timeoutSlack {
			outcome = wire.DialogTimeout
		}
		out = append(out, &host.Observed{Origin: wire.OriginRun, Observation: &wire.DialogSettled{ID: q.id, Outcome: outcome}})
	}
	s.open = rest
	return out
}

// timeoutSlack is how much earlier than ours pi's own clock may be.
const timeoutSlack = 100 * time.Millisecond

// over ends the run, once.
func (s *session) over(aborted bool) []host.Report {
	r := s.run
	s.run = nil
	s.retrying = false
	clear(s.tools)
	outcome, reason := wire.RunCompleted, "end"
	var failure *wire.Failure
	switch {
	case aborted || r.stop && (s.m.refused != "" || !r.begun):
		outcome, reason = wire.RunAborted, "aborted"
	case s.m.refused != "":
		outcome, reason = wire.RunFailed, "error"
		failure = &wire.Failure{Code: wire.CodeProvider, Message: refusal(s.m.refused).Message}
	}
	var out []host.Report
	for _, o := range s.m.drain(reason) {
		out = append(out, &host.Observed{Origin: wire.OriginRun, Observation: o})
	}
	out = append(out, s.settle(func(question) bool { return true })...)
	return append(out, &host.RunOver{Run: r.number, Outcome: outcome, Failure: failure})
}

// responded: an answer to a command, for whoever waits for it. That of the prompt
// itself refuses it, or ends it where a slash command handled it.
func (s *session) responded(e *event) []host.Report {
	if ch := s.waiting[e.ID]; ch != nil {
		delete(s.waiting, e.ID)
		ch <- e
		return nil
	}
	ok := e.Success != nil && *e.Success
	r := s.run
	switch {
	case r == nil:
	case e.ID == r.command && !ok:
		s.run = nil
		return []host.Report{&host.RunOver{Run: r.number, Outcome: wire.RunFailed, Failure: &wire.Failure{
			Code: wire.CodePromptRejected, Message: "pi refused the prompt: " + e.Error,
		}}}
	case e.ID == r.command:
		return s.accepted(e)
	case e.ID == "settled?"+strconv.FormatUint(r.number, 10):
		var state stateData
		if json.Unmarshal(e.Data, &state) == nil && !state.IsStreaming && !state.IsCompacting && !s.retrying {
			return s.over(r.stop)
		}
	case e.ID == "begun?"+strconv.FormatUint(r.number, 10):
		var state stateData
		if json.Unmarshal(e.Data, &state) == nil && !state.IsStreaming && !r.begun {
			return s.over(r.stop)
		}
	}
	if e.Command == "compact" && !ok {
		s.compacting(false)
	}
	return nil
}

// accepted: the prompt was taken. A newer pi says how; an older one is asked
// whether it began, since a slash command is answered when it is done.
func (s *session) accepted(e *event) []host.Report {
	var data struct {
		Disposition string `json:"disposition"`
	}
	_ = json.Unmarshal(e.Data, &data)
	switch data.Disposition {
	case "handled":
		return s.over(s.run.stop)
	case "":
		if !s.run.begun {
			s.query("begun?")
		}
	default:
		s.settles = true
	}
	return nil
}

func (s *session) compacting(on bool) {
	select {
	case <-s.idle:
		if on {
			s.idle = make(chan struct{})
		}
	default:
		if !on {
			close(s.idle)
		}
	}
}

// Kill ends every process of the session now.
func (s *session) Kill() []wire.Process { return s.p.Kill() }

// Close ends the session. It is bounded by proc's grace and the reader's last
// delivery.
func (s *session) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	_ = s.p.CloseStdin() // it ends by itself, or is ended
	err := s.p.Close()
	select {
	case <-s.done:
	case <-time.After(grace):
	}
	return err
}
