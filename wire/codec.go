package wire

import "reflect"

// Encode renders v, a value or pointer of wire's types or of a struct made of
// them: unions with their discriminator, nil lists as [], nil maps as {}, on one
// line. It refuses what a decoder would refuse, with a *Failure of code internal.
func Encode(v any) ([]byte, error) { return appendTo(nil, v) }

// EncodeFrame renders one frame of a follow. See [Encode].
func EncodeFrame(f Frame) ([]byte, error) { return appendTo(nil, f) }

// EncodeObservation renders one observation. See [Encode].
func EncodeObservation(o Observation) ([]byte, error) { return appendTo(nil, o) }

// AppendSSE appends f as one whole SSE event, "data: <json>\n\n". On an error dst
// comes back as it was.
func AppendSSE(dst []byte, f Frame) ([]byte, error) {
	out, err := appendTo(append(dst, "data: "...), f)
	if err != nil {
		return dst, err
	}
	return append(out, "\n\n"...), nil
}

func appendTo(dst []byte, v any) ([]byte, error) {
	rv := reflect.ValueOf(v)
	if !rv.IsValid() {
		return dst, Errorf(CodeInternal, "encode: nothing to encode")
	}
	if rv.Kind() == reflect.Pointer && rv.IsNil() && memberTags[rv.Type().Elem()] != (memberTag{}) {
		return dst, Errorf(CodeInternal, "encode: a nil %s", rv.Type())
	}
	if dst == nil {
		dst = make([]byte, 0, 256)
	}
	out, err := encode(dst, rv, schemaOf(rv.Type()))
	if err != nil {
		return dst, Errorf(CodeInternal, "encode %s: %v", rv.Type(), err)
	}
	return out, nil
}

// DecodeFrame reads one frame strictly. See [DecodeStrict].
func DecodeFrame(b []byte) (Frame, error) { return DecodeStrict[Frame](b) }

// DecodeObservation reads one observation strictly. See [DecodeStrict].
func DecodeObservation(b []byte) (Observation, error) { return DecodeStrict[Observation](b) }

// DecodeStrict reads exactly one T. It refuses, with a *Failure of code
// bad-request that names the field's path: malformed JSON, invalid UTF-8, an
// unknown or repeated field, a name in another case, another type, null where
// none is meant, a word outside its closed set, a field that is missing (every
// one without omitempty is required), and whatever follows the value. T is a
// union of wire's, or a type made of JSON-named exported fields.
func DecodeStrict[T any](b []byte) (T, error) {
	var v T
	if err := decodeInto(b, reflect.ValueOf(&v).Elem()); err != nil {
		var none T
		return none, Errorf(CodeBadRequest, "%v", err)
	}
	return v, nil
}

// unmarshal is DecodeStrict for the UnmarshalJSON methods.
func unmarshal[T any](b []byte, into *T) error {
	v, err := DecodeStrict[T](b)
	if err == nil {
		*into = v
	}
	return err
}
