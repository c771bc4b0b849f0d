package wire

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestParseThreadID(t *testing.T) {
	for in, want := range map[string]struct {
		typ, id string
		bare    bool
	}{
		"helper.01jz": {"helper", "01jz", false},
		"h-e_9.0-_":   {"h-e_9", "0-_", false},
		"01jz":        {"", "01jz", true},
		strings.Repeat("t", 48) + "." + strings.Repeat("i", 64): {strings.Repeat("t", 48), strings.Repeat("i", 64), false},
	} {
		id, bare, err := ParseThreadID(in)
		if err != nil || id.Type != want.typ || id.ID != want.id || bare != want.bare {
			t.Errorf("%s: %+v %v %v", in, id, bare, err)
		}
		if !bare && id.String() != in {
			t.Errorf("%s prints as %s", in, id)
		}
	}
	for _, in := range []string{
		"", ".", "a.", ".a", "a.b.c", "A.b", "a.B", "-a", "_a", "a.-b", "a.b/c", "a b", "é", "a\x00",
		strings.Repeat("t", 49) + ".a", strings.Repeat("i", 65), "a." + strings.Repeat("i", 65),
	} {
		id, _, err := ParseThreadID(in)
		if f := AsFailure(err); f == nil || f.Code != CodeInvalid || id != (ThreadID{}) {
			t.Errorf("%q: %+v %v", in, id, err)
		}
	}
}

func TestNewIDIsASegmentThatSortsByTime(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	entropy := func() *bytes.Reader { return bytes.NewReader(bytes.Repeat([]byte{7}, 10)) }
	a, b := NewID(now, entropy()), NewID(now.Add(time.Millisecond), entropy())
	if !ValidID(a) || !ValidType(a) || len(a) != 26 || a >= b || a[10:] != b[10:] {
		t.Fatal(a, b)
	}
	if again := NewID(now, entropy()); again != a {
		t.Fatalf("%s, then %s", a, again)
	}
}
