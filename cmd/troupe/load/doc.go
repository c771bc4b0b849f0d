// Package load drives a server with many threads and followers, and checks the
// rules of a follow while it measures. README.md says what each scenario checks and
// how to read its table.
//
// It is a tool's process, not a host's: nobody has to be told of a panic in one of
// its goroutines, which belong to an errgroup each.
package load
