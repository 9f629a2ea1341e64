package replays

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/looptrace/looptrace/controlplane/otlp"
	"github.com/looptrace/looptrace/controlplane/replays/engine"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// Attributes of the spans of an attempt.
const (
	keySource   = "looptrace.replay.source"
	keyTier     = "looptrace.replay.tier"
	keyRecorded = "looptrace.replay.span_id"
)

// Metadata of the run of an attempt.
const (
	metaReplay  = "replay_id"
	metaOf      = "replay_of"
	metaRole    = "replay_role"
	metaAttempt = "replay_attempt"
)

// record sends the attempt to ingest as a run. The same attempt always has the same ids, so that sending it twice makes one run.
func (m *making) record(ctx context.Context, made *engine.Attempt, started time.Time) error {
	var out bytes.Buffer
	writer := otlp.NewWriter(&out)
	recorded := make(map[string]*runs.Span, len(m.source.spans))
	for i := range m.source.spans {
		recorded[runmodel.FormatSpanID(m.source.spans[i].SpanID)] = &m.source.spans[i]
	}
	forms := engine.NewSpanWriter(m.source.recording)
	for i := range made.Steps {
		step := &made.Steps[i]
		if step.Source == engine.SourceNotReached || step.Unrecorded {
			continue
		}
		// One at a time: each request has all messages before it.
		span, err := m.span(step, forms, recorded[step.SpanID], started)
		if err != nil {
			return fmt.Errorf("write step %d of an attempt: %w", i, err)
		}
		if err := writer.Span(&span); err != nil {
			return fmt.Errorf("write the run of an attempt: %w", err)
		}
		if err := m.send(ctx, &out); err != nil {
			return err
		}
	}
	if err := writer.Close(); err != nil {
		return fmt.Errorf("write the run of an attempt: %w", err)
	}
	return m.send(ctx, &out)
}

// send sends the lines that were written.
func (m *making) send(ctx context.Context, out *bytes.Buffer) error {
	for line := range bytes.Lines(out.Bytes()) {
		if err := m.recorder.SendTraces(ctx, m.r.ProjectID, line); err != nil {
			return fmt.Errorf("record the run of an attempt: %w", err)
		}
	}
	out.Reset()
	return nil
}

// spanID returns the id of the span of a step.
func (m *making) spanID(step *engine.AttemptStep) string {
	return runmodel.FormatSpanID(m.idOf(step.Recorded, step.Index))
}

// idOf returns the id of a span that stands for a recorded step, or else is the given one of the attempt.
func (m *making) idOf(recorded, index int) uint64 {
	of := "new " + strconv.Itoa(index)
	if recorded >= 0 {
		of = m.source.recording.Steps[recorded].SpanID
	}
	sum := sha256.Sum256([]byte(m.a.RunID.String() + " " + of))
	return binary.LittleEndian.Uint64(sum[:]) | 1 // an id of zeros is none
}

// span returns the span of a step, that of the recorded one it stands for, which may be nil, with what differs.
func (m *making) span(step *engine.AttemptStep, forms *engine.SpanWriter, recorded *runs.Span, started time.Time) (runs.Span, error) {
	form, err := forms.Form(*step)
	if err != nil {
		return runs.Span{}, err //nolint:wrapcheck // the caller names the step
	}
	span := runs.Span{}
	if recorded != nil {
		span = *recorded
		span.Scores = nil
	}
	m.set(&span, step, &form, started)
	if step.Parent < 0 {
		m.setRun(&span)
	}
	return span, nil
}

// set makes a span of a step. What it copied of the recorded one stays, but for what may differ.
func (m *making) set(span *runs.Span, step *engine.AttemptStep, form *engine.SpanForm, started time.Time) {
	s := &span.Span
	s.RunID, s.ProjectID, s.SpanID, s.ParentSpanID, s.IsRun = m.a.RunID, m.r.ProjectID, m.idOf(step.Recorded, step.Index), 0, false
	if step.Parent >= 0 {
		s.ParentSpanID = m.idOf(step.Parent, -1)
	}
	s.StartTime, s.EndTime = started.Add(step.Offset), runmodel.Epoch
	if step.Duration != nil {
		s.EndTime = s.StartTime.Add(*step.Duration)
	}
	s.Source, s.Status, s.ErrorType, s.ErrorMessage = runmodel.SourceReplay, step.Status, step.ErrorType, step.ErrorMessage
	attributes := maps.Clone(s.Attributes)
	if attributes == nil {
		attributes = map[string]string{}
	}
	for key, value := range map[string]string{keySource: string(step.Source), keyTier: string(step.Tier), keyRecorded: step.SpanID} {
		if value != "" {
			attributes[key] = value
		}
	}
	s.Attributes = attributes
	span.SystemInstructions, span.InputMessages, span.OutputMessages, span.ToolDefinitions = form.SystemInstructions, form.InputMessages, form.OutputMessages, form.ToolDefinitions
	s.Inputs, s.Outputs, s.ToolArguments, s.ToolResult = form.Inputs, form.Outputs, form.ToolArguments, form.ToolResult
	if form.Recorded == nil {
		s.Name, s.Kind, s.AgentName = step.Name, step.SpanKind, step.Agent
	}
	if step.Source == engine.SourceReissued {
		setCall(s, step)
	}
	if step.Tool != nil {
		s.ToolName, s.ToolCallID = step.Tool.Name, step.Tool.CallID
	}
	if step.Differs || form.Recorded == nil {
		span.Span.Events, span.Events = "", nil
	}
}

// setCall sets what a call of a model that was made says of itself.
func setCall(s *runmodel.Span, step *engine.AttemptStep) {
	for _, key := range []string{"looptrace.provider.request", "looptrace.provider.response"} {
		delete(s.Attributes, key)
	}
	s.Provider, s.ResponseHash, s.TimeToFirstToken, s.CostUSD, s.CostSource, s.PriceVersion, s.Counting = step.Provider, 0, nil, nil, "", "", ""
	s.InputTokens, s.OutputTokens, s.CacheReadTokens, s.CacheWriteTokens, s.ReasoningTokens = nil, nil, nil, nil, nil
	s.ResponseModel, s.FinishReasons = "", nil
	if step.Request != nil {
		s.RequestModel = step.Request.Model
		s.AttributesJSON = maps.Clone(s.AttributesJSON)
		if s.AttributesJSON == nil {
			s.AttributesJSON = map[string]string{}
		}
		for name, value := range step.Request.Params {
			s.AttributesJSON["gen_ai.request."+name] = string(value)
		}
	}
	if step.CostUSD != nil {
		s.CostUSD, s.CostSource = step.CostUSD, runmodel.CostSent
	}
	response := step.Response
	if response == nil {
		return
	}
	s.ResponseModel = response.Model
	if response.FinishReason != "" {
		s.FinishReasons = []string{response.FinishReason}
	}
	if u := response.Usage; u != nil {
		s.InputTokens, s.OutputTokens, s.CacheReadTokens, s.CacheWriteTokens, s.ReasoningTokens = u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning
	}
}

// setRun sets what a run says of itself at its root.
func (m *making) setRun(span *runs.Span) {
	metadata := maps.Clone(span.Metadata)
	if metadata == nil {
		metadata = map[string]string{}
	}
	metadata[metaReplay], metadata[metaOf], metadata[metaRole] = m.r.ID.String(), m.r.RunID.String(), string(m.a.Role)
	metadata[metaAttempt] = strconv.Itoa(m.a.Number)
	span.Metadata = metadata
	links, err := json.Marshal([]runmodel.Link{{RunID: m.r.RunID.String(), SpanID: runmodel.FormatSpanID(m.source.run.RootSpanID), Attributes: map[string]any{}}})
	if err == nil {
		span.Span.Links = string(links)
	}
}
