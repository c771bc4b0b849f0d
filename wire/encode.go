package wire

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

func encode(dst []byte, v reflect.Value, s *schema) ([]byte, error) {
	switch s.shape {
	case shapeString:
		if s.closed != nil && !slices.Contains(s.closed, v.String()) {
			return dst, notInSet(v.String(), s.closed)
		}
		return appendString(dst, v.String()), nil
	case shapeBool:
		return strconv.AppendBool(dst, v.Bool()), nil
	case shapeInt:
		return strconv.AppendInt(dst, v.Int(), 10), nil
	case shapeUint:
		return strconv.AppendUint(dst, v.Uint(), 10), nil
	case shapeFloat:
		return appendFloat(dst, v.Float())
	case shapeRaw:
		return appendRaw(dst, v.Bytes())
	case shapeTime:
		return appendTime(dst, v)
	case shapeSecret:
		return append(dst, `"`+Redacted+`"`...), nil
	case shapeForeign:
		b, err := json.Marshal(v.Interface())
		if err != nil {
			return dst, refuse("%v", err)
		}
		return appendRaw(dst, b)
	case shapePointer:
		if v.IsNil() {
			return append(dst, "null"...), nil
		}
		return encode(dst, v.Elem(), s.elem)
	case shapeUnion:
		return encodeMember(dst, v, s.union)
	case shapeSlice:
		return encodeSlice(dst, v, s)
	case shapeMap:
		return encodeMap(dst, v, s)
	default:
		return encodeStruct(dst, v, s)
	}
}

func encodeMember(dst []byte, v reflect.Value, u *union) ([]byte, error) {
	p := v.Elem()
	if !p.IsValid() || p.Kind() != reflect.Pointer || p.IsNil() {
		return dst, refuse("no %s: one of %s is required", u.tag, strings.Join(u.words, ", "))
	}
	return encodeStruct(dst, p.Elem(), schemaOf(p.Type().Elem()))
}

// wordBeside is the discriminator of a member whose object does not hold it.
func wordBeside(v reflect.Value, u *union) (string, error) {
	if v.IsNil() || v.Elem().IsNil() {
		return "", refuse("no %s: one of %s is required", u.tag, strings.Join(u.words, ", "))
	}
	return u.wordOf[v.Elem().Type().Elem()], nil
}

func encodeStruct(dst []byte, v reflect.Value, s *schema) ([]byte, error) {
	if s.checked {
		if err := check(v); err != nil {
			return dst, err
		}
	}
	dst = append(dst, '{')
	first := true
	if s.tag != "" {
		dst = append(append(append(dst, '"'), s.tag...), `":"`...)
		dst = append(append(dst, s.word...), '"')
		first = false
	}
	for i := range s.fields {
		f := &s.fields[i]
		fv := v.Field(f.index)
		if f.optional && isEmpty(fv, f.schema.shape) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		if f == s.beside {
			word, err := wordBeside(fv, f.schema.union)
			if err != nil {
				return dst, at(err, f.name)
			}
			dst = append(append(append(dst, '"'), f.schema.union.tag...), `":"`...)
			dst = append(append(dst, word...), `",`...)
		}
		dst = append(dst, f.key...)
		var err error
		if dst, err = encode(dst, fv, f.schema); err != nil {
			return dst, at(err, f.name)
		}
	}
	return append(dst, '}'), nil
}

func isEmpty(v reflect.Value, s shape) bool {
	switch s {
	case shapeSlice, shapeMap, shapeRaw:
		return v.Len() == 0
	case shapeStruct, shapeTime:
		return false
	default:
		return v.IsZero()
	}
}

func encodeSlice(dst []byte, v reflect.Value, s *schema) ([]byte, error) {
	dst = append(dst, '[')
	for i := range v.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = encode(dst, v.Index(i), s.elem); err != nil {
			return dst, at(err, "["+strconv.Itoa(i)+"]")
		}
	}
	return append(dst, ']'), nil
}

func encodeMap(dst []byte, v reflect.Value, s *schema) ([]byte, error) {
	byKey := make(map[string]reflect.Value, v.Len())
	for it := v.MapRange(); it.Next(); {
		byKey[it.Key().String()] = it.Value()
	}
	dst = append(dst, '{')
	for i, k := range slices.Sorted(maps.Keys(byKey)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, k), ':')
		var err error
		if dst, err = encode(dst, byKey[k], s.elem); err != nil {
			return dst, at(err, k)
		}
	}
	return append(dst, '}'), nil
}

// appendString quotes s. Invalid UTF-8 becomes U+FFFD: what an agent printed must
// never stop a frame.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			dst, _ = jsontext.AppendQuote(dst, s) // its only error is the replacement
			return dst
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}

func appendFloat(dst []byte, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return dst, refuse("%v is no number of JSON", f)
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, 64), nil
}

// maxDepth bounds how deep a value of a runtime's own nests. Readers have bounds of
// their own, ours at 10,000, and what holds the value must stay below them.
const maxDepth = 1000

func deeper(raw []byte, most int) bool {
	depth, quoted, escaped := 0, false, false
	for _, c := range raw {
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if depth++; depth > most {
				return true
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return false
}

func appendRaw(dst, raw []byte) ([]byte, error) {
	if len(raw) == 0 {
		return append(dst, "null"...), nil
	}
	if deeper(raw, maxDepth) {
		return dst, refuse("JSON nested deeper than %d", maxDepth)
	}
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	buf := bytes.NewBuffer(dst)
	if err := json.Compact(buf, raw); err != nil {
		return dst, refuse("malformed JSON: %v", err)
	}
	return buf.Bytes(), nil
}

func appendTime(dst []byte, v reflect.Value) ([]byte, error) {
	t := v.Field(0).Interface().(time.Time).UTC()
	if y := t.Year(); y < 0 || y > 9999 {
		return dst, refuse("the year %d is outside 0..9999", y)
	}
	dst = append(dst, '"')
	dst = t.AppendFormat(dst, timeLayout)
	return append(dst, '"'), nil
}

// check runs the rules of v's type.
func check(v reflect.Value) error {
	var c checked
	if v.CanAddr() {
		c = v.Addr().Interface().(checked)
	} else {
		p := reflect.New(v.Type())
		p.Elem().Set(v)
		c = p.Interface().(checked)
	}
	return c.check()
}
