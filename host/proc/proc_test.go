//go:build linux

package proc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/troupe-run/troupe/host/proc"
	"github.com/troupe-run/troupe/wire"
)

// asHost makes this test binary a host of its own, for the tests that kill one.
const asHost = "PROC_TEST_HOST"

func TestMain(m *testing.M) {
	proc.Main()
	if script := os.Getenv(asHost); script != "" {
		os.Exit(hostOf(script))
	}
	goleak.VerifyTestMain(m)
}

// hostOf runs a script as an agent, passes its output on, and stays.
func hostOf(script string) int {
	p, err := proc.Start(context.Background(), proc.Command{Args: []string{"sh", "-c", script}, Env: proc.Environment(nil), Grace: time.Minute})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	_, _ = io.Copy(os.Stdout, p.Stdout())
	select {}
}

// started starts a shell script as an agent, and wants nothing left at the end.
func started(t *testing.T, script string, change ...func(*proc.Command)) *proc.Process {
	t.Helper()
	c := proc.Command{Args: []string{"sh", "-c", script}, Dir: t.TempDir(), Env: proc.Environment(nil)}
	for _, f := range change {
		f(&c)
	}
	t.Cleanup(nothingLeft(t))
	p, err := proc.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// nothingLeft wants no other processes below this one than there are now, zombies
// among them.
func nothingLeft(t *testing.T) func() {
	before := below(os.Getpid())
	return func() {
		t.Helper()
		for pid, what := range below(os.Getpid()) {
			if _, old := before[pid]; !old {
				t.Errorf("process %d is left: %s", pid, what)
			}
		}
	}
}

func below(root int) map[int]string {
	children := map[int][]int{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		if f := stat(dir); f != nil {
			pid, _ := strconv.Atoi(filepath.Base(dir))
			parent, _ := strconv.Atoi(f[1])
			children[parent] = append(children[parent], pid)
		}
	}
	out := map[int]string{}
	for todo := []int{root}; len(todo) > 0; todo = todo[1:] {
		for _, pid := range children[todo[0]] {
			b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			out[pid] = string(bytes.ReplaceAll(b, []byte{0}, []byte{' '}))
			todo = append(todo, pid)
		}
	}
	return out
}

// stat is /proc/<pid>/stat from its third field on: state, parent, …
func stat(dir string) []string {
	b, err := os.ReadFile(filepath.Join(dir, "stat"))
	i := bytes.LastIndexByte(b, ')')
	if err != nil || i < 0 {
		return nil
	}
	return strings.Fields(string(b[i+1:]))
}

func parentOf(t *testing.T, pid int) int {
	t.Helper()
	f := stat(fmt.Sprintf("/proc/%d", pid))
	if f == nil {
		t.Fatalf("process %d is gone", pid)
	}
	parent, _ := strconv.Atoi(f[1])
	return parent
}

// pids reads one line of process ids.
func pids(t *testing.T, read func() (proc.Line, error)) (out []int) {
	t.Helper()
	l, err := read()
	if err != nil {
		t.Fatalf("no pids: %v", err)
	}
	for _, f := range strings.Fields(string(l.Bytes)) {
		pid, err := strconv.Atoi(f)
		if err != nil {
			t.Fatalf("%q is no list of pids", l.Bytes)
		}
		out = append(out, pid)
	}
	return out
}

// goneWithin wants the processes ended before d has passed, and no zombie of
// them.
func goneWithin(t *testing.T, d time.Duration, pids ...int) {
	t.Helper()
	deadline := time.Now().Add(d)
	for _, pid := range pids {
		if !exits(pid, time.Until(deadline)) {
			t.Errorf("process %d outlives %s: %s", pid, d, below(parentOf(t, pid))[pid])
		}
	}
}

// absent wants the processes reaped, too.
func absent(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		if f := stat(fmt.Sprintf("/proc/%d", pid)); f != nil {
			t.Errorf("process %d is still there, in state %s", pid, f[0])
		}
	}
}

func exits(pid int, within time.Duration) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return errors.Is(err, unix.ESRCH)
	}
	defer func() { _ = unix.Close(fd) }()
	for deadline := time.Now().Add(within); ; {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, max(0, int(time.Until(deadline).Milliseconds())))
		if !errors.Is(err, unix.EINTR) {
			return err == nil && n > 0
		}
	}
}

// ended waits for the agent's exit.
func ended(t *testing.T, p *proc.Process) proc.Exit {
	t.Helper()
	over := time.NewTimer(20 * time.Second)
	defer over.Stop()
	select {
	case <-p.Done():
		return p.Exit()
	case <-over.C:
		t.Fatal("the agent does not exit")
		return proc.Exit{}
	}
}

func isFailure(t *testing.T, err error, code wire.Code, words string) {
	t.Helper()
	var f *wire.Failure
	if !errors.As(err, &f) || f.Code != code || !strings.Contains(f.Message, words) {
		t.Fatalf("got %v, want %s with %q", err, code, words)
	}
}

func signals(all []wire.Process) map[int]string {
	out := map[int]string{}
	for _, p := range all {
		out[p.PID] = p.Signal
	}
	return out
}
