package scripted

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const page = "DIRECTIVES.md"

// The page is generated: -update rewrites it.
func TestDirectivesPageIsCurrent(t *testing.T) {
	got := render()
	if *update {
		if err := os.WriteFile(page, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is out of date: go test ./host/scripted -update", page)
	}
}

// Every directive, and every stray word, is played by some golden; the shell,
// which is no matter of virtual time, has tests of its own.
func TestEveryDirectiveHasAGolden(t *testing.T) {
	files, err := filepath.Glob(goldens + "/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	played := map[string]bool{"sh": true, "ask": true}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		calls, _, _ := strings.Cut(string(b), "\n\n")
		for call := range strings.Lines(calls) {
			_, text, ok := strings.Cut(call, " prompt ")
			for piece := range strings.SplitSeq(strings.TrimSpace(text), separator) {
				if d, arg, found := lookUp(piece); ok && found {
					played[d.word] = true
					if d.word == "stray" {
						played["stray:"+arg] = true
					}
				}
			}
		}
	}
	for i := range directives {
		if w := directives[i].word; !played[w] {
			t.Errorf("no golden plays %s", w)
		}
	}
	for _, w := range strayWords() {
		if !played["stray:"+w] {
			t.Errorf("no golden plays stray:%s", w)
		}
	}
}

func render() string {
	var b strings.Builder
	b.WriteString(`# Directives of the scripted runtime

Generated from directives.go by ` + "`go test ./host/scripted -update`" + `.

A prompt is a list of directives separated by ` + "` ; `" + ` (inside a directive's JSON that is text).
A piece that is no directive is said as it stands; a prompt without any directive is said back verbatim.
A malformed directive refuses the whole prompt, which says which one; in a prompt that is steered, the steering is refused.
A prompt with images says how many it came with.

Each turn is one assistant message. It ends after a tool's result, before a second text, and where a prompt is steered in between two directives.
A prompt that is steered in while a message speaks plays beside it, in messages of its own.
Message, call and question ids carry the session's number: ` + "`s3-m1`, `s3-t1`, `s3-d1`" + `.

| directive | what it does |
|---|---|
`)
	for i := range directives {
		d := &directives[i]
		b.WriteString("| `" + strings.ReplaceAll(d.form(), "|", `\|`) + "` | " + strings.ReplaceAll(d.does, "|", `\|`) + " |\n")
	}
	b.WriteString("\n`stray:WHAT` says, for the proofs of the thread that has to bear it:\n\n| WHAT | what it says |\n|---|---|\n")
	for _, k := range strays {
		b.WriteString("| `" + k.what + "` | " + k.does + " |\n")
	}
	return b.String()
}
