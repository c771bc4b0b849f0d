package wire

const (
	exampleEntity = "/t/default/a/helper/01"
	exampleChild  = "/t/default/a/helper/02"
)

func exampleRunUsage() RunUsage {
	return RunUsage{
		InputTokens: 1206, CacheReadTokens: 5, OutputTokens: 34, ContextTokens: 1211, Steps: 2, CostUSD: ptr(0.0125), Attempt: 2,
	}
}

func exampleBlocks() []ContentBlock {
	return []ContentBlock{&TextBlock{Text: "hello"}, &ImageBlock{MimeType: "image/png", Data: "aGk="}}
}

// exampleEvents has one of each type, every field set.
func exampleEvents() []*Event {
	raw := RawJSON(`{"path":"a.txt","deep":[1,{"x":null}]}`)
	state, err := Encode(exampleState())
	if err != nil {
		panic(err)
	}
	payloads := []Payload{
		&EntitySpawned{EntityType: "helper", ParentID: ptr("/t/default/a/helper/00"), SpawnArgs: raw, WorkspaceRef: "default/app"},
		&RunStarted{
			RunID: "r1", Wake: WakeCause{Source: WakeMessage, From: exampleChild}, Harness: HarnessNative, Model: "m-1",
			Detail: RawJSON(`{"runtime":"scripted"}`),
		},
		&MessageEvent{ID: "p1", RunID: "r1", Role: EventRoleUser, Content: exampleBlocks(), From: exampleChild},
		&ToolCallEvent{RunID: "r1", ToolUseID: "c1", Name: "read", Input: raw},
		&ToolResultEvent{RunID: "r1", ToolUseID: "c1", Name: "read", Content: exampleBlocks(), Detail: raw, IsError: true},
		&Reasoning{ID: "m1~1", RunID: "r1", Text: "let me see", Encrypted: "x9"},
		&StateSnapshot{State: state, Reason: SnapshotRecovery, HistoryHole: true},
		&Summarization{RunID: "r1", Summary: "so far", ReplacesThroughSeq: 4, Detail: raw},
		&Control{Verb: VerbInterrupt, Reason: "enough", From: "page"},
		&ErrorEvent{RunID: "r1", Code: "provider-refused", Message: "overloaded", Source: ErrorProvider, Detail: raw},
		&RunFinished{RunID: "r1", Outcome: OutcomeError, Usage: exampleRunUsage(), DurationMs: 1500, Detail: raw},
		&ChildSpawned{ChildID: exampleChild, ChildType: "helper", RunID: "r1", ToolUseID: "c1"},
		&ChildFinished{ChildID: exampleChild, Outcome: ChildArchived, Result: raw},
		&Archived{Reason: ArchiveRequested, SnapshotSeq: 12},
		&Opaque{Origin: "scripted", Kind: CustomKind("plan"), Data: raw},
	}
	var out []*Event
	for i, p := range payloads {
		out = append(out, &Event{V: EventVersion, EntityID: exampleEntity, Seq: int64(i), TS: exampleTime, Payload: p})
	}
	return out
}

func exampleDeltas() []Delta {
	return []Delta{
		&DeltaText{V: 1, EntityID: exampleEntity, RunID: "r1", Ref: "m1", Idx: 1, TS: exampleTime, Attempt: 2, Text: "hé"},
		&DeltaReasoning{V: 1, EntityID: exampleEntity, RunID: "r1", Ref: "m1~1", Idx: 1, TS: exampleTime, Attempt: 2, Text: "hm"},
		&DeltaToolInput{V: 1, EntityID: exampleEntity, RunID: "r1", Ref: "c1", Idx: 1, TS: exampleTime, Attempt: 2, Text: `{"pa`},
		&DeltaUsage{V: 1, EntityID: exampleEntity, RunID: "r1", Ref: "r1", Idx: 1, TS: exampleTime, Attempt: 2, Usage: exampleRunUsage()},
	}
}

func exampleState() *EntityState {
	return &EntityState{
		Seq: 20, EntityType: "helper", ParentID: ptr(exampleChild), SpawnArgs: RawJSON(`{"x":1}`), WorkspaceRef: "default/app",
		Title: "t", Paused: true, Archived: true, Runs: 3,
		Run:       &OpenRun{RunID: "r3", Source: WakeSpawn, Seq: 18, StartedAt: exampleTime},
		OpenCalls: []OpenCall{{RunID: "r3", ToolUseID: "c2", Name: "read"}},
		Model:     ptr(exampleModel()), Usage: exampleRunUsage(),
		Interrupted: &Interrupted{Reason: RunAborted, LastMessageID: "m1", At: exampleTime},
		Children:    []StateChild{{ChildID: exampleChild, ChildType: "helper"}}, ChildrenFinished: 1,
		Summary: &StateSummary{Summary: "so far", ReplacesThroughSeq: 4}, Replaced: 2, Omitted: 3,
		Messages:    []Message{{ID: "m1", Role: RoleAssistant, Parts: exampleParts(), Complete: true}},
		MessageSeqs: []int64{5}, CustomEntries: 1, Speaking: "m1", Thinking: "hm", ThinkingID: "m2~1", Truncated: true,
	}
}
