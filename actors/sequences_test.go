package actors

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-run/troupe/host/scripted"
	"github.com/troupe-run/troupe/wire"
)

// recorder turns what a thread was told and what it did into a sequence diagram.
// Left out is what tells nothing (timers armed, calls that returned) and what has
// no fixed place (acknowledgements that lead to nothing).
type recorder struct {
	mu       sync.Mutex
	lines    []string
	tabs     map[*Follower]string
	attached []*Follower
	asker    map[token]string
}

func newRecorder() *recorder {
	return &recorder{tabs: map[*Follower]string{}, asker: map[token]string{}}
}

func (r *recorder) trace(_ *thread, in input, effects []effect) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var done []string
	for _, e := range effects {
		done = append(done, r.effect(e)...)
	}
	if told := r.input(in, len(done) > 0); told != "" {
		r.lines = append(r.lines, told)
	}
	r.lines = append(r.lines, done...)
}

func (r *recorder) tab(f *Follower) string {
	if r.tabs[f] == "" {
		r.tabs[f] = []string{"A", "B"}[len(r.tabs)]
	}
	return r.tabs[f]
}

func (r *recorder) input(in input, leads bool) string {
	switch in := in.(type) {
	case *subscribeInput:
		return r.tab(in.follower) + "->>T: follow"
	case *unsubscribeInput:
		return r.tab(in.follower) + "->>T: leaves"
	case *promptInput:
		r.asker[in.token] = "prompt"
		return fmt.Sprintf("A->>T: prompt %q", in.wake.Text)
	case *abortInput:
		r.asker[in.token] = "abort"
		return "A->>T: abort"
	case *answerInput:
		r.asker[in.token] = "answer"
		return "A->>T: answer"
	case *createInput:
		return "A->>T: create"
	case *configureInput:
		r.asker[in.token] = "settings"
		return "A->>T: mode"
	case *sessionStartedInput:
		return "S-->>T: started"
	case *observedInput:
		return fmt.Sprintf("S->>T: %s (origin %s)", in.observation.Kind(), in.origin)
	case *steeredInput:
		return "S->>T: took the steered prompt in"
	case *runOverInput:
		return "S->>T: run over, " + string(in.outcome)
	case *exitedInput:
		return fmt.Sprintf("S->>T: exited with status %d", in.exit.Code)
	case *committedInput:
		if leads {
			return "J-->>T: durable"
		}
	case *timerInput:
		return "Note over T: a timer fires"
	case *stopIfQuietInput:
		return "R->>T: stop if quiet"
	}
	return ""
}

func (r *recorder) effect(e effect) []string {
	switch e := e.(type) {
	case publish:
		return r.published(e)
	case attach:
		r.attached = append(r.attached, e.follower)
		b := e.pin.base
		return []string{fmt.Sprintf("T->>%s: snapshot as of seq %d: live %v, busy %v, run %d, %d open questions",
			r.tab(e.follower), b.AsOfSeq, b.Live, b.Busy, b.Generation, len(b.OpenDialogs))}
	case detach:
		for i, f := range r.attached {
			if f == e.follower {
				r.attached = append(r.attached[:i:i], r.attached[i+1:]...)
				break
			}
		}
	case commit:
		var what []string
		for _, rec := range e.records {
			what = append(what, rec.what)
		}
		if len(e.put) > 0 {
			what = append(what, "wake put")
		}
		if len(e.take) > 0 {
			what = append(what, "wake taken")
		}
		if what == nil {
			what = []string{"row"}
		}
		return []string{"T->>J: commit " + strings.Join(what, ", ")}
	case startSession:
		return []string{"T->>S: start"}
	case kill:
		return []string{"T->>S: kill"}
	case dispose:
		return []string{"T->>S: close"}
	case call:
		return []string{"T->>S: " + callText(e.call)}
	case reply:
		what := r.asker[e.token]
		switch v := e.value.(type) {
		case wire.PromptReceipt:
			return []string{fmt.Sprintf("T-->>A: receipt, queued %v", v.Queued)}
		case wire.AbortReceipt:
			return []string{fmt.Sprintf("T-->>A: receipt, aborted %v, %d questions, %d queued", v.Aborted, len(v.Dialogs), len(v.Queue))}
		}
		if what != "" && e.failure == nil {
			return []string{"T-->>A: " + what + " taken"}
		}
	case askPassivate:
		return []string{"T->>R: quiet"}
	case decline:
		return []string{"T->>R: no, busy again"}
	case stopSelf:
		return []string{"Note over T: leaves memory"}
	}
	return nil
}

func callText(c sessionCall) string {
	switch c := c.(type) {
	case *callPrompt:
		return fmt.Sprintf("prompt %q", c.prompt.Text)
	case *callSteer:
		return fmt.Sprintf("steer %q", c.prompt.Text)
	case *callAbort:
		return "abort"
	case *callAnswer:
		if c.reply.Arm == nil {
			return "cancel value, " + string(c.reply.Outcome)
		}
		return "the answer"
	}
	return "settings"
}

func (r *recorder) published(e publish) []string {
	text := ""
	switch f := e.frame.(type) {
	case *wire.Status:
		text = fmt.Sprintf("status: live %v, busy %v, run %d", f.Live, f.Busy, f.Generation)
	case *wire.ObservationFrame:
		text = string(f.Observation.Kind())
		switch o := f.Observation.(type) {
		case *wire.DialogSettled:
			text += ": " + string(o.Outcome)
		case *wire.RunEnded:
			text += ": " + string(o.Outcome)
		}
		if f.Seq > 0 {
			text = fmt.Sprintf("%d %s", f.Seq, text)
		}
	}
	switch e.prov {
	case provHeld:
		return []string{"Note over T: held: " + text}
	case provDropped:
		return nil
	}
	var out []string
	for _, f := range r.attached {
		line := "T->>" + r.tab(f) + ": " + text
		if e.prov == provReplayed {
			line += " (replayed)"
		}
		out = append(out, line)
	}
	return out
}

// sequence is one recorded run: what it shows, and how it is driven.
type sequence struct {
	title, shows string
	options      func(*rigOptions)
	drive        func(r *rig)
}

var sequences = map[string]sequence{
	"TwoFollowersAndOnePrompt": {
		title: "Two followers and one prompt",
		shows: "Both see every frame with the same seq; one leaving detaches nothing; run-ended and settled follow their commit.",
		drive: func(r *rig) {
			a := r.follow("scripted.a")
			r.follow("scripted.a")
			r.prompt("scripted.a", "say:hi ; wait:10 ; say:bye")
			time.Sleep(5 * time.Millisecond)
			a.f.Close()
		},
	},
	"AQuestionAnsweredInOneTabIsSettledInAll": {
		title: "A question answered in one tab and settled in all",
		shows: "The answer is a message to the thread; every follower learns from the feed that the question is settled.",
		drive: func(r *rig) {
			a := r.follow("scripted.a")
			r.prompt("scripted.a", "ask:confirm sure?")
			q := asked(a)
			synctest.Wait()
			r.follow("scripted.a")
			_ = r.c.Answer(context.Background(), "scripted.a", wire.Answer{ID: q.ID, Arm: &wire.ConfirmArm{Confirmed: true}})
		},
	},
	"AbortWithAnOpenQuestion": {
		title: "Abort with an open question",
		shows: "The stop settles the question first, then reaches the agent; the receipt comes once the run has settled.",
		drive: func(r *rig) {
			r.follow("scripted.a")
			r.prompt("scripted.a", "ask:confirm sure?")
			synctest.Wait()
			r.abort("scripted.a")
		},
	},
	"ASessionThatDiesInMidRun": {
		title: "A session that dies in mid-run",
		shows: "An exit is an input: the run ends failed, once, and the thread stays usable.",
		drive: func(r *rig) {
			r.follow("scripted.a")
			r.prompt("scripted.a", "say:half ; wait:10 ; exit:1")
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			time.Sleep(10 * time.Second)
		},
	},
	"HeldUntilTheFirstSubscriber": {
		title: "Held until the first subscriber",
		shows: "What a session says before its first run while nobody follows is replayed once, behind a snapshot of the state before it.",
		options: func(o *rigOptions) {
			o.script = scripted.Options{OnStart: []wire.Observation{
				&wire.ExtensionUIRequest{ID: "n", Origin: wire.OriginSessionStart, Notice: &wire.Notice{Level: wire.NoticeInfo, Message: "hello"}},
			}}
		},
		drive: func(r *rig) {
			ctx := context.Background()
			if _, _, err := r.c.Create(ctx, wire.CreateThread{ID: "a"}); err != nil {
				r.t.Fatal(err)
			}
			if err := r.c.SetMode(ctx, "scripted.a", wire.ModeRequest{Mode: "default"}); err != nil {
				r.t.Fatal(err)
			}
			synctest.Wait()
			r.follow("scripted.a")
			synctest.Wait()
			r.follow("scripted.a")
		},
	},
	"AQuietThreadLeavesMemoryByAHandshake": {
		title: "A quiet thread leaves memory",
		shows: "The thread says that it is quiet, the registry parks new mail and says stop-if-quiet, the thread stops.",
		drive: func(r *rig) {
			v := r.follow("scripted.a")
			synctest.Wait()
			v.f.Close()
			time.Sleep(time.Minute)
		},
	},
}

// order is the page's.
var order = []string{
	"TwoFollowersAndOnePrompt", "AQuestionAnsweredInOneTabIsSettledInAll", "AbortWithAnOpenQuestion",
	"ASessionThatDiesInMidRun", "HeldUntilTheFirstSubscriber", "AQuietThreadLeavesMemoryByAHandshake",
}

// TestSequences records each run on a real host and holds the page against it.
func TestSequences(t *testing.T) {
	var page bytes.Buffer
	page.WriteString(generated + "# Sequences\n\nRecorded by TestSequences on real actors: arrows are messages, notes are what the thread did without one. A and B are\ntabs, T the thread, S its session, J the journal, R the registry.\n")
	for _, name := range order {
		t.Run(name, func(t *testing.T) {
			s := sequences[name]
			lines := record1(t, s)
			fmt.Fprintf(&page, "\n## %s\n\n%s Recorded by `TestSequences/%s`.\n\n```mermaid\nsequenceDiagram\n", s.title, s.shows, name)
			for _, p := range []struct{ id, who string }{{"A", "first tab"}, {"B", "second tab"}, {"T", "thread"}, {"S", "session"}, {"J", "journal"}, {"R", "registry"}} {
				used := strings.Contains(strings.Join(lines, "\n"), p.id+"->>") || strings.Contains(strings.Join(lines, "\n"), ">>"+p.id+":")
				if used || p.id == "T" {
					fmt.Fprintf(&page, "  participant %s as %s\n", p.id, p.who)
				}
			}
			for _, l := range lines {
				page.WriteString("  " + l + "\n")
			}
			page.WriteString("```\n")
		})
	}
	golden(t, "SEQUENCES.md", page.Bytes())
}

func record1(t *testing.T, s sequence) (lines []string) {
	synctest.Test(t, func(t *testing.T) {
		rec := newRecorder()
		o := rigOptions{trace: rec.trace}
		if s.options != nil {
			s.options(&o)
		}
		r := newRig(t, o)
		s.drive(r)
		time.Sleep(time.Second)
		synctest.Wait()
		rec.mu.Lock()
		lines = append(lines, rec.lines...)
		rec.mu.Unlock()
	})
	return lines
}
