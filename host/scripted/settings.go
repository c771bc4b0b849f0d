package scripted

import (
	"context"
	"slices"
	"strings"

	"github.com/troupe-run/troupe/wire"
)

const provider = "scripted"

// What the agent offers. The first of each is what a session begins with.
var (
	models = []wire.ModelState{
		{Provider: provider, ID: "scripted-1", Name: "Scripted 1", ThinkingLevel: "off", ContextWindow: 200_000},
		{Provider: provider, ID: "scripted-2", Name: "Scripted 2", ThinkingLevel: "off", ContextWindow: 1_000_000},
		{Provider: provider, ID: "scripted-mini", Name: "Scripted mini", ThinkingLevel: "off", ContextWindow: 32_000},
	}
	levels = []string{"off", "low", "medium", "high"}
	modes  = []string{"default", "plan", "auto"}
)

// SetMode takes one of the modes on offer; another is invalid.
func (s *session) SetMode(ctx context.Context, mode string) error {
	if !slices.Contains(modes, mode) {
		return wire.Errorf(wire.CodeInvalid, "no mode %q: there are %s", mode, strings.Join(modes, ", "))
	}
	s.mu.Lock()
	s.mode = mode
	told := s.modeTold()
	s.mu.Unlock()
	return s.announce(ctx, told)
}

// SetModel takes one of the models on offer, at one of the thinking levels; an
// empty level keeps the one it has. Another of either is invalid.
func (s *session) SetModel(ctx context.Context, m wire.ModelRequest) error {
	i := slices.IndexFunc(models, func(o wire.ModelState) bool { return o.ID == m.ID })
	switch {
	case i < 0 || m.Provider != "" && m.Provider != provider:
		return wire.Errorf(wire.CodeInvalid, "no model %q of provider %q", m.ID, m.Provider)
	case m.ThinkingLevel != "" && !slices.Contains(levels, m.ThinkingLevel):
		return wire.Errorf(wire.CodeInvalid, "no thinking level %q: there are %s", m.ThinkingLevel, strings.Join(levels, ", "))
	}
	s.mu.Lock()
	level := s.model.ThinkingLevel
	s.model = models[i]
	s.model.ThinkingLevel = level
	if m.ThinkingLevel != "" {
		s.model.ThinkingLevel = m.ThinkingLevel
	}
	told := s.modelTold()
	s.mu.Unlock()
	return s.announce(ctx, told)
}

// Compact replaces the context by a summary of a tenth of it.
func (s *session) Compact(ctx context.Context, instructions string) error {
	summary := "compacted on request"
	if instructions != "" {
		summary += ": " + instructions
	}
	return s.announce(ctx, s.compacted(summary, wire.CompactionManual), s.usageTold())
}

func (s *session) modelTold() wire.Observation { return &wire.Model{Model: s.model} }

func (s *session) modeTold() wire.Observation {
	return &wire.PermissionMode{Mode: s.mode, Available: modes}
}

func (s *session) compacted(summary string, reason wire.CompactionReason) wire.Observation {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.context
	s.context /= 10
	after := s.context
	return &wire.BranchCompacted{Summary: summary, TokensBefore: before, TokensAfter: &after, Reason: reason}
}

// spend adds a message's tokens to the session's.
func (s *session) spend(u wire.Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.usage.Input += u.Input
	s.usage.Output += u.Output
	s.context += u.Input + u.Output
}

func (s *session) usageTold() wire.Observation {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.usage
	u.Context = &wire.ContextUsage{Tokens: s.context, Window: s.model.ContextWindow}
	return &wire.SessionUsageChanged{Usage: u}
}
