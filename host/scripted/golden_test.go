package scripted

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/host/hosttest"
	"github.com/troupe-run/troupe/wire"
)

var update = flag.Bool("update", false, "rewrite the goldens")

const goldens = "../../testdata/scripted"

// A golden holds a session's calls, then everything that it reported, each with
// the virtual millisecond. Calls are lines "> MS VERB ARGUMENT"; they are made in
// order, by one caller.
func TestGoldens(t *testing.T) {
	files, err := filepath.Glob(goldens + "/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no goldens in %s: %v", goldens, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			calls, _, _ := strings.Cut(string(b), "\n\n")
			calls = strings.TrimSpace(calls)
			said, reports := play(t, Options{}, strings.Split(calls, "\n"))
			got := calls + "\n\n" + said + "\n"
			if err := hosttest.Check(reports); err != nil && !misbehaves(calls) {
				t.Error(err)
			}
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(b) {
				t.Errorf("got\n%s\nwant\n%s", got, b)
			}
		})
	}
}

// misbehaves says that a golden breaks the contract of a session on purpose.
func misbehaves(calls string) bool {
	return strings.Contains(calls, "stray:") || strings.Contains(calls, "panic")
}

// play makes the calls in a bubble of virtual time and gives what was reported.
func play(t *testing.T, o Options, calls []string) (out string, reports []host.Report) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		k := newSink()
		s, err := New(o).Start(context.Background(), host.StartSpec{
			Thread: wire.ThreadID{Type: "scripted", ID: "a"}, Session: 1, Cwd: t.TempDir(),
		}, k)
		if err != nil {
			t.Fatal(err)
		}
		var run uint64
		for _, line := range calls {
			verb, ok := strings.CutPrefix(line, "> ")
			if !ok {
				t.Fatalf("%q is no call", line)
			}
			at, verb, _ := strings.Cut(verb, " ")
			ms, err := strconv.Atoi(at)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			time.Sleep(time.Until(k.begun.Add(time.Duration(ms) * time.Millisecond)))
			synctest.Wait()
			if err := do(s, &run, verb); err != nil {
				k.note("refused: " + err.Error())
			}
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := k.count(0); n != 0 && !strings.Contains(strings.Join(calls, "\n"), "hang") {
			t.Errorf("%d goroutines of an idle session", n)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := k.count(0); n != 0 {
			t.Errorf("%d goroutines after Close", n)
		}
		out, reports = strings.Join(k.take(), "\n"), k.all()
	})
	return out, reports
}

func do(s host.Session, run *uint64, line string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	verb, arg, _ := strings.Cut(line, " ")
	switch verb {
	case "prompt":
		*run++
		return s.Prompt(ctx, host.Prompt{Run: *run, MessageID: fmt.Sprintf("u%d", *run), Text: arg})
	case "steer":
		return s.Steer(ctx, host.Prompt{Run: *run, MessageID: "steered", Text: arg})
	case "abort":
		n, err := strconv.ParseUint(arg, 10, 64)
		return errors.Join(err, s.Abort(ctx, n))
	case "answer":
		a, err := wire.DecodeAnswer([]byte(arg))
		if err != nil {
			return err
		}
		return s.Answer(ctx, host.Reply{ID: a.ID, Outcome: wire.DialogAnswered, Arm: a.Arm})
	case "settle":
		id, outcome, _ := strings.Cut(arg, " ")
		return s.Answer(ctx, host.Reply{ID: id, Outcome: wire.DialogOutcome(outcome)})
	case "mode":
		return s.SetMode(ctx, arg)
	case "model":
		m, err := wire.DecodeStrict[wire.ModelRequest]([]byte(arg))
		return errors.Join(err, s.SetModel(ctx, m))
	case "compact":
		return s.Compact(ctx, arg)
	case "kill":
		s.Kill()
		return nil
	case "close":
		return s.Close()
	}
	return fmt.Errorf("no verb %q", verb)
}

func show(r host.Report) string {
	switch r := r.(type) {
	case *host.Observed:
		b, err := wire.EncodeObservation(r.Observation)
		if err != nil {
			return "cannot encode: " + err.Error()
		}
		return string(r.Origin) + " " + string(bytes.TrimSpace(b))
	case *host.RunOver:
		return strings.TrimSpace(fmt.Sprintf("RUN OVER %d %s %s", r.Run, r.Outcome, failure(r.Failure)))
	case *host.Steered:
		return "STEERED " + r.MessageID
	case *host.Exited:
		return strings.TrimSpace(fmt.Sprintf("EXITED %d %s %s", r.Code, r.Signal, r.Stderr))
	case *host.Crashed:
		return fmt.Sprintf("CRASHED %s: %v", r.Where, r.Value)
	}
	return fmt.Sprintf("%T", r)
}

func failure(f *wire.Failure) string {
	if f == nil {
		return ""
	}
	return f.Error()
}
