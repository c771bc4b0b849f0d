package scripted

import (
	"encoding/json"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

type usage struct{ in, out int64 }

func (d usage) play(r *run) *end {
	r.spending.Input += d.in
	r.spending.Output += d.out
	r.spent = true
	return nil
}

type compact struct{ reason wire.CompactionReason }

func (d compact) play(r *run) *end {
	if e := r.endTurn("end"); e != nil {
		return e
	}
	if e := r.tell(r.s.compacted("compacted by directive", d.reason)); e != nil {
		return e
	}
	return r.tell(r.s.usageTold())
}

type custom struct {
	kind string
	data json.RawMessage
}

func (d custom) play(r *run) *end {
	return r.tell(&wire.CustomEntry{CustomType: d.kind, Data: d.data})
}

type raw struct{ event json.RawMessage }

func (d raw) play(r *run) *end { return r.tell(&wire.Unmapped{Event: d.event}) }

// finish ends the run with its result, which it says; what follows is not played.
type finish struct{ result json.RawMessage }

func (d finish) play(r *run) *end {
	if e := r.speak(string(d.result)); e != nil {
		return e
	}
	return doneEnd
}

type fail struct{ text string }

func (d fail) play(r *run) *end {
	if e := r.tell(&wire.ProviderRefused{Message: d.text}); e != nil {
		return e
	}
	return &end{outcome: wire.RunFailed, failure: wire.Errorf(wire.CodeProvider, "%s", d.text)}
}

type reject struct{ text string }

func (d reject) play(*run) *end {
	return &end{outcome: wire.RunFailed, failure: wire.Errorf(wire.CodePromptRejected, "%s", d.text)}
}

type retry struct{ n int }

func (d retry) play(r *run) *end {
	for i := 1; i <= d.n; i++ {
		e := r.tell(&wire.ProviderRetrying{
			Attempt: i, MaxAttempts: d.n, DelayMs: tick.Milliseconds(), Message: "the provider is overloaded",
		})
		if e != nil {
			return e
		}
		if e := r.pause(tick); e != nil {
			return e
		}
	}
	return r.tell(&wire.ProviderRetryEnded{Succeeded: true, Attempt: d.n})
}

// notYet is a directive that this runtime does not play: the person is told, and
// the run goes on.
type notYet struct{ directive string }

func (d notYet) play(r *run) *end {
	return r.tell(&wire.ExtensionError{
		Extension: "scripted", Event: d.directive,
		Message: d.directive + " is not there yet: this agent cannot have children",
	})
}

type idle struct{ d time.Duration }

func (d idle) play(r *run) *end { return r.pause(d.d) }

type exit struct{ code int }

func (d exit) play(r *run) *end {
	r.s.exit(&host.Exited{Code: d.code, Stderr: "exit, as the prompt asked"})
	return goneEnd
}

type hang struct{}

func (hang) play(r *run) *end {
	<-r.s.dead
	return goneEnd
}

type crash struct{}

// play panics in the run's own goroutine: here the script is the mapper.
func (crash) play(*run) *end { panic("the scripted mapper panics, as the prompt asked") }
