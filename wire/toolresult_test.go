package wire

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func metadata(descriptor string) Metadata {
	return Metadata{ToolResultKey: json.RawMessage(descriptor)}
}

func TestRule_DescriptorKindIsOpen(t *testing.T) {
	for _, kind := range []string{"tool.bash", "a kind of tomorrow", "ünïcode", " "} {
		d := &Descriptor{Kind: kind, Props: map[string]json.RawMessage{}}
		b, err := Encode(d)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := ReadDescriptor(Metadata{ToolResultKey: b})
		if !ok || !reflect.DeepEqual(got, d) || ValidateDescriptor(d) != nil {
			t.Errorf("%q: %+v %v", kind, got, ok)
		}
	}
	if got := FloorKind("read"); got != "tool.read" {
		t.Error(got)
	}
}

func TestRule_TheKeyHasNoDot(t *testing.T) {
	if strings.Contains(ToolResultKey, ".") || ToolResultKey != "troupe:toolResult" {
		t.Error(ToolResultKey)
	}
}

func TestRule_AMalformedDescriptorIsRejectedNeverCoerced(t *testing.T) {
	for _, bad := range []string{
		``, `null`, `[]`, `"tool.x"`, `{}`, `{"kind":"k"}`, `{"props":{}}`, `{"kind":"","props":{}}`, `{"kind":7,"props":{}}`,
		`{"kind":"k","props":[]}`, `{"kind":"k","props":null}`, `{"kind":"k","props":{},"extra":1}`, `{"Kind":"k","props":{}}`,
		`{"kind":"k","props":{},"truncated":null}`, `{"kind":"k","props":{},"truncated":{"shown":1,"total":2,"unit":"pages"}}`,
		`{"kind":"k","props":{},"truncated":{"shown":-1,"total":2,"unit":"lines"}}`,
		`{"kind":"k","props":{},"truncated":{"shown":"1","total":2,"unit":"lines"}}`,
		`{"kind":"k","props":{},"truncated":{"shown":1.5,"total":2,"unit":"lines"}}`,
		`{"kind":"k","props":{},"truncated":{"shown":1,"unit":"lines"}}`, `{"kind":"k","props":{}} x`,
	} {
		if d, ok := ReadDescriptor(metadata(bad)); ok || d != nil {
			t.Errorf("%s was read as %+v", bad, d)
		}
	}
	for _, none := range []Metadata{nil, {}, {"other": json.RawMessage("1")}} {
		if d, ok := ReadDescriptor(none); ok || d != nil {
			t.Errorf("%v was read as %+v", none, d)
		}
	}
	for _, d := range []*Descriptor{nil, {}, {Kind: "k", Truncated: &Truncation{Unit: "pages"}}, {Kind: "k", Truncated: &Truncation{Total: -1, Unit: UnitItems}}} {
		if f := AsFailure(ValidateDescriptor(d)); f == nil || f.Code != CodeInvalid {
			t.Errorf("%+v: %v", d, f)
		}
	}
}

// pending, aborted, error, the renderer of the kind, the text: in this order.
func TestRule_RenderingOrder(t *testing.T) {
	good := metadata(`{"kind":"tool.read","props":{}}`)
	for name, c := range map[string]struct {
		result  *ToolResultPart
		open    bool
		state   CallState
		text    string
		details bool
	}{
		"no result, run open":     {nil, true, CallPending, "running…", false},
		"no result, run over":     {nil, false, CallAborted, "aborted", false},
		"an error, run open":      {&ToolResultPart{Text: "boom", IsError: true, Metadata: good}, true, CallError, "boom", false},
		"an error":                {&ToolResultPart{Text: "boom", IsError: true, Metadata: good}, false, CallError, "boom", false},
		"a descriptor":            {&ToolResultPart{Text: "out", Metadata: good}, false, CallDone, "out", true},
		"a descriptor, run open":  {&ToolResultPart{Text: "out", Metadata: good}, true, CallDone, "out", true},
		"a malformed descriptor":  {&ToolResultPart{Text: "out", Metadata: metadata(`{"kind":""}`)}, false, CallDone, "out", false},
		"no descriptor":           {&ToolResultPart{Text: "out"}, false, CallDone, "out", false},
		"a blank result":          {&ToolResultPart{Text: " \n"}, false, CallDone, "no output", false},
		"a blank error":           {&ToolResultPart{IsError: true}, false, CallError, "failed without a message", false},
		"blank with a descriptor": {&ToolResultPart{Metadata: good}, false, CallDone, "no output", true},
	} {
		got := Render(c.result, c.open)
		if got.State != c.state || StateOf(c.result, c.open) != c.state || got.Text != c.text || (got.Descriptor != nil) != c.details {
			t.Errorf("%s: %+v", name, got)
		}
		if strings.TrimSpace(got.Text) == "" {
			t.Errorf("%s renders blank", name)
		}
	}
}

func TestRule_OneBuilderOfMetadata(t *testing.T) {
	d := exampleDescriptor()
	part := ResultPart(&ToolResult{ToolCallID: "c1", ToolName: "bash", Text: "x", Complete: true, Descriptor: d})
	got, ok := ReadDescriptor(part.Metadata)
	if !ok || !reflect.DeepEqual(got, d) || len(part.Metadata) != 1 {
		t.Errorf("%+v", part)
	}
	if bare := ResultPart(&ToolResult{ToolCallID: "c1"}); bare.Metadata == nil || len(bare.Metadata) != 0 {
		t.Errorf("%+v", bare)
	}
}
