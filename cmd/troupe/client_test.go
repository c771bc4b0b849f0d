package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/troupe-run/troupe/wire"
)

// execute runs the command line against a server and answers the exit code.
func execute(t *testing.T, server, stdin string, args ...string) (code int, out, errOut string) {
	t.Helper()
	return executeWithin(t, 20*time.Second, server, stdin, args...)
}

func executeWithin(t *testing.T, bound time.Duration, server, stdin string, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	c := &cli{in: strings.NewReader(stdin), out: &o, err: &e, exit: func(int) { t.Error("exit was called") },
		env: func(k string) string { return map[string]string{"TROUPE_SERVER": server}[k] }}
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	return c.run(ctx, args), o.String(), e.String()
}

func TestNoServerIsSaidClearly(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	base := "http://" + ln.Addr().String()
	ln.Close()
	for _, args := range [][]string{{"ls"}, {"agents"}, {"new"}, {"prompt", "a", "hi"}, {"prompt", "a", "hi", "--wait"},
		{"follow", "a"}, {"answer", "a"}, {"abort", "a"}, {"rename", "a", "b"}} {
		server := base
		if args[0] == "ls" { // as serve takes it
			server = strings.TrimPrefix(base, "http://")
		}
		code, out, errOut := execute(t, server, "", args...)
		if want := "troupe: no server at " + base + "; start one with `troupe serve`\n"; code != exitNoServer || out != "" || errOut != want {
			t.Errorf("%v: %d, %q, %q", args, code, out, errOut)
		}
	}
}

func TestUsageErrors(t *testing.T) {
	for _, args := range [][]string{{"frobnicate"}, {"ls", "--nope"}, {"prompt"}, {"abort"}, {"follow", "a", "b"},
		{"ls", "--server", "nonsense"}, {"ls", "--server", "ftp://h"}, {"prompt", "a", "text", "--file", "f"},
		{"prompt", "a", "--file", "/does/not/exist"}, {"new", "--args", "{"}} {
		code, _, errOut := execute(t, "http://127.0.0.1:1", "", args...)
		if code != exitUsage || !strings.HasPrefix(errOut, "troupe: ") {
			t.Errorf("%v: %d, %q", args, code, errOut)
		}
	}
}

func TestProblemsAreShownWithTheirCode(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/threads":
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(422)
			fmt.Fprint(w, `{"type":"about:blank","title":"Invalid","status":422,"detail":"bad \u001b[2J cursor","code":"invalid"}`)
		case "/api/agents":
			fmt.Fprint(w, `[{"name":"x","unknown":1}]`)
		default:
			w.WriteHeader(502)
			fmt.Fprint(w, "<html>")
		}
	}))
	defer srv.Close()
	for verb, want := range map[string]string{
		"ls":     "troupe: bad ␛[2J cursor (invalid)\n",
		"agents": "troupe: cannot read the server's answer; are both of one version?",
		"abort":  "troupe: the server answered 502 Bad Gateway, which is no answer of a troupe\n",
	} {
		args := []string{verb}
		if verb == "abort" {
			args = append(args, "a")
		}
		code, _, errOut := execute(t, srv.URL, "", args...)
		if code != exitFailure || !strings.HasPrefix(errOut, want) {
			t.Errorf("%s: %d, %q", verb, code, errOut)
		}
	}
}

func TestPromptSendsTextFileAndStdin(t *testing.T) {
	var got wire.PromptRequest
	var path string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		path = r.URL.EscapedPath()
		var err error
		if got, err = wire.DecodeStrict[wire.PromptRequest](b); err != nil {
			t.Errorf("body %s: %v", b, err)
		}
		w.WriteHeader(202)
		fmt.Fprintf(w, `{"messageId":%q,"queued":true}`, got.MessageID)
	}))
	defer srv.Close()
	file := t.TempDir() + "/p.txt"
	if err := writeFile(file, "from a file\n"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args  []string
		stdin string
		want  string
	}{
		{[]string{"prompt", "a.b", "two", "words"}, "", "two words"},
		{[]string{"prompt", "a.b", "--file", file}, "", "from a file"},
		{[]string{"prompt", "a.b"}, "from stdin\r\n", "from stdin"},
		{[]string{"prompt", "a.b", "-f", "-"}, "dash", "dash"},
	} {
		code, out, errOut := execute(t, srv.URL, c.stdin, c.args...)
		if code != 0 || got.Message != c.want || out != got.MessageID+" queued\n" || path != "/api/threads/a.b/prompt" {
			t.Errorf("%v: %d, sent %q to %s, out %q, err %q", c.args, code, got.Message, path, out, errOut)
		}
	}
	execute(t, srv.URL, "", "prompt", "../x y", "hi")
	if path != "/api/threads/..%2Fx%20y/prompt" {
		t.Errorf("an id became the path %s", path)
	}
}

func TestEventsReadsAnyChunking(t *testing.T) {
	stream := ": beat\n\ndata: {\"a\":1}\n\nevent: x\ndata:two\r\ndata: lines\r\n\r\nid: 1\n\ndata: cut"
	for name, r := range map[string]io.Reader{
		"whole": strings.NewReader(stream), "bytes": iotest.OneByteReader(strings.NewReader(stream)),
		"halves": iotest.HalfReader(strings.NewReader(stream)),
	} {
		var got []string
		beats := 0
		err := events(r, func() { beats++ }, func(b []byte) error { got = append(got, string(b)); return nil })
		if !errors.Is(err, io.EOF) || strings.Join(got, "|") != "{\"a\":1}|two\nlines" || beats == 0 {
			t.Errorf("%s: %q, %v, %d beats", name, got, err, beats)
		}
	}
}

func TestEventsReadsALongLine(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	n := 0
	_ = events(strings.NewReader("data: "+long+"\n\n"), func() {}, func(b []byte) error { n = len(b); return nil })
	if n != len(long) {
		t.Errorf("got %d bytes of %d", n, len(long))
	}
}

func TestFollowReconnectsToANewSnapshot(t *testing.T) {
	var connects atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := connects.Add(1)
		b, err := wire.AppendSSE(nil, emptySnapshot())
		if err != nil {
			t.Error(err)
		}
		if n == 3 {
			b, _ = wire.AppendSSE(b, obs(&wire.ExtensionUIRequest{ID: "n", Origin: wire.OriginRun, Notice: &wire.Notice{Level: wire.NoticeInfo, Message: "there"}}))
		}
		if n == 2 { // the server stops: to be tried again
			w.WriteHeader(503)
			fmt.Fprint(w, `{"code":"unavailable","detail":"stopping"}`)
			return
		}
		if n == 4 { // the thread's agent is gone: not to be tried again
			w.WriteHeader(404)
			fmt.Fprint(w, `{"code":"not-found","detail":"no such agent"}`)
			return
		}
		w.Write(b)
	}))
	defer srv.Close()
	code, out, errOut := execute(t, srv.URL, "", "follow", "a")
	want := "── scripted.a · no session\nnothing was said on this thread yet\n── connection lost\n── connected again · scripted.a · no session\nnothing was said on this thread yet\n· info: there\n── connection lost\n"
	var lines []string
	for l := range strings.SplitSeq(out, "\n") {
		l, _, _ = strings.Cut(l, ", trying")
		lines = append(lines, l)
	}
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if code != exitFailure || errOut != "troupe: no such agent (not-found)\n" {
		t.Errorf("%d, %q", code, errOut)
	}
}

func TestFollowEndsWhenIdle(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := emptySnapshot()
		s.Live, s.Busy, s.Generation = true, true, 1
		b, _ := wire.AppendSSE(nil, s)
		b, _ = wire.AppendSSE(b, &wire.Status{Live: true, Generation: 1})
		w.Write(b)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer srv.Close()
	code, out, errOut := execute(t, srv.URL, "", "follow", "a", "--until-idle", "--json")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != 0 || len(lines) != 2 || errOut != "" {
		t.Fatalf("%d, %q, %q", code, out, errOut)
	}
	for _, l := range lines {
		if _, err := wire.DecodeFrame([]byte(l)); err != nil {
			t.Errorf("%s: %v", l, err)
		}
	}
}

func TestInterruptedVerbSays130(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer srv.Close()
	var o, e bytes.Buffer
	c := &cli{in: &o, out: &o, err: &e, env: func(string) string { return "" }}
	if code := c.run(ctx, []string{"follow", "a", "--server", srv.URL}); code != exitInterrupted || e.String() != "" {
		t.Errorf("%d, %q", code, e.String())
	}
}

func TestWorkFolder(t *testing.T) {
	here, _ := os.Getwd()
	for _, c := range [][3]string{
		{"", "http://127.0.0.1:4777", ""}, {".", "http://127.0.0.1:4777", here}, {"sub", "http://localhost:1", here + "/sub"}, {"/x", "http://[::1]:1", "/x"},
		{"", "http://example.com", ""}, {"sub", "http://example.com", "sub"},
	} {
		if got, err := workFolder(c[0], c[1]); err != nil || got != c[2] {
			t.Errorf("workFolder(%q, %q) = %q, %v; want %q", c[0], c[1], got, err, c[2])
		}
	}
}

func writeFile(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) }

func mkdir(path string) error { return os.MkdirAll(path, 0o700) }
