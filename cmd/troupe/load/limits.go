package load

import (
	"time"

	"golang.org/x/sys/unix"
)

// raiseOpenFiles raises this process' limit of open files as far as it may, and
// answers what it is then. Its own servers inherit it.
func raiseOpenFiles() uint64 {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	higher := unix.Rlimit{Cur: max(l.Max, wantOpenFiles), Max: max(l.Max, wantOpenFiles)}
	if unix.Setrlimit(unix.RLIMIT_NOFILE, &higher) == nil { // only root may raise the hard one
		return higher.Cur
	}
	l.Cur = l.Max
	_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &l) // what it is then is said below
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return l.Cur
}

// wantOpenFiles is enough for what a server holds by default; spareFiles are those
// that are no followers.
const (
	wantOpenFiles = 65_536
	spareFiles    = 256
)

// ownCPU is what the tool itself has used.
func ownCPU() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
