package sqlite

import (
	"context"
	"fmt"
)

// Check reads the whole file: what SQLite holds of its pages and indexes, and
// that every thread's events are gapless from 0 and have their row. It takes time
// with the size of the record, runs beside writers, and fails with ErrDamaged.
func (j *Journal) Check(ctx context.Context) error {
	rows, err := j.reading.QueryContext(ctx, "PRAGMA quick_check(20)")
	if err != nil {
		return j.told(err)
	}
	var found []string
	note := func(s string) { found = append(found, s) }
	if err := each(rows, func() (bool, error) {
		var said string
		err := rows.Scan(&said)
		if said != "ok" {
			note(said)
		}
		return true, err
	}); err != nil {
		return j.told(err)
	}
	for _, rule := range []struct{ text, says string }{
		{`SELECT t.type || '.' || t.ident FROM events e JOIN threads t ON t.id = e.thread
			GROUP BY e.thread HAVING min(e.seq) <> 0 OR max(e.seq) <> count(*) - 1 LIMIT 20`, "has a gap"},
		{`SELECT t.type || '.' || t.ident FROM threads t
			WHERE EXISTS (SELECT 1 FROM events e WHERE e.thread = t.id) AND NOT EXISTS (SELECT 1 FROM catalog c WHERE c.thread = t.id) LIMIT 20`, "has events and no row"},
		{`SELECT thread FROM events e WHERE NOT EXISTS (SELECT 1 FROM threads t WHERE t.id = e.thread)
			UNION SELECT thread FROM wakes w WHERE NOT EXISTS (SELECT 1 FROM threads t WHERE t.id = w.thread)
			UNION SELECT thread FROM catalog c WHERE NOT EXISTS (SELECT 1 FROM threads t WHERE t.id = c.thread) LIMIT 20`, "is no thread"},
	} {
		rows, err := j.reading.QueryContext(ctx, rule.text)
		if err != nil {
			return j.told(err)
		}
		if err := each(rows, func() (bool, error) {
			var which string
			err := rows.Scan(&which)
			note(which + " " + rule.says)
			return true, err
		}); err != nil {
			return j.told(err)
		}
	}
	if len(found) > 0 {
		return fmt.Errorf("%w: %q", ErrDamaged, found)
	}
	return nil
}
