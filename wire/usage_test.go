package wire

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// tellers says who tells each kind: an adapter's mapper, the thread, or the host.
// It is the vocabulary's column; which packages do is read from the sources.
var tellers = map[Kind]string{
	KindTextDelta: "mapper", KindThinkingDelta: "mapper", KindToolCall: "mapper", KindToolResult: "mapper",
	KindCustomEntry: "mapper", KindPermissionMode: "mapper, thread", KindPermissionModeRejected: "thread",
	KindModel: "mapper, thread", KindMessageStart: "mapper, thread", KindMessageEnd: "mapper, thread",
	KindSessionUsage: "mapper", KindBranchCompacted: "mapper", KindLogin: "host", KindTurnStart: "mapper",
	KindTurnEnd: "mapper", KindProviderRefused: "mapper", KindProviderRetrying: "mapper",
	KindProviderRetryEnded: "mapper", KindQueue: "thread", KindPromptRejected: "thread",
	KindExtensionError: "mapper", KindExtensionUIRequest: "mapper", KindDialogSettled: "thread",
	KindRunEnded: "thread", KindSettled: "thread", KindUnmapped: "mapper",
}

// usage is where the sources build and read each kind.
type usage struct{ builds, reads map[Kind]map[string]bool }

// scannedFolders are those whose packages tell or read observations. The contract
// suites build and read every kind, so they prove nothing.
var scannedFolders = []string{"actors", "api", "cmd", "host"}

// scanUsage reads the repository's sources. A file that does not parse counts
// with what does: the packages' own builds refuse it.
func scanUsage(t *testing.T) usage {
	t.Helper()
	u := usage{map[Kind]map[string]bool{}, map[Kind]map[string]bool{}}
	kindOfType, kindOfConst := kindNamesInSource(t)
	note := func(m map[Kind]map[string]bool, k Kind, where string) {
		if m[k] == nil {
			m[k] = map[string]bool{}
		}
		m[k][where] = true
	}
	for _, folder := range scannedFolders {
		err := filepath.WalkDir(filepath.Join("..", folder), func(file string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if e.IsDir() {
				if e.Name() == "hosttest" || e.Name() == "testdata" {
					return filepath.SkipDir
				}
				return nil
			}
			if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return nil
			}
			f, _ := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			name := wireName(f)
			if name == "" {
				return nil
			}
			where := path.Dir(strings.TrimPrefix(filepath.ToSlash(file), "../"))
			scanFile(f, name, func(typ string, builds bool) {
				if k, ok := kindOfType[typ]; ok && builds {
					note(u.builds, k, where)
				} else if ok {
					note(u.reads, k, where)
				} else if k, ok := kindOfConst[typ]; ok {
					note(u.reads, k, where)
				}
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range parsePackage(t) {
		ast.Inspect(f, func(n ast.Node) bool {
			if fn, ok := n.(*ast.FuncDecl); ok && fn.Name.Name != "Observe" {
				return false
			}
			if c, ok := n.(*ast.CaseClause); ok {
				for _, e := range c.List {
					if star, ok := e.(*ast.StarExpr); ok {
						if id, ok := star.X.(*ast.Ident); ok {
							if k, ok := kindOfType[id.Name]; ok {
								note(u.reads, k, "Fold")
							}
						}
					}
				}
			}
			return true
		})
	}
	return u
}

// kindNamesInSource are the kinds by the names of their types and constants.
func kindNamesInSource(t *testing.T) (types, consts map[string]Kind) {
	types, consts = map[string]Kind{}, map[string]Kind{}
	_, words, members, _ := UnionMembers(reflect.TypeFor[Observation]())
	for _, w := range words {
		types[members[w].Name()] = Kind(w)
	}
	for _, f := range parsePackage(t) {
		ast.Inspect(f, func(n ast.Node) bool {
			vs, ok := n.(*ast.ValueSpec)
			if !ok || len(vs.Names) != 1 || len(vs.Values) != 1 {
				return true
			}
			lit, ok := vs.Values[0].(*ast.BasicLit)
			if typ, isIdent := vs.Type.(*ast.Ident); ok && isIdent && typ.Name == "Kind" {
				word, _ := strconv.Unquote(lit.Value)
				consts[vs.Names[0].Name] = Kind(word)
			}
			return true
		})
	}
	return types, consts
}

// wireName is what a file calls this package, "" when it does not import it.
func wireName(f *ast.File) string {
	if f == nil {
		return ""
	}
	for _, imp := range f.Imports {
		if p, _ := strconv.Unquote(imp.Path.Value); p == ownPackage {
			if imp.Name != nil {
				return imp.Name.Name
			}
			return path.Base(p)
		}
	}
	return ""
}

// scanFile calls found for every name of wire's that the file builds (a composite
// literal) or reads (a case, an assertion, a constant of a kind).
func scanFile(f *ast.File, name string, found func(typ string, builds bool)) {
	of := func(e ast.Expr) (string, bool) {
		sel, ok := e.(*ast.SelectorExpr)
		if !ok {
			return "", false
		}
		id, ok := sel.X.(*ast.Ident)
		if !ok || id.Name != name {
			return "", false
		}
		return sel.Sel.Name, true
	}
	pointee := func(e ast.Expr) ast.Expr {
		if star, ok := e.(*ast.StarExpr); ok {
			return star.X
		}
		return nil
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if typ, ok := of(n.Type); ok {
				found(typ, true)
			}
		case *ast.CaseClause:
			for _, e := range n.List {
				if typ, ok := of(pointee(e)); ok {
					found(typ, false)
				}
			}
		case *ast.TypeAssertExpr:
			if typ, ok := of(pointee(n.Type)); ok {
				found(typ, false)
			}
		case *ast.SelectorExpr:
			if typ, ok := of(n); ok && strings.HasPrefix(typ, "Kind") {
				found(typ, false)
			}
		}
		return true
	})
}

// findings are the kinds that nobody tells or nobody reads.
func (u usage) findings() []string {
	var out []string
	for _, k := range Kinds() {
		if len(u.builds[k]) == 0 {
			out = append(out, "FINDING: nothing builds `"+string(k)+"`.")
		}
		if len(u.reads[k]) == 0 {
			out = append(out, "FINDING: nothing reads `"+string(k)+"`.")
		}
	}
	return out
}

func places(m map[string]bool) string {
	if len(m) == 0 {
		return "FINDING"
	}
	var out []string
	for p := range m {
		out = append(out, p)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func TestEveryKindHasItsTeller(t *testing.T) {
	for _, k := range Kinds() {
		if tellers[k] == "" {
			t.Errorf("nobody is said to tell %s", k)
		}
	}
	if len(tellers) != len(Kinds()) {
		t.Errorf("%d tellers of %d kinds", len(tellers), len(Kinds()))
	}
}

func TestScanFileFindsEveryWayOfUse(t *testing.T) {
	const src = `package x
import w "github.com/troupe-run/troupe/wire"
func f(o w.Observation) any {
	switch o.(type) { case *w.Settled, *w.Queue: }
	_ = o.(*w.Login)
	if o.Kind() == w.KindTurnEnd { return []w.Observation{&w.TurnStart{Turn: 1}} }
	return other.Model{}
}`
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	scanFile(f, wireName(f), func(typ string, builds bool) { got = append(got, typ+":"+strconv.FormatBool(builds)) })
	want := []string{"Settled:false", "Queue:false", "Login:false", "KindTurnEnd:false", "TurnStart:true"}
	if !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}
