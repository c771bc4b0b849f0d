package actors

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/troupe-run/troupe/wire"
)

// room bounds the bytes of snapshots and histories that are being made or written in
// the whole host. Small ones have a room of their own, and one thread may fill only a
// part of the large one: who does not read a long history keeps no other thread from
// being looked at.
type room struct {
	small, large *semaphore.Weighted
	most         int64
	taken        func(int64) // told of what is taken, and of what is given back as less

	mu      sync.Mutex
	threads map[wire.ThreadID]*threadRoom
}

type threadRoom struct {
	permits *semaphore.Weighted
	users   int
}

const (
	smallSnapshot = 256 << 10
	// largeOfAThread is how many large ones of one thread there are at once.
	largeOfAThread = 3
)

// newRoom is a room of most bytes for large ones, and of a third of it for small ones.
func newRoom(most int64, taken func(int64)) *room {
	return &room{
		small: semaphore.NewWeighted(max(most/3, 1)), large: semaphore.NewWeighted(most), most: most, taken: taken,
		threads: map[wire.ThreadID]*threadRoom{},
	}
}

// take waits for room for a snapshot of about size bytes, until ctx ends.
func (r *room) take(ctx context.Context, id wire.ThreadID, size int64) (give func(), err error) {
	if size <= smallSnapshot {
		n := min(max(size, 1), max(r.most/3, 1))
		if err := r.small.Acquire(ctx, n); err != nil {
			return nil, err
		}
		r.taken(n)
		return func() { r.taken(-n); r.small.Release(n) }, nil
	}
	t := r.enter(id)
	if err := t.permits.Acquire(ctx, 1); err != nil {
		r.exit(id, t)
		return nil, err
	}
	n := min(size, r.most)
	if err := r.large.Acquire(ctx, n); err != nil {
		t.permits.Release(1)
		r.exit(id, t)
		return nil, err
	}
	r.taken(n)
	return func() {
		r.taken(-n)
		r.large.Release(n)
		t.permits.Release(1)
		r.exit(id, t)
	}, nil
}

func (r *room) enter(id wire.ThreadID) *threadRoom {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.threads[id]
	if t == nil {
		t = &threadRoom{permits: semaphore.NewWeighted(largeOfAThread)}
		r.threads[id] = t
	}
	t.users++
	return t
}

func (r *room) exit(id wire.ThreadID, t *threadRoom) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t.users--; t.users == 0 {
		delete(r.threads, id)
	}
}
