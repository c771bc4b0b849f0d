//go:build !race

package actors

// scale is what the proofs divide their numbers by.
const scale = 1
