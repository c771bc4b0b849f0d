package main

import (
	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/host/pi"
)

// newPi is the runtime of an agent that runs pi.
func newPi(a agentConfig) host.Runtime {
	return pi.New(pi.Options{Name: runtimePi, Command: a.Command, Model: a.Model, Env: a.Env})
}
