package actors

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// Client is the typed client of all threads, and the only way in: it resolves an
// id, checks a request, sends one command, waits for its reply. Every error is a
// *wire.Failure. It is safe for concurrent use.
type Client struct{ h *Host }

// Bounds of a request that are not the thread's.
const (
	maxTitle = 256 // runes
	maxTags  = 32
	maxTag   = 256 // bytes of a tag's name, or of its value
	maxMsgID = 128 // bytes
)

// send asks a thread and waits for its reply. A command whose caller has gone is
// still carried out.
func send[T any](ctx context.Context, h *Host, id wire.ThreadID, with func(token) input) (T, error) {
	var zero T
	select {
	case h.inFlight <- struct{}{}:
	default:
		return zero, wire.Errorf(wire.CodeLimit, "too many requests are under way")
	}
	defer func() { <-h.inFlight }()
	type answer struct {
		value   any
		failure *wire.Failure
	}
	got := make(chan answer, 1)
	ctx, cancel := context.WithTimeout(ctx, h.limits.StartTimeout+2*h.limits.CallTimeout) // the longest command waits for a start and a call
	defer cancel()
	h.root.Send(h.registry, &ask{thread: id, make: with, done: func(v any, f *wire.Failure) { got <- answer{v, f} }})
	select {
	case a := <-got:
		if a.failure != nil {
			return zero, a.failure
		}
		v, _ := a.value.(T)
		return v, nil
	case <-h.closed:
		return zero, wire.Errorf(wire.CodeUnavailable, "the host has stopped")
	case <-ctx.Done():
		return zero, wire.Errorf(wire.CodeTimeout, "the thread did not answer in time")
	}
}

// resolve turns an id as a client wrote it into a thread's identity: the full
// form, or a bare id, which means the one thread with that id, else the default
// agent's.
func (c *Client) resolve(ctx context.Context, text string) (wire.ThreadID, error) {
	id, bare, err := wire.ParseThreadID(text)
	if err != nil {
		return id, &wire.Failure{Code: wire.CodeNotFound, Message: wire.AsFailure(err).Message}
	}
	if bare {
		types, err := c.h.journal.Types(ctx, id.ID)
		if err != nil {
			return id, c.h.failure(err, "look a thread up", id)
		}
		types = slices.DeleteFunc(slices.Clone(types), func(t string) bool { _, ok := c.h.agents[t]; return !ok })
		switch len(types) {
		case 0:
			id.Type = c.h.standard
		case 1:
			id.Type = types[0]
		default:
			slices.Sort(types)
			return id, wire.Errorf(wire.CodeAmbiguous, "%q is a thread of %s; name one as <type>.%s", text, strings.Join(types, " and of "), id.ID)
		}
	}
	if _, ok := c.h.agents[id.Type]; !ok {
		return id, wire.Errorf(wire.CodeNotFound, "no agent type %q on this host", id.Type)
	}
	return id, nil
}

// Resolve is the full form of an id as a client wrote it.
func (c *Client) Resolve(ctx context.Context, text string) (string, error) {
	id, err := c.resolve(ctx, text)
	if err != nil {
		return "", err
	}
	return id.String(), nil
}

// refusing says whether the host is stopping.
func (c *Client) refusing() error {
	select {
	case <-c.h.stopping:
		return wire.Errorf(wire.CodeUnavailable, "the host is stopping")
	default:
		return nil
	}
}

// Agents lists the agents on offer, by name.
func (c *Client) Agents(context.Context) []wire.Agent { return c.h.listAgents() }

// Create makes a thread, or reattaches to the one with the same type and id.
func (c *Client) Create(ctx context.Context, r wire.CreateThread) (wire.Summary, bool, error) {
	if err := c.refusing(); err != nil {
		return wire.Summary{}, false, err
	}
	id, err := c.newID(r)
	if err != nil {
		return wire.Summary{}, false, err
	}
	if err := checkCreate(&r); err != nil {
		return wire.Summary{}, false, err
	}
	in := &createInput{req: r, cwd: c.h.agents[id.Type].Cwd}
	if r.Args != nil {
		if err := c.checkPrompt(string(r.Args), nil); err != nil {
			return wire.Summary{}, false, err
		}
		in.wake = &host.Wake{MessageID: c.newULID(), Text: string(r.Args), Admission: wire.AdmitEnqueued, At: c.h.now()}
	}
	got, err := send[createdReply](ctx, c.h, id, func(t token) input { in.token = t; return in })
	return got.summary, got.created, err
}

func (c *Client) newID(r wire.CreateThread) (wire.ThreadID, error) {
	id := wire.ThreadID{Type: r.Type, ID: r.ID}
	if id.Type == "" {
		id.Type = c.h.standard
	}
	if id.ID == "" {
		id.ID = c.newULID()
	}
	if _, ok := c.h.agents[id.Type]; !ok {
		return id, wire.Errorf(wire.CodeNotFound, "no agent type %q on this host", id.Type)
	}
	if !wire.ValidID(id.ID) {
		return id, wire.Errorf(wire.CodeInvalid, "id %q: want [a-z0-9][a-z0-9_-]*, at most 64 bytes", id.ID)
	}
	return id, nil
}

func (c *Client) newULID() string { return wire.NewID(c.h.now(), c.h.entropy) }

func checkCreate(r *wire.CreateThread) error {
	if err := checkTitle(r.Title); err != nil {
		return err
	}
	if r.Cwd != "" {
		if !filepath.IsAbs(r.Cwd) {
			return wire.Errorf(wire.CodeInvalid, "cwd %q: want an absolute path", r.Cwd)
		}
		if fi, err := os.Stat(r.Cwd); err != nil || !fi.IsDir() {
			return wire.Errorf(wire.CodeInvalid, "cwd %q: no such folder", r.Cwd)
		}
		r.Cwd = filepath.Clean(r.Cwd)
	}
	if len(r.Tags) > maxTags {
		return wire.Errorf(wire.CodeInvalid, "%d tags: at most %d", len(r.Tags), maxTags)
	}
	for k, v := range r.Tags {
		if k == "" || len(k) > maxTag || len(v) > maxTag {
			return wire.Errorf(wire.CodeInvalid, "tag %q: a name of 1 to %d bytes, a value of at most %d", k, maxTag, maxTag)
		}
	}
	return nil
}

func checkTitle(title string) error {
	if utf8.RuneCountInString(title) > maxTitle {
		return wire.Errorf(wire.CodeInvalid, "title: at most %d characters", maxTitle)
	}
	return nil
}

// Get is one thread's summary.
func (c *Client) Get(ctx context.Context, text string) (wire.Summary, error) {
	id, err := c.resolve(ctx, text)
	if err != nil {
		return wire.Summary{}, err
	}
	if s, ok := c.h.directory.get(id.String()); ok {
		return s, nil
	}
	row, ok, err := c.h.journal.Lookup(ctx, id)
	if err != nil {
		return wire.Summary{}, c.h.failure(err, "look a thread up", id)
	}
	if !ok {
		return wire.Summary{}, wire.Errorf(wire.CodeNotFound, "no thread %s", id)
	}
	return atRest(row.Summary), nil
}

// atRest is a recorded summary of a thread that is not in memory: whatever it
// says of a session is over.
func atRest(s wire.Summary) wire.Summary {
	s.Live, s.Busy, s.OpenDialogs, s.AwaitingInput = false, false, 0, false
	s.Usage.Context = nil
	if s.Status == wire.StatusActive {
		s.Status = wire.StatusIdle
	}
	return s
}

// List is a page of summaries, newest first.
func (c *Client) List(ctx context.Context, q wire.ThreadQuery) (wire.ThreadPage, error) {
	rows, next, err := c.h.journal.Query(ctx, q)
	if err != nil {
		return wire.ThreadPage{}, c.h.failure(err, "list threads", wire.ThreadID{})
	}
	page := wire.ThreadPage{Threads: make([]wire.Summary, 0, len(rows)), Next: next}
	for _, r := range rows {
		s, ok := c.h.directory.get(r.Summary.ID)
		if !ok {
			s = atRest(r.Summary)
		}
		if q.Status != "" && s.Status != q.Status {
			continue // it has moved on since its row was written
		}
		page.Threads = append(page.Threads, s)
	}
	return page, nil
}

// Watch streams summaries: all of them, then each that changes.
func (c *Client) Watch(ctx context.Context) (*Watcher, error) {
	if err := c.refusing(); err != nil {
		return nil, err
	}
	w := c.h.directory.watch() // before the read, so that no change falls between
	q := wire.ThreadQuery{Limit: 500}
	for {
		page, err := c.List(ctx, q)
		if err != nil {
			w.Close()
			return nil, err
		}
		c.h.directory.mu.Lock()
		for _, s := range page.Threads {
			if _, newer := w.due[s.ID]; !newer {
				w.changed(s)
			}
		}
		c.h.directory.mu.Unlock()
		if page.Next == "" {
			return w, nil
		}
		q.Cursor = page.Next
	}
}

// Follow subscribes to a thread, and creates nothing: an unknown id of a known
// type is an empty snapshot.
func (c *Client) Follow(ctx context.Context, text string, o FollowOptions) (*Follower, error) {
	if err := c.refusing(); err != nil {
		return nil, err
	}
	id, err := c.resolve(ctx, text)
	if err != nil {
		return nil, err
	}
	f := newFollower(c.h, id, o)
	cwd := c.h.agents[id.Type].Cwd
	_, err = send[any](ctx, c.h, id, func(t token) input { return &subscribeInput{token: t, follower: f, cwd: cwd} })
	if err != nil {
		f.Close() // its caller has gone, or it was refused: either way it must not stay attached
		return nil, err
	}
	return f, nil
}

// leave detaches a follower. It goes the way of every command, so that it reaches
// the thread behind the subscription, whichever incarnation has it.
func (h *Host) leave(f *Follower) {
	h.root.Send(h.registry, &leave{thread: f.thread, follower: f})
}

// Prompt admits a prompt and returns once it is durable. It creates a thread of a
// known type.
func (c *Client) Prompt(ctx context.Context, text string, r wire.PromptRequest) (wire.PromptReceipt, error) {
	if err := c.refusing(); err != nil {
		return wire.PromptReceipt{}, err
	}
	id, err := c.resolve(ctx, text)
	if err != nil {
		return wire.PromptReceipt{}, err
	}
	if err := c.checkPrompt(r.Message, r.Images); err != nil {
		return wire.PromptReceipt{}, err
	}
	agent := c.h.agents[id.Type]
	if len(r.Images) > 0 && !agent.Runtime.Capabilities().Images {
		return wire.PromptReceipt{}, wire.Errorf(wire.CodeInvalid, "agent %q takes no images", id.Type)
	}
	if len(r.MessageID) > maxMsgID {
		return wire.PromptReceipt{}, wire.Errorf(wire.CodeInvalid, "messageId: at most %d bytes", maxMsgID)
	}
	w := host.Wake{MessageID: r.MessageID, Text: r.Message, Images: r.Images, Admission: r.Admission, At: c.h.now()}
	if w.MessageID == "" {
		w.MessageID = c.newULID()
	}
	if w.Admission == "" {
		w.Admission = wire.AdmitEnqueued
	}
	receipt, err := send[wire.PromptReceipt](ctx, c.h, id, func(t token) input {
		return &promptInput{token: t, wake: w, cwd: agent.Cwd}
	})
	if err == nil {
		c.h.meter.prompts.Add(1)
	}
	return receipt, err
}

func (c *Client) checkPrompt(text string, images []wire.Image) error {
	if strings.TrimSpace(text) == "" && len(images) == 0 {
		return wire.Errorf(wire.CodeInvalid, "the prompt is empty")
	}
	if n := promptSize(text, images); n > c.h.limits.PromptBytes {
		return wire.Errorf(wire.CodeInvalid, "the prompt has %d bytes: at most %d", n, c.h.limits.PromptBytes)
	}
	for i, img := range images {
		if !strings.HasPrefix(img.MimeType, "image/") {
			return wire.Errorf(wire.CodeInvalid, "images[%d].mimeType %q: want image/…", i, img.MimeType)
		}
		if _, err := base64.StdEncoding.DecodeString(img.Data); err != nil {
			return wire.Errorf(wire.CodeInvalid, "images[%d].data: not base64", i)
		}
	}
	return nil
}

// askThread resolves an id and sends one command.
func askThread[T any](ctx context.Context, c *Client, text string, with func(token) input) (T, error) {
	id, err := c.resolve(ctx, text)
	if err != nil {
		var zero T
		return zero, err
	}
	return send[T](ctx, c.h, id, with)
}

// Withdraw takes a waiting prompt out of the queue.
func (c *Client) Withdraw(ctx context.Context, id, messageID string) error {
	_, err := askThread[any](ctx, c, id, func(t token) input { return &withdrawInput{token: t, messageID: messageID} })
	return err
}

// Abort stops the run and answers once it has settled: within the graces, else
// with code timeout.
func (c *Client) Abort(ctx context.Context, id string) (wire.AbortReceipt, error) {
	ctx, cancel := context.WithTimeout(ctx, c.h.limits.AbortGrace+c.h.limits.KillGrace+abortSlack)
	defer cancel()
	return askThread[wire.AbortReceipt](ctx, c, id, func(t token) input { return &abortInput{token: t} })
}

// abortSlack is what a stop may take beyond its graces: its commit.
const abortSlack = 10 * time.Second

// Dialogs lists the open questions, oldest first.
func (c *Client) Dialogs(ctx context.Context, id string) ([]wire.OpenDialog, error) {
	return askThread[[]wire.OpenDialog](ctx, c, id, func(t token) input { return &dialogsInput{token: t} })
}

// Answer answers an open question.
func (c *Client) Answer(ctx context.Context, id string, a wire.Answer) error {
	_, err := askThread[any](ctx, c, id, func(t token) input { return &answerInput{token: t, answer: a} })
	return err
}

// SetMode asks for a permission mode.
func (c *Client) SetMode(ctx context.Context, id string, r wire.ModeRequest) error {
	return c.configure(ctx, id, &setMode{r.Mode})
}

// SetModel asks for a model.
func (c *Client) SetModel(ctx context.Context, id string, r wire.ModelRequest) error {
	return c.configure(ctx, id, &setModel{r})
}

// Compact asks the runtime to compact its context.
func (c *Client) Compact(ctx context.Context, id string, r wire.CompactRequest) error {
	return c.configure(ctx, id, &compact{r.Instructions})
}

func (c *Client) configure(ctx context.Context, text string, v sessionVerb) error {
	id, err := c.resolve(ctx, text)
	if err != nil {
		return err
	}
	if err := cannot(c.h.agents[id.Type], v); err != nil {
		return err
	}
	_, err = send[any](ctx, c.h, id, func(t token) input { return &configureInput{token: t, verb: v} })
	return err
}

// cannot refuses a verb that the runtime has no capability for, before a session
// is started for nothing.
func cannot(a Agent, v sessionVerb) error {
	has, what := a.Runtime.Capabilities(), ""
	switch v.(type) {
	case *setMode:
		if !has.Modes {
			what = "permission modes"
		}
	case *setModel:
		if !has.Models {
			what = "models to choose from"
		}
	case *compact:
		if !has.Compact {
			what = "compaction on demand"
		}
	}
	if what != "" {
		return wire.Errorf(wire.CodeUnsupported, "agent %q (%s) has no %s", a.Name, a.Runtime.Name(), what)
	}
	return nil
}

// Rename sets a thread's title.
func (c *Client) Rename(ctx context.Context, id string, r wire.RenameRequest) error {
	if err := checkTitle(r.Title); err != nil {
		return err
	}
	_, err := askThread[any](ctx, c, id, func(t token) input { return &renameInput{token: t, title: r.Title} })
	return err
}

// Tails are a thread's two rings; empty without a session.
func (c *Client) Tails(ctx context.Context, id string) (wire.Tails, error) {
	return askThread[wire.Tails](ctx, c, id, func(t token) input { return &tailsInput{token: t} })
}
