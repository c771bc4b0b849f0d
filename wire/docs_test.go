package wire

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var docLink = regexp.MustCompile(`\[\*?([A-Za-z.]+)\]`)

// sentence is the first of a doc comment, on one line.
func sentence(doc *ast.CommentGroup) string {
	text := strings.Join(strings.Fields(doc.Text()), " ")
	if i := strings.Index(text, ". "); i >= 0 {
		text = text[:i+1]
	}
	return docLink.ReplaceAllString(text, "$1")
}

// firstSentences are those of the exported types.
func firstSentences(files []*ast.File) map[string]string {
	out := map[string]string{}
	for _, f := range files {
		for _, d := range f.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok || gen.Tok != token.TYPE {
				continue
			}
			for _, spec := range gen.Specs {
				ts := spec.(*ast.TypeSpec)
				doc := ts.Doc
				if doc == nil {
					doc = gen.Doc
				}
				if ts.Name.IsExported() {
					out[ts.Name.Name] = sentence(doc)
				}
			}
		}
	}
	return out
}

// constantDocs are the first sentences of a named type's constants, by their word.
func constantDocs(files []*ast.File, typ string) map[string]string {
	out := map[string]string{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			vs, ok := n.(*ast.ValueSpec)
			if !ok || len(vs.Values) != 1 {
				return true
			}
			if id, ok := vs.Type.(*ast.Ident); !ok || id.Name != typ {
				return true
			}
			word, _ := strconv.Unquote(vs.Values[0].(*ast.BasicLit).Value)
			text := sentence(vs.Doc)
			text = strings.TrimPrefix(strings.TrimPrefix(text, vs.Names[0].Name), ":")
			out[word] = strings.TrimPrefix(strings.TrimSpace(text), "is ")
			return true
		})
	}
	return out
}

func TestEverythingExportedIsDocumented(t *testing.T) {
	for _, f := range parsePackage(t) {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if ts, ok := spec.(*ast.TypeSpec); ok && ts.Name.IsExported() && ts.Doc == nil && d.Doc == nil {
						t.Errorf("%s has no doc comment", ts.Name.Name)
					}
				}
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && d.Name.Name != "Kind" {
					t.Errorf("%s has no doc comment", d.Name.Name)
				}
			}
		}
	}
	for word, text := range constantDocs(parsePackage(t), "Code") {
		if text == "" {
			t.Errorf("the code %s has no doc comment", word)
		}
	}
}
