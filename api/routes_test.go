package api

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-run/troupe/wire"
)

// answered is the head of an answer.
type answered struct {
	StatusCode int
	Header     http.Header
}

// request sends one and gives the answer.
func request(t *testing.T, method, url, body string, header ...string) (answered, string) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
			continue
		}
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answered{res.StatusCode, res.Header}, string(b)
}

// refused checks a problem: its status, its type, its code.
func refused(t *testing.T, what string, res answered, body string, status int, code wire.Code) {
	t.Helper()
	var p Problem
	if err := json.Unmarshal([]byte(body), &p); err != nil || res.StatusCode != status || p.Status != status || p.Code != code ||
		p.Detail == "" || res.Header.Get("Content-Type") != mediaProblem {
		t.Errorf("%s: %d %s %q, want %d %s", what, res.StatusCode, res.Header.Get("Content-Type"), body, status, code)
	}
}

func TestEveryRouteAnswers(t *testing.T) {
	f := &fakeThreads{}
	url, _ := serve(t, f, nil)
	for _, c := range []struct {
		method, path, body string
		status             int
		call, holds        string
	}{
		{"GET", "/", "", 200, "", "openapi.json"},
		{"GET", "/healthz", "", 200, "", `"ok":true`},
		{"GET", "/readyz", "", 200, "", `"ok":true`},
		{"GET", "/openapi.json", "", 200, "", `"openapi"`},
		{"GET", "/api/agents", "", 200, "agents", `"name":"scripted"`},
		{"GET", "/api/threads?type=scripted&limit=3", "", 200, "list", `"threads":[`},
		{"POST", "/api/threads", `{"type":"scripted"}`, 201, "CREATE", `"id":"scripted.a"`},
		{"POST", "/api/threads", `{"id":"old"}`, 200, "CREATE", `"id":"scripted.a"`},
		{"GET", "/api/threads/a", "", 200, "get", `"headSeq":-1`},
		{"GET", "/api/threads/scripted.a/history", "", 200, "history", `"openDialogs":[]`},
		{"POST", "/api/threads/a/prompt", `{"message":"hi"}`, 202, "PROMPT hi", `"messageId":"m-hi"`},
		{"DELETE", "/api/threads/a/queue/m1", "", 204, "WITHDRAW m1", ""},
		{"POST", "/api/threads/a/abort", "", 200, "ABORT", `"queue":[]`},
		{"GET", "/api/threads/a/dialog", "", 200, "dialogs", `"method":"confirm"`},
		{"POST", "/api/threads/a/dialog", `{"id":"d","confirmed":true}`, 204, "ANSWER d", ""},
		{"POST", "/api/threads/a/mode", `{"mode":"plan"}`, 202, "MODE", ""},
		{"POST", "/api/threads/a/model", `{"id":"m"}`, 202, "MODEL", ""},
		{"POST", "/api/threads/a/compact", "", 202, "COMPACT", ""},
		{"POST", "/api/threads/a/rename", `{"title":"x"}`, 202, "RENAME", ""},
		{"GET", "/api/threads/a/events", "", 200, "tails", `"emitted":[]`},
	} {
		before := len(f.calls())
		res, body := request(t, c.method, url+c.path, c.body)
		if res.StatusCode != c.status || !strings.Contains(body, c.holds) {
			t.Errorf("%s %s: %d %q, want %d with %q", c.method, c.path, res.StatusCode, body, c.status, c.holds)
		}
		calls := f.calls()[before:]
		if c.call == "" && len(calls) != 0 || c.call != "" && !slices.Equal(calls, []string{c.call}) {
			t.Errorf("%s %s asked for %q, want %q", c.method, c.path, calls, c.call)
		}
	}
}

// TestMetricsAreWhatTheConfigurationGives: its text, its failure, or no route.
func TestMetricsAreWhatTheConfigurationGives(t *testing.T) {
	var fails error
	url, _ := serve(t, &fakeThreads{}, func(c *Config) {
		c.Metrics = func() ([]byte, error) { return []byte("troupe_threads 3\n"), fails }
	})
	res, body := request(t, "GET", url+"/metrics", "")
	if res.StatusCode != 200 || body != "troupe_threads 3\n" || res.Header.Get("Content-Type") != mediaMetrics {
		t.Errorf("%d %q, %v", res.StatusCode, body, res.Header)
	}
	if res, body := request(t, "HEAD", url+"/metrics", ""); res.StatusCode != 200 || body != "" {
		t.Errorf("HEAD: %d %q", res.StatusCode, body)
	}
	res, body = request(t, "POST", url+"/metrics", "")
	refused(t, "a POST", res, body, 405, wire.CodeMethodNotAllowed)
	res, body = request(t, "GET", url+"/metrics", "", "Origin", "http://evil.example")
	refused(t, "a foreign page", res, body, 403, wire.CodeForbidden)
	fails = io.ErrUnexpectedEOF
	res, body = request(t, "GET", url+"/metrics", "")
	refused(t, "a failure", res, body, 500, wire.CodeInternal)

	without, _ := serve(t, &fakeThreads{}, nil)
	res, body = request(t, "GET", without+"/metrics", "")
	refused(t, "no numbers", res, body, 404, wire.CodeNotFound)
}

func TestBadInputIsRefusedClearly(t *testing.T) {
	f := &fakeThreads{}
	url, _ := serve(t, f, func(c *Config) { c.MaxBody = 1000 })
	for _, c := range []struct {
		what, method, path, body string
		status                   int
		code                     wire.Code
		header                   []string
	}{
		{"unknown route", "GET", "/nothing", "", 404, wire.CodeNotFound, nil},
		{"wrong method", "PUT", "/api/threads/a/prompt", "{}", 405, wire.CodeMethodNotAllowed, nil},
		{"malformed JSON", "POST", "/api/threads/a/prompt", `{"message":`, 400, wire.CodeBadRequest, nil},
		{"unknown field", "POST", "/api/threads/a/prompt", `{"message":"x","colour":1}`, 400, wire.CodeBadRequest, nil},
		{"wrong case", "POST", "/api/threads/a/prompt", `{"Message":"x"}`, 400, wire.CodeBadRequest, nil},
		{"wrong type", "POST", "/api/threads/a/prompt", `{"message":7}`, 400, wire.CodeBadRequest, nil},
		{"a field twice", "POST", "/api/threads/a/prompt", `{"message":"x","message":"y"}`, 400, wire.CodeBadRequest, nil},
		{"no body", "POST", "/api/threads/a/prompt", "", 400, wire.CodeBadRequest, nil},
		{"trailing data", "POST", "/api/threads/a/prompt", `{"message":"x"} {}`, 400, wire.CodeBadRequest, nil},
		{"a form", "POST", "/api/threads/a/prompt", `{"message":"x"}`, 400, wire.CodeBadRequest, []string{"Content-Type", "text/plain"}},
		{"body too large", "POST", "/api/threads/a/prompt", `{"message":"` + strings.Repeat("x", 2000) + `"}`, 413, wire.CodeTooLarge, nil},
		{"unknown query", "GET", "/api/threads?colour=red", "", 400, wire.CodeBadRequest, nil},
		{"limit out of range", "GET", "/api/threads?limit=9999", "", 422, wire.CodeInvalid, nil},
		{"limit no number", "GET", "/api/threads?limit=x", "", 400, wire.CodeBadRequest, nil},
		{"foreign host", "GET", "/api/threads", "", 403, wire.CodeForbidden, []string{"Host", "evil.example"}},
		{"foreign origin", "POST", "/api/threads/a/abort", "", 403, wire.CodeForbidden, []string{"Origin", "http://evil.example"}},
		{"null origin", "GET", "/api/threads", "", 403, wire.CodeForbidden, []string{"Origin", "null"}},
		{"two arms", "POST", "/api/threads/a/dialog", `{"id":"d","value":"x","cancelled":true}`, 422, wire.CodeInvalid, nil},
		{"no arm", "POST", "/api/threads/a/dialog", `{"id":"d"}`, 422, wire.CodeInvalid, nil},
	} {
		res, body := request(t, c.method, url+c.path, c.body, c.header...)
		refused(t, c.what, res, body, c.status, c.code)
		if c.status == 405 && res.Header.Get("Allow") == "" {
			t.Errorf("%s: no Allow", c.what)
		}
	}
	if calls := f.calls(); len(calls) != 0 {
		t.Errorf("something was asked all the same: %q", calls)
	}
	if res, _ := request(t, "GET", url+"/api/threads", "", "Host", "localhost"); res.StatusCode != 200 {
		t.Errorf("localhost is ours: %d", res.StatusCode)
	}
	if res, _ := request(t, "GET", url+"/api/threads", "", "Origin", url); res.StatusCode != 200 {
		t.Errorf("our own origin: %d", res.StatusCode)
	}
}

// TestEveryCodeIsMappedOnce: a failure of the port is answered with its code's
// status; what is none is internal and says nothing of itself.
func TestEveryCodeIsMappedOnce(t *testing.T) {
	f := &fakeThreads{}
	url, _ := serve(t, f, nil)
	for _, code := range wire.Codes() {
		f.refuse(wire.Errorf(code, "because"))
		res, body := request(t, "GET", url+"/api/threads/a", "")
		refused(t, string(code), res, body, code.Status(), code)
	}
	f.refuse(io.ErrUnexpectedEOF)
	res, body := request(t, "GET", url+"/api/threads/a", "")
	refused(t, "another error", res, body, 500, wire.CodeInternal)
	if strings.Contains(body, "EOF") {
		t.Errorf("it gives itself away: %s", body)
	}
}

// TestAPanicInAHandlerIsAProblem and ends nothing.
func TestAPanicInAHandlerIsAProblem(t *testing.T) {
	f := &fakeThreads{}
	said := make(chan string, 10)
	url, s := serve(t, f, func(c *Config) { c.Panicked = func(where string, _ any, _ []byte) { said <- where } })
	s.cfg.Threads = nil // the next call of the port panics
	res, body := request(t, "GET", url+"/api/threads/a", "")
	refused(t, "panic", res, body, 500, wire.CodeInternal)
	<-said
	if res, _ := request(t, "GET", url+"/healthz", ""); res.StatusCode != 200 {
		t.Errorf("after it: %d", res.StatusCode)
	}
}

// TestIdempotencyKeyReplaysTheFirstResult, and refuses another request under it.
func TestIdempotencyKeyReplaysTheFirstResult(t *testing.T) {
	f := &fakeThreads{}
	url, _ := serve(t, f, nil)
	path := url + "/api/threads/a/prompt"
	_, first := request(t, "POST", path, `{"message":"one"}`, "Idempotency-Key", "k")
	res, again := request(t, "POST", path, `{"message":"one"}`, "Idempotency-Key", "k")
	if res.StatusCode != 202 || first != again || len(f.calls()) != 1 {
		t.Errorf("%d, %q then %q, calls %q", res.StatusCode, first, again, f.calls())
	}
	res, body := request(t, "POST", path, `{"message":"two"}`, "Idempotency-Key", "k")
	if res.StatusCode != 409 && res.StatusCode != 422 {
		t.Errorf("another body: %d %s", res.StatusCode, body)
	}
	if res, _ := request(t, "POST", path, `{"message":"two"}`, "Idempotency-Key", "k2"); res.StatusCode != 202 || len(f.calls()) != 2 {
		t.Errorf("another key: %d, %q", res.StatusCode, f.calls())
	}
}

// TestRule_ObservationReads: no GET calls anything of the port that changes.
func TestRule_ObservationReads(t *testing.T) {
	f := &fakeThreads{follow: newFollower, watch: &fakeWatch{*newFollower(FollowOptions{})}}
	url, _ := serve(t, f, nil)
	for _, r := range routes() {
		if r.method != http.MethodGet || r.streams() {
			continue
		}
		request(t, "GET", url+strings.ReplaceAll(r.path, "{id}", "a"), "")
	}
	for _, c := range f.calls() {
		if bytes.ContainsAny([]byte(c), "ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			t.Errorf("a read called %s", c)
		}
	}
}

// TestRule_ARouteTellsTheFeedSaysWhatHappened: what a changing route answers is a
// receipt; no outcome of a run or a question is in it.
func TestRule_ARouteTellsTheFeedSaysWhatHappened(t *testing.T) {
	for _, r := range routes() {
		for _, a := range r.answers {
			if r.method == http.MethodGet || a.body == nil {
				continue
			}
			switch a.body.Name() {
			case "PromptReceipt", "AbortReceipt", "Summary":
			default:
				t.Errorf("%s %s answers %s", r.method, r.path, a.body)
			}
		}
	}
}
