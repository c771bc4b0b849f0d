package proc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/troupe-run/troupe/wire"
)

// Line is one line of the agent's stdout without its newline. Bytes is what the
// agent wrote, be it UTF-8 or not, and the caller's to keep. Truncated says that
// the line was longer than MaxLine: Bytes is then its beginning, cut before a
// rune that would have been split. Size is the whole line's, in bytes.
type Line struct {
	Bytes     []byte
	Truncated bool
	Size      int64
}

// Write is WriteContext within half a minute.
func (p *Process) Write(b []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), writeBound)
	defer cancel()
	return p.WriteContext(ctx, b)
}

// WriteContext writes all of b to the agent's stdin, or says with a *wire.Failure
// that it did not: timeout when ctx ended first, unavailable when the agent no
// longer reads. A write that ended half-way leaves the stream unusable, and every
// later one fails.
func (p *Process) WriteContext(ctx context.Context, b []byte) error {
	select {
	case <-p.writing:
	case <-ctx.Done():
		return wire.Errorf(wire.CodeTimeout, "the agent does not read its input")
	}
	defer func() { p.writing <- struct{}{} }()
	if p.cut != nil {
		return p.cut
	}
	if ctx.Err() != nil {
		return wire.Errorf(wire.CodeTimeout, "the agent was not written to: %v", ctx.Err())
	}
	expired := make(chan struct{})
	release := context.AfterFunc(ctx, func() {
		_ = p.stdin.SetWriteDeadline(time.Unix(1, 0))
		close(expired)
	})
	n, err := p.stdin.Write(b)
	if !release() {
		<-expired
		_ = p.stdin.SetWriteDeadline(time.Time{})
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded) && n == 0:
		return wire.Errorf(wire.CodeTimeout, "the agent does not read its input")
	case errors.Is(err, os.ErrDeadlineExceeded):
		p.cut = wire.Errorf(wire.CodeTimeout, "the agent does not read its input: %d of %d bytes were written", n, len(b))
	default:
		p.cut = wire.Errorf(wire.CodeUnavailable, "the agent's input is closed")
	}
	return p.cut
}

// CloseStdin ends the agent's input. It is idempotent; a write under way ends.
func (p *Process) CloseStdin() error {
	if err := p.stdin.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// Stdout is the agent's output, for a reader that wants no lines.
func (p *Process) Stdout() io.Reader { return endOfFile{p.stdout} }

// ReadLine blocks for the next line. The last one needs no newline. The error is
// io.EOF once the output is at its end or the process closed; it ends when the
// agent and all that it left running have.
func (p *Process) ReadLine() (Line, error) { return p.lines.next() }

// lineReader cuts a stream into lines, holding at most max bytes of one.
type lineReader struct {
	from io.Reader
	max  int
	buf  []byte // what was read and not yet handed out
	mem  []byte
	err  error
}

const readSize = 64 << 10

func (l *lineReader) next() (Line, error) {
	var out Line
	for {
		chunk, newline := l.buf, false
		if i := bytes.IndexByte(l.buf, '\n'); i >= 0 {
			chunk, newline = l.buf[:i], true
		}
		out.Bytes = append(out.Bytes, chunk[:min(len(chunk), l.max-len(out.Bytes))]...)
		out.Size += int64(len(chunk))
		if newline {
			l.buf = l.buf[len(chunk)+1:]
			return l.whole(out), nil
		}
		l.buf = nil
		if l.err != nil {
			if out.Size > 0 {
				return l.whole(out), nil
			}
			return Line{}, l.err
		}
		if l.mem == nil {
			l.mem = make([]byte, readSize)
		}
		n, err := l.from.Read(l.mem)
		l.buf = l.mem[:n]
		if err != nil {
			l.err = io.EOF
		}
	}
}

func (l *lineReader) whole(out Line) Line {
	if out.Truncated = out.Size > int64(len(out.Bytes)); out.Truncated {
		out.Bytes = wholeRunes(out.Bytes)
	}
	return out
}

// wholeRunes is b without a rune that was cut at its end. Bytes that begin no
// rune stay.
func wholeRunes(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

// tailSize is how much of stderr is kept, in bytes.
const tailSize = 8 << 10

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	data []byte
	cut  bool
}

// Write never fails.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, b...)
	if over := len(t.data) - tailSize; over > 0 {
		t.data, t.cut = append(t.data[:0], t.data[over:]...), true
	}
	return len(b), nil
}

// String is the tail in whole runes.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.data
	for i := 0; t.cut && i < utf8.UTFMax-1 && len(b) > 0 && !utf8.RuneStart(b[0]); i++ {
		b = b[1:]
	}
	return strings.ToValidUTF8(string(wholeRunes(b)), "\uFFFD")
}

// endOfFile reads a closed file as an ended one.
type endOfFile struct{ file *os.File }

// Read is the file's, its every error io.EOF.
func (e endOfFile) Read(b []byte) (int, error) {
	n, err := e.file.Read(b)
	if err != nil {
		err = io.EOF
	}
	return n, err
}
