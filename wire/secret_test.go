package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

func TestRule_ASecretNeverShows(t *testing.T) {
	const word = "hunter2"
	secret := NewSecret(word)
	type exported struct{ Answer Secret }
	type hidden struct {
		answer Secret
		list   []Secret
		arm    AnswerArm
		byID   map[string]ValueArm
	}
	answer := Answer{ID: "d1", Arm: &ValueArm{secret}}
	carriers := []any{
		secret, &secret, []Secret{secret}, map[string]Secret{"k": secret}, exported{secret}, &exported{secret},
		hidden{secret, []Secret{secret}, &ValueArm{secret}, map[string]ValueArm{"d": {secret}}},
		ValueArm{secret}, &ValueArm{secret}, answer, &answer, answerBody{Value: &secret},
	}
	verbs := []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%c", "%U", "%t", "%e", "%p", "%T", "%b", "%o", "%w"}
	for _, c := range carriers {
		for _, verb := range verbs {
			says(t, fmt.Sprintf("%T with %s", c, verb), fmt.Sprintf(verb, c), word)
		}
		says(t, fmt.Sprintf("%T printed", c), fmt.Sprint(c), word)
		b, err := json.Marshal(c)
		if err != nil {
			t.Errorf("%T: %v", c, err)
		}
		says(t, fmt.Sprintf("%T as JSON", c), string(b), word)
		enc := zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig())
		line, err := enc.EncodeEntry(zapcore.Entry{}, []zapcore.Field{zap.Any("answer", c), zap.Reflect("again", c)})
		if err != nil {
			t.Fatal(err)
		}
		says(t, fmt.Sprintf("%T logged", c), line.String(), word)
		says(t, fmt.Sprintf("%T in an error", c), fmt.Errorf("answer %v: %w", c, fmt.Errorf("%+v", c)).Error(), word)
	}
	if b, err := Encode(exported2{secret}); err != nil || string(b) != `{"key":"`+Redacted+`"}` {
		t.Errorf("%s %v", b, err)
	}
	if secret.Reveal() != word || (Secret{}).Reveal() != "" || !reflect.DeepEqual(secret, NewSecret(word)) {
		t.Error("a secret no longer reveals itself")
	}
	if b, err := EncodeAnswer(answer); err != nil || string(b) != `{"id":"d1","value":"hunter2"}` {
		t.Errorf("EncodeAnswer: %s %v", b, err)
	}
}

type exported2 struct {
	Key Secret `json:"key"`
}

// says fails when text holds word, plain or in hexadecimal.
func says(t *testing.T, where, text, word string) {
	t.Helper()
	lower := strings.ToLower(strings.ReplaceAll(text, " ", ""))
	for _, form := range []string{word, fmt.Sprintf("%x", word)} {
		if strings.Contains(lower, form) {
			t.Errorf("%s says %s", where, text)
		}
	}
}

func TestRule_ARefusalNeverRepeatsTheAnswer(t *testing.T) {
	const word = "hunter2"
	q := &QuestionnaireDialog{Questions: []Question{{Header: "h", Options: []QuestionOption{{Label: "a"}, {Label: "b"}}}}}
	for _, err := range []error{
		ValidateAnswer(&SelectDialog{Options: []string{"a"}}, Answer{Arm: &ValueArm{NewSecret(word)}}),
		ValidateAnswer(&ConfirmDialog{}, Answer{Arm: &ValueArm{NewSecret(word)}}),
		ValidateAnswer(q, Answer{Arm: &AnswersArm{[]QuestionAnswer{{Selected: []string{word}}}}}),
		decodeAnswerError(`{"id":"d","value":"hunter2","cancelled":true}`),
		decodeAnswerError(`{"id":"d","value":["hunter2"]}`),
		decodeAnswerError(`{"id":"d","value":"hunter2`),
		decodeAnswerError(`{"id":"d","value":"hunter2","value":"hunter2"}`),
	} {
		if err == nil || strings.Contains(err.Error(), word) {
			t.Error(err)
		}
	}
}

func decodeAnswerError(text string) error {
	_, err := DecodeAnswer([]byte(text))
	return err
}
