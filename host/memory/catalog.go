package memory

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// The limits of a page.
const (
	maxPage     = 500
	defaultPage = 100
)

// place is where a thread stands in the catalog: by its creation, then its id,
// neither of which changes while it is listed.
type place struct {
	createdMs int64
	id        string
}

func placeOf(r host.Row) place { return place{r.Summary.CreatedAt.UnixMilli(), r.Summary.ID} }

func compare(a, b place) int {
	return cmp.Or(cmp.Compare(a.createdMs, b.createdMs), cmp.Compare(a.id, b.id))
}

func (j *Journal) find(p place) (int, bool) {
	return slices.BinarySearchFunc(j.index, p, func(t *thread, p place) int { return compare(placeOf(t.row), p) })
}

func (j *Journal) enter(t *thread) {
	i, _ := j.find(placeOf(t.row))
	j.index = slices.Insert(j.index, i, t)
}

func (j *Journal) update(t *thread, r host.Row) {
	if placeOf(t.row) == placeOf(r) {
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
	limit := q.Limit
	if limit == 0 {
		limit = defaultPage
	}
	if limit < 1 || limit > maxPage {
		return nil, "", wire.Errorf(wire.CodeInvalid, "limit: want 1 to %d, got %d", maxPage, q.Limit)
	}
	j.mu.RLock()
	defer j.mu.RUnlock()
	end := len(j.index)
	if q.Cursor != "" {
		after, ok := parseCursor(q.Cursor)
		if !ok {
			return nil, "", wire.Errorf(wire.CodeInvalid, "cursor: not from a page before")
		}
		end, _ = j.find(after)
	}
	for _, t := range slices.Backward(j.index[:end]) {
		if !selects(q, t.row.Summary) {
			continue
		}
		if len(rows) == limit {
			return rows, cursor(placeOf(rows[limit-1])), nil
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

func cursor(p place) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.createdMs, 10) + " " + p.id))
}

func parseCursor(s string) (place, bool) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return place{}, false
	}
	ms, id, ok := strings.Cut(string(b), " ")
	created, err := strconv.ParseInt(ms, 10, 64)
	return place{created, id}, ok && err == nil && id != ""
}
