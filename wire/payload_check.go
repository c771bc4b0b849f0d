package wire

// The rules of payloads beyond their fields' types.

// nonEmpty takes names and values in turn.
func nonEmpty(pairs ...string) error {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			return at(refuse("empty"), pairs[i])
		}
	}
	return nil
}

// addressed refuses what is no entity's address.
func addressed(name, s string) error {
	if _, err := ParseAddress(s); err != nil {
		return at(refuse("%s is no address of an entity", brief(s)), name)
	}
	return nil
}

func addressedIfAny(name, s string) error {
	if s == "" {
		return nil
	}
	return addressed(name, s)
}

// first is the first of errs that is one.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *EntitySpawned) check() error {
	switch {
	case !ValidType(p.EntityType):
		return at(refuse("%s is no type", brief(p.EntityType)), "entityType")
	case string(p.SpawnArgs) == "null":
		return at(refuse("want a value, got null; leave the field out instead"), "spawnArgs")
	case p.WorkspaceRef != "" && !ValidWorkspaceRef(p.WorkspaceRef):
		return at(refuse("%s is no workspace: want <tenant>/<name>", brief(p.WorkspaceRef)), "workspaceRef")
	case p.ParentID != nil:
		return addressed("parentId", *p.ParentID)
	}
	return nil
}

func (w *WakeCause) check() error { return addressedIfAny("from", w.From) }

func (p *RunStarted) check() error { return nonEmpty("runId", p.RunID) }

func (p *MessageEvent) check() error {
	return first(nonEmpty("id", p.ID), addressedIfAny("from", p.From))
}

func (p *ToolCallEvent) check() error {
	return nonEmpty("runId", p.RunID, "toolUseId", p.ToolUseID)
}

func (p *ToolResultEvent) check() error {
	return nonEmpty("runId", p.RunID, "toolUseId", p.ToolUseID)
}

func (p *Reasoning) check() error { return nonEmpty("id", p.ID) }

func (p *Summarization) check() error {
	return atLeast(0, "replacesThroughSeq", p.ReplacesThroughSeq)
}

func (u *RunUsage) check() error {
	if u.CostUSD != nil && *u.CostUSD < 0 {
		return at(refuse("want at least 0"), "costUsd")
	}
	return atLeast(0, "inputTokens", u.InputTokens, "cacheReadTokens", u.CacheReadTokens, "outputTokens", u.OutputTokens,
		"contextTokens", u.ContextTokens, "steps", u.Steps, "attempt", u.Attempt)
}

func (p *RunFinished) check() error {
	return first(nonEmpty("runId", p.RunID), atLeast(0, "durationMs", p.DurationMs))
}

func (p *ChildSpawned) check() error {
	if !ValidType(p.ChildType) {
		return at(refuse("%s is no type", brief(p.ChildType)), "childType")
	}
	return addressed("childId", p.ChildID)
}

func (p *ChildFinished) check() error { return addressed("childId", p.ChildID) }

func (p *Archived) check() error { return atLeast(0, "snapshotSeq", p.SnapshotSeq) }

func (p *Opaque) check() error { return nonEmpty("origin", p.Origin, "kind", p.Kind) }
