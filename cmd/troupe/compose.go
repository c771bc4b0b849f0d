package main

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.uber.org/zap"

	"github.com/troupe-run/troupe/actors"
	"github.com/troupe-run/troupe/api"
	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/host/memory"
	"github.com/troupe-run/troupe/host/scripted"
	"github.com/troupe-run/troupe/supervision"
	"github.com/troupe-run/troupe/wire"
)

// parts is the program put together.
type parts struct {
	ready   *atomic.Bool
	journal host.Journal
	threads *actors.Host
	server  *api.Server
}

// compose puts the program together. addr is where it will be reached.
func compose(cfg *config, addr net.Addr, guard *supervision.Guard, publish func(supervision.Fact), log *zap.Logger) (*parts, error) {
	agents, err := agentsOf(cfg)
	if err != nil {
		return nil, err
	}
	journal := memory.New(memory.Options{})
	restarts := supervision.NewPolicy(supervision.RestartLimits())
	strategy := supervision.NewStrategy(restarts, publish, time.Now)
	system := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return supervision.NewSlog(log) }))
	threads, err := actors.Start(actors.Config{
		System:   system,
		Journal:  journal,
		Agents:   agents,
		Guard:    guard.Go,
		Strategy: strategy,
		Strikes:  sessionStrikes{supervision.NewPolicy(supervision.SessionLimits())},
		Facts:    threadFacts(publish),
		Log:      log,
		Limits:   actors.Limits{IdleSession: time.Duration(cfg.SessionIdle)},
	})
	if err != nil {
		_ = journal.Close() // nothing was accepted
		return nil, err
	}
	ready := &atomic.Bool{}
	var server *api.Server // counts its own streams
	server = api.New(api.Config{
		Threads: threadsPort{threads.Threads()},
		Listen:  addr.String(),
		Version: version(),
		Log:     log,
		Ready:   ready.Load,
		Metrics: metrics(threads.Metrics(), func() int { return server.Followers() }),
		Go:      func(name string, fn func()) { guard.Go(name, nil, fn) },
		Panicked: func(where string, value any, stack []byte) {
			publish(&supervision.GoroutinePanicked{Where: where, Reason: supervision.Redact(value), Stack: stack})
		},
	})
	return &parts{ready: ready, journal: journal, threads: threads, server: server}, nil
}

// agentsOf are the agents of the configuration, each with its runtime.
func agentsOf(cfg *config) ([]actors.Agent, error) {
	var out []actors.Agent
	for _, name := range cfg.agentNames() {
		a := cfg.Agents[name]
		runtime, err := runtimeOf(cfg, name, a)
		if err != nil {
			return nil, usageError{fmt.Errorf("agents: %s: %w", name, err)}
		}
		out = append(out, actors.Agent{Name: name, Runtime: runtime, Cwd: a.Cwd, Default: name == cfg.Default})
	}
	return out, nil
}

// runtimeOf is the runtime of one agent; the configuration was checked.
func runtimeOf(cfg *config, name string, a agentConfig) (host.Runtime, error) {
	switch {
	case a.Runtime == runtimePi:
		return newPi(a), nil
	case a.Scenario != "":
		scenario, err := readScenario(a.Scenario, name)
		if err != nil {
			return nil, err
		}
		return scripted.New(scripted.Options{Scenario: scenario}), nil
	default:
		return scripted.New(scripted.Options{}), nil
	}
}

func readScenario(file, name string) (*scripted.Scenario, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	all, err := scripted.ParseScenarios(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", file, wire.AsFailure(err).Message)
	}
	if all[name] == nil {
		return nil, fmt.Errorf("%s holds no scenario of that name", file)
	}
	return all[name], nil
}

// onPath says whether the runtime's own command is on this machine.
func onPath(runtime string) bool {
	_, err := exec.LookPath(runtime)
	return err == nil
}
