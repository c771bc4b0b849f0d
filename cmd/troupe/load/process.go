package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// process is a server that the tool has started: its own binary, with a data folder
// and a configuration of its own.
type process struct {
	cmd    *exec.Cmd
	addr   string // host:port
	stdin  io.WriteCloser
	folder string
	log    string
}

// Bounds of a server's start and stop.
const (
	startBound = 30 * time.Second
	stopBound  = 30 * time.Second
)

// startServer starts `troupe serve` on a free port.
func startServer(ctx context.Context, self Self) (*process, error) {
	return start(ctx, self, func(folder string) ([]string, error) {
		config := filepath.Join(folder, "troupe.yaml")
		if err := os.WriteFile(config, []byte("default: "+agent+"\n"), 0o600); err != nil {
			return nil, err
		}
		return []string{
			"serve", "--listen", "127.0.0.1:0", "--log-level", "warn",
			"--data", filepath.Join(folder, "data"), "--config", config,
		}, nil
	})
}

// start runs the binary with args and reads the line that says where it serves.
func start(ctx context.Context, self Self, args func(folder string) ([]string, error)) (_ *process, err error) {
	folder, err := os.MkdirTemp("", "troupe-load-")
	if err != nil {
		return nil, err
	}
	p := &process{folder: folder, log: filepath.Join(folder, "stderr")}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(folder)
		}
	}()
	argv, err := args(folder)
	if err != nil {
		return nil, err
	}
	p.cmd = exec.Command(self.Path, argv...)
	p.cmd.Env = self.Env
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the tool, which stops it
	stderr, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	p.cmd.Stderr = stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := firstLine(ctx, stdout)
	_, url, ok := strings.Cut(line, "serving http://")
	if err != nil || !ok {
		said := p.said()
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		return nil, fmt.Errorf("%s did not start: %w; it said %q %s", argv[0], errors.Join(err, ctx.Err()), line, said)
	}
	p.addr = strings.TrimSpace(url)
	return p, nil
}

func firstLine(ctx context.Context, r io.ReadCloser) (string, error) {
	type result struct {
		line string
		err  error
	}
	got := make(chan result, 1)
	var reading errgroup.Group // it ends with the process at the latest
	reading.Go(func() error {
		line, err := bufio.NewReader(r).ReadString('\n')
		got <- result{line, err}
		return nil
	})
	late := time.NewTimer(startBound)
	defer late.Stop()
	select {
	case g := <-got:
		return g.line, g.err
	case <-late.C:
		return "", errors.New("nothing within its bound")
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// said is the end of what it wrote to stderr.
func (p *process) said() string {
	b, err := os.ReadFile(p.log)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b[max(0, len(b)-2048):]))
}

// stop ends it with SIGTERM, and what does not end with SIGKILL.
func (p *process) stop() error {
	defer os.RemoveAll(p.folder)
	_ = p.stdin.Close()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(stopBound, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("the server did not stop in order: %w; it said %s", err, p.said())
	}
	return nil
}
