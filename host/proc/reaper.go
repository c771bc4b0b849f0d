package proc

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"syscall"
	"time"
)

// The marker is the name that this executable is executed again under, and the
// descriptors are where it then finds its host.
const (
	marker   = "troupe-reaper"
	ordersFD = 3
	wordsFD  = 4
)

const (
	// lingering is how long what an exited agent left running may go on.
	lingering = 250 * time.Millisecond
	// orphaned bounds the grace once the host is gone.
	orphaned = 500 * time.Millisecond
)

var (
	ownPID    = os.Getpid()
	mainCalls bool
)

// Main must be the first call of main, and of the TestMain of every package
// whose tests start processes: when this executable was executed again as a
// reaper, it is one from here on and never returns. Else it returns at once.
func Main() {
	if len(os.Args) == 1 && os.Args[0] == marker {
		os.Exit(reap())
	}
	mainCalls = true
}

// event is something that wakes the reaper: an order, the host's end, or what a
// wait found. Exactly one of its fields is set.
type event struct {
	order     *order
	hostGone  bool
	exited    int
	status    syscall.WaitStatus
	childless bool
}

type reaper struct {
	events chan event
	look   chan struct{} // a childless waiter waits for it
	words  *os.File
	sweep  *sweep
	agent  int
	grace  time.Duration
	known  []resident // where orphans are not adopted: what was seen below
}

// reap is a reaper's whole life. Its exit status says nothing: the words do.
func reap() int {
	debug.SetGCPercent(20)
	seal()
	orders, words := os.NewFile(ordersFD, "orders"), os.NewFile(wordsFD, "words")
	if orders == nil || words == nil {
		return 2
	}
	// What is sent to it is a wish to end. Nothing is ignored: that would be
	// inherited by the agent.
	stops := make(chan os.Signal, 1)
	signal.Notify(stops, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	r := &reaper{events: make(chan event), look: make(chan struct{}, 1), words: words}
	r.sweep = newSweep(r.below)

	in := json.NewDecoder(bufio.NewReader(orders))
	var first order
	if err := in.Decode(&first); err != nil || first.Spec == nil {
		return 2
	}
	if err := adopt(); err != nil {
		r.say(word{Refused: "adopt orphans: " + err.Error()})
		return 1
	}
	if err := r.start(first.Spec); err != nil {
		r.say(word{Refused: err.Error()})
		return 1
	}
	first = order{}
	debug.FreeOSMemory()
	go r.listen(in)
	go r.wait()
	r.loop(stops)
	return 0
}

func (r *reaper) start(s *spec) error {
	pid, err := syscall.ForkExec(string(s.Path), toStrings(s.Args), &syscall.ProcAttr{
		Dir: string(s.Dir), Env: toStrings(s.Env), Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return err
	}
	r.agent, r.grace = pid, s.Grace
	// The agent's streams end with the agent, not with its reaper.
	if null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0); err == nil {
		for fd := range 3 {
			_ = replace(null, fd)
		}
	} else {
		for fd := range 3 {
			_ = syscall.Close(fd)
		}
	}
	r.say(word{Started: pid})
	return nil
}

func (r *reaper) say(w word) { _, _ = r.words.Write(line(w)) }

func (r *reaper) listen(in *json.Decoder) {
	for {
		var o order
		if err := in.Decode(&o); err != nil {
			r.events <- event{hostGone: true}
			return
		}
		r.events <- event{order: &o}
	}
}

// wait is the one place that waits for children.
func (r *reaper) wait() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			r.events <- event{childless: true}
			<-r.look
		default:
			r.events <- event{exited: pid, status: status}
		}
	}
}

// loop runs until nothing is left below, or what is left cannot be ended.
func (r *reaper) loop(stops <-chan os.Signal) {
	timer := time.NewTimer(lingering)
	for {
		select {
		case e := <-r.events:
			switch {
			case e.hostGone:
				r.end(min(r.grace, orphaned))
			case e.order != nil && e.order.Stop != nil:
				r.end(e.order.Stop.Grace)
			case e.childless && adopts:
				r.say(word{Ended: r.sweep.ended(0)})
				return
			case e.exited == r.agent && e.exited != 0:
				exit := exitOf(e.status)
				r.say(word{Exited: &exit})
				r.agent = 0
				if !r.sweep.begun() {
					timer.Reset(lingering)
					continue
				}
			default:
				continue
			}
			timer.Reset(0)
		case <-stops:
			r.end(r.grace)
			timer.Reset(0)
		case <-timer.C:
			now := time.Now()
			if !r.sweep.begun() {
				if r.agent != 0 {
					if !adopts {
						r.below()
						timer.Reset(lingering)
					}
					continue
				}
				r.end(r.grace)
			}
			found, again := r.sweep.pass(now)
			if r.sweep.spent(now) || found == 0 && r.agent == 0 && !adopts {
				r.say(word{Ended: r.sweep.ended(found)})
				return
			}
			timer.Reset(again)
		}
	}
}

func (r *reaper) end(grace time.Duration) { r.sweep.begin(time.Now().Add(grace)) }

// below is what there is to end. Where orphans are not adopted it remembers what
// it saw, and finds them and their children again.
func (r *reaper) below() []resident {
	all := census()
	if adopts {
		return below(ownPID, all)
	}
	live := descend([]int{ownPID}, all, func(p resident) bool {
		return slices.ContainsFunc(r.known, func(k resident) bool { return k == p.key() })
	})
	r.known = r.known[:0]
	for _, p := range live {
		r.known = append(r.known, p.key())
	}
	return live
}

func exitOf(status syscall.WaitStatus) Exit {
	if status.Signaled() {
		return Exit{Code: -1, Signal: signalName(status.Signal())}
	}
	return Exit{Code: status.ExitStatus()}
}
