package wire

import (
	"encoding/json"
	"time"
)

func ptr[T any](v T) *T { return &v }

var exampleTime = At(time.Date(2026, 3, 4, 5, 6, 7, 890_123_456, time.FixedZone("", 3600)))

func exampleUsage() *Usage {
	return &Usage{Input: 1200, Output: 34, CacheRead: 5, CacheWrite: 6, TotalCost: ptr(0.0125)}
}

func exampleModel() ModelState {
	return ModelState{Provider: "acme", ID: "m-1", Name: "Model One", ThinkingLevel: "high", ContextWindow: 200000}
}

func exampleDescriptor() *Descriptor {
	return &Descriptor{
		Kind:      FloorKind("bash"),
		Props:     map[string]json.RawMessage{"exitCode": json.RawMessage("0"), "argv": json.RawMessage(`["ls","-l"]`)},
		Truncated: &Truncation{Shown: 10, Total: 4010, Unit: UnitLines},
	}
}

// exampleObservations has one of each kind, every field set.
func exampleObservations() []Observation {
	raw := json.RawMessage(`{"path":"a.txt","deep":[1,{"x":null}]}`)
	return []Observation{
		&TextDelta{MessageID: "m1", Delta: "héllo \"you\"\n", Usage: exampleUsage()},
		&ThinkingDelta{MessageID: "m1", Delta: "let me see"},
		&ToolCall{ToolCallID: "c1", ToolName: "read", Input: raw, MessageID: "m1"},
		&ToolResult{ToolCallID: "c1", ToolName: "bash", Text: "a\nb", Complete: true, IsError: true, Descriptor: exampleDescriptor()},
		&CustomEntry{CustomType: "plan", Data: raw},
		&PermissionMode{Mode: "ask", Available: []string{"ask", "auto"}},
		&PermissionModeRejected{Requested: "root", Reason: "not on offer"},
		&Model{Model: exampleModel()},
		&MessageStart{MessageID: "m1", Role: RoleAssistant},
		&MessageEnd{
			MessageID: "m1", Role: RoleUser, Text: ptr("look"), Images: []Image{{MimeType: "image/png", Data: "aGk="}},
			StopReason: "stop", Error: "cut off", Usage: exampleUsage(),
		},
		&SessionUsageChanged{Usage: SessionUsage{
			Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, TotalCost: ptr(1e-7), Context: &ContextUsage{Tokens: 10, Window: 20},
		}},
		&BranchCompacted{Summary: "so far", TokensBefore: 90000, TokensAfter: ptr(int64(1200)), Reason: CompactionThreshold},
		&Login{State: LoginWaiting, Provider: "acme", Since: exampleTime, Message: "open the page"},
		&TurnStart{Turn: 1},
		&TurnEnd{Turn: 1},
		&ProviderRefused{Message: "overloaded", Status: 529, Code: "overloaded_error"},
		&ProviderRetrying{Attempt: 1, MaxAttempts: 3, DelayMs: 2000, Message: "overloaded"},
		&ProviderRetryEnded{Succeeded: true, Attempt: 2, Error: "gave up"},
		&Queue{
			Interrupting: []QueuedPrompt{{MessageID: "p1", Text: "stop that"}},
			Enqueued:     []QueuedPrompt{{MessageID: "p2", Text: "then this"}},
		},
		&PromptRejected{MessageID: "p1", Reason: "no such command"},
		&ExtensionError{Extension: "guard", Event: "tool_call", Message: "threw"},
		&ExtensionUIRequest{ID: "d1", Origin: OriginRun, Blocking: true, Dialog: &ConfirmDialog{Title: "Sure?", Message: "rm -r x", Timeout: 5000}},
		&DialogSettled{ID: "d1", Outcome: DialogAnswered, By: "page"},
		&RunEnded{Generation: 3, Outcome: RunFailed, Error: Errorf(CodeSessionExited, "it is gone"), At: exampleTime},
		&Settled{Generation: 3},
		&Unmapped{Event: json.RawMessage(`{"type":"new_thing","n":1}`)},
	}
}

func exampleDialogs() []DialogSpec {
	return []DialogSpec{
		&SelectDialog{Title: "Which?", Options: []string{"A", "B"}, Message: "--- a\n+++ b", Timeout: 1000},
		&ConfirmDialog{Title: "Sure?", Message: "It cannot be undone.", Timeout: 1000},
		&InputDialog{
			Title: "Key", Placeholder: "sk-…", Secret: true, Message: "Paste it here.",
			Link: &DialogLink{URL: "https://example.com/login", Label: "Log in"}, Timeout: 1000,
		},
		&EditorDialog{Title: "Edit", Prefill: "text"},
		&QuestionnaireDialog{Title: "Some questions", Questions: []Question{{
			Header: "Colour", Question: "Which colours?", MultiSelect: true,
			Options: []QuestionOption{{Label: "red", Description: "warm"}, {Label: "blue", Description: "cold"}},
		}}},
	}
}

func exampleParts() []Part {
	descriptor, err := Encode(exampleDescriptor())
	if err != nil {
		panic(err)
	}
	return []Part{
		&TextPart{Text: "hello"},
		&ThinkingPart{Text: "hm"},
		&ToolCallPart{ToolCallID: "c1", ToolName: "read", Input: json.RawMessage(`{"path":"a.txt"}`)},
		&ToolResultPart{ToolCallID: "c1", Text: "a", IsError: true, Metadata: Metadata{ToolResultKey: descriptor}},
		&CustomPart{CustomType: "plan", Data: json.RawMessage(`[1,2]`)},
		&ImagePart{MimeType: "image/png", Data: "aGk="},
	}
}

func exampleFrames() []Frame {
	model := exampleModel()
	return []Frame{
		&Snapshot{
			ThreadID: "helper.01", AsOfSeq: 7, Live: true, Busy: true, Generation: 3,
			PermissionMode: PermissionModeState{Mode: "ask", Available: []string{"ask"}},
			Model:          &model, RecordedModel: &model, Cwd: "/src/app",
			Usage:       SessionUsage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, TotalCost: ptr(0.5), Context: &ContextUsage{Tokens: 1, Window: 2}},
			Messages:    []Message{{ID: "m1", Role: RoleAssistant, Parts: exampleParts(), Complete: true}},
			OpenDialogs: []OpenDialog{{ID: "d1", Dialog: exampleDialogs()[0]}},
			Interrupted: &Interrupted{Reason: RunAborted, LastMessageID: "m1", At: exampleTime},
			Login:       &LoginInProgress{Provider: "acme", Since: exampleTime},
		},
		&ObservationFrame{Seq: 8, Observation: exampleObservations()[0]},
		&Status{Live: true, Busy: true, Generation: 3},
	}
}

// exampleAnswers has one of each arm, by the arm's name on the wire.
func exampleAnswers() map[string]Answer {
	return map[string]Answer{
		"cancelled": {ID: "d1", Arm: &CancelArm{}},
		"value":     {ID: "d1", Arm: &ValueArm{NewSecret("A")}},
		"confirmed": {ID: "d1", Arm: &ConfirmArm{Confirmed: true}},
		"answers":   {ID: "d1", Arm: &AnswersArm{[]QuestionAnswer{{Selected: []string{"red"}, Other: ptr("a hint of green")}}}},
	}
}

// exampleResources has one of each resource of the HTTP surface, every field set.
func exampleResources() []any {
	model := exampleModel()
	summary := Summary{
		ID: "helper.01", Type: "helper", Title: "t", Status: StatusActive, AwaitingInput: true, Live: true, Busy: true,
		Generation: 3, OpenDialogs: 1, HeadSeq: 9, Parent: "helper.00", Children: []string{"helper.02"}, Cwd: "/src",
		Model: &model, Usage: SessionUsage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, TotalCost: ptr(0.5), Context: &ContextUsage{Tokens: 1, Window: 2}},
		CreatedAt: exampleTime, UpdatedAt: exampleTime, Tags: map[string]string{"team": "x"},
	}
	return []any{
		&summary,
		&ThreadPage{Threads: []Summary{summary}, Next: "abc"},
		&CreateThread{
			Type: "helper", ID: "01", Title: "t", Args: RawJSON(`{"x":1}`), Parent: "helper.00", Cwd: "/src",
			Tags: map[string]string{"team": "x"},
		},
		&PromptRequest{Message: "hi", Images: []Image{{MimeType: "image/png", Data: "aGk="}}, Admission: AdmitInterrupting, MessageID: "p1"},
		&PromptReceipt{MessageID: "p1", Queued: true, Generation: 3},
		&AbortReceipt{
			Aborted: true, Generation: 3, Queue: []QueuedPrompt{{MessageID: "p2", Text: "later"}}, Dialogs: []string{"d1"},
			Processes: []Process{{PID: 42, Command: "sleep 9", Signal: "KILL"}}, Children: []string{"helper.02"},
		},
		&ModeRequest{Mode: "ask"},
		&ModelRequest{ID: "m-1", Provider: "acme", ThinkingLevel: "low"},
		&CompactRequest{Instructions: "keep the plan"},
		&RenameRequest{Title: "t"},
		&Tails{
			Emitted: []TailRow{{Type: "observation", Name: "text-delta", Provenance: "live", Count: 3}},
			Sent:    []TailRow{{Type: "snapshot", Name: "x", Provenance: "sent", Count: 1}},
		},
		&Agent{
			Name: "helper", Runtime: "scripted", Default: true, Available: true, Reason: "none",
			Capabilities: Capabilities{Steer: true, Resume: true, Images: true, Dialogs: true, Modes: true, Models: true, Compact: true, Login: true},
		},
	}
}
