package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/host/hosttest"
	"github.com/troupe-run/troupe/host/sqlite"
	"github.com/troupe-run/troupe/wire"
)

func TestReopening(t *testing.T) {
	hosttest.RunReopening(t, func(t *testing.T) func(hosttest.JournalSettings) host.Journal {
		dir := filepath.Join(t.TempDir(), "a folder?with #odd%20 name")
		return func(s hosttest.JournalSettings) host.Journal {
			return open(t, dir, sqlite.Options{Now: s.Now, MaxDeltas: s.MaxDeltas})
		}
	})
}

// refuses wants Open to refuse the folder for want, in words that hold text, and
// to leave no lock behind.
func refuses(t *testing.T, dir string, want error, text string) {
	t.Helper()
	j, err := sqlite.Open(dir, sqlite.Options{})
	if err == nil {
		_ = j.Close()
		t.Error("the folder was opened")
		return
	}
	if !errors.Is(err, want) || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), dir) {
		t.Errorf("refused with %q, want %q and %q", err, want, text)
	}
}

func TestLockedFolder(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, sqlite.Options{})
	refuses(t, dir, sqlite.ErrLocked, fmt.Sprintf("process %d", os.Getpid()))
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	// The file stays, and blocks nobody: its lock went with its holder.
	if err := os.WriteFile(filepath.Join(dir, "lock"), []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := open(t, dir, sqlite.Options{}).Close(); err != nil {
		t.Fatal(err)
	}
}

// raw runs statements on a closed folder's journal.
func raw(t *testing.T, dir, text string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "journal.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(text); err != nil {
		t.Fatal(err)
	}
}

func TestNewerFormatIsRefused(t *testing.T) {
	dir := t.TempDir()
	_ = open(t, dir, sqlite.Options{}).Close()
	raw(t, dir, "PRAGMA user_version = 99")
	refuses(t, dir, sqlite.ErrNewer, "its format is 99")
	raw(t, dir, fmt.Sprintf("PRAGMA user_version = %d", sqlite.Format))
	_ = open(t, dir, sqlite.Options{}).Close()
}

func TestForeignFilesAreRefused(t *testing.T) {
	other := t.TempDir()
	raw(t, other, "CREATE TABLE notes (text)")
	refuses(t, other, sqlite.ErrDamaged, "another program's")

	garbage := t.TempDir()
	if err := os.WriteFile(filepath.Join(garbage, "journal.sqlite"), bytes.Repeat([]byte("no database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	refuses(t, garbage, sqlite.ErrDamaged, "not a database")
}

func TestLostPagesAreRefused(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, sqlite.Options{})
	fill(t, j, 20)
	_ = j.Close()
	file := filepath.Join(dir, "journal.sqlite")
	s, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, s.Size()-4096); err != nil {
		t.Fatal(err)
	}
	refuses(t, dir, sqlite.ErrDamaged, "damaged")
}

// TestTornTailIsRefused after a process that did not close: the newest events are
// looked at.
func TestTornTailIsRefused(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, sqlite.Options{})
	fill(t, j, 20)
	_ = j.Close()
	raw(t, dir, "UPDATE meta SET clean = 0")
	j = open(t, dir, sqlite.Options{})
	if err := j.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	_ = j.Close()
	raw(t, dir, "UPDATE meta SET clean = 0; DELETE FROM events WHERE n = (SELECT max(n) - 1 FROM events)")
	refuses(t, dir, sqlite.ErrDamaged, "no predecessor")

	raw(t, dir, "UPDATE meta SET clean = 1") // then only the whole check finds it
	if err := open(t, dir, sqlite.Options{}).Check(t.Context()); !errors.Is(err, sqlite.ErrDamaged) {
		t.Fatalf("the check says %v", err)
	}
}

// TestUnreadableDeltasAreThrownAway, and the journal is opened.
func TestUnreadableDeltasAreThrownAway(t *testing.T) {
	dir := t.TempDir()
	_ = open(t, dir, sqlite.Options{}).Close()
	if err := os.WriteFile(filepath.Join(dir, "deltas.sqlite"), bytes.Repeat([]byte("no database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	j := open(t, dir, sqlite.Options{})
	j.AppendDeltas(wire.ThreadID{Type: "a", ID: "x"}, []host.Delta{{Pos: 1}})
	n := 0
	if err := j.ReadDeltas(t.Context(), wire.ThreadID{Type: "a", ID: "x"}, 0, func(host.Delta) bool { n++; return true }); err != nil || n != 1 {
		t.Fatalf("%d deltas, %v", n, err)
	}
}

// fill commits n events of 2 KiB, one by one, to one thread.
func fill(t testing.TB, j host.Journal, n int) {
	t.Helper()
	id := wire.ThreadID{Type: "a", ID: "x"}
	o, err := j.Open(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for seq := range int64(n) {
		if err := commit(j, batch(id, o.Epoch, seq, 2048)); err != nil {
			t.Fatal(err)
		}
	}
}

func batch(id wire.ThreadID, epoch uint64, seq int64, size int) host.Batch {
	return host.Batch{
		Thread: id, Epoch: epoch, Expected: seq - 1,
		Row:    &host.Row{Summary: wire.Summary{ID: id.String(), Type: id.Type, Status: wire.StatusIdle, HeadSeq: seq}},
		Events: []host.Event{{Seq: seq, Type: "message", Payload: make([]byte, size)}},
	}
}

func commit(j host.Journal, b host.Batch) error {
	done := make(chan error, 1)
	j.Commit(b, func(err error) { done <- err })
	return <-done
}

// sqlite3 is there on a machine that has the command: the files are SQLite's own.
func TestFilesAreSQLite(t *testing.T) {
	shell, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("no sqlite3 on PATH")
	}
	dir := t.TempDir()
	j := open(t, dir, sqlite.Options{})
	fill(t, j, 5)
	_ = j.Close()
	out, err := exec.Command(shell, filepath.Join(dir, "journal.sqlite"), "PRAGMA integrity_check; SELECT count(*) FROM events").CombinedOutput()
	if err != nil || string(out) != "ok\n5\n" {
		t.Fatalf("%s %v", out, err)
	}
}
