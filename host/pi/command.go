package pi

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/troupe-run/troupe/host"
	"github.com/troupe-run/troupe/wire"
)

// postTimeout bounds a command that nobody waits for.
const postTimeout = 5 * time.Second

// write sends one command.
func (s *session) write(ctx context.Context, command map[string]any) error {
	b, err := json.Marshal(command)
	if err != nil {
		return wire.Errorf(wire.CodeInternal, "a command could not be encoded")
	}
	if err := s.p.WriteContext(ctx, append(b, '\n')); err != nil {
		return wire.Errorf(wire.CodeUnavailable, "pi does not take its input: %v", err)
	}
	return nil
}

// post sends a command from the reader, which must not wait for pi: pi may be
// waiting for it.
func (s *session) post(command map[string]any) {
	s.sink.Go("pi writer", func() {
		ctx, cancel := context.WithTimeout(context.Background(), postTimeout)
		defer cancel()
		_ = s.write(ctx, command) // a pi that does not read is killed by the grace
	})
}

// query asks for the state; its answer is known by its id, the run's number in it.
func (s *session) query(what string) {
	s.post(map[string]any{"type": "get_state", "id": what + strconv.FormatUint(s.run.number, 10)})
}

func (s *session) newID() string {
	s.lastID++
	return "t" + strconv.Itoa(s.lastID)
}

// ask sends a command and waits for its answer.
func (s *session) ask(ctx context.Context, command map[string]any) (*event, error) {
	s.mu.Lock()
	id, ch := s.newID(), make(chan *event, 1)
	s.waiting[id] = ch
	s.mu.Unlock()
	command["id"] = id
	defer func() {
		s.mu.Lock()
		delete(s.waiting, id)
		s.mu.Unlock()
	}()
	if err := s.write(ctx, command); err != nil {
		return nil, err
	}
	select {
	case e, ok := <-ch:
		if !ok {
			return nil, wire.Errorf(wire.CodeUnavailable, "pi exited with status %d", s.p.Exit().Code)
		}
		if e.Success == nil || !*e.Success {
			return nil, wire.Errorf(wire.CodeInvalid, "pi refused %s: %s", e.Command, e.Error)
		}
		return e, nil
	case <-s.done:
		return nil, wire.Errorf(wire.CodeUnavailable, "pi exited with status %d", s.p.Exit().Code)
	case <-ctx.Done():
		return nil, wire.Errorf(wire.CodeTimeout, "pi did not answer in time")
	}
}

// Prompt hands a prompt over. A compaction under way is waited for, since pi
// refuses prompts in it.
func (s *session) Prompt(ctx context.Context, p host.Prompt) error {
	s.mu.Lock()
	idle := s.idle
	s.mu.Unlock()
	select {
	case <-idle:
	case <-s.done:
		return wire.Errorf(wire.CodeUnavailable, "pi has exited")
	case <-ctx.Done():
		return wire.Errorf(wire.CodeTimeout, "pi is compacting its context")
	}
	s.mu.Lock()
	if r := s.run; r != nil {
		s.mu.Unlock()
		return wire.Errorf(wire.CodeConflict, "run %d is not over", r.number)
	}
	id := s.newID()
	s.run = &run{number: p.Run, command: id}
	s.prompted = true
	s.m.handOver(handed{messageID: p.MessageID, text: p.Text})
	s.mu.Unlock()
	err := s.write(ctx, withImages(map[string]any{"type": "prompt", "id": id, "message": p.Text}, p.Images))
	if err != nil {
		s.mu.Lock()
		s.run = nil
		s.mu.Unlock()
	}
	return err
}

func withImages(command map[string]any, images []wire.Image) map[string]any {
	var list []map[string]any
	for _, i := range images {
		list = append(list, map[string]any{"type": "image", "data": i.Data, "mimeType": i.MimeType})
	}
	if list != nil {
		command["images"] = list
	}
	return command
}

// Steer hands a prompt into the busy run: it enters after the tool turn under way.
func (s *session) Steer(ctx context.Context, p host.Prompt) error {
	h := handed{messageID: p.MessageID, text: p.Text, steered: true}
	s.mu.Lock()
	if s.run == nil || s.run.stop {
		s.mu.Unlock()
		return wire.Errorf(wire.CodeConflict, "no run takes a prompt in")
	}
	s.m.handOver(h)
	s.mu.Unlock()
	_, err := s.ask(ctx, withImages(map[string]any{"type": "steer", "message": p.Text}, p.Images))
	if err != nil {
		s.mu.Lock()
		s.m.forget(p.MessageID)
		s.mu.Unlock()
	}
	return err
}

// Abort asks pi to stop. An open question would hold that up, so each gets its
// cancel value first; a retry that waits is given up; a prompt that pi has not
// begun is stopped once it has.
func (s *session) Abort(ctx context.Context, number uint64) error {
	s.mu.Lock()
	if s.run == nil || s.run.number != number {
		s.mu.Unlock()
		return nil
	}
	s.run.stop = true
	begun, retrying := s.run.begun, s.retrying
	var first []map[string]any
	for _, q := range s.open {
		first = append(first, cancelled(q.id))
	}
	s.mu.Unlock()
	if retrying {
		first = append(first, map[string]any{"type": "abort_retry"})
	}
	if begun {
		first = append(first, map[string]any{"type": "clear_queue"}, map[string]any{"type": "abort"})
	}
	for _, c := range first {
		if err := s.write(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func cancelled(id string) map[string]any {
	return map[string]any{"type": "extension_ui_response", "id": id, "cancelled": true}
}

// Answer settles a question towards pi; one that it does not wait on is ignored
// there.
func (s *session) Answer(ctx context.Context, r host.Reply) error {
	s.mu.Lock()
	for i, q := range s.open {
		if q.id == r.ID {
			s.open = append(append([]question(nil), s.open[:i]...), s.open[i+1:]...)
			break
		}
	}
	s.mu.Unlock()
	reply := map[string]any{"type": "extension_ui_response", "id": r.ID}
	switch a := r.Arm.(type) {
	case *wire.ValueArm:
		reply["value"] = a.Value.Reveal()
	case *wire.ConfirmArm:
		reply["confirmed"] = a.Confirmed
	default:
		reply["cancelled"] = true
	}
	return s.write(ctx, reply)
}

// SetMode is unsupported: pi leaves permissions to its extensions.
func (s *session) SetMode(context.Context, string) error {
	return wire.Errorf(wire.CodeUnsupported, "pi has no permission modes; its extensions ask for themselves")
}

// SetModel switches the model, and the thinking level where one is named.
func (s *session) SetModel(ctx context.Context, r wire.ModelRequest) error {
	s.mu.Lock()
	var now wire.ModelState
	if s.m.model != nil {
		now = *s.m.model
	}
	s.mu.Unlock()
	if r.Provider == "" {
		r.Provider = now.Provider
	}
	if r.ID != now.ID || r.Provider != now.Provider {
		e, err := s.ask(ctx, map[string]any{"type": "set_model", "provider": r.Provider, "modelId": r.ID})
		if err != nil {
			return err
		}
		var d modelData
		if err := json.Unmarshal(e.Data, &d); err != nil || d.ID == "" {
			d = modelData{ID: r.ID, Provider: r.Provider}
		}
		s.mu.Lock()
		s.m.setModel(&d, "")
		told, origin := s.m.modelNow(), s.originLocked()
		s.mu.Unlock()
		s.deliver(&host.Observed{Origin: origin, Observation: told})
	}
	if r.ThinkingLevel == "" {
		return nil
	}
	_, err := s.ask(ctx, map[string]any{"type": "set_thinking_level", "level": r.ThinkingLevel})
	return err
}

// Compact asks for a compaction and returns once pi is at it, or has refused; the
// rest is observed.
func (s *session) Compact(ctx context.Context, instructions string) error {
	command := map[string]any{"type": "compact"}
	if instructions != "" {
		command["customInstructions"] = instructions
	}
	s.mu.Lock()
	s.compacting(true)
	idle := s.idle
	s.mu.Unlock()
	answer := make(chan error, 1)
	s.sink.Go("pi compaction", func() {
		bounded, cancel := context.WithTimeout(context.Background(), compactTimeout)
		defer cancel()
		_, err := s.ask(bounded, command)
		answer <- err
		s.mu.Lock()
		s.compacting(false)
		s.mu.Unlock()
	})
	early := time.NewTimer(compactEarly)
	defer early.Stop()
	select {
	case err := <-answer:
		return err
	case <-idle: // over; where it was refused the answer is there
		select {
		case err := <-answer:
			return err
		default:
			return nil
		}
	case <-early.C:
		return nil
	case <-ctx.Done():
		return nil // it goes on; what comes of it is observed
	}
}

const (
	// compactTimeout is how long a compaction may take before prompts go on.
	compactTimeout = 5 * time.Minute
	// compactEarly is how long a refusal may take.
	compactEarly = 2 * time.Second
)
