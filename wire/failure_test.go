package wire

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestEveryCodeHasItsStatus(t *testing.T) {
	want := map[Code]int{
		CodeBadRequest: 400, CodeInvalid: 422, CodeNotFound: 404, CodeAmbiguous: 409, CodeForbidden: 403,
		CodeMethodNotAllowed: 405, CodeTooLarge: 413, CodeUnsupported: 409, CodeConflict: 409, CodeLimit: 429,
		CodeTimeout: 504, CodeUnavailable: 503, CodeStorageFull: 507, CodeInternal: 500,
		CodePromptRejected: 409, CodeCommandMissing: 409, CodeStartFailed: 502, CodeSessionExited: 502,
		CodeCrashed: 500, CodeProvider: 502,
	}
	for _, c := range Codes() {
		if c.Status() != want[c] {
			t.Errorf("%s is %d, want %d", c, c.Status(), want[c])
		}
		delete(want, c)
	}
	if len(want) > 0 {
		t.Errorf("not in the closed set: %v", want)
	}
	if got := Code("odd").Status(); got != http.StatusInternalServerError {
		t.Errorf("an unknown code is %d", got)
	}
}

func TestAsFailure(t *testing.T) {
	if AsFailure(nil) != nil {
		t.Error("nil is a failure")
	}
	f := Errorf(CodeConflict, "busy with %d", 3)
	if got := AsFailure(fmt.Errorf("prompt: %w", f)); got != f || got.Error() != "conflict: busy with 3" {
		t.Error(got)
	}
	for _, err := range []error{io.ErrUnexpectedEOF, errors.Join(io.EOF, (*Failure)(nil))} {
		got := AsFailure(err)
		if got.Code != CodeInternal || strings.Contains(got.Message, "EOF") {
			t.Errorf("%v becomes %v", err, got)
		}
	}
}
