package proc

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func selfPath() (string, error) { return os.Executable() }

// adopt does nothing: there is no subreaper here. Descendants are found by
// walking the tree, and one that left it between two looks is not.
func adopt() error { return nil }

const adopts = false

func seal() {
	unix.CloseOnExec(ordersFD)
	unix.CloseOnExec(wordsFD)
}

// zombieState is SZOMB of the kernel's proc.h.
const zombieState = 5

// census is every process of the machine. The kernel says no session here.
func census() []resident {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	out := make([]resident, 0, len(all))
	for i := range all {
		p := &all[i]
		out = append(out, resident{
			pid: int(p.Proc.P_pid), ppid: int(p.Eproc.Ppid), pgid: int(p.Eproc.Pgid),
			start:  uint64(p.Proc.P_starttime.Sec)*1e6 + uint64(p.Proc.P_starttime.Usec),
			zombie: p.Proc.P_stat == zombieState,
		})
	}
	return out
}

func send(p resident, sig syscall.Signal) error { return syscall.Kill(p.pid, sig) }

func commandOf(pid int) []byte {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return nil
	}
	name := p.Proc.P_comm[:]
	if i := bytes.IndexByte(name, 0); i >= 0 {
		name = name[:i]
	}
	return bytes.Clone(name)
}

// bears is not known here.
func bears(int, string) bool { return false }

func signalName(sig syscall.Signal) string {
	if name := unix.SignalName(sig); name != "" {
		return strings.TrimPrefix(name, "SIG")
	}
	return strconv.Itoa(int(sig))
}

func replace(from, fd int) error { return syscall.Dup2(from, fd) }
