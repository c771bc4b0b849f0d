package actors

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// perform does one effect. None blocks.
func (t *thread) perform(e effect) {
	switch e := e.(type) {
	case publish:
		t.publish(e)
	case attach:
		if t.feed == nil {
			t.feed = newFeed(t.host.limits.LagBytes, t.sent, t.host.guard)
			t.host.meter.made(t.feed)
		}
		t.feed.attach(e.follower, e.pin)
		select {
		case <-e.follower.ended: // it left before it came
			t.tell(&left{e.follower})
		default:
		}
	case detach:
		t.feed.detach(e.follower)
	case forgetFeed:
		t.closeFeed(nil)
	case commit:
		t.commit(e)
	case load:
		t.load()
	case startSession:
		t.startSession(e)
	case cancelStart:
		t.sessions[e.session].cancel()
	case call:
		if h := t.sessions[e.session]; h != nil {
			h.call(e.call)
		}
	case kill:
		if h := t.sessions[e.session]; h != nil {
			h.kill()
		}
	case dispose:
		t.sessions[e.session].dispose()
		delete(t.sessions, e.session)
	case arm:
		t.arm(e.timer, e.after)
	case disarm:
		if a, ok := t.timers[e.timer]; ok {
			a.t.Stop()
			delete(t.timers, e.timer)
		}
	case reply:
		if done := t.replies[e.token]; done != nil {
			delete(t.replies, e.token)
			if rows, ok := e.value.(emittedRows); ok {
				e.value = t.tails(rows)
			}
			done(e.value, e.failure)
		}
	case resetTails:
		t.sent.reset()
	case askPassivate:
		t.host.root.Send(t.host.registry, &quiet{thread: t.id, pid: t.self})
	case decline:
		t.host.root.Send(t.host.registry, &declined{thread: t.id, pid: t.self})
	case stopSelf:
		t.stopped = true
		t.host.root.Stop(t.self)
	default:
		panic(fmt.Sprintf("thread %s: unknown effect %T", t.id, e))
	}
}

// traceLevel is below debug: payloads.
const traceLevel = zapcore.DebugLevel - 1

// spine are the kinds that are logged at info.
var spine = map[wire.Kind]bool{
	wire.KindPermissionMode: true, wire.KindModel: true, wire.KindBranchCompacted: true, wire.KindLogin: true,
	wire.KindTurnEnd: true, wire.KindProviderRefused: true, wire.KindPromptRejected: true,
	wire.KindDialogSettled: true, wire.KindRunEnded: true, wire.KindSettled: true,
}

func (t *thread) publish(e publish) {
	t.logFrame(e)
	if e.prov != provLive && e.prov != provReplayed {
		return
	}
	began := t.host.meter.publishing(t.feed)
	if err := t.feed.publish(e.frame); err != nil {
		panic(fmt.Sprintf("encode a frame: %v", err))
	}
	t.host.meter.published(began)
}

func (t *thread) logFrame(e publish) {
	switch f := e.frame.(type) {
	case *wire.ObservationFrame:
		level := zapcore.DebugLevel
		if spine[f.Observation.Kind()] {
			level = zapcore.InfoLevel
		}
		ce := t.log.Check(level, string(f.Observation.Kind()))
		if ce == nil {
			return
		}
		var fields []zap.Field
		if t.log.Core().Enabled(zapcore.DebugLevel) {
			fields = append(fields, zap.Uint64("seq", f.Seq), zap.String("provenance", string(e.prov)))
		}
		if t.log.Core().Enabled(traceLevel) {
			if b, err := wire.EncodeObservation(f.Observation); err == nil {
				fields = append(fields, zap.ByteString("payload", b))
			}
		}
		ce.Write(fields...)
	case *wire.Status:
		if ce := t.log.Check(zapcore.InfoLevel, "status"); ce != nil {
			ce.Write(zap.Bool("live", f.Live), zap.Bool("busy", f.Busy), zap.Uint64("generation", f.Generation))
		}
	}
}

// closeFeed ends every follow that is left, for reason, and the feed.
func (t *thread) closeFeed(reason *wire.Failure) {
	f := t.feed
	defer t.host.meter.forgotten(f)
	t.feed = nil
	f.close(reason)
}

// tell sends a message to the thread itself, from any goroutine.
func (t *thread) tell(m any) { t.host.root.Send(t.self, m) }

func (t *thread) arm(id timerID, after time.Duration) {
	if a, ok := t.timers[id]; ok {
		a.t.Stop()
	}
	t.serial++
	m := &fired{inc: t.inc, timer: id, serial: t.serial}
	t.timers[id] = armed{serial: t.serial, t: time.AfterFunc(after, func() { t.tell(m) })}
}

// commit hands a batch to the journal. What cannot be encoded is a bug, and
// panics here, before anything is acknowledged.
func (t *thread) commit(c commit) {
	b := host.Batch{Thread: t.id, Epoch: t.state.epoch, Expected: c.before, Put: c.put, Take: c.take}
	for _, r := range c.records {
		e, err := encodeRecord(r)
		if err != nil {
			panic(err)
		}
		b.Events = append(b.Events, e)
	}
	st, err := json.Marshal(c.row)
	if err != nil {
		panic(err)
	}
	b.Row = &host.Row{Summary: c.summary, State: st}
	inc := t.inc
	t.host.journal.Commit(b, func(err error) { t.tell(&commitDone{inc: inc, err: err}) })
}

// load opens the record, outside the actor.
func (t *thread) load() {
	inc := t.inc
	told := func(in input) { t.tell(&fact{inc: inc, in: in}) }
	t.host.guard("load "+t.id.String(), func(where string, value any, _ []byte) {
		t.host.facts(&ThreadPanicked{Thread: t.id, Hearing: where})
		told(&loadFailedInput{&wire.Failure{Code: wire.CodeInternal, Message: "the thread could not be loaded"}})
	}, func() {
		ctx, cancel := context.WithTimeout(context.Background(), t.host.limits.CallTimeout)
		defer cancel()
		in, err := t.read(ctx)
		if err != nil {
			told(&loadFailedInput{wire.AsFailure(err)})
			return
		}
		told(in)
	})
}

func (t *thread) read(ctx context.Context) (*loadedInput, error) {
	opened, err := t.host.journal.Open(ctx, t.id)
	if err != nil {
		return nil, err
	}
	in := &loadedInput{opened: opened}
	if opened.Exists {
		if err := json.Unmarshal(opened.Row.State, &in.record); err != nil {
			return nil, fmt.Errorf("read the row of %s: %w", t.id, err)
		}
	}
	in.verdict.delay, in.verdict.exhausted = t.host.strikes.Current(t.id.String(), t.host.now())
	return in, nil
}

// tails joins the emitted rows with what the feed has sent.
func (t *thread) tails(emitted emittedRows) wire.Tails {
	if emitted == nil {
		return wire.Tails{Emitted: []wire.TailRow{}, Sent: []wire.TailRow{}}
	}
	return wire.Tails{Emitted: emitted, Sent: t.sent.list()}
}
