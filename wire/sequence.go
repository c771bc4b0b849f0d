package wire

import "fmt"

// Violation is one rule of the timeline that an event breaks.
type Violation struct {
	Seq  int64 // the event's
	What string
}

// String is "seq 7: …".
func (v Violation) String() string { return fmt.Sprintf("seq %d: %s", v.Seq, v.What) }

// Sequence checks that events follow one another as a timeline's do. The zero
// value is ready; it reads from any start, and until the first run_started or
// run_finished it takes the run that it is in from the events. The rules:
//
//   - seq is gapless and entityId the same; only a state_snapshot with historyHole
//     may jump, forwards.
//   - entity_spawned is at seq 0, and nothing else is.
//   - a summarization replaces earlier events only.
//   - a snapshot with reason pre_archive is directly in front of archived, which
//     names it when it names one, and run_started directly behind archived.
//   - a run_started is followed by exactly one run_finished of its run before the
//     next run_started, and before archived.
//   - an event with a runId is inside that run.
//
// A run that is open at the end is one under way, see Open.
type Sequence struct {
	begun  bool
	entity string
	last   int64
	was    Payload // the last event's
	known  bool    // run is the open run; else it may be any
	run    string  // "" when none is open
	ended  string  // the last run that has finished
}

// Open is the run that is open after the last event, "" when there is none.
func (s *Sequence) Open() string { return s.run }

// Last is the newest seq, -1 before the first event.
func (s *Sequence) Last() int64 {
	if !s.begun {
		return -1
	}
	return s.last
}

// Next takes the next event and says which rules it breaks. It goes on from
// there, so that one mistake is told once.
func (s *Sequence) Next(e *Event) []Violation {
	var out []Violation
	wrong := func(format string, args ...any) {
		out = append(out, Violation{e.Seq, fmt.Sprintf(format, args...)})
	}
	snap, _ := e.Payload.(*StateSnapshot)
	hole := snap != nil && snap.HistoryHole
	s.follows(e, hole, wrong)
	if _, spawned := e.Payload.(*EntitySpawned); spawned != (e.Seq == 0) {
		wrong("entity_spawned is at seq 0, and nothing else is: this is %s", typeOf(e.Payload))
	}
	if sum, ok := e.Payload.(*Summarization); ok && sum.ReplacesThroughSeq >= e.Seq {
		wrong("it replaces through seq %d, which is not earlier", sum.ReplacesThroughSeq)
	}
	if !hole { // what lies in front of a hole is not known
		s.neighbours(e, wrong)
	}
	if hole {
		s.known, s.run = false, ""
	}
	s.runs(e, wrong)
	s.begun, s.last, s.was, s.entity = true, e.Seq, e.Payload, e.EntityID
	return out
}

func typeOf(p Payload) string {
	if p == nil {
		return "nothing"
	}
	return string(p.EventType())
}

func (s *Sequence) follows(e *Event, hole bool, wrong func(string, ...any)) {
	if !s.begun {
		if e.Seq == 0 {
			s.known = true
		}
		return
	}
	switch want := s.last + 1; {
	case e.Seq == want:
	case e.Seq < want:
		wrong("want seq %d: it repeats or goes back", want)
	case !hole:
		wrong("want seq %d: %d are missing", want, e.Seq-want)
		s.known, s.run, s.was = false, "", nil
	}
	if e.EntityID != s.entity {
		wrong("it is of %s, the one before of %s", e.EntityID, s.entity)
	}
}

// neighbours holds the rules of what stands directly beside what.
func (s *Sequence) neighbours(e *Event, wrong func(string, ...any)) {
	before, archiving := s.was.(*StateSnapshot)
	archiving = archiving && before.Reason == SnapshotPreArchive
	a, archived := e.Payload.(*Archived)
	switch {
	case archived && s.was == nil: // it may be there
	case archived && !archiving:
		wrong("archived is not directly behind a pre_archive snapshot")
	case archived && a.SnapshotSeq != 0 && a.SnapshotSeq != s.last:
		wrong("it names the snapshot at seq %d, its own is at %d", a.SnapshotSeq, s.last)
	case !archived && archiving:
		wrong("want archived behind a pre_archive snapshot, got %s", typeOf(e.Payload))
	}
	if _, was := s.was.(*Archived); was {
		if _, ok := e.Payload.(*RunStarted); !ok {
			wrong("want run_started behind archived, got %s", typeOf(e.Payload))
		}
	}
}

func (s *Sequence) runs(e *Event, wrong func(string, ...any)) {
	switch p := e.Payload.(type) {
	case *RunStarted:
		if s.run != "" {
			wrong("run %s begins, and run %s has no run_finished", p.RunID, s.run)
		}
		if p.RunID == s.ended {
			wrong("run %s begins again", p.RunID)
		}
		s.known, s.run = true, p.RunID
		return
	case *RunFinished:
		s.member(p.RunID, wrong)
		s.known, s.run, s.ended = true, "", p.RunID
		return
	case *Archived:
		if s.run != "" {
			wrong("archived inside run %s", s.run)
			s.run = ""
		}
		s.known = true
		return
	}
	if run := RunIDOf(e.Payload); run != "" {
		s.member(run, wrong)
	}
}

// member holds that an event of run is inside it.
func (s *Sequence) member(run string, wrong func(string, ...any)) {
	switch {
	case !s.known:
		if s.run != "" && s.run != run {
			wrong("it is of run %s inside run %s", run, s.run)
		}
		s.run = run
	case s.run == "":
		wrong("it is of run %s, and no run is open", run)
	case s.run != run:
		wrong("it is of run %s inside run %s", run, s.run)
	}
}

// RunIDOf is the run that a payload says it belongs to, "" when it says none.
func RunIDOf(p Payload) string {
	switch p := p.(type) {
	case *RunStarted:
		return p.RunID
	case *MessageEvent:
		return p.RunID
	case *ToolCallEvent:
		return p.RunID
	case *ToolResultEvent:
		return p.RunID
	case *Reasoning:
		return p.RunID
	case *Summarization:
		return p.RunID
	case *ErrorEvent:
		return p.RunID
	case *RunFinished:
		return p.RunID
	case *ChildSpawned:
		return p.RunID
	}
	return ""
}
