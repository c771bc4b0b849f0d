package hosttest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// trapped starts a session whose shell ignores every polite signal, and returns
// once that shell has told its pid.
func (g *stage) trapped() (pid int, a *actor, run uint64) {
	g.t.Helper()
	dir := g.t.TempDir()
	fifo, script := filepath.Join(dir, "pid"), filepath.Join(dir, "trapped.sh")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		g.t.Skipf("no named pipes here: %v", err)
	}
	body := fmt.Sprintf("trap '' TERM INT HUP QUIT\necho $$ > %s\nsleep 301\nsleep 302\n", fifo)
	if err := os.WriteFile(script, []byte(body), 0o600); err != nil {
		g.t.Fatal(err)
	}
	text := g.shell("sh " + script)
	// Open for both, so that opening waits for nobody and reading has a deadline.
	told, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		g.t.Fatal(err)
	}
	defer func() { _ = told.Close() }()
	_ = told.SetReadDeadline(time.Now().Add(Patience))
	a = g.start("")
	run = a.prompt(text)
	buf := make([]byte, 32)
	n, err := told.Read(buf)
	if err != nil {
		g.t.Fatalf("the shell did not run: %v\n%s", err, a.sink.Story())
	}
	if pid, err = strconv.Atoi(strings.TrimSpace(string(buf[:n]))); err != nil {
		g.t.Fatal(err)
	}
	return pid, a, run
}
