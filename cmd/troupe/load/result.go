package load

import (
	"fmt"
	"time"
)

// Report is everything that one call of the tool found.
type Report struct {
	Seed        uint64      `json:"seed"`
	Cores       int         `json:"cores"`
	OpenFiles   uint64      `json:"openFiles"` // the limit
	Results     []*Result   `json:"results"`
	Violations  []Violation `json:"violations"`
	Broken      int         `json:"broken"` // rules, the violations that were not kept among them
	OverBudget  []string    `json:"overBudget"`
	Interrupted bool        `json:"interrupted"`
}

// Failed says whether a rule or a budget was broken.
func (r *Report) Failed() bool { return r.Broken > 0 || len(r.OverBudget) > 0 }

// Result is one row: a scenario, or a part of one. A nil figure is not known, or not
// meant there.
type Result struct {
	Scenario  string  `json:"scenario"`
	Threads   int     `json:"threads"`
	Followers int     `json:"followers"` // in all
	Rate      float64 `json:"rate"`
	Size      int     `json:"size"`
	Frames    int     `json:"frames"`
	Checked   int     `json:"checked"` // followers

	Deliveries int64    `json:"deliveries"`
	Seconds    float64  `json:"seconds"`
	PerSecond  float64  `json:"perSecond"`
	Delivery   *Latency `json:"deliveryMs,omitempty"`
	First      *Latency `json:"promptToFirstMs,omitempty"`

	CPUPerDelivery *float64 `json:"cpuMicrosPerDelivery,omitempty"`
	Memory         *Memory  `json:"memory,omitempty"`
	Figures        []Figure `json:"figures,omitempty"`
	Baseline       *Result  `json:"baseline,omitempty"`
	Ratio          *Ratio   `json:"ratio,omitempty"`
}

// Memory is the server's, in bytes.
type Memory struct {
	Start       int64   `json:"start"`
	Joined      int64   `json:"joined"` // with every follower there, and nothing said
	Peak        int64   `json:"peak"`
	End         int64   `json:"end"`
	PerFollower float64 `json:"perFollower"`
	PerThread   float64 `json:"perThread"`
	Flat        float64 `json:"flat,omitempty"` // the most after the first tenth of the deliveries, to then
}

// Figure is what only one scenario has.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit,omitempty"`
}

// Ratio is a result over its baseline's.
type Ratio struct {
	PerSecond float64 `json:"perSecond"`
	CPU       float64 `json:"cpu"`
	P99       float64 `json:"p99"`
}

func (r *Result) figure(name string, value float64, unit string) {
	r.Figures = append(r.Figures, Figure{name, value, unit})
}

// compare sets the ratio.
func (r *Result) compare() {
	b := r.Baseline
	ratio := func(a, b float64) float64 {
		if b == 0 {
			return 0
		}
		return a / b
	}
	r.Ratio = &Ratio{PerSecond: ratio(r.PerSecond, b.PerSecond)}
	if r.CPUPerDelivery != nil && b.CPUPerDelivery != nil {
		r.Ratio.CPU = ratio(*r.CPUPerDelivery, *b.CPUPerDelivery)
	}
	if r.Delivery != nil && b.Delivery != nil {
		r.Ratio.P99 = ratio(r.Delivery.P99, b.Delivery.P99)
	}
}

// over says which budgets r does not keep.
func (b Budgets) over(r *Result) (out []string) {
	above := func(what string, got, most float64, unit string) {
		if most > 0 && got > most {
			out = append(out, fmt.Sprintf("%s: %s is %.4g%s, over its budget of %.4g%s", r.Scenario, what, got, unit, most, unit))
		}
	}
	if r.Delivery != nil {
		above("p99 of the delivery", r.Delivery.P99, float64(b.P99)/float64(time.Millisecond), " ms")
	}
	if m := r.Memory; m != nil {
		above("memory per follower", m.PerFollower, float64(b.MemoryPerFollower), " bytes")
		above("memory above the start", float64(m.Peak-m.Start), float64(b.MemoryGrowth), " bytes")
		above("memory after the first tenth", m.Flat, b.Flat, " of then")
	}
	if r.Ratio != nil {
		if b.Ratio > 0 && r.Ratio.PerSecond < b.Ratio {
			out = append(out, fmt.Sprintf("%s: deliveries a second are %.3g of the baseline's, below the budget of %.3g", r.Scenario, r.Ratio.PerSecond, b.Ratio))
		}
		above("CPU per delivery", r.Ratio.CPU, b.CPURatio, " of the baseline's")
		above("p99", r.Ratio.P99, b.P99Ratio, " of the baseline's")
	}
	for _, f := range r.Figures {
		if f.Name == figureSlowRatio {
			above("p99 beside stuck followers", f.Value, b.SlowRatio, " of that without them")
		}
	}
	return out
}

const figureSlowRatio = "p99 to without"
