package memory

import (
	"context"
	"slices"
	"strings"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

func (j *Journal) find(p host.Place) (int, bool) {
	return slices.BinarySearchFunc(j.index, p, func(t *thread, p host.Place) int { return host.PlaceOf(t.row).Compare(p) })
}

func (j *Journal) enter(t *thread) {
	i, _ := j.find(host.PlaceOf(t.row))
	j.index = slices.Insert(j.index, i, t)
}

func (j *Journal) update(t *thread, r host.Row) {
	if host.PlaceOf(t.row) == host.PlaceOf(r) {
		t.row = r
		return
	}
	j.index = slices.DeleteFunc(j.index, func(o *thread) bool { return o == t })
	t.row = r
	j.enter(t)
}

// Query lists by creation, the newest first; next is empty on the last page. A
// limit outside 0..500 or a cursor that is none of its own is invalid.
func (j *Journal) Query(_ context.Context, q wire.ThreadQuery) (rows []host.Row, next string, err error) {
	limit, err := host.PageLimit(q.Limit)
	if err != nil {
		return nil, "", err
	}
	j.mu.RLock()
	defer j.mu.RUnlock()
	end := len(j.index)
	if q.Cursor != "" {
		after, err := host.ParseCursor(q.Cursor)
		if err != nil {
			return nil, "", err
		}
		end, _ = j.find(after)
	}
	for _, t := range slices.Backward(j.index[:end]) {
		if !selects(q, t.row.Summary) {
			continue
		}
		if len(rows) == limit {
			return rows, host.PlaceOf(rows[limit-1]).Cursor(), nil
		}
		rows = append(rows, t.row)
	}
	return rows, "", nil
}

func selects(q wire.ThreadQuery, s wire.Summary) bool {
	has := func(text string) bool { return strings.Contains(strings.ToLower(text), strings.ToLower(q.Q)) }
	return (q.Type == "" || q.Type == s.Type) &&
		(q.Status == "" || q.Status == s.Status) &&
		(q.Parent == "" || q.Parent == s.Parent) &&
		(q.Q == "" || has(s.ID) || has(s.Title))
}
