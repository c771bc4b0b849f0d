package actors

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/host/memory"
	"github.com/troupe-run/troupe/wire"
)

// TestMetricsPage holds METRICS.md to the table, and the table to what Prometheus
// wants of names.
func TestMetricsPage(t *testing.T) {
	problems, err := testutil.CollectAndLint(newMeter())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	var b bytes.Buffer
	b.WriteString(generated + "# Metrics of the host\n\n" +
		"Served at `/metrics` in Prometheus' text format, beside `troupe_streams` (open event streams) and the collectors of\n" +
		"the Go runtime and the process (`go_*`, `process_*`).\n\n| metric | type | what |\n|---|---|---|\n")
	for _, n := range numbers {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", n.name, strings.ToLower(n.kind.ToDTO().String()), n.help)
	}
	fmt.Fprintf(&b, "| %s | histogram | %s |\n", publishName, publishHelp)
	golden(t, "METRICS.md", b.Bytes())
}

// scrape is every number of the host by its name, without the prefix.
func (r *rig) scrape() map[string]float64 {
	r.t.Helper()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(r.host.Metrics())
	families, err := reg.Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		m := f.GetMetric()[0]
		name := strings.TrimPrefix(f.GetName(), "troupe_")
		if h := m.GetHistogram(); h != nil {
			out[name] = float64(h.GetSampleCount())
		} else {
			out[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return out
}

// holds compares some of the numbers.
func (r *rig) holds(when string, want map[string]float64) {
	r.t.Helper()
	have := r.scrape()
	for name, n := range want {
		if got, there := have[name]; !there || got != n {
			r.t.Errorf("%s: %s is %v, want %v", when, name, got, n)
		}
	}
}

func TestMeterThroughARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		r.holds("at first", map[string]float64{"threads": 0, "sessions": 0, "runs": 0, "followers": 0, "frames_total": 0})
		v, w := r.follow("scripted.a"), r.follow("scripted.a")
		r.holds("followed", map[string]float64{"threads": 1, "sessions": 0, "followers": 2, "snapshot_encodings_total": 2})
		r.prompt("scripted.a", "say:Hello ; bigtool:20000 ; ask:confirm sure?")
		q := asked(v)
		asked(w)
		synctest.Wait()
		r.holds("asked", map[string]float64{"threads": 1, "sessions": 1, "runs": 1, "dialogs_open": 1, "prompts_total": 1, "follower_lag_bytes": 0})
		if err := r.c.Answer(t.Context(), "scripted.a", wire.Answer{ID: q.ID, Arm: &wire.ConfirmArm{Confirmed: true}}); err != nil {
			t.Fatal(err)
		}
		frames := v.settled(1)
		w.settled(1)
		synctest.Wait()
		bytes := 0.0
		for _, f := range frames[1:] {
			b, err := wire.AppendSSE(nil, f)
			if err != nil {
				t.Fatal(err)
			}
			bytes += float64(len(b))
		}
		have := r.scrape()
		r.holds("settled", map[string]float64{
			"threads": 1, "sessions": 1, "runs": 0, "dialogs_open": 0, "followers": 2, "prompts_total": 1,
			"frame_bytes_total": bytes, "delivered_bytes_total": 2 * bytes, "follower_lag_bytes": 0, "follower_lag_max_bytes": 0,
		})
		// Partial results are published, and no follower of these is sent one.
		if published := have["frames_total"]; published <= float64(len(frames)-1) {
			t.Errorf("%v frames published, %d sent to each", published, len(frames)-1)
		} else if timed := have["publish_seconds"]; timed != float64((int(published)+timedEvery-1)/timedEvery) {
			t.Errorf("%v of %v frames timed, want one of %d", timed, published, timedEvery)
		}
		v.f.Close()
		w.f.Close()
		synctest.Wait()
		r.holds("left", map[string]float64{"followers": 0, "frames_total": have["frames_total"], "frame_bytes_total": bytes, "delivered_bytes_total": 2 * bytes})
		r.prompt("scripted.a", "panic")
		synctest.Wait()
		r.prompt("scripted.a", "exit:3")
		wait(60_000)
		r.holds("after a panic and an exit", map[string]float64{"restarts_total": 1, "session_failures_total": 2, "prompts_total": 3, "followers_closed_slow_total": 0})
	})
}

// TestMeterSeesLagAndWhoIsClosedForIt: a follower that reads nothing lags by all
// that is published, then is closed, and its lag is gone when it has left.
func TestMeterSeesLagAndWhoIsClosedForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{limits: Limits{LagBytes: 100_000}})
		v := r.follow("scripted.a")
		stuck, err := r.c.Follow(t.Context(), "scripted.a", FollowOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r.prompt("scripted.a", "burst:10,1000")
		v.settled(1)
		synctest.Wait()
		behind := r.scrape()["frame_bytes_total"]
		r.holds("behind", map[string]float64{"follower_lag_bytes": behind, "follower_lag_max_bytes": behind, "delivered_bytes_total": behind, "followers_closed_slow_total": 0})
		for run := uint64(2); run < 6; run++ { // so little at a time that only one of them lags
			r.prompt("scripted.a", "burst:15,2000")
			v.settled(run)
			synctest.Wait()
		}
		stuck.Close()
		synctest.Wait()
		r.holds("closed", map[string]float64{"follower_lag_bytes": 0, "followers_closed_slow_total": 1, "followers": 1})
		v.f.Close()
		synctest.Wait()
		r.holds("nobody left", map[string]float64{"followers_closed_slow_total": 1, "followers": 0})
	})
}

// TestRule_GaugesReturnToZero: whatever threads went through, in whatever order,
// no gauge keeps anything of them once they have left memory; and what counts only
// up never falls.
func TestRule_GaugesReturnToZero(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { gaugesReturn(t, seed) })
		})
	}
}

func gaugesReturn(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 7))
	var mu sync.Mutex
	refuse := 0 // commits to refuse
	r := newRig(t, rigOptions{
		limits: Limits{IdleSession: 20 * time.Second, Passivate: 10 * time.Second, AbortGrace: time.Second, KillGrace: time.Second},
		journal: memory.Options{Fail: func(host.Batch) error {
			mu.Lock()
			defer mu.Unlock()
			if refuse > 0 {
				refuse--
				return wire.Errorf(wire.CodeInternal, "the disk is full")
			}
			return nil
		}},
	})
	prompts := []string{
		"say:x", "slow:20", "burst:50,100", "ask:confirm sure?", "ask:confirm timeout=500 sure?", "ask:select a|b ; ask:input c",
		"panic", "say:a ; panic", "exit:1", "hang", "fail:no", "reject:no", "late:grep {}", "bigtool:9000",
	}
	ctx := t.Context()
	var follows []*Follower
	highest := map[string]float64{}
	seen := map[string]bool{}
	for range 150 {
		id := fmt.Sprintf("scripted.t%d", rnd.IntN(4))
		// What is refused meanwhile, a thread being rebuilt perhaps, is no matter here.
		switch rnd.IntN(12) {
		case 0, 1, 2, 3:
			_, _ = r.c.Prompt(ctx, id, wire.PromptRequest{Message: prompts[rnd.IntN(len(prompts))]})
		case 4, 5:
			if f, err := r.c.Follow(ctx, id, FollowOptions{Partials: rnd.IntN(3) == 0}); err == nil {
				follows = append(follows, f)
				go func() {
					for err := error(nil); err == nil; {
						_, err = f.Next(time.Hour)
					}
				}()
			}
		case 6:
			if len(follows) > 0 {
				follows[rnd.IntN(len(follows))].Close()
			}
		case 7:
			_, _ = r.c.Abort(ctx, id)
		case 8:
			if open, err := r.c.Dialogs(ctx, id); err == nil && len(open) > 0 {
				_ = r.c.Answer(ctx, id, wire.Answer{ID: open[0].ID, Arm: &wire.CancelArm{}})
			}
		case 9:
			mu.Lock()
			refuse = 1
			mu.Unlock()
		case 10:
			wait(rnd.IntN(3000))
		case 11:
			wait(rnd.IntN(60_000))
		}
		for name, n := range r.scrape() {
			if strings.HasSuffix(name, "_total") && n < highest[name] {
				t.Errorf("%s fell from %v to %v", name, highest[name], n)
			}
			if n < 0 {
				t.Errorf("%s is %v", name, n)
			}
			highest[name] = max(highest[name], n)
			seen[name] = seen[name] || n > 0
		}
	}
	for _, name := range []string{"threads", "sessions", "runs", "dialogs_open", "followers", "frames_total", "restarts_total"} {
		if !seen[name] {
			t.Errorf("%s was never above 0: the test proves nothing of it", name)
		}
	}
	for _, f := range follows {
		f.Close()
	}
	for range 20 { // stops what hangs, drops what is queued
		for i := range 4 {
			_, _ = r.c.Abort(ctx, fmt.Sprintf("scripted.t%d", i))
		}
		wait(60_000)
	}
	wait(600_000)
	r.holds("at rest", map[string]float64{
		"threads": 0, "sessions": 0, "runs": 0, "dialogs_open": 0, "followers": 0, "follower_lag_bytes": 0, "follower_lag_max_bytes": 0,
	})
	if n := len(r.host.meter.feeds); n != 0 {
		t.Errorf("%d feeds are still looked at", n)
	}
}

// TestScrapesWhileFollowersComeAndGo: sums never fall, and at the end they are
// exactly what was written.
func TestScrapesWhileFollowersComeAndGo(t *testing.T) {
	m := newMeter()
	stop := make(chan struct{})
	var wg, scraper sync.WaitGroup
	scraper.Go(func() {
		var last flow
		for {
			now, _ := m.flow()
			if now.frames < last.frames || now.bytes < last.bytes || now.delivered < last.delivered {
				t.Errorf("%+v after %+v", now, last)
			}
			last = now
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	const threads, rounds, frames = 4, 30, 20
	size := len(mustSSE(t, textFrame(1, "hello")))
	for range threads {
		wg.Go(func() {
			for range rounds {
				f, _ := newTestFeed(1 << 40)
				m.made(f)
				stays, leaves := attached(f, FollowOptions{}), attached(f, FollowOptions{})
				for i := range frames {
					began := m.publishing(f)
					mustPublish(t, f, textFrame(1, "hello"))
					m.published(began)
					if i == frames/2-1 {
						drain(t, leaves)
						leaves.finish(&wire.Failure{Code: wire.CodeLimit})
						f.detach(leaves)
					}
				}
				drain(t, stays)
				f.close(&wire.Failure{Code: wire.CodeUnavailable})
				m.forgotten(f)
				m.forgotten(f) // twice is once
			}
		})
	}
	wg.Wait()
	close(stop)
	scraper.Wait()
	have, behind := m.flow()
	n := uint64(threads * rounds * frames)
	want := flow{frames: n, bytes: n * uint64(size), delivered: n * uint64(size) * 3 / 2, slow: threads * rounds}
	if have != want || behind != (lag{}) {
		t.Errorf("%+v, behind %+v; want %+v", have, behind, want)
	}
}

func mustSSE(t testing.TB, f wire.Frame) []byte {
	t.Helper()
	b, err := wire.AppendSSE(nil, f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestMeteringAllocatesNothing per frame or per step.
func TestMeteringAllocatesNothing(t *testing.T) {
	m := newMeter()
	f, _ := newTestFeed(1 << 40)
	m.made(f)
	var was gauges
	n := testing.AllocsPerRun(1000, func() {
		m.published(m.publishing(f))
		m.moved(&was, gauges{sessions: 1, followers: was.followers + 1})
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkMeter is what a frame costs beside BenchmarkPublish, and what a scrape
// costs by feeds and followers.
func BenchmarkMeter(b *testing.B) {
	b.Run("frame", func(b *testing.B) {
		m := newMeter()
		f, _ := newTestFeed(1 << 40)
		s := newState(wire.ThreadID{Type: "a", ID: "b"}, DefaultLimits(), false)
		var was gauges
		b.ReportAllocs()
		for b.Loop() {
			m.published(m.publishing(f))
			m.moved(&was, s.gauges())
		}
	})
	for _, c := range [][2]int{{1, 5000}, {10_000, 1}} {
		b.Run(fmt.Sprintf("scrape/feeds=%d,followers=%d", c[0], c[1]), func(b *testing.B) {
			m := newMeter()
			for range c[0] {
				f, _ := newTestFeed(1 << 40)
				m.made(f)
				for range c[1] {
					attached(f, FollowOptions{})
				}
			}
			for b.Loop() {
				m.flow()
			}
			for f := range m.feeds {
				f.close(nil)
			}
		})
	}
}
