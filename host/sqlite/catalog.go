package sqlite

import (
	"context"
	"strings"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// Query lists by creation, the newest first; next is empty on the last page. A
// limit outside 0..500 or a cursor that is none of its own is invalid. A page costs
// the same wherever it is, unless q, or a filter beside parent, leaves out much of
// what lies between.
func (j *Journal) Query(ctx context.Context, q wire.ThreadQuery) (found []host.Row, next string, err error) {
	limit, err := host.PageLimit(q.Limit)
	if err != nil {
		return nil, "", err
	}
	text, args := selection(q)
	if q.Cursor != "" {
		after, err := host.ParseCursor(q.Cursor)
		if err != nil {
			return nil, "", err
		}
		text += " AND (created, full) < (?, ?)"
		args = append(args, after.CreatedMs, after.ID)
	}
	rows, err := j.reading.QueryContext(ctx, text+" ORDER BY created DESC, full DESC LIMIT ?", append(args, limit+1)...)
	if err != nil {
		return nil, "", j.told(err)
	}
	err = each(rows, func() (bool, error) {
		if len(found) == limit {
			next = host.PlaceOf(found[limit-1]).Cursor()
			return false, nil
		}
		var summary, state []byte
		if err := rows.Scan(&summary, &state); err != nil {
			return false, err
		}
		r, err := decodeRow(summary, state)
		found = append(found, r)
		return true, err
	})
	if err != nil {
		return nil, "", j.told(err)
	}
	return found, next, nil
}

// selection names the index, so that no planner's guess decides what a page costs.
func selection(q wire.ThreadQuery) (text string, args []any) {
	index, where := "catalog_all", []string{"1"}
	is := func(column string, value any) {
		where, args = append(where, column+" = ?"), append(args, value)
	}
	switch {
	case q.Parent != "":
		index = "catalog_parent"
		is("parent", q.Parent)
		where = append(where, "parent <> ''")
	case q.Type != "" && q.Status != "":
		index = "catalog_type_status"
	case q.Type != "":
		index = "catalog_type"
	case q.Status != "":
		index = "catalog_status"
	}
	if q.Type != "" {
		is("type", q.Type)
	}
	if q.Status != "" {
		is("status", string(q.Status))
	}
	if q.Q != "" {
		needle := strings.ToLower(q.Q)
		where, args = append(where, "(instr(full, ?) OR instr(title, ?))"), append(args, needle, needle)
	}
	return "SELECT summary, state FROM catalog INDEXED BY " + index + " WHERE " + strings.Join(where, " AND "), args
}
