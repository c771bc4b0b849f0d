package main

import (
	"fmt"
	"strings"

	"github.com/troupe-run/troupe/wire"
)

// dialogTitle is a question's title on one line.
func dialogTitle(d wire.DialogSpec) string {
	title := ""
	switch d := d.(type) {
	case *wire.SelectDialog:
		title = d.Title
	case *wire.ConfirmDialog:
		title = d.Title
	case *wire.InputDialog:
		title = d.Title
	case *wire.EditorDialog:
		title = d.Title
	case *wire.QuestionnaireDialog:
		title = d.Title
	}
	if t := oneLine(title, 200); t != "" {
		return t
	}
	return "a question"
}

// dialogLines is a question as a person reads it, the title first.
func dialogLines(d wire.DialogSpec) []string {
	lines := []string{dialogTitle(d)}
	text := func(s string) {
		if s = strings.TrimRight(plain(s), "\n"); s != "" {
			lines = append(lines, strings.Split(s, "\n")...)
		}
	}
	switch d := d.(type) {
	case *wire.SelectDialog:
		text(d.Message)
		for i, o := range d.Options {
			lines = append(lines, fmt.Sprintf("%d) %s", i+1, oneLine(o, 200)))
		}
	case *wire.ConfirmDialog:
		text(d.Message)
		lines[0] += " (yes or no)"
	case *wire.InputDialog:
		text(d.Message)
		if d.Link != nil {
			text(strings.TrimSpace(d.Link.Label + " " + d.Link.URL))
		}
		if d.Secret {
			lines[0] += " (secret)"
		} else if d.Placeholder != "" {
			lines = append(lines, "for example: "+oneLine(d.Placeholder, 200))
		}
	case *wire.EditorDialog:
		if d.Prefill != "" {
			lines = append(lines, "it starts from:")
			for l := range strings.SplitSeq(strings.TrimRight(plain(d.Prefill), "\n"), "\n") {
				lines = append(lines, "| "+l)
			}
		}
	case *wire.QuestionnaireDialog:
		for _, q := range d.Questions {
			lines = append(lines, questionLines(&q)...)
		}
	}
	if ms := d.TimeoutMs(); ms > 0 {
		lines[0] += fmt.Sprintf(" (%g s)", float64(ms)/1000)
	}
	return lines
}

func questionLines(q *wire.Question) []string {
	head := oneLine(q.Header, 60) + ": " + oneLine(q.Question, 400)
	if q.MultiSelect {
		head += " (any of)"
	}
	lines := []string{head}
	for i, o := range q.Options {
		l := fmt.Sprintf("  %d) %s", i+1, oneLine(o.Label, 200))
		if o.Description != "" {
			l += " – " + oneLine(o.Description, 200)
		}
		lines = append(lines, l)
	}
	return lines
}
