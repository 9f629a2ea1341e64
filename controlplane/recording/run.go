package recording

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// Status is how a run or a span ended.
type Status string

// The statuses.
const (
	StatusOK        Status = "ok"
	StatusError     Status = "error"
	StatusCancelled Status = "cancelled"
)

// Failure is why a run or a span failed.
type Failure struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// Prompt is the version of a prompt that a run used.
type Prompt struct {
	ID      string `json:"id,omitempty"`
	Name    string `json:"name,omitempty"`
	Version int    `json:"version,omitempty"`
	Alias   string `json:"alias,omitempty"`
}

// Run is a run with its spans.
type Run struct {
	Project uuid.UUID
	// Source is one of runmodel.Sources.
	Source     string
	ID         uuid.UUID
	Name       string
	Kind       string
	Status     Status
	Start, End time.Time
	Inputs     json.RawMessage
	Outputs    json.RawMessage
	Failure    *Failure
	// ThreadID and UserID may be empty.
	ThreadID, UserID string
	Prompt           *Prompt
	Metadata         map[string]any
	Spans            []Span
}

// Usage is the tokens of a call; nil is unknown.
type Usage struct {
	Input      *int64 `json:"input_tokens,omitempty"`
	Output     *int64 `json:"output_tokens,omitempty"`
	CacheRead  *int64 `json:"cache_read_input_tokens,omitempty"`
	CacheWrite *int64 `json:"cache_write_input_tokens,omitempty"`
	Reasoning  *int64 `json:"reasoning_output_tokens,omitempty"`
}

// Tool is a call of a tool.
type Tool struct {
	Name      string `json:"name"`
	CallID    string `json:"call_id"`
	Arguments string `json:"arguments"`
	Result    string `json:"result"`
}

// Span is a step of a run.
type Span struct {
	ID         string
	Name       string
	Kind       string
	Status     Status
	Start, End time.Time
	Failure    *Failure
	Model      string
	Provider   string
	Usage      *Usage
	Tool       *Tool
	// Attributes have the names of OpenTelemetry's GenAI conventions.
	Attributes map[string]any
}

// encode returns the run as POST /v1/runs takes it.
func (r *Run) encode() (waitingRun, error) {
	run := map[string]any{
		"run_id": r.ID, "name": r.Name, "kind": r.Kind, "status": r.Status, "start_time": r.Start.UTC(), "end_time": r.End.UTC(),
		"attributes": map[string]any{runmodel.KeySource: r.Source},
	}
	for name, value := range map[string]string{"session_id": r.ThreadID, "user_id": r.UserID} {
		if value != "" {
			run[name] = value
		}
	}
	if r.Inputs != nil {
		run["inputs"] = r.Inputs
	}
	if r.Outputs != nil {
		run["outputs"] = r.Outputs
	}
	if r.Failure != nil {
		run["error"] = r.Failure
	}
	if r.Prompt != nil {
		run["prompt"] = r.Prompt
	}
	if len(r.Metadata) > 0 {
		run["metadata"] = r.Metadata
	}
	encoded := waitingRun{project: r.Project, id: r.ID, source: r.Source, spans: make([]json.RawMessage, len(r.Spans))}
	var err error
	if encoded.run, err = json.Marshal(run); err != nil {
		return waitingRun{}, fmt.Errorf("encode a run: %w", err)
	}
	encoded.size = len(encoded.run)
	for i := range r.Spans {
		if encoded.spans[i], err = json.Marshal(r.Spans[i].fields(r)); err != nil {
			return waitingRun{}, fmt.Errorf("encode a span: %w", err)
		}
		encoded.size += len(encoded.spans[i])
	}
	return encoded, nil
}

// envelope returns the body of POST /v1/runs with runs of one source.
func envelope(batch []waitingRun) ([]byte, error) {
	body := struct {
		SDK   string            `json:"sdk"`
		Runs  []json.RawMessage `json:"runs"`
		Spans []json.RawMessage `json:"spans"`
	}{SDK: "looptrace-" + batch[0].source, Spans: []json.RawMessage{}}
	for i := range batch {
		body.Runs = append(body.Runs, batch[i].run)
		body.Spans = append(body.Spans, batch[i].spans...)
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode runs: %w", err)
	}
	return text, nil
}

func (s *Span) fields(run *Run) map[string]any {
	// A run whose spans do not say what made it counts as a user's until its root arrives.
	attributes := map[string]any{runmodel.KeySource: run.Source}
	maps.Copy(attributes, s.Attributes)
	span := map[string]any{
		"span_id": s.ID, "run_id": run.ID, "attributes": attributes, "name": s.Name, "kind": s.Kind, "status": s.Status, "start_time": s.Start.UTC(), "end_time": s.End.UTC(),
	}
	if s.Model != "" {
		span["model"] = s.Model
	}
	if s.Provider != "" {
		span["provider"] = s.Provider
	}
	if s.Failure != nil {
		span["error"] = s.Failure
	}
	if s.Usage != nil {
		span["usage"] = s.Usage
	}
	if s.Tool != nil {
		span["tool"] = s.Tool
	}
	return span
}
