// Package memory is the journal in memory: everything the durable ones promise
// but durability. It is what tests run on, and a host that need not remember.
package memory
