package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"go.uber.org/zap/zapcore"

	"github.com/troupe-run/troupe/api"
	"github.com/troupe-run/troupe/wire"
)

// config is everything `troupe serve` is told, by the file, the environment and
// the flags; the latter win.
type config struct {
	Listen      string                 `yaml:"listen"`      // host:port, loopback
	Data        string                 `yaml:"data"`        // the folder for what is kept
	LogLevel    string                 `yaml:"logLevel"`    // trace, debug, info, warn or error
	SessionIdle duration               `yaml:"sessionIdle"` // after which an idle session is ended; 0 is 15 m
	Default     string                 `yaml:"default"`     // an agent's name
	Agents      map[string]agentConfig `yaml:"agents"`
}

// agentConfig is one agent: a runtime and what it is started with.
type agentConfig struct {
	Runtime  string            `yaml:"runtime"`
	Command  []string          `yaml:"command"` // the agent's own command and its first arguments
	Model    string            `yaml:"model"`
	Scenario string            `yaml:"scenario"` // scripted: a file with a scenario of the agent's name
	Cwd      string            `yaml:"cwd"`      // the folder of threads that name none; the server's own by default
	Env      map[string]string `yaml:"env"`      // beside the allow-list
}

// duration is a time in the file: 15m, 90s.
type duration time.Duration

// UnmarshalText reads what time.ParseDuration does.
func (d *duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	if err != nil {
		return fmt.Errorf("%q is no duration: want one like 15m", b)
	}
	*d = duration(v)
	return nil
}

const defaultListen = "127.0.0.1:4777"

// flagValues are the flags of serve; an empty one was not given.
type flagValues struct{ listen, data, file, logLevel string }

// loadConfig is the whole configuration. found says whether a runtime's command
// is on PATH.
func loadConfig(fl flagValues, env func(string) string, found func(runtime string) bool) (*config, error) {
	cfg := &config{}
	path, required := fl.file, true
	if path == "" {
		path = env("TROUPE_CONFIG")
	}
	if path == "" {
		required = false
		if dir, err := configDir(env); err == nil {
			path = filepath.Join(dir, "troupe", "troupe.yaml")
		}
	}
	if path != "" {
		if err := readConfig(path, required, cfg); err != nil {
			return nil, err
		}
	}
	override(&cfg.Listen, fl.listen, env("TROUPE_LISTEN"))
	override(&cfg.Data, fl.data, env("TROUPE_DATA"))
	override(&cfg.LogLevel, fl.logLevel, env("TROUPE_LOG_LEVEL"))
	override(&cfg.Default, "", env("TROUPE_DEFAULT"))
	if cfg.Listen == "" {
		cfg.Listen = defaultListen
	}
	if cfg.LogLevel == "" {
		cfg.LogLevel = "info"
	}
	if cfg.Data == "" {
		dir, err := stateDir(env)
		if err != nil {
			return nil, usagef("no folder for the data: %w; give one with --data", err)
		}
		cfg.Data = dir
	}
	cfg.Data = expand(cfg.Data, env)
	discover(cfg, found)
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for name, a := range cfg.Agents {
		if a.Cwd = expand(a.Cwd, env); a.Cwd == "" {
			a.Cwd = here
		}
		a.Scenario = expand(a.Scenario, env)
		cfg.Agents[name] = a
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return cfg, nil
}

func override(v *string, flag, env string) {
	if flag != "" {
		*v = flag
	} else if env != "" {
		*v = env
	}
}

// readConfig reads one YAML file strictly. A key it does not know is an error
// that names the key, its line, and shows it.
func readConfig(path string, required bool, cfg *config) error {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !required {
		return nil
	}
	if err != nil {
		return usageError{err}
	}
	if len(strings.TrimSpace(string(b))) == 0 {
		return nil
	}
	if err := yaml.UnmarshalWithOptions(b, cfg, yaml.Strict()); err != nil {
		return usagef("%s: %s", path, yaml.FormatError(err, false, true))
	}
	return nil
}

// runtimesByPreference are the real ones that are looked for on PATH, the first
// found being the default agent.
var runtimesByPreference = []string{runtimePi}

const (
	runtimeScripted = "scripted"
	runtimePi       = "pi"
)

// discover adds the agents that need no configuration, and the default.
func discover(cfg *config, found func(runtime string) bool) {
	if cfg.Agents == nil {
		cfg.Agents = map[string]agentConfig{}
	}
	add := func(name string) {
		if _, ok := cfg.Agents[name]; !ok {
			cfg.Agents[name] = agentConfig{Runtime: name}
		}
	}
	add(runtimeScripted)
	first := runtimeScripted
	for i := len(runtimesByPreference) - 1; i >= 0; i-- {
		if name := runtimesByPreference[i]; found(name) {
			add(name)
			first = name
		}
	}
	if cfg.Default == "" {
		cfg.Default = first
	}
}

// check says what is wrong with the configuration.
func (cfg *config) check() error {
	if err := api.CheckListen(cfg.Listen, false); err != nil {
		return usageError{errors.New(wire.AsFailure(err).Message)}
	}
	if _, err := logLevel(cfg.LogLevel); err != nil {
		return err
	}
	if cfg.SessionIdle < 0 {
		return usagef("sessionIdle: %s: want a duration like 15m", time.Duration(cfg.SessionIdle))
	}
	if _, ok := cfg.Agents[cfg.Default]; !ok {
		return usagef("default: %s is no agent of the configuration", plain(cfg.Default))
	}
	for _, name := range cfg.agentNames() {
		a := cfg.Agents[name]
		if !wire.ValidType(name) {
			return usagef("agents: %q is no agent's name: want a-z, 0-9, _ and -, at most %d bytes", name, wire.MaxTypeLen)
		}
		switch a.Runtime {
		case runtimePi:
			if a.Scenario != "" {
				return usagef("agents: %s: only the scripted runtime plays a scenario", name)
			}
		case runtimeScripted:
			if len(a.Command) > 0 || a.Model != "" || len(a.Env) > 0 {
				return usagef("agents: %s: the scripted runtime takes only cwd and scenario", name)
			}
		case "":
			return usagef("agents: %s: no runtime", name)
		default:
			return usagef("agents: %s: no runtime is called %q; there are %s", name, a.Runtime,
				strings.Join(append([]string{runtimeScripted}, runtimesByPreference...), ", "))
		}
		if a.Cwd != "" && !filepath.IsAbs(a.Cwd) {
			return usagef("agents: %s: cwd: want an absolute folder, or one that begins with ~", name)
		}
		if len(a.Command) > 0 && a.Command[0] == "" {
			return usagef("agents: %s: command: the first word is empty", name)
		}
	}
	return nil
}

// agentNames are the agents in order, so that errors and lists are stable.
func (cfg *config) agentNames() []string {
	names := make([]string, 0, len(cfg.Agents))
	for n := range cfg.Agents {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// levelTrace is below zap's own: payloads are logged there alone.
const levelTrace = zapcore.DebugLevel - 1

func logLevel(s string) (zapcore.Level, error) {
	if s == "trace" {
		return levelTrace, nil
	}
	l, err := zapcore.ParseLevel(s)
	if err != nil || l > zapcore.ErrorLevel {
		return 0, usagef("logLevel: %q: want trace, debug, info, warn or error", s)
	}
	return l, nil
}

func configDir(env func(string) string) (string, error) {
	if d := env("XDG_CONFIG_HOME"); d != "" {
		return d, nil
	}
	home := env("HOME")
	if home == "" {
		return "", errors.New("HOME is not set")
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support"), nil
	}
	return filepath.Join(home, ".config"), nil
}

func stateDir(env func(string) string) (string, error) {
	if d := env("XDG_STATE_HOME"); d != "" {
		return filepath.Join(d, "troupe"), nil
	}
	home := env("HOME")
	if home == "" {
		return "", errors.New("HOME is not set")
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support", "troupe", "state"), nil
	}
	return filepath.Join(home, ".local", "state", "troupe"), nil
}

// expand replaces a leading ~ by the person's home.
func expand(path string, env func(string) string) string {
	if path == "~" || strings.HasPrefix(path, "~/") {
		if home := env("HOME"); home != "" {
			return filepath.Join(home, strings.TrimPrefix(path[1:], "/"))
		}
	}
	return path
}
