package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/troupe-run/troupe/host/sqlite"
)

// smallDisk mounts a disk of this many bytes, where it may.
func smallDisk(t *testing.T, size int) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		t.Skipf("no disk of its own: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestReadOnlyFolder is one that this thread of the process may not write. root
// may write any, so root's thread becomes another user's for files.
func TestReadOnlyFolder(t *testing.T) {
	dir := t.TempDir()
	_ = open(t, dir, sqlite.Options{}).Close()
	for _, d := range []string{dir, filepath.Join(dir, "new", "folder")} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			if os.Geteuid() == 0 {
				if err := unix.Setfsuid(65534); err != nil {
					t.Error(err)
					return
				}
			}
			if err := os.Chmod(dir, 0o555); err != nil && os.Geteuid() != 0 {
				t.Error(err)
				return
			}
			refuses(t, d, sqlite.ErrReadOnly, "permission denied")
		}()
		<-done
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	_ = open(t, dir, sqlite.Options{}).Close()
}

// TestReadOnlyDisk is one that nobody may write.
func TestReadOnlyDisk(t *testing.T) {
	dir := smallDisk(t, 8<<20)
	_ = open(t, dir, sqlite.Options{}).Close()
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Skipf("no read-only disk: %v", err)
	}
	refuses(t, dir, sqlite.ErrReadOnly, "read-only")
}
