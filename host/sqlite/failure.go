package sqlite

import (
	"context"
	"errors"
	"os"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/troupe-run/troupe/wire"
)

// What Open refuses a folder for. Test with errors.Is.
var (
	// ErrLocked is a folder that another process serves.
	ErrLocked = errors.New("the data folder is in use")
	// ErrReadOnly is a folder, or a file in it, that cannot be written.
	ErrReadOnly = errors.New("the data folder is read-only")
	// ErrNewer is a folder of a format that a later version of the program made.
	ErrNewer = errors.New("the data folder is of a newer version")
	// ErrDamaged is a folder whose file is none of ours, or has lost pages.
	ErrDamaged = errors.New("the data folder is damaged")
	// ErrFull is a disk without the space to open the journal.
	ErrFull = errors.New("the disk of the data folder is full")
)

// refusal is why Open fails: one of the errors above where it is one.
func (f folder) refusal(err error) error {
	if f.full(err) {
		return errors.Join(ErrFull, err)
	}
	switch primary(err) {
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		return errors.Join(ErrReadOnly, err)
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return errors.Join(ErrDamaged, err)
	}
	if errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return errors.Join(ErrReadOnly, err)
	}
	return err
}

// primary is SQLite's code without its extension; 0 for another's error.
func primary(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// folder is the data folder, as errors need it.
type folder string

// tight is the free space, in bytes, below which a failure to grow a file is put
// down to the disk being full. SQLite grows its shared memory by 32 KiB.
const tight = 64 << 10

// full says whether err is for want of space: SQLite says so of a write, but not
// of a sync, a truncation or its shared memory.
func (f folder) full(err error) bool {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return true
	}
	switch primary(err) {
	case sqlite3.SQLITE_FULL:
		return true
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN:
		n, err := free(string(f))
		return err == nil && n < tight
	}
	return false
}

// failure is why a commit or a read fails, as it crosses the seam. The cause
// stays in the chain for the log.
func (f folder) failure(err error) error {
	if err == nil {
		return nil
	}
	var told *wire.Failure
	switch {
	case errors.As(err, &told):
		return err
	case f.full(err):
		return errors.Join(wire.Errorf(wire.CodeStorageFull, "the disk of the journal is full"), err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return errors.Join(wire.Errorf(wire.CodeTimeout, "the journal was not read to its end"), err)
	case primary(err) == sqlite3.SQLITE_CORRUPT || primary(err) == sqlite3.SQLITE_NOTADB:
		return errors.Join(wire.Errorf(wire.CodeInternal, "the journal is damaged"), err)
	case primary(err) == sqlite3.SQLITE_IOERR:
		return errors.Join(wire.Errorf(wire.CodeUnavailable, "the journal's disk fails"), err)
	}
	return errors.Join(wire.Errorf(wire.CodeInternal, "the journal failed"), err)
}

func errClosed() error { return wire.Errorf(wire.CodeUnavailable, "the journal is closed") }
