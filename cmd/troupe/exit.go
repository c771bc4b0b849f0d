package main

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/troupe-run/troupe/wire"
)

// Exit codes, as the README documents them.
const (
	exitOK          = 0
	exitFailure     = 1 // refused or broken; stderr says what
	exitUsage       = 2 // the command line or the configuration is wrong
	exitRunFailed   = 3 // prompt --wait: the run failed
	exitRunAborted  = 4 // prompt --wait: the run was aborted, or the prompt dropped by an abort
	exitRejected    = 5 // prompt --wait: the prompt was rejected
	exitNoServer    = 6 // there is no server at the address
	exitInterrupted = 130
)

// usageError is a command line or a configuration that is wrong.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Unwrap is the cause.
func (e usageError) Unwrap() error { return e.error }

// noServerError says that nothing listens at the address.
type noServerError struct {
	base  string
	cause error
}

func (e *noServerError) Error() string {
	return fmt.Sprintf("no server at %s; start one with `troupe serve`", e.base)
}

// Unwrap is what dialling said.
func (e *noServerError) Unwrap() error { return e.cause }

// codedError ends the program with a code of its own. Its text may be empty:
// then everything was said already.
type codedError struct {
	code int
	text string
}

func (e *codedError) Error() string { return e.text }

// report is what stderr says of err, without the program's name, and the exit
// code. The text may be empty.
func report(err error) (text string, code int) {
	var (
		coded   *codedError
		usage   usageError
		missing *noServerError
		failure *wire.Failure
		dial    *url.Error
	)
	switch {
	case err == nil:
		return "", exitOK
	case errors.As(err, &coded):
		return coded.text, coded.code
	case errors.As(err, &usage):
		return usage.Error(), exitUsage
	case errors.As(err, &missing):
		return missing.Error(), exitNoServer
	case errors.As(err, &failure):
		return fmt.Sprintf("%s (%s)", plain(failure.Message), plain(string(failure.Code))), exitFailure
	case errors.As(err, &dial):
		return dial.Err.Error(), exitFailure
	default:
		return plain(err.Error()), exitFailure
	}
}
