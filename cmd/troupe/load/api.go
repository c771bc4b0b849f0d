package load

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/troupe-run/troupe/wire"
)

// api speaks to the server as any client does.
type api struct {
	base string
	http *http.Client
}

func newAPI(addr string) *api {
	return &api{base: "http://" + addr, http: &http.Client{
		Timeout:   time.Minute,
		Transport: &http.Transport{MaxIdleConnsPerHost: dialsAtOnce, MaxConnsPerHost: 2 * dialsAtOnce, ResponseHeaderTimeout: time.Minute},
	}}
}

func (a *api) close() { a.http.CloseIdleConnections() }

// do answers the response's status and body; an error is that there was none.
func (a *api) do(ctx context.Context, method, path string, in any) (status int, body []byte, err error) {
	var text []byte
	if in != nil {
		if text, err = wire.Encode(in); err != nil {
			return 0, nil, err
		}
	}
	return a.send(ctx, method, path, text)
}

func (a *api) send(ctx context.Context, method, path string, text []byte) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, bytes.NewReader(text))
	if err != nil {
		return 0, nil, err
	}
	if text != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := a.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res.StatusCode, body, err
}

// as is an answer of the status wanted, decoded strictly.
func as[T any](want, status int, body []byte, err error) (out T, _ error) {
	if err != nil {
		return out, err
	}
	if status != want {
		return out, fmt.Errorf("status %d: %.200s", status, body)
	}
	return wire.DecodeStrict[T](body)
}

func threadPath(id, rest string) string { return "/api/threads/" + url.PathEscape(id) + rest }

func (a *api) prompt(ctx context.Context, id string, r wire.PromptRequest) (wire.PromptReceipt, error) {
	status, body, err := a.do(ctx, http.MethodPost, threadPath(id, "/prompt"), &r)
	return as[wire.PromptReceipt](http.StatusAccepted, status, body, err)
}

func (a *api) abort(ctx context.Context, id string) (wire.AbortReceipt, error) {
	status, body, err := a.send(ctx, http.MethodPost, threadPath(id, "/abort"), nil)
	return as[wire.AbortReceipt](http.StatusOK, status, body, err)
}

func (a *api) history(ctx context.Context, id string) (*wire.Snapshot, error) {
	status, body, err := a.do(ctx, http.MethodGet, threadPath(id, "/history"), nil)
	frame, err := as[wire.Frame](http.StatusOK, status, body, err)
	if err != nil {
		return nil, err
	}
	s, ok := frame.(*wire.Snapshot)
	if !ok {
		return nil, fmt.Errorf("a %s, not a snapshot", frame.FrameType())
	}
	return s, nil
}

func (a *api) create(ctx context.Context, r wire.CreateThread) error {
	status, body, err := a.do(ctx, http.MethodPost, "/api/threads", &r)
	_, err = as[wire.Summary](http.StatusCreated, status, body, err)
	return err
}

// answer is the status of one answer to a question.
func (a *api) answer(ctx context.Context, id string, answer []byte) (int, error) {
	status, _, err := a.send(ctx, http.MethodPost, threadPath(id, "/dialog"), answer)
	return status, err
}
