package main

import (
	"context"
	"log/slog"
	"net"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.uber.org/zap"

	"github.com/troupe-run/troupe/actors"
	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/host/memory"
	"github.com/troupe-run/troupe/host/scripted"
	"github.com/troupe-run/troupe/supervision"
)

// server is the HTTP surface.
type server interface {
	Serve(ln net.Listener) error
	Shutdown(ctx context.Context) error
}

// parts is the program put together.
type parts struct {
	ready   *atomic.Bool
	journal host.Journal
	threads *actors.Host
	server  server
}

// compose puts the program together. addr is where it will be reached.
func compose(cfg *config, addr net.Addr, guard *supervision.Guard, publish func(supervision.Fact), log *zap.Logger) (*parts, error) {
	journal := memory.New(memory.Options{})
	restarts := supervision.NewPolicy(supervision.RestartLimits())
	strategy := supervision.NewStrategy(restarts, publish, time.Now)
	system := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return supervision.NewSlog(log) }))
	threads, err := actors.Start(actors.Config{
		System:   system,
		Journal:  journal,
		Agents:   agentsOf(cfg),
		Guard:    guard.Go,
		Strategy: strategy,
		Strikes:  sessionStrikes{supervision.NewPolicy(supervision.SessionLimits())},
		Facts:    threadFacts(publish),
		Log:      log,
	})
	if err != nil {
		_ = journal.Close() // nothing was accepted
		return nil, err
	}
	ready := &atomic.Bool{}
	return &parts{ready: ready, journal: journal, threads: threads, server: newServer(addr, threadsPort{threads.Threads()}, ready, guard, log)}, nil
}

// agentsOf are the agents of the configuration, each with its runtime.
func agentsOf(cfg *config) []actors.Agent {
	var out []actors.Agent
	for _, name := range cfg.agentNames() {
		a := cfg.Agents[name]
		out = append(out, actors.Agent{Name: name, Runtime: runtimeOf(cfg, name, a), Cwd: a.Cwd, Default: name == cfg.Default})
	}
	return out
}

// runtimeOf is the runtime of one agent; the configuration was checked.
func runtimeOf(cfg *config, name string, a agentConfig) host.Runtime {
	switch a.Runtime {
	case runtimePi:
		return newPi(cfg, name, a)
	default:
		return scripted.New(scripted.Options{})
	}
}

// onPath says whether the runtime's own command is on this machine.
func onPath(runtime string) bool {
	_, err := exec.LookPath(runtime)
	return err == nil
}
