package actors

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/troupe-run/troupe/wire"
)

const projectorGoldens = "../testdata/projector"

// player plays what a session reported to a scribe, by the rules of a thread: a run
// leaves no message open, and what is of no open message is unmapped.
type player struct {
	*scribe
	live    *wire.Snapshot
	prompts []string // of the runs to come
}

func newPlayer(t *testing.T) *player {
	return &player{
		scribe: newScribe(t),
		live:   &wire.Snapshot{ThreadID: projectedThread.String(), PermissionMode: wire.DefaultPermissionMode()},
	}
}

func (p *player) tell(obs ...wire.Observation) {
	for _, o := range obs {
		p.observe(o)
		p.live.Apply(o)
	}
}

func (p *player) hear(o wire.Observation) {
	open := func(id string) bool { return p.p.truth.find(id) != nil }
	switch q := o.(type) {
	case *wire.TextDelta:
		if !open(q.MessageID) {
			o = unmapped(o)
		}
	case *wire.ThinkingDelta:
		if !open(q.MessageID) {
			o = unmapped(o)
		}
	case *wire.MessageEnd:
		if !open(q.MessageID) {
			o = unmapped(o)
		}
	case *wire.RunEnded, *wire.Settled, *wire.Queue, *wire.PromptRejected:
		o = unmapped(o)
	}
	p.tell(o)
}

func (p *player) run() {
	if p.p.run != nil {
		return
	}
	p.begin()
	p.live.Interrupted = nil
	text := fmt.Sprintf("prompt %d", p.runs)
	if len(p.prompts) > 0 {
		text, p.prompts = p.prompts[0], p.prompts[1:]
	}
	p.tell(userSays(fmt.Sprintf("u%d", p.runs), text)...)
}

func (p *player) over(outcome wire.RunOutcome, f *wire.Failure) {
	p.run()
	for _, m := range p.p.truth.pinOpen() {
		p.tell(&wire.MessageEnd{MessageID: m.id, Role: m.role})
	}
	if f != nil && f.Code == wire.CodePromptRejected {
		p.tell(&wire.PromptRejected{MessageID: fmt.Sprintf("u%d", p.runs), Reason: f.Message})
	}
	p.tell(p.ended(outcome, f))
}

// golden compares everything that was written with the file of this name.
func (p *player) golden(t *testing.T, name string) {
	t.Helper()
	sameAsLive(t, p.scribe, p.live)
	var b bytes.Buffer
	for _, line := range eventLines(t, p.events) {
		fmt.Fprintln(&b, shortened(line))
	}
	b.WriteByte('\n')
	for i, d := range p.deltas {
		if i == 40 {
			fmt.Fprintf(&b, "… %d deltas in all\n", len(p.deltas))
			break
		}
		line, err := wire.EncodeDelta(d)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&b, shortened(string(line)))
	}
	path := filepath.Join(projectorGoldens, name+".golden")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, b.Bytes()) {
		t.Errorf("%s is not what the projector says; run go test ./actors -run Projector -update and look at the difference", path)
	}
}

// shortened keeps a golden readable where an agent is wordy.
func shortened(line string) string {
	const most = 600
	if len(line) <= most {
		return line
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(line[:most], ""), len(line))
}

// The recordings of a real agent, as its mapper tells them.
func TestProjectorOnTranscripts(t *testing.T) {
	files, err := filepath.Glob("../testdata/transcripts/*/*.golden")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, path := range files {
		name := filepath.Base(filepath.Dir(path)) + "/" + strings.TrimSuffix(filepath.Base(path), ".golden")
		t.Run(name, func(t *testing.T) {
			p := newPlayer(t)
			for _, line := range lines(t, path) {
				switch {
				case strings.HasPrefix(line, "    {"):
					o, err := wire.DecodeObservation([]byte(strings.TrimSpace(line)))
					if err != nil {
						t.Fatal(err)
					}
					p.hear(o)
				case strings.HasSuffix(line, "→ began"):
					p.run()
				case strings.HasSuffix(line, "→ settled"):
					p.over(wire.RunCompleted, nil)
				}
			}
			if p.p.run != nil {
				p.over(wire.RunFailed, wire.Errorf(wire.CodeSessionExited, "the recording ends"))
			}
			p.golden(t, name)
		})
	}
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

var (
	callLine     = regexp.MustCompile(`^> \d+ (\w+) ?(.*)$`)
	observedLine = regexp.MustCompile(`^ *\d+ (session-start|run) (\{.*\})$`)
	overLine     = regexp.MustCompile(`^ *\d+ RUN OVER \d+ (\w+)(?: ([a-z-]+): (.*))?$`)
	goneLine     = regexp.MustCompile(`^ *\d+ (EXITED|CRASHED) (.*)$`)
	steeredLine  = regexp.MustCompile(`^ *\d+ STEERED (\S+)$`)
)

// The scripted runtime, in every directive.
func TestProjectorOnScripted(t *testing.T) {
	files, err := filepath.Glob("../testdata/scripted/*.txt")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d goldens, %v", len(files), err)
	}
	for _, path := range files {
		name := "scripted/" + strings.TrimSuffix(filepath.Base(path), ".txt")
		t.Run(name, func(t *testing.T) {
			p := newPlayer(t)
			for _, line := range lines(t, path) {
				p.script(t, line)
			}
			if p.p.run != nil {
				p.over(wire.RunAborted, nil)
			}
			for _, m := range p.p.truth.pinOpen() {
				p.tell(&wire.MessageEnd{MessageID: m.id, Role: m.role})
			}
			p.golden(t, name)
		})
	}
}

func (p *player) script(t *testing.T, line string) {
	t.Helper()
	if m := callLine.FindStringSubmatch(line); m != nil {
		if m[1] == "prompt" {
			p.prompts = append(p.prompts, m[2])
		}
		return
	}
	if m := observedLine.FindStringSubmatch(line); m != nil {
		o, err := wire.DecodeObservation([]byte(m[2]))
		if err != nil {
			t.Fatal(err)
		}
		if m[1] == "run" && len(p.prompts) > 0 {
			p.run()
		}
		p.hear(o)
		return
	}
	if m := steeredLine.FindStringSubmatch(line); m != nil {
		p.tell(userSays(fmt.Sprintf("%s-%d", m[1], len(p.events)), "steered")...)
	}
	if m := overLine.FindStringSubmatch(line); m != nil && (p.p.run != nil || len(p.prompts) > 0) {
		var f *wire.Failure
		if m[2] != "" {
			f = wire.Errorf(wire.Code(m[2]), "%s", m[3])
		}
		outcome := wire.RunOutcome(m[1])
		if !wire.Known(outcome) {
			t.Fatalf("%q is no outcome", m[1])
		}
		p.over(outcome, f)
	}
	if m := goneLine.FindStringSubmatch(line); m != nil && p.p.run != nil {
		p.over(wire.RunFailed, wire.Errorf(wire.CodeSessionExited, "the agent exited: %s", m[2]))
	}
}

// The goldens hold every type of event.
func TestProjectorGoldensCoverEveryType(t *testing.T) {
	seen := map[string]bool{}
	err := filepath.WalkDir(projectorGoldens, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		for _, line := range lines(t, path) {
			if words := strings.Fields(line); len(words) > 2 {
				seen[words[1]] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range wire.EventTypes() {
		if !seen[string(typ)] {
			t.Errorf("no golden has %s", typ)
		}
	}
}
