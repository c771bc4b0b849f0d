package wire

import (
	"reflect"
	"strings"
	"testing"
)

// seeds gives a fuzz test every golden of a folder, and some near misses.
func seeds(f *testing.F, folder string) {
	for _, g := range goldens() {
		if !strings.HasPrefix(g.name, folder) {
			continue
		}
		b, err := g.encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)/2])
		f.Add([]byte(strings.ReplaceAll(string(b), `"`, `'`)))
	}
	f.Add([]byte(`{"kind":"unmapped","event":{"a":1,"a":[1e999,"\ud800"]}}`))
	f.Add([]byte("\xff"))
}

// again holds what every decoder promises: what it read encodes, and that reads
// as the same.
func again[T any](t *testing.T, v T, encode func(T) ([]byte, error), decode func([]byte) (T, error)) {
	t.Helper()
	b, err := encode(v)
	if err != nil {
		t.Fatalf("%#v was read and does not encode: %v", v, err)
	}
	if strings.ContainsAny(string(b), "\n\r") {
		t.Fatalf("more than one line: %q", b)
	}
	back, err := decode(b)
	if err != nil {
		t.Fatalf("%s was written and does not read: %v", b, err)
	}
	if !reflect.DeepEqual(back, v) {
		t.Fatalf("%#v\ncomes back as %#v", v, back)
	}
}

func FuzzDecodeFrame(f *testing.F) {
	seeds(f, "frame/")
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := DecodeFrame(b); err == nil {
			again(t, v, EncodeFrame, DecodeFrame)
			Fold(&Snapshot{}, v, v)
		}
	})
}

func FuzzDecodeObservation(f *testing.F) {
	seeds(f, "observation/")
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := DecodeObservation(b); err == nil {
			again(t, v, EncodeObservation, DecodeObservation)
			new(Snapshot).Apply(v)
		}
	})
}

func FuzzDecodeAnswer(f *testing.F) {
	seeds(f, "answer/")
	f.Fuzz(func(t *testing.T, b []byte) {
		if a, err := DecodeAnswer(b); err == nil {
			again(t, a, EncodeAnswer, DecodeAnswer)
		}
	})
}

// Whatever the dialog and the answer, the validator decides; what it lets pass
// holds to what the dialog offered.
func FuzzValidateAnswer(f *testing.F) {
	for _, d := range exampleDialogs() {
		spec, err := Encode(d)
		if err != nil {
			f.Fatal(err)
		}
		for _, a := range exampleAnswers() {
			answer, err := EncodeAnswer(a)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(spec, answer)
		}
	}
	f.Fuzz(func(t *testing.T, spec, answer []byte) {
		d, err := DecodeStrict[DialogSpec](spec)
		if err != nil {
			return
		}
		if err := ValidateDialog(d); err != nil {
			t.Fatalf("%s was read and is no dialog: %v", spec, err)
		}
		a, err := DecodeAnswer(answer)
		if err != nil || ValidateAnswer(d, a) != nil {
			return
		}
		if _, ok := a.Arm.(*CancelArm); !ok {
			offered(t, d, a.Arm)
		}
	})
}

// offered checks an accepted answer independently of the validator.
func offered(t *testing.T, d DialogSpec, arm AnswerArm) {
	t.Helper()
	switch d := d.(type) {
	case *SelectDialog:
		for _, o := range d.Options {
			if o == arm.(*ValueArm).Value.Reveal() {
				return
			}
		}
		t.Fatal("an unoffered value was accepted")
	case *ConfirmDialog:
		_ = arm.(*ConfirmArm)
	case *InputDialog, *EditorDialog:
		_ = arm.(*ValueArm)
	case *QuestionnaireDialog:
		for i, a := range arm.(*AnswersArm).Answers {
			labels := map[string]int{}
			for _, o := range d.Questions[i].Options {
				labels[o.Label] = 1
			}
			for _, s := range a.Selected {
				if labels[s]--; labels[s] != 0 {
					t.Fatalf("%q was accepted, %d left", s, labels[s])
				}
			}
			if n := len(a.Selected); a.Other == nil && n == 0 || n > 1 && !d.Questions[i].MultiSelect {
				t.Fatalf("%d answers were accepted", n)
			}
		}
	}
}

func FuzzParseThreadID(f *testing.F) {
	for _, s := range []string{"helper.01jz", "01jz", "a.b.c", "", ".", "A.b", "a.-", "é", strings.Repeat("a", 65)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, bare, err := ParseThreadID(s)
		if err != nil {
			return
		}
		if bare && (id.ID != s || id.Type != "" || !ValidID(s)) || !bare && (id.String() != s || !ValidType(id.Type) || !ValidID(id.ID)) {
			t.Fatalf("%q is %+v, bare %v", s, id, bare)
		}
	})
}
