package supervision

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// everyFact is one of each member of the union.
var everyFact = []Fact{&ActorRestarted{}, &ActorStopped{}, &ActorAbandoned{}, &ThreadTrouble{}, &GoroutinePanicked{}, &FactsDropped{},
	&Ready{}, &Stopping{}, &StopStepDone{}, &StopStepFailed{Err: errors.New("x")}, &ProcessStepOverran{}, &Stopped{}}

func TestEveryFactIsLoggedUnderItsName(t *testing.T) {
	if n := factsInSource(t); n != len(everyFact) {
		t.Fatalf("the union has %d members, this test %d", n, len(everyFact))
	}
	core, logs := observer.New(zapcore.DebugLevel)
	write := LogFacts(zap.New(core))
	seen := map[string]bool{}
	for _, f := range everyFact {
		write(f)
		if seen[f.FactName()] {
			t.Errorf("%T has the name of another", f)
		}
		seen[f.FactName()] = true
		if logs.FilterMessage(f.FactName()).Len() != 1 {
			t.Errorf("%T is not logged once under %q", f, f.FactName())
		}
	}
}

// factsInSource counts the methods that make a type a fact.
func factsInSource(t *testing.T) (n int) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "fact.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "fact" {
			n++
		}
	}
	return n
}

func TestBridgeKeepsLevelsAndRedactsValues(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	log := NewSlog(zap.New(core)).With(slog.Any("who", &actor.PID{Id: "a1"})).WithGroup("g")
	log.Debug("not shown")
	log.Warn("w", slog.Any("message", &boom{"hunter2"}), slog.Any("x", []string{"hunter2"}), slog.Int("n", 3), slog.String("reason", "hunter2"))
	log.Info("i", slog.Any("directive", actor.StopDirective))
	all := logs.All()
	if len(all) != 2 || all[0].Level != zapcore.WarnLevel || all[1].Level != zapcore.InfoLevel {
		t.Fatalf("entries: %+v", all)
	}
	want := map[string]any{"who": "a1", "g.message": "*supervision.boom", "g.x": "[]string", "g.n": int64(3), "g.reason": "string"}
	got := all[0].ContextMap()
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s = %v, want %v", k, got[k], v)
		}
	}
}
