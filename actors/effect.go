package actors

import (
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// effect is something step wants done. A closed union: the types of this file.
// Effects are performed in order, and none blocks the thread.
type effect interface{ effect() }

type (
	// publish logs a frame and, when it is live or replayed, writes it to the feed.
	publish struct {
		frame wire.Frame
		prov  provenance
	}
	// attach gives a follower its pin, then its place in the feed.
	attach struct {
		follower *Follower
		pin      *pin
		alone    bool // nobody else begins there: what was held is replayed behind it
	}
	// detach takes a follower out of the feed.
	detach struct{ follower *Follower }
	// forgetFeed ends the feed: nobody is left.
	forgetFeed struct{}
	// commit hands a batch to the journal; committedInput follows, in order.
	commit struct {
		records []record
		put     []host.Wake
		take    []string
		row     *rowState
		summary wire.Summary
		before  int64 // the seq of the newest event before it
	}
	// load opens the record; loadedInput or loadFailedInput follows.
	load struct{}
	// startSession starts a session; sessionStartedInput or startFailedInput follows.
	startSession struct {
		session uint64
		cwd     string
		resume  string
	}
	// cancelStart ends a start under way; the session it may still bring is closed.
	cancelStart struct{ session uint64 }
	// call makes a call into a session; calledInput follows.
	call struct {
		session uint64
		call    sessionCall
	}
	// kill ends every process of a session; killedInput follows.
	kill struct{ session uint64 }
	// dispose closes a session; sessionClosedInput follows.
	dispose struct{ session uint64 }
	// arm starts a timer, replacing the one of the same id.
	arm struct {
		timer timerID
		after time.Duration
	}
	// disarm forgets a timer.
	disarm struct{ timer timerID }
	// reply answers a command.
	reply struct {
		token   token
		value   any
		failure *wire.Failure
	}
	// askPassivate tells the registry that the thread is quiet.
	askPassivate struct{}
	// decline tells the registry that the thread is not quiet after all.
	decline struct{}
	// stopSelf ends this incarnation.
	stopSelf struct{}
)

func (publish) effect()      {}
func (attach) effect()       {}
func (detach) effect()       {}
func (forgetFeed) effect()   {}
func (commit) effect()       {}
func (load) effect()         {}
func (startSession) effect() {}
func (cancelStart) effect()  {}
func (call) effect()         {}
func (kill) effect()         {}
func (dispose) effect()      {}
func (arm) effect()          {}
func (disarm) effect()       {}
func (reply) effect()        {}
func (askPassivate) effect() {}
func (decline) effect()      {}
func (stopSelf) effect()     {}
