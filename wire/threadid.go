package wire

// ThreadID names a thread: the agent's name and the thread's own id, written
// "<type>.<id>". Both are segments: [a-z0-9][a-z0-9_-]*, at most 48 and 64 bytes.
type ThreadID struct {
	Type string
	ID   string
}

// String is the full form, "<type>.<id>".
func (t ThreadID) String() string { return t.Type + "." + t.ID }
