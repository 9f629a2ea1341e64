package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/completions"
	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/internal/problem"
)

// completionStream is a completion whose events are sent as they happen.
type completionStream struct {
	ctx        context.Context
	completing *completions.Completing
	target     access.Target

	mu     sync.Mutex
	events *eventStream
}

// VisitCreateCompletionResponse makes the completion.
func (s *completionStream) VisitCreateCompletionResponse(w http.ResponseWriter) error {
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	s.events = newEventStream(s.ctx, w)
	beating := make(chan struct{})
	go func() {
		defer close(beating)
		s.beat(ctx, cancel)
	}()
	done, err := s.completing.Complete(ctx, s)
	cause := context.Cause(ctx)
	cancel(nil)
	<-beating
	if err == nil {
		return s.send("done", completionOf(&done))
	}
	if s.ctx.Err() != nil { // the client went away
		return nil
	}
	if refused := problem.Of(cause); refused != nil {
		err = cause
	}
	text, encodeErr := json.Marshal(problemOf(err).Document(callOf(s.ctx).id))
	if encodeErr != nil {
		return fmt.Errorf("encode problem: %w", encodeErr)
	}
	return s.events.event("error", time.Time{}, text)
}

// beat sends comments that keep the connection open, and ends the completion if the caller loses access.
func (s *completionStream) beat(ctx context.Context, cancel context.CancelCauseFunc) {
	beat, check := time.NewTicker(streamBeat), time.NewTicker(streamCheck)
	defer beat.Stop()
	defer check.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			s.mu.Lock()
			err := s.events.write([]byte(": alive\n\n"))
			s.mu.Unlock()
			if err != nil {
				cancel(err)
				return
			}
		case <-check.C:
			if refused := callOf(ctx).recheck(ctx, s.target); refused != nil && ctx.Err() == nil {
				cancel(refused)
				return
			}
		}
	}
}

func (s *completionStream) send(name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.events.event(name, time.Time{}, text)
}

// Start says which run records the completion.
func (s *completionStream) Start(run uuid.UUID) error {
	return s.send("start", map[string]uuid.UUID{"run_id": run})
}

// completionDelta is a CompletionDelta of the document.
type completionDelta struct {
	Text      string         `json:"text,omitempty"`
	Reasoning string         `json:"reasoning,omitempty"`
	ToolCall  *toolCallDelta `json:"tool_call,omitempty"`
}

type toolCallDelta struct {
	Index     int    `json:"index"`
	ID        string `json:"id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
}

// Delta sends a fragment.
func (s *completionStream) Delta(d llm.Delta) error {
	delta := completionDelta{Text: d.Text, Reasoning: d.Reasoning}
	if call := d.ToolCall; call != nil {
		delta.ToolCall = &toolCallDelta{call.Index, call.ID, call.Name, call.Arguments}
	}
	return s.send("delta", delta)
}

// ToolResult sends the answer to a tool call.
func (s *completionStream) ToolResult(call completions.ToolCall, content string) error {
	return s.send("tool_result", struct {
		ToolCallID string `json:"tool_call_id"`
		Name       string `json:"name"`
		Content    string `json:"content"`
	}{call.ID, call.Name, content})
}

// Message sends a finished message of the model.
func (s *completionStream) Message(message json.RawMessage) error { return s.send("message", message) }
