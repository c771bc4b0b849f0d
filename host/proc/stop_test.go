//go:build linux

package proc_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/troupe-run/troupe/host/proc"
)

// untamed is a script whose processes ignore every polite signal and leave the
// agent's group, session and parentage in every way there is. It prints their
// pids once all of them run.
func untamed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	one := func(name string) string { return filepath.Join(dir, name) }
	_ = os.WriteFile(one("leaf"), []byte("trap '' TERM INT HUP; echo $$ > $1.new; mv $1.new $1; sleep 311; sleep 312\n"), 0o600)
	leaf := "sh " + one("leaf") + " "
	return strings.Join([]string{
		"trap '' TERM INT HUP",
		leaf + one("p.child") + " &",
		"setsid " + leaf + one("p.session") + " &",
		"nohup " + leaf + one("p.nohup") + " >/dev/null 2>&1 &",
		"(setsid " + leaf + one("p.double") + " >/dev/null 2>&1 </dev/null & )",
		"(setsid sh -c '(env -i PATH=$PATH " + leaf + one("p.bare") + " &)' & )",
		"for p in child session nohup double bare; do until [ -s " + dir + "/p.$p ]; do sleep 0.01; done; done",
		"echo $$ $(cat " + dir + "/p.*)",
		"sleep 313",
		"sleep 314",
	}, "\n")
}

const untamedCount = 6

func TestPoliteAgentEndsAtTERM(t *testing.T) {
	p := started(t, "echo $$; exec sleep 300")
	all := pids(t, p.ReadLine)
	if all[0] != p.PID() {
		t.Errorf("PID is %d, want %d", p.PID(), all[0])
	}
	got := signals(p.Stop(time.Minute))
	if len(got) != 1 || got[p.PID()] != "TERM" {
		t.Errorf("stopped %v", got)
	}
	if e := ended(t, p); e != (proc.Exit{Code: -1, Signal: "TERM"}) {
		t.Errorf("exit is %+v", e)
	}
	absent(t, all...)
}

func TestTrappedShellIsKilledAfterTheGrace(t *testing.T) {
	p := started(t, "trap 'echo asked' TERM; echo $$; while :; do sleep 0.05; done")
	all := pids(t, p.ReadLine)
	const grace = 300 * time.Millisecond
	before := time.Now()
	got := signals(p.Stop(grace))
	if took := time.Since(before); took < grace || took > grace+2*time.Second {
		t.Errorf("stopping took %s", took)
	}
	if got[p.PID()] != "KILL" {
		t.Errorf("stopped %v", got)
	}
	absent(t, all...)
	if l, err := p.ReadLine(); err != nil || string(l.Bytes) != "asked" {
		t.Errorf("it was not asked first: %q %v", l.Bytes, err)
	}
}

func TestNoDescendantEscapes(t *testing.T) {
	p := started(t, untamed(t))
	all := pids(t, p.ReadLine)
	if len(all) != untamedCount {
		t.Fatalf("pids: %v", all)
	}
	got := signals(p.Stop(100 * time.Millisecond))
	absent(t, all...)
	for _, pid := range all {
		if got[pid] != "KILL" {
			t.Errorf("process %d took %q", pid, got[pid])
		}
	}
}

func TestStoppedProcessTakesItsTERM(t *testing.T) {
	p := started(t, "trap 'exit 5' TERM; echo $$; kill -STOP $$; while :; do sleep 0.05; done")
	pids(t, p.ReadLine)
	p.Stop(20 * time.Second)
	if e := ended(t, p); e.Code != 5 {
		t.Errorf("exit is %+v", e)
	}
}

// TestForkingAgentIsEnded: what forks without pause, and even hops from session to
// session, ends too.
func TestForkingAgentIsEnded(t *testing.T) {
	hop := filepath.Join(t.TempDir(), "hop")
	if err := os.WriteFile(hop, []byte("trap '' TERM; sleep 0.01; setsid sh $0 & exit\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, script := range map[string]string{
		"storm": "trap '' TERM; echo $$; while :; do sleep 0.4 & sleep 0.002; done",
		"chain": "trap '' TERM; f() { sleep 0.003; (f) & }; f; echo $$; sleep 300",
		"hops":  "sh " + hop + "; echo $$; sleep 300",
	} {
		t.Run(name, func(t *testing.T) {
			p := started(t, script)
			pids(t, p.ReadLine)
			before := time.Now()
			if left := p.Stop(200 * time.Millisecond); len(left) == 0 {
				t.Error("nothing was stopped")
			}
			if took := time.Since(before); took > 3*time.Second {
				t.Errorf("stopping took %s", took)
			}
		})
	}
}

func TestKilledReaperLeavesNothing(t *testing.T) {
	p := started(t, untamed(t))
	all := pids(t, p.ReadLine)
	if err := syscall.Kill(parentOf(t, p.PID()), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// The bare one has neither session nor mark nor parent of ours: README.md
	// states it as the limit. The test ends it.
	bare := bareOf(t, all)
	goneWithin(t, 3*time.Second, without(all, bare)...)
	if e := ended(t, p); e.Code != -1 {
		t.Errorf("exit is %+v", e)
	}
	got := signals(p.Kill())
	for _, pid := range without(all, bare) {
		if got[pid] != "KILL" {
			t.Errorf("process %d took %q", pid, got[pid])
		}
	}
	_ = syscall.Kill(bare, syscall.SIGKILL)
	_ = syscall.Kill(-bare, syscall.SIGKILL)
}

// bareOf is the process whose environment was emptied.
func bareOf(t *testing.T, all []int) int {
	t.Helper()
	for _, pid := range all {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err == nil && !strings.Contains(string(b), "HOME=") {
			return pid
		}
	}
	t.Fatal("no process with an empty environment")
	return 0
}

func without(all []int, one int) (out []int) {
	for _, pid := range all {
		if pid != one {
			out = append(out, pid)
		}
	}
	return out
}

func TestReaperAskedToEndEndsTheTree(t *testing.T) {
	p := started(t, "trap '' TERM; echo $$; sleep 300; sleep 301", func(c *proc.Command) { c.Grace = 100 * time.Millisecond })
	all := pids(t, p.ReadLine)
	if err := syscall.Kill(parentOf(t, p.PID()), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ended(t, p)
	goneWithin(t, 2*time.Second, all...)
}

func TestReaperThatDoesNotAnswerIsReplaced(t *testing.T) {
	if testing.Short() {
		t.Skip("waits out the reaper's bound of five seconds")
	}
	p := started(t, "trap '' TERM; echo $$; sleep 300; sleep 301")
	all := pids(t, p.ReadLine)
	if err := syscall.Kill(parentOf(t, p.PID()), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	p.Kill()
	goneWithin(t, 0, all...)
}

// TestKilledHostLeavesNothing: the reaper is the one that is left to notice.
func TestKilledHostLeavesNothing(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	host, err := os.StartProcess(self, []string{"host"}, &os.ProcAttr{
		Files: []*os.File{nil, in, os.Stderr},
		Env:   append(os.Environ(), asHost+"="+untamed(t)),
	})
	_ = in.Close()
	if err != nil {
		t.Fatal(err)
	}
	_ = out.SetReadDeadline(time.Now().Add(20 * time.Second))
	told := bufio.NewScanner(out)
	all := pids(t, func() (proc.Line, error) {
		told.Scan()
		return proc.Line{Bytes: told.Bytes()}, told.Err()
	})
	if len(all) != untamedCount {
		t.Errorf("pids: %v", all)
	}
	all = append(all, parentOf(t, all[0]))
	if err := host.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = host.Wait()
	goneWithin(t, 2*time.Second, all...)
}

func TestKilledAgentLeavesNothing(t *testing.T) {
	p := started(t, untamed(t), func(c *proc.Command) { c.Grace = 200 * time.Millisecond })
	all := pids(t, p.ReadLine)
	if err := syscall.Kill(p.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if e := ended(t, p); e != (proc.Exit{Code: -1, Signal: "KILL"}) {
		t.Errorf("exit is %+v", e)
	}
	goneWithin(t, 2*time.Second, all...)
}

func TestLeftoversOfAnExitAreEnded(t *testing.T) {
	p := started(t, "nohup sleep 300 >/dev/null 2>&1 & setsid sleep 301 & echo $!; exit 4")
	all := pids(t, p.ReadLine)
	if e := ended(t, p); e.Code != 4 {
		t.Errorf("exit is %+v", e)
	}
	if _, err := p.ReadLine(); err == nil {
		t.Error("more than one line")
	}
	goneWithin(t, 2*time.Second, all...)
	got := signals(p.Kill()) // told afterwards, too
	if len(got) != 2 || got[all[0]] != "TERM" {
		t.Errorf("ended %v", got)
	}
}

func TestStopIsIdempotentAndTheShortestGraceHolds(t *testing.T) {
	p := started(t, "trap '' TERM; echo $$; sleep 300; sleep 301")
	pids(t, p.ReadLine)
	before := time.Now()
	var all sync.WaitGroup
	for _, grace := range []time.Duration{time.Hour, time.Minute, 100 * time.Millisecond, time.Hour} {
		all.Go(func() {
			if got := signals(p.Stop(grace)); got[p.PID()] != "KILL" {
				t.Errorf("stopped %v", got)
			}
		})
	}
	all.Go(func() { _ = p.Close() })
	all.Wait()
	if took := time.Since(before); took > 3*time.Second {
		t.Errorf("stopping took %s", took)
	}
	if got := signals(p.Kill()); got[p.PID()] != "KILL" {
		t.Errorf("killed again: %v", got)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// TestStartIsCutShort at any moment, and leaves nothing.
func TestStartIsCutShort(t *testing.T) {
	check := nothingLeft(t)
	cut := 0
	for i := range 40 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*700*time.Microsecond)
		p, err := proc.Start(ctx, proc.Command{Args: []string{"sh", "-c", "trap '' TERM; setsid sleep 300 & sleep 301"}, Env: proc.Environment(nil)})
		cancel()
		if err != nil {
			cut++
			isFailure(t, err, "start-failed", "sh")
			continue
		}
		p.Kill()
		_ = p.Close()
	}
	if cut == 0 {
		t.Error("no start was cut short")
	}
	check()
}

func TestManyCyclesLeaveDescriptorsAndProcessesAsTheyWere(t *testing.T) {
	fds := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	check := nothingLeft(t)
	before := -1
	for i := range 50 {
		p, err := proc.Start(t.Context(), proc.Command{Args: []string{"sh", "-c", "echo $$; sleep 300 & cat"}, Env: proc.Environment(nil)})
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			pids(t, p.ReadLine)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if before < 0 {
			before = fds() // the poller's own come with the first
		}
	}
	if after := fds(); after != before {
		t.Errorf("%d descriptors, %d after the first cycle", after, before)
	}
	check()
}
