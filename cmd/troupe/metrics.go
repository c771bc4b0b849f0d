package main

import (
	"bytes"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"
)

// metrics gathers what the parts of the program count, beside what the Go runtime and
// the process are.
type metrics struct{ registry *prometheus.Registry }

func newMetrics(parts ...prometheus.Collector) (*metrics, error) {
	r := prometheus.NewRegistry()
	parts = append(parts, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, c := range parts {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return &metrics{r}, nil
}

// text is all of it in the Prometheus text format.
func (m *metrics) text() ([]byte, error) {
	families, err := m.registry.Gather()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := expfmt.NewEncoder(&b, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, f := range families {
		if err := enc.Encode(f); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}
