package actors

import (
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// inputKind enumerates what a thread can be told; numInputs closes the enum.
type inputKind int

const (
	// Commands, sent by the typed client.
	inCreate      inputKind = iota // make the thread, or reattach; replies Summary
	inPrompt                       // replies PromptReceipt once durable
	inWithdraw                     // replies once durable
	inAbort                        // replies AbortReceipt once settled
	inDialogs                      // replies the open questions
	inAnswer                       // replies at once
	inSubscribe                    // replies the follower's pin
	inUnsubscribe                  // no reply
	inPin                          // replies a pin, for history
	inConfigure                    // mode, model, compact; replies once the runtime took it
	inRename                       // replies once durable
	inTails                        // replies the emitted tail
	inDrain                        // the host stops: end the run, dispose of the session; replies when quiet
	inStopIfQuiet                  // the registry's half of the passivation handshake

	// Facts, come back from effects.
	inLoaded         // the journal was read
	inLoadFailed     // it could not be
	inSessionStarted // Start returned a session
	inStartFailed    // Start failed or panicked
	inObserved       // the session observed something
	inSteered        // the agent took a steered prompt in
	inRunOver        // the agent's run ended
	inLogin          // a login changed
	inExited         // the agent is gone
	inCalled         // a call into the session returned
	inKilled         // Kill returned
	inSessionClosed  // Close returned
	inCommitted      // the oldest commit under way is durable
	inTimer          // an armed timer fired

	numInputs
)

var inputNames = [numInputs]string{
	"Create", "Prompt", "Withdraw", "Abort", "Dialogs", "Answer", "Subscribe", "Unsubscribe",
	"Pin", "Configure", "Rename", "Tails", "Drain", "StopIfQuiet",
	"Loaded", "LoadFailed", "SessionStarted", "StartFailed", "Observed", "Steered", "RunOver", "Login",
	"Exited", "Called", "Killed", "SessionClosed", "Committed", "Timer",
}

func (k inputKind) String() string { return inputNames[k] }

// token stands for the reply a command waits for; 0 is none. The shell keeps
// what it stands for, so that a reply survives even when the state does not.
type token uint64

// input is one thing a thread is told. A closed union: the types of this file.
type input interface{ kind() inputKind }

type (
	createInput struct {
		token token
		req   wire.CreateThread
		cwd   string // the folder to use when the request names none
		wake  *host.Wake
	}
	promptInput struct {
		token token
		wake  host.Wake
		cwd   string
	}
	withdrawInput struct {
		token     token
		messageID string
	}
	abortInput   struct{ token token }
	dialogsInput struct{ token token }
	answerInput  struct {
		token  token
		answer wire.Answer
	}
	subscribeInput struct {
		token    token
		follower *Follower
		cwd      string
	}
	unsubscribeInput struct{ follower *Follower }
	pinInput         struct {
		token token
		cwd   string
	}
	configureInput struct {
		token token
		verb  sessionVerb
	}
	renameInput struct {
		token token
		title string
	}
	tailsInput       struct{ token token }
	drainInput       struct{ token token }
	stopIfQuietInput struct{}

	loadedInput struct {
		opened  host.Opened
		record  rowState
		verdict verdict
	}
	loadFailedInput struct{ failure *wire.Failure }

	sessionStartedInput struct {
		session uint64
		info    host.SessionInfo
		verdict verdict // where it has exited meanwhile
	}
	startFailedInput struct {
		session uint64
		failure *wire.Failure
		crashed bool // it panicked: failed directly, never retried at once
		verdict verdict
	}
	observedInput struct {
		session     uint64
		origin      wire.Origin
		observation wire.Observation
	}
	steeredInput struct {
		session   uint64
		messageID string
	}
	runOverInput struct {
		session uint64
		run     uint64
		outcome wire.RunOutcome
		failure *wire.Failure
	}
	loginInput struct {
		session uint64
		login   *wire.Login
	}
	exitedInput struct {
		session uint64
		exit    *host.Exited
		verdict verdict
	}
	calledInput struct {
		session uint64
		call    sessionCall
		failure *wire.Failure
	}
	killedInput struct {
		session   uint64
		processes []wire.Process
	}
	sessionClosedInput struct{ session uint64 }
	committedInput     struct{}
	timerInput         struct{ timer timerID }
)

func (*createInput) kind() inputKind         { return inCreate }
func (*promptInput) kind() inputKind         { return inPrompt }
func (*withdrawInput) kind() inputKind       { return inWithdraw }
func (*abortInput) kind() inputKind          { return inAbort }
func (*dialogsInput) kind() inputKind        { return inDialogs }
func (*answerInput) kind() inputKind         { return inAnswer }
func (*subscribeInput) kind() inputKind      { return inSubscribe }
func (*unsubscribeInput) kind() inputKind    { return inUnsubscribe }
func (*pinInput) kind() inputKind            { return inPin }
func (*configureInput) kind() inputKind      { return inConfigure }
func (*renameInput) kind() inputKind         { return inRename }
func (*tailsInput) kind() inputKind          { return inTails }
func (*drainInput) kind() inputKind          { return inDrain }
func (*stopIfQuietInput) kind() inputKind    { return inStopIfQuiet }
func (*loadedInput) kind() inputKind         { return inLoaded }
func (*loadFailedInput) kind() inputKind     { return inLoadFailed }
func (*sessionStartedInput) kind() inputKind { return inSessionStarted }
func (*startFailedInput) kind() inputKind    { return inStartFailed }
func (*observedInput) kind() inputKind       { return inObserved }
func (*steeredInput) kind() inputKind        { return inSteered }
func (*runOverInput) kind() inputKind        { return inRunOver }
func (*loginInput) kind() inputKind          { return inLogin }
func (*exitedInput) kind() inputKind         { return inExited }
func (*calledInput) kind() inputKind         { return inCalled }
func (*killedInput) kind() inputKind         { return inKilled }
func (*sessionClosedInput) kind() inputKind  { return inSessionClosed }
func (*committedInput) kind() inputKind      { return inCommitted }
func (*timerInput) kind() inputKind          { return inTimer }

// verdict is what supervision says after a failure: how long the next session
// waits, and whether the thread has failed too often.
type verdict struct {
	delay     time.Duration
	exhausted bool
}

// timerKind is what a timer is for.
type timerKind int

const (
	timerDialog    timerKind = iota // a question's deadline; key is its id
	timerAbort                      // the grace after a polite stop
	timerKill                       // the grace after a kill
	timerIdle                       // an idle session's life
	timerPassivate                  // a quiet thread's stay in memory
	timerBackoff                    // the wait before the next session
)

// timerID names an armed timer; arming it again replaces it.
type timerID struct {
	kind timerKind
	key  string
}

// sessionVerb is a settings verb on its way to a session: a closed union of
// *setMode, *setModel, *compact.
type sessionVerb interface{ verb() }

type (
	setMode  struct{ mode string }
	setModel struct{ req wire.ModelRequest }
	compact  struct{ instructions string }
)

func (*setMode) verb()  {}
func (*setModel) verb() {}
func (*compact) verb()  {}

// sessionCall is a call into a session, made one at a time and in order, except
// callAbort, which overtakes: a closed union of *callPrompt, *callSteer,
// *callAbort, *callAnswer, *callVerb.
type sessionCall interface{ call() }

type (
	callPrompt struct{ prompt host.Prompt }
	callSteer  struct{ prompt host.Prompt }
	callAbort  struct{ run uint64 }
	callAnswer struct{ reply host.Reply }
	callVerb   struct {
		token token
		verb  sessionVerb
	}
)

func (*callPrompt) call() {}
func (*callSteer) call()  {}
func (*callAbort) call()  {}
func (*callAnswer) call() {}
func (*callVerb) call()   {}
