package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"

	"github.com/troupe-run/troupe/wire"
)

func ptr(v float64) *float64 { return &v }

// someVitals are of a busy server, with titles that want to drive the terminal or
// are wider than they are long.
func someVitals() *vitals {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	thread := func(id string, status wire.ThreadStatus, asks int, ago time.Duration, title string) wire.Summary {
		return wire.Summary{ID: id, Status: status, AwaitingInput: asks > 0, OpenDialogs: asks, UpdatedAt: wire.At(at.Add(-ago)), Title: title}
	}
	v := &vitals{
		At: at, Server: "http://127.0.0.1:4777", UptimeSeconds: 8000, CPU: ptr(1.234), MemoryBytes: 84.1e6, Goroutines: 1312,
		Threads: 12, Sessions: 3, Runs: 2, DialogsOpen: 1, Followers: 45, Streams: 46, LagBytes: 12_345, LagMaxBytes: 900,
		FramesPerSecond: ptr(1204.4), DeliveredPerSecond: ptr(3.4e6), PublishP50Seconds: ptr(1.2e-6), PublishP99Seconds: nil,
		Prompts: 1_234_567, SnapshotEncodings: 45, ClosedSlow: 0, Restarts: 2, SessionFailures: 0,
		List: []wire.Summary{
			thread("scripted.idle", wire.StatusIdle, 0, time.Second, "newest\nof all"),
			thread("scripted.failed", wire.StatusFailed, 0, 50*time.Hour, ""),
			thread("scripted.wide", wire.StatusActive, 0, 3*time.Minute, "日本語のとても長いタイトルで幅を確かめる"),
			thread("scripted.evil", wire.StatusActive, 0, 2*time.Hour, "evil \x1b[2J title"),
			thread("scripted.asks", wire.StatusActive, 2, time.Hour, "which one?"),
		},
	}
	busiest(v.List)
	return v
}

func TestTopPageForAPipe(t *testing.T) {
	have := strings.Join(page{}.render(someVitals(), "", ""), "\n")
	want := strings.TrimPrefix(`
troupe http://127.0.0.1:4777   up 2h 13m   cpu 123.4%   memory 84.1 MB   goroutines 1,312
threads 12   sessions 3   runs 2   dialogs open 1   followers 45   streams 46
frames 1,204/s   delivered 3.4 MB/s   lag 12.3 KB   slowest 900 B   publish p50 1.2 µs   p99 –
prompts 1,234,567   snapshot encodings 45   closed slow 0   restarts 2   session failures 0

THREAD           STATUS          AGE  TITLE
scripted.asks    asks 2           1h  which one?
scripted.wide    active           3m  日本語のとても長いタイトルで幅を確かめる
scripted.evil    active           2h  evil ␛[2J title
scripted.idle    idle             1s  newest of all
scripted.failed  failed           2d  -`, "\n")
	if have != want {
		t.Errorf("have:\n%s\nwant:\n%s", have, want)
	}
}

// TestTopPageKeepsToTheTerminal at every size: no line is wider, there are no more
// lines, and nothing is left of what a title says to a terminal.
func TestTopPageKeepsToTheTerminal(t *testing.T) {
	for width := 1; width <= 120; width++ {
		for height := 1; height <= 30; height++ {
			for _, trouble := range []string{"", "no server at all, and a long story about it; trying again"} {
				lines := page{width: width, height: height}.render(someVitals(), trouble, "q quits")
				if len(lines) > height {
					t.Fatalf("%d×%d: %d lines", width, height, len(lines))
				}
				for _, l := range lines {
					if w := runewidth.StringWidth(l); w > width && width > 1 || strings.ContainsAny(l, "\x1b\n\r") {
						t.Fatalf("%d×%d: %q is %d wide", width, height, l, w)
					}
				}
				if last := lines[len(lines)-1]; width >= 7 && last != "q quits" {
					t.Fatalf("%d×%d: the last line is %q", width, height, last)
				}
			}
		}
	}
	dressed := strings.Join(page{width: 80, height: 24, st: style{on: true}}.render(someVitals(), "lost", "q quits"), "\n")
	for _, want := range []string{"\x1b[33masks 2 ", "\x1b[31mfailed ", "\x1b[31mlost\x1b[0m", "\x1b[31m2\x1b[0m"} {
		if !strings.Contains(dressed, want) {
			t.Errorf("no %q in\n%q", want, dressed)
		}
	}
}

func histogram(counts ...float64) []bucket {
	les := []float64{1e-6, 2e-6, 4e-6, math.Inf(1)}
	var out []bucket
	for i, n := range counts {
		out = append(out, bucket{les[i], n})
	}
	return out
}

func TestPublishQuantileIsOfTheDifference(t *testing.T) {
	before := &figures{publish: histogram(100, 100, 100, 100)}
	for _, c := range []struct {
		before *figures
		later  []bucket
		q      float64
		want   float64 // 0: not known
	}{
		{before, histogram(100, 100, 100, 100), 0.5, 0},
		{before, histogram(100, 110, 110, 110), 0.5, 1.5e-6},
		{before, histogram(100, 105, 110, 110), 0.99, 3.96e-6},
		{before, histogram(100, 100, 100, 101), 0.5, 4e-6},
		{nil, histogram(10, 10, 10, 10), 0.5, 0.5e-6},
		{nil, nil, 0.5, 0},
	} {
		got := c.before.publishQuantile(&figures{publish: c.later}, c.q)
		if (got == nil) != (c.want == 0) || got != nil && math.Abs(*got-c.want) > 1e-9 {
			t.Errorf("%v, %v: %v, want %v", c.later, c.q, got, c.want)
		}
	}
}

// TestRatesAreOfOneProcess: a server that was started anew is compared with nothing
// from before; the percentiles look back no further than their window.
func TestRatesAreOfOneProcess(t *testing.T) {
	at := time.Now()
	shot := func(after time.Duration, started, frames float64) *figures {
		return &figures{at: at.Add(after), values: map[string]float64{"process_start_time_seconds": started, "troupe_frames_total": frames}}
	}
	var h history
	first := shot(0, 1, 100)
	if before, oldest := h.add(first); before != nil || oldest != nil {
		t.Errorf("at first: %v, %v", before, oldest)
	}
	second := shot(2*time.Second, 1, 150)
	before, oldest := h.add(second)
	if before != first || oldest != first {
		t.Errorf("then: %v, %v", before, oldest)
	}
	if r := before.rate(second, "troupe_frames_total"); r == nil || *r != 25 {
		t.Errorf("rate: %v", r)
	}
	if r := before.rate(second, "nothing"); r != nil {
		t.Errorf("a rate of nothing: %v", *r)
	}
	if before, oldest := h.add(shot(publishWindow+time.Second, 1, 150)); before != second || oldest != second {
		t.Errorf("past the window: %v, %v", before, oldest)
	}
	if before, oldest := h.add(shot(publishWindow+2*time.Second, 2, 3)); before != nil || oldest != nil {
		t.Errorf("started anew: %v, %v", before, oldest)
	}
}

func TestTopSaysWhatIsMissing(t *testing.T) {
	answer := func(status int, media, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", media)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for what, c := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"an older one":  {answer(404, "application/problem+json", `{"status":404,"detail":"no","code":"not-found"}`), "gives no numbers: it has no /metrics"},
		"another":       {answer(200, "text/plain", "up 1\n"), "they are no troupe's"},
		"no metrics":    {answer(200, "text/html", "<html>"), "cannot read the numbers of"},
		"no troupe":     {answer(502, "text/html", "<html>"), "no answer of a troupe"},
		"a broken list": {answer(200, "text/plain", "# TYPE troupe_threads gauge\ntroupe_threads 1\n"), "cannot read the server's answer"},
	} {
		srv := httptest.NewServer(c.handler)
		code, out, errOut := execute(t, srv.URL, "", "top", "--once")
		if code != exitFailure || out != "" || !strings.Contains(errOut, c.want) {
			t.Errorf("%s: %d, %q, %q", what, code, out, errOut)
		}
		srv.Close()
	}
	code, _, errOut := execute(t, "http://127.0.0.1:1", "", "top")
	if code != exitNoServer || !strings.Contains(errOut, "no server at") {
		t.Errorf("no server: %d, %q", code, errOut)
	}
	if code, _, errOut := execute(t, "http://127.0.0.1:1", "", "top", "--interval", "1ms"); code != exitUsage {
		t.Errorf("too often: %d, %q", code, errOut)
	}
}

func TestKeysQuit(t *testing.T) {
	for text, want := range map[string]error{"q": errQuit, "xyzQ": errQuit, "\x1b[A\x03q": context.Canceled, "abc": nil} {
		ctx, quit := context.WithCancelCause(t.Context())
		keys(strings.NewReader(text), quit)
		if have := context.Cause(ctx); !errors.Is(have, want) || want == nil && have != nil {
			t.Errorf("%q: %v, want %v", text, have, want)
		}
		quit(nil)
	}
}

func TestFiguresAreReadable(t *testing.T) {
	for want, have := range map[string]string{
		"1,234": grouped(1234), "999": grouped(999), "-1,000": grouped(-1000), "-999": grouped(-999), "0.5/s": perSecond(ptr(0.5)), "0/s": perSecond(ptr(0)),
		"12/s": perSecond(ptr(11.6)), "250 ns": seconds(ptr(250e-9)), "10.0 ms": seconds(ptr(0.01)), "2.00 GB": size(2e9), "999 B": size(999),
		"59s": short(59 * time.Second), "47h": short(47 * time.Hour), "3d": short(75 * time.Hour), "1m 05s": uptime(65), "2d 01h": uptime(176_500), "0s": uptime(0),
		fmt.Sprint(unknown): percent(nil),
	} {
		if have != want {
			t.Errorf("%q, want %q", have, want)
		}
	}
}
