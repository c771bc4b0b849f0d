package main

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// scraped waits until a scrape of the server is as ok says.
func scraped(t *testing.T, cl *client, what string, ok func(*figures) bool) *figures {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var last *figures
	for range 2000 {
		f, err := scrape(t.Context(), cl)
		if err != nil {
			t.Fatal(err)
		}
		if last = f; ok(f) {
			return f
		}
		<-tick.C
	}
	t.Fatalf("%s in vain: %v", what, last.values)
	return nil
}

// TestMetricsAndTopDuringARun: every metric of the page is served with its type;
// the gauges rise with a run that asks and is followed, and fall with it.
func TestMetricsAndTopDuringARun(t *testing.T) {
	url, _ := serving(t)
	cl, err := newClient(url)
	if err != nil {
		t.Fatal(err)
	}
	everyMetricOfThePage(t, cl)
	waited := make(chan string, 1)
	go func() {
		_, out, _ := execute(t, url, "", "prompt", "--wait", "one", "burst:200,100 ; ask:confirm sure? ; say:done")
		waited <- out
	}()
	during := scraped(t, cl, "the question", func(f *figures) bool {
		return f.get("dialogs_open") == 1 && f.get("follower_lag_bytes") == 0
	})
	for name, want := range map[string]float64{"threads": 1, "sessions": 1, "runs": 1, "followers": 1, "streams": 1, "prompts_total": 1} {
		if have := during.get(name); have != want {
			t.Errorf("during the run %s is %v, want %v", name, have, want)
		}
	}
	if frames, sent := during.get("frames_total"), during.get("delivered_bytes_total"); frames < 200 || sent < 200*100 {
		t.Errorf("%v frames, %v bytes delivered", frames, sent)
	}
	if p99 := (*figures)(nil).publishQuantile(during, 0.99); p99 == nil || *p99 <= 0 {
		t.Errorf("publish p99: %v", p99)
	}

	code, out, errOut := execute(t, url, "", "top", "--once", "--interval", "100ms")
	for _, want := range []string{"troupe " + url, "dialogs open 1", "runs 1", "THREAD", "scripted.one  asks 1", "delivered 0 B/s"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("top: %d, %q, %q: no %q", code, out, errOut, want)
		}
	}
	if strings.Contains(out, "\x1b") {
		t.Errorf("no plain page: %q", out)
	}
	code, out, _ = execute(t, url, "", "top", "--once", "--json", "--interval", "100ms")
	var v struct {
		Runs, DialogsOpen int
		FramesPerSecond   *float64
		List              []struct{ ID string }
	}
	if err := json.Unmarshal([]byte(out), &v); code != 0 || err != nil || v.Runs != 1 || v.DialogsOpen != 1 || v.FramesPerSecond == nil ||
		len(v.List) != 1 || v.List[0].ID != "scripted.one" {
		t.Errorf("top --json: %d, %v, %q", code, err, out)
	}

	if code, _, errOut := execute(t, url, "", "answer", "one", "--yes"); code != 0 {
		t.Fatalf("answer: %q", errOut)
	}
	if out := <-waited; !strings.Contains(out, "done") {
		t.Errorf("the prompt: %q", out)
	}
	scraped(t, cl, "the end of the run", func(f *figures) bool {
		return f.get("runs") == 0 && f.get("dialogs_open") == 0 && f.get("followers") == 0 && f.get("streams") == 0
	})
}

// everyMetricOfThePage holds what is served to actors/METRICS.md.
func everyMetricOfThePage(t *testing.T, cl *client) {
	t.Helper()
	text, err := os.ReadFile("../../actors/METRICS.md")
	if err != nil {
		t.Fatal(err)
	}
	var served []byte
	if err := cl.do(t.Context(), http.MethodGet, "/metrics", nil, func(b []byte) error { served = b; return nil }); err != nil {
		t.Fatal(err)
	}
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(strings.NewReader(string(served)))
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| (troupe_\w+) \| (\w+) \|`).FindAllStringSubmatch(string(text), -1)
	if len(rows) < 15 {
		t.Errorf("the page has only %d rows", len(rows))
	}
	named := map[string]bool{"troupe_streams": true}
	for _, r := range rows {
		named[r[1]] = true
		if f := families[r[1]]; f == nil || strings.ToLower(f.GetType().String()) != r[2] {
			t.Errorf("%s is served as %v, want %s", r[1], f.GetType(), r[2])
		}
	}
	for name := range families {
		if strings.HasPrefix(name, "troupe_") && !named[name] {
			t.Errorf("%s is not on the page", name)
		}
	}
	for _, name := range []string{"troupe_streams", "go_goroutines", "process_start_time_seconds"} {
		if families[name] == nil {
			t.Errorf("%s is not served", name)
		}
	}
}
