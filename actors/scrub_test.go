package actors

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-run/troupe/wire"
)

// TestRule_ASecretIsScrubbedFromWhatTheAgentSays, however it is cut into pieces.
func TestRule_ASecretIsScrubbedFromWhatTheAgentSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[ab"\\é]{4,8}`).Draw(t, "secret")
		text := rapid.StringMatching(`[ab"\\é ]{0,30}`).Draw(t, "before") + secret + rapid.StringMatching(`[ab"\\é ]{0,30}`).Draw(t, "after")
		var s scrubber
		s.learn(wire.NewSecret(secret))
		var out []wire.Observation
		rest := []rune(text)
		for len(rest) > 0 {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			out = append(out, s.scrub(&wire.TextDelta{MessageID: "m", Delta: string(rest[:n])})...)
			rest = rest[n:]
		}
		out = append(out, s.scrub(&wire.MessageEnd{MessageID: "m", Role: wire.RoleAssistant})...)
		var said strings.Builder
		for _, o := range out {
			if d, ok := o.(*wire.TextDelta); ok {
				said.WriteString(d.Delta)
			}
		}
		if strings.Contains(said.String(), secret) {
			t.Fatalf("%q gives %q away", said.String(), secret)
		}
		if want := strings.ReplaceAll(text, secret, wire.Redacted); said.String() != want {
			t.Fatalf("said %q, want %q", said.String(), want)
		}
	})
}

func TestScrubReachesEveryField(t *testing.T) {
	const secret = `hun"ter\2`
	var s scrubber
	s.learn(wire.NewSecret(secret))
	quoted, _ := json.Marshal("x " + secret + " y")
	for _, o := range []wire.Observation{
		&wire.ToolResult{ToolCallID: "c", ToolName: "t", Text: "it is " + secret, Complete: true},
		&wire.ToolCall{ToolCallID: "c", ToolName: "t", Input: json.RawMessage(`{"deep":[` + string(quoted) + `]}`)},
		&wire.Unmapped{Event: quoted},
		&wire.ProviderRefused{Message: secret},
	} {
		for _, clean := range s.scrub(o) {
			b, err := wire.EncodeObservation(clean)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(b), `hun`) || !strings.Contains(string(b), wire.Redacted) {
				t.Errorf("%s", b)
			}
		}
	}
}
