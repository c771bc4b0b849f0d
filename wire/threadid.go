package wire

import (
	"io"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// The most bytes that the segments of a [ThreadID] hold.
const (
	MaxTypeLen = 48
	MaxIDLen   = 64
)

// ThreadID names a thread: the agent's name and the thread's own id, written
// "<type>.<id>". Both are segments: [a-z0-9][a-z0-9_-]*, at most 48 and 64 bytes.
type ThreadID struct {
	Type string
	ID   string
}

// String is the full form, "<type>.<id>".
func (t ThreadID) String() string { return t.Type + "." + t.ID }

// ParseThreadID reads "<type>.<id>", or a bare "<id>", whose Type is then empty.
// Anything else is a *Failure of code invalid.
func ParseThreadID(s string) (id ThreadID, bare bool, err error) {
	typ, own, full := strings.Cut(s, ".")
	if !full {
		typ, own = "", s
	}
	if full && !ValidType(typ) || !ValidID(own) {
		return ThreadID{}, false, Errorf(CodeInvalid,
			"%s is no thread id: want <type>.<id> or <id>, each of a-z, 0-9, _ and -, at most %d and %d bytes",
			brief(s), MaxTypeLen, MaxIDLen)
	}
	return ThreadID{Type: typ, ID: own}, !full, nil
}

// ValidType says whether s can be an agent's name, the type of its threads.
func ValidType(s string) bool { return len(s) <= MaxTypeLen && segment(s) }

// ValidID says whether s can be a thread's own id.
func ValidID(s string) bool { return len(s) <= MaxIDLen && segment(s) }

func segment(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		case i > 0 && (c == '_' || c == '-'):
		default:
			return false
		}
	}
	return s != ""
}

// NewID is a lowercase ULID: the default id of a thread, a prompt or a dialog.
// entropy gives its 10 random bytes; it panics when that fails, as crypto/rand
// never does.
func NewID(now time.Time, entropy io.Reader) string {
	return strings.ToLower(ulid.MustNew(ulid.Timestamp(now), entropy).String())
}
