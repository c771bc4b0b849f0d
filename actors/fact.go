package actors

import "github.com/troupe-run/troupe/wire"

// Fact is something the core did that its operator may want to know: a closed
// union of [*ThreadPanicked] and [*CommitFailed]. Whoever subscribes decides how
// to log it.
type Fact interface{ fact() }

// ThreadPanicked says that a thread panicked, and at which kind of input. Neither
// the input's content nor the panic's value is here: both may hold a secret.
type ThreadPanicked struct {
	Thread  wire.ThreadID
	Hearing string
}

// CommitFailed says that the journal refused a commit: the thread is being read
// again.
type CommitFailed struct {
	Thread wire.ThreadID
	Err    error
}

func (*ThreadPanicked) fact() {}
func (*CommitFailed) fact()   {}
