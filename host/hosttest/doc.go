// Package hosttest holds the contract suites of host: [Run] for a runtime and its
// sessions, [RunJournal] for a journal, and the recording [Sink] that both an
// adapter's own tests and the suite observe a session with.
//
// An adapter passes the suite against its real agent, directed by prompts: the
// suite knows what a run should do, the [Prompts] of its [Subject] say how this
// agent is told to do it. What an agent cannot do is skipped, with its name.
//
// hosttest imports only wire and host. Nothing in it waits by sleeping.
package hosttest
