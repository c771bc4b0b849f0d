package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func nothing(string) bool    { return false }
func everything(string) bool { return true }

// environment is HOME and what kv says.
func environment(home string, kv ...string) func(string) string {
	m := map[string]string{"HOME": home}
	for i := 0; i < len(kv); i += 2 {
		m[kv[i]] = kv[i+1]
	}
	return func(k string) string { return m[k] }
}

func TestNothingConfigured(t *testing.T) {
	home := t.TempDir()
	cfg, err := loadConfig(flagValues{}, environment(home, "XDG_STATE_HOME", home+"/state"), nothing)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Listen != "127.0.0.1:4777" || cfg.Data != home+"/state/troupe" || cfg.LogLevel != "info" || cfg.Default != "scripted" || len(cfg.Agents) != 1 {
		t.Errorf("%+v", cfg)
	}
}

func TestARealAgentOnPathIsTheDefault(t *testing.T) {
	cfg, err := loadConfig(flagValues{}, environment(t.TempDir()), everything)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Default != runtimePi || cfg.Agents[runtimePi].Runtime != runtimePi || cfg.Agents[runtimeScripted].Runtime != runtimeScripted {
		t.Errorf("%+v", cfg)
	}
}

func TestFlagsWinOverEnvironmentOverFile(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, "troupe.yaml")
	if err := writeFile(file, "listen: 127.0.0.1:1\ndata: ~/d\nlogLevel: warn\nsessionIdle: 90s\ndefault: helper\nagents:\n  helper: {runtime: pi, command: [my-pi], model: a/b, cwd: ~/src, env: {K: v}}\n"); err != nil {
		t.Fatal(err)
	}
	cfg, err := loadConfig(flagValues{file: file, listen: "127.0.0.1:3"}, environment(home, "TROUPE_LISTEN", "127.0.0.1:2", "TROUPE_LOG_LEVEL", "debug"), nothing)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Agents["helper"].Cwd != home+"/src" || cfg.Listen != "127.0.0.1:3" || cfg.LogLevel != "debug" || time.Duration(cfg.SessionIdle) != 90*time.Second || cfg.Data != home+"/d" || cfg.Default != "helper" || cfg.Agents["helper"].Command[0] != "my-pi" {
		t.Errorf("%+v", cfg)
	}
	cfg, err = loadConfig(flagValues{}, environment(home, "TROUPE_CONFIG", file, "TROUPE_DEFAULT", "scripted"), nothing)
	if err != nil || cfg.Listen != "127.0.0.1:1" || cfg.Default != "scripted" {
		t.Errorf("%+v, %v", cfg, err)
	}
}

func TestTheUsersOwnFileIsFound(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "c", "troupe")
	if err := mkdir(dir); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(filepath.Join(dir, "troupe.yaml"), "logLevel: error\n"); err != nil {
		t.Fatal(err)
	}
	cfg, err := loadConfig(flagValues{}, environment(home, "XDG_CONFIG_HOME", home+"/c"), nothing)
	if err != nil || cfg.LogLevel != "error" {
		t.Errorf("%+v, %v", cfg, err)
	}
}

func TestBadConfigurationIsNamed(t *testing.T) {
	for yaml, want := range map[string][]string{
		"listen: 127.0.0.1:1\nlisn: x\n":                    {"lisn", "2:1"},
		"agents:\n  a:\n    runtime: pi\n    comand: [x]\n": {"comand", "4:5"},
		"listen: a\nlisten: b\n":                            {"listen", "2:1"},
		"agents: [1]\n":                                     {"1:9"},
		"listen: 0.0.0.0:4777\n":                            {"loopback"},
		"listen: example.com:4777\n":                        {"loopback"},
		"listen: nonsense\n":                                {"host:port"},
		"logLevel: loud\n":                                  {"loud", "trace"},
		"default: nobody\n":                                 {"nobody"},
		"agents: {a: {runtime: quantum}}\n":                 {"quantum", "scripted, pi"},
		"agents: {a: {runtime: pi, cwd: x}}\n":              {"cwd"},
		"sessionIdle: soon\n":                               {"soon", "15m"},
		"sessionIdle: 5\n":                                  {"15m"},
		"sessionIdle: -1s\n":                                {"sessionIdle"},
		"agents: {a: {runtime: pi, scenario: x}}\n":         {"scenario"},
		"agents: {a: {}}\n":                                 {"no runtime"},
		"agents: {A.b: {runtime: scripted}}\n":              {"A.b"},
		"agents: {a: {runtime: scripted, command: [x]}}\n":  {"only cwd"},
		"agents: {a: {runtime: pi, command: [\"\"]}}\n":     {"command"},
	} {
		file := filepath.Join(t.TempDir(), "troupe.yaml")
		if err := writeFile(file, yaml); err != nil {
			t.Fatal(err)
		}
		_, err := loadConfig(flagValues{file: file}, environment(t.TempDir()), nothing)
		var usage usageError
		if !errors.As(err, &usage) {
			t.Errorf("%q: %v", yaml, err)
			continue
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q: %q does not say %q", yaml, err, w)
			}
		}
	}
}

func TestAMissingFileThatWasNamedIsAnError(t *testing.T) {
	if _, err := loadConfig(flagValues{file: "/does/not/exist"}, environment(t.TempDir()), nothing); err == nil {
		t.Error("no error")
	}
}

func TestWithoutAHomeTheDataFolderMustBeGiven(t *testing.T) {
	if _, err := loadConfig(flagValues{}, environment(""), nothing); err == nil || !strings.Contains(err.Error(), "--data") {
		t.Errorf("%v", err)
	}
	if _, err := loadConfig(flagValues{data: t.TempDir()}, environment(""), nothing); err != nil {
		t.Error(err)
	}
}
