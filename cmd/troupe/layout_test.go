package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/troupe-run/troupe"

// folders are the top-level ones, and there are no others.
var folders = []string{"actors", "api", "cmd", "host", "supervision", "testdata", "wire"}

// generated are top-level folders that builds leave behind; .gitignore names them.
var generated = []string{"bin", "node_modules"}

// layer says which packages of ours the packages below a path may import. The
// longest path that matches counts. Tests of a layer may also import what its
// tests names.
type layer struct {
	path    string
	imports []string
	tests   []string
	reason  string
}

var layers = []layer{
	{"wire", nil, nil, "the vocabulary depends on nothing, so that everything can speak it"},
	{"host", []string{"wire"}, nil, "host declares the seams in wire's words"},
	{"host/hosttest", []string{"wire", "host", "host/proc"}, []string{"host/scripted", "host/memory"}, "a contract suite knows the contract, not what passes it"},
	{"host/proc", []string{"wire", "host"}, nil, "processes know nothing of runtimes"},
	{"host/*", []string{"wire", "host", "host/proc"}, []string{"host/hosttest"}, "an adapter never imports another adapter"},
	{"actors", []string{"wire", "host"}, []string{"host/hosttest", "host/memory", "host/scripted", "host/proc", "supervision"}, "the core knows seams, never adapters, HTTP or supervision"},
	{"supervision", []string{"wire"}, nil, "supervision is handed to the core as values"},
	{"api", []string{"wire"}, []string{"actors", "host", "host/memory", "host/scripted", "supervision"}, "the HTTP surface declares the port it needs"},
	{"cmd", []string{"*"}, nil, "the composition root"},
}

// ban keeps an import out of every folder but those in which it is at home.
type ban struct {
	imports string // an import path, or a prefix of it at a slash
	home    []string
	tests   bool // tests are held to it too
	reason  string
}

var bans = []ban{
	{"github.com/gofiber/fiber", []string{"api"}, true, "the HTTP framework stays behind the HTTP surface"},
	{"github.com/valyala/fasthttp", []string{"api"}, true, "the HTTP framework stays behind the HTTP surface"},
	{"github.com/asynkron/protoactor-go", []string{"actors", "supervision", "cmd"}, true, "only the core and its supervision are actors"},
	{"github.com/oklog/run", []string{"supervision"}, true, "there is one process group"},
	{"github.com/spf13/cobra", []string{"cmd"}, true, "cmd is the only reader of flags"},
	{"github.com/prometheus/client_golang", []string{"actors", "cmd"}, true, "the core counts, cmd serves; nobody else need know in whose format"},
	{"github.com/prometheus/common", []string{"cmd"}, true, "cmd writes the format and reads it"},
	{"flag", []string{"cmd"}, false, "cmd is the only reader of flags"},
	{"github.com/goccy/go-yaml", []string{"cmd", "host/scripted"}, true, "cmd is the only reader of the configuration; a scripted scenario is YAML too"},
	{"os/exec", []string{"host/proc", "cmd"}, false, "processes run under the reaper, which host/proc starts"},
	{"log", nil, true, "there is one logger, and it is zap"},
	{"log/slog", []string{"supervision", "cmd", "actors"}, false, "there is one logger; slog is only bridged to it"},
	{"math/rand", nil, true, "use math/rand/v2, or crypto/rand for ids"},
	{"github.com/stretchr/testify", nil, true, "tests are plain Go"},
	{"github.com/golang/mock", nil, true, "fakes, no mocks"},
	{"unsafe", nil, true, "nothing here needs it"},
}

// call keeps a function or a statement out of every folder but its home.
var calls = []struct {
	pkg    string
	names  []string
	home   []string
	reason string
}{
	{"os", []string{"Getenv", "LookupEnv", "Environ"}, []string{"cmd", "host/proc"}, "cmd is the only reader of the environment; host/proc filters it for agents"},
	{"os", []string{"Exit"}, []string{"cmd", "host/proc"}, "only main ends the process; host/proc is main in a reaper"},
	{"fmt", []string{"Print", "Println", "Printf"}, []string{"cmd"}, "stdout belongs to the command line"},
}

// vendorWords are those of a vendor, at home in its adapter, in cmd, testdata and
// Markdown. "pi" is no such word: too many others hold it.
var vendorWords = regexp.MustCompile(`(?i)pi-coding-agent|pi-ai\b|earendil|opencode|claude|codex|gemini`)

var vendorHomes = map[string]bool{"host/pi": true, "host/acp": true, "host/claude": true, "host/codex": true}

// goStatements are the folders where a goroutine may start by the bare statement.
var goStatements = map[string]string{
	"supervision":   "the guard is here",
	"host/proc":     "a reaper is a process of its own, with no thread to tell of a panic",
	"host/memory":   "the committer is the journal's own and outlives every thread",
	"host/hosttest": "test support",
	"api":           "the default of Config.Go, which recovers by itself",
}

const maxLines = 500

type goPackage struct {
	ImportPath   string
	Dir          string
	Name         string
	GoFiles      []string
	TestGoFiles  []string
	XTestGoFiles []string
	Imports      []string
	TestImports  []string
	XTestImports []string
	IgnoredFiles []string `json:"IgnoredGoFiles"`
}

func (p *goPackage) rel() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

func (p *goPackage) testImports() []string {
	return append(slices.Clone(p.TestImports), p.XTestImports...)
}

// ours are the packages of the module.
func ours(t *testing.T) (root string, pkgs []*goPackage) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the layout is read by the go command, which is not on PATH")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,Name,GoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports,IgnoredGoFiles", "./...")
	cmd.Dir = root
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, errOut.String())
	}
	dec := json.NewDecoder(bytes.NewReader(out))
	for {
		p := &goPackage{}
		if err := dec.Decode(p); errors.Is(err, io.EOF) {
			return root, pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

func TestLayoutFolders(t *testing.T) {
	entries, err := os.ReadDir("../..")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !slices.Contains(generated, e.Name()) {
			got = append(got, e.Name())
		}
	}
	if !slices.Equal(got, folders) {
		t.Errorf("top-level folders are %v, want %v", got, folders)
	}
}

func TestLayoutImportRule(t *testing.T) {
	_, pkgs := ours(t)
	for _, p := range pkgs {
		l := layerOf(p.rel())
		if l == nil {
			t.Errorf("%s is in no layer", p.rel())
			continue
		}
		check := func(imports, allowed []string, what string) {
			for _, i := range imports {
				rel, ok := strings.CutPrefix(i, module+"/")
				if !ok || rel == p.rel() || slices.Contains(allowed, "*") || slices.Contains(allowed, rel) {
					continue
				}
				t.Errorf("%s %s %s: %s", p.rel(), what, rel, l.reason)
			}
		}
		check(p.Imports, l.imports, "imports")
		check(p.testImports(), append(slices.Clone(l.imports), l.tests...), "in its tests imports")
	}
}

// layerOf is the layer with the longest path that matches.
func layerOf(rel string) (best *layer) {
	for i := range layers {
		l := &layers[i]
		top, below := strings.CutSuffix(l.path, "/*")
		matches := rel == top && !below || strings.HasPrefix(rel, top+"/")
		if matches && (best == nil || len(l.path) > len(best.path)) {
			best = l
		}
	}
	return best
}

func TestLayoutBannedImports(t *testing.T) {
	_, pkgs := ours(t)
	for _, p := range pkgs {
		for _, b := range bans {
			imports := p.Imports
			if b.tests {
				imports = append(slices.Clone(imports), p.testImports()...)
			}
			for _, i := range imports {
				if (i == b.imports || strings.HasPrefix(i, b.imports+"/") && b.imports != "log" && b.imports != "math/rand") && !atHome(p.rel(), b.home) {
					t.Errorf("%s imports %s: %s", p.rel(), i, b.reason)
				}
			}
		}
	}
}

func atHome(rel string, homes []string) bool {
	return slices.ContainsFunc(homes, func(h string) bool { return rel == h || strings.HasPrefix(rel, h+"/") })
}

// eachFile parses every Go file of the module, those of other systems too.
func eachFile(t *testing.T, fn func(p *goPackage, name string, src []byte, f *ast.File, test bool)) {
	t.Helper()
	root, pkgs := ours(t)
	for _, p := range pkgs {
		for _, name := range slices.Concat(p.GoFiles, p.IgnoredFiles, p.TestGoFiles, p.XTestGoFiles) {
			file := filepath.Join(p.Dir, name)
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, src, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Errorf("%v", err)
				continue
			}
			rel, _ := filepath.Rel(root, file)
			fn(p, filepath.ToSlash(rel), src, f, strings.HasSuffix(name, "_test.go"))
		}
	}
}

func TestLayoutOnePackageDocPerFolder(t *testing.T) {
	docs, seen := map[string][]string{}, map[string]bool{}
	eachFile(t, func(p *goPackage, name string, _ []byte, f *ast.File, test bool) {
		if test {
			return
		}
		seen[p.rel()] = true
		if f.Doc != nil {
			docs[p.rel()] = append(docs[p.rel()], path.Base(name))
		}
	})
	for rel := range seen {
		if len(docs[rel]) != 1 {
			t.Errorf("%s has its package comment in %v, want one file", rel, docs[rel])
		}
	}
}

func TestLayoutPackagesAreNamedForWhatTheyHold(t *testing.T) {
	_, pkgs := ours(t)
	vague := []string{"util", "utils", "common", "helper", "helpers", "misc", "base", "shared", "lib"}
	for _, p := range pkgs {
		if slices.Contains(vague, p.Name) || slices.Contains(vague, path.Base(p.ImportPath)) {
			t.Errorf("%s: a package is named for what it holds", p.rel())
		}
	}
}

func TestLayoutVendorWordsStayInTheirAdapters(t *testing.T) {
	eachFile(t, func(p *goPackage, name string, src []byte, _ *ast.File, _ bool) {
		if vendorHomes[p.rel()] || atHome(p.rel(), []string{"cmd"}) {
			return
		}
		for i, line := range bytes.Split(src, []byte("\n")) {
			if w := vendorWords.Find(line); w != nil {
				t.Errorf("%s:%d says %q, a word of a vendor", name, i+1, w)
			}
		}
	})
}

func TestLayoutFilesAreShort(t *testing.T) {
	eachFile(t, func(_ *goPackage, name string, src []byte, _ *ast.File, test bool) {
		if n := bytes.Count(src, []byte("\n")); n > maxLines && !test {
			t.Errorf("%s has %d lines, more than %d: it wants to be two", name, n, maxLines)
		}
	})
}

// A sleep in a test is virtual: the file imports testing/synctest, or, for a
// helper that a bubble calls, the line or the one above says so.
func TestLayoutNoTestSleeps(t *testing.T) {
	eachFile(t, func(_ *goPackage, name string, src []byte, _ *ast.File, test bool) {
		if !test || bytes.Contains(src, []byte(`"testing/synctest"`)) {
			return
		}
		lines := strings.Split(string(src), "\n")
		for i, l := range lines {
			if strings.Contains(l, sleepCall) && !strings.Contains(l+lines[max(0, i-1)], "bubble") {
				t.Errorf("%s:%d sleeps outside a synctest bubble: wait for what is meant", name, i+1)
			}
		}
	})
}

const sleepCall = "time." + "Sleep("

func TestLayoutBannedCalls(t *testing.T) {
	eachFile(t, func(p *goPackage, name string, _ []byte, f *ast.File, test bool) {
		if test {
			return
		}
		for _, c := range calls {
			for _, n := range c.names {
				if !atHome(p.rel(), c.home) && uses(f, c.pkg, n) {
					t.Errorf("%s calls %s.%s: %s", name, c.pkg, n, c.reason)
				}
			}
		}
	})
}

func TestLayoutGoroutinesStartThroughTheGuard(t *testing.T) {
	eachFile(t, func(p *goPackage, name string, _ []byte, f *ast.File, test bool) {
		if _, ok := goStatements[p.rel()]; ok || test {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if _, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s starts a goroutine past the guard", name)
			}
			return true
		})
	})
}

// uses says whether f calls pkg.name, pkg being imported under its own name.
func uses(f *ast.File, pkg, name string) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok || s.Sel.Name != name {
			return true
		}
		if id, ok := s.X.(*ast.Ident); ok && id.Name == pkg {
			found = true
		}
		return true
	})
	return found
}
