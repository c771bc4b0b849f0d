// Package scripted is the embedded runtime: an agent in this process that obeys
// the directives in its prompts, deterministically. It is always on offer, drives
// the load tests, and plays every state that a thread has to live through.
// DIRECTIVES.md lists what it obeys. Nothing but `sh:` leaves the process.
//
// A session costs no goroutine while it is idle: a run is one goroutine of the
// sink's, which ends with it.
package scripted
