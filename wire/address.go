package wire

import "strings"

// DefaultTenant is the tenant of every entity of a host that has only one.
const DefaultTenant = "default"

// MaxTenantLen is the most bytes that a tenant's segment holds.
const MaxTenantLen = 32

// Address names an entity, the timeline's word for a thread:
// "/t/<tenant>/a/<type>/<id>", each a segment [a-z0-9][a-z0-9_-]* of at most 32,
// 48 and 64 bytes.
type Address struct {
	Tenant string
	Type   string
	ID     string
}

// AddressOf is a thread's address under the default tenant.
func AddressOf(t ThreadID) Address {
	return Address{Tenant: DefaultTenant, Type: t.Type, ID: t.ID}
}

// ParseAddress reads an entity's address. Anything else is a *Failure of code
// invalid.
func ParseAddress(s string) (Address, error) {
	rest, ok := strings.CutPrefix(s, "/t/")
	tenant, rest, found := strings.Cut(rest, "/a/")
	typ, id, both := strings.Cut(rest, "/")
	if !ok || !found || !both || !ValidTenant(tenant) || !ValidType(typ) || !ValidID(id) {
		return Address{}, Errorf(CodeInvalid,
			"%s is no address of an entity: want /t/<tenant>/a/<type>/<id>, each of a-z, 0-9, _ and -, at most %d, %d and %d bytes",
			brief(s), MaxTenantLen, MaxTypeLen, MaxIDLen)
	}
	return Address{Tenant: tenant, Type: typ, ID: id}, nil
}

// ValidTenant says whether s can be a tenant.
func ValidTenant(s string) bool { return len(s) <= MaxTenantLen && segment(s) }

// String is "/t/<tenant>/a/<type>/<id>".
func (a Address) String() string { return "/t/" + a.Tenant + "/a/" + a.Type + "/" + a.ID }

// Thread is the thread that the address names.
func (a Address) Thread() ThreadID { return ThreadID{Type: a.Type, ID: a.ID} }

// TimelinePath is the path of the entity's timeline among the streams:
// "/t/<tenant>/agents/<type>/<id>/timeline".
func (a Address) TimelinePath() string { return a.stream("timeline") }

// DeltasPath is the path of the stream of its token deltas, beside the timeline.
func (a Address) DeltasPath() string { return a.stream("deltas") }

func (a Address) stream(name string) string {
	return "/t/" + a.Tenant + "/agents/" + a.Type + "/" + a.ID + "/" + name
}

// ParseStreamPath reads what TimelinePath and DeltasPath write; name is
// "timeline" or "deltas". Anything else is a *Failure of code invalid.
func ParseStreamPath(s string) (a Address, name string, err error) {
	rest, ok := strings.CutPrefix(s, "/t/")
	tenant, rest, found := strings.Cut(rest, "/agents/")
	own, name, named := cutLast(rest)
	if ok && found && named && (name == "timeline" || name == "deltas") {
		if a, err = ParseAddress("/t/" + tenant + "/a/" + own); err == nil {
			return a, name, nil
		}
	}
	return Address{}, "", Errorf(CodeInvalid,
		"%s is no stream: want /t/<tenant>/agents/<type>/<id>/timeline or …/deltas", brief(s))
}

func cutLast(s string) (before, after string, found bool) {
	i := strings.LastIndexByte(s, '/')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// ValidWorkspaceRef says whether s names a workspace: "<tenant>/<name>", the name a
// segment of at most 64 bytes.
func ValidWorkspaceRef(s string) bool {
	tenant, name, ok := strings.Cut(s, "/")
	return ok && ValidTenant(tenant) && ValidID(name)
}
