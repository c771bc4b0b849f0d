package actors

import (
	"slices"
	"strings"

	"github.com/troupe-run/troupe/wire"
)

// create makes the thread, or reattaches to it. It wakes only with a wake.
func (s *state) create(in *createInput) {
	created := !s.exists
	if created {
		s.born(in.req, in.cwd)
		if in.wake != nil {
			s.admit(queued{wake: *in.wake})
		}
	}
	s.afterCommit(in.token, func(s *state) any { return createdReply{s.summary(), created} })
}

type createdReply struct {
	summary wire.Summary
	created bool
}

// born gives the thread its record: seq 0 is its creation, and nothing else is.
func (s *state) born(r wire.CreateThread, cwd string) {
	s.exists = true
	s.row.Title, s.row.Parent, s.row.Cwd = r.Title, r.Parent, cwd
	if r.Cwd != "" {
		s.row.Cwd = r.Cwd
	}
	if r.Tags != nil {
		s.row.Tags = r.Tags
	}
	s.row.CreatedAt = s.now
	s.record(recordCreated)
	s.touch()
}

// prompt admits a prompt: it is a durable wake before it is acknowledged. The
// same message id is the same prompt.
func (s *state) prompt(in *promptInput) {
	id := in.wake.MessageID
	if s.known(id) {
		s.afterCommit(in.token, func(s *state) any { return s.receipt(id) })
		return
	}
	if s.transcript.find(id) != nil {
		s.refuse(in.token, wire.CodeInvalid, "messageId %q is of a message that the agent writes", id)
		return
	}
	size := promptSize(in.wake.Text, in.wake.Images)
	if len(s.queue.entries) >= s.limits.QueueLen || s.queue.bytes+size > s.limits.QueueBytes {
		s.refuse(in.token, wire.CodeLimit, "%d prompts wait on this thread, its limit", len(s.queue.entries))
		return
	}
	if s.draining {
		s.refuse(in.token, wire.CodeUnavailable, "the host is stopping")
		return
	}
	if !s.exists {
		s.born(wire.CreateThread{}, in.cwd)
	}
	s.row.Failed = false // a prompt revives a failed thread
	if s.row.Title == "" {
		s.row.Title = titleOf(in.wake.Text)
	}
	busy := s.run != nil
	s.admit(queued{wake: in.wake, cut: busy && in.wake.Admission == wire.AdmitInterrupting})
	s.afterCommit(in.token, func(s *state) any { return s.receipt(id) })
}

func (s *state) admit(q queued) {
	s.queue.push(q)
	s.wants().put = append(s.wants().put, q)
	s.row.Recent = append(slices.Clone(s.row.Recent), q.wake.MessageID)
	if n := len(s.row.Recent) - s.limits.RecentPrompts; n > 0 {
		s.row.Recent = s.row.Recent[n:]
	}
	s.showQueue()
	s.touch()
}

func (s *state) known(id string) bool {
	return s.queue.index(id) >= 0 || (s.run != nil && s.run.messageID == id) || slices.Contains(s.row.Recent, id)
}

// receipt says where a prompt is, now that its wake is durable.
func (s *state) receipt(id string) wire.PromptReceipt {
	r := wire.PromptReceipt{MessageID: id}
	switch i := s.queue.index(id); {
	case s.run != nil && s.run.messageID == id:
		if s.view.live {
			r.Generation = s.run.generation
		}
	case i >= 0:
		r.Queued = s.run != nil || i > 0
	}
	return r
}

// withdraw takes a waiting prompt out. One that the runtime has, has begun or is
// spent is not there any more.
func (s *state) withdraw(in *withdrawInput) {
	i := s.queue.index(in.messageID)
	if i < 0 || s.queue.entries[i].handed {
		s.refuse(in.token, wire.CodeNotFound, "no prompt %q waits on this thread", in.messageID)
		return
	}
	s.queue.remove(i)
	s.wants().take = append(s.wants().take, in.messageID)
	s.showQueue()
	s.afterCommit(in.token, func(*state) any { return nil })
}

// showQueue tells followers what waits, when that changed. The prompt that is
// about to open a run is not waiting.
func (s *state) showQueue() {
	waiting := s.queue.entries
	if s.run == nil && len(waiting) > 0 {
		i := max(s.queue.next(), 0)
		waiting = slices.Delete(slices.Clone(waiting), i, i+1)
	}
	v := s.queue.view(waiting)
	empty := len(v.Interrupting)+len(v.Enqueued) == 0
	if s.shownQueue == nil && empty {
		return
	}
	if s.shownQueue != nil && slices.Equal(s.shownQueue.Interrupting, v.Interrupting) && slices.Equal(s.shownQueue.Enqueued, v.Enqueued) {
		return
	}
	s.publish(v)
	s.shownQueue = v
	if empty {
		s.shownQueue = nil
	}
}

// steerWaiting hands the prompts that asked to cut in to the runtime's steering.
func (s *state) steerWaiting() {
	if !s.steers || s.run == nil || !s.run.handed || s.run.stop != nil || s.phase != phaseRunning {
		return
	}
	for i, e := range s.queue.entries {
		if !e.cut || !e.durable || e.handed {
			continue
		}
		s.queue.entries = slices.Clone(s.queue.entries)
		s.queue.entries[i].handed, s.queue.entries[i].offered = true, true
		s.do(call{s.session.number, &callSteer{s.hostPrompt(e)}})
	}
}

// steered: the agent took a prompt in; now it is part of the transcript.
func (s *state) steered(in *steeredInput) {
	i := s.queue.index(in.messageID)
	if i < 0 || !s.queue.entries[i].offered {
		return // the agent cannot have it
	}
	e := s.queue.remove(i)
	s.wants().take = append(s.wants().take, in.messageID)
	s.userMessage(e)
	s.showQueue()
}

// next moves on: the oldest waiting prompt opens a run, a session is started for
// it, or the thread rests.
func (s *state) next() {
	if s.run != nil {
		return
	}
	if s.draining {
		s.drainOn()
		return
	}
	i := s.queue.next()
	switch {
	case i >= 0 && s.queue.entries[i].doomed && (s.phase == phaseCold || s.phase == phaseIdle):
		e := s.queue.remove(i)
		s.beginRun(e)
		s.publish(&wire.PromptRejected{MessageID: e.wake.MessageID, Reason: failedReason})
		s.endRun(wire.RunFailed, &wire.Failure{Code: wire.CodePromptRejected, Message: failedReason})
	case s.phase == phaseIdle && len(s.session.verbs) > 0:
		for _, v := range s.session.verbs {
			s.callVerb(v)
		}
		s.session.verbs = nil
		s.next()
	case s.phase == phaseIdle && i >= 0:
		e := s.queue.remove(i)
		s.beginRun(e)
		s.do(call{s.session.number, &callPrompt{s.hostPrompt(e)}})
	case s.phase == phaseCold && (i >= 0 || len(s.session.verbs) > 0):
		s.startSession()
	}
	s.showQueue()
}

const failedReason = "the thread failed too often; the next prompt starts it again"

// titleOf is what a thread is called until someone renames it: the first line of
// its first prompt.
func titleOf(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if r := []rune(line); len(r) > titleRunes {
		return string(r[:titleRunes-1]) + "…"
	}
	return line
}

const titleRunes = 60
