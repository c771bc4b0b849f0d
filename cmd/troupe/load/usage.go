package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// usage is what a server has used so far, and holds.
type usage struct {
	cpu    time.Duration
	memory int64 // bytes, resident
	heap   int64 // bytes of heap and stacks in use; 0 where it does not say
}

// meter reads a server's usage.
type meter interface {
	read(ctx context.Context) (usage, error)
}

// procMeter reads /proc, of a process that the tool has started.
type procMeter struct{ pid int }

// clockTick is the kernel's unit of a process' time in /proc, which is 1/100 s on
// every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

var errNoUsage = errors.New("the server's CPU and memory are not known here")

func (m procMeter) read(context.Context) (usage, error) {
	if runtime.GOOS != "linux" {
		return usage{}, errNoUsage
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", m.pid))
	if err != nil {
		return usage{}, err
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.pid))
	if err != nil {
		return usage{}, err
	}
	return parseProc(string(stat), string(status))
}

// parseProc reads utime and stime of stat, VmRSS of status.
func parseProc(stat, status string) (u usage, err error) {
	// The command's name, in brackets, may hold brackets and spaces.
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return u, fmt.Errorf("cannot read %.60q", stat)
	}
	for _, f := range fields[11:13] {
		ticks, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return u, err
		}
		u.cpu += time.Duration(ticks) * clockTick
	}
	for line := range strings.Lines(status) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			u.memory = kb << 10
			return u, err
		}
	}
	return u, errors.New("no VmRSS")
}

// metricsMeter reads the server's own page of metrics.
type metricsMeter struct {
	http *http.Client
	url  string
}

func (m metricsMeter) read(ctx context.Context) (usage, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url, nil)
	if err != nil {
		return usage{}, err
	}
	res, err := m.http.Do(req)
	if err != nil {
		return usage{}, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return usage{}, errNoUsage
	}
	var lines []string
	in := bufio.NewScanner(res.Body)
	for in.Scan() {
		lines = append(lines, in.Text())
	}
	if err := in.Err(); err != nil {
		return usage{}, err
	}
	return parseMetrics(lines)
}

// parseMetrics reads the few samples of a Prometheus page that are asked for.
func parseMetrics(lines []string) (usage, error) {
	values := map[string]float64{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, " ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			values[name] = v
		}
	}
	cpu, ok := values["process_cpu_seconds_total"]
	if !ok {
		return usage{}, errNoUsage
	}
	return usage{
		cpu:    time.Duration(cpu * float64(time.Second)),
		memory: int64(values["process_resident_memory_bytes"]),
		heap:   int64(values["go_memstats_heap_inuse_bytes"] + values["go_memstats_stack_inuse_bytes"]),
	}, nil
}
