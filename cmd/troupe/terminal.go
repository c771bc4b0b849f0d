package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// plain is s as it may reach a terminal: line ends and tabs stay, every other
// control character becomes visible, and so do the characters that turn text
// around. What an agent says can then move no cursor, set no title, paste
// nothing.
func plain(s string) string {
	if !needsEscape(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteRune('\uFFFD')
		case r == '\r':
			if i < len(s) && s[i] != '\n' {
				b.WriteByte('\n')
			}
		case !driving(r):
			b.WriteRune(r)
		case r < 0x20:
			b.WriteRune('\u2400' + r)
		case r == 0x7f:
			b.WriteRune('\u2421')
		default:
			fmt.Fprintf(&b, "<U+%04X>", r)
		}
	}
	return b.String()
}

// oneLine is plain text on one line, cut to most runes.
func oneLine(s string, most int) string {
	s = strings.Join(strings.Fields(plain(s)), " ")
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

func needsEscape(s string) bool {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == '\r' || driving(r) || r == utf8.RuneError && n == 1 {
			return true
		}
		i += n
	}
	return false
}

// driving says that a terminal may do something at r rather than show it.
func driving(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20, 0x7f <= r && r < 0xa0:
		return true
	case r == 0x200e || r == 0x200f || r == 0x061c: // marks of direction
		return true
	case 0x202a <= r && r <= 0x202e, 0x2066 <= r && r <= 0x2069: // embeddings, overrides, isolates
		return true
	case r == 0x2028 || r == 0x2029:
		return true
	}
	return false
}

// plainJSON escapes in a JSON text what a terminal might obey: in valid JSON such
// characters stand only inside strings.
func plainJSON(b []byte) []byte {
	s := string(b)
	if !needsEscape(s) {
		return b
	}
	var out strings.Builder
	for _, r := range s {
		if driving(r) && r >= 0x20 {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return []byte(out.String())
}

// style dresses text, or does not.
type style struct{ on bool }

func (s style) wrap(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) dim(t string) string    { return s.wrap("2", t) }
func (s style) bold(t string) string   { return s.wrap("1", t) }
func (s style) red(t string) string    { return s.wrap("31", t) }
func (s style) green(t string) string  { return s.wrap("32", t) }
func (s style) yellow(t string) string { return s.wrap("33", t) }
func (s style) cyan(t string) string   { return s.wrap("36", t) }

// styleOf dresses only a terminal, and only where NO_COLOR does not object.
func styleOf(w io.Writer, env func(string) string) style {
	return style{on: isTerminal(w) && env("NO_COLOR") == "" && env("TERM") != "dumb"}
}

// isTerminal says whether v is a file that is a terminal.
func isTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
