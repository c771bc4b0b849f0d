// Package wire is the vocabulary of Troupe: what crosses each boundary, by name.
//
// It holds the observations (one semantic fact about a thread each), the frames
// that carry them on a follow, the snapshot and the Fold that defines what
// "exact" means, the dialogs with their one answer validator, the tool-result
// descriptor and its reader, thread ids, the resources of the HTTP surface, and
// the failures with their closed set of codes; and the timeline: events, deltas,
// addresses, the rules of their sequence, the state they fold to. REFERENCE.md beside this file is
// generated from it.
//
// JSON is camelCase, observation kinds are kebab-case. Every schema is closed:
// the decoders refuse an unknown field, kind or duplicate key, and say which.
// wire imports no other package of ours.
package wire
