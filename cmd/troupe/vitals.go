package main

import (
	"time"

	"github.com/troupe-run/troupe/wire"
)

// vitals are what `troupe top` shows of a server, and what its --json prints. A
// rate that is not known yet is left out.
type vitals struct {
	At                 time.Time      `json:"at"`
	Server             string         `json:"server"`
	UptimeSeconds      float64        `json:"uptimeSeconds"`
	CPU                *float64       `json:"cpu,omitempty"` // cores kept busy
	MemoryBytes        float64        `json:"memoryBytes"`
	Goroutines         int64          `json:"goroutines"`
	Threads            int64          `json:"threads"`
	Sessions           int64          `json:"sessions"`
	Runs               int64          `json:"runs"`
	DialogsOpen        int64          `json:"dialogsOpen"`
	Followers          int64          `json:"followers"`
	Streams            int64          `json:"streams"`
	LagBytes           float64        `json:"lagBytes"`
	LagMaxBytes        float64        `json:"lagMaxBytes"`
	FramesPerSecond    *float64       `json:"framesPerSecond,omitempty"`
	DeliveredPerSecond *float64       `json:"deliveredBytesPerSecond,omitempty"`
	PublishP50Seconds  *float64       `json:"publishP50Seconds,omitempty"`
	PublishP99Seconds  *float64       `json:"publishP99Seconds,omitempty"`
	Prompts            int64          `json:"prompts"`
	SnapshotEncodings  int64          `json:"snapshotEncodings"`
	ClosedSlow         int64          `json:"followersClosedSlow"`
	Restarts           int64          `json:"restarts"`
	SessionFailures    int64          `json:"sessionFailures"`
	List               []wire.Summary `json:"list"` // threads: those that ask, those that run, then the most recent
}

// publishWindow is how far the publish percentiles look back: one frame of some
// thirty is timed, so a second of a quiet server holds too few.
const publishWindow = 15 * time.Second

// history is the scrapes of one server process that are worth comparing with,
// oldest first: those of the last publishWindow, or the one before the newest.
type history struct{ past []*figures }

// add takes a scrape in and gives the one before it and the oldest; both are nil at
// first, and after the server was started anew.
func (h *history) add(now *figures) (before, oldest *figures) {
	if n := len(h.past); n > 0 && !h.past[n-1].sameProcess(now) {
		h.past = nil
	}
	for len(h.past) > 1 && now.at.Sub(h.past[0].at) > publishWindow {
		h.past = h.past[1:]
	}
	if n := len(h.past); n > 0 {
		before, oldest = h.past[n-1], h.past[0]
	}
	h.past = append(h.past, now)
	return before, oldest
}

// vitalsOf are the vitals of a scrape, its rates from the one before it. Without
// an older one the publish percentiles are of everything since the start.
func vitalsOf(server string, before, oldest, now *figures) vitals {
	whole := func(name string) int64 { return int64(now.get(name)) }
	n := vitals{
		At: now.at, Server: server,
		CPU:         before.rate(now, "process_cpu_seconds_total"),
		MemoryBytes: now.values["process_resident_memory_bytes"],
		Goroutines:  int64(now.values["go_goroutines"]),
		Threads:     whole("threads"), Sessions: whole("sessions"), Runs: whole("runs"),
		DialogsOpen: whole("dialogs_open"), Followers: whole("followers"), Streams: whole("streams"),
		LagBytes: now.get("follower_lag_bytes"), LagMaxBytes: now.get("follower_lag_max_bytes"),
		FramesPerSecond:    before.rate(now, "troupe_frames_total"),
		DeliveredPerSecond: before.rate(now, "troupe_delivered_bytes_total"),
		PublishP50Seconds:  oldest.publishQuantile(now, 0.5),
		PublishP99Seconds:  oldest.publishQuantile(now, 0.99),
		Prompts:            whole("prompts_total"), SnapshotEncodings: whole("snapshot_encodings_total"),
		ClosedSlow: whole("followers_closed_slow_total"), Restarts: whole("restarts_total"),
		SessionFailures: whole("session_failures_total"),
	}
	if began, ok := now.values["process_start_time_seconds"]; ok {
		n.UptimeSeconds = max(0, float64(now.at.UnixMilli())/1000-began) // by this machine's clock
	}
	return n
}
