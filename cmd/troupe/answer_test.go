package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/troupe-run/troupe/wire"
)

// questions serves open dialogs and keeps what they were answered.
func questions(t *testing.T, open ...wire.OpenDialog) (base string, got *string) {
	t.Helper()
	got = new(string)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			b, _ := io.ReadAll(r.Body)
			*got = string(b)
			w.WriteHeader(204)
			return
		}
		b, err := wire.Encode(open)
		if err != nil {
			t.Error(err)
		}
		w.Write(b)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, got
}

var questionnaire = &wire.QuestionnaireDialog{Title: "Some", Questions: []wire.Question{
	{Header: "Db", Question: "Which?", Options: []wire.QuestionOption{{Label: "pg"}, {Label: "sqlite"}}},
	{Header: "Tools", Question: "Which?", Options: []wire.QuestionOption{{Label: "a"}, {Label: "b"}, {Label: "c"}}, MultiSelect: true},
}}

func TestAnswerByFlags(t *testing.T) {
	sel := wire.OpenDialog{ID: "s", Dialog: &wire.SelectDialog{Title: "Which?", Options: []string{"one", "two"}}}
	conf := wire.OpenDialog{ID: "c", Dialog: &wire.ConfirmDialog{Title: "Sure?"}}
	secret := wire.OpenDialog{ID: "k", Dialog: &wire.InputDialog{Title: "Key", Secret: true}}
	quest := wire.OpenDialog{ID: "q", Dialog: questionnaire}
	for _, c := range []struct {
		open  []wire.OpenDialog
		args  []string
		stdin string
		code  int
		want  string
	}{
		{[]wire.OpenDialog{sel}, []string{"--value", "two"}, "", 0, `{"id":"s","value":"two"}`},
		{[]wire.OpenDialog{sel}, []string{"--value", "three"}, "", 1, ""},
		{[]wire.OpenDialog{sel}, []string{"--yes"}, "", 1, ""},
		{[]wire.OpenDialog{sel}, []string{"--cancel"}, "", 0, `{"id":"s","cancelled":true}`},
		{[]wire.OpenDialog{sel, conf}, []string{"c", "--no"}, "", 0, `{"id":"c","confirmed":false}`},
		{[]wire.OpenDialog{conf}, []string{"--yes"}, "", 0, `{"id":"c","confirmed":true}`},
		{[]wire.OpenDialog{sel, conf}, []string{"--yes"}, "", exitUsage, ""},
		{[]wire.OpenDialog{conf}, []string{"--yes", "--no"}, "", exitUsage, ""},
		{[]wire.OpenDialog{conf}, []string{"nope", "--yes"}, "", 1, ""},
		{nil, []string{"--yes"}, "", 1, ""},
		{[]wire.OpenDialog{conf}, nil, "", exitUsage, ""},
		{[]wire.OpenDialog{secret}, []string{"--stdin"}, "hunter2\n", 0, `{"id":"k","value":"hunter2"}`},
		{[]wire.OpenDialog{secret}, []string{"--value", ""}, "", 0, `{"id":"k","value":""}`},
		{[]wire.OpenDialog{quest}, []string{"--answers", `[{"selected":["pg"]},{"selected":["a","c"]}]`}, "", 0,
			`{"id":"q","answers":[{"selected":["pg"]},{"selected":["a","c"]}]}`},
		{[]wire.OpenDialog{quest}, []string{"--answers", `[{"selected":["pg"]}]`}, "", 1, ""},
		{[]wire.OpenDialog{quest}, []string{"--answers", `[{"chosen":["pg"]}]`}, "", exitUsage, ""},
		{[]wire.OpenDialog{quest}, []string{"--answers", `[`}, "", exitUsage, ""},
	} {
		base, got := questions(t, c.open...)
		code, out, errOut := execute(t, base, c.stdin, append([]string{"answer", "a"}, c.args...)...)
		if code != c.code || *got != c.want {
			t.Errorf("%v: %d, sent %s, %q", c.args, code, *got, errOut)
		}
		if strings.Contains(out+errOut, "hunter2") {
			t.Errorf("%v prints the secret", c.args)
		}
	}
}

func TestAnswerPrintsOpenQuestionsAsJSON(t *testing.T) {
	base, _ := questions(t, wire.OpenDialog{ID: "c", Dialog: &wire.ConfirmDialog{Title: "Sure?", Message: "m"}})
	code, out, _ := execute(t, base, "", "answer", "a", "--json")
	if code != 0 || out != `[{"id":"c","dialog":{"method":"confirm","title":"Sure?","message":"m"}}]`+"\n" {
		t.Errorf("%d, %s", code, out)
	}
}

func TestAskerTakesWhatAPersonTypes(t *testing.T) {
	for _, c := range []struct {
		dialog wire.DialogSpec
		typed  string
		want   string
	}{
		{&wire.SelectDialog{Title: "t", Options: []string{"one", "two"}}, "3\nx\n2\n", `{"id":"d","value":"two"}`},
		{&wire.SelectDialog{Title: "t", Options: []string{"one"}}, "\n", `{"id":"d","cancelled":true}`},
		{&wire.SelectDialog{Title: "t", Options: []string{"one"}}, "", `{"id":"d","cancelled":true}`},
		{&wire.ConfirmDialog{Title: "t"}, "maybe\nYES\n", `{"id":"d","confirmed":true}`},
		{&wire.ConfirmDialog{Title: "t"}, "n\n", `{"id":"d","confirmed":false}`},
		{&wire.ConfirmDialog{Title: "t"}, "\n", `{"id":"d","cancelled":true}`},
		{&wire.InputDialog{Title: "t"}, "Ada\r\n", `{"id":"d","value":"Ada"}`},
		{&wire.InputDialog{Title: "t"}, "no newline", `{"id":"d","value":"no newline"}`},
		{&wire.InputDialog{Title: "t", Secret: true}, "", `{"id":"d","value":"hidden"}`},
		{&wire.EditorDialog{Title: "t"}, "a\nb\n.\n", `{"id":"d","value":"a\nb"}`},
		{&wire.EditorDialog{Title: "t"}, "a\nb", `{"id":"d","value":"a\nb"}`},
		{&wire.EditorDialog{Title: "t"}, "", `{"id":"d","cancelled":true}`},
		{questionnaire, "1,2\n\n2\n1, 3\n", `{"id":"d","answers":[{"selected":["sqlite"]},{"selected":["a","c"]}]}`},
		{questionnaire, "none of these\n2\n", `{"id":"d","answers":[{"selected":[],"other":"none of these"},{"selected":["b"]}]}`},
		{questionnaire, "1\n", `{"id":"d","cancelled":true}`},
	} {
		var shown bytes.Buffer
		a := &asker{in: bufio.NewReader(strings.NewReader(c.typed)), out: &shown, hidden: func() ([]byte, error) { return []byte("hidden"), nil }}
		arm, err := a.ask(c.dialog)
		if err != nil {
			t.Errorf("%s %q: %v", c.dialog.Method(), c.typed, err)
			continue
		}
		answer := wire.Answer{ID: "d", Arm: arm}
		if err := wire.ValidateAnswer(c.dialog, answer); err != nil {
			t.Errorf("%s %q is refused: %v", c.dialog.Method(), c.typed, err)
		}
		if b, _ := wire.EncodeAnswer(answer); string(b) != c.want {
			t.Errorf("%s %q: %s, want %s", c.dialog.Method(), c.typed, b, c.want)
		}
		if strings.Contains(shown.String(), "hidden") {
			t.Error("the secret is shown")
		}
	}
}

func TestEditorsFailureAnswersNothing(t *testing.T) {
	a := &asker{in: bufio.NewReader(strings.NewReader("")), out: io.Discard,
		edit: func(string) (string, error) { return "", errors.New("crashed") }}
	if _, err := a.ask(&wire.EditorDialog{Title: "t"}); err == nil {
		t.Error("no error")
	}
}

func TestEditFileReturnsTheEditedText(t *testing.T) {
	got, err := editFile("true", "as it was\n")
	if err != nil || got != "as it was" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := editFile("false", "x"); err == nil || !strings.Contains(fmt.Sprint(err), "nothing was answered") {
		t.Errorf("a failing editor: %v", err)
	}
}
