package api

import (
	"context"
	_ "embed"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
	"go.uber.org/zap"

	"github.com/troupe-run/troupe/wire"
)

// openAPI is made from the table of routes by this package's tests, which hold the
// two to each other.
//
//go:embed openapi.json
var openAPI []byte

// Server is the HTTP surface over one [Threads]. It is served once.
type Server struct {
	cfg      Config
	log      *zap.Logger
	app      *fiber.App
	hosts    *hosts
	conns    *connSet
	streams  *streams
	receipts *receipts
	base     context.Context // of every call; it ends with the last bound of a shutdown
	cancel   context.CancelFunc
	stopping atomic.Bool

	mu sync.Mutex
	ln *listener
}

// New makes a server that serves nothing yet.
func New(cfg Config) *Server {
	cfg = cfg.withDefaults()
	s := &Server{
		cfg: cfg, log: cfg.Log, hosts: newHosts(cfg.Listen, cfg.AllowedHosts),
		conns: &connSet{open: map[*conn]struct{}{}}, streams: newStreams(cfg.MaxFollowers), receipts: newReceipts(),
	}
	s.base, s.cancel = context.WithCancel(context.Background())
	s.app = fiber.New(fiber.Config{
		Immutable:                    true, // a parameter that is kept must not become another request's
		StrictRouting:                true,
		CaseSensitive:                true,
		DisableStartupMessage:        true,
		DisablePreParseMultipartForm: true,
		BodyLimit:                    cfg.MaxBody,
		ReadBufferSize:               cfg.MaxHeader,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 cfg.WriteTimeout,
		IdleTimeout:                  idleTimeout,
		ErrorHandler:                 s.onError,
	})
	s.register(s.app, routes())
	fast := s.app.Server()
	fast.Handler = s.outermost(s.app.Handler())
	fast.ConnState = s.conns.changed
	fast.KeepHijackedConns = true // or closing one does nothing
	fast.MaxIdleWorkerDuration = workerIdle
	fast.SecureErrorLogMessage = true
	return s
}

// Serve answers requests on ln until Shutdown, then returns nil.
func (s *Server) Serve(ln net.Listener) error {
	s.mu.Lock()
	if s.stopping.Load() {
		s.mu.Unlock()
		return ln.Close()
	}
	s.ln = newListener(ln, s.conns, s.log)
	s.mu.Unlock()
	return s.app.Listener(s.ln)
}

// Shutdown stops in this order: no new connection; the followers, who learn it
// first and are waited for a bounded time; then the requests under way, until ctx
// ends, when whatever is left is cut off and ctx's error returned.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.stopping.Store(true)
	ln := s.ln
	s.mu.Unlock()
	if ln != nil {
		_ = ln.Close()
	}
	leaving, cancel := context.WithTimeout(ctx, streamsBound)
	s.streams.close(leaving)
	cancel()
	s.conns.stop()
	err := s.app.ShutdownWithContext(ctx)
	s.cancel()
	s.conns.sever()
	return err
}

// Followers is how many streams are open.
func (s *Server) Followers() int { return s.streams.count() }

// outermost is around everything: whose requests are ours, which methods there
// are, and what a panic is answered with.
func (s *Server) outermost(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		began := time.Now()
		defer func() {
			if v := recover(); v != nil {
				s.cfg.Panicked("request", v, debug.Stack())
				ctx.Response.Reset()
				problem(wire.Errorf(wire.CodeInternal, "an internal error"), string(ctx.Path())).write(ctx)
			}
			if ce := s.log.Check(zap.DebugLevel, "a request"); ce != nil {
				ce.Write(zap.ByteString("method", ctx.Method()), zap.String("path", clip(string(ctx.Path()))),
					zap.Int("status", ctx.Response.StatusCode()), zap.Duration("took", time.Since(began)))
			}
		}()
		if f := s.hosts.check(ctx); f != nil {
			problem(f, string(ctx.Path())).write(ctx)
			return
		}
		if !known(string(ctx.Method())) {
			out := problem(wire.Errorf(wire.CodeMethodNotAllowed, "no such method"), string(ctx.Path()))
			out.allow = "GET, HEAD, POST, DELETE, OPTIONS"
			out.write(ctx)
			return
		}
		next(ctx)
	}
}

// known are the methods fiber routes; it answers others with plain text.
func known(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions, http.MethodConnect, http.MethodTrace:
		return true
	}
	return false
}
