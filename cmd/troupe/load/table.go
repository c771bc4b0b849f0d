package load

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Print writes the report for a person.
func (r *Report) Print(out io.Writer) {
	fmt.Fprintf(out, "seed %d, %d cores, %d open files at most; times in ms, memory of the server resident\n\n", r.Seed, r.Cores, r.OpenFiles)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, strings.Join([]string{
		"scenario", "threads", "followers", "deliveries", "a second", "p50", "p90", "p99", "max",
		"first p50", "first p99", "µs/delivery", "KB/follower", "KB/thread", "",
	}, "\t"))
	for _, res := range r.Results {
		res.row(w, res.Scenario)
		if b := res.Baseline; b != nil {
			b.row(w, "baseline")
		}
		if q := res.Ratio; q != nil {
			fmt.Fprintf(w, "ratio\t\t\t\t%.2f\t\t\t%.2f\t\t\t\t%.2f\t\t\t\n", q.PerSecond, q.P99, q.CPU)
		}
	}
	_ = w.Flush() // as fmt.Fprint: a table that cannot be written is seen to be missing
	fmt.Fprintln(out)
	for _, res := range r.Results {
		res.notes(out)
		if res.Baseline != nil {
			res.Baseline.notes(out)
		}
	}
	if r.Interrupted {
		fmt.Fprintln(out, "interrupted: the table is of what was done until then")
	}
	for _, v := range r.Violations {
		fmt.Fprintf(out, "BROKEN  %s\n", v)
	}
	if more := r.Broken - len(r.Violations); more > 0 {
		fmt.Fprintf(out, "BROKEN  %d more\n", more)
	}
	for _, b := range r.OverBudget {
		fmt.Fprintf(out, "BUDGET  %s\n", b)
	}
	if !r.Failed() && !r.Interrupted {
		fmt.Fprintln(out, "every rule was kept")
	}
}

func (r *Result) row(w io.Writer, name string) {
	lat := func(l *Latency, of func(*Latency) float64) string {
		if l == nil {
			return "-"
		}
		return fmt.Sprintf("%.2f", of(l))
	}
	p50, p99 := func(l *Latency) float64 { return l.P50 }, func(l *Latency) float64 { return l.P99 }
	perFollower, perThread := "-", "-"
	if m := r.Memory; m != nil {
		perFollower = fmt.Sprintf("%.1f", m.PerFollower/1024)
		if m.PerThread != 0 {
			perThread = fmt.Sprintf("%.1f", m.PerThread/1024)
		}
	}
	cpu := "-"
	if r.CPUPerDelivery != nil {
		cpu = fmt.Sprintf("%.2f", *r.CPUPerDelivery)
	}
	fmt.Fprintln(w, strings.Join([]string{
		name, fmt.Sprint(r.Threads), fmt.Sprint(r.Followers), count(float64(r.Deliveries)), count(r.PerSecond),
		lat(r.Delivery, p50), lat(r.Delivery, func(l *Latency) float64 { return l.P90 }), lat(r.Delivery, p99),
		lat(r.Delivery, func(l *Latency) float64 { return l.Max }), lat(r.First, p50), lat(r.First, p99),
		cpu, perFollower, perThread, "",
	}, "\t"))
}

// count is a number with three digits that matter.
func count(n float64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.2fM", n/1e6)
	case n >= 1e4:
		return fmt.Sprintf("%.1fk", n/1e3)
	default:
		return fmt.Sprintf("%.0f", n)
	}
}

// notes are what has no column.
func (r *Result) notes(out io.Writer) {
	var said []string
	if m := r.Memory; m != nil && m.Start > 0 {
		mb := func(n int64) float64 { return float64(n) / (1 << 20) }
		s := fmt.Sprintf("memory %.1f MB at the start, %.1f joined, %.1f at most, %.1f at the end", mb(m.Start), mb(m.Joined), mb(m.Peak), mb(m.End))
		if m.Flat > 0 {
			s += fmt.Sprintf("; %.2f of what it was after a tenth", m.Flat)
		}
		said = append(said, s)
	}
	for _, f := range r.Figures {
		said = append(said, strings.TrimSpace(fmt.Sprintf("%s %.4g %s", f.Name, f.Value, f.Unit)))
	}
	if len(said) > 0 {
		fmt.Fprintf(out, "%s (%d fully checked): %s\n", r.Scenario, r.Checked, strings.Join(said, "; "))
	}
}
