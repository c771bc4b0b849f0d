// Command troupe serves threads of agents, and is the terminal client of a host
// that does.
//
// One file per verb. This is also the composition root: the only reader of flags,
// environment and configuration file, and the only place where packages meet.
// The client verbs speak HTTP to a host and share nothing with it but wire.
package main
