package wire

import (
	"fmt"
	"slices"
	"strings"
)

// The least and the most options of a questionnaire's question.
const (
	MinQuestionOptions = 2
	MaxQuestionOptions = 4
)

// ValidateDialog says why d is not a question that can be asked, as a *Failure of
// code invalid, or nil.
func ValidateDialog(d DialogSpec) error {
	if err := dialogRefusal(d); err != nil {
		return Errorf(CodeInvalid, "%v", err)
	}
	return nil
}

func dialogRefusal(d DialogSpec) error {
	switch d := d.(type) {
	case *SelectDialog:
		if d != nil {
			return d.check()
		}
	case *ConfirmDialog:
		if d != nil {
			return d.check()
		}
	case *InputDialog:
		if d != nil {
			return d.check()
		}
	case *EditorDialog:
		if d != nil {
			return nil
		}
	case *QuestionnaireDialog:
		if d != nil {
			return d.check()
		}
	}
	return refuse("no dialog")
}

func (d *SelectDialog) check() error {
	if len(d.Options) == 0 {
		return at(refuse("empty"), "options")
	}
	return atLeast(0, "timeout", d.Timeout)
}

func (d *ConfirmDialog) check() error { return atLeast(0, "timeout", d.Timeout) }

func (d *InputDialog) check() error {
	if d.Link != nil {
		if err := d.Link.check(); err != nil {
			return at(err, "link")
		}
	}
	return atLeast(0, "timeout", d.Timeout)
}

func (l *DialogLink) check() error {
	if l.URL == "" {
		return at(refuse("empty"), "url")
	}
	return nil
}

func (d *QuestionnaireDialog) check() error {
	if len(d.Questions) == 0 {
		return at(refuse("empty"), "questions")
	}
	headers := map[string]bool{}
	for i := range d.Questions {
		q := &d.Questions[i]
		if headers[q.Header] {
			return at(refuse("the header %s is there twice", brief(q.Header)), fmt.Sprintf("questions[%d]", i))
		}
		headers[q.Header] = true
		if err := q.check(); err != nil {
			return at(err, fmt.Sprintf("questions[%d]", i))
		}
	}
	return nil
}

func (q *Question) check() error {
	if n := len(q.Options); n < MinQuestionOptions || n > MaxQuestionOptions {
		return at(refuse("want %d to %d, got %d", MinQuestionOptions, MaxQuestionOptions, n), "options")
	}
	labels := map[string]bool{}
	for i, o := range q.Options {
		if labels[o.Label] {
			return at(refuse("the label %s is there twice", brief(o.Label)), fmt.Sprintf("options[%d]", i))
		}
		labels[o.Label] = true
	}
	return nil
}

func (o *OpenDialog) check() error {
	if o.ID == "" {
		return at(refuse("empty"), "id")
	}
	return nil
}

func (r *ExtensionUIRequest) check() error {
	switch {
	case r.ID == "":
		return at(refuse("empty"), "id")
	case r.Blocking && (r.Dialog == nil || r.Notice != nil):
		return refuse("a blocking request carries a dialog and nothing else")
	case !r.Blocking && (r.Dialog != nil || r.Notice == nil):
		return refuse("a request that does not block carries a notice and nothing else")
	}
	return nil
}

func (f *ObservationFrame) check() error {
	if f.Seq == 0 {
		return at(refuse("want at least 1"), "seq")
	}
	return nil
}

func (t *TurnStart) check() error { return atLeast(1, "turn", int64(t.Turn)) }

func (t *TurnEnd) check() error { return atLeast(1, "turn", int64(t.Turn)) }

func (u *Usage) check() error {
	if u.TotalCost != nil && *u.TotalCost < 0 {
		return at(refuse("want at least 0"), "totalCost")
	}
	return atLeast(0, "input", u.Input, "output", u.Output, "cacheRead", u.CacheRead, "cacheWrite", u.CacheWrite)
}

func (u *SessionUsage) check() error {
	if u.TotalCost != nil && *u.TotalCost < 0 {
		return at(refuse("want at least 0"), "totalCost")
	}
	return atLeast(0, "input", u.Input, "output", u.Output, "cacheRead", u.CacheRead, "cacheWrite", u.CacheWrite)
}

func (c *ContextUsage) check() error { return atLeast(0, "tokens", c.Tokens, "window", c.Window) }

// atLeast takes names and values in turn.
func atLeast(least int64, pairs ...any) error {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1].(int64) < least {
			return at(refuse("want at least %d", least), pairs[i].(string))
		}
	}
	return nil
}

// ValidateAnswer is the one answer validator: it says why a does not answer d, as
// a *Failure of code invalid that never repeats the answer, or nil. A cancel
// answers every dialog. A select takes one of its options: its asker reads the
// value verbatim, so nothing else may reach it. A questionnaire takes one answer
// for each question, in order.
func ValidateAnswer(d DialogSpec, a Answer) error {
	if err := answerRefusal(d, a.Arm); err != nil {
		return Errorf(CodeInvalid, "%v", err)
	}
	return nil
}

func answerRefusal(d DialogSpec, arm AnswerArm) error {
	if err := dialogRefusal(d); err != nil {
		return err
	}
	arm, word := armOf(arm)
	if arm == nil {
		return refuse("no answer: %s", armsWanted)
	}
	if _, ok := arm.(*CancelArm); ok {
		return nil
	}
	switch d := d.(type) {
	case *ConfirmDialog:
		if _, ok := arm.(*ConfirmArm); !ok {
			return refuse("a confirm takes confirmed, not %s", word)
		}
	case *SelectDialog:
		v, ok := arm.(*ValueArm)
		if !ok {
			return refuse("a select takes value, not %s", word)
		}
		if !slices.Contains(d.Options, v.Value.Reveal()) {
			return refuse("value: not one of the offered options")
		}
	case *InputDialog, *EditorDialog:
		if _, ok := arm.(*ValueArm); !ok {
			return refuse("an %s takes value, not %s", d.Method(), word)
		}
	case *QuestionnaireDialog:
		v, ok := arm.(*AnswersArm)
		if !ok {
			return refuse("a questionnaire takes answers, not %s", word)
		}
		return answersRefusal(d.Questions, v.Answers)
	}
	return nil
}

func answersRefusal(questions []Question, answers []QuestionAnswer) error {
	if len(answers) != len(questions) {
		return at(refuse("want %d, one for each question, got %d", len(questions), len(answers)), "answers")
	}
	for i := range questions {
		if err := oneAnswerRefusal(&questions[i], &answers[i]); err != nil {
			return at(err, fmt.Sprintf("answers[%d]", i))
		}
	}
	return nil
}

func oneAnswerRefusal(q *Question, a *QuestionAnswer) error {
	chosen := map[string]bool{}
	for i, label := range a.Selected {
		step := fmt.Sprintf("selected[%d]", i)
		if !slices.ContainsFunc(q.Options, func(o QuestionOption) bool { return o.Label == label }) {
			return at(refuse("not an offered label"), step)
		}
		if chosen[label] {
			return at(refuse("chosen twice"), step)
		}
		chosen[label] = true
	}
	n := len(a.Selected)
	if a.Other != nil {
		if strings.TrimSpace(*a.Other) == "" {
			return at(refuse("blank"), "other")
		}
		n++
	}
	switch {
	case n == 0:
		return refuse("the question is not answered")
	case n > 1 && !q.MultiSelect:
		return refuse("a single choice takes one answer, got %d", n)
	}
	return nil
}
