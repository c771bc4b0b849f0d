// Package actors is the host's core: a registry, one supervised actor per
// thread, its feed and its followers, and the typed client that is the only way
// in.
//
// A thread's decisions are step(state, input), a pure function over a table of
// phase × input (STATES.md); the shell around it only performs the effects that
// step returns, and nothing blocks in Receive: a commit, a session's start, a
// process's exit come back as inputs. The thread is the only writer of its feed
// and of its record.
//
// Every buffer has a bound in bytes and a policy, in Limits.
//
// actors imports only wire and host. What supervises it comes in as values.
package actors
