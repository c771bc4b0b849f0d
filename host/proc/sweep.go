package proc

import (
	"slices"
	"syscall"
	"time"
)

// Pauses between looks, and how long KILL is tried on what does not go.
const (
	termPause = 50 * time.Millisecond
	killPause = 2 * time.Millisecond // at first
	longPause = 50 * time.Millisecond
	giveUp    = 3 * time.Second
)

// resident is one live process, as a look at the machine found it. Start tells
// two owners of one pid apart.
type resident struct {
	pid, ppid, pgid, sid int
	start                uint64
	zombie               bool
}

// sweep ends a tree of processes: TERM to each once, KILL once killAt has come,
// in as many looks as it takes. One goroutine uses it.
type sweep struct {
	look   func() []resident // the live processes to end, zombies left out
	killAt time.Time
	took   map[resident]*ended
	order  []*ended
	pause  time.Duration
}

func newSweep(look func() []resident) *sweep {
	return &sweep{look: look, took: map[resident]*ended{}, pause: killPause}
}

// begin sets the moment of KILL; of several the earliest holds.
func (s *sweep) begin(killAt time.Time) {
	if s.killAt.IsZero() || killAt.Before(s.killAt) {
		s.killAt = killAt
	}
}

func (s *sweep) begun() bool { return !s.killAt.IsZero() }

// spent says that KILL has been tried for long enough.
func (s *sweep) spent(now time.Time) bool { return s.begun() && now.After(s.killAt.Add(giveUp)) }

// pass is one look. It says how many processes it found and when to look again.
func (s *sweep) pass(now time.Time) (found int, again time.Duration) {
	kill := !now.Before(s.killAt)
	live := s.look()
	if kill {
		// A signal to a group reaches the forks that are under way in it, so that
		// what forks faster than one can look ends all the same.
		var groups []int
		for _, p := range live {
			if p.pgid > 1 && p.pgid != ownGroup && !slices.Contains(groups, p.pgid) {
				groups = append(groups, p.pgid)
			}
		}
		for _, p := range live {
			s.signal(p, syscall.SIGKILL)
		}
		for _, g := range groups {
			_ = syscall.Kill(-g, syscall.SIGKILL)
		}
		again, s.pause = s.pause, min(s.pause*5/4+time.Millisecond, longPause)
		return len(live), again
	}
	for _, p := range live {
		if s.took[p.key()] == nil {
			s.signal(p, syscall.SIGTERM)
			_ = send(p, syscall.SIGCONT) // a stopped process takes its TERM only then
		}
	}
	return len(live), min(termPause, s.killAt.Sub(now))
}

func (s *sweep) signal(p resident, sig syscall.Signal) {
	e := s.took[p.key()]
	if e == nil {
		e = &ended{PID: p.pid, Command: commandOf(p.pid)}
		if send(p, sig) != nil {
			return
		}
		s.took[p.key()] = e
		s.order = append(s.order, e)
	} else if send(p, sig) != nil {
		return
	}
	e.Signal = signalName(sig)
}

// key is what stays the same of a process while it lives.
func (p resident) key() resident { return resident{pid: p.pid, start: p.start} }

// maxEnded bounds what is told of a tree that was very large.
const maxEnded = 1000

// ended is what the sweep did, once pass finds left processes.
func (s *sweep) ended(left int) *ending {
	out := &ending{Left: left, Processes: []ended{}}
	for _, e := range s.order[:min(len(s.order), maxEnded)] {
		out.Processes = append(out.Processes, *e)
	}
	return out
}

var ownGroup = syscall.Getpgrp()

// maxCommand bounds, in bytes, what is told of a command line.
const maxCommand = 120
