package actors

import (
	"fmt"
	"unicode/utf8"

	"github.com/troupe-run/troupe/wire"
)

// An event has a limit, what an agent says has none. Text and thoughts are split
// over several events and lose nothing; anything else that does not fit is cut,
// and says so.
const (
	// roomBytes is what a payload may take: the limit but for the envelope.
	roomBytes = wire.MaxEventBytes - 4<<10
	// pieceBytes of text fit whatever they are: escaped, a byte takes six at most.
	pieceBytes = roomBytes/6 - 4<<10
)

// fitting says whether p fits into an event.
func fitting(p wire.Payload) bool {
	b, err := wire.EncodePayload(p)
	return err == nil && len(b) <= roomBytes
}

// split is text in pieces that fit.
func split(text string) []string {
	if len(text) <= pieceBytes {
		return []string{text}
	}
	if b, err := wire.Encode(text); err == nil && len(b) <= roomBytes-4<<10 {
		return []string{text}
	}
	var out []string
	for len(text) > pieceBytes {
		n := boundary(text, pieceBytes)
		out, text = append(out, text[:n]), text[n:]
	}
	return append(out, text)
}

// boundary is at most n, and not inside a rune.
func boundary(text string, n int) int {
	if n >= len(text) {
		return len(text)
	}
	for i := n; i > max(0, n-utf8.UTFMax); i-- {
		if utf8.RuneStart(text[i]) {
			return i
		}
	}
	return n
}

// pieces is content in as many events as it takes; empty content takes one.
func pieces(blocks []wire.ContentBlock) [][]wire.ContentBlock {
	if size(blocks) <= pieceBytes {
		return [][]wire.ContentBlock{blocks}
	}
	var out [][]wire.ContentBlock
	for _, b := range blocks {
		t, ok := b.(*wire.TextBlock)
		if !ok {
			out = append(out, []wire.ContentBlock{b})
			continue
		}
		for _, piece := range split(t.Text) {
			out = append(out, []wire.ContentBlock{&wire.TextBlock{Text: piece}})
		}
	}
	return out
}

func size(blocks []wire.ContentBlock) int {
	n := 0
	for _, b := range blocks {
		switch b := b.(type) {
		case *wire.TextBlock:
			n += len(b.Text)
		case *wire.ImageBlock:
			n += len(b.Data)
		}
	}
	return n
}

// truncation is the detail, or the data, of what was cut.
type truncation struct {
	Cut wire.Truncation `json:"troupe:truncated"`
}

func cutTo(shown, total int) []byte {
	return detail(truncation{wire.Truncation{Shown: int64(shown), Total: int64(total), Unit: wire.UnitBytes}})
}

// fit is p, cut where it is too large for an event.
func fit(p wire.Payload) wire.Payload {
	if rough(p)*6 < roomBytes || fitting(p) {
		return p
	}
	switch p := p.(type) {
	case *wire.MessageEvent:
		c := *p
		c.Content = withoutImages(p.Content)
		return &c
	case *wire.ToolCallEvent:
		c := *p
		c.Input = cutTo(0, len(p.Input))
		return &c
	case *wire.ToolResultEvent:
		return fitResult(p)
	case *wire.Opaque:
		c := *p
		c.Data = cutTo(0, len(p.Data))
		return &c
	case *wire.Summarization:
		c := *p
		c.Summary = split(p.Summary)[0]
		return &c
	case *wire.ErrorEvent:
		c := *p
		c.Message, c.Detail = split(p.Message)[0], cutTo(0, len(p.Detail))
		return &c
	case *wire.RunFinished:
		c := *p
		c.Detail = cutTo(0, len(p.Detail))
		return &c
	}
	return p
}

// fitResult keeps a result's text as far as it fits, and its detail if that does.
func fitResult(p *wire.ToolResultEvent) wire.Payload {
	c := *p
	text := ""
	if len(p.Content) > 0 {
		if t, ok := p.Content[0].(*wire.TextBlock); ok {
			text = t.Text[:boundary(t.Text, pieceBytes)]
		}
	}
	c.Content = []wire.ContentBlock{&wire.TextBlock{Text: text}}
	c.Detail = cutTo(len(text), size(p.Content))
	md, err := wire.DecodeStrict[wire.Metadata](p.Detail)
	if err != nil {
		return &c
	}
	cut, err := wire.DecodeStrict[wire.Metadata](c.Detail)
	if err != nil {
		return &c
	}
	for k, v := range cut {
		md[k] = v
	}
	whole := c
	whole.Detail = detail(md)
	if !fitting(&whole) {
		return &c
	}
	return &whole
}

func withoutImages(blocks []wire.ContentBlock) []wire.ContentBlock {
	out := []wire.ContentBlock{}
	for _, b := range blocks {
		switch b := b.(type) {
		case *wire.TextBlock:
			out = append(out, &wire.TextBlock{Text: split(b.Text)[0]})
		case *wire.ImageBlock:
			out = append(out, &wire.TextBlock{Text: fmt.Sprintf("[%s of %d bytes, too large for the timeline]", b.MimeType, len(b.Data))})
		}
	}
	return out
}

// rough is about how large p is, before escapes.
func rough(p wire.Payload) int {
	const fields = 256
	switch p := p.(type) {
	case *wire.MessageEvent:
		return fields + size(p.Content) + fields*len(p.Content)
	case *wire.ToolCallEvent:
		return fields + len(p.Input)
	case *wire.ToolResultEvent:
		return fields + size(p.Content) + len(p.Detail)
	case *wire.Reasoning:
		return fields + len(p.Text)
	case *wire.Opaque:
		return fields + len(p.Data)
	case *wire.Summarization:
		return fields + len(p.Summary)
	case *wire.ErrorEvent:
		return fields + len(p.Message) + len(p.Detail)
	}
	return roomBytes
}
