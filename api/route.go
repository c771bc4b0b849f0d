package api

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/troupe-run/troupe/wire"
)

// route is one row of the table that registers the handlers and from which
// openapi.json and ROUTES.md are made.
type route struct {
	method  string
	path    string // as OpenAPI writes it, "/api/threads/{id}"
	id      string // OpenAPI's operationId
	summary string
	about   string
	query   []parameter
	takes   *input
	answers []answer
	codes   []wire.Code // what its own refusals say, beside [commonCodes]
	serve   func(s *Server, c *call) (reply, error)
}

// input is a request's body.
type input struct {
	typ      reflect.Type
	optional bool // no body at all will do
}

// answer is one way in which a route answers.
type answer struct {
	status int
	about  string
	media  string       // "" is no body
	body   reflect.Type // nil for a text
}

// call is one request, checked as far as its route's row says.
type call struct {
	ctx       context.Context
	id        string // of the thread, as the client wrote it
	messageID string
	query     map[string]string // only what is there and not empty
	body      []byte
	key       string // its Idempotency-Key
}

// reply is what a handler gives: a body that is to be encoded, one that is ready, or
// a stream.
type reply struct {
	status   int
	body     any
	raw      []byte
	media    string // of raw
	encoded  Encoded
	location string
	stream   opener
}

// commonCodes are refusals that every route may answer with.
var commonCodes = []wire.Code{
	wire.CodeBadRequest, wire.CodeForbidden, wire.CodeTooLarge, wire.CodeLimit,
	wire.CodeTimeout, wire.CodeUnavailable, wire.CodeStorageFull, wire.CodeInternal,
}

func (r *route) idempotent() bool { return r.method == http.MethodPost }

func (r *route) streams() bool {
	return slices.ContainsFunc(r.answers, func(a answer) bool { return a.media == mediaSSE })
}

var braces = regexp.MustCompile(`\{(\w+)\}`)

// fiberPath is the path as fiber writes it.
func fiberPath(path string) string { return braces.ReplaceAllString(path, ":$1") }

// register makes the table's handlers; every path also answers HEAD where there is
// a GET, OPTIONS, and 405 to the rest.
func (s *Server) register(app *fiber.App, table []route) {
	var order []string
	methods := map[string][]string{}
	for i := range table {
		r := &table[i]
		if methods[r.path] == nil {
			order = append(order, r.path)
		}
		methods[r.path] = append(methods[r.path], r.method)
		if r.method == http.MethodGet {
			methods[r.path] = append(methods[r.path], http.MethodHead)
		}
	}
	for _, path := range order {
		allow := strings.Join(append(methods[path], http.MethodOptions), ", ")
		for i := range table {
			if r := &table[i]; r.path == path {
				app.Add(r.method, fiberPath(path), s.handler(r))
				if r.method == http.MethodGet {
					app.Add(http.MethodHead, fiberPath(path), s.handler(r))
				}
			}
		}
		app.Add(http.MethodOptions, fiberPath(path), func(c *fiber.Ctx) error {
			rendered{status: http.StatusNoContent, allow: allow}.write(c.Context())
			return nil
		})
		app.All(fiberPath(path), func(c *fiber.Ctx) error {
			f := wire.Errorf(wire.CodeMethodNotAllowed, "%s is not allowed here; allowed: %s", c.Method(), allow)
			out := problem(f, c.Path())
			out.allow = allow
			out.write(c.Context())
			return nil
		})
	}
	app.Use(func(c *fiber.Ctx) error {
		problem(wire.Errorf(wire.CodeNotFound, "there is no such route; see /openapi.json"), c.Path()).write(c.Context())
		return nil
	})
}

// handler is the way of every request: read it against the row, call the port,
// render.
func (s *Server) handler(r *route) fiber.Handler {
	return func(c *fiber.Ctx) error {
		path := c.Path()
		in, err := r.read(c)
		if err != nil {
			problem(s.failure(err, path), path).write(c.Context())
			return nil
		}
		if r.streams() {
			s.startStream(r, c, in, path)
			return nil
		}
		ctx, cancel := context.WithTimeout(s.base, s.cfg.CallTimeout)
		defer cancel()
		in.ctx = ctx
		run := func() rendered { return s.render(r, in, path) }
		if in.key == "" {
			run().write(c.Context())
			return nil
		}
		scope, err := s.scope(ctx, r, in)
		if err != nil {
			problem(s.failure(err, path), path).write(c.Context())
			return nil
		}
		out, err := s.receipts.do(ctx, scope, in.key, in.body, run)
		if err != nil {
			out = problem(s.failure(err, path), path)
		}
		out.write(c.Context())
		return nil
	}
}

// scope is what an Idempotency-Key is of: the route and the thread, however the client
// wrote its id.
func (s *Server) scope(ctx context.Context, r *route, in *call) (string, error) {
	scope := r.method + " " + r.path
	if in.id != "" {
		id, err := s.cfg.Threads.Resolve(ctx, in.id)
		if err != nil {
			return "", err
		}
		scope += " " + id
	}
	return scope + " " + in.messageID, nil
}

func (s *Server) render(r *route, in *call, path string) rendered {
	out, err := r.serve(s, in)
	switch {
	case err != nil:
		return problem(s.failure(err, path), path)
	case out.encoded != nil:
		return rendered{status: out.status, media: mediaJSON, encoded: out.encoded}
	case out.body == nil:
		return rendered{status: out.status, media: out.media, body: out.raw, location: out.location}
	}
	b, err := wire.Encode(out.body)
	if err != nil {
		return problem(s.failure(err, path), path)
	}
	return rendered{status: out.status, media: mediaJSON, body: b, location: out.location}
}

// startStream hands the connection over. A HEAD gets the head alone: subscribing
// for it would make it somebody who listens.
func (s *Server) startStream(r *route, c *fiber.Ctx, in *call, path string) {
	out, err := r.serve(s, in)
	if err != nil {
		problem(s.failure(err, path), path).write(c.Context())
		return
	}
	nc, ours := c.Context().Conn().(*conn)
	if c.Method() == http.MethodHead || !ours {
		if in.id != "" {
			ctx, cancel := context.WithTimeout(s.base, s.cfg.CallTimeout)
			defer cancel()
			if _, err := s.cfg.Threads.Resolve(ctx, in.id); err != nil {
				problem(s.failure(err, path), path).write(c.Context())
				return
			}
		}
		rendered{status: http.StatusOK, media: mediaSSE}.write(c.Context())
		return
	}
	st := &stream{srv: s, conn: nc, path: path}
	c.Context().HijackSetNoResponse(true)
	// Returning from the hijack at once gives fasthttp its buffers and its request
	// back: the stream needs neither.
	c.Context().Hijack(func(net.Conn) {
		s.cfg.Go("follower", func() { st.serve(out.stream) })
	})
}

// read checks what every route checks alike.
func (r *route) read(c *fiber.Ctx) (*call, error) {
	in := &call{}
	for name, into := range map[string]*string{"id": &in.id, "messageId": &in.messageID} {
		if raw := c.Params(name); raw != "" {
			text, err := url.PathUnescape(raw)
			if err != nil {
				return nil, wire.Errorf(wire.CodeBadRequest, "the path holds a bad percent-encoding")
			}
			*into = text
		}
	}
	var err error
	if in.query, err = readQuery(c.Context().QueryArgs(), r.query); err != nil {
		return nil, err
	}
	if r.method == http.MethodGet {
		return in, nil
	}
	if err := r.readBody(c, in); err != nil {
		return nil, err
	}
	if key := c.Get("Idempotency-Key"); r.idempotent() && c.Request().Header.Peek("Idempotency-Key") != nil {
		if !validKey(key) {
			return nil, wire.Errorf(wire.CodeBadRequest, "Idempotency-Key: want 1 to %d visible ASCII characters", maxKey)
		}
		in.key = key
	}
	return in, nil
}

// readBody takes JSON only, and only where it says so: a form of a foreign page
// can send neither.
func (r *route) readBody(c *fiber.Ctx, in *call) error {
	in.body = c.Request().Body()
	if media := c.Get("Content-Type"); len(in.body) > 0 || media != "" {
		media, _, _ = strings.Cut(media, ";")
		if !strings.EqualFold(strings.TrimSpace(media), mediaJSON) {
			return wire.Errorf(wire.CodeBadRequest, "Content-Type: want %s", mediaJSON)
		}
	}
	if enc := c.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return wire.Errorf(wire.CodeBadRequest, "Content-Encoding: want none")
	}
	switch {
	case len(in.body) == 0 && r.takes != nil && !r.takes.optional:
		return wire.Errorf(wire.CodeBadRequest, "a JSON body is missing")
	case len(in.body) > 0 && r.takes == nil:
		if _, err := wire.DecodeStrict[struct{}](in.body); err != nil {
			return err
		}
	}
	return nil
}
