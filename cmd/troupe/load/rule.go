package load

import (
	"fmt"
	"sync"
)

// Rule is what a server has to keep, whatever its load.
type Rule string

// The rules.
const (
	RuleSnapshot  Rule = "one-snapshot-first"   // a follow opens with exactly one snapshot
	RuleSeq       Rule = "seq-increases"        // from asOfSeq on, each seq is greater than the last
	RuleMissing   Rule = "nothing-missing"      // by one, but for elided partial results
	RuleFrame     Rule = "frames-are-strict"    // every frame is one of the vocabulary's
	RuleText      Rule = "text-is-whole"        // every delta is there, in order, with its filler
	RuleSameBytes Rule = "same-for-all"         // every follower of a thread gets the same bytes
	RuleSettled   Rule = "settled-once"         // run-ended, then settled, once for each run
	RulePrompt    Rule = "prompts-are-answered" // each is accepted, and then run, dropped or rejected
	RuleOpen      Rule = "readers-stay"         // no follower is closed that reads
	RuleSlow      Rule = "stuck-are-closed"     // a follower that does not read is closed
	RuleFold      Rule = "fold-is-exact"        // the snapshot now is the first one folded over the frames
	RuleDialog    Rule = "one-answer-wins"      // of all that end a question, one
	RuleAbort     Rule = "aborts-settle"        // an abort answers once its run has settled
	RuleInTime    Rule = "in-time"              // what was waited for came before the scenario's deadline
)

// Violation is one broken rule.
type Violation struct {
	Rule     Rule   `json:"rule"`
	Scenario string `json:"scenario"`
	Thread   string `json:"thread,omitempty"`
	Seq      uint64 `json:"seq,omitempty"`
	Got      string `json:"got"`
	Want     string `json:"want"`
}

// String is one line.
func (v Violation) String() string {
	s := fmt.Sprintf("%s: %s", v.Scenario, v.Rule)
	if v.Thread != "" {
		s += fmt.Sprintf(", thread %s", v.Thread)
	}
	if v.Seq > 0 {
		s += fmt.Sprintf(", seq %d", v.Seq)
	}
	return fmt.Sprintf("%s: got %s, want %s", s, v.Got, v.Want)
}

// maxViolations are kept; of the others only the number.
const maxViolations = 20

// violations gathers what was broken. Any goroutine may add to it.
type violations struct {
	scenario string

	mu    sync.Mutex
	kept  []Violation
	total int
}

func (s *violations) add(v Violation) {
	v.Scenario = s.scenario
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total++
	if len(s.kept) < maxViolations {
		s.kept = append(s.kept, v)
	}
}

func (s *violations) all() ([]Violation, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Violation(nil), s.kept...), s.total
}
