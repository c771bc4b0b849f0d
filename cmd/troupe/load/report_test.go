package load

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTalliesAddUpToOneDistribution(t *testing.T) {
	ts := newTallies()
	for i := range 1000 {
		tl := ts.of(i, i%10 == 0)
		tl.deliveries++
		due := int64(1e18) + int64(i)*int64(time.Millisecond)
		tl.delivered(due, due+int64(i+1)*int64(time.Millisecond))
	}
	s := ts.sum()
	if s.deliveries != 1000 || ts.deliveriesNow() != 1000 {
		t.Errorf("%d and %d deliveries, want 1000", s.deliveries, ts.deliveriesNow())
	}
	if s.publishing != 999*time.Millisecond || s.delivering != 1999*time.Millisecond {
		t.Errorf("published in %v, delivered in %v; want 999ms and 1.999s", s.publishing, s.delivering)
	}
	l := latencyOf(s.latency)
	for _, c := range []struct{ got, want float64 }{{l.P50, 500}, {l.P90, 900}, {l.P99, 990}, {l.Max, 1000}} {
		if math.Abs(c.got-c.want) > c.want/500 { // three digits
			t.Errorf("%+v: got %v, want %v", l, c.got, c.want)
		}
	}
	ts.reset()
	if s := ts.sum(); s.deliveries != 0 || s.latency.TotalCount() != 0 || s.delivering != 0 {
		t.Errorf("after a reset: %+v", s)
	}
}

func TestALatencyOutOfRangeIsTheNearest(t *testing.T) {
	var ts = newTallies()
	tl := ts.of(0, false)
	tl.delivered(2e18, 1e18)                        // clocks that go back
	tl.delivered(1e18, 1e18+int64(100*time.Minute)) // longer than is counted
	l := latencyOf(ts.sum().latency)
	if l.Count != 2 || l.P50 != 0.001 || l.Max < 599_000 {
		t.Errorf("%+v", l)
	}
}

func known(v float64) *float64 { return &v }

func TestBudgetsAreHeld(t *testing.T) {
	r := &Result{
		Scenario: "fan-out", PerSecond: 70, Delivery: &Latency{P99: 21}, CPUPerDelivery: known(9),
		Memory:   &Memory{Start: 100 << 20, Peak: 150 << 20, PerFollower: 12_000, Flat: 1.2},
		Baseline: &Result{PerSecond: 100, Delivery: &Latency{P99: 14}, CPUPerDelivery: known(6)},
		Figures:  []Figure{{figureSlowRatio, 1.6, ""}},
	}
	r.compare()
	if *r.Ratio != (Ratio{PerSecond: 0.7, CPU: 1.5, P99: 1.5}) {
		t.Errorf("ratio %+v", *r.Ratio)
	}
	broken := Budgets{
		P99: 20 * time.Millisecond, MemoryPerFollower: 10_000, MemoryGrowth: 40 << 20, Flat: 1.1,
		Ratio: 0.8, CPURatio: 1.2, P99Ratio: 1.4, SlowRatio: 1.5,
	}
	if got := broken.over(r); len(got) != 8 {
		t.Errorf("%d budgets are over, want 8: %q", len(got), got)
	}
	kept := Budgets{
		P99: 22 * time.Millisecond, MemoryPerFollower: 13_000, MemoryGrowth: 60 << 20, Flat: 1.3,
		Ratio: 0.6, CPURatio: 1.6, P99Ratio: 1.6, SlowRatio: 1.7,
	}
	if got := kept.over(r); len(got) != 0 {
		t.Errorf("over: %q", got)
	}
	if got := broken.over(&Result{Scenario: "cold-follows"}); len(got) != 0 {
		t.Errorf("what is not known is over its budget: %q", got)
	}
}

func TestTheReportSaysWhatWasBroken(t *testing.T) {
	r := &Report{
		Seed: 7, Cores: 2, OpenFiles: 1024, Broken: 25,
		Violations: []Violation{{Rule: RuleMissing, Scenario: "burst", Thread: "scripted.a", Seq: 8, Got: "10", Want: "9"}},
		OverBudget: []string{"burst: p99 is too much"},
		Results: []*Result{{
			Scenario: "burst", Threads: 1, Followers: 20, Deliveries: 2_500_000, PerSecond: 45_678, Delivery: &Latency{P50: 1.5, P99: 2.25, Max: 3},
			Baseline: &Result{PerSecond: 50_000}, Ratio: &Ratio{PerSecond: 0.91}, Figures: []Figure{{"closed as stuck", 2, ""}}, Checked: 1,
			Memory: &Memory{Start: 1 << 20, Joined: 2 << 20, Peak: 3 << 20, End: 2 << 20, PerFollower: 2048},
		}},
	}
	var out strings.Builder
	r.Print(&out)
	for _, want := range []string{
		"seed 7, 2 cores, 1024 open files", "2.50M", "45.7k", "2.25", "baseline", "0.91", "closed as stuck 2",
		"memory 1.0 MB at the start, 2.0 joined, 3.0 at most, 2.0 at the end",
		"BROKEN  burst: nothing-missing, thread scripted.a, seq 8: got 10, want 9", "BROKEN  24 more", "BUDGET  burst: p99 is too much",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	if !r.Failed() || strings.Contains(out.String(), "every rule") {
		t.Error("it did not fail")
	}
	if (&Report{Results: r.Results}).Failed() {
		t.Error("it failed with nothing broken")
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back struct {
		Results []struct{ DeliveryMs Latency }
	}
	if err := json.Unmarshal(b, &back); err != nil || back.Results[0].DeliveryMs.P99 != 2.25 {
		t.Errorf("as JSON: %s", b)
	}
}

func TestOptionsThatCannotBeAreRefused(t *testing.T) {
	good := Options{Timeout: time.Minute}
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Options){
		"no scenario is called": func(o *Options) { o.Scenarios = []string{"fan-in"} },
		"--size":                func(o *Options) { o.Size = 29 },
		"--frames":              func(o *Options) { o.Frames = -1 },
		"--threads":             func(o *Options) { o.Threads = -1 },
		"--rate":                func(o *Options) { o.Rate = -1 },
		"--duration":            func(o *Options) { o.Duration, o.Frames = time.Second, 1 },
		"--timeout":             func(o *Options) { o.Timeout = 0 },
		"--short":               func(o *Options) { o.Short, o.Budgets.P99 = true, 1 },
		"--baseline":            func(o *Options) { o.Budgets.Ratio = 1 },
		"loopback":              func(o *Options) { o.Server = "http://192.0.2.1:4777" },
		"--server":              func(o *Options) { o.Server = "127.0.0.1:4777" },
	} {
		o := good
		change(&o)
		if err := o.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want one that says %q", err, want)
		}
	}
}

func TestThePlanTakesTheScenariosShapeAndTheOptions(t *testing.T) {
	o := Options{Scenarios: []string{"burst", "fan-out"}, Followers: 7, Rate: 10, RateSet: true, Duration: 3 * time.Second}
	plan := o.plan()
	if len(plan) != 2 || plan[0].name != "fan-out" || plan[1].name != "burst" {
		t.Fatalf("%+v", plan)
	}
	if s := plan[0].shape; s != (shape{threads: 1, followers: 7, rate: 10, size: 160, frames: 30}) {
		t.Errorf("%+v", s)
	}
	if got := (&Options{}).plan(); len(got) != 2 || got[0].shape.rate == 0 || got[1].shape.rate != 0 {
		t.Errorf("without a name: %+v", got)
	}
	for _, s := range scenarios() {
		short := (&Options{Scenarios: []string{s.name}, Short: true}).plan()
		if len(short) != 1 || short[0].shape != s.short {
			t.Errorf("%s in short: %+v", s.name, short)
		}
	}
	if !slices.Contains(Names(), "prompt-storm") || len(Help()) != len(Names()) {
		t.Errorf("names %v", Names())
	}
}

func TestUsageIsReadFromTheProcessAndItsMetrics(t *testing.T) {
	stat := "4242 (a (odd) name) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 9 0 100 1 2"
	u, err := parseProc(stat, "Name:\tx\nVmRSS:\t  2048 kB\nThreads:\t9\n")
	if err != nil || u.cpu != 2*time.Second || u.memory != 2<<20 {
		t.Errorf("%+v, %v; want 2s and 2 MiB", u, err)
	}
	for _, bad := range [][2]string{{"", ""}, {stat, "Name: x\n"}, {"1 (x) S 1", "VmRSS: 1 kB\n"}} {
		if _, err := parseProc(bad[0], bad[1]); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
	u, err = parseMetrics([]string{
		"# HELP process_cpu_seconds_total Seconds.", "process_cpu_seconds_total 1.5", "process_resident_memory_bytes 2.097152e+06",
		"go_memstats_heap_inuse_bytes 1e+06", "go_memstats_stack_inuse_bytes 500000", `other{a="b c"} 1`,
	})
	if err != nil || u != (usage{cpu: 1500 * time.Millisecond, memory: 2 << 20, heap: 1_500_000}) {
		t.Errorf("%+v, %v", u, err)
	}
	if _, err := parseMetrics([]string{"up 1"}); err == nil {
		t.Error("a page without them is read")
	}
}
