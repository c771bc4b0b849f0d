package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/troupe-run/troupe/wire"
)

// client speaks to one host. Its errors are *wire.Failure, *noServerError or what
// the network said.
type client struct {
	base string
	http *http.Client
}

// maxAnswer bounds what one answer may weigh, in bytes: a history can be large.
const maxAnswer = 256 << 20

func newClient(base string) (*client, error) {
	if _, _, err := net.SplitHostPort(base); err == nil && !strings.Contains(base, "/") { // as serve takes it
		base = "http://" + base
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
		return nil, usagef("--server %s: want an address like %s", plain(base), defaultServer)
	}
	t := &http.Transport{
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		Proxy:                 http.ProxyFromEnvironment,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: 2 * time.Minute,
	}
	return &client{base: strings.TrimSuffix(base, "/"), http: &http.Client{Transport: t}}, nil
}

// thread is a path below /api/threads/<id>.
func thread(id string, rest ...string) string {
	path := "/api/threads/" + url.PathEscape(id)
	for _, r := range rest {
		path += "/" + url.PathEscape(r)
	}
	return path
}

// do sends one request. body and into may be nil; into is decoded strictly.
func (c *client) do(ctx context.Context, method, path string, body []byte, into func([]byte) error) error {
	var r io.Reader
	if body != nil {
		r = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, r)
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.send(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return err
	}
	if len(b) > maxAnswer {
		return fmt.Errorf("the server's answer is over %d bytes", maxAnswer)
	}
	if into == nil {
		return nil
	}
	return into(b)
}

// send answers a response of status 2xx, or its failure.
func (c *client) send(req *http.Request) (*http.Response, error) {
	req.Header.Set("User-Agent", "troupe/"+version())
	res, err := c.http.Do(req)
	if err != nil {
		if req.Context().Err() == nil && unreachable(err) {
			return nil, &noServerError{base: c.base, cause: err}
		}
		return nil, err
	}
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	defer res.Body.Close()
	b, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	return nil, problem(res, b)
}

func unreachable(err error) bool {
	var dns *net.DNSError
	var op *net.OpError
	return errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &dns) || errors.As(err, &op) && op.Op == "dial"
}

// problem reads problem+json, leniently: whatever answers may be no troupe.
func problem(res *http.Response, body []byte) error {
	var p struct {
		Detail string `json:"detail"`
		Title  string `json:"title"`
		Code   string `json:"code"`
	}
	if json.Unmarshal(body, &p) != nil || p.Code == "" {
		return fmt.Errorf("the server answered %s, which is no answer of a troupe", res.Status)
	}
	text := p.Detail
	if text == "" {
		text = p.Title
	}
	return &wire.Failure{Code: wire.Code(p.Code), Message: text}
}

// decode is a strict decoder into v that keeps the answer's text in raw, where
// that is not nil.
func decode[T any](v *T, raw *[]byte) func([]byte) error {
	return func(b []byte) error {
		got, err := wire.DecodeStrict[T](b)
		if err != nil {
			return fmt.Errorf("cannot read the server's answer; are both of one version? %s", wire.AsFailure(err).Message)
		}
		*v = got
		if raw != nil {
			*raw = b
		}
		return nil
	}
}

// call sends in and answers an Out, with the answer's text.
func call[Out any](ctx context.Context, c *client, method, path string, in any) (out Out, raw []byte, err error) {
	var body []byte
	if in != nil {
		if body, err = wire.Encode(in); err != nil {
			return out, nil, err
		}
	}
	err = c.do(ctx, method, path, body, decode(&out, &raw))
	return out, raw, err
}

// tell sends in and expects no more than an acknowledgement.
func tell(ctx context.Context, c *client, method, path string, in any) error {
	body, err := wire.Encode(in)
	if err != nil {
		return err
	}
	return c.do(ctx, method, path, body, nil)
}
