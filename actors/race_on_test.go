//go:build race

package actors

// scale is what the proofs divide their numbers by: the race detector is slow.
const scale = 5
