package wire

import (
	"reflect"
	"slices"
)

// union is a sealed interface on the wire: objects told apart by one string.
type union struct {
	tag     string
	beside  bool     // the discriminator lies beside the object, in the struct that holds it
	words   []string // in the order of declaration
	members map[string]reflect.Type
	wordOf  map[reflect.Type]string // of one beside
}

type memberTag struct{ tag, word string }

// unions and memberTags are the registry of the sealed types: what encoders,
// decoders, Kinds and REFERENCE.md go by. A test compares it with the source.
var (
	unions     = map[reflect.Type]*union{}
	memberTags = map[reflect.Type]memberTag{}
)

func register[U any](tag string, word func(U) string, members ...U) bool {
	u := newUnion(tag, word, members)
	for w, t := range u.members {
		memberTags[t] = memberTag{tag, w}
	}
	return true
}

// registerBeside is for a union whose members' objects do not hold their
// discriminator: the struct with the union's field does, right before it.
func registerBeside[U any](tag string, word func(U) string, members ...U) bool {
	u := newUnion(tag, word, members)
	u.beside = true
	u.wordOf = map[reflect.Type]string{}
	for w, t := range u.members {
		u.wordOf[t] = w
	}
	return true
}

func newUnion[U any](tag string, word func(U) string, members []U) *union {
	u := &union{tag: tag, members: map[string]reflect.Type{}}
	for _, m := range members {
		w := word(m)
		u.words = append(u.words, w)
		u.members[w] = reflect.TypeOf(m).Elem()
	}
	unions[reflect.TypeFor[U]()] = u
	return u
}

var _ = register[Observation]("kind", func(o Observation) string { return string(o.Kind()) },
	&TextDelta{}, &ThinkingDelta{}, &ToolCall{}, &ToolResult{}, &CustomEntry{},
	&PermissionMode{}, &PermissionModeRejected{}, &Model{}, &MessageStart{},
	&MessageEnd{}, &SessionUsageChanged{}, &BranchCompacted{}, &Login{},
	&TurnStart{}, &TurnEnd{}, &ProviderRefused{}, &ProviderRetrying{},
	&ProviderRetryEnded{}, &Queue{}, &PromptRejected{}, &ExtensionError{},
	&ExtensionUIRequest{}, &DialogSettled{}, &RunEnded{}, &Settled{}, &Unmapped{})

var _ = register[Frame]("type", Frame.FrameType,
	&Snapshot{}, &ObservationFrame{}, &Status{})

var _ = register[Part]("type", Part.PartType,
	&TextPart{}, &ThinkingPart{}, &ToolCallPart{}, &ToolResultPart{}, &CustomPart{}, &ImagePart{})

var _ = register[DialogSpec]("method", DialogSpec.Method,
	&SelectDialog{}, &ConfirmDialog{}, &InputDialog{}, &EditorDialog{}, &QuestionnaireDialog{})

var _ = registerBeside[Payload]("type", func(p Payload) string { return string(p.EventType()) },
	&EntitySpawned{}, &RunStarted{}, &MessageEvent{}, &ToolCallEvent{}, &ToolResultEvent{}, &Reasoning{},
	&StateSnapshot{}, &Summarization{}, &Control{}, &ErrorEvent{}, &RunFinished{}, &ChildSpawned{},
	&ChildFinished{}, &Archived{}, &Opaque{})

var _ = register[ContentBlock]("type", ContentBlock.BlockType, &TextBlock{}, &ImageBlock{})

var _ = register[Delta]("kind", Delta.DeltaKind, &DeltaText{}, &DeltaReasoning{}, &DeltaToolInput{}, &DeltaUsage{})

// closedSets holds the words of every closed set of strings.
var closedSets = map[reflect.Type][]string{}

// Known says whether word is of its type's closed set; a word of an open set always
// is.
func Known[T ~string](word T) bool {
	words, closed := closedSets[reflect.TypeFor[T]()]
	return !closed || slices.Contains(words, string(word))
}

func closedSet[T ~string](words ...T) bool {
	var all []string
	for _, w := range words {
		all = append(all, string(w))
	}
	closedSets[reflect.TypeFor[T]()] = all
	return true
}

var (
	_ = closedSet(RoleSystem, RoleUser, RoleAssistant, RoleTool, RoleCustom)
	_ = closedSet(CompactionManual, CompactionThreshold, CompactionOverflow)
	_ = closedSet(LoginWaiting, LoginSucceeded, LoginFailed, LoginEnded)
	_ = closedSet(OriginSessionStart, OriginRun)
	_ = closedSet(NoticeInfo, NoticeWarning, NoticeError)
	_ = closedSet(DialogAnswered, DialogCancelled, DialogTimeout, DialogAborted)
	_ = closedSet(RunCompleted, RunAborted, RunFailed)
	_ = closedSet(UnitLines, UnitBytes, UnitItems)
	_ = closedSet(StatusIdle, StatusActive, StatusPaused, StatusArchived, StatusFailed)
	_ = closedSet(AdmitInterrupting, AdmitEnqueued)
	_ = closedSet(CallPending, CallAborted, CallError, CallDone)
	_ = closedSet(Codes()...)
	_ = closedSet(Kinds()...)
	_ = closedSet(EventTypes()...)
	_ = closedSet(WakeSpawn, WakeMessage, WakeSteerDegraded, WakeCron, WakeControl, WakeSystem)
	_ = closedSet(HarnessNative, HarnessCASDK)
	_ = closedSet(EventRoleUser, EventRoleAssistant, EventRoleSystemNote)
	_ = closedSet(SnapshotPeriodic, SnapshotPreArchive, SnapshotRecovery)
	_ = closedSet(VerbInterrupt, VerbPause, VerbResume, VerbArchive)
	_ = closedSet(ErrorHarness, ErrorTool, ErrorPlatform, ErrorProvider, ErrorProjection)
	_ = closedSet(OutcomeSuccess, OutcomeError, OutcomeInterrupted)
	_ = closedSet(ChildSuccess, ChildError, ChildInterrupted, ChildArchived)
	_ = closedSet(ArchiveIdle, ArchiveRequested)
)

// Kinds lists the observation kinds in the order of their declaration, derived
// from the union.
func Kinds() []Kind {
	var out []Kind
	for _, w := range unions[reflect.TypeFor[Observation]()].words {
		out = append(out, Kind(w))
	}
	return out
}

// UnionMembers gives a sealed union's discriminator and, by its word, each
// member's struct type; words is in the order of declaration. It is what schemas
// of the wire are generated from. ok is false when T is no union of wire's.
func UnionMembers(t reflect.Type) (tag string, words []string, members map[string]reflect.Type, ok bool) {
	u, ok := unions[t]
	if !ok {
		return "", nil, nil, false
	}
	return u.tag, slices.Clone(u.words), u.members, true
}

// MemberWord is the discriminator and the word of a union's member; ok is false
// for any other type.
func MemberWord(t reflect.Type) (tag, word string, ok bool) {
	m, ok := memberTags[t]
	return m.tag, m.word, ok
}

// ClosedSet is the words of a closed set of strings; ok is false when t is none.
func ClosedSet(t reflect.Type) (words []string, ok bool) {
	words, ok = closedSets[t]
	return slices.Clone(words), ok
}
