package wire

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// shape is how a Go type crosses the wire.
type shape uint8

const (
	shapeString shape = iota
	shapeBool
	shapeInt
	shapeUint
	shapeFloat
	shapeRaw     // any JSON, compacted
	shapeTime    // an instant
	shapeSecret  // a string that is only ever read
	shapeForeign // a type of another package that marshals itself
	shapeStruct
	shapeSlice
	shapeMap
	shapePointer
	shapeUnion
)

// schema is a type's wire form, the one thing that encoder and decoder share: a
// field without omitempty is required, and whatever is not named is refused.
type schema struct {
	typ     reflect.Type
	shape   shape
	closed  []string // the words of a closed set, nil when any string is meant
	checked bool     // implements checked
	tag     string   // a union member's discriminator and its word
	word    string
	fields  []field
	byName  map[string]int
	elem    *schema
	union   *union
	beside  *field // the field whose discriminator is a name of this struct
}

type field struct {
	name     string
	key      string // `"name":`
	index    int
	optional bool
	schema   *schema
}

// checked is a type with rules beyond its fields' types. They hold both ways.
type checked interface{ check() error }

var (
	schemas     sync.Map // reflect.Type → *schema
	rawType     = reflect.TypeFor[json.RawMessage]()
	timeType    = reflect.TypeFor[Time]()
	secretType  = reflect.TypeFor[Secret]()
	checkedType = reflect.TypeFor[checked]()
	ownPackage  = timeType.PkgPath()
)

// schemaOf is the schema of t. It panics on a type that has no wire form: that is
// a mistake in the program, not in the data.
func schemaOf(t reflect.Type) *schema {
	if s, ok := schemas.Load(t); ok {
		return s.(*schema)
	}
	s := buildSchema(t)
	kept, _ := schemas.LoadOrStore(t, s)
	return kept.(*schema)
}

func buildSchema(t reflect.Type) *schema {
	s := &schema{typ: t, checked: t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(checkedType)}
	switch {
	case t == rawType:
		s.shape = shapeRaw
		return s
	case t == timeType:
		s.shape = shapeTime
		return s
	case t == secretType:
		s.shape = shapeSecret
		return s
	case t.PkgPath() != ownPackage && t.PkgPath() != "" && reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		s.shape = shapeForeign
		return s
	}
	switch t.Kind() {
	case reflect.String:
		s.shape, s.closed = shapeString, closedSets[t]
	case reflect.Bool:
		s.shape = shapeBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		s.shape = shapeInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		s.shape = shapeUint
	case reflect.Float64, reflect.Float32:
		s.shape = shapeFloat
	case reflect.Slice:
		s.shape, s.elem = shapeSlice, schemaOf(t.Elem())
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			panic("wire: a map's keys are strings: " + t.String())
		}
		s.shape, s.elem = shapeMap, schemaOf(t.Elem())
	case reflect.Pointer:
		s.shape, s.elem = shapePointer, schemaOf(t.Elem())
	case reflect.Struct:
		s.shape = shapeStruct
		s.structFields()
	case reflect.Interface:
		u, ok := unions[t]
		if !ok {
			panic("wire: no union " + t.String())
		}
		s.shape, s.union = shapeUnion, u
	default:
		panic("wire: " + t.String() + " has no wire form")
	}
	return s
}

func (s *schema) structFields() {
	if m, ok := memberTags[s.typ]; ok {
		s.tag, s.word = m.tag, m.word
	}
	s.byName = map[string]int{}
	for i := range s.typ.NumField() {
		sf := s.typ.Field(i)
		name, opts, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if !sf.IsExported() || name == "-" {
			continue
		}
		if sf.Anonymous || name == "" {
			panic("wire: " + s.typ.String() + "." + sf.Name + " has no JSON name")
		}
		s.byName[name] = len(s.fields)
		s.fields = append(s.fields, field{
			name: name, key: `"` + name + `":`, index: i,
			optional: opts == "omitempty", schema: schemaOf(sf.Type),
		})
	}
	for i := range s.fields {
		if u := s.fields[i].schema.union; u != nil && u.beside {
			s.beside = &s.fields[i]
		}
	}
	if len(s.fields) > 64 {
		panic("wire: " + s.typ.String() + " has more than 64 fields")
	}
}
