package proc

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// selfPath is this executable, even after its file was replaced by a newer one.
func selfPath() (string, error) { return "/proc/self/exe", nil }

// adopt makes this process the parent of every orphan below it.
func adopt() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// adopts says that orphans become children, so that having no child means that
// nothing is left.
const adopts = true

// seal marks every descriptor above stderr close-on-exec, the inherited ones too.
func seal() {
	unix.CloseOnExec(ordersFD)
	unix.CloseOnExec(wordsFD)
	_ = unix.CloseRange(ordersFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
}

// census is every process of the machine.
func census() []resident {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1)
	out := make([]resident, 0, len(names))
	buf := make([]byte, 1024)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if r, ok := status(pid, buf); ok {
				out = append(out, r)
			}
		}
	}
	return out
}

// status reads /proc/<pid>/stat. The name in it may hold anything, brackets too,
// so the fields are counted from the last one.
func status(pid int, buf []byte) (resident, bool) {
	fd, err := syscall.Open("/proc/"+strconv.Itoa(pid)+"/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return resident{}, false
	}
	n, err := syscall.Read(fd, buf)
	_ = syscall.Close(fd)
	if err != nil || n <= 0 {
		return resident{}, false
	}
	i := bytes.LastIndexByte(buf[:n], ')')
	if i < 0 {
		return resident{}, false
	}
	f := strings.Fields(string(buf[i+1 : n]))
	if len(f) < 20 {
		return resident{}, false
	}
	r := resident{pid: pid, zombie: f[0] == "Z" || f[0] == "X"}
	r.ppid, _ = strconv.Atoi(f[1])
	r.pgid, _ = strconv.Atoi(f[2])
	r.sid, _ = strconv.Atoi(f[3])
	r.start, _ = strconv.ParseUint(f[19], 10, 64)
	return r, true
}

// send signals exactly this process, never a later owner of its pid.
func send(p resident, sig syscall.Signal) error {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return syscall.Kill(p.pid, sig)
	}
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if now, ok := status(p.pid, make([]byte, 1024)); !ok || now.start != p.start {
		return unix.ESRCH
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}

// commandOf is a process's command line, or its name.
func commandOf(pid int) []byte {
	dir := "/proc/" + strconv.Itoa(pid)
	b, _ := os.ReadFile(dir + "/cmdline")
	b = bytes.ReplaceAll(bytes.TrimRight(b, "\x00"), []byte{0}, []byte{' '})
	if len(b) == 0 {
		b, _ = os.ReadFile(dir + "/comm")
		b = bytes.TrimSpace(b)
	}
	return wholeRunes(b[:min(len(b), maxCommand)])
}

// bears says that the process was started with this variable in its environment.
func bears(pid int, variable string) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && (bytes.HasPrefix(b, []byte(variable+"\x00")) || bytes.Contains(b, []byte("\x00"+variable+"\x00")))
}

func signalName(sig syscall.Signal) string {
	if name := unix.SignalName(sig); name != "" {
		return strings.TrimPrefix(name, "SIG")
	}
	return strconv.Itoa(int(sig))
}

// replace makes fd what from is, inherited by children.
func replace(from, fd int) error { return syscall.Dup3(from, fd, 0) }
