package actors

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/troupe-run/troupe/wire"
)

// read is every metric's value by its name; a histogram's is its count.
func (m *meter) read(t testing.TB) map[string]float64 {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	if err := r.Register(m); err != nil {
		t.Fatal(err)
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		x := f.GetMetric()[0]
		switch f.GetType() {
		case dto.MetricType_COUNTER:
			out[f.GetName()] = x.GetCounter().GetValue()
		case dto.MetricType_GAUGE:
			out[f.GetName()] = x.GetGauge().GetValue()
		case dto.MetricType_HISTOGRAM:
			out[f.GetName()] = float64(x.GetHistogram().GetSampleCount())
		}
	}
	return out
}

// TestWhatThereIsNowIsCountedDown: whatever threads go through, and however they and
// their sessions end, every gauge is back at zero once they are gone, and what was
// counted stays counted.
func TestWhatThereIsNowIsCountedDown(t *testing.T) {
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	r := newRig(t, rigOptions{real: true, limits: Limits{
		IdleSession: 20 * time.Millisecond, Passivate: 20 * time.Millisecond,
		AbortGrace: 50 * time.Millisecond, KillGrace: 50 * time.Millisecond,
	}})
	prompts := []string{"say:x", "slow:2", "panic", "exit:3", "ask:confirm timeout=30 t", "ask:input t", "hang", "fail:no", "burst:300,40", "late:x {} ; say:y"}
	var wg sync.WaitGroup
	for i := range 12 {
		id, plan := fmt.Sprintf("scripted.g%d", i), rnd.Perm(len(prompts))
		wg.Go(func() {
			f, err := r.c.Follow(context.Background(), id, FollowOptions{})
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			for _, p := range plan {
				_, _ = r.c.Prompt(context.Background(), id, wire.PromptRequest{Message: prompts[p]})
				_, _ = f.Next(10 * time.Millisecond)
				_, _ = r.c.Abort(context.Background(), id)
			}
		})
	}
	wg.Wait()
	v := r.follow("scripted.end")
	for i, p := range []string{"exit:3", "burst:300,40"} {
		r.prompt("scripted.end", p)
		v.settled(uint64(i + 1))
	}
	v.f.Close()
	r.prompt("scripted.end", "panic")
	gauges := []string{"threads", "sessions", "runs", "dialogs_open", "followers", "follower_lag_bytes", "follower_lag_max_bytes", "snapshot_bytes"}
	until(t, fmt.Sprintf("every gauge to be zero (seed %d)", seed), func() bool {
		have := r.host.meter.read(t)
		for _, g := range gauges {
			if have["troupe_"+g] != 0 {
				return false
			}
		}
		return true
	})
	have := r.host.meter.read(t)
	for _, c := range []string{"frames_total", "frame_bytes_total", "delivered_bytes_total", "snapshot_encodings_total", "prompts_total", "restarts_total", "session_failures_total", "publish_seconds"} {
		if have["troupe_"+c] <= 0 {
			t.Errorf("troupe_%s is %v", c, have["troupe_"+c])
		}
	}
}

// TestGaugesWhileThreadsRun: each says what there is.
func TestGaugesWhileThreadsRun(t *testing.T) {
	r := newRig(t, rigOptions{real: true})
	a, b := r.follow("scripted.a"), r.follow("scripted.a")
	defer a.f.Close()
	defer b.f.Close()
	r.prompt("scripted.a", "ask:confirm sure?")
	asked(a)
	r.prompt("scripted.b", "hang")
	want := map[string]float64{"threads": 2, "sessions": 2, "runs": 2, "dialogs_open": 1, "followers": 2, "prompts_total": 2}
	until(t, "the gauges to say so", func() bool {
		have := r.host.meter.read(t)
		for name, n := range want {
			if have["troupe_"+name] != n {
				return false
			}
		}
		return true
	})
}

// TestMetricsPage holds METRICS.md against what is collected.
func TestMetricsPage(t *testing.T) {
	const page = "METRICS.md"
	var b strings.Builder
	b.WriteString("# Metrics\n\nGenerated from meter.go by `go test ./actors -run TestMetricsPage -update`. GET /metrics has them in\nthe Prometheus text format, beside those of the Go runtime (`go_…`) and of the process\n(`process_…`), and `troupe_streams`, the open event streams.\n\n| metric | kind | what it says |\n|---|---|---|\n")
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(newMeter())
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", f.GetName(), strings.ToLower(f.GetType().String()), f.GetHelp())
	}
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("%s is out of date: go test ./actors -run TestMetricsPage -update", page)
	}
}
