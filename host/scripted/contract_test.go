package scripted_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/troupe-run/troupe/host/hosttest"
	"github.com/troupe-run/troupe/host/scripted"
	"github.com/troupe-run/troupe/wire"
)

func TestContract(t *testing.T) {
	hosttest.Run(t, func(*testing.T) hosttest.Subject {
		return hosttest.Subject{
			Runtime: scripted.New(scripted.Options{StopGrace: 200 * time.Millisecond}),
			Mode:    "plan",
			Model:   wire.ModelRequest{ID: "scripted-2", ThinkingLevel: "high"},
			Prompts: hosttest.Prompts{
				Say:   func(text string) string { return "say:" + text },
				Slow:  func(n int) string { return fmt.Sprintf("slow:%d", n) },
				Shell: func(command string) string { return "sh:" + command },
				Ask:   func(title string) string { return "ask:confirm " + title },
				Fail:  func(text string) string { return "fail:" + text },
				Exit:  func(code int) string { return fmt.Sprintf("exit:%d", code) },
			},
		}
	})
}
