package wire

import (
	"errors"
	"fmt"
	"net/http"
)

// Code is a stable, machine-readable word for what went wrong. The set is
// closed; REFERENCE.md lists it with each one's HTTP status.
type Code string

// The closed set of failure codes.
const (
	// CodeBadRequest is malformed JSON, an unknown field or a wrong type (400).
	CodeBadRequest Code = "bad-request"
	// CodeInvalid is well-formed but refused: an empty prompt, an unoffered option (422).
	CodeInvalid Code = "invalid"
	// CodeNotFound is an unknown route, agent type, thread, or a spent dialog or prompt (404).
	CodeNotFound Code = "not-found"
	// CodeAmbiguous is a bare thread id that two types share (409).
	CodeAmbiguous Code = "ambiguous-id"
	// CodeForbidden is a Host or Origin that is not ours (403).
	CodeForbidden Code = "forbidden"
	// CodeMethodNotAllowed is a known path with another method (405).
	CodeMethodNotAllowed Code = "method-not-allowed"
	// CodeTooLarge is a body over its limit (413).
	CodeTooLarge Code = "too-large"
	// CodeUnsupported is a verb that this runtime cannot do (409).
	CodeUnsupported Code = "unsupported"
	// CodeConflict is a request that the thread's state refuses (409).
	CodeConflict Code = "conflict"
	// CodeLimit is a bound that was reached: followers, queue, dialogs (429).
	CodeLimit Code = "limit-reached"
	// CodeTimeout is an answer that did not come within its bound (504).
	CodeTimeout Code = "timeout"
	// CodeUnavailable is a host that is stopping or a thread that is being rebuilt (503).
	CodeUnavailable Code = "unavailable"
	// CodeStorageFull is a disk, or a bound of one, that takes no more: what was
	// refused is not recorded, and is taken again once there is space (507).
	CodeStorageFull Code = "storage-full"
	// CodeInternal is a bug of ours (500).
	CodeInternal Code = "internal"

	// CodePromptRejected: the runtime, or the host for it, refused the prompt.
	CodePromptRejected Code = "prompt-rejected"
	// CodeCommandMissing: the agent's command is not on this machine.
	CodeCommandMissing Code = "command-missing"
	// CodeStartFailed: the agent's process did not become a session.
	CodeStartFailed Code = "start-failed"
	// CodeSessionExited: the agent's process ended in mid-run.
	CodeSessionExited Code = "session-exited"
	// CodeCrashed: our code panicked while it served the run.
	CodeCrashed Code = "crashed"
	// CodeProvider: the model's provider refused.
	CodeProvider Code = "provider-refused"
)

// Failure is an error that crosses a boundary: a code for machines, a message
// for people. It is the only error type that api maps to a status.
type Failure struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// Error is the message with its code.
func (f *Failure) Error() string { return string(f.Code) + ": " + f.Message }

// statuses is the one place where a code becomes an HTTP status. The codes that
// a run ends with are told by observations; where a route must answer with one
// all the same, the agent's side is the gateway that failed.
var statuses = []struct {
	code   Code
	status int
}{
	{CodeBadRequest, http.StatusBadRequest},
	{CodeInvalid, http.StatusUnprocessableEntity},
	{CodeNotFound, http.StatusNotFound},
	{CodeAmbiguous, http.StatusConflict},
	{CodeForbidden, http.StatusForbidden},
	{CodeMethodNotAllowed, http.StatusMethodNotAllowed},
	{CodeTooLarge, http.StatusRequestEntityTooLarge},
	{CodeUnsupported, http.StatusConflict},
	{CodeConflict, http.StatusConflict},
	{CodeLimit, http.StatusTooManyRequests},
	{CodeTimeout, http.StatusGatewayTimeout},
	{CodeUnavailable, http.StatusServiceUnavailable},
	{CodeStorageFull, http.StatusInsufficientStorage},
	{CodeInternal, http.StatusInternalServerError},
	{CodePromptRejected, http.StatusConflict},
	{CodeCommandMissing, http.StatusConflict},
	{CodeStartFailed, http.StatusBadGateway},
	{CodeSessionExited, http.StatusBadGateway},
	{CodeCrashed, http.StatusInternalServerError},
	{CodeProvider, http.StatusBadGateway},
}

// Codes lists the closed set.
func Codes() []Code {
	out := make([]Code, 0, len(statuses))
	for _, s := range statuses {
		out = append(out, s.code)
	}
	return out
}

// Status is the HTTP status of the code; one outside the closed set is a bug of
// ours, 500.
func (c Code) Status() int {
	for _, s := range statuses {
		if s.code == c {
			return s.status
		}
	}
	return http.StatusInternalServerError
}

// Errorf is a failure of this code.
func Errorf(code Code, format string, args ...any) *Failure {
	return &Failure{Code: code, Message: fmt.Sprintf(format, args...)}
}

// AsFailure is the failure in err's chain. Any other error becomes one of code
// internal that says nothing of the cause: log err where it is met. nil is nil.
func AsFailure(err error) *Failure {
	if err == nil {
		return nil
	}
	var f *Failure
	if errors.As(err, &f) && f != nil {
		return f
	}
	return Errorf(CodeInternal, "an internal error")
}
