package actors

import (
	"encoding/json"
	"time"

	"github.com/troupe-run/troupe/wire"
)

// projector folds observations into the timeline's events and deltas. It is pure:
// no clock, no randomness, no I/O; step owns it as a part of its state. Events
// come out as payloads in their order; whoever owns it mints their seq before it
// observes on. What it sees has been scrubbed: secrets never reach it.
//
// Ids are derived, never made. A message's event has the message's id; where an
// assistant's message takes several, the later ones have wire.SegmentID of it. A
// reasoning is "<message id>~<n>", the n-th thought of its message from 1. A
// delta's ref is the id of the event that will carry its text.
//
// An assistant's message is told when it ends, or as far as it has come when it
// calls a tool: the call is on the timeline before the tool can have done much.
// wire.FoldEvents gives the messages that wire.Fold gives of the observations;
// where the events alone would read otherwise, the message is restated.
//
// Live only, and so in no event: deltas as such, partial results, the starts of
// messages, turns, queue, status, login, questions and notices, retries, the
// permission mode, and the model and the session's usage but for what run_started
// and run_finished say of them.
type projector struct {
	entity  string // its address
	runtime string // the runtime's own name, the origin of its opaque data
	harness wire.Harness

	truth    transcript          // the open messages
	told     map[string]*telling // of the open messages, by id
	began    int                 // messages that readers have seen begin
	speaking string              // the assistant's message that a tool_call goes into, as readers have it
	authors  map[string]author   // of messages about to be observed
	calls    callLog

	run     *projectedRun
	model   *wire.ModelState
	session wire.SessionUsage // as last observed
	counted wire.SessionUsage // as of the last run's end
}

// projectedRun is the run that is open on the timeline.
type projectedRun struct {
	id        string
	seq       int64 // of its run_started
	startedAt time.Time
	usage     wire.RunUsage
	reported  bool   // some message said what it used
	attempt   int64  // 1 and one more for each retry
	usageIdx  int64  // of the next usage delta
	failure   string // the message of the error that was told last
}

// author is who wrote a message, where that is not the agent or an unnamed user.
type author struct {
	from string // the address of another entity
	note bool   // the platform itself: a system_note
}

// moment is when something is observed: the time, and the newest seq minted.
type moment struct {
	now  time.Time
	head int64
}

// wakeup is why a run begins. The run's id is the same for every retry of its wake.
type wakeup struct {
	run    string
	source wire.WakeSource
	from   string // the address of the entity that sent it
}

// projection is what one observation gives: events in order, and deltas.
type projection struct {
	events []wire.Payload
	deltas []wire.Delta
}

func newProjector(id wire.ThreadID, runtime string, harness wire.Harness) *projector {
	return &projector{
		entity: wire.AddressOf(id).String(), runtime: runtime, harness: harness,
		told: map[string]*telling{}, authors: map[string]author{},
	}
}

// resume takes up where the events that s holds left off. No message is open.
func (p *projector) resume(s *wire.EntityState) {
	p.model, p.speaking = s.Model, s.Speaking
	if s.Run == nil {
		return
	}
	p.run = &projectedRun{id: s.Run.RunID, seq: s.Run.Seq, startedAt: s.Run.StartedAt.Time, attempt: 1}
	for _, c := range s.OpenCalls {
		p.calls.add(c.ToolUseID, loggedCall{run: c.RunID, name: c.Name})
	}
}

// begin opens a run. Its run_started is the next event minted; the message that
// woke it is observed next.
func (p *projector) begin(m moment, w wakeup) wire.Payload {
	p.run = &projectedRun{id: w.run, seq: m.head + 1, startedAt: m.now, attempt: 1}
	p.speaking = ""
	e := &wire.RunStarted{
		RunID: w.run, Wake: wire.WakeCause{Source: w.source, From: w.from}, Harness: p.harness,
		Detail: detail(wire.RunDetail{Runtime: p.runtime, Model: p.model}),
	}
	if p.model != nil {
		e.Model = p.model.ID
	}
	return e
}

// attribute says who wrote a message that is about to be observed.
func (p *projector) attribute(messageID string, a author) { p.authors[messageID] = a }

// observe takes one observation in.
func (p *projector) observe(m moment, o wire.Observation) projection {
	var out projection
	switch o := o.(type) {
	case *wire.MessageStart:
		p.start(o)
	case *wire.TextDelta:
		out.deltas = p.grow(m, o.MessageID, o.Delta, false)
		if d := p.usageDelta(m, o.Usage); d != nil {
			out.deltas = append(out.deltas, d)
		}
	case *wire.ThinkingDelta:
		out.deltas = p.grow(m, o.MessageID, o.Delta, true)
	case *wire.MessageEnd:
		if d := p.usageDelta(m, o.Usage); d != nil {
			out.deltas = append(out.deltas, d)
		}
		p.spend(o)
		out.events = p.end(o)
	case *wire.ToolCall:
		out.events = p.call(o)
	case *wire.ToolResult:
		out.events = p.result(o)
	case *wire.CustomEntry:
		p.began++
		out.events = []wire.Payload{&wire.Opaque{Origin: p.runtime, Kind: wire.CustomKind(o.CustomType), Data: o.Data}}
	case *wire.Unmapped:
		out.events = []wire.Payload{&wire.Opaque{Origin: p.runtime, Kind: wire.OpaqueUnmapped, Data: o.Event}}
	case *wire.BranchCompacted:
		out.events = []wire.Payload{p.compacted(m, o)}
	case *wire.Model:
		model := o.Model
		p.model = &model
	case *wire.SessionUsageChanged:
		p.session = o.Usage
	case *wire.TurnStart:
		if p.run != nil {
			p.run.usage.Steps++
		}
	case *wire.ProviderRetrying:
		if p.run != nil {
			p.run.attempt++
		}
	case *wire.ProviderRefused:
		out.events = []wire.Payload{p.failed(string(wire.CodeProvider), o.Message, wire.ErrorProvider, refusalDetail{o.Status, o.Code})}
	case *wire.ExtensionError:
		out.events = []wire.Payload{p.failed("extension-error", o.Message, wire.ErrorHarness, extensionDetail{o.Extension, o.Event})}
	case *wire.PromptRejected:
		out.events = []wire.Payload{p.failed(string(wire.CodePromptRejected), o.Reason, wire.ErrorHarness, messageDetail{o.MessageID})}
	case *wire.RunEnded:
		out.events = p.finish(o)
	}
	for i := range out.events {
		out.events[i] = fit(out.events[i])
	}
	return out
}

// The details of our errors and summarizations.
type (
	refusalDetail struct {
		Status int    `json:"status,omitempty"`
		Code   string `json:"code,omitempty"`
	}
	extensionDetail struct {
		Extension string `json:"extension"`
		Event     string `json:"event,omitempty"`
	}
	messageDetail struct {
		MessageID string `json:"messageId"`
	}
	compactionDetail struct {
		TokensBefore int64                 `json:"tokensBefore"`
		TokensAfter  *int64                `json:"tokensAfter,omitempty"`
		Reason       wire.CompactionReason `json:"reason"`
	}
	runDetail struct {
		Error *wire.Failure `json:"error"`
	}
)

// detail renders a detail, absent when there is nothing in it.
func detail(v any) json.RawMessage {
	b, err := wire.Encode(v)
	if err != nil || string(b) == "{}" {
		return nil
	}
	return b
}

func (p *projector) runID() string {
	if p.run == nil {
		return ""
	}
	return p.run.id
}

func (p *projector) failed(code, message string, source wire.ErrorSource, about any) wire.Payload {
	if p.run != nil {
		p.run.failure = message
	}
	return &wire.ErrorEvent{RunID: p.runID(), Code: code, Message: message, Source: source, Detail: detail(about)}
}

// dropped is the event of a prompt that an abort dropped: it never had a run.
func (p *projector) dropped(messageID string) wire.Payload {
	return &wire.ErrorEvent{
		Code: "prompt-dropped", Message: "an abort dropped the prompt before it began", Source: wire.ErrorPlatform,
		Detail: detail(messageDetail{messageID}),
	}
}

// compacted says what the summary replaced. After an overflow the runtime asks
// its model the same prompt again, so the run's own input stays; else everything
// that was recorded went into the summary.
func (p *projector) compacted(m moment, o *wire.BranchCompacted) wire.Payload {
	through := m.head
	if p.run != nil && o.Reason == wire.CompactionOverflow {
		through = min(through, p.run.seq)
	}
	return &wire.Summarization{
		RunID: p.runID(), Summary: o.Summary, ReplacesThroughSeq: max(through, 0),
		Detail: detail(compactionDetail{o.TokensBefore, o.TokensAfter, o.Reason}),
	}
}

// finish ends the run, once its messages have ended. A failure that no error
// event has told is told now.
func (p *projector) finish(o *wire.RunEnded) []wire.Payload {
	if p.run == nil {
		return nil
	}
	var out []wire.Payload
	r := p.run
	if f := o.Error; o.Outcome == wire.RunFailed && f != nil && r.failure != f.Message {
		out = append(out, p.failed(string(f.Code), f.Message, errorSource(f.Code), struct{}{}))
	}
	e := &wire.RunFinished{
		RunID: r.id, Outcome: outcomes[o.Outcome], Usage: p.usage(), DurationMs: max(0, o.At.Sub(r.startedAt).Milliseconds()),
	}
	if o.Error != nil {
		e.Detail = detail(runDetail{o.Error})
	}
	p.run, p.speaking, p.counted = nil, "", p.session
	return append(out, e)
}

// cut ends a run that a crash of the host cut off: its calls get a result, so that
// none dangles.
func (p *projector) cut(o *wire.RunEnded) []wire.Payload {
	if p.run == nil {
		return nil
	}
	var out []wire.Payload
	for _, id := range p.calls.open(p.run.id) {
		out = append(out, &wire.ToolResultEvent{
			RunID: p.run.id, ToolUseID: id, Name: p.calls.entries[id].name, IsError: true,
			Content: []wire.ContentBlock{&wire.TextBlock{Text: "no result: the run was cut off"}},
			Detail:  json.RawMessage(`{"troupe:synthetic":true}`),
		})
		p.calls.settle(id)
	}
	return append(out, p.finish(o)...)
}

var outcomes = map[wire.RunOutcome]wire.EventOutcome{
	wire.RunCompleted: wire.OutcomeSuccess, wire.RunAborted: wire.OutcomeInterrupted, wire.RunFailed: wire.OutcomeError,
}

// errorSource is where a failure that ended a run arose.
func errorSource(c wire.Code) wire.ErrorSource {
	switch c {
	case wire.CodeProvider:
		return wire.ErrorProvider
	case wire.CodePromptRejected, wire.CodeSessionExited, wire.CodeStartFailed, wire.CodeCommandMissing:
		return wire.ErrorHarness
	}
	return wire.ErrorPlatform
}
