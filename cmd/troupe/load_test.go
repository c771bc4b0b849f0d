package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/troupe-run/troupe/cmd/troupe/load"
)

// Each scenario in its short form, judged by the rules alone.
func TestLoadShort(t *testing.T) {
	t.Setenv(asTroupe, "1") // for the server that it starts
	for _, name := range load.Names() {
		t.Run(name, func(t *testing.T) {
			code, out, e := executeWithin(t, 2*time.Minute, "", "", "load", name, "--short", "--json", "--seed", "1")
			r := loadReport(t, out)
			if code != exitOK || e != "" || r.Failed() {
				t.Fatalf("exit code %d, stderr %q, broken %v", code, e, r.Violations)
			}
			if len(r.Results) == 0 || r.Results[len(r.Results)-1].Scenario != name || r.Seed != 1 {
				t.Errorf("it reports %s", out)
			}
		})
	}
}

func TestLoadBesideTheBaseline(t *testing.T) {
	t.Setenv(asTroupe, "1")
	code, out, e := executeWithin(t, 2*time.Minute, "", "", "load", "fan-out", "--short", "--baseline", "--json")
	r := loadReport(t, out)
	if code != exitOK || e != "" {
		t.Fatalf("exit code %d, stderr %q, broken %v", code, e, r.Violations)
	}
	res := r.Results[0]
	if res.Baseline == nil || res.Ratio == nil || res.Ratio.PerSecond <= 0 || res.Ratio.P99 <= 0 {
		t.Fatalf("no ratio in %s", out)
	}
	// Beside the run's own there are two or three more, of the probes' end.
	if d := res.Deliveries - res.Baseline.Deliveries; d < 0 || d > int64(3*res.Followers) {
		t.Errorf("%d observations, the baseline was fed %d", res.Deliveries, res.Baseline.Deliveries)
	}
}

func TestLoadAgainstAServerThatIsThere(t *testing.T) {
	url, _ := serving(t)
	code, out, e := executeWithin(t, 2*time.Minute, "", "", "load", "many-threads", "--server", url, "--threads", "5", "--rate", "100", "--frames", "20")
	if code != exitOK || e != "" || !strings.Contains(out, "many-threads") || !strings.Contains(out, "every rule was kept") {
		t.Errorf("exit code %d, stderr %q, stdout\n%s", code, e, out)
	}
}

func TestLoadOverItsBudgetFails(t *testing.T) {
	t.Setenv(asTroupe, "1")
	code, out, e := executeWithin(t, 2*time.Minute, "", "", "load", "fan-out", "--followers", "3", "--rate", "100", "--frames", "5", "--idle", "0s", "--max-p99", "1us")
	if code != exitFailure || !strings.Contains(out, "BUDGET  fan-out: p99 of the delivery") || !strings.Contains(e, "0 rules broken, 1 budgets") {
		t.Errorf("exit code %d, stderr %q, stdout\n%s", code, e, out)
	}
}

func TestLoadRefusesWhatCannotBe(t *testing.T) {
	for _, args := range [][]string{
		{"fan-in"}, {"--server", "http://192.0.2.1:1"}, {"--size", "1"}, {"--max-memory-per-follower", "10x"},
		{"--short", "--max-p99", "1s"}, {"--min-ratio", "0.8"},
	} {
		if code, _, e := executeWithin(t, time.Minute, "", "", append([]string{"load"}, args...)...); code != exitUsage {
			t.Errorf("%v: exit code %d, %q", args, code, e)
		}
	}
	for text, want := range map[string]int64{"": 0, "512": 512, "10KB": 10 << 10, "10k": 10 << 10, "100MB": 100 << 20, "1G": 1 << 30, "7B": 7} {
		if got, err := bytesOf("--x", text); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"x", "10X", "-1", "1.5MB", "KB", "10KBKB"} {
		if got, err := bytesOf("--x", text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

func loadReport(t *testing.T, out string) (r load.Report) {
	t.Helper()
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v: %q", err, out)
	}
	return r
}
