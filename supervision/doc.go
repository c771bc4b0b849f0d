// Package supervision decides what happens after something broke, and how the
// process ends.
//
// What it holds:
//
//   - [Policy]: a decaying count of failures for each key, with the backoff and
//     the limit that follow from it. What backs off is the next session of an
//     agent, never the actor that serves it.
//   - [NewStrategy]: protoactor's supervisor strategy. A panicking actor is
//     restarted at once; one that panics while it starts, restarts or stops is
//     not tried again.
//   - [Guard]: the one place where goroutines start, so that a panic becomes a
//     [Fact] instead of the end of the process.
//   - [Facts]: the one queue of facts and its one subscriber; [LogFacts] writes
//     them, [NewSlog] carries protoactor's own lines to the same logger.
//   - [Group]: the process. It runs until something ends or a signal comes, then
//     performs the stop steps in order, each bounded.
//
// Facts are published first and logged second: nothing here writes a log line by
// itself, and no reason of a panic is printed unless it is known to hold no
// payload (see [Redact]).
//
// supervision imports only wire.
package supervision
