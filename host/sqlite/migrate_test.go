package sqlite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/host/sqlite"
	"github.com/troupe-run/troupe/wire"
)

// TestOldFormatsAreRead makes a folder of each format from the statements in
// testdata, which never change, opens it, and wants everything in it.
func TestOldFormatsAreRead(t *testing.T) {
	files, err := filepath.Glob("testdata/v*.sql")
	if err != nil || len(files) != sqlite.Format {
		t.Fatalf("%d formats have a file, there are %d: %v", len(files), sqlite.Format, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			raw(t, dir, string(text))
			j := open(t, dir, sqlite.Options{})
			id, child := wire.ThreadID{Type: "a", ID: "x"}, wire.ThreadID{Type: "a", ID: "child"}
			o, err := j.Open(t.Context(), id)
			s := o.Row.Summary
			if err != nil || !o.Exists || s.Title != "A Title" || s.HeadSeq != 2 || s.Status != wire.StatusIdle || s.Tags["k"] != "v" || string(o.Row.State) != "state" {
				t.Fatalf("opened %+v: %v", o, err)
			}
			if len(o.Wakes) != 1 || o.Wakes[0].MessageID != "m1" || o.Wakes[0].Text != "hello" || o.Wakes[0].Kind != "prompt" ||
				string(o.Wakes[0].Data) != "data" || o.Wakes[0].Images[0].Data != "AAEC" || o.Wakes[0].Admission != wire.AdmitEnqueued {
				t.Errorf("wakes: %+v", o.Wakes)
			}
			gapless(t, j, id, 2)
			if e, ok, err := j.LatestSnapshot(t.Context(), id); err != nil || !ok || e.Seq != 1 || string(e.Payload) != "one" {
				t.Errorf("snapshot: %+v %v %v", e, ok, err)
			}
			if r, ok, err := j.Receipt(t.Context(), "key"); err != nil || !ok || string(r.Answer) != "answer" {
				t.Errorf("receipt: %+v %v %v", r, ok, err)
			}
			if c, err := j.Open(t.Context(), child); err != nil || c.Exists || len(c.Wakes) != 1 {
				t.Errorf("a thread to come: %+v %v", c, err)
			}
			rows, _, err := j.Query(t.Context(), wire.ThreadQuery{Q: "a tit", Type: "a"})
			if err != nil || len(rows) != 1 {
				t.Errorf("catalog: %v %v", rows, err)
			}
			b := batch(id, o.Epoch, 3, 10)
			b.Take = []string{"m1"}
			if err := commit(j, b); err != nil {
				t.Fatal(err)
			}
			if err := j.Check(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestMigrations run once each, in order; one that fails leaves the format before it.
func TestMigrations(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, sqlite.Options{})
	fill(t, j, 3)
	_ = j.Close()

	const second = "ALTER TABLE meta ADD COLUMN extra INTEGER"
	if _, err := sqlite.OpenWith(dir, second, "CREATE TABLE half (a); INSERT INTO nowhere VALUES (1)"); err == nil || !strings.Contains(err.Error(), "migration to format 3") {
		t.Fatalf("a migration that fails: %v", err)
	}
	refuses(t, dir, sqlite.ErrNewer, "its format is 2")
	for range 2 {
		j, err := sqlite.OpenWith(dir, second, "CREATE TABLE half (a)")
		if err != nil {
			t.Fatal(err)
		}
		gapless(t, j, wire.ThreadID{Type: "a", ID: "x"}, 2)
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

var _ host.Journal = (*sqlite.Journal)(nil)
