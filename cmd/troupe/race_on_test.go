//go:build race

package main

// The race detector's own frames double a stack.
const raceWeight = 2
