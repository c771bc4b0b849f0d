package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/troupe-run/troupe/wire"
)

const (
	// maxEvent bounds one event, in bytes. A snapshot carries a whole transcript.
	maxEvent = maxAnswer
	// silence ends a stream that lost its heartbeats, which come every 15 s.
	silence = 45 * time.Second
)

var errEventTooLarge = fmt.Errorf("an event of the server is over %d bytes", maxEvent)

// events calls yield for the data of each event of an SSE stream, until it ends
// or yield errs. beat is called for everything read, comments too. data is valid
// during the call.
func events(r io.Reader, beat func(), yield func(data []byte) error) error {
	br := bufio.NewReaderSize(r, 64<<10)
	var data, line []byte
	has := false
	for {
		part, err := br.ReadSlice('\n')
		if len(part) > 0 {
			beat()
		}
		if len(line)+len(data)+len(part) > maxEvent {
			return errEventTooLarge
		}
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return err // a line cut short is no event
		}
		text := bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if len(text) == 0 {
			if has {
				if err := yield(data); err != nil {
					return err
				}
			}
			data, has = data[:0], false
		} else if rest, ok := bytes.CutPrefix(text, []byte("data:")); ok {
			if has {
				data = append(data, '\n')
			}
			data, has = append(data, bytes.TrimPrefix(rest, []byte(" "))...), true
		}
		line = line[:0]
	}
}

// yieldError keeps what a follow's reader said apart from the network's errors.
type yieldError struct{ error }

// follow reads one follow of the thread, until it ends or yield errs.
func (c *client) follow(ctx context.Context, id string, partials bool, yield func(raw []byte, f wire.Frame) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	path := thread(id, "follow")
	if partials {
		path += "?partials=1"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	res, err := c.send(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	watch := time.AfterFunc(silence, cancel)
	defer watch.Stop()
	return events(res.Body, func() { watch.Reset(silence) }, func(data []byte) error {
		f, err := wire.DecodeFrame(data)
		if err != nil {
			return yieldError{fmt.Errorf("cannot read a frame of the server; are both of one version? %s", wire.AsFailure(err).Message)}
		}
		if err := yield(data, f); err != nil {
			return yieldError{err}
		}
		return nil
	})
}

// Backoff of a follow that lost its server.
const (
	reconnectBase = 250 * time.Millisecond
	reconnectCap  = 10 * time.Second
)

// followForever follows through losses of the server: each reconnect is a new
// snapshot. It ends when ctx does, when yield errs (that error), when the first
// connection fails, and when the server refuses. lost is told of each loss, once.
func (c *client) followForever(ctx context.Context, id string, partials bool, lost func(err error, wait time.Duration), yield func(raw []byte, f wire.Frame) error) error {
	connected, away, wait := false, false, reconnectBase
	for {
		err := c.follow(ctx, id, partials, func(raw []byte, f wire.Frame) error {
			connected, away, wait = true, false, reconnectBase
			return yield(raw, f)
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var own yieldError
		if errors.As(err, &own) {
			return own.error
		}
		if !connected || refusedForGood(err) {
			return err
		}
		pause := wait/2 + rand.N(wait/2+1)
		if !away {
			away = true
			lost(err, pause)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
		wait = min(2*wait, reconnectCap)
	}
}

// refusedForGood says that trying again would be refused again.
func refusedForGood(err error) bool {
	var f *wire.Failure
	if !errors.As(err, &f) {
		return false
	}
	switch f.Code {
	case wire.CodeUnavailable, wire.CodeLimit, wire.CodeTimeout, wire.CodeInternal:
		return false
	}
	return true
}
