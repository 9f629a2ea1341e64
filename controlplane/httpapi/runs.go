package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/google/uuid"
	fastjson "github.com/segmentio/encoding/json"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/prompts"
	"github.com/looptrace/looptrace/controlplane/rules"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/internal/problem"
)

type runHandlers struct {
	runs    runStore
	prompts *prompts.Service
	rules   *rules.Service
}

type runStore interface {
	List(ctx context.Context, in access.Projects, q runs.ListQuery) (runs.Page, error)
	Get(ctx context.Context, in access.Projects, runID uuid.UUID) (runs.Run, error)
	Spans(ctx context.Context, in access.Projects, runID uuid.UUID, q runs.SpansQuery) (runs.SpanPage, error)
	Span(ctx context.Context, in access.Projects, runID uuid.UUID, spanID string) (runs.Span, error)
	Delete(ctx context.Context, in access.Projects, d runs.Deletion) (runs.Deleted, error)
}

// defaultSpans is the length of a page of spans if the request has no limit.
const defaultSpans = 1000

// ListRuns lists a project's runs.
func (h runHandlers) ListRuns(ctx context.Context, req contract.ListRunsRequestObject) (contract.ListRunsResponseObject, error) {
	query, err := listQuery(req.Params)
	if err != nil {
		return nil, err
	}
	page, err := h.runs.List(ctx, grantOf(ctx).Projects, query)
	if err != nil {
		return nil, err
	}
	data := make([]contract.Run, len(page.Runs))
	for i := range page.Runs {
		data[i] = runOf(&page.Runs[i])
	}
	answer := contract.ListRuns200JSONResponse{
		Data: data, Limit: query.Limit, Offset: query.Offset, HasMore: page.HasMore, NextCursor: known(page.NextCursor),
	}
	if page.Partial {
		answer.Partial, answer.SearchedTo = &page.Partial, utc(&page.SearchedTo)
	}
	return answer, nil
}

// GetRun reads one run.
func (h runHandlers) GetRun(ctx context.Context, req contract.GetRunRequestObject) (contract.GetRunResponseObject, error) {
	run, err := h.runs.Get(ctx, grantOf(ctx).Projects, req.RunId)
	if err != nil {
		return nil, err
	}
	linked, err := h.prompts.WithTexts(ctx, run.ProjectID, run.SystemTextIDs)
	if err != nil {
		return nil, err
	}
	answer := runOf(&run)
	for _, p := range linked {
		answer.Prompts = append(answer.Prompts, *promptOf(p.ID.String(), p.Name, strconv.Itoa(p.Version)))
	}
	return contract.GetRun200JSONResponse(answer), nil
}

// ListSpans lists a run's spans.
func (h runHandlers) ListSpans(ctx context.Context, req contract.ListSpansRequestObject) (contract.ListSpansResponseObject, error) {
	query := runs.SpansQuery{
		Full: valueOf(req.Params.Full, false), Limit: valueOf(req.Params.Limit, defaultSpans), Cursor: valueOf(req.Params.Cursor, ""),
	}
	page, err := h.runs.Spans(ctx, grantOf(ctx).Projects, req.RunId, query)
	if err != nil {
		return nil, err
	}
	data := make([]contract.Span, len(page.Spans))
	for i := range page.Spans {
		if data[i], err = spanOf(&page.Spans[i], query.Full); err != nil {
			return nil, err
		}
	}
	return spanPage{
		Data: data, Limit: query.Limit, HasMore: page.HasMore, NextCursor: known(page.NextCursor), SpanCount: int64(page.SpanCount),
	}, nil
}

// spanPage is a [SpanPage] that is encoded with a faster encoder than the generated answers, with the same result. It halves the encoding
// time of a thousand spans and saves a tenth of their read time.
type spanPage contract.SpanPage

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

// GetSpan reads one span in full.
func (h runHandlers) GetSpan(ctx context.Context, req contract.GetSpanRequestObject) (contract.GetSpanResponseObject, error) {
	span, err := h.runs.Span(ctx, grantOf(ctx).Projects, req.RunId, req.SpanId)
	if err != nil {
		return nil, err
	}
	answer, err := spanOf(&span, true)
	if err != nil {
		return nil, err
	}
	return contract.GetSpan200JSONResponse(answer), nil
}

// DeleteRuns deletes runs, or only counts them.
func (h runHandlers) DeleteRuns(ctx context.Context, req contract.DeleteRunsRequestObject) (contract.DeleteRunsResponseObject, error) {
	d, err := deletionOf(req.Body)
	if err != nil {
		return nil, err
	}
	projects := grantOf(ctx).Projects
	d.Forget = func(ctx context.Context, ids []uuid.UUID) error { return h.rules.Forget(ctx, projects, ids) }
	result, err := h.runs.Delete(ctx, projects, d)
	if err != nil {
		return nil, err
	}
	return contract.DeleteRuns200JSONResponse{
		DryRun: d.DryRun, Matched: count(result.Matched), Deleted: count(result.Deleted),
		HasMore: !d.DryRun && result.Deleted < result.Matched, AsOf: result.AsOf,
	}, nil
}

func deletionOf(body *contract.RunDelete) (runs.Deletion, error) {
	d := runs.Deletion{DryRun: valueOf(body.DryRun, false)}
	if body.ReceivedBefore != nil {
		if err := validate.Time("body.received_before", *body.ReceivedBefore); err != nil {
			return d, err
		}
		d.ReceivedBefore = body.ReceivedBefore.UTC()
	}
	switch {
	case body.Filter != nil && body.RunIds != nil:
		return d, problem.InvalidField("body.filter", "must not be given together with run_ids")
	case body.Filter != nil && body.ProjectId != nil:
		return d, problem.InvalidField("body.project_id", "stands in the filter")
	case body.Filter != nil:
		filter, err := runFilter(body.Filter, "body.filter")
		d.Filter = filter
		return d, err
	case body.RunIds == nil:
		return d, problem.InvalidField("body.run_ids", "is required, or filter")
	case body.ProjectId == nil:
		return d, problem.InvalidField("body.project_id", "is required with run_ids")
	}
	d.ProjectID, d.RunIDs = *body.ProjectId, *body.RunIds
	return d, nil
}

func listQuery(p contract.ListRunsParams) (runs.ListQuery, error) {
	page := pageOf(p.Limit, p.Offset)
	filter, err := filterOf(p)
	if err != nil {
		return runs.ListQuery{}, err
	}
	query := runs.ListQuery{Filter: filter, Order: string(valueOf(p.Order, "")), Limit: page.Limit, Offset: page.Offset, Cursor: valueOf(p.Cursor, ""), ScoreNames: valueOf(p.ScoreName, nil)}
	if query.Cursor != "" && query.Offset > 0 {
		return runs.ListQuery{}, problem.InvalidField("query.offset", "must not be given together with cursor")
	}
	return query, nil
}

func runOf(r *runs.Run) contract.Run {
	run := contract.Run{
		RunId: r.RunID, ProjectId: r.ProjectID, Name: r.Name, Kind: r.Kind, Status: contract.Status(r.Status), Outcome: contract.Outcome(r.Outcome()), Genai: r.GenAI, Source: contract.RunSource(r.Source),
		Replayability: listedReplayability(r.Replayability), StartTime: r.StartTime.UTC(), EndTime: present(r.EndTime), DurationMs: elapsed(r.StartTime, r.EndTime),
		Inputs: r.Inputs, Outputs: r.Outputs, Truncated: r.Truncated, Cut: cutMembers(r.Cut),
		SessionId: known(r.SessionID), ConversationId: known(r.ConversationID), UserId: known(r.UserID),
		AgentName: known(r.AgentName), Tags: list(r.Tags), Metadata: r.Metadata,
		Environment: known(r.Environment), Release: known(r.Release), AgentRelease: known(r.AgentRelease),
		Prompt: promptOf(r.PromptID, r.PromptName, r.PromptVersion), Prompts: promptsOf(&r.Run), Models: list(r.Models),
		Usage:   usageOf(r.InputTokens, r.OutputTokens, r.CacheReadTokens, r.CacheWriteTokens, r.ReasoningTokens, r.OtherTokens),
		CostUsd: r.CostUSD, CostSource: costSourceOf(r.CostSource), UnpricedCallCount: count(r.UnpricedCallCount),
		SpanCount: count(r.SpanCount), ErrorCount: count(r.ErrorCount),
		LlmCallCount: count(r.LLMCallCount), ToolCallCount: count(r.ToolCallCount),
		Scores: scoresOf(r.Scores), ScoreCount: count(r.ScoreCount),
		Tools: list(r.Tools), Failure: failureOf(&r.Failure), FailedScores: failedScoresOf(r.FailedScores), Signals: runSignalsOf(&r.Run), UnknownSignals: unknownSignalsOf(&r.Run),
		ReceivedAt: r.FirstReceived.UTC(),
	}
	if run.Metadata == nil {
		run.Metadata = map[string]string{}
	}
	if r.ScoreSummaries != nil {
		summaries := scoreSummariesOf(r.ScoreSummaries)
		run.ScoreSummaries = &summaries
	}
	if r.ErrorType != "" || r.ErrorMessage != "" {
		run.Error = &contract.RunError{Type: r.ErrorType, Message: r.ErrorMessage}
	}
	return run
}
