package wire

import (
	"strings"
	"testing"
)

func TestAddress(t *testing.T) {
	a := AddressOf(ThreadID{Type: "helper", ID: "01"})
	for got, want := range map[string]string{
		a.String(): "/t/default/a/helper/01", a.Thread().String(): "helper.01",
		a.TimelinePath(): "/t/default/agents/helper/01/timeline", a.DeltasPath(): "/t/default/agents/helper/01/deltas",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	longest := "/t/" + strings.Repeat("t", 32) + "/a/" + strings.Repeat("a", 48) + "/" + strings.Repeat("i", 64)
	if got, err := ParseAddress(longest); err != nil || got.String() != longest {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{
		"", "/", "helper.01", "/t/default/a/helper", "/t/default/a/helper/01/", "/t/default/a/helper/01/x", "/t/default/a//01",
		"/t//a/helper/01", "t/default/a/helper/01", "/t/Default/a/helper/01", "/t/default/a/helper/.", "/t/default/agents/helper/01",
		"/t/-x/a/helper/01", "/t/x/a/a/a/01", strings.Replace(longest, "tt", "ttt", 1), longest + "i", strings.Replace(longest, "/aa", "/aaa", 1), "/t/default/a/helper/01\n",
	} {
		if got, err := ParseAddress(bad); err == nil || AsFailure(err).Code != CodeInvalid {
			t.Errorf("%q is %v, %v", bad, got, err)
		}
	}
}

func TestStreamPath(t *testing.T) {
	a := Address{Tenant: "x", Type: "a", ID: "a"}
	for name, path := range map[string]string{"timeline": a.TimelinePath(), "deltas": a.DeltasPath()} {
		got, gotName, err := ParseStreamPath(path)
		if err != nil || got != a || gotName != name {
			t.Errorf("%s is %v %s, %v", path, got, gotName, err)
		}
	}
	for _, bad := range []string{"", "/", "/t/x/agents/a/a", "/t/x/agents/a/a/", "/t/x/agents/a/a/other", "/t/x/a/a/a/timeline", "/t/x/agents/a/a/b/timeline", "/t/x/agents/timeline"} {
		if got, name, err := ParseStreamPath(bad); err == nil || AsFailure(err).Code != CodeInvalid {
			t.Errorf("%q is %v %s, %v", bad, got, name, err)
		}
	}
	for ref, want := range map[string]bool{"default/app": true, "default": false, "/app": false, "default/": false, "a/b/c": false, "A/b": false} {
		if ValidWorkspaceRef(ref) != want {
			t.Errorf("%q: %v", ref, !want)
		}
	}
}

func FuzzParseAddress(f *testing.F) {
	for _, s := range []string{exampleEntity, exampleChild, "/t/a/agents/a/a/timeline", "/t/x/a/a/a", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if a, err := ParseAddress(s); err == nil && a.String() != s {
			t.Fatalf("%q is %q", s, a)
		}
		if a, name, err := ParseStreamPath(s); err == nil {
			if want := map[string]string{"timeline": a.TimelinePath(), "deltas": a.DeltasPath()}[name]; want != s {
				t.Fatalf("%q is %q", s, want)
			}
		}
	})
}
