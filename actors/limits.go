package actors

import "time"

// Limits are the bounds of every buffer and wait. Zero fields take the default
// of DefaultLimits.
type Limits struct {
	PromptBytes   int // one prompt's text and images; over it: invalid
	QueueLen      int // prompts that wait on one thread; over it: limit-reached
	QueueBytes    int // their bytes; over it: limit-reached
	Parked        int // commands parked while a thread loads; over it: unavailable
	OpenDialogs   int // open questions; a further one is refused at once
	Calls         int // calls that wait for a session; over it the session is killed
	IntakeBytes   int // a session's credit; at zero its agent is not read
	HeldBytes     int // held until the first subscriber; over it nothing is replayed
	LagBytes      int // a follower that lags more is closed
	StallBytes    int // one that lags more and has not read for StallGrace is closed
	Followers     int // followers of one thread; over it: limit-reached
	TailRows      int // rows of each tail; the oldest fall off
	RecentPrompts int // message ids remembered for deduplication; the oldest fall off
	InFlight      int // commands under way in the whole host; over it: limit-reached
	Snapshots     int // snapshots assembled and encoded at once in the whole host
	SnapshotBytes int // encoded snapshots that are being written in the whole host; a further one waits

	StartTimeout time.Duration // a session's start
	CallTimeout  time.Duration // one call into a session
	AbortGrace   time.Duration // from the polite stop to killing the session's processes
	KillGrace    time.Duration // from the kill to giving the session up
	CloseTimeout time.Duration // a session's Close
	IdleSession  time.Duration // an idle session is disposed of
	StallGrace   time.Duration // how long a follower past StallBytes may not read
	Passivate    time.Duration // a quiet thread leaves memory
}

// DefaultLimits are the bounds of a host with nothing configured.
func DefaultLimits() Limits {
	return Limits{
		PromptBytes:   4 << 20,
		QueueLen:      256,
		QueueBytes:    16 << 20,
		Parked:        1024,
		OpenDialogs:   64,
		Calls:         1024,
		IntakeBytes:   1 << 20,
		HeldBytes:     256 << 10,
		LagBytes:      16 << 20,
		StallBytes:    4 << 20,
		Followers:     20_000,
		TailRows:      200,
		RecentPrompts: 256,
		InFlight:      16 << 10,
		Snapshots:     2,
		SnapshotBytes: 48 << 20,
		StartTimeout:  60 * time.Second,
		CallTimeout:   30 * time.Second,
		AbortGrace:    5 * time.Second,
		KillGrace:     5 * time.Second,
		CloseTimeout:  15 * time.Second,
		IdleSession:   15 * time.Minute,
		StallGrace:    5 * time.Second,
		Passivate:     30 * time.Second,
	}
}

// orDefault fills every zero field from the defaults.
func (l Limits) orDefault() Limits {
	d := DefaultLimits()
	ints := []struct{ have, def *int }{
		{&l.PromptBytes, &d.PromptBytes}, {&l.QueueLen, &d.QueueLen}, {&l.QueueBytes, &d.QueueBytes},
		{&l.Parked, &d.Parked}, {&l.OpenDialogs, &d.OpenDialogs}, {&l.Calls, &d.Calls}, {&l.IntakeBytes, &d.IntakeBytes},
		{&l.HeldBytes, &d.HeldBytes}, {&l.LagBytes, &d.LagBytes}, {&l.Followers, &d.Followers},
		{&l.TailRows, &d.TailRows}, {&l.RecentPrompts, &d.RecentPrompts}, {&l.InFlight, &d.InFlight},
		{&l.Snapshots, &d.Snapshots}, {&l.SnapshotBytes, &d.SnapshotBytes}, {&l.StallBytes, &d.StallBytes},
	}
	for _, p := range ints {
		if *p.have == 0 {
			*p.have = *p.def
		}
	}
	waits := []struct{ have, def *time.Duration }{
		{&l.StartTimeout, &d.StartTimeout}, {&l.CallTimeout, &d.CallTimeout}, {&l.AbortGrace, &d.AbortGrace},
		{&l.KillGrace, &d.KillGrace}, {&l.CloseTimeout, &d.CloseTimeout}, {&l.IdleSession, &d.IdleSession},
		{&l.StallGrace, &d.StallGrace}, {&l.Passivate, &d.Passivate},
	}
	for _, p := range waits {
		if *p.have == 0 {
			*p.have = *p.def
		}
	}
	return l
}

func (l Limits) feed() feedBounds {
	return feedBounds{lag: uint64(l.LagBytes), stall: uint64(l.StallBytes), grace: l.StallGrace}
}
