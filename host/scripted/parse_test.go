package scripted

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

func TestParse(t *testing.T) {
	obj := func(s string) json.RawMessage { return json.RawMessage(s) }
	for text, want := range map[string][]step{
		"hello":                             {say{"hello"}},
		" hello ; world ":                   {say{" hello ; world "}},
		"":                                  {say{""}},
		"say:a":                             {say{"a"}},
		"say:":                              {say{""}},
		"say: a ":                           {say{" a"}},
		"say:a;b":                           {say{"a;b"}},
		"say:a ; say:b":                     {say{"a"}, say{"b"}},
		"say:a ; ":                          {say{"a"}},
		"say:a\n ; \nthink:b\nc":            {say{"a"}, think{"b\nc"}},
		"say:a ; or not":                    {say{"a"}, say{"or not"}},
		"saying:a":                          {say{"saying:a"}},
		"hang":                              {hang{}},
		" hang ; say:a":                     {hang{}, say{"a"}},
		"hang on":                           {say{"hang on"}},
		"panic: no":                         {say{"panic: no"}},
		"exit":                              {say{"exit"}},
		"exit:7":                            {exit{7}},
		"slow:3":                            {slow{3}},
		"burst:3,40":                        {burst{3, 40}},
		"pace:3,40,2.5":                     {pace{3, 40, 2.5}},
		"overlap:a|b":                       {overlap{[]string{"a", "b"}}},
		"tool:ls":                           {tool{"ls", obj(`{}`)}},
		"tool:ls ; say:a":                   {tool{"ls", obj(`{}`)}, say{"a"}},
		`tool:ls {"a": [1, 2]}`:             {tool{"ls", obj(`{"a":[1,2]}`)}},
		`tool:ls {"a":" ; "} ; say:a`:       {tool{"ls", obj(`{"a":" ; "}`)}, say{"a"}},
		`tool:ls "text"`:                    {tool{"ls", obj(`"text"`)}},
		`late:ls 1`:                         {late{"ls", obj(`1`)}},
		"toolerror:ls not found":            {toolError{"ls", "not found"}},
		`described:k {"a":1}`:               {described{"k", map[string]json.RawMessage{"a": obj(`1`)}}},
		"finish:[1] ; say:a":                {finish{obj(`[1]`)}, say{"a"}},
		"unmapped:null":                     {raw{obj(`null`)}},
		"compact":                           {compact{wire.CompactionManual}},
		"compact:overflow":                  {compact{wire.CompactionOverflow}},
		"usage:10, 20":                      {usage{10, 20}},
		"wait:20":                           {idle{20 * time.Millisecond}},
		"sh:ls -l | wc; true":               {shell{"ls -l | wc; true"}},
		"ask:confirm Go?":                   {ask{dialog: &wire.ConfirmDialog{Title: "Go?"}}},
		"ask:confirm":                       {ask{dialog: &wire.ConfirmDialog{}}},
		"ask:confirm timeout=20 Go?":        {ask{dialog: &wire.ConfirmDialog{Title: "Go?", Timeout: 20}}},
		"ask:select timeout=20 a|b":         {ask{dialog: &wire.SelectDialog{Title: "Choose one", Options: []string{"a", "b"}, Timeout: 20}}},
		"ask:input timeouts are a pain":     {ask{dialog: &wire.InputDialog{Title: "timeouts are a pain"}}},
		"ask:secret Key ; ask:leak Key":     {ask{dialog: &wire.InputDialog{Title: "Key", Secret: true}}, ask{dialog: &wire.InputDialog{Title: "Key", Secret: true}, leak: true}},
		"ask:editor a\nb":                   {ask{dialog: &wire.EditorDialog{Title: "Edit", Prefill: "a\nb"}}},
		"ask:withdraw 30 Go?":               {ask{dialog: &wire.ConfirmDialog{Title: "Go?"}, withdraw: 30 * time.Millisecond}},
		`spawn:worker {"n":1} ; stray:open`: {notYet{"spawn"}, stray{"open"}},
	} {
		got, err := parse(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %#v, %v; want %#v", text, got, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, says := range map[string]string{
		"slow:x":                    "slow",
		"slow:-1":                   "slow",
		"slow:99999999999":          "slow",
		"say:a ; slow:":             "slow",
		"burst:5":                   "burst",
		"burst:5,2000000":           "burst",
		"pace:5,40":                 "pace",
		"pace:5,29,1":               "pace",
		"pace:5,40,-1":              "pace",
		"pace:5,40,NaN":             "pace",
		"overlap:one":               "overlap",
		"tool:":                     "tool",
		"tool: {}":                  "tool",
		"tool:ls {":                 "tool",
		"tool:ls {} {}":             "tool",
		`tool:ls {}; say:a`:         "tool",
		"toolerror:":                "toolerror",
		"described:k [1]":           "described",
		"bigtool:1e3":               "bigtool",
		"sh:":                       "sh",
		"ask:":                      "ask",
		"ask:colour red":            "ask",
		"ask:select":                "ask:select",
		"ask:select  ":              "ask:select",
		"ask:confirm timeout=x Go?": "ask:confirm",
		"ask:confirm timeout=0 Go?": "ask:confirm",
		"ask:withdraw Go?":          "ask:withdraw",
		"ask:questionnaire":         "ask:questionnaire",
		`ask:questionnaire {"title":"a","questions":[]}`:       "ask:questionnaire",
		`ask:questionnaire {"title":"a","questions":[],"b":1}`: "ask:questionnaire",
		"finish:":       "finish",
		"retry:0":       "retry",
		"usage:1":       "usage",
		"compact:why":   "compact",
		"custom:":       "custom",
		"unmapped:nope": "unmapped",
		"exit:256":      "exit",
		"stray:cat":     "stray",
	} {
		got, err := parse(text)
		var f *wire.Failure
		if !errors.As(err, &f) || f.Code != wire.CodeInvalid || !strings.HasPrefix(f.Message, "the directive "+says+":") {
			t.Errorf("%q: got %#v, %v", text, got, err)
		}
	}
}

func TestImagesAreSaid(t *testing.T) {
	o := Options{}
	got, err := o.script(host.Prompt{Text: "look", Images: make([]wire.Image, 2)}, false)
	if want := []step{say{"look"}, say{"with images: 2"}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v, %v", got, err)
	}
}

func FuzzParse(f *testing.F) {
	for i := range directives {
		f.Add(directives[i].form())
		f.Add("say:a ; " + directives[i].word + `:1,2 {"a":"b ; c"} ; hang`)
	}
	f.Add(`ask:questionnaire {"title":"t","questions":[{"header":"h","question":"q","options":[{"label":"a","description":""},{"label":"b","description":""}],"multiSelect":false}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		script, err := parse(text)
		if err != nil {
			var failure *wire.Failure
			if !errors.As(err, &failure) || failure.Code != wire.CodeInvalid {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if len(script) == 0 && strings.TrimSpace(text) != "" {
			t.Fatalf("%q: nothing to play", text)
		}
		for _, st := range script {
			if a, ok := st.(ask); ok {
				if err := wire.ValidateDialog(a.dialog); err != nil {
					t.Fatalf("%q asks what cannot be asked: %v", text, err)
				}
			}
		}
	})
}

func FuzzPieces(f *testing.F) {
	f.Add("grüße — 世界", 3)
	f.Fuzz(func(t *testing.T, text string, times int) {
		text = strings.Repeat(strings.ToValidUTF8(text, "?"), max(0, min(times, 500)))
		n, all := 0, ""
		for p := range pieces(text) {
			if p != strings.ToValidUTF8(p, "") || p == "" {
				t.Fatalf("the piece %q", p)
			}
			n++
			all += p
		}
		if all != text || n > maxPieces {
			t.Fatalf("%d pieces, %q", n, all)
		}
	})
}
