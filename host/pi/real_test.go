package pi

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-run/troupe/host/hosttest"
	"github.com/troupe-run/troupe/wire"
)

// installed is a real pi; testdata/npm/install says where.
func installed(t *testing.T, env, node, pkg string) (command []string) {
	t.Helper()
	base := os.Getenv(env)
	if base == "" {
		if os.Getenv("TROUPE_TEST_REQUIRE") != "" {
			t.Fatalf("%s is not set, and pi is required", env)
		}
		t.Skipf("%s is not set: it names the folder that pi is installed in", env)
	}
	var manifest struct {
		Bin map[string]string `json:"bin"`
	}
	b, err := os.ReadFile(filepath.Join(base, "node_modules", pkg, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &manifest); err != nil {
		t.Fatal(err)
	}
	if node != "node" {
		node = filepath.Join(base, node)
	}
	return []string{node, filepath.Join(base, "node_modules", pkg, manifest.Bin["pi"])}
}

// modelServer starts the scripted model server.
func modelServer(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("node", filepath.Join("..", "..", "testdata", "tools", "mock-llm.mjs"), "0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// TestContractOnTheRealPi runs the suite that every runtime passes, on both
// versions, directed through the scripted model.
func TestContractOnTheRealPi(t *testing.T) {
	for _, k := range []struct{ version, env, node, pkg string }{
		{"1.6.0", "TROUPE_TEST_PI", "node_modules/.bin/node", "@earendil-works/pi-coding-agent"},
		{"0.73.1", "TROUPE_TEST_PI_OLD", "node", "@mariozechner/pi-coding-agent"},
	} {
		t.Run(k.version, func(t *testing.T) {
			command := installed(t, k.env, k.node, k.pkg)
			hosttest.Run(t, func(t *testing.T) hosttest.Subject {
				dir := t.TempDir()
				models := fmt.Sprintf(`{"providers":{"mock":{"baseUrl":"%s/v1","api":"openai-completions","apiKey":"dummy","models":[{"id":"mock-think","reasoning":true},{"id":"mock-1"}]}}}`, modelServer(t))
				if err := os.WriteFile(filepath.Join(dir, "models.json"), []byte(models), 0o600); err != nil {
					t.Fatal(err)
				}
				tools, err := filepath.Abs(filepath.Join("..", "..", "testdata", "tools"))
				if err != nil {
					t.Fatal(err)
				}
				bash := func(c string) string {
					b, _ := json.Marshal(map[string]string{"command": c})
					return "tool:bash " + string(b)
				}
				return hosttest.Subject{
					Runtime: New(Options{
						Command: append(append([]string{}, command...), "-e", filepath.Join(tools, "dialogs.ts"), "-e", filepath.Join(tools, "exit.ts")), Model: "mock/mock-think",
						Env: map[string]string{"PI_CODING_AGENT_DIR": dir, "PI_OFFLINE": "1", "PI_TELEMETRY": "0", "HOME": dir, "XDG_CONFIG_HOME": dir, "XDG_DATA_HOME": dir, "XDG_CACHE_HOME": dir},
					}),
					Prompts: hosttest.Prompts{
						Say:   func(text string) string { return "say:" + text },
						Slow:  func(n int) string { return fmt.Sprintf("slow:%d", n) },
						Shell: bash,
						Ask:   func(string) string { return bash("rm -rf ./nothing-here") },
						Fail:  func(string) string { return "fail:401" },
						Exit:  func(code int) string { return fmt.Sprintf("/exit %d", code) },
					},
					Model: wire.ModelRequest{ID: "mock-1", Provider: "mock"},
				}
			})
		})
	}
}
