package api

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"time"

	"github.com/troupe-run/troupe/wire"
)

// SummaryEvent is one event of GET /api/threads/stream. Type is "summary".
type SummaryEvent struct {
	Type    string       `json:"type"`
	Summary wire.Summary `json:"summary"`
}

// Health is the body of GET /healthz and GET /readyz.
type Health struct {
	OK      bool   `json:"ok"`
	Version string `json:"version"`
}

// maxPage is the most summaries of one page.
const maxPage = 500

func body[T any]() reflect.Type { return reflect.TypeFor[T]() }

func gives[T any](status int, about string) answer {
	return answer{status: status, about: about, media: mediaJSON, body: body[T]()}
}

func givesNothing(status int, about string) answer { return answer{status: status, about: about} }

func givesText(about string) answer {
	return answer{status: http.StatusOK, about: about, media: mediaText}
}

func givesEvents[T any](about string) answer {
	return answer{status: http.StatusOK, about: about, media: mediaSSE, body: body[T]()}
}

func takes[T any]() *input { return &input{typ: body[T]()} }

// taking decodes a body strictly and hands it to fn.
func taking[T any](fn func(s *Server, c *call, r T) (reply, error)) func(*Server, *call) (reply, error) {
	return func(s *Server, c *call) (reply, error) {
		text := c.body
		if len(text) == 0 {
			text = []byte("{}") // only where the row says that none will do
		}
		r, err := wire.DecodeStrict[T](text)
		if err != nil {
			return reply{}, err
		}
		return fn(s, c, r)
	}
}

// verb is a session verb: accepted, and its outcome told by the follow.
func verb[T any](fn func(t Threads, ctx context.Context, id string, r T) error) func(*Server, *call) (reply, error) {
	return taking(func(s *Server, c *call, r T) (reply, error) {
		return reply{status: http.StatusAccepted}, fn(s.cfg.Threads, c.ctx, c.id, r)
	})
}

// routes is the whole HTTP surface. A path with a word where another has a
// parameter stands before it.
func routes() []route {
	threadCodes := []wire.Code{wire.CodeNotFound, wire.CodeAmbiguous}
	with := func(more ...wire.Code) []wire.Code { return append(more, threadCodes...) }
	verbCodes := with(wire.CodeInvalid, wire.CodeUnsupported, wire.CodeConflict, wire.CodeCommandMissing,
		wire.CodeStartFailed, wire.CodeSessionExited, wire.CodeCrashed)
	return []route{
		{
			method: http.MethodGet, path: "/", id: "about", summary: "What this is, and where the API is.",
			answers: []answer{givesText("A few lines for a person.")},
			serve:   (*Server).about,
		},
		{
			method: http.MethodGet, path: "/healthz", id: "health", summary: "Whether the process answers.",
			answers: []answer{gives[Health](http.StatusOK, "It does.")},
			serve: func(s *Server, _ *call) (reply, error) {
				return reply{status: http.StatusOK, body: Health{true, s.cfg.Version}}, nil
			},
		},
		{
			method: http.MethodGet, path: "/readyz", id: "readiness", summary: "Whether it takes work: not while it starts or stops.",
			answers: []answer{gives[Health](http.StatusOK, "It does.")},
			serve:   (*Server).ready,
		},
		{
			method: http.MethodGet, path: "/openapi.json", id: "openapi", summary: "This API's description.",
			answers: []answer{gives[wire.RawJSON](http.StatusOK, "An OpenAPI 3 document.")},
			serve: func(*Server, *call) (reply, error) {
				return reply{status: http.StatusOK, raw: openAPI, media: mediaJSON}, nil
			},
		},
		{
			method: http.MethodGet, path: "/metrics", id: "metrics", summary: "The host's numbers, in Prometheus' text format.",
			answers: []answer{{status: http.StatusOK, about: "The numbers.", media: mediaMetrics}},
			codes:   []wire.Code{wire.CodeNotFound},
			serve:   (*Server).metrics,
		},
		{
			method: http.MethodGet, path: "/api/agents", id: "listAgents", summary: "The agents this host offers, and what each can do.",
			answers: []answer{gives[[]wire.Agent](http.StatusOK, "The agents, by name.")},
			serve: func(s *Server, c *call) (reply, error) {
				return reply{status: http.StatusOK, body: s.cfg.Threads.Agents(c.ctx)}, nil
			},
		},
		{
			method: http.MethodGet, path: "/api/threads", id: "listThreads", summary: "Summaries of threads, newest first.",
			query: []parameter{
				{name: "type", about: "Only threads of this agent."},
				{name: "status", about: "Only threads with this status.", words: closedSet[wire.ThreadStatus]()},
				{name: "parent", about: "Only children of this thread, by its full id."},
				{name: "q", about: "Only threads with this in their id or title, in any case."},
				{name: "limit", about: "The most summaries of the page; 100 without it.", whole: true, least: 1, most: maxPage},
				{name: "cursor", about: "The page before said it as next."},
			},
			answers: []answer{gives[wire.ThreadPage](http.StatusOK, "A page; next is there when another follows.")},
			codes:   []wire.Code{wire.CodeInvalid},
			serve:   (*Server).list,
		},
		{
			method: http.MethodGet, path: "/api/threads/stream", id: "watchThreads", summary: "Summaries as they change: all of them, then each change.",
			about:   "One summary to each event, always whole. A client that reconnects gets all of them again.",
			answers: []answer{givesEvents[SummaryEvent]("Server-sent events, each the JSON of one summary.")},
			serve: func(s *Server, _ *call) (reply, error) {
				return reply{stream: func(ctx context.Context, _ func()) (source, error) { return s.watchSummaries() }}, nil
			},
		},
		{
			method: http.MethodPost, path: "/api/threads", id: "createThread", summary: "Create a thread, or reattach to the one with the same type and id.",
			about:   "It wakes the thread only with args, whose JSON text is its first prompt.",
			takes:   takes[wire.CreateThread](),
			answers: []answer{gives[wire.Summary](http.StatusCreated, "It was created."), gives[wire.Summary](http.StatusOK, "It was there.")},
			codes:   []wire.Code{wire.CodeInvalid, wire.CodeNotFound, wire.CodeConflict},
			serve:   taking((*Server).create),
		},
		{
			method: http.MethodGet, path: "/api/threads/{id}", id: "getThread", summary: "One thread's summary.",
			answers: []answer{gives[wire.Summary](http.StatusOK, "The summary.")},
			codes:   threadCodes,
			serve: func(s *Server, c *call) (reply, error) {
				sum, err := s.cfg.Threads.Get(c.ctx, c.id)
				return reply{status: http.StatusOK, body: sum}, err
			},
		},
		{
			method: http.MethodGet, path: "/api/threads/{id}/follow", id: "followThread", summary: "The follow: a snapshot, then every later observation.",
			about: "Exactly one snapshot opens it; then come observation frames, each with a greater seq, and status frames. " +
				"There is no cursor: a reconnect gets a new snapshot. An unknown id of a known agent is an empty snapshot. " +
				"Silence is filled with comments. The response ends with its connection.",
			query:   []parameter{{name: "partials", about: "1 also sends partial tool results.", words: []string{"0", "1"}}},
			answers: []answer{givesEvents[wire.Frame]("Server-sent events, each the JSON of one frame.")},
			codes:   threadCodes,
			serve:   (*Server).follow,
		},
		{
			method: http.MethodGet, path: "/api/threads/{id}/history", id: "getHistory", summary: "The snapshot that a follow would open with.",
			answers: []answer{gives[wire.Snapshot](http.StatusOK, "The snapshot.")},
			codes:   threadCodes,
			serve: func(s *Server, c *call) (reply, error) {
				snap, err := s.cfg.Threads.History(c.ctx, c.id)
				return reply{status: http.StatusOK, body: snap}, err
			},
		},
		{
			method: http.MethodPost, path: "/api/threads/{id}/prompt", id: "prompt", summary: "Prompt a thread; it is created when its agent is known.",
			about: "Answered once the prompt is durable. The same messageId is the same prompt; without one, an Idempotency-Key gives it its id.",
			takes: takes[wire.PromptRequest](), answers: []answer{gives[wire.PromptReceipt](http.StatusAccepted, "It is durable, and admitted or queued.")},
			codes: with(wire.CodeInvalid, wire.CodeConflict), serve: taking((*Server).prompt),
		},
		{
			method: http.MethodDelete, path: "/api/threads/{id}/queue/{messageId}", id: "withdrawPrompt", summary: "Withdraw a prompt that still waits.",
			answers: []answer{givesNothing(http.StatusNoContent, "It was withdrawn.")},
			codes:   with(wire.CodeConflict),
			serve: func(s *Server, c *call) (reply, error) {
				return reply{status: http.StatusNoContent}, s.cfg.Threads.Withdraw(c.ctx, c.id, c.messageID)
			},
		},
		{
			method: http.MethodPost, path: "/api/threads/{id}/abort", id: "abort", summary: "Stop the run, drop the queue, settle the questions, cascade to children.",
			about:   "Answered once the run has settled, within a bound. A thread with nothing to stop says so.",
			answers: []answer{gives[wire.AbortReceipt](http.StatusOK, "What was ended.")},
			codes:   with(wire.CodeConflict),
			serve: func(s *Server, c *call) (reply, error) {
				r, err := s.cfg.Threads.Abort(c.ctx, c.id)
				return reply{status: http.StatusOK, body: r}, err
			},
		},
		{
			method: http.MethodGet, path: "/api/threads/{id}/dialog", id: "listDialogs", summary: "The open questions, oldest first.",
			answers: []answer{gives[[]wire.OpenDialog](http.StatusOK, "The questions.")},
			codes:   threadCodes,
			serve: func(s *Server, c *call) (reply, error) {
				d, err := s.cfg.Threads.Dialogs(c.ctx, c.id)
				return reply{status: http.StatusOK, body: d}, err
			},
		},
		{
			method: http.MethodPost, path: "/api/threads/{id}/dialog", id: "answerDialog", summary: "Answer an open question.",
			about:   "Not found: it is spent, or was never open. Invalid: refused, and still open.",
			takes:   takes[wire.Answer](),
			answers: []answer{givesNothing(http.StatusNoContent, "It was the answer.")},
			codes:   with(wire.CodeInvalid, wire.CodeConflict),
			serve:   (*Server).answer,
		},
		{
			method: http.MethodPost, path: "/api/threads/{id}/mode", id: "setMode", summary: "Ask the session for a permission mode.",
			takes: takes[wire.ModeRequest](), answers: accepted, codes: verbCodes, serve: verb(Threads.SetMode),
		},
		{
			method: http.MethodPost, path: "/api/threads/{id}/model", id: "setModel", summary: "Ask the session for a model.",
			takes: takes[wire.ModelRequest](), answers: accepted, codes: verbCodes, serve: verb(Threads.SetModel),
		},
		{
			method: http.MethodPost, path: "/api/threads/{id}/compact", id: "compact", summary: "Ask the session to compact its context.",
			takes: &input{typ: body[wire.CompactRequest](), optional: true}, answers: accepted, codes: verbCodes, serve: verb(Threads.Compact),
		},
		{
			method: http.MethodPost, path: "/api/threads/{id}/rename", id: "rename", summary: "Set the thread's title.",
			takes: takes[wire.RenameRequest](), answers: accepted, codes: with(wire.CodeInvalid, wire.CodeConflict), serve: verb(Threads.Rename),
		},
		{
			method: http.MethodGet, path: "/api/threads/{id}/events", id: "getTails", summary: "The two tails: what the session emitted, what followers were sent.",
			answers: []answer{gives[wire.Tails](http.StatusOK, "The tails; empty without a session.")},
			codes:   threadCodes,
			serve: func(s *Server, c *call) (reply, error) {
				t, err := s.cfg.Threads.Tails(c.ctx, c.id)
				return reply{status: http.StatusOK, body: t}, err
			},
		},
	}
}

var accepted = []answer{givesNothing(http.StatusAccepted, "It is under way; the follow says what happened.")}

func closedSet[T ~string]() []string {
	words, _ := wire.ClosedSet(reflect.TypeFor[T]())
	return words
}

func (s *Server) about(*call) (reply, error) {
	text := "troupe " + s.cfg.Version + ": agents as threads, to follow, prompt and stop.\n\n" +
		"GET /api/agents         the agents on offer\n" +
		"GET /api/threads        the threads\n" +
		"GET /metrics            the numbers, for Prometheus\n" +
		"GET /openapi.json       the whole API\n"
	return reply{status: http.StatusOK, raw: []byte(text), media: mediaText}, nil
}

func (s *Server) ready(*call) (reply, error) {
	if s.stopping.Load() || !s.cfg.Ready() {
		return reply{}, wire.Errorf(wire.CodeUnavailable, "the server is starting or stopping")
	}
	return reply{status: http.StatusOK, body: Health{true, s.cfg.Version}}, nil
}

func (s *Server) metrics(*call) (reply, error) {
	if s.cfg.Metrics == nil {
		return reply{}, wire.Errorf(wire.CodeNotFound, "this server keeps no numbers")
	}
	text, err := s.cfg.Metrics()
	return reply{status: http.StatusOK, raw: text, media: mediaMetrics}, err
}

func (s *Server) list(c *call) (reply, error) {
	limit, _ := strconv.Atoi(c.query["limit"]) // checked, or left out
	page, err := s.cfg.Threads.List(c.ctx, wire.ThreadQuery{
		Type: c.query["type"], Status: wire.ThreadStatus(c.query["status"]), Parent: c.query["parent"],
		Q: c.query["q"], Limit: limit, Cursor: c.query["cursor"],
	})
	return reply{status: http.StatusOK, body: page}, err
}

func (s *Server) create(c *call, r wire.CreateThread) (reply, error) {
	sum, created, err := s.cfg.Threads.Create(c.ctx, r)
	if err != nil {
		return reply{}, err
	}
	if !created {
		return reply{status: http.StatusOK, body: sum}, nil
	}
	return reply{status: http.StatusCreated, body: sum, location: "/api/threads/" + url.PathEscape(sum.ID)}, nil
}

func (s *Server) follow(c *call) (reply, error) {
	id, partials := c.id, c.query["partials"] == "1"
	return reply{stream: func(ctx context.Context, ended func()) (source, error) {
		f, err := s.cfg.Threads.Follow(ctx, id, FollowOptions{Partials: partials, Ended: ended})
		if err != nil {
			return nil, err
		}
		return f, nil
	}}, nil
}

func (s *Server) prompt(c *call, r wire.PromptRequest) (reply, error) {
	if r.MessageID == "" && c.key != "" {
		r.MessageID = messageIDOf(c.key, c.id)
	}
	receipt, err := s.cfg.Threads.Prompt(c.ctx, c.id, r)
	return reply{status: http.StatusAccepted, body: receipt}, err
}

func (s *Server) answer(c *call) (reply, error) {
	a, err := wire.DecodeAnswer(c.body)
	if err != nil {
		return reply{}, err
	}
	return reply{status: http.StatusNoContent}, s.cfg.Threads.Answer(c.ctx, c.id, a)
}

// summaries makes a stream of summaries a source of events.
type summaries struct {
	stream SummaryStream
	leave  context.CancelFunc
}

func (s *Server) watchSummaries() (source, error) {
	ctx, cancel := context.WithCancel(s.base) // it may live as long as the stream
	w, err := s.cfg.Threads.Watch(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	return &summaries{w, cancel}, nil
}

// Next is one event for each summary that is due.
func (w *summaries) Next(wait time.Duration) ([]byte, error) {
	due, err := w.stream.Next(wait)
	if err != nil {
		return nil, err
	}
	var out []byte
	for i := range due {
		b, err := wire.Encode(SummaryEvent{"summary", due[i]})
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, "data: "...), b...), "\n\n"...)
	}
	return out, nil
}

// Close leaves.
func (w *summaries) Close() {
	w.stream.Close()
	w.leave()
}
