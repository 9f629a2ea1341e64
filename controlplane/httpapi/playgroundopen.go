package httpapi

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/llm/openaichat"
	"github.com/looptrace/looptrace/controlplane/playground"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/runmodel"
)

const (
	// keyContentState is the attribute in which ingest notes that messages were not recorded.
	keyContentState             = "looptrace.content.state"
	kindModelCall, kindToolCall = "llm", "tool"
	// maxOpenedSpans is how many spans of a run are looked at for model calls and results of tools.
	maxOpenedSpans = 5000
	// maxRecordedResults is how many results of tools are restored.
	maxRecordedResults = 200
	// maxAncestors is how many spans above a model call are looked at for tools and messages.
	maxAncestors = 5
	// maxLaterCalls is how many later model calls are looked at for one that goes on from the answer.
	maxLaterCalls = 20
)

// OpenInPlayground turns a recorded model call into a playground.
func (h playgroundHandlers) OpenInPlayground(ctx context.Context, req contract.OpenInPlaygroundRequestObject) (contract.OpenInPlaygroundResponseObject, error) {
	grant := grantOf(ctx)
	spans, err := h.spansOf(ctx, grant.Projects, req.Body.RunId)
	if err != nil {
		return nil, err
	}
	at := -1
	for i := range spans {
		id := runmodel.FormatSpanID(spans[i].SpanID)
		if req.Body.SpanId != nil && id == *req.Body.SpanId || req.Body.SpanId == nil && spans[i].EffectiveKind() == kindModelCall {
			at = i
		}
	}
	switch {
	case at < 0 && req.Body.SpanId != nil:
		return nil, problem.InvalidField("body.span_id", "is no span of the run")
	case at < 0:
		return nil, problem.InvalidField("body.run_id", "is a run without a model call")
	case spans[at].EffectiveKind() != kindModelCall:
		return nil, problem.InvalidField("body.span_id", "is no model call")
	}
	span, err := h.runs.Span(ctx, grant.Projects, req.Body.RunId, runmodel.FormatSpanID(spans[at].SpanID))
	if err != nil {
		return nil, err
	}
	recorded, err := recordedOf(&span)
	if err != nil {
		return nil, err
	}
	opening := openedRun{h.runs, grant.Projects, req.Body.RunId, spans}
	if err := opening.addSchema(ctx, &span, recorded); err != nil {
		return nil, err
	}
	if err := opening.addAbove(ctx, &span, recorded); err != nil {
		return nil, err
	}
	if err := opening.addLater(ctx, at, recorded); err != nil {
		return nil, err
	}
	if err := opening.addResults(ctx, at, recorded); err != nil {
		return nil, err
	}
	opened, err := playground.Open(recorded)
	if err != nil {
		return nil, err
	}
	answer := contract.OpenInPlayground200JSONResponse{
		RunId: req.Body.RunId, SpanId: runmodel.FormatSpanID(span.SpanID), Messages: opened.Messages, Tools: append([]contract.PromptTool{}, opened.Tools...), ResponseFormat: objectOrNull(opened.ResponseFormat),
		ModelConfig: opened.Config, Provider: known(span.Provider), ToolAnswers: map[string]contract.ToolAnswer{}, NotRestored: make([]contract.NotRestored, len(opened.NotRestored)),
	}
	if opened.Output != nil {
		answer.Output = &opened.Output
	}
	if span.PromptName != "" || span.PromptID != "" {
		answer.Prompt = &contract.PromptRef{Id: known(span.PromptID), Name: known(span.PromptName), Version: known(span.PromptVersion)}
	}
	for i, one := range opened.NotRestored {
		answer.NotRestored[i] = contract.NotRestored{What: one.What, Reason: one.Reason}
	}
	for name, results := range opened.ToolAnswers {
		kept := make([]contract.RecordedToolResult, len(results.Recorded))
		for i, one := range results.Recorded {
			kept[i] = contract.RecordedToolResult{Arguments: one.Arguments, Content: one.Content}
		}
		answer.ToolAnswers[name] = contract.ToolAnswer{Recorded: &kept}
	}
	answer.ProviderId, err = h.fitting(ctx, grant, span.ProjectID, span.Provider)
	return answer, err
}

// spansOf returns the spans of a run without their payloads, in start order.
func (h playgroundHandlers) spansOf(ctx context.Context, projects access.Projects, run uuid.UUID) ([]runs.Span, error) {
	var all []runs.Span
	query := runs.SpansQuery{Limit: 500}
	for {
		page, err := h.runs.Spans(ctx, projects, run, query)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Spans...)
		if !page.HasMore || len(all) >= maxOpenedSpans {
			return all, nil
		}
		query.Cursor = page.NextCursor
	}
}

// recordedOf returns a model call as a playground reads it.
func recordedOf(span *runs.Span) (*playground.Recorded, error) {
	messages, err := openaichat.Messages(span.SystemInstructions, span.InputMessages)
	if err != nil {
		return nil, fmt.Errorf("convert messages: %w", err)
	}
	output, err := openaichat.Messages(nil, span.OutputMessages)
	if err != nil {
		return nil, fmt.Errorf("convert messages: %w", err)
	}
	tools, err := openaichat.Tools(span.ToolDefinitions)
	if err != nil {
		return nil, fmt.Errorf("convert tools: %w", err)
	}
	recorded := &playground.Recorded{
		Messages: messages, Output: output, Tools: tools, Model: span.RequestModel, Attributes: maps.Clone(span.Span.Attributes),
	}
	if recorded.Model == "" {
		recorded.Model = span.ResponseModel
	}
	if recorded.Attributes == nil {
		recorded.Attributes = map[string]string{}
	}
	maps.Copy(recorded.Attributes, span.AttributesJSON)
	switch state := recorded.Attributes[keyContentState]; {
	case state != "":
		recorded.Cut = append(recorded.Cut, playground.NotRestored{What: "messages", Reason: "were recorded as " + state})
	case span.Truncated:
		recorded.Cut = append(recorded.Cut, playground.NotRestored{What: "messages", Reason: "were too large and are cut"})
	}
	return recorded, nil
}

// openedRun is the run of a model call that is opened.
type openedRun struct {
	runs     *runs.Service
	projects access.Projects
	id       uuid.UUID
	spans    []runs.Span // in start order, without payloads
}

func (r *openedRun) span(ctx context.Context, id uint64) (runs.Span, error) {
	return r.runs.Span(ctx, r.projects, r.id, runmodel.FormatSpanID(id))
}

// addSchema adds the schema of the answer where the Vercel AI SDK records it: in the span above the model call.
func (r *openedRun) addSchema(ctx context.Context, span *runs.Span, to *playground.Recorded) error {
	above := slices.IndexFunc(r.spans, func(one runs.Span) bool { return one.SpanID == span.ParentSpanID })
	if above < 0 || !strings.Contains(to.Attributes["ai.operationId"], "Object.do") {
		return nil
	}
	parent, err := r.span(ctx, span.ParentSpanID)
	if err != nil {
		return err
	}
	for _, attributes := range []map[string]string{parent.Span.Attributes, parent.AttributesJSON} {
		for _, key := range []string{"ai.schema", "ai.schema.name", "ai.schema.description", "ai.settings.output"} {
			if value, ok := attributes[key]; ok {
				to.Attributes[key] = value
			}
		}
	}
	return nil
}

// addAbove adds what only spans above a model call have: the tools of its agent, and the messages where an instrumentation
// and an SDK record the same call one below the other.
func (r *openedRun) addAbove(ctx context.Context, span *runs.Span, to *playground.Recorded) error {
	parent := span.ParentSpanID
	for range maxAncestors {
		at := slices.IndexFunc(r.spans, func(one runs.Span) bool { return one.SpanID == parent })
		if at < 0 || len(to.Tools) > 0 && len(to.Messages) > 0 {
			return nil
		}
		above, err := r.span(ctx, parent)
		if err != nil {
			return err
		}
		recorded, err := recordedOf(&above)
		if err != nil {
			return err
		}
		note := func(what string) {
			to.Cut = append(to.Cut, playground.NotRestored{What: what, Reason: fmt.Sprintf("are those of %s above the call, which did not record its own", above.Name)})
		}
		if len(to.Tools) == 0 && len(recorded.Tools) > 0 {
			to.Tools = recorded.Tools
			note("tools")
		}
		if len(to.Messages) == 0 && len(recorded.Messages) > 0 && above.EffectiveKind() == kindModelCall {
			to.Messages, to.Output = recorded.Messages, recorded.Output
			note("messages")
		}
		parent = above.ParentSpanID
	}
	return nil
}

// addLater adds the messages of the last model call that goes on from the answer.
func (r *openedRun) addLater(ctx context.Context, at int, to *playground.Recorded) error {
	var ids []string
	for _, message := range to.Output {
		ids = append(ids, playground.CallIDs(message)...)
	}
	looked := 0
	for i := len(r.spans) - 1; i > at && len(ids) > 0 && looked < maxLaterCalls; i-- {
		if r.spans[i].EffectiveKind() != kindModelCall {
			continue
		}
		looked++
		span, err := r.span(ctx, r.spans[i].SpanID)
		if err != nil {
			return err
		}
		messages, err := openaichat.Messages(nil, span.InputMessages)
		if err != nil {
			return fmt.Errorf("convert messages: %w", err)
		}
		for _, message := range messages {
			if slices.ContainsFunc(playground.CallIDs(message), func(id string) bool { return slices.Contains(ids, id) }) {
				to.Later = messages
				return nil
			}
		}
	}
	return nil
}

// addResults adds the results of the tools that were called after a model call.
func (r *openedRun) addResults(ctx context.Context, at int, to *playground.Recorded) error {
	for _, later := range r.spans[at+1:] {
		if later.EffectiveKind() != kindToolCall {
			continue
		}
		if len(to.Calls) == maxRecordedResults {
			to.Cut = append(to.Cut, playground.NotRestored{What: "tool_answers", Reason: fmt.Sprintf("are the first %d of the run", maxRecordedResults)})
			return nil
		}
		span, err := r.span(ctx, later.SpanID)
		if err != nil {
			return err
		}
		call := playground.RecordedCall{Name: span.ToolName, Arguments: span.ToolArguments, Result: span.ToolResult}
		if call.Name == "" {
			call.Name = span.Name
		}
		if call.Result == "" && span.Outputs != nil {
			call.Result = *span.Outputs
		}
		if span.Status == string(contract.StatusError) {
			call.Failure = "failed in the run"
			if span.ErrorMessage != "" {
				call.Failure += ": " + span.ErrorMessage
			}
		}
		to.Calls = append(to.Calls, call)
	}
	return nil
}

// fitting returns the connection of the project that a recorded provider's calls may use: the only one with its name, else the only one.
func (h playgroundHandlers) fitting(ctx context.Context, grant access.Grant, project uuid.UUID, provider string) (*uuid.UUID, error) {
	if !grant.Allows(project, apikey.ScopeEvalsRead) {
		return nil, nil //nolint:nilnil // the caller may not see connections
	}
	connections, err := h.providers.ListIn(ctx, project, postgres.Page{Limit: 100})
	if err != nil {
		return nil, err
	}
	var named []providers.Provider
	for _, one := range connections {
		if one.SpanName() == provider {
			named = append(named, one)
		}
	}
	switch {
	case len(named) == 1:
		return &named[0].ID, nil
	case len(named) == 0 && len(connections) == 1:
		return &connections[0].ID, nil
	}
	return nil, nil //nolint:nilnil // none fits, or several do
}
