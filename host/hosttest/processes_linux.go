package hosttest

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// below is every process below root, zombies too, with its command.
func below(root int) map[int]string {
	children := map[int][]int{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		b, err := os.ReadFile(filepath.Join(dir, "stat"))
		i := bytes.LastIndexByte(b, ')')
		if err != nil || i < 0 {
			continue
		}
		f := strings.Fields(string(b[i+1:]))
		if len(f) < 2 {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(dir))
		parent, _ := strconv.Atoi(f[1])
		children[parent] = append(children[parent], pid)
	}
	out := map[int]string{}
	todo := []int{root}
	for len(todo) > 0 {
		for _, pid := range children[todo[0]] {
			if _, seen := out[pid]; seen {
				continue
			}
			b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
			out[pid] = string(bytes.ReplaceAll(b, []byte{0}, []byte{' '}))
			todo = append(todo, pid)
		}
		todo = todo[1:]
	}
	return out
}

// gone says whether the process ends before d has passed.
func gone(pid int, d time.Duration) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err == unix.ESRCH
	}
	defer func() { _ = unix.Close(fd) }()
	deadline := time.Now().Add(d)
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, max(0, int(time.Until(deadline).Milliseconds())))
		if err != unix.EINTR {
			return err == nil && n > 0
		}
	}
}
