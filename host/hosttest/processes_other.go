//go:build !linux

package hosttest

import (
	"syscall"
	"time"
)

// below is not known here.
func below(int) map[int]string { return nil }

// gone says whether the process ends before d has passed.
func gone(pid int, d time.Duration) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(d); ; <-tick.C {
		if syscall.Kill(pid, 0) == syscall.ESRCH {
			return true
		}
		if !time.Now().Before(deadline) {
			return false
		}
	}
}
