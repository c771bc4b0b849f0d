package actors

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/host/memory"
	"github.com/troupe-run/troupe/host/scripted"
	"github.com/troupe-run/troupe/wire"
)

func TestAnAgentThatDiesInMidRunEndsTheRunOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		v := r.follow("scripted.a")
		r.prompt("scripted.a", "say:half of it ; exit:3")
		e := ends(t, v, 1, wire.RunFailed)
		if e.Error == nil || e.Error.Code != wire.CodeSessionExited || !strings.Contains(e.Error.Message, "3") {
			t.Errorf("error %+v", e.Error)
		}
		s := r.follow("scripted.a").snapshot()
		if s.Live || s.Busy || s.Model != nil || s.RecordedModel == nil || s.Interrupted == nil || s.Interrupted.Reason != wire.RunFailed {
			t.Errorf("snapshot %s", show([]wire.Frame{s}))
		}
		r.usable("scripted.a")
	})
}

// TestExitInEveryState: with a question open, with a queue, while a stop is under
// way, while idle. The thread ends usable, and what waited has run.
func TestExitInEveryState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		v := r.follow("scripted.a")
		r.prompt("scripted.a", "slow:3 ; exit:1")
		synctest.Wait()
		r.prompt("scripted.a", "say:after the crash")
		ends(t, v, 1, wire.RunFailed)
		ends(t, v, 2, wire.RunCompleted)
		if !strings.Contains(said(v.all()), "after the crash") {
			t.Error("the prompt that waited did not run")
		}
		r.usable("scripted.a")
	})
}

func TestAMissingCommandRejectsThePromptAndNamesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{script: scripted.Options{Missing: "nosuch-agent"}})
		v := r.follow("scripted.a")
		rec := r.prompt("scripted.a", "hello")
		e := ends(t, v, 1, wire.RunFailed)
		rejected := observations[*wire.PromptRejected](v.all())
		if len(rejected) != 1 || rejected[0].MessageID != rec.MessageID || !strings.Contains(rejected[0].Reason, "nosuch-agent") {
			t.Errorf("rejected %+v", rejected)
		}
		if e.Error.Code != wire.CodeCommandMissing {
			t.Errorf("error %+v", e.Error)
		}
		if as := r.c.Agents(context.Background()); as[0].Available || !strings.Contains(as[0].Reason, "nosuch-agent") {
			t.Errorf("agents %+v", as)
		}
		r.prompt("scripted.a", "hello")
		ends(t, v, 2, wire.RunFailed)
	})
}

func TestAStartThatFailsOrPanics(t *testing.T) {
	for name, o := range map[string]scripted.Options{
		"fails":  {StartFailure: &wire.Failure{Code: wire.CodeStartFailed, Message: "no luck"}},
		"panics": {StartPanics: true},
		"hangs":  {StartDelay: time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, rigOptions{script: o, limits: Limits{StartTimeout: 30 * time.Second}})
			v := r.follow("scripted.a")
			r.prompt("scripted.a", "hello")
			ends(t, v, 1, wire.RunFailed)
			if len(observations[*wire.PromptRejected](v.all())) != 1 {
				t.Errorf("%s: the prompt was not rejected", name)
			}
			if name == "panics" {
				if s, err := r.c.Get(context.Background(), "scripted.a"); err != nil || s.Status != wire.StatusFailed {
					t.Errorf("status %s, %v", s.Status, err)
				}
			}
			r.prompt("scripted.a", "again")
			ends(t, v, 2, wire.RunFailed)
		})
	}
}

func TestARefusedPromptIsRejectedAfterItsReceipt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		v := r.follow("scripted.a")
		rec := r.prompt("scripted.a", "reject:not today")
		ends(t, v, 1, wire.RunFailed)
		if p := observations[*wire.PromptRejected](v.all()); len(p) != 1 || p[0].MessageID != rec.MessageID {
			t.Errorf("rejected %+v", p)
		}
		r.usable("scripted.a")
	})
}

// TestAnIdleSessionIsDisposedOf and resumed by the next prompt.
func TestAnIdleSessionIsDisposedOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		v := r.follow("scripted.a")
		r.prompt("scripted.a", "say:x")
		v.settled(1)
		wait(int(DefaultLimits().IdleSession/time.Millisecond) + 1)
		fs := v.all()
		if s, ok := fs[len(fs)-1].(*wire.Status); !ok || s.Live {
			t.Errorf("still live:\n%s", show(fs))
		}
		if s := r.follow("scripted.a").snapshot(); s.Live || s.Model != nil || s.RecordedModel == nil || len(s.Messages) != 2 {
			t.Errorf("snapshot %s", show([]wire.Frame{s}))
		}
		r.usable("scripted.a")
		r.prompt("scripted.a", "slow:36000") // half an hour of work is not idle
		synctest.Wait()
		wait(20 * 60 * 1000)
		if s := r.follow("scripted.a").snapshot(); !s.Live || !s.Busy {
			t.Error("a busy session was disposed of")
		}
		r.abort("scripted.a")
	})
}

// TestAQuietThreadLeavesMemory, and comes back with everything it was.
func TestAQuietThreadLeavesMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		v := r.follow("scripted.a")
		r.prompt("scripted.a", "say:remember me ; tool:ls {} ; usage:3,4")
		v.settled(1)
		before, err := r.history("scripted.a")
		if err != nil {
			t.Fatal(err)
		}
		v.f.Close()
		wait(int((DefaultLimits().IdleSession + DefaultLimits().Passivate + time.Second) / time.Millisecond))
		if _, resident := r.host.directory.get("scripted.a"); resident {
			t.Fatal("the thread is still in memory")
		}
		after, err := r.history("scripted.a")
		if err != nil {
			t.Fatal(err)
		}
		before.Live, before.Model, before.Usage.Context, before.AsOfSeq = false, nil, nil, 0
		before.RecordedModel = after.RecordedModel
		if !same(before, after) {
			t.Errorf("%s", firstDifference(after, before))
		}
		r.usable("scripted.a")
	})
}

// TestNoCommandIsLostWhileAThreadLeaves: prompts at every instant around the
// passivation of a thread are all taken.
func TestNoCommandIsLostWhileAThreadLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{limits: Limits{IdleSession: time.Millisecond, Passivate: time.Millisecond}})
		for i := range 300 {
			if _, err := r.c.Prompt(context.Background(), "scripted.a", wire.PromptRequest{Message: "say:x"}); err != nil {
				t.Fatalf("prompt %d: %v", i, err)
			}
			time.Sleep(time.Duration(i*37%4000) * time.Microsecond)
		}
		wait(100)
		s, err := r.history("scripted.a")
		if err != nil || s.Generation != 300 {
			t.Errorf("%d runs, %v", s.Generation, err)
		}
	})
}

// TestACommitThatFailsReloadsTheThread: followers are ended, the session goes,
// nothing unacknowledged is believed, and the thread is usable.
func TestACommitThatFailsReloadsTheThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failing atomic.Bool
		r := newRig(t, rigOptions{journal: memory.Options{Fail: func(host.Batch) error {
			if failing.Load() {
				return &wire.Failure{Code: wire.CodeUnavailable, Message: "disk full"}
			}
			return nil
		}}})
		v := r.follow("scripted.a")
		r.prompt("scripted.a", "say:durable")
		v.settled(1)
		failing.Store(true)
		if _, err := r.c.Prompt(context.Background(), "scripted.a", wire.PromptRequest{Message: "say:not"}); wire.AsFailure(err).Code != wire.CodeUnavailable {
			t.Errorf("acknowledged without a record: %v", err)
		}
		synctest.Wait()
		v.mu.Lock()
		if v.err == nil {
			t.Error("the follow goes on")
		}
		v.mu.Unlock()
		failing.Store(false)
		if s := r.follow("scripted.a").snapshot(); len(s.Messages) != 2 || s.Generation != 1 {
			t.Errorf("snapshot %s", show([]wire.Frame{s}))
		}
		r.usable("scripted.a")
	})
}

// TestAPanicSettlesTheRunOnceAndTheThreadIsRebuilt from its record; those who
// waited are answered.
func TestAPanicSettlesTheRunOnceAndTheThreadIsRebuilt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		v := r.follow("scripted.a")
		r.prompt("scripted.a", "say:before it ; wait:10 ; panic")
		r.prompt("scripted.a", "say:waited")
		wait(20)
		v.mu.Lock()
		if v.err == nil {
			t.Error("the follow of the old incarnation goes on")
		}
		v.mu.Unlock()
		w := r.follow("scripted.a")
		ends(t, w, 2, wire.RunCompleted)
		s := r.follow("scripted.a").snapshot()
		if s.Generation != 2 || s.Busy || s.Interrupted != nil {
			t.Errorf("snapshot %s", show([]wire.Frame{s}))
		}
		r.usable("scripted.a")
	})
}

// TestRule_HeldUntilTheFirstSubscriber: what a session says before its first run
// while nobody follows is replayed once, to the first follower, with origin
// session-start; a question that settled meanwhile is left out; after that
// nothing is ever held, and the tail says how each was delivered.
func TestRule_HeldUntilTheFirstSubscriber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{script: scripted.Options{OnStart: []wire.Observation{
			&wire.ExtensionUIRequest{ID: "n", Origin: wire.OriginSessionStart, Notice: &wire.Notice{Level: wire.NoticeInfo, Message: "hello"}},
			&wire.ExtensionUIRequest{ID: "gone", Origin: wire.OriginSessionStart, Blocking: true, Dialog: &wire.ConfirmDialog{Title: "t", Message: "m", Timeout: 10}},
			&wire.ExtensionUIRequest{ID: "open", Origin: wire.OriginSessionStart, Blocking: true, Dialog: &wire.ConfirmDialog{Title: "t", Message: "m"}},
			&wire.CustomEntry{CustomType: "x", Data: []byte(`{"a":1}`)},
		}}})
		ctx := context.Background()
		if _, _, err := r.c.Create(ctx, wire.CreateThread{Type: "scripted", ID: "a"}); err != nil {
			t.Fatal(err)
		}
		if err := r.c.SetMode(ctx, "scripted.a", wire.ModeRequest{Mode: "plan"}); err != nil { // starts a session and no run
			t.Fatal(err)
		}
		wait(50)
		v := r.follow("scripted.a")
		synctest.Wait()
		frames := v.all()
		s := frames[0].(*wire.Snapshot)
		if !s.Live || s.Model != nil || len(s.OpenDialogs) != 0 || len(s.Messages) != 0 || s.AsOfSeq != 0 || s.PermissionMode.Mode == "plan" {
			t.Errorf("the first follower's snapshot is not the state before it:\n%s", show(frames[:1]))
		}
		var ids []string
		for _, q := range observations[*wire.ExtensionUIRequest](frames) {
			ids = append(ids, q.ID)
			if q.Origin != wire.OriginSessionStart {
				t.Errorf("%s has origin %s", q.ID, q.Origin)
			}
		}
		if strings.Join(ids, " ") != "n open" {
			t.Errorf("replayed %v", ids)
		}
		w := r.follow("scripted.a")
		if got := wire.Fold(s, frames[1:]...); !same(got, w.snapshot()) {
			t.Errorf("the replay folds to\n%sthe thread is\n%s", show([]wire.Frame{got}), show([]wire.Frame{w.snapshot()}))
		}
		v.f.Close()
		w.f.Close()
		synctest.Wait()
		r.prompt("scripted.a", "notify:nobody hears it")
		wait(10)
		if again := r.follow("scripted.a"); len(again.all()) != 1 {
			t.Errorf("replayed once more:\n%s", show(again.all()))
		}
		tails, err := r.c.Tails(ctx, "scripted.a")
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, row := range tails.Emitted {
			seen[row.Provenance] = true
		}
		for _, p := range []string{"held", "replayed", "dropped"} {
			if !seen[p] {
				t.Errorf("no row was %s in %+v", p, tails.Emitted)
			}
		}
	})
}

// TestRule_NothingIsReplayedOnceARunHasStarted with nobody there, or over the
// bound.
func TestRule_NothingIsReplayedOnceARunHasStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{script: scripted.Options{OnStart: []wire.Observation{
			&wire.ExtensionUIRequest{ID: "n", Origin: wire.OriginSessionStart, Notice: &wire.Notice{Level: wire.NoticeInfo, Message: "hello"}},
		}}})
		r.prompt("scripted.a", "say:x")
		wait(10)
		v := r.follow("scripted.a")
		synctest.Wait()
		if len(v.all()) != 1 || len(v.snapshot().Messages) != 2 {
			t.Errorf("replayed:\n%s", show(v.all()))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{limits: Limits{HeldBytes: 100}, script: scripted.Options{OnStart: []wire.Observation{
			&wire.ExtensionUIRequest{ID: "n", Origin: wire.OriginSessionStart, Notice: &wire.Notice{Level: wire.NoticeInfo, Message: strings.Repeat("x", 200)}},
		}}})
		ctx := context.Background()
		if _, _, err := r.c.Create(ctx, wire.CreateThread{ID: "a"}); err != nil {
			t.Fatal(err)
		}
		if err := r.c.SetMode(ctx, "scripted.a", wire.ModeRequest{Mode: "plan"}); err != nil {
			t.Fatal(err)
		}
		v := r.follow("scripted.a")
		synctest.Wait()
		if len(v.all()) != 1 || v.snapshot().PermissionMode.Mode != "plan" {
			t.Errorf("after an overflow:\n%s", show(v.all()))
		}
	})
}

func TestSettingsVerbs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		v := r.follow("scripted.a")
		r.prompt("scripted.a", "say:x")
		v.settled(1)
		ctx := context.Background()
		if err := r.c.SetMode(ctx, "scripted.a", wire.ModeRequest{Mode: "no such mode"}); err == nil {
			t.Error("a mode that is not on offer was taken")
		}
		rejected := saw(v, "the rejection", func(*wire.PermissionModeRejected) bool { return true })
		if rejected.Requested != "no such mode" || rejected.Reason == "" {
			t.Errorf("%+v", rejected)
		}
		if err := r.c.Compact(ctx, "scripted.a", wire.CompactRequest{}); err != nil {
			t.Error(err)
		}
		saw(v, "the compaction", func(*wire.BranchCompacted) bool { return true })
		if err := r.c.SetMode(ctx, "scripted.unknown", wire.ModeRequest{Mode: "plan"}); wire.AsFailure(err).Code != wire.CodeNotFound {
			t.Errorf("a verb made a thread: %v", err)
		}
		if err := r.c.Rename(ctx, "scripted.a", wire.RenameRequest{Title: "Mine"}); err != nil {
			t.Error(err)
		}
		if s, err := r.c.Get(ctx, "a"); err != nil || s.Title != "Mine" {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

// TestRule_WhatOnlyAThreadMaySayIsNotTakenFromASession, nor what breaks the
// vocabulary's rules: it is told as unmapped, and nothing is lost or doubled.
func TestRule_WhatOnlyAThreadMaySayIsNotTakenFromASession(t *testing.T) {
	for _, what := range []string{"delta", "end", "start", "restart", "open", "call", "result", "settled", "thread", "run-over", "steered"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, rigOptions{})
			v := r.follow("scripted.a")
			r.prompt("scripted.a", "say:a ; stray:"+what+" ; say:b")
			frames := v.settled(1)
			sound(t, frames)
			end := wire.Fold(frames[0].(*wire.Snapshot), frames[1:]...)
			if s := r.follow("scripted.a").snapshot(); !same(s, end) {
				t.Errorf("%s: the snapshot is\n%sthe fold is\n%s", what, show([]wire.Frame{s}), show([]wire.Frame{end}))
			}
			for _, m := range end.Messages {
				if !m.Complete {
					t.Errorf("%s: %s was left open", what, m.ID)
				}
			}
			r.usable("scripted.a")
		})
	}
}
