package actors

import "github.com/prometheus/client_golang/prometheus"

// number is one figure of the host, as it is scraped. [Host.Metrics] and
// METRICS.md are made from the table of them.
type number struct {
	name  string
	kind  prometheus.ValueType
	help  string
	value func(*reading) float64
	desc  *prometheus.Desc
}

// reading is the meter at the instant of a scrape.
type reading struct {
	m    *meter
	flow flow
	lag  lag
}

func gaugeOf(name, help string, value func(*reading) float64) number {
	return number{name, prometheus.GaugeValue, help, value, prometheus.NewDesc(name, help, nil, nil)}
}

func counterOf(name, help string, value func(*reading) float64) number {
	return number{name, prometheus.CounterValue, help, value, prometheus.NewDesc(name, help, nil, nil)}
}

var numbers = []number{
	gaugeOf("troupe_threads", "Threads in memory.",
		func(r *reading) float64 { return float64(r.m.threads.Load()) }),
	gaugeOf("troupe_sessions", "Sessions that are starting or live.",
		func(r *reading) float64 { return float64(r.m.sessions.Load()) }),
	gaugeOf("troupe_runs", "Runs under way, those that are stopping or settling among them.",
		func(r *reading) float64 { return float64(r.m.runs.Load()) }),
	gaugeOf("troupe_dialogs_open", "Questions that wait for an answer.",
		func(r *reading) float64 { return float64(r.m.dialogs.Load()) }),
	gaugeOf("troupe_followers", "Follows attached to threads.",
		func(r *reading) float64 { return float64(r.m.followers.Load()) }),
	gaugeOf("troupe_follower_lag_bytes", "How far followers are behind their feeds, all together.",
		func(r *reading) float64 { return float64(r.lag.sum) }),
	gaugeOf("troupe_follower_lag_max_bytes", "How far the slowest follower is behind its feed.",
		func(r *reading) float64 { return float64(r.lag.most) }),
	counterOf("troupe_followers_closed_slow_total", "Followers that were closed because they lagged past their limit, once they have left.",
		func(r *reading) float64 { return float64(r.flow.slow) }),
	counterOf("troupe_frames_total", "Frames published into feeds, elided partial tool results among them. A thread that nobody follows has no feed.",
		func(r *reading) float64 { return float64(r.flow.frames) }),
	counterOf("troupe_frame_bytes_total", "Bytes of the frames that every follower of a feed is sent.",
		func(r *reading) float64 { return float64(r.flow.bytes) }),
	counterOf("troupe_delivered_bytes_total", "Bytes of such frames that followers have written, counted once per follower; snapshots are not in it.",
		func(r *reading) float64 { return float64(r.flow.delivered) }),
	counterOf("troupe_snapshot_encodings_total", "Snapshots encoded for followers.",
		func(r *reading) float64 { return float64(r.m.encodings.Load()) }),
	counterOf("troupe_snapshot_bytes_total", "Bytes of those snapshots.",
		func(r *reading) float64 { return float64(r.m.snapshotBytes.Load()) }),
	counterOf("troupe_prompts_total", "Prompts accepted, which is once they are durable.",
		func(r *reading) float64 { return float64(r.m.prompts.Load()) }),
	counterOf("troupe_restarts_total", "Threads rebuilt because they, or an adapter of theirs, panicked.",
		func(r *reading) float64 { return float64(r.m.restarts.Load()) }),
	counterOf("troupe_session_failures_total", "Sessions that failed: a start that broke, an exit in the middle of a run, a panic in the adapter.",
		func(r *reading) float64 { return float64(r.m.sessionFailures.Load()) }),
}

// Metrics is what the host counts, for a Prometheus registry. A scrape reads every
// follower's cursor and holds up no thread for longer than a waker does.
func (h *Host) Metrics() prometheus.Collector { return h.meter }

// Describe is for the registry.
func (m *meter) Describe(out chan<- *prometheus.Desc) {
	for _, n := range numbers {
		out <- n.desc
	}
	m.publish.Describe(out)
}

// Collect is one scrape.
func (m *meter) Collect(out chan<- prometheus.Metric) {
	r := &reading{m: m}
	r.flow, r.lag = m.flow()
	for _, n := range numbers {
		out <- prometheus.MustNewConstMetric(n.desc, n.kind, n.value(r))
	}
	m.publish.Collect(out)
}
