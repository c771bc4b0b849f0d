package api

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/troupe-run/troupe/wire"
)

// receipts replays the first result of a POST to whoever repeats its
// Idempotency-Key, for 24 h. It is bounded by count and by bytes, the oldest going
// first, and does not outlive the process: what must is derived from the key (see
// [messageIDOf]).
type receipts struct {
	mu       sync.Mutex
	byKey    map[digest]*receipt
	finished *list.List // of *receipt, the oldest first
	bytes    int
}

type digest = [sha256.Size]byte

type receipt struct {
	key    digest
	body   digest        // of the request
	done   chan struct{} // closed once result or abandoned is set
	result rendered
	at     time.Time
	failed bool // not kept: the next with this key runs
}

func newReceipts() *receipts {
	return &receipts{byKey: map[digest]*receipt{}, finished: list.New()}
}

// do runs fn, or replays what it gave for the same scope and key. The same key
// with another body is refused with code invalid. While the first is under way the
// others wait for it, until ctx ends: code timeout.
func (r *receipts) do(ctx context.Context, scope, key string, body []byte, fn func() rendered) (rendered, error) {
	id, print := sha256.Sum256([]byte(scope+"\x00"+key)), sha256.Sum256(body)
	for {
		e, mine := r.claim(id, print)
		if mine {
			return r.run(e, fn), nil
		}
		if e.body != print {
			return rendered{}, wire.Errorf(wire.CodeInvalid, "this Idempotency-Key was used with another body")
		}
		select {
		case <-e.done:
		case <-ctx.Done():
			return rendered{}, wire.Errorf(wire.CodeTimeout, "the first request with this Idempotency-Key is still under way")
		}
		if !e.failed {
			out := e.result
			out.replayed = true
			return out, nil
		}
	}
}

func (r *receipts) claim(id, print digest) (e *receipt, mine bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for front := r.finished.Front(); front != nil && time.Since(front.Value.(*receipt).at) >= receiptLife; front = r.finished.Front() {
		r.drop(front)
	}
	if e, ok := r.byKey[id]; ok {
		return e, false
	}
	e = &receipt{key: id, body: print, done: make(chan struct{})}
	r.byKey[id] = e
	return e, true
}

// run settles e also when fn panics.
func (r *receipts) run(e *receipt, fn func() rendered) (out rendered) {
	e.failed = true
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		close(e.done)
		if e.failed {
			delete(r.byKey, e.key)
			return
		}
		e.at = time.Now()
		r.finished.PushBack(e)
		r.bytes += len(e.result.body)
		for r.finished.Len() > maxReceipts || r.bytes > maxReceiptMem {
			r.drop(r.finished.Front())
		}
	}()
	out = fn()
	e.result, e.failed = out, !keeps(out.status)
	return out
}

func (r *receipts) drop(el *list.Element) {
	e := r.finished.Remove(el).(*receipt)
	r.bytes -= len(e.result.body)
	delete(r.byKey, e.key)
}

// keeps says whether a result is final: what asks to be tried again is not.
func keeps(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusTooManyRequests:
		return false
	}
	return status < http.StatusInternalServerError
}

// validKey says whether key can be an Idempotency-Key: 1 to 255 visible ASCII
// characters.
func validKey(key string) bool {
	return len(key) > 0 && len(key) <= maxKey && strings.IndexFunc(key, func(r rune) bool { return r < '!' || r > '~' }) < 0
}

// messageIDOf makes an Idempotency-Key the id of the prompt it came with, so that
// the thread's own record knows a repeated prompt when this process no longer
// does. The thread's bare id goes in: its two spellings are one thread.
func messageIDOf(key, threadID string) string {
	_, own, full := strings.Cut(threadID, ".")
	if !full {
		own = threadID
	}
	sum := sha256.Sum256([]byte(own + "\x00" + key))
	return "key-" + hex.EncodeToString(sum[:13])
}
