package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"github.com/troupe-run/troupe/wire"
)

// page lays vitals out for a terminal. Without a width or a height there is no
// limit: that is a page for a pipe.
type page struct {
	width, height int
	st            style
}

// pipeWidth is where the head's lines break on a page without a width.
const pipeWidth = 100

// cell is a figure of the head: its label, its value, and how the value is dressed
// where it deserves attention.
type cell struct {
	label, value string
	dress        func(string) string
}

func (c cell) width() int { return runewidth.StringWidth(c.label) + 1 + runewidth.StringWidth(c.value) }

// render is the page, its lines without their ends. trouble says why the vitals are
// old, hint is the last line; either may be empty.
func (p page) render(v *vitals, trouble, hint string) []string {
	lines := p.head(v)
	if trouble != "" {
		lines = append(lines, p.st.red(p.fit(oneLine(trouble, 500))))
	}
	lines = append(lines, "")
	room := len(v.List)
	if p.height > 0 {
		room = p.height - len(lines) - 1 // the table's own head
		if hint != "" {
			room -= 2
		}
		room = max(0, min(room, len(v.List)))
	}
	lines = append(lines, p.table(v, room)...)
	if hint == "" {
		return p.cut(lines)
	}
	if p.height > 0 {
		for len(lines) < p.height-1 {
			lines = append(lines, "")
		}
		lines = p.cut(lines)
		lines = lines[:min(len(lines), p.height-1)]
	}
	return append(lines, p.st.dim(p.fit(hint)))
}

// cut keeps the page to the terminal's height.
func (p page) cut(lines []string) []string {
	if p.height > 0 && len(lines) > p.height {
		return lines[:p.height]
	}
	return lines
}

// fit cuts one line of plain text to the width.
func (p page) fit(s string) string {
	if p.width <= 0 {
		return s
	}
	return runewidth.Truncate(s, p.width, "…")
}

func (p page) head(v *vitals) []string {
	where := []cell{{"troupe", oneLine(v.Server, 200), p.st.bold}, {"up", uptime(v.UptimeSeconds), nil}}
	process := []cell{
		{"cpu", percent(v.CPU), nil}, {"memory", size(v.MemoryBytes), nil}, {"goroutines", grouped(v.Goroutines), nil},
	}
	threads := []cell{
		{"threads", grouped(v.Threads), nil}, {"sessions", grouped(v.Sessions), nil}, {"runs", grouped(v.Runs), p.if0(v.Runs, p.st.green)},
		{"dialogs open", grouped(v.DialogsOpen), p.if0(v.DialogsOpen, p.st.yellow)},
		{"followers", grouped(v.Followers), nil}, {"streams", grouped(v.Streams), nil},
	}
	flow := []cell{
		{"frames", perSecond(v.FramesPerSecond), nil}, {"delivered", bytesPerSecond(v.DeliveredPerSecond), nil},
		{"lag", size(v.LagBytes), nil}, {"slowest", size(v.LagMaxBytes), nil},
		{"publish p50", seconds(v.PublishP50Seconds), nil}, {"p99", seconds(v.PublishP99Seconds), nil},
	}
	totals := []cell{
		{"prompts", grouped(v.Prompts), nil}, {"snapshot encodings", grouped(v.SnapshotEncodings), nil},
		{"closed slow", grouped(v.ClosedSlow), p.if0(v.ClosedSlow, p.st.yellow)},
		{"restarts", grouped(v.Restarts), p.if0(v.Restarts, p.st.red)},
		{"session failures", grouped(v.SessionFailures), p.if0(v.SessionFailures, p.st.yellow)},
	}
	return slices.Concat(p.lay(slices.Concat(where, process)), p.lay(threads), p.lay(flow), p.lay(totals))
}

// if0 dresses a count that is not 0.
func (p page) if0(n int64, dress func(string) string) func(string) string {
	if n == 0 {
		return nil
	}
	return dress
}

// lay puts cells on as few lines as the width allows.
func (p page) lay(cells []cell) (lines []string) {
	const gap = "   "
	most := p.width
	if most <= 0 {
		most = pipeWidth
	}
	line, used := "", 0
	for _, c := range cells {
		text := p.st.dim(c.label) + " " + c.value
		if c.dress != nil {
			text = p.st.dim(c.label) + " " + c.dress(c.value)
		}
		if c.width() > most { // alone wider than the terminal
			text = runewidth.Truncate(c.label+" "+c.value, most, "…")
		}
		switch {
		case used == 0:
			line, used = text, min(c.width(), most)
		case used+len(gap)+c.width() > most:
			lines = append(lines, line)
			line, used = text, min(c.width(), most)
		default:
			line += gap + text
			used += len(gap) + c.width()
		}
	}
	return append(lines, line)
}

// table is the first so many of the threads.
func (p page) table(v *vitals, rows int) []string {
	if len(v.List) == 0 {
		return []string{p.st.dim(p.fit("no threads"))}
	}
	const (
		idWidth, statusWidth, ageWidth = 40, 12, 5
		gap                            = 2
	)
	list := v.List[:rows]
	ids := len("THREAD")
	for _, s := range list {
		ids = max(ids, min(idWidth, runewidth.StringWidth(oneLine(s.ID, 120))))
	}
	row := func(id, status, age, title string, dress func(string) string) string {
		text := runewidth.FillRight(runewidth.Truncate(id, ids, "…"), ids+gap)
		text = p.fit(text)
		used := runewidth.StringWidth(text)
		middle := runewidth.FillRight(runewidth.Truncate(status, statusWidth, "…"), statusWidth+gap)
		end := runewidth.FillLeft(age, ageWidth) + strings.Repeat(" ", gap) + title
		if p.width > 0 {
			middle = runewidth.Truncate(middle, max(0, p.width-used), "")
			left := p.width - used - runewidth.StringWidth(middle)
			if end = runewidth.Truncate(end, max(0, left), "…"); left <= 0 {
				end = "" // the mark alone would be too wide
			}
		}
		if dress != nil {
			middle = dress(middle)
		}
		return strings.TrimRight(text+middle+end, " ")
	}
	lines := []string{p.st.bold(row("THREAD", "STATUS", "AGE", "TITLE", nil))}
	for _, s := range list {
		status, dress := plain(string(s.Status)), func(t string) string { return t }
		switch {
		case s.AwaitingInput:
			status, dress = fmt.Sprintf("asks %d", s.OpenDialogs), p.st.yellow
		case s.Status == wire.StatusActive:
			dress = p.st.green
		case s.Status == wire.StatusFailed:
			dress = p.st.red
		case s.Status == wire.StatusIdle:
			dress = p.st.dim
		}
		title := oneLine(s.Title, 120)
		if title == "" {
			title = "-"
		}
		lines = append(lines, row(oneLine(s.ID, 120), status, age(v.At, s.UpdatedAt.Time), title, dress))
	}
	return lines
}

// busiest puts the threads that wait for somebody first, then those that run, then
// the most recent.
func busiest(threads []wire.Summary) {
	rank := func(s wire.Summary) int {
		switch {
		case s.AwaitingInput:
			return 0
		case s.Status == wire.StatusActive:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(threads, func(a, b wire.Summary) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return b.UpdatedAt.Compare(a.UpdatedAt.Time)
	})
}

const unknown = "–"

// age is how long ago then was, by this machine's clock.
func age(now, then time.Time) string { return short(max(0, now.Sub(then))) }

// short is a duration in at most five cells.
func short(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

func uptime(s float64) string {
	d := time.Duration(s) * time.Second
	switch {
	case d < time.Minute:
		return short(d)
	case d < time.Hour:
		return fmt.Sprintf("%dm %02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh %02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd %02dh", int(d.Hours())/24, int(d.Hours())%24)
}

// percent is of one core.
func percent(cores *float64) string {
	if cores == nil {
		return unknown
	}
	return fmt.Sprintf("%.1f%%", *cores*100)
}

// grouped groups the digits by thousands.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func perSecond(v *float64) string {
	switch {
	case v == nil:
		return unknown
	case *v > 0 && *v < 10:
		return fmt.Sprintf("%.1f/s", *v)
	}
	return grouped(int64(*v+0.5)) + "/s"
}

func bytesPerSecond(v *float64) string {
	if v == nil {
		return unknown
	}
	return size(*v) + "/s"
}

func size(b float64) string {
	switch {
	case b < 1e3:
		return fmt.Sprintf("%.0f B", b)
	case b < 1e6:
		return fmt.Sprintf("%.1f KB", b/1e3)
	case b < 1e9:
		return fmt.Sprintf("%.1f MB", b/1e6)
	}
	return fmt.Sprintf("%.2f GB", b/1e9)
}

func seconds(v *float64) string {
	switch {
	case v == nil:
		return unknown
	case *v < 1e-6:
		return fmt.Sprintf("%.0f ns", *v*1e9)
	case *v < 1e-3:
		return fmt.Sprintf("%.1f µs", *v*1e6)
	}
	return fmt.Sprintf("%.1f ms", *v*1e3)
}
