package wire

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// parsePackage reads the package's own sources, tests left out, by file name.
func parsePackage(t *testing.T) []*ast.File {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// sealed finds who implements the unexported method that seals a union.
func sealed(files []*ast.File, method string) []string {
	var out []string
	for _, f := range files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || fn.Name.Name != method {
				continue
			}
			if star, ok := fn.Recv.List[0].Type.(*ast.StarExpr); ok {
				out = append(out, star.X.(*ast.Ident).Name)
			}
		}
	}
	return out
}

func TestRule_KindsAreDerivedFromTheUnion(t *testing.T) {
	files := parsePackage(t)
	for method, typ := range map[string]reflect.Type{
		"observation": reflect.TypeFor[Observation](),
		"frame":       reflect.TypeFor[Frame](),
		"part":        reflect.TypeFor[Part](),
		"dialog":      reflect.TypeFor[DialogSpec](),
		"payload":     reflect.TypeFor[Payload](),
		"block":       reflect.TypeFor[ContentBlock](),
		"delta":       reflect.TypeFor[Delta](),
	} {
		_, words, members, ok := UnionMembers(typ)
		if !ok {
			t.Fatalf("%v is not registered", typ)
		}
		var registered []string
		for _, m := range members {
			registered = append(registered, m.Name())
		}
		inSource := sealed(files, method)
		slices.Sort(registered)
		slices.Sort(inSource)
		if !slices.Equal(registered, inSource) || len(words) != len(members) {
			t.Errorf("%v: registered %v\nin source %v", typ, registered, inSource)
		}
	}
	var kinds []string
	for _, k := range Kinds() {
		kinds = append(kinds, string(k))
	}
	if inSource := constants(files)["Kind"]; !slices.Equal(kinds, inSource) {
		t.Errorf("Kinds() is %v\nthe constants are %v", kinds, inSource)
	}
	arms := sealed(files, "arm")
	if len(arms) != len(exampleAnswers()) {
		t.Errorf("%d arms, %d examples", len(arms), len(exampleAnswers()))
	}
}

// constants are the string constants of each named type, in the order of source.
func constants(files []*ast.File) map[string][]string {
	out := map[string][]string{}
	for _, f := range files {
		for _, d := range f.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok || gen.Tok != token.CONST {
				continue
			}
			for _, spec := range gen.Specs {
				vs := spec.(*ast.ValueSpec)
				typ, ok := vs.Type.(*ast.Ident)
				if !ok {
					continue
				}
				for _, v := range vs.Values {
					if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
						word, _ := strconv.Unquote(lit.Value)
						out[typ.Name] = append(out[typ.Name], word)
					}
				}
			}
		}
	}
	return out
}

func TestClosedSetsAreThoseOfTheSource(t *testing.T) {
	inSource := constants(parsePackage(t))
	for typ, words := range closedSets {
		if !slices.Equal(words, inSource[typ.Name()]) {
			t.Errorf("%s: registered %v, in source %v", typ.Name(), words, inSource[typ.Name()])
		}
		if got, ok := ClosedSet(typ); !ok || !slices.Equal(got, words) {
			t.Errorf("ClosedSet(%s) is %v", typ.Name(), got)
		}
		delete(inSource, typ.Name())
	}
	for name, words := range inSource {
		t.Errorf("%s %v is not registered as a closed set", name, words)
	}
	if _, ok := ClosedSet(reflect.TypeFor[string]()); ok {
		t.Error("string is a closed set")
	}
}

// What the vocabulary has no word for is unmapped, whole: there is no way to say
// "nothing".
func TestRule_NoSkipMember(t *testing.T) {
	for _, k := range Kinds() {
		for _, word := range []string{"skip", "drop", "ignore", "none", "noop", "unknown"} {
			if strings.Contains(string(k), word) {
				t.Errorf("the kind %s lets an event vanish", k)
			}
		}
	}
	if !slices.Contains(Kinds(), KindUnmapped) {
		t.Error("no kind for what has no word")
	}
	for _, none := range []Observation{nil, (*Unmapped)(nil)} {
		if b, err := EncodeFrame(&ObservationFrame{Seq: 1, Observation: none}); err == nil {
			t.Errorf("nothing was framed as %s", b)
		}
	}
	for _, text := range []string{`{"kind":"skip"}`, `{"kind":""}`, `{}`, `null`} {
		if o, err := DecodeObservation([]byte(text)); err == nil {
			t.Errorf("%s is %v", text, o)
		}
	}
}
