package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/troupe-run/troupe/wire"
)

// TestAbortInAShellThatTrapsTERM: dead within the grace, no process left, named in
// the receipt, and the thread takes a prompt.
func TestAbortInAShellThatTrapsTERM(t *testing.T) {
	url, _ := serving(t)
	pidFile := filepath.Join(t.TempDir(), "pid")
	if code, _, e := execute(t, url, "", "prompt", "scripted.a", "sh:trap '' TERM; setsid sleep 300 & echo $$ > "+pidFile+"; while :; do sleep 0.2; done"); code != 0 {
		t.Fatalf("prompt: %q", e)
	}
	pid := pidIn(t, pidFile)
	begin := time.Now()
	code, out, e := execute(t, url, "", "abort", "--json", "scripted.a")
	took := time.Since(begin)
	var r wire.AbortReceipt
	if err := json.Unmarshal([]byte(out), &r); code != 0 || err != nil || !r.Aborted {
		t.Errorf("abort: %d, %q, %q", code, out, e)
	}
	if took > 12*time.Second {
		t.Errorf("it took %v", took)
	}
	gone(t, pid)
	if code, out, e := execute(t, url, "", "prompt", "--wait", "scripted.a", "say:still here"); code != 0 || out != "still here\n" {
		t.Errorf("prompt: %d, %q, %q", code, out, e)
	}
}

// TestServeStopsWith500FollowersOpen, and runs and questions, within its bound.
func TestServeStopsWith500FollowersOpen(t *testing.T) {
	cmd, out, errOut := start(t, "serve", "--listen", "127.0.0.1:0", "--log-level", "warn")
	url := address(t, out, errOut)
	for id, prompt := range map[string]string{"run": "slow:100000", "asks": "ask:confirm Sure?", "hangs": "hang"} {
		if code, _, e := execute(t, url, "", "prompt", "scripted."+id, prompt); code != 0 {
			t.Fatalf("prompt %s: %q", id, e)
		}
	}
	c, err := newClient(url)
	if err != nil {
		t.Fatal(err)
	}
	var opened atomic.Int32
	var wg sync.WaitGroup
	all := make(chan struct{})
	for range 500 {
		wg.Go(func() {
			_ = c.follow(context.Background(), "scripted.run", false, func(_ []byte, f wire.Frame) error {
				if _, first := f.(*wire.Snapshot); first && opened.Add(1) == 500 {
					close(all)
				}
				return nil
			})
		})
	}
	select {
	case <-all:
	case <-time.After(30 * time.Second):
		t.Fatalf("%d follows were opened\n%s", opened.Load(), errOut.String())
	}
	begin := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	if took := time.Since(begin); err != nil || took > 25*time.Second {
		t.Errorf("it ended after %v: %v\n%s", took, err, errOut.String())
	}
	wg.Wait() // every follow has ended
}

// TestInterruptedVerbsSay130, and nothing else.
func TestInterruptedVerbsSay130(t *testing.T) {
	url, _ := serving(t)
	for _, args := range [][]string{{"follow", "scripted.a"}, {"follow", "--json", "scripted.a"}} {
		cmd, out, errOut := start(t, append(args, "--server", url)...)
		if _, err := out.ReadString('\n'); err != nil { // it is at work
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || errOut.String() != "" {
			t.Errorf("%v: exit %d, %q", args, code, errOut.String())
		}
	}
}
