package supervision

import (
	"context"
	"log/slog"
	"runtime/debug"

	"github.com/asynkron/protoactor-go/actor"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// LogFacts writes facts: panics as errors, what was dropped or overran as
// warnings, the rest as info.
func LogFacts(log *zap.Logger) func(Fact) {
	return func(f Fact) {
		switch f := f.(type) {
		case *ActorRestarted:
			log.Error(f.FactName(), zap.String("actor", f.Actor), zap.String("input", f.Input),
				zap.String("reason", f.Reason), zap.Float64("count", f.Count))
		case *ActorStopped:
			log.Error(f.FactName(), zap.String("actor", f.Actor), zap.String("input", f.Input),
				zap.String("reason", f.Reason), zap.String("cause", string(f.Cause)))
		case *ActorAbandoned:
			log.Error(f.FactName(), zap.String("actor", f.Actor), zap.String("reason", f.Reason))
		case *ThreadTrouble:
			log.Error(f.FactName(), zap.String("thread", f.Thread), zap.String("what", f.What), zap.String("detail", f.Detail))
		case *GoroutinePanicked:
			log.Error(f.FactName(), zap.String("where", f.Where), zap.String("reason", f.Reason), zap.ByteString("stack", f.Stack))
		case *FactsDropped:
			log.Warn(f.FactName(), zap.Int64("count", f.Count))
		case *Ready:
			log.Info(f.FactName(), zap.String("address", f.Address))
		case *Stopping:
			log.Info(f.FactName(), zap.String("cause", f.Cause))
		case *StopStepDone:
			log.Debug(f.FactName(), zap.String("step", f.Step), zap.Duration("took", f.Took))
		case *StopStepFailed:
			log.Warn(f.FactName(), zap.String("step", f.Step), zap.Error(f.Err))
		case *ProcessStepOverran:
			log.Warn(f.FactName(), zap.String("step", f.Step), zap.Duration("limit", f.Limit))
		case *Stopped:
			log.Info(f.FactName(), zap.Duration("took", f.Took))
		}
	}
}

// NewSlog carries protoactor's own lines to log. Its values are redacted: of a
// panic's reason what [Redact] allows, of a message its type. On the line with
// which protoactor announces a panic the stack is added, since that line is
// written while the panic unwinds and nothing later can see it. Give it to
// actor.WithLoggerFactory.
func NewSlog(log *zap.Logger) *slog.Logger {
	return slog.New(&bridge{log: log.WithOptions(zap.WithCaller(false))})
}

const recoveringLine = "[ACTOR] Recovering"

type bridge struct {
	log    *zap.Logger
	prefix string
}

// Enabled asks zap.
func (b *bridge) Enabled(_ context.Context, l slog.Level) bool { return b.log.Core().Enabled(level(l)) }

// Handle writes the record through zap.
func (b *bridge) Handle(_ context.Context, r slog.Record) error {
	l := level(r.Level)
	if r.Message == recoveringLine {
		l = zapcore.ErrorLevel
	}
	e := b.log.Check(l, r.Message)
	if e == nil {
		return nil
	}
	fields := make([]zap.Field, 0, r.NumAttrs()+1)
	r.Attrs(func(a slog.Attr) bool {
		fields = append(fields, b.field(a))
		return true
	})
	if r.Message == recoveringLine {
		fields = append(fields, zap.ByteString("stack", clip(debug.Stack())))
	}
	e.Write(fields...)
	return nil
}

// WithAttrs keeps attributes for every line.
func (b *bridge) WithAttrs(as []slog.Attr) slog.Handler {
	fields := make([]zap.Field, 0, len(as))
	for _, a := range as {
		fields = append(fields, b.field(a))
	}
	return &bridge{log: b.log.With(fields...), prefix: b.prefix}
}

// WithGroup prefixes the keys that follow.
func (b *bridge) WithGroup(name string) slog.Handler {
	return &bridge{log: b.log, prefix: b.prefix + name + "."}
}

func (b *bridge) field(a slog.Attr) zap.Field {
	key, v := b.prefix+a.Key, a.Value.Resolve()
	switch a.Key {
	case "reason", "exception", "message": // a panic's value or an actor's message, whatever its kind
		return zap.String(key, Redact(v.Any()))
	}
	switch v.Kind() {
	case slog.KindString:
		return zap.String(key, v.String())
	case slog.KindInt64:
		return zap.Int64(key, v.Int64())
	case slog.KindUint64:
		return zap.Uint64(key, v.Uint64())
	case slog.KindFloat64:
		return zap.Float64(key, v.Float64())
	case slog.KindBool:
		return zap.Bool(key, v.Bool())
	case slog.KindDuration:
		return zap.Duration(key, v.Duration())
	case slog.KindTime:
		return zap.Time(key, v.Time())
	}
	switch x := v.Any().(type) {
	case *actor.PID:
		return zap.String(key, x.GetId())
	case actor.Directive:
		return zap.String(key, x.String())
	default:
		return zap.String(key, Redact(x))
	}
}

func level(l slog.Level) zapcore.Level {
	switch {
	case l >= slog.LevelError:
		return zapcore.ErrorLevel
	case l >= slog.LevelWarn:
		return zapcore.WarnLevel
	case l >= slog.LevelInfo:
		return zapcore.InfoLevel
	default:
		return zapcore.DebugLevel
	}
}
