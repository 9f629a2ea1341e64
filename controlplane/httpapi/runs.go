package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/google/uuid"
	fastjson "github.com/segmentio/encoding/json"

	"github.com/looptrace/looptrace/controlplane/failures"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// Runs reads runs for the projects of a scope.
type Runs interface {
	List(ctx context.Context, scope runs.Scope, q runs.ListQuery) (runs.Page, error)
	Stats(ctx context.Context, scope runs.Scope, q runs.StatsQuery) (runs.Stats, error)
	Fields(ctx context.Context, scope runs.Scope, f runs.Filter) (runs.Fields, error)
	FieldValues(ctx context.Context, scope runs.Scope, f runs.Filter, field, prefix string, limit int) (runs.FieldValues, error)
	Watch(ctx context.Context, scope runs.Scope, f runs.Filter, from time.Time) (*runs.Watch, error)
	Get(ctx context.Context, scope runs.Scope, runID uuid.UUID) (runs.Run, error)
	Spans(ctx context.Context, scope runs.Scope, runID uuid.UUID, q runs.SpansQuery) (runs.SpanPage, error)
	Span(ctx context.Context, scope runs.Scope, runID uuid.UUID, spanID string) (runs.Span, error)
	UncostedModels(ctx context.Context, scope runs.Scope, since time.Time) ([]runs.UncostedModel, error)
	Outline(ctx context.Context, scope runs.Scope, runID uuid.UUID) (runs.Outline, error)
	Excerpts(ctx context.Context, outline runs.Outline, spanIDs []uint64) ([]runs.Span, error)
	Texts(ctx context.Context, outline runs.Outline) (spans []runs.Span, partial bool, err error)
	Scores(ctx context.Context, scope runs.Scope, runID uuid.UUID, q runs.ScoresQuery) (scores []runmodel.Score, more bool, err error)
	PutScore(ctx context.Context, scope runs.Scope, score runmodel.Score) (stored runmodel.Score, created bool, err error)
	DeleteScore(ctx context.Context, scope runs.Scope, runID, scoreID uuid.UUID) error
	Delete(ctx context.Context, scope runs.Scope, d runs.Deletion) (runs.Deleted, error)
	Export(ctx context.Context, scope runs.Scope, filter runs.Filter, run func(*runs.Run) error, span func(*runs.Span) error) error
	Threads(ctx context.Context, scope runs.Scope, q runs.ThreadsQuery) (runs.ThreadPage, error)
	Thread(ctx context.Context, scope runs.Scope, q runs.ThreadQuery) (runs.Turns, error)
	Ping(ctx context.Context) error
	failures.Store
}

// defaultSpans is the length of a page of spans where the request does not say.
const defaultSpans = 1000

// ListRuns lists a project's runs.
func (a *api) ListRuns(ctx context.Context, req ListRunsRequestObject) (ListRunsResponseObject, error) {
	scope, err := readable(ctx, &req.Params.ProjectId)
	if err != nil {
		return nil, err
	}
	query, err := listQuery(req.Params)
	if err != nil {
		return nil, err
	}
	page, err := a.runs.List(ctx, scope, query)
	if err != nil {
		return nil, err
	}
	data := make([]Run, len(page.Runs))
	for i := range page.Runs {
		data[i] = runOf(&page.Runs[i])
	}
	answer := ListRuns200JSONResponse{
		Data: data, Limit: query.Limit, Offset: query.Offset, HasMore: page.HasMore, NextCursor: known(page.NextCursor),
	}
	if page.Partial {
		answer.Partial, answer.SearchedTo = &page.Partial, utc(&page.SearchedTo)
	}
	return answer, nil
}

// GetRun reads one run.
func (a *api) GetRun(ctx context.Context, req GetRunRequestObject) (GetRunResponseObject, error) {
	scope, err := readable(ctx, req.Params.ProjectId)
	if err != nil {
		return nil, err
	}
	run, err := a.runs.Get(ctx, scope, req.RunId)
	if err != nil {
		return nil, err
	}
	return GetRun200JSONResponse(runOf(&run)), nil
}

// ListSpans lists a run's spans.
func (a *api) ListSpans(ctx context.Context, req ListSpansRequestObject) (ListSpansResponseObject, error) {
	scope, err := readable(ctx, req.Params.ProjectId)
	if err != nil {
		return nil, err
	}
	query := runs.SpansQuery{
		Full: valueOf(req.Params.Full, false), Limit: valueOf(req.Params.Limit, defaultSpans), Cursor: valueOf(req.Params.Cursor, ""),
	}
	page, err := a.runs.Spans(ctx, scope, req.RunId, query)
	if err != nil {
		return nil, err
	}
	data := make([]Span, len(page.Spans))
	for i := range page.Spans {
		if data[i], err = spanOf(&page.Spans[i], query.Full); err != nil {
			return nil, err
		}
	}
	return spanPage{
		Data: data, Limit: query.Limit, HasMore: page.HasMore, NextCursor: known(page.NextCursor), SpanCount: int64(page.SpanCount),
	}, nil
}

// spanPage is a [SpanPage] that another encoder makes JSON of than of the generated answers, with the same result: a thousand spans
// take it half the time, which is a tenth of what it takes to read them.
type spanPage SpanPage

// VisitListSpansResponse writes the page.
func (p spanPage) VisitListSpansResponse(w http.ResponseWriter) error {
	text, err := fastjson.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode page: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	_, err = w.Write(text)
	return err
}

// GetSpan reads one span whole.
func (a *api) GetSpan(ctx context.Context, req GetSpanRequestObject) (GetSpanResponseObject, error) {
	scope, err := readable(ctx, req.Params.ProjectId)
	if err != nil {
		return nil, err
	}
	span, err := a.runs.Span(ctx, scope, req.RunId, req.SpanId)
	if err != nil {
		return nil, err
	}
	answer, err := spanOf(&span, true)
	if err != nil {
		return nil, err
	}
	return GetSpan200JSONResponse(answer), nil
}

// readable is the one way to a scope: the project, where the caller may read its runs, or all such projects.
func readable(ctx context.Context, project *uuid.UUID) (runs.Scope, error) {
	principal := callOf(ctx).principal
	if project != nil {
		return runs.Scope{ProjectIDs: []uuid.UUID{*project}}, principal.Authorize(*project, apikey.ScopeRunsRead)
	}
	projects, err := principal.ProjectsWith(apikey.ScopeRunsRead)
	return runs.Scope{ProjectIDs: projects}, err
}

func listQuery(p ListRunsParams) (runs.ListQuery, error) {
	page := pageOf(p.Limit, p.Offset)
	filter, err := filterOf(p, "query")
	if err != nil {
		return runs.ListQuery{}, err
	}
	query := runs.ListQuery{Filter: filter, Order: string(valueOf(p.Order, "")), Limit: page.Limit, Offset: page.Offset, Cursor: valueOf(p.Cursor, "")}
	if query.Cursor != "" && query.Offset > 0 {
		return runs.ListQuery{}, requestErrors{{Location: "query.offset", Message: "must not be given together with cursor"}}
	}
	return query, nil
}

// filterOf is the one way to a [runs.Filter]: it reads the members that have names and types of the filter's parameters
// (Filter… in openapi.yaml) in the parameters of an operation, or in a RunFilter of a body. place says where in the
// request they stand.
func filterOf(params any, place string) (runs.Filter, error) {
	text, err := json.Marshal(params)
	if err != nil {
		return runs.Filter{}, fmt.Errorf("encode filter: %w", err)
	}
	var f ListRunsParams
	if err := json.Unmarshal(text, &f); err != nil {
		return runs.Filter{}, fmt.Errorf("read filter: %w", err)
	}
	filter := runs.Filter{
		ProjectID: f.ProjectId,
		Window:    time.Duration(valueOf(f.WindowSeconds, 0)) * time.Second,
		Kinds:     valueOf(f.Kind, nil), Search: valueOf(f.Search, ""),
		Name: valueOf(f.Name, ""), Model: valueOf(f.Model, ""), AgentName: valueOf(f.AgentName, ""),
		SessionID: valueOf(f.SessionId, ""), ConversationID: valueOf(f.ConversationId, ""), UserID: valueOf(f.UserId, ""),
		Tag: valueOf(f.Tag, ""), Environment: valueOf(f.Environment, ""), Release: valueOf(f.Release, ""),
		ErrorType: valueOf(f.ErrorType, ""), PromptID: valueOf(f.PromptId, ""), PromptVersion: valueOf(f.PromptVersion, ""),
		Fingerprint: valueOf(f.Fingerprint, ""),
		Metadata:    valueOf(f.Metadata, nil), MinCostUSD: f.MinCostUsd, MinTokens: f.MinTokens, HasScore: f.HasScore,
		MinDuration: time.Duration(valueOf(f.MinDurationMs, 0) * float64(time.Millisecond)),
	}
	for _, status := range valueOf(f.Status, nil) {
		filter.Statuses = append(filter.Statuses, string(status))
	}
	var invalid requestErrors
	for _, bound := range []struct {
		name  string
		value *time.Time
		to    *time.Time
	}{{"start_after", f.StartAfter, &filter.StartAfter}, {"start_before", f.StartBefore, &filter.StartBefore}} {
		if bound.value == nil {
			continue
		}
		if bound.value.Before(earliestStart) || bound.value.After(latestStart) {
			invalid = append(invalid, fieldError{
				Location: place + "." + bound.name, Message: "must be between 1970 and 2261", Value: bound.value.Format(time.RFC3339Nano),
			})
		}
		*bound.to = bound.value.UTC()
	}
	if len(invalid) > 0 {
		return runs.Filter{}, invalid
	}
	return filter, nil
}

// The store keeps times in 64 bits of nanoseconds.
var (
	earliestStart = time.Unix(0, 0)
	latestStart   = time.Date(2261, time.December, 31, 23, 59, 59, 0, time.UTC)
)

func runOf(r *runs.Run) Run {
	run := Run{
		RunId: r.RunID, ProjectId: r.ProjectID, Name: r.Name, Kind: r.Kind, Status: Status(r.Status),
		StartTime: r.StartTime.UTC(), EndTime: present(r.EndTime), DurationMs: elapsed(r.StartTime, r.EndTime),
		Inputs: r.Inputs, Outputs: r.Outputs, Truncated: r.Truncated, Cut: cutMembers(r.Cut),
		SessionId: known(r.SessionID), ConversationId: known(r.ConversationID), UserId: known(r.UserID),
		AgentName: known(r.AgentName), Tags: list(r.Tags), Metadata: r.Metadata,
		Environment: known(r.Environment), Release: known(r.Release),
		Prompt: promptOf(r.PromptID, r.PromptName, r.PromptVersion), Models: list(r.Models),
		Usage:   usageOf(r.InputTokens, r.OutputTokens, r.CacheReadTokens, r.CacheWriteTokens, r.ReasoningTokens),
		CostUsd: r.CostUSD, CostSource: costSourceOf(r.CostSource), UnpricedCallCount: count(r.UnpricedCallCount),
		SpanCount: count(r.SpanCount), ErrorCount: count(r.ErrorCount),
		LlmCallCount: count(r.LLMCallCount), ToolCallCount: count(r.ToolCallCount),
		Scores: scoresOf(r.Scores), ScoreCount: count(r.ScoreCount),
		Tools: list(r.Tools), Failure: failureOf(&r.Failure),
		ReceivedAt: r.FirstReceived.UTC(),
	}
	if run.Metadata == nil {
		run.Metadata = map[string]string{}
	}
	if r.ErrorType != "" || r.ErrorMessage != "" {
		run.Error = &RunError{Type: r.ErrorType, Message: r.ErrorMessage}
	}
	return run
}

// spanOf leaves payloads out unless the span was read whole.
func spanOf(s *runs.Span, whole bool) (Span, error) {
	span := Span{
		SpanId: runmodel.FormatSpanID(s.SpanID), RunId: s.RunID, Name: s.Name, Kind: s.EffectiveKind(),
		Operation: known(s.Operation), Status: Status(s.EffectiveStatus()),
		StartTime: s.StartTime.UTC(), EndTime: present(s.EndTime), DurationMs: elapsed(s.StartTime, s.EndTime),
		Depth: s.Depth, Dialect: known(s.Dialect), Provider: known(s.Provider), Framework: known(s.Framework),
		ServiceName: known(s.ServiceName), RequestModel: known(s.RequestModel), ResponseModel: known(s.ResponseModel),
		Inputs: s.Inputs, Outputs: s.Outputs, Truncated: s.Truncated, Cut: cutMembers(s.Cut),
		Usage:        usageOf(s.InputTokens, s.OutputTokens, s.CacheReadTokens, s.CacheWriteTokens, s.ReasoningTokens),
		UsageCounted: s.UsageCounted, CostUsd: s.CostUSD, CostSource: costSourceOf(s.CostSource), PriceVersion: known(s.PriceVersion),
		FinishReasons: list(s.FinishReasons),
		SessionId:     known(s.SessionID), ConversationId: known(s.ConversationID), UserId: known(s.UserID),
		AgentName: known(s.AgentName), Prompt: promptOf(s.PromptID, s.PromptName, s.PromptVersion),
		Scores: scoresOf(s.Scores),
	}
	if s.ParentSpanID != 0 {
		parent := runmodel.FormatSpanID(s.ParentSpanID)
		span.ParentSpanId = &parent
	}
	if s.ErrorType != "" || s.ErrorMessage != "" || s.ErrorStack != "" {
		span.Error = &SpanError{Type: s.ErrorType, Message: s.ErrorMessage, Stack: s.ErrorStack}
	}
	if s.ToolName != "" || s.ToolCallID != "" || s.ToolArguments != "" || s.ToolResult != "" {
		span.Tool = &ToolCall{
			Name: known(s.ToolName), CallId: known(s.ToolCallID), Arguments: known(s.ToolArguments), Result: known(s.ToolResult),
		}
	}
	if s.TimeToFirstToken != nil {
		if ms := *s.TimeToFirstToken * 1000; !math.IsInf(ms, 0) { // which no JSON can say
			span.TimeToFirstTokenMs = &ms
		}
	}
	if !whole {
		return span, nil
	}
	span.ScopeName, span.ScopeVersion = known(s.ScopeName), known(s.ScopeVersion)
	span.Attributes, span.ResourceAttributes = object(s.Attributes), object(s.ResourceAttributes)
	span.SystemInstructions, span.InputMessages, span.OutputMessages = all(s.SystemInstructions), all(s.InputMessages), all(s.OutputMessages)
	definitions := make([]any, len(s.ToolDefinitions))
	for i, definition := range s.ToolDefinitions {
		definitions[i] = definition
	}
	span.ToolDefinitions = &definitions
	events := make([]SpanEvent, len(s.Events))
	for i, event := range s.Events {
		events[i] = SpanEvent{Name: event.Name, Time: event.Time.UTC(), Attributes: *object(event.Attributes)}
	}
	span.Events = &events
	links := make([]SpanLink, len(s.Links))
	for i, link := range s.Links {
		run, err := uuid.Parse(link.RunID)
		if err != nil {
			return Span{}, fmt.Errorf("read run of link: %w", err)
		}
		links[i] = SpanLink{RunId: run, SpanId: link.SpanID, Attributes: *object(link.Attributes)}
	}
	span.Links = &links
	return span, nil
}

// usageOf is null where nothing is known. The total is the sum of what is: some calls have no output.
func usageOf(input, output, cacheRead, cacheWrite, reasoning *int64) *Usage {
	if input == nil && output == nil && cacheRead == nil && cacheWrite == nil && reasoning == nil {
		return nil
	}
	return &Usage{
		InputTokens: input, OutputTokens: output, CacheReadInputTokens: cacheRead,
		CacheWriteInputTokens: cacheWrite, ReasoningOutputTokens: reasoning, TotalTokens: totalOf(input, output),
	}
}

func totalOf(input, output *int64) *int64 {
	if input == nil && output == nil {
		return nil
	}
	total := valueOf(input, 0) + valueOf(output, 0)
	return &total
}

func promptOf(id, name, version string) *PromptRef {
	if id == "" && name == "" && version == "" {
		return nil
	}
	return &PromptRef{Id: known(id), Name: known(name), Version: known(version)}
}

func costSourceOf(source string) *CostSource {
	if source == "" {
		return nil
	}
	named := CostSource(source)
	return &named
}

// known is null for text that is not there.
func known(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// present is null for a time that is not there.
func present(t time.Time) *time.Time {
	if runmodel.IsAbsent(t) {
		return nil
	}
	return utc(&t)
}

func elapsed(start, end time.Time) *float64 {
	if runmodel.IsAbsent(end) {
		return nil
	}
	ms := float64(end.Sub(start)) / float64(time.Millisecond)
	return &ms
}

func count(n uint64) int64 { return int64(n) }

// list is never null in JSON.
func list(values []string) []string {
	if values == nil {
		return []string{}
	}
	return values
}

// cutMembers is absent where nothing was cut.
func cutMembers(members []string) *[]string {
	if len(members) == 0 {
		return nil
	}
	return &members
}

// all is never null in JSON.
func all[T any](values []T) *[]T {
	if values == nil {
		values = []T{}
	}
	return &values
}

// object is never null in JSON.
func object(members map[string]any) *map[string]any {
	if members == nil {
		members = map[string]any{}
	}
	return &members
}

func valueOf[T any](value *T, absent T) T {
	if value == nil {
		return absent
	}
	return *value
}
