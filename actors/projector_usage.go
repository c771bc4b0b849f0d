package actors

import "github.com/troupe-run/troupe/wire"

// spend counts what a message used. Zeroes of a step that never reached the model
// leave the size of the context as it was.
func (p *projector) spend(o *wire.MessageEnd) {
	if p.run == nil || o.Usage == nil {
		return
	}
	p.run.reported = true
	p.run.usage = withUsage(p.run.usage, o.Usage)
}

func withUsage(u wire.RunUsage, more *wire.Usage) wire.RunUsage {
	u.InputTokens += more.Input + more.CacheWrite
	u.CacheReadTokens += more.CacheRead
	u.OutputTokens += more.Output
	if prompt := more.Input + more.CacheWrite + more.CacheRead; prompt > 0 {
		u.ContextTokens = prompt
	}
	if more.TotalCost != nil {
		cost := *more.TotalCost
		if u.CostUSD != nil {
			cost += *u.CostUSD
		}
		u.CostUSD = &cost
	}
	return u
}

// usage is the accounting of the run. A runtime that says nothing of its messages
// is taken by what its session says.
func (p *projector) usage() wire.RunUsage {
	u := p.run.usage
	if !p.run.reported {
		now, before := p.session, p.counted
		if now.Input < before.Input || now.Output < before.Output { // another session began to count
			before = wire.SessionUsage{}
		}
		spent := &wire.Usage{
			Input: max(0, now.Input-before.Input), Output: max(0, now.Output-before.Output),
			CacheRead: max(0, now.CacheRead-before.CacheRead), CacheWrite: max(0, now.CacheWrite-before.CacheWrite),
		}
		if now.TotalCost != nil {
			cost := *now.TotalCost
			if before.TotalCost != nil {
				cost = max(0, cost-*before.TotalCost)
			}
			spent.TotalCost = &cost
		}
		u = withUsage(u, spent)
		u.ContextTokens = 0
		if now.Context != nil {
			u.ContextTokens = now.Context.Tokens
		}
	}
	if p.run.attempt > 1 {
		u.Attempt = p.run.attempt
	}
	return u
}

// usageDelta is the run's accounting so far with a message's under way.
func (p *projector) usageDelta(m moment, u *wire.Usage) wire.Delta {
	if p.run == nil || u == nil {
		return nil
	}
	d := &wire.DeltaUsage{
		V: wire.EventVersion, EntityID: p.entity, RunID: p.run.id, Ref: p.run.id, Idx: p.run.usageIdx,
		TS: wire.At(m.now), Attempt: p.attempt(), Usage: withUsage(p.run.usage, u),
	}
	d.Usage.Attempt = d.Attempt
	p.run.usageIdx++
	return d
}

// attempt is the run's attempt as deltas say it: the first says none.
func (p *projector) attempt() int64 {
	if p.run.attempt > 1 {
		return p.run.attempt
	}
	return 0
}
