package host

import (
	"cmp"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/troupe-run/troupe/wire"
)

// The limits of a page.
const (
	MaxPage     = 500
	DefaultPage = 100
)

// PageLimit is the limit that a query means, or a failure of code invalid.
func PageLimit(limit int) (int, error) {
	if limit == 0 {
		return DefaultPage, nil
	}
	if limit < 1 || limit > MaxPage {
		return 0, wire.Errorf(wire.CodeInvalid, "limit: want 1 to %d, got %d", MaxPage, limit)
	}
	return limit, nil
}

// Place is where a thread stands in the catalog: by its creation, in
// milliseconds of Unix time, then its id, neither of which changes while it is
// listed.
type Place struct {
	CreatedMs int64
	ID        string
}

// PlaceOf is the place of a row.
func PlaceOf(r Row) Place { return Place{r.Summary.CreatedAt.UnixMilli(), r.Summary.ID} }

// Compare is negative when p is older than q.
func (p Place) Compare(q Place) int {
	return cmp.Or(cmp.Compare(p.CreatedMs, q.CreatedMs), cmp.Compare(p.ID, q.ID))
}

// Cursor is the cursor of the page behind p.
func (p Place) Cursor() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.CreatedMs, 10) + " " + p.ID))
}

// ParseCursor reads a cursor of Place, or fails with code invalid.
func ParseCursor(s string) (Place, error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	ms, id, ok := strings.Cut(string(b), " ")
	created, err2 := strconv.ParseInt(ms, 10, 64)
	if err != nil || err2 != nil || !ok || id == "" {
		return Place{}, wire.Errorf(wire.CodeInvalid, "cursor: not from a page before")
	}
	return Place{created, id}, nil
}
