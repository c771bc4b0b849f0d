package wire

import (
	"reflect"
	"strings"
	"testing"
)

func questionnaire() *QuestionnaireDialog {
	return &QuestionnaireDialog{Title: "t", Questions: []Question{
		{Header: "one", Question: "?", Options: []QuestionOption{{Label: "a"}, {Label: "b"}}},
		{Header: "many", Question: "?", MultiSelect: true, Options: []QuestionOption{{Label: "a"}, {Label: "b"}, {Label: "c"}, {Label: "d"}}},
	}}
}

func TestValidateDialog(t *testing.T) {
	for _, d := range append(exampleDialogs(), questionnaire(), &SelectDialog{Options: []string{"", ""}}, &EditorDialog{}) {
		if err := ValidateDialog(d); err != nil {
			t.Errorf("%s: %v", d.Method(), err)
		}
	}
	changed := func(change func(*QuestionnaireDialog)) *QuestionnaireDialog {
		d := questionnaire()
		change(d)
		return d
	}
	for want, d := range map[string]DialogSpec{
		"no dialog":                nil,
		"options: empty":           &SelectDialog{},
		"timeout: want at least 0": &ConfirmDialog{Timeout: -1},
		"questions: empty":         &QuestionnaireDialog{},
		"link.url: empty":          &InputDialog{Link: &DialogLink{}},
		`questions[1]: the header "one" is there twice`:         changed(func(d *QuestionnaireDialog) { d.Questions[1].Header = "one" }),
		`questions[0].options[1]: the label "a" is there twice`: changed(func(d *QuestionnaireDialog) { d.Questions[0].Options[1].Label = "a" }),
		`questions[0].options: want 2 to 4, got 1`:              changed(func(d *QuestionnaireDialog) { d.Questions[0].Options = d.Questions[0].Options[:1] }),
		`questions[1].options: want 2 to 4, got 5`: changed(func(d *QuestionnaireDialog) {
			d.Questions[1].Options = append(d.Questions[1].Options, QuestionOption{})
		}),
	} {
		f := AsFailure(ValidateDialog(d))
		if f == nil || f.Code != CodeInvalid || f.Message != want {
			t.Errorf("got %v, want %s", f, want)
		}
		if d != nil {
			// The codec holds the same rules, both ways.
			if b, err := Encode(d); err == nil {
				t.Errorf("encoded as %s", b)
			}
		}
	}
	for _, d := range []DialogSpec{
		(*SelectDialog)(nil), (*ConfirmDialog)(nil), (*InputDialog)(nil), (*EditorDialog)(nil), (*QuestionnaireDialog)(nil),
		&SelectDialog{Options: []string{"a"}, Timeout: -1}, &InputDialog{Timeout: -1},
	} {
		if err := ValidateDialog(d); err == nil {
			t.Errorf("%#v is a dialog", d)
		}
		if err := ValidateAnswer(d, Answer{ID: "d", Arm: &CancelArm{}}); err == nil {
			t.Errorf("%#v can be answered", d)
		}
	}
}

// One function decides for server, page and terminal. Each method is tried with
// each arm, good and bad.
func TestRule_OneValidatorBothSides(t *testing.T) {
	value := func(s string) AnswerArm { return &ValueArm{NewSecret(s)} }
	answers := func(a ...QuestionAnswer) AnswerArm { return &AnswersArm{a} }
	pick := func(labels ...string) QuestionAnswer { return QuestionAnswer{Selected: labels} }
	other := func(text string, labels ...string) QuestionAnswer {
		return QuestionAnswer{Selected: labels, Other: &text}
	}
	sel := &SelectDialog{Options: []string{"A", "B"}}
	cancel, yes, no := &CancelArm{}, &ConfirmArm{true}, &ConfirmArm{}

	for _, c := range []struct {
		name   string
		dialog DialogSpec
		arm    AnswerArm
		want   string // "" when it answers
	}{
		{"select takes an option", sel, value("B"), ""},
		{"select is cancelled", sel, cancel, ""},
		{"select takes nothing else", sel, value("C"), "value: not one of the offered options"},
		{"select compares exactly", sel, value("a"), "value: not one of the offered options"},
		{"select takes no more", sel, value("A "), "value: not one of the offered options"},
		{"select takes no index", sel, value("0"), "value: not one of the offered options"},
		{"select and confirmed", sel, yes, "a select takes value, not confirmed"},
		{"select and answers", sel, answers(), "a select takes value, not answers"},
		{"confirm yes", &ConfirmDialog{}, yes, ""},
		{"confirm no", &ConfirmDialog{}, no, ""},
		{"confirm is cancelled", &ConfirmDialog{}, cancel, ""},
		{"confirm and value", &ConfirmDialog{}, value("true"), "a confirm takes confirmed, not value"},
		{"input", &InputDialog{}, value("anything"), ""},
		{"input, empty", &InputDialog{}, value(""), ""},
		{"input and confirmed", &InputDialog{}, no, "an input takes value, not confirmed"},
		{"secret input", &InputDialog{Secret: true}, value("k"), ""},
		{"editor", &EditorDialog{}, value("line\nline"), ""},
		{"editor and answers", &EditorDialog{}, answers(), "an editor takes value, not answers"},
		{"questionnaire", questionnaire(), answers(pick("a"), pick("a", "d")), ""},
		{"questionnaire, own words", questionnaire(), answers(other("mine"), other("mine", "a", "b")), ""},
		{"questionnaire is cancelled", questionnaire(), cancel, ""},
		{"questionnaire and value", questionnaire(), value("a"), "a questionnaire takes answers, not value"},
		{"a question too few", questionnaire(), answers(pick("a")), "answers: want 2, one for each question, got 1"},
		{"a question too many", questionnaire(), answers(pick("a"), pick("a"), pick("a")), "answers: want 2, one for each question, got 3"},
		{"not answered", questionnaire(), answers(pick("a"), pick()), "answers[1]: the question is not answered"},
		{"unoffered", questionnaire(), answers(pick("c"), pick("a")), "answers[0].selected[0]: not an offered label"},
		{"two for a single choice", questionnaire(), answers(pick("a", "b"), pick("a")), "answers[0]: a single choice takes one answer, got 2"},
		{"one and own words for a single choice", questionnaire(), answers(other("x", "a"), pick("a")), "answers[0]: a single choice takes one answer, got 2"},
		{"blank own words", questionnaire(), answers(pick("a"), other(" \t\n", "a")), "answers[1].other: blank"},
		{"chosen twice", questionnaire(), answers(pick("a"), pick("a", "a")), "answers[1].selected[1]: chosen twice"},
		{"nothing", sel, nil, "no answer: " + armsWanted},
		{"nil arm", sel, (*ValueArm)(nil), "no answer: " + armsWanted},
		{"nil cancel", sel, (*CancelArm)(nil), "no answer: " + armsWanted},
		{"nil confirm", sel, (*ConfirmArm)(nil), "no answer: " + armsWanted},
		{"nil answers", sel, (*AnswersArm)(nil), "no answer: " + armsWanted},
	} {
		f := AsFailure(ValidateAnswer(c.dialog, Answer{ID: "d1", Arm: c.arm}))
		switch {
		case c.want == "" && f != nil:
			t.Errorf("%s: %v", c.name, f)
		case c.want != "" && (f == nil || f.Code != CodeInvalid || f.Message != c.want):
			t.Errorf("%s: got %v, want %s", c.name, f, c.want)
		}
	}
}

func TestRule_ArmsAreExclusive(t *testing.T) {
	for text, want := range map[string]Code{
		`{"id":"d","cancelled":true}`:                                           "",
		`{"id":"d","value":""}`:                                                 "",
		`{"value":"x","id":"d"}`:                                                "",
		`{"id":"d","confirmed":false}`:                                          "",
		`{"id":"d","answers":[]}`:                                               "",
		`{"id":"d","answers":[{"selected":["a"],"other":"x"}]}`:                 "",
		`{"id":"d"}`:                                                            CodeInvalid,
		`{"id":"","cancelled":true}`:                                            CodeInvalid,
		`{"id":"d","cancelled":false}`:                                          CodeInvalid,
		`{"id":"d","cancelled":true,"confirmed":true}`:                          CodeInvalid,
		`{"id":"d","cancelled":true,"value":"x"}`:                               CodeInvalid,
		`{"id":"d","cancelled":false,"value":"x"}`:                              CodeInvalid,
		`{"id":"d","value":"x","confirmed":true}`:                               CodeInvalid,
		`{"id":"d","value":"x","answers":[]}`:                                   CodeInvalid,
		`{"id":"d","cancelled":true,"value":"","confirmed":false,"answers":[]}`: CodeInvalid,
		`{"cancelled":true}`:                                                    CodeBadRequest,
		`{"id":7,"cancelled":true}`:                                             CodeBadRequest,
		`{"id":"d","cancelled":"true"}`:                                         CodeBadRequest,
		`{"id":"d","value":null}`:                                               CodeBadRequest,
		`{"id":"d","value":1}`:                                                  CodeBadRequest,
		`{"id":"d","value":"x","value":"y"}`:                                    CodeBadRequest,
		`{"id":"d","Value":"x"}`:                                                CodeBadRequest,
		`{"id":"d","value":"x","extra":1}`:                                      CodeBadRequest,
		`{"id":"d","answers":null}`:                                             CodeBadRequest,
		`{"id":"d","answers":[{"selected":null}]}`:                              CodeBadRequest,
		`{"id":"d","answers":[{"selected":["a"],"other":null}]}`:                CodeBadRequest,
		`{"id":"d","answers":[{}]}`:                                             CodeBadRequest,
		`{"id":"d","value":"x"} {}`:                                             CodeBadRequest,
		`{"id":"d","value":"x"`:                                                 CodeBadRequest,
		`[]`:                                                                    CodeBadRequest,
		``:                                                                      CodeBadRequest,
	} {
		a, err := DecodeAnswer([]byte(text))
		switch f := AsFailure(err); {
		case want == "" && (f != nil || a.ID != "d" || a.Arm == nil):
			t.Errorf("%s: %v", text, err)
		case want != "" && (f == nil || f.Code != want || a.Arm != nil):
			t.Errorf("%s: %v, want %s", text, err, want)
		}
		if want != "" {
			continue
		}
		b, err := EncodeAnswer(a)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := DecodeAnswer(b); err != nil || !reflect.DeepEqual(again, a) {
			t.Errorf("%s comes back as %s", text, b)
		}
	}
	for _, arm := range []AnswerArm{nil, (*CancelArm)(nil)} {
		if b, err := EncodeAnswer(Answer{ID: "d", Arm: arm}); AsFailure(err) == nil || AsFailure(err).Code != CodeInvalid {
			t.Errorf("%s %v", b, err)
		}
	}
}

func TestRule_FiveMethods(t *testing.T) {
	_, words, members, ok := UnionMembers(reflect.TypeFor[DialogSpec]())
	if got := strings.Join(words, " "); !ok || got != "select confirm input editor questionnaire" || len(members) != 5 {
		t.Error(got)
	}
	for _, d := range exampleDialogs() {
		if _, word, ok := MemberWord(reflect.TypeOf(d).Elem()); !ok || word != d.Method() {
			t.Errorf("%s is registered as %s", d.Method(), word)
		}
		timed := strings.Contains("select confirm input", d.Method())
		if got := d.TimeoutMs(); timed && got != 1000 || !timed && got != 0 {
			t.Errorf("%s has timeout %d", d.Method(), got)
		}
	}
}

// A dialog that does not hold to the schema never becomes an open question.
func TestRule_ABlockingRequestCarriesADialogANoticeDoesNot(t *testing.T) {
	for text, ok := range map[string]bool{
		`{"kind":"extension-ui-request","id":"d","origin":"run","blocking":true,"dialog":{"method":"editor","title":"t"}}`:                                         true,
		`{"kind":"extension-ui-request","id":"d","origin":"session-start","blocking":false,"notice":{"level":"info","message":"m"}}`:                               true,
		`{"kind":"extension-ui-request","id":"d","origin":"elsewhere","blocking":false,"notice":{"level":"info","message":"m"}}`:                                   false,
		`{"kind":"extension-ui-request","id":"d","origin":"run","blocking":true}`:                                                                                  false,
		`{"kind":"extension-ui-request","id":"d","origin":"run","blocking":false}`:                                                                                 false,
		`{"kind":"extension-ui-request","id":"d","origin":"run","blocking":false,"dialog":{"method":"editor","title":"t"}}`:                                        false,
		`{"kind":"extension-ui-request","id":"d","origin":"run","blocking":true,"dialog":{"method":"editor","title":"t"},"notice":{"level":"info","message":"m"}}`: false,
		`{"kind":"extension-ui-request","id":"d","origin":"run","blocking":true,"dialog":{"method":"select","title":"t","options":[]}}`:                            false,
		`{"kind":"extension-ui-request","id":"d","origin":"run","blocking":true,"dialog":{"method":"setWidget","title":"t"}}`:                                      false,
		`{"kind":"extension-ui-request","id":"","origin":"run","blocking":true,"dialog":{"method":"editor","title":"t"}}`:                                          false,
	} {
		if _, err := DecodeObservation([]byte(text)); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}
