// Package host declares everything a thread needs from outside, each behind one
// small interface: Runtime and Session (an agent), Journal (the durable record).
// Its subpackages are named for what implements them; hosttest holds the
// contract suites they pass. A vendor's name or type appears only in its adapter.
//
// host imports only wire.
package host
