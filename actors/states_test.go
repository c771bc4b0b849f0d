package actors

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the generated pages and goldens")

// TestEveryStateHasACellForEveryInput enumerates both enums to their sentinels.
func TestEveryStateHasACellForEveryInput(t *testing.T) {
	for p := range numPhases {
		if phaseNames[p] == "" {
			t.Errorf("phase %d has no name", p)
		}
		for k := range numInputs {
			if c := table[p][k]; c.do == nil || c.what == "" {
				t.Errorf("no cell for %s in %s", k, p)
			}
		}
	}
	for k := range numInputs {
		if inputNames[k] == "" {
			t.Errorf("input %d has no name", k)
		}
	}
}

func TestStatesPage(t *testing.T)   { golden(t, "STATES.md", statesPage(t)) }
func TestMessagesPage(t *testing.T) { golden(t, "MESSAGES.md", messagesPage(t)) }

func golden(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Errorf("%s is not what the code says; run: go test ./actors -run %s -update", path, t.Name())
	}
}

const generated = "<!-- Generated from the code by `go test ./actors -update`; do not edit. -->\n\n"

func statesPage(t *testing.T) []byte {
	var b bytes.Buffer
	b.WriteString(generated + "# States of a thread\n\n")
	docs := constDocs(t, "state.go", "phase")
	for p := range numPhases {
		fmt.Fprintf(&b, "- **%s**: %s\n", p, docs[p])
	}
	b.WriteString("\nWhat each input does in each state:\n\n| input |")
	for p := range numPhases {
		fmt.Fprintf(&b, " %s |", p)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", int(numPhases)) + "\n")
	for k := range numInputs {
		fmt.Fprintf(&b, "| %s |", k)
		for p := range numPhases {
			fmt.Fprintf(&b, " %s |", table[p][k].what)
		}
		b.WriteString("\n")
	}
	return b.Bytes()
}

func messagesPage(t *testing.T) []byte {
	var b bytes.Buffer
	b.WriteString(generated + "# Messages of a thread\n\nCommands come from the typed client, through the registry; StopIfQuiet is the registry's own. Facts come back from effects.\n\n| message | what | legal in |\n|---|---|---|\n")
	docs := constDocs(t, "input.go", "in")
	for k := range numInputs {
		var legal []string
		for p := range numPhases {
			if w := table[p][k].what; !strings.HasPrefix(w, "ignore") && !strings.HasPrefix(w, "cannot be") {
				legal = append(legal, p.String())
			}
		}
		states := strings.Join(legal, ", ")
		if len(legal) == int(numPhases) {
			states = "every state"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", k, docs[k], states)
	}
	return b.Bytes()
}

// constDocs is the comment of each constant of a file whose name begins with
// prefix, in order.
func constDocs(t *testing.T, file, prefix string) []string {
	f, err := parser.ParseFile(gotoken.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var docs []string
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != gotoken.CONST {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			if !strings.HasPrefix(v.Names[0].Name, prefix) {
				continue
			}
			text := v.Comment.Text()
			if text == "" {
				text = v.Doc.Text()
				if _, rest, ok := strings.Cut(text, ": "); ok {
					text = rest
				}
			}
			docs = append(docs, strings.ReplaceAll(strings.TrimSpace(text), "\n", " "))
		}
	}
	return docs
}
