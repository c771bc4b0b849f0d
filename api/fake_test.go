package api

import (
	"bytes"
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-run/troupe/wire"
)

// fakeThreads is a port that records what it was asked, and answers or refuses.
type fakeThreads struct {
	mu     sync.Mutex
	asked  []string
	err    error
	follow func(FollowOptions) *fakeFollower
	watch  *fakeWatch
}

func (f *fakeThreads) note(what string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, what)
	return f.err
}

func (f *fakeThreads) calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.asked)
}

func (f *fakeThreads) refuse(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

var someSummary = wire.Summary{ID: "scripted.a", Type: "scripted", Status: wire.StatusIdle, HeadSeq: -1}

func (f *fakeThreads) Resolve(_ context.Context, id string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !strings.Contains(id, ".") {
		id = "scripted." + id
	}
	return id, f.err
}

func (f *fakeThreads) Agents(context.Context) []wire.Agent {
	_ = f.note("agents")
	return []wire.Agent{{Name: "scripted", Runtime: "scripted", Available: true}}
}

func (f *fakeThreads) List(context.Context, wire.ThreadQuery) (wire.ThreadPage, error) {
	return wire.ThreadPage{Threads: []wire.Summary{someSummary}}, f.note("list")
}

func (f *fakeThreads) Watch(context.Context) (SummaryStream, error) {
	return f.watch, f.note("watch")
}

func (f *fakeThreads) Create(_ context.Context, r wire.CreateThread) (wire.Summary, bool, error) {
	return someSummary, r.ID != "old", f.note("CREATE")
}

func (f *fakeThreads) Get(context.Context, string) (wire.Summary, error) {
	return someSummary, f.note("get")
}

func (f *fakeThreads) Follow(_ context.Context, _ string, o FollowOptions) (Follower, error) {
	if err := f.note("follow"); err != nil {
		return nil, err
	}
	return f.follow(o), nil
}

type fakeHistory struct {
	*bytes.Reader
	f *fakeThreads
}

func (h fakeHistory) Close() error { return h.f.note("history closed") }

func (f *fakeThreads) History(context.Context, string) (Encoded, error) {
	b, err := wire.Encode(&wire.Snapshot{ThreadID: "scripted.a", PermissionMode: wire.DefaultPermissionMode()})
	if err != nil {
		return nil, err
	}
	return fakeHistory{bytes.NewReader(b), f}, f.note("history")
}

func (f *fakeThreads) Prompt(_ context.Context, _ string, r wire.PromptRequest) (wire.PromptReceipt, error) {
	return wire.PromptReceipt{MessageID: "m-" + r.Message, Queued: true}, f.note("PROMPT " + r.Message)
}

func (f *fakeThreads) Withdraw(_ context.Context, _, messageID string) error {
	return f.note("WITHDRAW " + messageID)
}

func (f *fakeThreads) Abort(context.Context, string) (wire.AbortReceipt, error) {
	return wire.AbortReceipt{Aborted: true, Generation: 3}, f.note("ABORT")
}

func (f *fakeThreads) Dialogs(context.Context, string) ([]wire.OpenDialog, error) {
	return []wire.OpenDialog{{ID: "d", Dialog: &wire.ConfirmDialog{Title: "t", Message: "m"}}}, f.note("dialogs")
}

func (f *fakeThreads) Answer(_ context.Context, _ string, a wire.Answer) error {
	return f.note("ANSWER " + a.ID)
}

func (f *fakeThreads) SetMode(context.Context, string, wire.ModeRequest) error { return f.note("MODE") }

func (f *fakeThreads) SetModel(context.Context, string, wire.ModelRequest) error {
	return f.note("MODEL")
}

func (f *fakeThreads) Compact(context.Context, string, wire.CompactRequest) error {
	return f.note("COMPACT")
}

func (f *fakeThreads) Rename(context.Context, string, wire.RenameRequest) error {
	return f.note("RENAME")
}

func (f *fakeThreads) Tails(context.Context, string) (wire.Tails, error) {
	return wire.Tails{}, f.note("tails")
}

// fakeFollower gives what is sent to it.
type fakeFollower struct {
	events chan []byte
	ended  chan struct{}
	gone   chan struct{}
	once   sync.Once
	onEnd  func()
}

func newFollower(o FollowOptions) *fakeFollower {
	return &fakeFollower{events: make(chan []byte, 100), ended: make(chan struct{}), gone: make(chan struct{}), onEnd: o.Ended}
}

func (f *fakeFollower) Next(wait time.Duration) ([]byte, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case b := <-f.events:
		return b, nil
	case <-f.ended:
		return nil, wire.Errorf(wire.CodeUnavailable, "ended")
	case <-f.gone:
		return nil, wire.Errorf(wire.CodeUnavailable, "closed")
	case <-timer.C:
		return nil, nil
	}
}

func (f *fakeFollower) Close() { f.once.Do(func() { close(f.gone) }) }

// end is what a thread does with a follower that lags.
func (f *fakeFollower) end() {
	close(f.ended)
	f.onEnd()
}

type fakeWatch struct{ fakeFollower }

func (f *fakeWatch) Next(wait time.Duration) ([]wire.Summary, error) {
	b, err := f.fakeFollower.Next(wait)
	if b == nil {
		return nil, err
	}
	return []wire.Summary{someSummary}, nil
}

// serve starts a server on the fake.
func serve(t testing.TB, f *fakeThreads, change func(*Config)) (url string, s *Server) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Threads: f, Listen: ln.Addr().String(), Version: "test"}
	if change != nil {
		change(&cfg)
	}
	s = New(cfg)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = s.Shutdown(ctx)
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return "http://" + ln.Addr().String(), s
}
