package main

import (
	"context"
	"time"

	"github.com/troupe-run/troupe/actors"
	"github.com/troupe-run/troupe/api"
	"github.com/troupe-run/troupe/supervision"
)

// threadsPort is the typed client as the HTTP surface asks for it: the two
// streams differ in type only.
type threadsPort struct{ *actors.Client }

var _ api.Threads = threadsPort{}

// Follow subscribes.
func (t threadsPort) Follow(ctx context.Context, id string, o api.FollowOptions) (api.Follower, error) {
	f, err := t.Client.Follow(ctx, id, actors.FollowOptions{Partials: o.Partials, Ended: o.Ended})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// History is a snapshot.
func (t threadsPort) History(ctx context.Context, id string) (api.Encoded, error) {
	h, err := t.Client.History(ctx, id)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// Watch streams summaries.
func (t threadsPort) Watch(ctx context.Context) (api.SummaryStream, error) {
	w, err := t.Client.Watch(ctx)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// sessionStrikes is the restart policy as the threads ask for it.
type sessionStrikes struct{ *supervision.Policy }

// Strike counts a failed session.
func (s sessionStrikes) Strike(key string, now time.Time) (time.Duration, bool) {
	v := s.Policy.Strike(key, now)
	return v.Delay, v.Exhausted
}

// Current is how long the next session waits.
func (s sessionStrikes) Current(key string, now time.Time) (time.Duration, bool) {
	v := s.Policy.Current(key, now)
	return v.Delay, v.Exhausted
}

// threadFacts tells supervision what the threads report.
func threadFacts(publish func(supervision.Fact)) func(actors.Fact) {
	return func(f actors.Fact) {
		switch f := f.(type) {
		case *actors.ThreadPanicked:
			publish(&supervision.ThreadTrouble{Thread: f.Thread.String(), What: "panicked", Detail: f.Hearing})
		case *actors.CommitFailed:
			publish(&supervision.ThreadTrouble{Thread: f.Thread.String(), What: "commit failed", Detail: f.Err.Error()})
		}
	}
}
