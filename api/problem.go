package api

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
	"go.uber.org/zap"

	"github.com/troupe-run/troupe/wire"
)

const (
	mediaJSON    = "application/json"
	mediaProblem = "application/problem+json"
	mediaText    = "text/plain; charset=utf-8"
	mediaMetrics = "text/plain; version=0.0.4; charset=utf-8" // Prometheus' text format
	mediaSSE     = "text/event-stream"
)

// Problem is the body of every refusal: RFC 9457, and the stable code that
// programs decide by. Type is "about:blank", Title the status in words, Detail for
// people. Instance is the path that was asked for.
type Problem struct {
	Type     string    `json:"type"`
	Title    string    `json:"title"`
	Status   int       `json:"status"`
	Detail   string    `json:"detail"`
	Code     wire.Code `json:"code"`
	Instance string    `json:"instance,omitempty"`
}

// rendered is an answer ready to be written, and to be replayed.
type rendered struct {
	status   int
	media    string
	body     []byte
	location string
	allow    string
	replayed bool
}

// problem renders a refusal: the one place where one becomes a status and a body.
func problem(f *wire.Failure, path string) rendered {
	status := f.Code.Status()
	body, err := wire.Encode(Problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status,
		Detail: f.Message, Code: f.Code, Instance: path,
	})
	if err != nil { // a code outside the closed set
		return problem(wire.Errorf(wire.CodeInternal, "an internal error"), path)
	}
	return rendered{status: status, media: mediaProblem, body: body}
}

// headers are what every answer carries: nothing here is for another site's page,
// nor for a cache.
var headers = [][2]string{
	{"X-Content-Type-Options", "nosniff"},
	{"Cross-Origin-Resource-Policy", "same-origin"},
	{"Cache-Control", "no-store"},
}

func (r rendered) write(ctx *fasthttp.RequestCtx) {
	res := &ctx.Response
	for _, h := range headers {
		res.Header.Set(h[0], h[1])
	}
	res.SetStatusCode(r.status)
	if r.media != "" {
		res.Header.SetContentType(r.media)
	} else {
		res.Header.SetNoDefaultContentType(true)
	}
	for _, h := range [][2]string{{"Location", r.location}, {"Allow", r.allow}, {"Retry-After", retryAfter(r.status)}} {
		if h[1] != "" {
			res.Header.Set(h[0], h[1])
		}
	}
	if r.replayed {
		res.Header.Set("Idempotency-Replayed", "true")
	}
	res.SetBodyRaw(r.body)
}

// raw is the answer as bytes for a connection that is ours, which it ends.
func (r rendered) raw() []byte {
	b := append(statusLine(r.status), "Content-Type: "+r.media+"\r\nContent-Length: "+strconv.Itoa(len(r.body))+"\r\nConnection: close\r\n"...)
	for _, h := range headers {
		b = append(b, h[0]+": "+h[1]+"\r\n"...)
	}
	if after := retryAfter(r.status); after != "" {
		b = append(b, "Retry-After: "+after+"\r\n"...)
	}
	return append(append(b, "\r\n"...), r.body...)
}

func statusLine(status int) []byte {
	b := append([]byte("HTTP/1.1 "), strconv.Itoa(status)+" "+http.StatusText(status)+"\r\nDate: "...)
	return append(fasthttp.AppendHTTPDate(b, time.Now()), "\r\n"...)
}

func retryAfter(status int) string {
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		return "1"
	}
	return ""
}

// failure is err as the client is told it; a bug of ours is logged.
func (s *Server) failure(err error, path string) *wire.Failure {
	f := wire.AsFailure(err)
	if f.Code.Status() == http.StatusInternalServerError {
		s.log.Error("a request failed", zap.String("path", clip(path)), zap.Error(err))
	}
	return f
}

// onError answers what never became a request of ours: fasthttp could not read it.
// The connection ends with the answer.
func (s *Server) onError(c *fiber.Ctx, err error) error {
	f := wire.Errorf(wire.CodeBadRequest, "this is no HTTP request that can be read")
	var fe *fiber.Error
	if errors.As(err, &fe) {
		switch fe.Code {
		case http.StatusRequestEntityTooLarge:
			f = wire.Errorf(wire.CodeTooLarge, "the body has more than %d bytes", s.cfg.MaxBody)
		case http.StatusRequestHeaderFieldsTooLarge:
			f = wire.Errorf(wire.CodeTooLarge, "the request's line and headers have more than %d bytes", s.cfg.MaxHeader)
		case http.StatusRequestTimeout:
			f = wire.Errorf(wire.CodeBadRequest, "the request did not arrive in time")
		}
	}
	if nc, ok := c.Context().Conn().(*conn); ok {
		nc.linger.Store(true)
	}
	problem(f, "").write(c.Context())
	return nil
}

// clip bounds what of a client's words goes into a log.
func clip(s string) string {
	const most = 200
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
