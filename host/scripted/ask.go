package scripted

import (
	"strings"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// ask is a question. The thread keeps the clock of one with a timeout: the script
// waits for its reply, whatever it is.
type ask struct {
	dialog   wire.DialogSpec
	withdraw time.Duration // then the agent withdraws it; 0 is never
	leak     bool          // repeats a secret, as no agent should
}

func (d ask) play(r *run) *end {
	id := r.s.newID(dialogs)
	reply := make(chan host.Reply, 1)
	r.s.expect(id, reply)
	defer r.s.forget(id)
	e := r.tell(&wire.ExtensionUIRequest{ID: id, Origin: wire.OriginRun, Blocking: true, Dialog: d.dialog})
	if e != nil {
		return e
	}
	var withdrawn <-chan time.Time
	if d.withdraw > 0 {
		t := time.NewTimer(d.withdraw)
		defer t.Stop()
		withdrawn = t.C
	}
	select {
	case got := <-reply:
		if got.Outcome == wire.DialogAborted {
			// The stop that ended the question is behind it: an agent that went on
			// would be done before it came.
			if e := r.pause(stopComes); e != nil {
				return e
			}
		}
		return r.speak("answered: " + d.repeat(got.Arm))
	case <-withdrawn:
		if e := r.tell(&wire.DialogSettled{ID: id, Outcome: wire.DialogAborted}); e != nil {
			return e
		}
		return r.speak("withdrawn")
	case <-r.stop:
		return abortedEnd
	case <-r.s.dead:
		return goneEnd
	}
}

// stopComes is how long an aborted question waits for its stop.
const stopComes = time.Second

const nothing = "nothing"

// repeat says what was answered; of a secret only that there was one.
func (d ask) repeat(arm wire.AnswerArm) string {
	input, _ := d.dialog.(*wire.InputDialog)
	_, confirm := d.dialog.(*wire.ConfirmDialog)
	switch arm := arm.(type) {
	case *wire.ConfirmArm:
		if arm.Confirmed {
			return "yes"
		}
		return "no"
	case *wire.ValueArm:
		if input != nil && input.Secret && !d.leak {
			return "a secret"
		}
		return arm.Value.Reveal()
	case *wire.AnswersArm:
		return repeatAnswers(d.dialog, arm.Answers)
	}
	if confirm {
		return "no"
	}
	return nothing
}

func repeatAnswers(dialog wire.DialogSpec, answers []wire.QuestionAnswer) string {
	set, ok := dialog.(*wire.QuestionnaireDialog)
	if !ok {
		return nothing
	}
	var said []string
	for i, a := range answers[:min(len(answers), len(set.Questions))] {
		chosen := a.Selected
		if a.Other != nil {
			chosen = append(chosen[:len(chosen):len(chosen)], *a.Other)
		}
		said = append(said, set.Questions[i].Header+": "+strings.Join(chosen, ", "))
	}
	return strings.Join(said, "; ")
}

func (s *session) expect(id string, reply chan host.Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == nil {
		s.asked = map[string]chan host.Reply{}
	}
	s.asked[id] = reply
}

func (s *session) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.asked, id)
}

type notify struct{ text string }

func (d notify) play(r *run) *end {
	return r.tell(&wire.ExtensionUIRequest{
		ID: r.s.newID(notices), Origin: wire.OriginRun,
		Notice: &wire.Notice{Level: wire.NoticeInfo, Message: d.text},
	})
}
