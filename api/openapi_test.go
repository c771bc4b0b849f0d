package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/troupe-run/troupe/wire"
)

var update = flag.Bool("update", false, "rewrite openapi.json and ROUTES.md")

// TestOpenAPIGate: the description that is served is the one the table makes, and
// it is a valid one.
func TestOpenAPIGate(t *testing.T) {
	b, err := json.MarshalIndent(describe(routes()), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	gate(t, "openapi.json", append(b, '\n'))
	doc, err := openapi3.NewLoader().LoadFromData(b)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	for _, r := range routes() {
		if item := doc.Paths.Find(r.path); item == nil || item.GetOperation(r.method) == nil {
			t.Errorf("%s %s is not described", r.method, r.path)
		}
	}
}

// TestRoutesGate: ROUTES.md is the same table for people.
func TestRoutesGate(t *testing.T) { gate(t, "ROUTES.md", routesPage(routes())) }

func gate(t *testing.T, path string, want []byte) {
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
		t.Errorf("%s is not what the table says; run go test ./api -update", path)
	}
}

type object = map[string]any

// schemas collects the types that a document names.
type schemas struct{ named object }

func describe(table []route) object {
	s := &schemas{named: object{}}
	paths := object{}
	for i := range table {
		r := &table[i]
		item, _ := paths[r.path].(object)
		if item == nil {
			item = object{}
			paths[r.path] = item
		}
		item[strings.ToLower(r.method)] = s.operation(r)
	}
	return object{
		"openapi":    "3.0.3",
		"info":       object{"title": "Troupe", "version": "1", "description": "Threads of agents: prompt, follow, answer, stop."},
		"paths":      paths,
		"components": object{"schemas": s.named},
	}
}

func (s *schemas) operation(r *route) object {
	op := object{"operationId": r.id, "summary": r.summary}
	if r.about != "" {
		op["description"] = r.about
	}
	var params []object
	for _, m := range braces.FindAllStringSubmatch(r.path, -1) {
		about := "The thread: `<type>.<id>`, or a bare id."
		if m[1] != "id" {
			about = "The prompt's message id."
		}
		params = append(params, object{"name": m[1], "in": "path", "required": true, "description": about, "schema": object{"type": "string"}})
	}
	for _, q := range r.query {
		schema := object{"type": "string"}
		if q.words != nil {
			schema["enum"] = q.words
		}
		if q.whole {
			schema = object{"type": "integer", "minimum": q.least, "maximum": q.most}
		}
		params = append(params, object{"name": q.name, "in": "query", "description": q.about, "schema": schema})
	}
	if r.idempotent() {
		params = append(params, object{"name": "Idempotency-Key", "in": "header", "description": "The same key replays the first result for 24 hours.", "schema": object{"type": "string"}})
	}
	if params != nil {
		op["parameters"] = params
	}
	if r.takes != nil {
		op["requestBody"] = object{"required": !r.takes.optional, "content": object{mediaJSON: object{"schema": s.of(r.takes.typ)}}}
	}
	responses := object{}
	for _, a := range r.answers {
		res := object{"description": a.about}
		if a.media != "" {
			schema := object{"type": "string"}
			if a.media == mediaJSON {
				schema = s.of(a.body)
			} else if a.body != nil {
				s.of(a.body) // each event's data is one of these
				res["description"] = a.about + " The data of an event is a " + a.body.Name() + "."
			}
			res["content"] = object{a.media: object{"schema": schema}}
		}
		responses[strconv.Itoa(a.status)] = res
	}
	for status, codes := range refusals(r) {
		responses[strconv.Itoa(status)] = object{
			"description": http.StatusText(status) + ": " + strings.Join(codes, ", ") + ".",
			"content":     object{mediaProblem: object{"schema": s.of(reflect.TypeFor[Problem]())}},
		}
	}
	op["responses"] = responses
	return op
}

// refusals are a route's problem codes by status.
func refusals(r *route) map[int][]string {
	out := map[int][]string{}
	for _, c := range slices.Concat(r.codes, commonCodes) {
		if st := c.Status(); !slices.Contains(out[st], string(c)) {
			out[st] = append(out[st], string(c))
		}
	}
	for _, codes := range out {
		sort.Strings(codes)
	}
	return out
}

// of is the schema of a type; structs and unions are named once.
func (s *schemas) of(t reflect.Type) object {
	if t == reflect.TypeFor[wire.Time]() {
		return object{"type": "string", "format": "date-time"}
	}
	if t == reflect.TypeFor[wire.RawJSON]() {
		return object{"description": "Any JSON."}
	}
	if words, ok := wire.ClosedSet(t); ok {
		return object{"type": "string", "enum": words}
	}
	if t == reflect.TypeFor[wire.Answer]() {
		return s.name(t, s.answerSchema)
	}
	if _, words, members, ok := wire.UnionMembers(t); ok {
		return s.name(t, func() object { return s.union(t, words, members) })
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return object{"type": "integer"}
	case reflect.Slice:
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		return s.name(t, func() object { return s.fields(t) })
	}
	panic(fmt.Sprintf("no schema for %s", t))
}

func (s *schemas) name(t reflect.Type, make func() object) object {
	if _, known := s.named[t.Name()]; !known {
		s.named[t.Name()] = object{} // a type may hold itself
		s.named[t.Name()] = make()
	}
	return object{"$ref": "#/components/schemas/" + t.Name()}
}

func (s *schemas) union(t reflect.Type, words []string, members map[string]reflect.Type) object {
	tag, _, _, _ := wire.UnionMembers(t)
	var one []object
	mapping := object{}
	for _, w := range words {
		ref := s.of(members[w])
		one = append(one, ref)
		mapping[w] = ref["$ref"]
	}
	return object{"oneOf": one, "discriminator": object{"propertyName": tag, "mapping": mapping}}
}

func (s *schemas) fields(t reflect.Type) object {
	props, required := object{}, []string{}
	if tag, word, ok := wire.MemberWord(t); ok {
		props[tag] = object{"type": "string", "enum": []string{word}}
		required = append(required, tag)
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		schema := s.of(f.Type)
		if !strings.Contains(opts, "omitempty") {
			required = append(required, name)
			if f.Type.Kind() == reflect.Pointer {
				schema = object{"nullable": true, "allOf": []object{schema}}
			}
		}
		props[name] = schema
	}
	out := object{"type": "object", "properties": props, "additionalProperties": false}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

// answerSchema: exactly one arm beside the id.
func (s *schemas) answerSchema() object {
	arm := func(name string, schema object) object {
		return object{
			"type": "object", "additionalProperties": false, "required": []string{"id", name},
			"properties": object{"id": object{"type": "string"}, name: schema},
		}
	}
	return object{"oneOf": []object{
		arm("cancelled", object{"type": "boolean", "enum": []bool{true}}),
		arm("value", object{"type": "string"}),
		arm("confirmed", object{"type": "boolean"}),
		arm("answers", object{"type": "array", "items": s.of(reflect.TypeFor[wire.QuestionAnswer]())}),
	}}
}

func routesPage(table []route) []byte {
	var b bytes.Buffer
	b.WriteString("# Routes\n\nGenerated from the table of this package by `go test ./api -update`; openapi.json has the schemas. Every route may also\nanswer with the problems of")
	var common []string
	for _, c := range commonCodes {
		common = append(common, fmt.Sprintf("`%s` (%d)", c, c.Status()))
	}
	sort.Strings(common)
	b.WriteString(" " + strings.Join(common, ", ") + ".\n\n| method and path | what | takes | answers | problems |\n|---|---|---|---|---|\n")
	for _, r := range table {
		path := r.path
		var q []string
		for _, p := range r.query {
			q = append(q, p.name+"=")
		}
		if q != nil {
			path += "?" + strings.Join(q, "&")
		}
		takes := ""
		if r.takes != nil {
			takes = r.takes.typ.Name()
		}
		var answers, problems []string
		for _, a := range r.answers {
			text := strconv.Itoa(a.status)
			if a.body != nil {
				text += " " + strings.ReplaceAll(typeName(a.body), "json.RawMessage", "JSON")
			}
			if a.media == mediaSSE {
				text += " (SSE)"
			}
			answers = append(answers, text)
		}
		for _, c := range r.codes {
			problems = append(problems, fmt.Sprintf("%s (%d)", c, c.Status()))
		}
		fmt.Fprintf(&b, "| %s %s | %s | %s | %s | %s |\n", r.method, path, r.summary, takes, strings.Join(answers, "; "), strings.Join(problems, ", "))
	}
	return b.Bytes()
}

func typeName(t reflect.Type) string {
	if t.Kind() == reflect.Slice && t.Elem().Name() != "uint8" {
		return "list of " + t.Elem().Name()
	}
	if n := t.Name(); n != "" && n != "RawMessage" {
		return n
	}
	return "JSON"
}
