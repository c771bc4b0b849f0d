package actors

// cell is what a thread does with one kind of input in one phase.
type cell struct {
	what string // as STATES.md says it
	do   func(*state, input)
}

func on[T input](what string, f func(*state, T)) cell {
	return cell{what, func(s *state, in input) { f(s, in.(T)) }}
}

// table is the whole machine: every phase × input has a cell, a test counts them.
// It is set in init, since its cells look it up.
var table [numPhases][numInputs]cell

func init() { table = buildTable() }

func buildTable() [numPhases][numInputs]cell {
	var t [numPhases][numInputs]cell
	set := func(k inputKind, c cell, phases ...phase) {
		for _, p := range phases {
			t[p][k] = c
		}
	}
	parked := cell{"park", (*state).park}
	stale := cell{"ignore: stale", func(*state, input) {}}
	never := cell{"cannot be: ignored", func(*state, input) {}}
	deferred := cell{"defer until settled", func(s *state, in input) { s.reports = append(s.reports, in) }}
	all := []phase{phaseLoading, phaseCold, phaseStarting, phaseIdle, phaseRunning, phaseStopping, phaseSettling}
	loadedPhases := all[1:]
	session := []phase{phaseStarting, phaseIdle, phaseRunning, phaseStopping}

	for k := inCreate; k <= inDrain; k++ {
		set(k, parked, phaseLoading)
	}
	set(inCreate, on("create or reattach", (*state).create), loadedPhases...)
	set(inPrompt, on("admit", (*state).prompt), loadedPhases...)
	set(inWithdraw, on("withdraw", (*state).withdraw), loadedPhases...)
	set(inDialogs, on("list", (*state).listDialogs), loadedPhases...)
	set(inAnswer, on("finish, or refuse", (*state).answerDialog), loadedPhases...)
	set(inSubscribe, on("pin and attach", (*state).subscribe), loadedPhases...)
	set(inUnsubscribe, on("detach", (*state).unsubscribe), all...)
	set(inPin, on("pin", (*state).pinHistory), loadedPhases...)
	set(inConfigure, on("apply, or keep for the session", (*state).configure), loadedPhases...)
	set(inRename, on("rename", (*state).rename), loadedPhases...)
	set(inTails, on("list", (*state).listTail), loadedPhases...)
	set(inDrain, on("drain", (*state).drain), loadedPhases...)
	set(inStopIfQuiet, on("stop, or decline", (*state).stopIfQuiet), all...)

	set(inAbort, on("stop and drop the queue", (*state).abort), phaseRunning)
	set(inAbort, on("wait for the stop under way", (*state).abort), phaseStopping)
	set(inAbort, on("no-op, or end what was about to begin", (*state).abort), phaseCold, phaseIdle)
	set(inAbort, on("give up the start, end what was about to begin", (*state).abort), phaseStarting)
	set(inAbort, on("no-op: the run is over", (*state).noRunToStop), phaseSettling)

	set(inLoaded, on("rebuild, then hear what was parked", (*state).loaded), phaseLoading)
	set(inLoadFailed, on("refuse what was parked", (*state).loadFailed), phaseLoading)
	set(inLoaded, never, loadedPhases...)
	set(inLoadFailed, never, loadedPhases...)

	set(inSessionStarted, on("go idle, then on", (*state).sessionStarted), phaseStarting)
	set(inStartFailed, on("reject the prompt", (*state).startFailed), phaseStarting)
	set(inSessionStarted, stale, phaseLoading, phaseCold, phaseIdle, phaseRunning, phaseStopping, phaseSettling)
	set(inStartFailed, stale, phaseLoading, phaseCold, phaseIdle, phaseRunning, phaseStopping, phaseSettling)

	set(inObserved, on("publish", (*state).observed), session...)
	set(inSteered, on("take into the transcript", (*state).steered), phaseRunning, phaseStopping)
	set(inSteered, stale, phaseStarting, phaseIdle)
	set(inLogin, on("publish", (*state).loginChanged), session...)
	set(inExited, on("remember for the start's end", (*state).exitedEarly), phaseStarting)
	set(inExited, on("lose the session", (*state).exited), phaseIdle)
	set(inExited, on("lose the session, end the run failed", (*state).exited), phaseRunning)
	set(inExited, on("lose the session, end the run aborted", (*state).exited), phaseStopping)
	set(inRunOver, on("end the run", (*state).runOver), phaseRunning, phaseStopping)
	set(inRunOver, stale, phaseLoading, phaseCold, phaseStarting, phaseIdle, phaseSettling)
	for _, k := range []inputKind{inObserved, inSteered, inLogin, inExited} {
		set(k, deferred, phaseSettling)
		set(k, stale, phaseLoading, phaseCold)
	}

	set(inCalled, on("take note", (*state).called), all...)
	set(inKilled, on("note in the receipt", (*state).killed), all...)
	set(inSessionClosed, on("count", (*state).sessionClosed), all...)
	set(inCommitted, on("acknowledge, settle, go on", (*state).committedNow), loadedPhases...)
	set(inCommitted, never, phaseLoading)
	set(inTimer, on("by its kind", (*state).timer), all...)
	return t
}
