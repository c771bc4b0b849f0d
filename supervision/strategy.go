package supervision

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// NewStrategy is a supervisor strategy for one-for-one children:
//
//   - a child that panics on a message is restarted at once; the message is lost;
//   - one that panics while it starts or restarts is stopped, since protoactor
//     would otherwise try again some ninety thousand times a second;
//   - one that restarts more often than policy allows is stopped too (policy is
//     keyed by the actor's id; its delays are not used);
//   - one that panics while it stops cannot be stopped again: it is taken out of
//     the registry and its parent is told Terminated.
//
// Give it to the parent's props, and, for actors without a parent, to
// RootContext.WithGuardian: without that protoactor's own default supervises them.
// publish must not block: it runs in the parent's mailbox.
func NewStrategy(policy *Policy, publish func(Fact), now func() time.Time) actor.SupervisorStrategy {
	return &strategy{policy: policy, publish: publish, now: now}
}

type strategy struct {
	policy  *Policy
	publish func(Fact)
	now     func() time.Time
}

// HandleFailure never panics: in a guardian it runs where a panic ends the process.
func (s *strategy) HandleFailure(system *actor.ActorSystem, sup actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, message any) {
	defer func() {
		if v := recover(); v != nil {
			s.publish(&GoroutinePanicked{Where: "supervisor strategy", Reason: Redact(v), Stack: clip(debug.Stack())})
		}
	}()
	input := messageType(message)
	why := Redact(reason)
	switch message.(type) {
	case *actor.Stop:
		s.policy.Forgive(child.Id)
		s.abandon(system, sup, child)
		s.publish(&ActorAbandoned{Actor: child.Id, Reason: why})
		return
	case *actor.Restart, *actor.Started:
		s.policy.Forgive(child.Id)
		sup.StopChildren(child)
		s.publish(&ActorStopped{Actor: child.Id, Input: input, Reason: why, Cause: StopStarting})
		return
	}
	v := s.policy.Strike(child.Id, s.now())
	if v.Exhausted {
		s.policy.Forgive(child.Id)
		sup.StopChildren(child)
		s.publish(&ActorStopped{Actor: child.Id, Input: input, Reason: why, Cause: StopLimit})
		return
	}
	sup.RestartChildren(child)
	s.publish(&ActorRestarted{Actor: child.Id, Input: input, Reason: why, Count: v.Count})
}

// abandon ends an actor that can neither handle another Stop (its state says that
// it is stopping already) nor finish the first.
func (s *strategy) abandon(system *actor.ActorSystem, sup actor.Supervisor, child *actor.PID) {
	system.ProcessRegistry.Remove(child)
	parent, ok := sup.(interface{ Self() *actor.PID })
	if !ok {
		return
	}
	if p, ok := system.ProcessRegistry.Get(parent.Self()); ok {
		p.SendSystemMessage(parent.Self(), &actor.Terminated{Who: child})
	}
}

// messageType is the type of the message, never its content.
func messageType(m any) string {
	if e, ok := m.(*actor.MessageEnvelope); ok && e != nil {
		m = e.Message
	}
	return fmt.Sprintf("%T", m)
}
