//go:build !linux

package sqlite_test

import "testing"

func smallDisk(t *testing.T, _ int) string {
	t.Helper()
	t.Skip("only Linux mounts a small disk")
	return ""
}
