package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-run/troupe/wire"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// golden compares got with the file, or rewrites it.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; -update rewrites it\n--- got\n%s--- want\n%s", path, got, want)
	}
}

// render plays a recorded follow; a line {"lost":1} is a lost connection.
func render(t *testing.T, path string, v *view) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for i, line := range bytes.Split(bytes.TrimSpace(b), []byte("\n")) {
		if bytes.HasPrefix(line, []byte(`{"lost"`)) {
			out.WriteString(v.Lost(250 * time.Millisecond))
			continue
		}
		f, err := wire.DecodeFrame(line)
		if err != nil {
			t.Fatalf("%s:%d: %v", path, i+1, err)
		}
		out.WriteString(v.Frame(f))
	}
	return out.String()
}

func TestViewRendersFollows(t *testing.T) {
	files, err := filepath.Glob("testdata/view/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no follows: %v", err)
	}
	for _, f := range files {
		base := strings.TrimSuffix(f, ".jsonl")
		t.Run(filepath.Base(base), func(t *testing.T) {
			text := render(t, f, newView(style{}, false))
			golden(t, base+".txt", text)
			for _, r := range text {
				if driving(r) {
					t.Errorf("plain output holds %U", r)
				}
			}
			golden(t, base+".verbose.txt", render(t, f, newView(style{}, true)))
		})
	}
	t.Run("colours", func(t *testing.T) {
		text := render(t, "testdata/view/run.jsonl", newView(style{on: true}, false))
		golden(t, "testdata/view/run.colour.txt", text)
	})
}

// Whatever an agent says, only our own dress reaches the terminal.
func TestViewLetsNoAgentDriveTheTerminal(t *testing.T) {
	text := render(t, "testdata/view/hostile.jsonl", newView(style{on: true}, true))
	for _, code := range []string{"0", "1", "2", "31", "32", "33", "36"} {
		text = strings.ReplaceAll(text, "\x1b["+code+"m", "")
	}
	for _, r := range text {
		if driving(r) {
			t.Fatalf("the output holds %U:\n%q", r, text)
		}
	}
}

// Every kind of observation has its place in the view: none falls through.
func TestViewKnowsEveryKind(t *testing.T) {
	src, err := os.ReadFile("view_observe.go")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/view/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	for _, k := range wire.Kinds() {
		if !bytes.Contains(all, []byte(`"kind": "`+string(k)+`"`)) {
			t.Errorf("no golden holds a %s", k)
		}
	}
	if n := bytes.Count(src, []byte("*wire.")); n < len(wire.Kinds()) {
		t.Errorf("%d members are named for %d kinds", n, len(wire.Kinds()))
	}
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"a\tb\nc":           "a\tb\nc",
		"\x1b[2J":           "␛[2J",
		"a\r\nb\rc\r":       "a\nb\nc",
		"\x00\x7f":          "␀␡",
		"\u009b1m":          "<U+009B>1m",
		"\u202etxt":         "<U+202E>txt",
		"\xff":              "\uFFFD",
		"héllo 世界 👩\u200d💻": "héllo 世界 👩\u200d💻",
	} {
		if got := plain(in); got != want {
			t.Errorf("plain(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestPlainJSONStaysTheSameValue(t *testing.T) {
	in := []byte("{\"a\":\"\u009b \u202e \\u001b\"}")
	got := string(plainJSON(in))
	if want := `{"a":"\u009b \u202e \u001b"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestStyleIsForTerminalsOnly(t *testing.T) {
	if styleOf(&bytes.Buffer{}, func(string) string { return "" }).on {
		t.Error("a buffer is dressed")
	}
}

func FuzzPlain(f *testing.F) {
	f.Add("\x1b]0;t\x07\r\n\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range plain(s) {
			if driving(r) || r == '\r' {
				t.Fatalf("plain(%q) holds %U", s, r)
			}
		}
	})
}
