package wire

import (
	"fmt"
	"go/ast"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const referencePage = "REFERENCE.md"

// TestReference holds REFERENCE.md to the sources; -update rewrites it.
func TestReference(t *testing.T) {
	got := renderReference(t)
	if *update {
		if err := os.WriteFile(referencePage, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	a, b := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			t.Fatalf("REFERENCE.md is out of date from line %d on; the sources say\n%s\nRewrite it: go test ./wire -run TestReference -update", i+1, a[i])
		}
	}
	t.Fatal("REFERENCE.md has lines at its end that the sources do not give")
}

type page struct {
	strings.Builder
	docs map[string]string // first doc sentence by the name of a type or method
}

func (p *page) say(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *page) table(heads string, rows [][]string) {
	cols := strings.Split(heads, " | ")
	p.say("| %s |", strings.Join(cols, " | "))
	p.say("|%s", strings.Repeat("---|", len(cols)))
	for _, r := range rows {
		for i := range r {
			r[i] = strings.ReplaceAll(r[i], "|", `\|`)
		}
		p.say("| %s |", strings.Join(r, " | "))
	}
	p.say("")
}

func renderReference(t *testing.T) string {
	files := parsePackage(t)
	p := &page{docs: firstSentences(files)}
	p.say("# Reference of the wire\n")
	p.say("Generated from the sources of this package and from those that use it; a test compares. Rewrite it with")
	p.say("`go test ./wire -run TestReference -update`. Every schema is closed: a field, kind or word that is not here is")
	p.say("refused. A field with `?` may be left out, every other one is required; `null` is meant only where it is named.")
	p.say("Lists and maps are never null.\n")

	used := scanUsage(t)
	_, words, members, _ := UnionMembers(reflect.TypeFor[Observation]())
	p.say("## Observations\n")
	p.say("%d kinds, told apart by `kind`. %s\n", len(words), p.docs["Observation"])
	var rows [][]string
	for _, w := range words {
		m := members[w]
		rows = append(rows, []string{"`" + w + "`", fields(m), p.docs[m.Name()], tellers[Kind(w)], places(used.builds[Kind(w)]), places(used.reads[Kind(w)])})
	}
	p.table("kind | fields | what it says | told by | built in | read in", rows)
	for _, f := range used.findings() {
		p.say("%s\n", f)
	}

	p.union("Frames", reflect.TypeFor[Frame]())
	p.union("Parts of a message", reflect.TypeFor[Part]())
	p.union("Dialogs", reflect.TypeFor[DialogSpec]())
	p.answers()
	p.structs("Tool results", "The descriptor lies under the metadata key `"+ToolResultKey+"`; the floor kind is `"+FloorKind("<name>")+"`. "+
		"What a surface shows of a call is decided in this order: no result while the run is open, no result after it, an error (its descriptor is not consulted), the renderer of the descriptor's kind, the text. It is never blank.",
		reflect.TypeFor[Descriptor](), reflect.TypeFor[Truncation]())
	p.structs("Shared shapes", "", sharedShapes()...)
	var resources []reflect.Type
	for _, r := range exampleResources() {
		resources = append(resources, reflect.TypeOf(r).Elem())
	}
	p.timeline()
	p.structs("Resources", "What the HTTP surface takes and gives.", append(resources, reflect.TypeFor[TailRow](), reflect.TypeFor[Process](), reflect.TypeFor[Capabilities]())...)
	p.closedSets()
	p.codes(files)
	p.say("## Ids\n")
	p.say("A thread is `<type>.<id>`, or bare `<id>`. Both are segments `[a-z0-9][a-z0-9_-]*`, at most %d and %d bytes. The default id is a lowercase ULID.", MaxTypeLen, MaxIDLen)
	return p.String()
}

func (p *page) union(title string, typ reflect.Type) {
	tag, words, members, _ := UnionMembers(typ)
	p.say("## %s\n", title)
	p.say("%d members, told apart by `%s`. %s\n", len(words), tag, p.docs[typ.Name()])
	var rows [][]string
	for _, w := range words {
		rows = append(rows, []string{"`" + w + "`", fields(members[w]), p.docs[members[w].Name()]})
	}
	p.table(tag+" | fields | what it is", rows)
}

func (p *page) answers() {
	p.say("## Answers\n")
	p.say("`id`, and exactly one of these arms; two at once, or none, are refused. %s\n", p.docs["Answer"])
	t := reflect.TypeFor[answerBody]()
	var rows [][]string
	for _, f := range schemaOf(t).fields {
		if f.name == "id" {
			continue
		}
		arm := reflect.TypeOf(exampleAnswers()[f.name].Arm).Elem().Name()
		value := typeName(f.schema)
		if f.name == "cancelled" {
			value = "true"
		}
		rows = append(rows, []string{"`" + f.name + "`", value, p.docs[arm]})
	}
	p.table("arm | value | what it is", rows)
	p.structs("", "", reflect.TypeFor[QuestionAnswer]())
}

func (p *page) timeline() {
	p.say("## The timeline\n")
	p.say("An event is the envelope {`v`, `entityId`, `seq`, `ts`, `type`, `payload`}, at most %d bytes. %s", MaxEventBytes, p.docs["Event"])
	p.say("The rules of what may follow what are the doc comment of `Sequence`. `entityId` is `/t/<tenant>/a/<type>/<id>`, segments of at most")
	p.say("%d, %d and %d bytes; its streams are `/t/<tenant>/agents/<type>/<id>/timeline` and `…/deltas`.\n", MaxTenantLen, MaxTypeLen, MaxIDLen)
	p.union("Payloads of events", reflect.TypeFor[Payload]())
	p.union("Content blocks", reflect.TypeFor[ContentBlock]())
	p.union("Deltas", reflect.TypeFor[Delta]())
	p.structs("Shapes of the timeline", fmt.Sprintf("A snapshot's `state` is an EntityState, at most %d bytes. Its rules are the doc comment of `EntityState.Apply`.", MaxSnapshotBytes),
		reflect.TypeFor[WakeCause](), reflect.TypeFor[RunUsage](), reflect.TypeFor[RunDetail](), reflect.TypeFor[EntityState](),
		reflect.TypeFor[OpenRun](), reflect.TypeFor[OpenCall](), reflect.TypeFor[StateChild](), reflect.TypeFor[StateSummary]())
}

func (p *page) structs(title, intro string, types ...reflect.Type) {
	if title != "" {
		p.say("## %s\n", title)
	}
	if intro != "" {
		p.say("%s\n", intro)
	}
	var rows [][]string
	for _, t := range types {
		rows = append(rows, []string{t.Name(), fields(t), p.docs[t.Name()]})
	}
	p.table("name | fields | what it is", rows)
}

// sharedShapes are the structs that the unions are made of, found by walking
// them.
func sharedShapes() []reflect.Type {
	seen := map[reflect.Type]bool{reflect.TypeFor[Descriptor](): true, reflect.TypeFor[Truncation](): true}
	var out []reflect.Type
	var walk func(s *schema)
	walk = func(s *schema) {
		switch s.shape {
		case shapeSlice, shapeMap, shapePointer:
			walk(s.elem)
		case shapeUnion:
			for _, w := range s.union.words {
				walk(schemaOf(s.union.members[w]))
			}
		case shapeStruct:
			if seen[s.typ] {
				return
			}
			seen[s.typ] = true
			if s.tag == "" {
				out = append(out, s.typ)
			}
			for _, f := range s.fields {
				walk(f.schema)
			}
		}
	}
	walk(schemaOf(reflect.TypeFor[Frame]()))
	slices.SortFunc(out, func(a, b reflect.Type) int { return strings.Compare(a.Name(), b.Name()) })
	return out
}

func (p *page) closedSets() {
	p.say("## Closed sets\n")
	var rows [][]string
	for t, words := range closedSets {
		if t.Name() == "Kind" || t.Name() == "Code" || t.Name() == "EventType" {
			continue
		}
		rows = append(rows, []string{t.Name(), "`" + strings.Join(words, "`, `") + "`", p.docs[t.Name()]})
	}
	slices.SortFunc(rows, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	p.table("set | words | what it says", rows)
}

func (p *page) codes(files []*ast.File) {
	p.say("## Codes of failures\n")
	p.say("%s\n", p.docs["Failure"])
	docs := constantDocs(files, "Code")
	var rows [][]string
	for _, c := range Codes() {
		rows = append(rows, []string{"`" + string(c) + "`", fmt.Sprint(c.Status()), docs[string(c)]})
	}
	p.table("code | status | meaning", rows)
}

func fields(t reflect.Type) string {
	var out []string
	for _, f := range schemaOf(t).fields {
		opt := ""
		if f.optional {
			opt = "?"
		}
		out = append(out, "`"+f.name+opt+"` "+typeName(f.schema)+nullable(f))
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

func nullable(f field) string {
	if f.schema.shape == shapePointer && !f.optional {
		return " or null"
	}
	return ""
}

func typeName(s *schema) string {
	switch s.shape {
	case shapeString:
		if s.closed != nil {
			return s.typ.Name()
		}
		return "string"
	case shapeSecret:
		return "string"
	case shapeBool:
		return "boolean"
	case shapeInt, shapeUint:
		return "integer"
	case shapeFloat:
		return "number"
	case shapeRaw:
		return "any JSON"
	case shapeTime:
		return "time"
	case shapeSlice:
		return "list of " + typeName(s.elem)
	case shapeMap:
		return "map of " + typeName(s.elem)
	case shapePointer:
		return typeName(s.elem)
	default:
		return s.typ.Name()
	}
}
