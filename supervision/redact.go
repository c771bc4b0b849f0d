package supervision

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/troupe-run/troupe/wire"
)

// Redact is what may be printed of a panic's value: the text of a runtime error,
// the code of a failure, the type of anything else, since a text may quote a
// prompt, an answer or an agent's output. The stack says where.
func Redact(v any) string {
	if v == nil {
		return "nil"
	}
	err, ok := v.(error)
	if !ok {
		return fmt.Sprintf("%T", v)
	}
	var f *wire.Failure
	if errors.As(err, &f) && f != nil {
		return string(f.Code)
	}
	var r runtime.Error
	if errors.As(err, &r) {
		return r.Error()
	}
	return fmt.Sprintf("%T", v)
}
