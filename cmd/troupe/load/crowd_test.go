package load

import (
	"context"
	"net"
	"runtime"
	"testing"
	"time"
)

func TestTheDialerGoesOnWithAnotherAddress(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere loopback has one address")
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	d := &dialer{addr: ln.Addr().String()}
	for made, want := range map[int64]string{0: "127.0.0.1", perSource - 1: "127.0.0.1", perSource: "127.0.0.2", 2*perSource + 5: "127.0.0.3", 250 * perSource: "127.0.0.1"} {
		d.made.Store(made)
		conn, err := d.dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := conn.LocalAddr().(*net.TCPAddr).IP.String(); got != want {
			t.Errorf("after %d: from %s, want %s", made, got, want)
		}
		conn.Close()
	}
}

// Whatever is waited for ends: at the deadline, which is a broken rule, or with the
// context, which is none.
func TestEveryWaitEnds(t *testing.T) {
	c := newCrowd(&dialer{addr: "127.0.0.1:1"}, &violations{}, time.Now().Add(20*time.Millisecond))
	if err := c.wait(t.Context(), "things", func() bool { return false }); err != errLate {
		t.Errorf("%v, want that it is late", err)
	}
	if got := rules(c); len(got) != 1 || got[0] != RuleInTime {
		t.Errorf("broken %v, want %s", got, RuleInTime)
	}
	c = newCrowd(&dialer{addr: "127.0.0.1:1"}, &violations{}, time.Now().Add(time.Hour))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.wait(ctx, "things", func() bool { return false }); err != context.Canceled {
		t.Errorf("%v, want that it was cancelled", err)
	}
	if got := rules(c); len(got) != 0 {
		t.Errorf("broken %v, want none", got)
	}
}

// A server that closes a follower which reads, or keeps one that does not, is told.
func TestACloseIsJudgedByWhoWasClosed(t *testing.T) {
	for _, test := range []struct {
		name   string
		stuck  bool
		closes bool
		want   Rule
	}{
		{"a reader that is closed", false, true, RuleOpen},
		{"a stuck one that is closed", true, true, ""},
		{"a reader with nothing more to read", false, false, RuleInTime},
		{"a stuck one that is kept", true, false, RuleSlow},
	} {
		t.Run(test.name, func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			served := make(chan net.Conn, 1)
			stream := append([]byte(testHead), encoded(t, goodRun()[:6])...)
			go func() {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Write(stream)
				served <- conn
			}()
			c := newCrowd(&dialer{addr: ln.Addr().String()}, &violations{}, time.Now().Add(500*time.Millisecond))
			f := &follower{crowd: c, thread: &thread{id: "scripted.t"}, stuck: test.stuck}
			if err := c.connect(t.Context(), []*follower{f}); err != nil {
				t.Fatal(err)
			}
			conn := <-served
			defer conn.Close()
			if test.closes {
				conn.Close()
				close(c.release)
			}
			_ = c.running.Wait()
			got := rules(c)
			if test.want == "" && len(got) > 0 || test.want != "" && (len(got) != 1 || got[0] != test.want) {
				t.Errorf("broken %v, want %q", c.rules.kept, test.want)
			}
			if test.stuck && test.closes && c.closedStuck.Load() != 1 {
				t.Error("it is not counted as closed")
			}
		})
	}
}
