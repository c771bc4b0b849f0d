package main

import (
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/zap"
)

// What a follower may weigh while its thread is quiet, in bytes: heap and stacks, this
// test's end of the connection included.
const idleFollower = raceWeight * 10 << 10

func TestAnIdleFollowerIsSmall(t *testing.T) {
	url, _ := servingWith(t, zap.NewNop())
	addr := strings.TrimPrefix(url, "http://")
	const n = 2000
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	follow := func() {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
		fmt.Fprintf(c, "GET /api/threads/scripted.a/follow HTTP/1.1\r\nHost: %s\r\n\r\n", addr)
		var buf [512]byte
		for got := ""; !strings.Contains(got, "\ndata: "); {
			k, err := c.Read(buf[:])
			if err != nil {
				t.Fatal(err)
			}
			got += string(buf[:k])
		}
	}
	follow()
	before := inUse()
	for range n {
		follow()
	}
	each := (inUse() - before) / n
	t.Logf("%d B an idle follower", each)
	if each > idleFollower {
		t.Errorf("an idle follower weighs %d B, at most %d", each, idleFollower)
	}
}

// inUse is what the process uses once nothing is left to collect: a stack shrinks by
// half a collection.
func inUse() int64 {
	for range 5 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
