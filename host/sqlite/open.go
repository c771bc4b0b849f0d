package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
)

// Options are the bounds of a journal. The zero value is a good one.
type Options struct {
	// MaxPending is how many bytes may be accepted and not yet written, and
	// MaxEntries how many commits and opens. A commit over either is refused with
	// limit-reached, so that it never blocks its actor. 0 is the default.
	MaxPending, MaxEntries int
	// Readers is how many connections read, 0 is DefaultReaders. A read holds one
	// for a chunk, never while its caller takes the events in.
	Readers int
	// MaxDeltas is how many bytes of deltas are kept per thread, and
	// MaxPendingDeltas how many may wait to be written. 0 is the default.
	MaxDeltas, MaxPendingDeltas int
	// SweepEvery is how often what has expired is looked for; 0 is a minute.
	SweepEvery time.Duration
	// Now is the clock of what expires; nil is time.Now.
	Now func() time.Time
	// Go starts the journal's goroutines; nil is a plain go statement.
	Go func(name string, fn func())

	// maxFences is how many writers' fences are held in memory.
	maxFences int
	// before is called on the committer's goroutine with its connection, before each
	// transaction.
	before func(*sql.Conn)
}

// The defaults of Options.
const (
	DefaultMaxPending       = 64 << 20
	DefaultMaxEntries       = 64 << 10
	DefaultReaders          = 4
	DefaultMaxDeltas        = 4 << 20
	DefaultMaxPendingDeltas = 4 << 20
	DefaultSweepEvery       = time.Minute
	defaultMaxFences        = 64 << 10
)

// The files of the folder, beside the lock.
const (
	journalName = "journal.sqlite"
	deltasName  = "deltas.sqlite"
)

// checkpointPages is how long the write-ahead log grows before its pages move to
// the file, in pages of 4 KiB: 16 MiB. It bounds the recovery of a killed host.
const checkpointPages = 4096

func (o *Options) complete() {
	set := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	set(&o.MaxPending, DefaultMaxPending)
	set(&o.MaxEntries, DefaultMaxEntries)
	set(&o.Readers, DefaultReaders)
	set(&o.MaxDeltas, DefaultMaxDeltas)
	set(&o.MaxPendingDeltas, DefaultMaxPendingDeltas)
	set(&o.maxFences, defaultMaxFences)
	if o.SweepEvery <= 0 {
		o.SweepEvery = DefaultSweepEvery
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Go == nil {
		o.Go = func(_ string, fn func()) { go fn() }
	}
}

// Open takes the folder, which it makes where there is none, for this process,
// and brings its format up to date. It does no work per thread. Its errors wrap
// ErrLocked, ErrReadOnly, ErrNewer, ErrDamaged or ErrFull where they are one.
func Open(dir string, o Options) (*Journal, error) {
	j, err := open(dir, o, migrations)
	if err != nil {
		return nil, fmt.Errorf("journal %s: %w", dir, folder(dir).refusal(err))
	}
	return j, nil
}

func open(dir string, o Options, steps []string) (_ *Journal, err error) {
	o.complete()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	j := &Journal{
		folder: folder(dir), opts: o,
		wake: make(chan struct{}, 1), stopped: make(chan struct{}), turns: make(chan struct{}, o.Readers),
	}
	defer func() {
		if err != nil {
			_ = j.release()
		}
	}()
	if j.lock, err = lock(dir); err != nil {
		return nil, err
	}
	// fdatasync writes all that a commit needs to be read back, and half as much
	// beside. Where the system has none, the full sync stays.
	_, _ = sqlite.Fdatasync(true)

	ctx := context.Background()
	file := filepath.Join(dir, journalName)
	_, missing := os.Stat(file)
	if j.writing, err = openWriter(ctx, file, "FULL"); err != nil {
		return nil, err
	}
	if err := migrate(ctx, j.writing.conn, steps); err != nil {
		return nil, err
	}
	if errors.Is(missing, os.ErrNotExist) {
		// The file's name is durable once its folder is, and the folder's likewise.
		if err := errors.Join(syncDir(dir), syncDir(filepath.Dir(filepath.Clean(dir)))); err != nil {
			return nil, err
		}
	}
	c := &committer{j: j, conn: j.writing.conn, fences: newFences()}
	if err := c.begin(ctx, file); err != nil {
		return nil, err
	}
	if err := j.prepareReads(file); err != nil {
		return nil, err
	}
	if j.deltas, err = openDeltas(ctx, j); err != nil {
		return nil, err
	}
	o.Go("journal", c.run)
	o.Go("journal deltas", j.deltas.run)
	return j, nil
}

// writer is a connection that writes, and the only one of its pool.
type writer struct {
	db   *sql.DB
	conn *sql.Conn
}

func openWriter(ctx context.Context, file, synchronous string) (w writer, err error) {
	if w.db, err = sql.Open("sqlite", writerSource(file, synchronous)); err != nil {
		return w, err
	}
	w.db.SetMaxOpenConns(1)
	if w.conn, err = w.db.Conn(ctx); err != nil {
		_ = w.db.Close()
		return writer{}, err
	}
	return w, nil
}

func writerSource(file, synchronous string) string {
	return source(file,
		"busy_timeout(5000)", "journal_mode(WAL)", "synchronous("+synchronous+")", "fullfsync(1)", "checkpoint_fullfsync(1)",
		fmt.Sprintf("wal_autocheckpoint(%d)", checkpointPages), fmt.Sprintf("journal_size_limit(%d)", 4*checkpointPages*4096),
		"cache_size(-16384)", "temp_store(MEMORY)", "trusted_schema(0)")
}

func (w writer) close() error {
	if w.db == nil {
		return nil
	}
	return errors.Join(w.conn.Close(), w.db.Close())
}

// openReaders is a pool of connections that cannot write.
func openReaders(file string, n int) (*sql.DB, error) {
	db, err := sql.Open("sqlite", source(file, "busy_timeout(5000)", "query_only(1)", "cache_size(-4096)", "temp_store(MEMORY)", "trusted_schema(0)"))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

func source(file string, pragmas ...string) string {
	u := url.URL{Path: file}
	q := url.Values{"_pragma": pragmas}
	return "file:" + u.EscapedPath() + "?" + q.Encode()
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
