package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/troupe-run/troupe/wire"
)

// figures are one scrape of a server's /metrics: what has no labels, by name, and
// what publishing cost.
type figures struct {
	at      time.Time
	values  map[string]float64
	publish []bucket // cumulative, the last without a bound
}

// bucket is how many timings were of at most le seconds.
type bucket struct {
	le    float64
	count float64
}

// scrape reads a server's numbers. A server that keeps none is told from none.
func scrape(ctx context.Context, cl *client) (*figures, error) {
	var text []byte
	err := cl.do(ctx, http.MethodGet, "/metrics", nil, func(b []byte) error { text = b; return nil })
	if f := (*wire.Failure)(nil); errors.As(err, &f) && f.Code == wire.CodeNotFound {
		return nil, fmt.Errorf("the server at %s gives no numbers: it has no /metrics; is it older than this troupe?", cl.base)
	}
	if err != nil {
		return nil, err
	}
	out, err := readFigures(text, time.Now())
	if err != nil {
		return nil, fmt.Errorf("cannot read the numbers of %s: %w", cl.base, err)
	}
	return out, nil
}

// readFigures parses Prometheus' text format.
func readFigures(text []byte, at time.Time) (*figures, error) {
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	if families["troupe_threads"] == nil {
		return nil, errors.New("they are no troupe's")
	}
	out := &figures{at: at, values: map[string]float64{}}
	for name, f := range families {
		if len(f.GetMetric()) != 1 || len(f.GetMetric()[0].GetLabel()) > 0 {
			continue
		}
		m := f.GetMetric()[0]
		switch f.GetType() {
		case dto.MetricType_GAUGE:
			out.values[name] = m.GetGauge().GetValue()
		case dto.MetricType_COUNTER:
			out.values[name] = m.GetCounter().GetValue()
		case dto.MetricType_HISTOGRAM:
			if name != "troupe_publish_seconds" {
				continue
			}
			for _, b := range m.GetHistogram().GetBucket() {
				out.publish = append(out.publish, bucket{b.GetUpperBound(), float64(b.GetCumulativeCount())})
			}
			slices.SortFunc(out.publish, func(a, b bucket) int { return cmp.Compare(a.le, b.le) })
		}
	}
	return out, nil
}

func (f *figures) get(name string) float64 { return f.values["troupe_"+name] }

// sameProcess says whether a later scrape may be compared with f: a server that
// was started anew counts from zero.
func (f *figures) sameProcess(later *figures) bool {
	const started = "process_start_time_seconds"
	return f.values[started] == later.values[started]
}

// rate is how fast a counter rose from f to later, a second; nil where that is not
// known.
func (f *figures) rate(later *figures, name string) *float64 {
	if f == nil || !later.at.After(f.at) {
		return nil
	}
	before, was := f.values[name]
	now, is := later.values[name]
	if !was || !is || now < before {
		return nil
	}
	v := (now - before) / later.at.Sub(f.at).Seconds()
	return &v
}

// publishQuantile is the q-quantile of what publishing cost from f to later, in
// seconds, straight between the bounds of its bucket; past the last bound it is
// that bound. Nil where nothing was timed.
func (f *figures) publishQuantile(later *figures, q float64) *float64 {
	if len(later.publish) == 0 {
		return nil
	}
	timed := func(i int) float64 {
		n := later.publish[i].count
		if f != nil && i < len(f.publish) && f.publish[i].le == later.publish[i].le {
			n -= f.publish[i].count
		}
		return n
	}
	last := len(later.publish) - 1
	all := timed(last)
	if all <= 0 {
		return nil
	}
	below, low := 0.0, 0.0
	for i := range later.publish {
		n, high := timed(i), later.publish[i].le
		switch {
		case n < q*all:
			below, low = n, high
			continue
		case math.IsInf(high, 1):
			return &low
		}
		v := low + (high-low)*(q*all-below)/(n-below)
		return &v
	}
	return &low
}
