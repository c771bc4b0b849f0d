package actors

import (
	"slices"
	"time"

	"github.com/troupe-run/troupe/wire"
)

// phase is where a thread stands; numPhases closes the enum.
type phase int

const (
	// phaseLoading: the journal is being read. Commands are parked.
	phaseLoading phase = iota
	// phaseCold: no session. A durable prompt, or a settings verb, starts one.
	phaseCold
	// phaseStarting: a session is coming up.
	phaseStarting
	// phaseIdle: a session, and no run.
	phaseIdle
	// phaseRunning: a run is under way.
	phaseRunning
	// phaseStopping: the run was told to stop. New questions are refused.
	phaseStopping
	// phaseSettling: the run is over and its commit pending. What the session says
	// is parked, so that run-ended and settled come first.
	phaseSettling

	numPhases
)

var phaseNames = [numPhases]string{"loading", "cold", "starting", "idle", "running", "stopping", "settling"}

func (p phase) String() string { return phaseNames[p] }

// state is everything a thread knows. Only step changes it.
type state struct {
	id     wire.ThreadID
	limits *Limits
	steers bool // the runtime takes a prompt into a busy run

	now     time.Time // of the input being stepped
	effects []effect
	batch   *batch // what this step wants committed; nil is nothing

	phase  phase
	exists bool // the thread has a record
	epoch  uint64
	row    rowState

	head      int64 // the newest seq minted
	committed int64 // the newest seq that is durable: T
	commits   []underWay

	view       view
	transcript transcript
	queue      queue
	shownQueue *wire.Queue // what followers were last told, nil for an empty one
	dialogs    dialogs
	run        *run
	session    session
	held       *held
	emitted    tail

	followers int
	feedSeq   uint64

	parked    []input // commands that came while loading
	reports   []input // what the session said while settling
	notBefore time.Time
	draining  bool    // the host stops
	drains    []token // the replies that wait for it
	unloaded  bool    // the record could not be read; the next command tries again

	idleArmed, passivateArmed bool

	dirty bool // the summary may have changed
}

// view is what a snapshot says beside the row.
type view struct {
	live, busy  bool
	model       *wire.ModelState
	interrupted *wire.Interrupted
	login       *wire.LoginInProgress
}

// session is the one a thread has, is starting, or is closing.
type session struct {
	number   uint64 // the newest one's; 0 before the first
	count    uint64 // sessions of this incarnation
	attached bool   // number is starting or live: its reports are heard
	closing  int    // sessions being disposed of
	prompted bool   // a run was begun in it
	listened bool   // somebody followed while it lived, or nothing can be replayed any more
	scrub    scrubber
	exited   *exitedInput // it went while it was starting
	verbs    []*callVerb  // wait for a session
	calling  []*callVerb  // handed to this one, and not answered
}

// run is the run under way.
type run struct {
	generation uint64
	messageID  string
	handed     bool // the session has the prompt
	stop       *stop
	outcome    wire.RunOutcome // once it is over
	failure    *wire.Failure
	at         time.Time
}

// stop is a wish to stop a run, and those who wait for it.
type stop struct {
	receipt wire.AbortReceipt
	waiting []token
}

// batch is what one step wants committed, all of it or nothing.
type batch struct {
	records []record
	put     []queued
	take    []string
	row     bool
	then    underWay
}

// underWay is what happens once a commit is durable.
type underWay struct {
	head    int64
	durable []string // the wakes it made durable
	replies []pendingReply
	settle  bool // the run that was over has settled
}

// pendingReply waits for a commit. value is computed when it is durable.
type pendingReply struct {
	token token
	value func(s *state) any
}

func newState(id wire.ThreadID, l *Limits, steers bool) *state {
	return &state{
		id: id, limits: l, steers: steers, head: -1, committed: -1,
		row:     rowState{Head: -1, Mode: wire.DefaultPermissionMode(), Tags: map[string]string{}},
		emitted: tail{max: l.TailRows},
	}
}

// step is one decision: it changes s, and returns what is to be done, in order.
// It has no I/O, no clock, no goroutine and no randomness.
func step(s *state, now time.Time, in input) []effect {
	s.now, s.effects, s.batch = now, nil, nil
	s.handle(in)
	s.flush()
	s.keepTimers()
	out := s.effects
	s.effects, s.batch = nil, nil // or they would be kept until the next step
	return out
}

// handle runs the cell of the table.
func (s *state) handle(in input) { table[s.phase][in.kind()].do(s, in) }

func (s *state) do(e effect) { s.effects = append(s.effects, e) }

// wants is the batch of this step. Most steps want nothing committed.
func (s *state) wants() *batch {
	if s.batch == nil {
		s.batch = &batch{}
	}
	return s.batch
}

func (s *state) touch() { s.dirty = true }

// flush turns what this step gathered into one commit.
func (s *state) flush() {
	b := s.batch
	if b == nil || len(b.records) == 0 && len(b.put) == 0 && len(b.take) == 0 && !b.row && len(b.then.replies) == 0 && !b.then.settle {
		return
	}
	before := s.head - int64(len(b.records))
	c := commit{records: b.records, take: b.take, before: before}
	for _, q := range b.put {
		c.put = append(c.put, q.wake)
		b.then.durable = append(b.then.durable, q.wake.MessageID)
	}
	s.row.Head, s.row.UpdatedAt = s.head, s.now
	row := s.row
	row.Recent = slices.Clone(s.row.Recent)
	c.row, c.summary = &row, s.summary()
	if b.then.settle { // once this is durable, the run is over
		c.summary.Busy = false
		if c.summary.Status == wire.StatusActive {
			c.summary.Status = wire.StatusIdle
		}
	}
	b.then.head = s.head
	s.commits = append(slices.Clone(s.commits), b.then)
	s.transcript.tail = append(slices.Clip(s.transcript.tail), b.records...)
	s.do(c)
	s.touch()
}

// record mints the next entry of the durable record.
func (s *state) record(what string, obs ...wire.Observation) {
	s.head++
	for _, o := range obs {
		s.row.Size += weigh(o)
	}
	s.wants().records = append(s.wants().records, record{seq: s.head, at: s.now, what: what, obs: obs})
}

// afterCommit replies once this step's commit is durable.
func (s *state) afterCommit(t token, value func(*state) any) {
	s.wants().row = true
	s.wants().then.replies = append(s.wants().then.replies, pendingReply{t, value})
}

func (s *state) answer(t token, v any) {
	if t != 0 {
		s.do(reply{token: t, value: v})
	}
}

func (s *state) refuse(t token, code wire.Code, format string, args ...any) {
	if t != 0 {
		s.do(reply{token: t, failure: wire.Errorf(code, format, args...)})
	}
}

// status is the thread's status in lists.
func (s *state) status() wire.ThreadStatus {
	switch {
	case s.run != nil:
		return wire.StatusActive
	case s.row.Failed:
		return wire.StatusFailed
	}
	return wire.StatusIdle
}

func (s *state) summary() wire.Summary {
	model, recorded := s.models()
	if model == nil {
		model = recorded
	}
	return wire.Summary{
		ID: s.id.String(), Type: s.id.Type, Title: s.row.Title, Status: s.status(),
		AwaitingInput: len(s.dialogs.open) > 0, Live: s.view.live, Busy: s.view.busy,
		Generation: s.row.Generation, OpenDialogs: len(s.dialogs.open), HeadSeq: s.head,
		Parent: s.row.Parent, Children: []string{}, Cwd: s.row.Cwd, Model: model, Usage: s.row.Usage,
		CreatedAt: wire.At(s.row.CreatedAt), UpdatedAt: wire.At(s.row.UpdatedAt), Tags: s.row.Tags,
	}
}

// quiet says whether nothing would be lost if the thread left memory now.
func (s *state) quiet() bool {
	rests := s.phase == phaseCold || s.phase == phaseLoading && s.unloaded && len(s.parked) == 0
	return rests && s.followers == 0 && len(s.queue.entries) == 0 &&
		s.session.closing == 0 && len(s.session.verbs) == 0 && len(s.commits) == 0 && !s.draining
}

// disposable says whether the session serves nobody: no run, no question, nothing
// that waits.
func (s *state) disposable() bool {
	return s.phase == phaseIdle && len(s.dialogs.open) == 0 && len(s.queue.entries) == 0 &&
		len(s.session.verbs) == 0 && len(s.session.calling) == 0 && s.view.login == nil
}

// keepTimers arms the two timers of a thread at rest when it comes to rest, and
// disarms them when it leaves it.
func (s *state) keepTimers() {
	s.keep(&s.idleArmed, s.disposable(), timerIdle, s.limits.IdleSession)
	s.keep(&s.passivateArmed, s.quiet(), timerPassivate, s.limits.Passivate)
}

func (s *state) keep(armed *bool, want bool, k timerKind, after time.Duration) {
	if want == *armed {
		return
	}
	*armed = want
	if want {
		s.do(arm{timerID{kind: k}, after})
	} else {
		s.do(disarm{timerID{kind: k}})
	}
}
