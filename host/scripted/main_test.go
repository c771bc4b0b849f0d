package scripted

import (
	"os"
	"testing"

	"github.com/troupe-run/troupe/host/proc"
)

func TestMain(m *testing.M) {
	proc.Main()
	os.Exit(m.Run())
}
