package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// refusal is why a value does not cross, and where in it the reason lies.
type refusal struct{ path, reason string }

// Error is the reason with its path.
func (r *refusal) Error() string {
	if r.path == "" {
		return r.reason
	}
	return r.path + ": " + r.reason
}

func refuse(format string, args ...any) *refusal {
	return &refusal{reason: fmt.Sprintf(format, args...)}
}

// at says that err lies inside the field or element named by step.
func at(err error, step string) error {
	var r *refusal
	if !errors.As(err, &r) {
		r = &refusal{reason: err.Error()}
	}
	switch {
	case r.path == "" || r.path[0] == '[':
		return &refusal{step + r.path, r.reason}
	default:
		return &refusal{step + "." + r.path, r.reason}
	}
}

func notInSet(word string, set []string) *refusal {
	return refuse("%s is not one of %s", brief(word), strings.Join(set, ", "))
}

// brief quotes a client's own words, cut short.
func brief(s string) string {
	const most = 48
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strconv.Quote(s)
}

// decoder reads one value strictly. Names may repeat inside raw values only:
// what a runtime said is not ours to refuse.
type decoder struct {
	src []byte
	in  *jsontext.Decoder
}

func newDecoder(src []byte) *decoder {
	return &decoder{src, jsontext.NewDecoder(bytes.NewBuffer(src),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
}

// decodeInto reads exactly one value of v's type from src.
func decodeInto(src []byte, v reflect.Value) error {
	if i := invalidUTF8(src); i >= 0 {
		return refuse("invalid UTF-8 at byte %d", i)
	}
	d := newDecoder(src)
	if err := d.value(v, schemaOf(v.Type())); err != nil {
		return err
	}
	if _, err := d.in.ReadToken(); !errors.Is(err, io.EOF) {
		return refuse("something follows the value at byte %d", d.in.InputOffset())
	}
	return nil
}

func invalidUTF8(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	i := 0
	for i < len(b) {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		i += n
	}
	return i
}

func (d *decoder) malformed(err error) *refusal {
	why := strings.TrimPrefix(err.Error(), "jsontext: ")
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		why = "unexpected end"
	}
	var syn *jsontext.SyntacticError
	if errors.As(err, &syn) && syn.Err != nil {
		why = fmt.Sprintf("at byte %d: %v", syn.ByteOffset, syn.Err)
	}
	return refuse("malformed JSON: %s", why)
}

var kindNames = map[jsontext.Kind]string{
	'n': "null", 't': "a boolean", 'f': "a boolean", '"': "a string", '0': "a number", '{': "an object", '[': "a list",
}

// want refuses a value of another kind than the one asked for.
func (d *decoder) want(kind jsontext.Kind) error {
	got := d.in.PeekKind()
	if got == kind || kind == 't' && got == 'f' {
		return nil
	}
	if name, ok := kindNames[got]; ok {
		return refuse("want %s, got %s", kindNames[kind], name)
	}
	_, err := d.in.ReadToken()
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return d.malformed(err)
}

func (d *decoder) value(v reflect.Value, s *schema) error {
	if err := d.bare(v, s); err != nil {
		return err
	}
	if s.checked {
		return check(v)
	}
	return nil
}

func (d *decoder) bare(v reflect.Value, s *schema) error {
	switch s.shape {
	case shapeString:
		text, err := d.text()
		if err != nil {
			return err
		}
		if s.closed != nil && !slices.Contains(s.closed, text) {
			return notInSet(text, s.closed)
		}
		v.SetString(text)
	case shapeSecret:
		text, err := d.text()
		if err != nil {
			return err
		}
		v.Set(reflect.ValueOf(NewSecret(text)))
	case shapeTime:
		text, err := d.text()
		if err != nil {
			return err
		}
		t, err := parseTime(text)
		if err != nil {
			return err
		}
		v.Set(reflect.ValueOf(t))
	case shapeBool:
		if err := d.want('t'); err != nil {
			return err
		}
		tok, err := d.in.ReadToken()
		if err != nil {
			return d.malformed(err)
		}
		v.SetBool(tok.Bool())
	case shapeInt, shapeUint, shapeFloat:
		return d.number(v, s)
	case shapeRaw, shapeForeign:
		return d.raw(v, s)
	case shapePointer:
		if d.in.PeekKind() == 'n' {
			return d.skip()
		}
		v.Set(reflect.New(s.elem.typ))
		return d.value(v.Elem(), s.elem)
	case shapeUnion:
		return d.member(v, s.union)
	case shapeSlice:
		return d.slice(v, s)
	case shapeMap:
		return d.mapping(v, s)
	default:
		return d.object(v, s)
	}
	return nil
}

func (d *decoder) skip() error {
	if _, err := d.in.ReadValue(); err != nil {
		return d.malformed(err)
	}
	return nil
}

// text reads a string. An escape that is half a surrogate pair is no text.
func (d *decoder) text() (string, error) {
	if err := d.want('"'); err != nil {
		return "", err
	}
	val, err := d.in.ReadValue()
	if err != nil {
		return "", d.malformed(err)
	}
	return unquote(val)
}

func unquote(val []byte) (string, error) {
	if bytes.IndexByte(val, '\\') < 0 {
		return string(val[1 : len(val)-1]), nil
	}
	out, err := jsontext.AppendUnquote(make([]byte, 0, len(val)), val)
	if err != nil {
		return "", refuse("an escape that is no character")
	}
	return string(out), nil
}

func (d *decoder) number(v reflect.Value, s *schema) error {
	if err := d.want('0'); err != nil {
		return err
	}
	val, err := d.in.ReadValue()
	if err != nil {
		return d.malformed(err)
	}
	text, bits := string(val), s.typ.Bits()
	switch s.shape {
	case shapeInt:
		n, err := strconv.ParseInt(text, 10, bits)
		if err != nil {
			return refuse("want a whole number of %d bits, got %s", bits, brief(text))
		}
		v.SetInt(n)
	case shapeUint:
		n, err := strconv.ParseUint(text, 10, bits)
		if err != nil {
			return refuse("want a whole number of %d bits, at least 0, got %s", bits, brief(text))
		}
		v.SetUint(n)
	default:
		n, err := strconv.ParseFloat(text, bits)
		if err != nil {
			return refuse("the number %s is out of range", brief(text))
		}
		v.SetFloat(n)
	}
	return nil
}

func (d *decoder) raw(v reflect.Value, s *schema) error {
	val, err := d.in.ReadValue()
	if err != nil {
		return d.malformed(err)
	}
	if s.shape == shapeForeign {
		if err := json.Unmarshal(val, v.Addr().Interface()); err != nil {
			return refuse("not a %s", s.typ)
		}
		return nil
	}
	out, err := appendRaw(make([]byte, 0, len(val)), val)
	if err != nil {
		return err
	}
	v.SetBytes(out)
	return nil
}

func (d *decoder) slice(v reflect.Value, s *schema) error {
	if err := d.open('['); err != nil {
		return err
	}
	v.Set(reflect.MakeSlice(s.typ, 0, 0))
	for i := 0; ; i++ {
		step := "[" + strconv.Itoa(i) + "]"
		switch d.in.PeekKind() {
		case ']':
			return d.close()
		case 'n':
			if s.elem.shape != shapeRaw {
				return at(refuse("want a value, got null"), step)
			}
		}
		e := reflect.New(s.elem.typ).Elem()
		if err := d.value(e, s.elem); err != nil {
			return at(err, step)
		}
		v.Set(reflect.Append(v, e))
	}
}

func (d *decoder) mapping(v reflect.Value, s *schema) error {
	if err := d.open('{'); err != nil {
		return err
	}
	v.Set(reflect.MakeMap(s.typ))
	for d.in.PeekKind() != '}' {
		name, err := d.text()
		if err != nil {
			return err
		}
		key := reflect.ValueOf(name).Convert(s.typ.Key())
		if v.MapIndex(key).IsValid() {
			return refuse("the key %s is there twice", brief(name))
		}
		e := reflect.New(s.elem.typ).Elem()
		if err := d.value(e, s.elem); err != nil {
			return at(err, brief(name))
		}
		v.SetMapIndex(key, e)
	}
	return d.close()
}

func (d *decoder) open(kind jsontext.Kind) error {
	if err := d.want(kind); err != nil {
		return err
	}
	_, err := d.in.ReadToken()
	if err != nil {
		return d.malformed(err)
	}
	return nil
}

func (d *decoder) close() error {
	if _, err := d.in.ReadToken(); err != nil {
		return d.malformed(err)
	}
	return nil
}

func (d *decoder) object(v reflect.Value, s *schema) error {
	var src []byte
	if s.beside != nil {
		src = d.rest()
	}
	if err := d.open('{'); err != nil {
		return err
	}
	var seen uint64
	tag, word, tagged := s.tag, s.word, s.tag == ""
	if s.beside != nil {
		u := s.beside.schema.union
		found, err := discriminator(src, u.tag)
		if err != nil {
			return err
		}
		if _, ok := u.members[found]; !ok {
			return at(notInSet(found, u.words), u.tag)
		}
		tag, word, tagged = u.tag, found, false
	}
	for d.in.PeekKind() != '}' {
		name, err := d.text()
		if err != nil {
			return err
		}
		if tag != "" && name == tag {
			if tagged {
				return refuse("the field %s is there twice", brief(name))
			}
			tagged = true
			got, err := d.text()
			if err == nil && got != word {
				err = notInSet(got, []string{word})
			}
			if err != nil {
				return at(err, name)
			}
			continue
		}
		i, ok := s.byName[name]
		if !ok {
			return unknownField(name, s)
		}
		if seen&(1<<i) != 0 {
			return refuse("the field %s is there twice", brief(name))
		}
		seen |= 1 << i
		f := &s.fields[i]
		if f.optional && f.schema.shape != shapeRaw && d.in.PeekKind() == 'n' {
			return at(refuse("want a value, got null; leave the field out instead"), name)
		}
		if f == s.beside {
			p := reflect.New(f.schema.union.members[word])
			if err := d.value(p.Elem(), schemaOf(p.Type().Elem())); err != nil {
				return at(err, name)
			}
			v.Field(f.index).Set(p)
			continue
		}
		if err := d.value(v.Field(f.index), f.schema); err != nil {
			return at(err, name)
		}
	}
	if !tagged {
		return refuse("the field %q is missing", tag)
	}
	for i := range s.fields {
		if f := &s.fields[i]; !f.optional && seen&(1<<i) == 0 {
			return refuse("the field %q is missing", f.name)
		}
	}
	return d.close()
}

func unknownField(name string, s *schema) error {
	for _, f := range s.fields {
		if strings.EqualFold(f.name, name) {
			return refuse("unknown field %s, want %q", brief(name), f.name)
		}
	}
	return refuse("unknown field %s", brief(name))
}

// member reads a union: the discriminator, wherever it stands, decides the type.
func (d *decoder) member(v reflect.Value, u *union) error {
	if err := d.want('{'); err != nil {
		return err
	}
	word, err := discriminator(d.rest(), u.tag)
	if err != nil {
		return err
	}
	t, ok := u.members[word]
	if !ok {
		return at(notInSet(word, u.words), u.tag)
	}
	p := reflect.New(t)
	if err := d.value(p.Elem(), schemaOf(t)); err != nil {
		return err
	}
	v.Set(p)
	return nil
}

// rest is the source from the next value on.
func (d *decoder) rest() []byte {
	return bytes.TrimLeft(d.src[d.in.InputOffset():], " \t\r\n:,")
}

func discriminator(src []byte, tag string) (string, error) {
	if rest, ok := bytes.CutPrefix(src, []byte(`{"`+tag+`":"`)); ok { // as our encoder writes it
		if word, _, ok := bytes.Cut(rest, []byte{'"'}); ok && bytes.IndexByte(word, '\\') < 0 {
			return string(word), nil
		}
	}
	d := newDecoder(src)
	if err := d.open('{'); err != nil {
		return "", err
	}
	for d.in.PeekKind() != '}' {
		name, err := d.text()
		if err != nil {
			return "", err
		}
		if name == tag {
			word, err := d.text()
			if err != nil {
				return "", at(err, tag)
			}
			return word, nil
		}
		if err := d.skip(); err != nil {
			return "", err
		}
	}
	return "", refuse("the field %q is missing", tag)
}

func parseTime(text string) (Time, error) {
	var t time.Time
	if err := t.UnmarshalText([]byte(text)); err != nil || t.UTC().Year() < 0 || t.UTC().Year() > 9999 {
		return Time{}, refuse("%s is not an RFC 3339 time", brief(text))
	}
	return At(t), nil
}
