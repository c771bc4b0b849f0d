package proc

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/troupe-run/troupe/wire"
)

// What a Command's zero fields mean.
const (
	DefaultMaxLine = 8 << 20
	DefaultGrace   = 2 * time.Second
)

// Command is what to run and within which bounds.
type Command struct {
	// Args is the command line. Args[0] is found by [Lookup].
	Args []string
	// Dir is the folder it starts in, the host's own when empty.
	Dir string
	// Env is the whole environment, nothing is inherited beside it: see
	// [Environment].
	Env []string
	// MaxLine is how many bytes of a line ReadLine hands out; 0 is DefaultMaxLine.
	MaxLine int
	// Grace is the time from TERM to KILL where nobody says another: in Close and
	// for what the agent left running. 0 is DefaultGrace. When the host dies it is
	// at most half a second.
	Grace time.Duration
	// Go starts the goroutines of the process; nil is a plain go statement.
	Go func(name string, fn func())
}

// allowed are the variables that an agent inherits. A name that ends in * is a
// prefix.
var allowed = []string{
	"PATH", "HOME", "USER", "SHELL", "LANG", "LC_*", "TERM", "TMPDIR", "XDG_*", "SSH_AUTH_SOCK",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
}

func inherits(name string) bool {
	return slices.ContainsFunc(allowed, func(a string) bool {
		prefix, any := strings.CutSuffix(a, "*")
		return name == a || any && strings.HasPrefix(name, prefix)
	})
}

// Environment is the environment of an agent, sorted: the host's variables that
// are on the allow-list (path, home, locale, terminal, folders, proxies,
// certificates), and own, which wins.
func Environment(own map[string]string) []string {
	var out []string
	for _, kv := range os.Environ() {
		name, _, ok := strings.Cut(kv, "=")
		if _, mine := own[name]; ok && !mine && inherits(name) {
			out = append(out, kv)
		}
	}
	for name, value := range own {
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}

// Lookup is the absolute path of command: itself when it holds a slash (relative
// to the host's folder), else its first executable on the PATH of env, of which
// relative entries are skipped. A *wire.Failure of code command-missing names
// what is not there.
func Lookup(command string, env []string) (string, error) {
	if command == "" {
		return "", wire.Errorf(wire.CodeCommandMissing, "no command is configured")
	}
	if strings.ContainsRune(command, '/') {
		if path, err := filepath.Abs(command); err == nil && executable(path) {
			return path, nil
		}
		return "", wire.Errorf(wire.CodeCommandMissing, "%s is not on this machine, or not executable", command)
	}
	for _, dir := range filepath.SplitList(variable(env, "PATH")) {
		if path := filepath.Join(dir, command); filepath.IsAbs(path) && executable(path) {
			return path, nil
		}
	}
	return "", wire.Errorf(wire.CodeCommandMissing, "the command %s is not on the PATH of this machine", command)
}

// variable is the last value of name, as a process sees it.
func variable(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&fs.ModeType == 0 && info.Mode()&0o111 != 0
}
