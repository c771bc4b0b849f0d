// Package pi runs the pi coding agent (pi --mode rpc: JSON lines on stdin and
// stdout) as a runtime, in its versions 1.6.0 and 0.73.1. README.md has what was
// learnt of it and decided.
package pi
