package scripted

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

func scenarios(t *testing.T) map[string]*Scenario {
	t.Helper()
	b, err := os.ReadFile("../../testdata/scenarios/greeter.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all, err := ParseScenarios(b)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// texts plays prompts in one session and gives each run's deltas, joined.
func texts(t *testing.T, o Options, resume string, prompts ...string) []string {
	t.Helper()
	var out []string
	synctest.Test(t, func(t *testing.T) {
		k := newSink()
		s, err := New(o).Start(context.Background(), host.StartSpec{Session: 1, Resume: resume}, k)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range prompts {
			if err := s.Prompt(context.Background(), host.Prompt{Run: uint64(i + 1), Text: p}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		said := ""
		for _, r := range k.all() {
			switch r := r.(type) {
			case *host.RunOver:
				out, said = append(out, strings.ReplaceAll(said, ")(", "")+" "+string(r.Outcome)), ""
			case *host.Observed:
				if d, ok := r.Observation.(*wire.TextDelta); ok {
					said += d.Delta
				}
				if d, ok := r.Observation.(*wire.ThinkingDelta); ok {
					said += "(" + d.Delta + ")"
				}
			}
		}
	})
	return out
}

func TestScenario(t *testing.T) {
	all := scenarios(t)
	for _, c := range []struct{ agent, resume, want string }{
		{"greeter", "", " completed|echo: say:b ; hang completed"},
		{"greeter", "scripted-1", "echo: say:a completed|echo: say:b ; hang completed"},
		{"worker", "scripted-1", `(about say:a){"ok":true} completed|(about say:b ; hang){"ok":true} completed`},
		{"worker", "", `a completed|(about say:b ; hang){"ok":true} completed`},
	} {
		got := strings.Join(texts(t, Options{Scenario: all[c.agent]}, c.resume, "say:a", "say:b ; hang"), "|")
		if got != c.want {
			t.Errorf("%s, resumed from %q: got %q, want %q", c.agent, c.resume, got, c.want)
		}
	}
	if got := strings.Join(texts(t, Options{Scenario: all["obedient"]}, "", "say:a", "hello"), "|"); got != "a completed|hello completed" {
		t.Errorf("a scenario without handlers: got %q", got)
	}
}

func TestParseScenariosRefuses(t *testing.T) {
	for file, says := range map[string]string{
		"a: [":                          "the scenario file",
		"a: 1":                          "the scenario file",
		"A: {}":                         "an agent's name",
		"a: {on child_finished: say:b}": "not there yet",
		"a: {on fire: say:b}":           "no such handler",
		"a: {on message: {b: c}}":       "want a text",
		"a: {on message: [1]}":          "want a text",
		"a: {on spawn: 'slow:x'}":       "the directive slow",
	} {
		_, err := ParseScenarios([]byte(file))
		var f *wire.Failure
		if !errors.As(err, &f) || f.Code != wire.CodeInvalid || !strings.Contains(f.Message, says) {
			t.Errorf("%q: got %v", file, err)
		}
	}
}
