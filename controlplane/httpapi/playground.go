package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/completions"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/controlplane/playground"
	"github.com/looptrace/looptrace/controlplane/prompts"
	"github.com/looptrace/looptrace/controlplane/prompts/prompttemplate"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/recording"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// defaultRounds is how often the model is called at most if the request does not say.
const defaultRounds = 5

const (
	// completionAttempts and completionWait limit the calls of a model: a person is waiting.
	completionAttempts = 3
	completionWait     = 60 * time.Second
)

type playgroundHandlers struct {
	playground  *playground.Service
	completions *completions.Service
	providers   *providers.Service
	prompts     *prompts.Service
	runs        *runs.Service
}

// CreateCompletion calls a model.
func (h playgroundHandlers) CreateCompletion(ctx context.Context, req contract.CreateCompletionRequestObject) (contract.CreateCompletionResponseObject, error) {
	request, err := h.request(ctx, req.Body)
	if err != nil {
		return nil, err
	}
	grant := grantOf(ctx)
	caller := completions.Caller{
		Projects: grant.Only(req.Body.ProjectId), Project: req.Body.ProjectId, Feature: providers.FeaturePlayground, Source: runmodel.SourcePlayground,
		User: grant.CreatedBy(), KeyName: grant.CreatedByKey(), Attempts: completionAttempts, MaxWait: completionWait,
	}
	if user := grant.Principal.User; user != nil {
		caller.Email = user.Email
	}
	completing, err := h.completions.Begin(ctx, &caller, &request.Request)
	if err != nil {
		return nil, err
	}
	if valueOf(req.Body.Stream, false) {
		return &completionStream{ctx: ctx, completing: completing, target: access.Target{Project: req.Body.ProjectId}}, nil
	}
	done, err := completing.Complete(ctx, nil)
	if err != nil {
		return nil, err
	}
	return contract.CreateCompletion200JSONResponse(completionOf(&done)), nil
}

// renderedRequest is a completion to make, with what its rendering told.
type renderedRequest struct {
	completions.Request
	unused []string
	// whole is all of it.
	whole prompts.Rendered
}

// request renders the messages of a completion.
func (h playgroundHandlers) request(ctx context.Context, body *contract.CompletionCreate) (*renderedRequest, error) {
	out := &renderedRequest{Request: completions.Request{
		Provider: body.ProviderId, MaxRounds: valueOf(body.MaxRounds, defaultRounds), AllowUnpriced: valueOf(body.AllowUnpriced, false),
		ThreadID: valueOf(body.ThreadId, ""), Variables: valueOf(body.Variables, nil), ToolAnswers: map[string]completions.ToolAnswer{},
	}}
	if body.MaxCostUsd != nil {
		out.MaxCost = new(providers.MoneyOf(*body.MaxCostUsd))
	}
	for name, answer := range valueOf(body.ToolAnswers, nil) {
		if (answer.Content == nil) == (answer.Recorded == nil) {
			return nil, problem.InvalidField("body.tool_answers."+name, "must have either content or recorded")
		}
		kept := completions.ToolAnswer{Content: answer.Content}
		for _, recorded := range valueOf(answer.Recorded, nil) {
			kept.Recorded = append(kept.Recorded, completions.RecordedResult{Arguments: recorded.Arguments, Content: recorded.Content})
		}
		out.ToolAnswers[name] = kept
	}
	values := valuesOf(body.Variables, body.Placeholders)
	content := prompts.Content{ModelConfig: json.RawMessage(`{}`), Missing: prompttemplate.MissingError}
	unused := slices.Collect(maps.Keys(values.Variables))
	unused = slices.AppendSeq(unused, maps.Keys(values.Placeholders))
	switch {
	case body.Prompt != nil:
		version, err := versionOf(ctx, h.prompts, body.ProjectId, "body.prompt", body.Prompt)
		if err != nil {
			return nil, err
		}
		rendered, err := prompts.Render(&version, values)
		if err != nil {
			return nil, err
		}
		content = version.Content
		out.Messages, unused = rendered.Messages, both(unused, rendered.Unused)
		out.Prompt = &recording.Prompt{ID: version.PromptID.String(), Name: version.Name, Version: version.Version, Alias: valueOf(body.Prompt.Alias, "")}
	case body.Messages == nil:
		return nil, problem.InvalidField("body.messages", "is missing: give messages, or a prompt")
	}
	if body.Messages != nil {
		format := valueOf(body.TemplateFormat, contract.PromptTemplateFormatNone)
		draft := prompts.NewVersion{Content: prompts.Content{Messages: *body.Messages, TemplateFormat: string(format)}}
		rendered, _, err := prompts.RenderDraft("body", draft, values)
		if err != nil {
			return nil, err
		}
		unused = both(unused, rendered.Unused)
		if format == contract.PromptTemplateFormatNone {
			rendered.Messages = *body.Messages // as they were sent
		}
		out.Messages = append(out.Messages, rendered.Messages...)
	}
	if body.Tools != nil {
		content.Tools = *body.Tools
	}
	if body.ResponseFormat != nil {
		content.ResponseFormat = *body.ResponseFormat
	}
	config, err := mergedConfig(content.ModelConfig, valueOf(body.ModelConfig, nil))
	if err != nil {
		return nil, err
	}
	content.ModelConfig = config
	// It checks the whole.
	whole, _, err := prompts.RenderDraft("body", prompts.NewVersion{Content: prompts.Content{
		Messages: out.Messages, Tools: content.Tools, ResponseFormat: content.ResponseFormat, ModelConfig: config, TemplateFormat: string(contract.PromptTemplateFormatNone),
	}}, prompts.Values{})
	if err != nil {
		return nil, err
	}
	out.Tools, out.ResponseFormat, out.unused, out.whole = content.Tools, withoutNull(content.ResponseFormat), unused, whole
	slices.Sort(out.unused)
	if err := json.Unmarshal(config, &out.Config); err != nil {
		return nil, problem.InvalidField("body.model_config", "is not valid: "+err.Error())
	}
	return out, nil
}

func withoutNull(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// both returns the names that are in both lists.
func both(a, b []string) []string {
	return slices.DeleteFunc(a, func(name string) bool { return !slices.Contains(b, name) })
}

// mergedConfig returns the parameters of a prompt with those of the request, which win. A null takes one of the prompt away.
func mergedConfig(base, over json.RawMessage) (json.RawMessage, error) {
	merged := map[string]json.RawMessage{}
	for _, part := range []json.RawMessage{base, over} {
		if len(part) == 0 {
			continue
		}
		if err := json.Unmarshal(part, &merged); err != nil {
			return nil, fmt.Errorf("read a model configuration: %w", err)
		}
	}
	maps.DeleteFunc(merged, func(_ string, value json.RawMessage) bool { return jsontext.IsNull(value) })
	text, err := json.Marshal(merged)
	if err != nil {
		return nil, fmt.Errorf("encode a model configuration: %w", err)
	}
	return text, nil
}

// versionOf returns the version of a prompt of a project that a request names at a location.
func versionOf(ctx context.Context, registry *prompts.Service, project uuid.UUID, location string, named *contract.CompletionPrompt) (prompts.Version, error) {
	grant := grantOf(ctx)
	grant.Projects = grant.Only(project)
	if !grant.Allows(project, apikey.ScopePromptsRead) {
		return prompts.Version{}, &problem.Error{Kind: problem.Forbidden, Code: "scope_missing", Detail: "Prompts need the scope prompts:read."}
	}
	var (
		version prompts.Version
		err     error
	)
	switch {
	case (named.Id == nil) == (named.Name == nil):
		return version, problem.InvalidField(location, "must have either id or name")
	case named.Alias != nil && named.Version != nil:
		return version, problem.InvalidField(location, "must not have both version and alias")
	case named.Name != nil:
		version, err = registry.Resolve(ctx, grant, *named.Name, valueOf(named.Alias, ""), valueOf(named.Version, 0))
	case named.Version != nil:
		version, err = registry.GetVersion(ctx, grant, *named.Id, *named.Version)
	default:
		_, version, err = registry.GetAlias(ctx, grant, *named.Id, valueOf(named.Alias, prompts.AliasLatest))
	}
	if problem.Is(err, problem.NotFound) {
		return version, problem.InvalidField(location, "is no version of a prompt of the project")
	}
	return version, err
}

func completionOf(c *completions.Completion) contract.Completion {
	done := contract.Completion{
		RunId: c.Run, Message: c.Message, AddedMessages: c.Added, StopReason: contract.CompletionStopReason(c.StopReason), Rounds: c.Rounds,
		Attempts: c.Attempts, DurationMs: milliseconds(c.Duration), Warnings: c.Warnings,
		Usage: contract.CompletionUsage{
			InputTokens: c.Usage.Input, OutputTokens: c.Usage.Output, CacheReadInputTokens: c.Usage.CacheRead, CacheWriteInputTokens: c.Usage.CacheWrite,
			ReasoningOutputTokens: c.Usage.Reasoning,
		},
	}
	if last := c.Last.Result; last != nil {
		done.FinishReason, done.Model = known(last.FinishReason), known(last.Model)
		done.ResponseId, done.SystemFingerprint = known(last.ResponseID), known(last.Fingerprint)
	}
	if c.Last.Strategy != "" {
		done.OutputStrategy = new(contract.OutputStrategy(c.Last.Strategy))
	}
	if c.Cost != nil {
		done.CostUsd = new(c.Cost.Dollars())
	}
	if c.TimeToFirstToken > 0 {
		done.TimeToFirstTokenMs = new(milliseconds(c.TimeToFirstToken))
	}
	return done
}

// PreviewCompletion shows the exact request of a completion.
func (h playgroundHandlers) PreviewCompletion(ctx context.Context, req contract.PreviewCompletionRequestObject) (contract.PreviewCompletionResponseObject, error) {
	request, err := h.request(ctx, req.Body)
	if err != nil {
		return nil, err
	}
	model, err := request.ModelRequest()
	if err != nil {
		return nil, err
	}
	call := providers.Call{Request: model}
	if valueOf(req.Body.Stream, false) {
		call.OnDelta = func(llm.Delta) error { return nil }
	}
	preview, err := h.providers.Preview(ctx, grantOf(ctx).Only(req.Body.ProjectId), request.Provider, call)
	if problem.Is(err, problem.NotFound) {
		err = problem.InvalidField("body.provider_id", "is no connection of the project")
	}
	if err != nil {
		return nil, err
	}
	tokens, err := request.whole.Tokens()
	if err != nil {
		return nil, err
	}
	curl, python := playground.Code(&preview)
	shown := contract.PreviewCompletion200JSONResponse{
		Method: preview.Method, Url: preview.URL, Headers: preview.Headers, Body: preview.Body, Curl: curl, Python: python,
		InputTokens: tokens, Priced: preview.Priced, Unused: list(request.unused), Warnings: []string{},
	}
	if preview.Most != nil {
		shown.MaxCostUsd = new(preview.Most.Dollars())
	}
	for _, note := range preview.Notes {
		shown.Warnings = append(shown.Warnings, note.Parameter+": "+note.Message)
	}
	return shown, nil
}
