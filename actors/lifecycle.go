package actors

import "github.com/troupe-run/troupe/wire"

// The events of an entity's life that no observation tells: the thread mints them
// itself. What a client gave is checked where it comes in.

// spawned is seq 0.
func spawned(id wire.ThreadID, parent string, args wire.RawJSON, workspace string) wire.Payload {
	e := &wire.EntitySpawned{EntityType: id.Type, SpawnArgs: args, WorkspaceRef: workspace}
	if string(args) == "null" {
		e.SpawnArgs = nil
	}
	if parent != "" {
		e.ParentID = &parent
	}
	return e
}

// childSpawned is on the parent, in the run and the call that asked, if any.
func (p *projector) childSpawned(child wire.ThreadID, toolUseID string) wire.Payload {
	return &wire.ChildSpawned{
		ChildID: wire.AddressOf(child).String(), ChildType: child.Type, RunID: p.runID(), ToolUseID: toolUseID,
	}
}

// childFinished is on the parent, in the wake that the child's end is.
func childFinished(child wire.ThreadID, outcome wire.ChildOutcome, result wire.RawJSON) wire.Payload {
	return &wire.ChildFinished{ChildID: wire.AddressOf(child).String(), Outcome: outcome, Result: result}
}

// archiving is what archives an entity whose newest seq is head: the verb where
// one was given, the snapshot, archived. It goes in one commit.
func (m *materialiser) archiving(head int64, verb *wire.Control, title string) ([]wire.Payload, error) {
	var out []wire.Payload
	reason := wire.ArchiveIdle
	if verb != nil {
		out, reason = append(out, verb), wire.ArchiveRequested
	}
	at := head + int64(len(out)) + 1
	snap, err := m.snapshot(at, wire.SnapshotPreArchive, title)
	if err != nil {
		return nil, err
	}
	return append(out, snap, &wire.Archived{Reason: reason, SnapshotSeq: at}), nil
}
