package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// change is what waits after a batch: puts come before takes; one that waits
// already stays as it is, one that does not wait is not missed.
func (j *Journal) change(id wire.ThreadID, put []host.Wake, take []string) {
	if len(put) == 0 && len(take) == 0 {
		return
	}
	out := slices.Clone(j.wakes[id]) // what Open answered stays as it was
	for _, w := range put {
		if !slices.ContainsFunc(out, func(o host.Wake) bool { return o.MessageID == w.MessageID }) {
			out = append(out, w)
		}
	}
	out = slices.DeleteFunc(out, func(w host.Wake) bool { return slices.Contains(take, w.MessageID) })
	if len(out) == 0 {
		delete(j.wakes, id)
		return
	}
	j.wakes[id] = out
}

// Waiting lists by type and id; its cursor is the last id of the page before.
func (j *Journal) Waiting(_ context.Context, limit int, cursor string) (ids []wire.ThreadID, next string, err error) {
	if limit, err = host.PageLimit(limit); err != nil {
		return nil, "", err
	}
	var after wire.ThreadID
	if cursor != "" {
		var bare bool
		if after, bare, err = wire.ParseThreadID(cursor); err != nil || bare {
			return nil, "", wire.Errorf(wire.CodeInvalid, "cursor: not from a page before")
		}
	}
	j.mu.RLock()
	for id := range j.wakes {
		if cursor == "" || older(after, id) < 0 {
			ids = append(ids, id)
		}
	}
	j.mu.RUnlock()
	slices.SortFunc(ids, older)
	if len(ids) > limit {
		ids = ids[:limit]
		next = ids[limit-1].String()
	}
	return ids, next, nil
}

func older(a, b wire.ThreadID) int {
	return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.ID, b.ID))
}
