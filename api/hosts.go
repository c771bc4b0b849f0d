package api

import (
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/troupe-run/troupe/wire"
)

// hosts decides whose requests are ours. A browser can be made to send requests
// to this address in three ways, and each is refused: a foreign name that resolves
// here shows in Host, a foreign page's fetch or form shows in Origin, and its
// images, scripts and frames show in Sec-Fetch-Site.
type hosts struct {
	names map[string]bool // a lowercase name or address, with its port or for any
}

func newHosts(listen string, allowed []string) *hosts {
	h := &hosts{names: map[string]bool{}}
	for _, a := range append([]string{listen}, allowed...) {
		if a = strings.ToLower(strings.TrimSpace(a)); a == "" {
			continue
		}
		name, port := splitHost(a)
		if ip, err := netip.ParseAddr(name); err == nil && ip.IsUnspecified() || name == "" {
			continue // every interface is no name
		}
		if a == strings.ToLower(listen) {
			port = ""
		}
		h.names[joinHost(name, port)] = true
	}
	return h
}

// serves says whether a request may name host ("name" or "name:port"). local is
// the address the request came in on: naming it needs no resolver, so it cannot be
// a foreign name in disguise.
func (h *hosts) serves(host string, local net.Addr) bool {
	name, port := splitHost(strings.ToLower(host))
	if name == "" {
		return false
	}
	if isLoopback(name) || h.names[name] || h.names[joinHost(name, port)] {
		return true
	}
	ip, err := netip.ParseAddr(name)
	tcp, ok := local.(*net.TCPAddr)
	return err == nil && ok && ip.Unmap() == tcp.AddrPort().Addr().Unmap()
}

// check refuses a foreign request, with code forbidden.
func (h *hosts) check(ctx *fasthttp.RequestCtx) *wire.Failure {
	head := &ctx.Request.Header
	host := string(head.Host())
	if strings.Count(strings.ToLower("\n"+string(head.RawHeaders())), "\nhost:") > 1 {
		return wire.Errorf(wire.CodeBadRequest, "the request names two hosts")
	}
	// An absolute request line names a host of its own.
	if !h.serves(host, ctx.LocalAddr()) || !h.serves(string(ctx.Host()), ctx.LocalAddr()) {
		return wire.Errorf(wire.CodeForbidden, "this host is not served here; name it in the configuration to allow it")
	}
	if origin := head.Peek("Origin"); len(origin) > 0 && !sameOrigin(string(origin), host) {
		return wire.Errorf(wire.CodeForbidden, "a page of another origin may not use this API")
	}
	switch string(head.Peek("Sec-Fetch-Site")) {
	case "", "same-origin", "none":
		return nil
	}
	if (ctx.IsGet() || ctx.IsHead()) && string(head.Peek("Sec-Fetch-Mode")) == "navigate" && string(head.Peek("Sec-Fetch-Dest")) == "document" {
		return nil // a link that a person followed
	}
	return wire.Errorf(wire.CodeForbidden, "a page of another site may not use this API")
}

// sameOrigin says whether a page of origin was served under host.
func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Path != "" || u.User != nil {
		return false
	}
	standard := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	return withPort(u.Host, standard) == withPort(host, standard)
}

func withPort(host, standard string) string {
	name, port := splitHost(strings.ToLower(host))
	if port == "" {
		port = standard
	}
	return net.JoinHostPort(name, port)
}

// splitHost is a Host header's name, without brackets and the root's dot, and its
// port, which may be empty. What is no host has the name "".
func splitHost(host string) (name, port string) {
	name = host
	if n, p, err := net.SplitHostPort(host); err == nil {
		name, port = n, p
	} else if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		name = host[1 : len(host)-1]
	} else if strings.Contains(host, ":") {
		if _, err := netip.ParseAddr(host); err != nil {
			return "", ""
		}
	}
	return strings.TrimSuffix(name, "."), port
}

func joinHost(name, port string) string {
	if port == "" {
		return name
	}
	return net.JoinHostPort(name, port)
}
