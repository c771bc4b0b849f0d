package memory

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

const (
	defaultPage = 100
	maxPage     = 500
)

// Query is a page of the catalog, newest first: by the time of creation, then by
// id. A cursor names the last row of the page before.
func (j *Journal) Query(_ context.Context, q wire.ThreadQuery) ([]host.Row, string, error) {
	limit := q.Limit
	if limit == 0 {
		limit = defaultPage
	}
	if limit < 0 || limit > maxPage {
		return nil, "", wire.Errorf(wire.CodeInvalid, "limit %d: want 1 to %d", q.Limit, maxPage)
	}
	after, err := base64.RawURLEncoding.DecodeString(q.Cursor)
	if err != nil {
		return nil, "", wire.Errorf(wire.CodeInvalid, "cursor %q is not one of ours", q.Cursor)
	}
	rows := j.matching(q, string(after))
	slices.SortFunc(rows, func(a, b host.Row) int { return cmp.Compare(place(b), place(a)) })
	next := ""
	if len(rows) > limit {
		rows = rows[:limit]
		next = base64.RawURLEncoding.EncodeToString([]byte(place(rows[limit-1])))
	}
	return rows, next, nil
}

// place is where a row stands in the catalog, greater is newer.
func place(r host.Row) string {
	return r.Summary.CreatedAt.UTC().Format("2006-01-02T15:04:05.000") + " " + r.Summary.ID
}

func (j *Journal) matching(q wire.ThreadQuery, after string) []host.Row {
	want := strings.ToLower(q.Q)
	j.mu.Lock()
	defer j.mu.Unlock()
	var rows []host.Row
	for _, t := range j.threads {
		s := t.row.Summary
		switch {
		case !t.exists,
			q.Type != "" && s.Type != q.Type,
			q.Status != "" && s.Status != q.Status,
			q.Parent != "" && s.Parent != q.Parent,
			want != "" && !strings.Contains(strings.ToLower(s.ID), want) && !strings.Contains(strings.ToLower(s.Title), want),
			after != "" && place(t.row) >= after:
			continue
		}
		rows = append(rows, t.row)
	}
	return rows
}
