package main

import (
	"bytes"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"
)

// metrics is what /metrics serves: what the threads count, the open streams, the
// Go runtime and the process, as text. Each call is one scrape.
func metrics(threads prometheus.Collector, streams func() int) func() ([]byte, error) {
	// A registry of our own: what a library registers with the default one is not
	// served unasked.
	all := prometheus.NewRegistry()
	all.MustRegister(
		threads,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "troupe_streams", Help: "Open event streams, of threads and of the list of threads.",
		}, func() float64 { return float64(streams()) }),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return func() ([]byte, error) {
		families, err := all.Gather()
		if err != nil {
			return nil, fmt.Errorf("gather the metrics: %w", err)
		}
		var out bytes.Buffer
		for _, f := range families {
			if _, err := expfmt.MetricFamilyToText(&out, f); err != nil {
				return nil, fmt.Errorf("write the metric %s: %w", f.GetName(), err)
			}
		}
		return out.Bytes(), nil
	}
}
