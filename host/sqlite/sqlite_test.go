package sqlite_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/host/hosttest"
	"github.com/troupe-run/troupe/host/sqlite"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(commitsIn); dir != "" {
		commitForEver(dir)
	}
	goleak.VerifyTestMain(m)
}

func TestContract(t *testing.T) {
	hosttest.RunJournal(t, func(t *testing.T, s hosttest.JournalSettings) host.Journal {
		return open(t, t.TempDir(), sqlite.Options{Now: s.Now, MaxDeltas: s.MaxDeltas})
	})
}

// TestContractWithFewFences has writers' fences leave memory all the time.
func TestContractWithFewFences(t *testing.T) {
	hosttest.RunJournal(t, func(t *testing.T, s hosttest.JournalSettings) host.Journal {
		return open(t, t.TempDir(), sqlite.WithFences(sqlite.Options{Now: s.Now, MaxDeltas: s.MaxDeltas}, 24))
	})
}

func open(t testing.TB, dir string, o sqlite.Options) *sqlite.Journal {
	t.Helper()
	j, err := sqlite.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}
