package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// ToolCall is a call of a tool. Arguments and Result are JSON, nil for none. Error is what went wrong, nil for a call that succeeded or
// whose end is not known.
type ToolCall struct {
	ID, Name          string
	Arguments, Result json.RawMessage
	Error             *string
}

// totalColumns are what a run took. They are small whatever was recorded.
const totalColumns = `project_id, run_id, version, start_time, end_time, status, source, span_count, llm_call_count, tool_call_count,
	input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, other_tokens, cost_usd, cost_source, unpriced_call_count`

// Totals returns what some runs of a project took, without their texts. Runs that are not there are left out.
func (s *Service) Totals(ctx context.Context, projects access.Projects, ids []uuid.UUID) (map[uuid.UUID]runmodel.Run, error) {
	found := make(map[uuid.UUID]runmodel.Run, len(ids))
	for some := range slices.Chunk(ids, selectedAtOnce) {
		locations, err := s.locationsOf(ctx, projects, some)
		if err != nil {
			return nil, err
		}
		if len(locations) == 0 {
			continue
		}
		area := areaOf(projects, locations)
		w := inProjects()
		w.hours(area.FirstStart, area.LastStart)
		w.add("run_id IN (?)", some)
		var rows []runmodel.Run
		if err := query(ctx, s.conn, projects, &rows, `SELECT `+totalColumns+` FROM runs FINAL WHERE `+w.String(), w.args...); err != nil {
			return nil, err
		}
		for _, row := range rows {
			if known, ok := found[row.RunID]; row.Version > locations[row.RunID].DeletedAt && (!ok || row.Version > known.Version) {
				found[row.RunID] = row
			}
		}
	}
	return found, nil
}

// callColumns are what tool calls are made of.
var callColumns = "project_id, run_id, end_time, name, status, error_type, error_message, tool_name, tool_arguments, tool_result, inputs, outputs, output_message_ids, " +
	strings.Join(treeColumns, ", ")

// ToolCalls returns the tool calls of some runs of a project, in the order in which they began: those that were recorded, or else those
// that models asked for. A run without any has an empty list. Runs that are not there, or that have more than MaxSource of what is read
// for this, are left out.
func (s *Service) ToolCalls(ctx context.Context, projects access.Projects, ids []uuid.UUID) (map[uuid.UUID][]ToolCall, error) {
	found := make(map[uuid.UUID][]ToolCall, len(ids))
	for some := range slices.Chunk(ids, sourceRuns) {
		if err := s.toolCalls(ctx, projects, some, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// toolCalls adds the tool calls of runs to found. It reads the runs together, or in halves if they are too large for that.
func (s *Service) toolCalls(ctx context.Context, projects access.Projects, ids []uuid.UUID, found map[uuid.UUID][]ToolCall) error {
	err := s.with(options{resultBytes: MaxSource}).readToolCalls(ctx, projects, ids, found)
	var exception *ch.Exception
	if !errors.As(err, &exception) || exception.Code != codeTooManyBytesRows && exception.Code != codeMemoryLimit {
		return err
	}
	if len(ids) == 1 {
		return nil
	}
	half := len(ids) / 2
	if err := s.toolCalls(ctx, projects, ids[:half], found); err != nil {
		return err
	}
	return s.toolCalls(ctx, projects, ids[half:], found)
}

func (s *Service) readToolCalls(ctx context.Context, projects access.Projects, ids []uuid.UUID, found map[uuid.UUID][]ToolCall) error {
	locations, err := s.locationsOf(ctx, projects, ids)
	if err != nil || len(locations) == 0 {
		return err
	}
	area := areaOf(projects, locations)
	w := inProjects()
	w.hours(area.FirstStart, area.LastStart)
	w.add("run_id IN (?)", ids)
	var versions []runmodel.Span
	if err := query(ctx, s.conn, projects, &versions, `SELECT `+callColumns+` FROM spans WHERE `+w.String(), w.args...); err != nil {
		return err
	}
	asking := map[uuid.UUID][]runmodel.Span{} // spans of runs without recorded calls
	var all []runmodel.Span
	read := make(map[uuid.UUID][]ToolCall, len(ids)) // not into found: a part of it may fail
	for key, versions := range runmodel.ByRun(versions) {
		if versions = locations[key.RunID].dropDeleted(versions); len(versions) == 0 {
			continue
		}
		spans := runmodel.Fold(versions)
		calls := []ToolCall{}
		for _, at := range runmodel.ToolCalls(spans) {
			calls = append(calls, recordedCall(&spans[at]))
		}
		read[key.RunID] = calls
		if len(calls) == 0 {
			asking[key.RunID] = outputsOnly(spans)
			all = append(all, asking[key.RunID]...)
		}
	}
	contents, err := s.contentsOfRuns(ctx, area, all)
	if err != nil {
		return err
	}
	for run, spans := range asking {
		if read[run], err = contents[run].askedCalls(spans); err != nil {
			return err
		}
	}
	maps.Copy(found, read)
	return nil
}

// outputsOnly returns the spans with messages that a model wrote, with these alone.
func outputsOnly(spans []runmodel.Span) (with []runmodel.Span) {
	for i := range spans {
		if len(spans[i].OutputMessageIDs) > 0 {
			with = append(with, runmodel.Span{ProjectID: spans[i].ProjectID, RunID: spans[i].RunID, OutputMessageIDs: spans[i].OutputMessageIDs})
		}
	}
	return with
}

func recordedCall(span *runmodel.Span) ToolCall {
	call := ToolCall{
		ID: span.ToolCallID, Name: cmp.Or(span.ToolName, span.Name),
		Arguments: valueOf(cmp.Or(span.ToolArguments, span.Inputs)), Result: valueOf(cmp.Or(span.ToolResult, span.Outputs)),
	}
	if span.EffectiveStatus() == runmodel.StatusError {
		call.Error = new(cmp.Or(span.ErrorMessage, span.ErrorType, "error"))
	}
	return call
}

// valueOf returns a text as JSON: the value if it is JSON, else the text. Nothing is nil.
func valueOf(text string) json.RawMessage {
	switch {
	case text == "":
		return nil
	case json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	encoded, _ := json.Marshal(text) // a string always encodes
	return encoded
}

// askedCalls returns the tool calls in the output messages of spans. Instrumentations of two layers may record the same call: one with
// an id counts once.
func (c contentsByID) askedCalls(spans []runmodel.Span) ([]ToolCall, error) {
	calls, seen := []ToolCall{}, map[string]bool{}
	for i := range spans {
		messages, err := c.messages(spans[i].OutputMessageIDs)
		if err != nil {
			return nil, err
		}
		for _, raw := range messages {
			message, _ := runmodel.ReadMessage(raw)
			for j := range message.Parts {
				part := &message.Parts[j]
				id := runmodel.PlainJSON(part.ID)
				if !part.IsCall() || id != "" && seen[id] {
					continue
				}
				seen[id] = true
				calls = append(calls, ToolCall{ID: id, Name: part.Name, Arguments: part.Arguments})
			}
		}
	}
	return calls, nil
}
