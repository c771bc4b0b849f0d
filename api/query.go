package api

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"github.com/troupe-run/troupe/wire"
)

// parameter is one query parameter. An empty one is as if it were left out.
type parameter struct {
	name  string
	about string
	words []string // a closed set; nil is any text
	whole bool     // a whole number, least to most
	least int
	most  int
}

// readQuery takes each parameter of known at most once, and nothing else. What is
// no such value has code bad-request; a number out of its range, invalid.
func readQuery(args *fasthttp.Args, known []parameter) (map[string]string, error) {
	if args.Len() == 0 {
		return nil, nil
	}
	got := map[string]string{}
	var failure error
	seen := map[string]bool{}
	args.VisitAll(func(k, v []byte) {
		if failure != nil {
			return
		}
		name, value := string(k), string(v)
		i := slices.IndexFunc(known, func(p parameter) bool { return p.name == name })
		switch {
		case i < 0:
			failure = wire.Errorf(wire.CodeBadRequest, "unknown query parameter %q", clip(strings.ToValidUTF8(name, "?")))
		case seen[name]:
			failure = wire.Errorf(wire.CodeBadRequest, "the query parameter %q is there twice", name)
		case value != "":
			failure = known[i].check(value)
			got[name] = value
		}
		seen[name] = true
	})
	if failure != nil {
		return nil, failure
	}
	return got, nil
}

func (p parameter) check(value string) error {
	switch {
	case !utf8.ValidString(value):
		return wire.Errorf(wire.CodeBadRequest, "%s: invalid UTF-8", p.name)
	case p.words != nil && !slices.Contains(p.words, value):
		return wire.Errorf(wire.CodeBadRequest, "%s: want one of %s", p.name, strings.Join(p.words, ", "))
	case p.whole:
		n, err := strconv.Atoi(value)
		if err != nil {
			return wire.Errorf(wire.CodeBadRequest, "%s: want a whole number", p.name)
		}
		if n < p.least || n > p.most {
			return wire.Errorf(wire.CodeInvalid, "%s: want %d to %d", p.name, p.least, p.most)
		}
	}
	return nil
}
