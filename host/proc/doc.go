// Package proc runs agents as subprocesses that cannot be left behind.
//
// Each agent runs under a reaper: this executable, executed again ([Main]). The
// reaper is the agent's parent and, on Linux, the subreaper of everything the
// agent starts, so that no descendant gets out of its sight by a double fork, a
// session or a group of its own. It holds a pipe to the host. On command, or when
// that pipe closes because the host is gone, it ends every descendant: TERM, a
// grace, KILL, and looks again until none is left. When the agent exits by
// itself, what it left running is given a moment and then ended the same way.
//
// A reaper that is killed is noticed by the living host, which ends the tree
// itself. Its limits are in README.md.
//
// proc imports only wire. It prints nothing.
package proc
