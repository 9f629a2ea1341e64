package httpapi

import (
	"fmt"
	"math"
	"strconv"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// spanOf leaves payloads out unless the span was read in full.
func spanOf(s *runs.Span, whole bool) (contract.Span, error) {
	span := contract.Span{
		SpanId: runmodel.FormatSpanID(s.SpanID), RunId: s.RunID, Name: s.Name, Kind: s.EffectiveKind(),
		Operation: known(s.Operation), Status: contract.Status(s.EffectiveStatus()),
		StartTime: s.StartTime.UTC(), EndTime: present(s.EndTime), DurationMs: elapsed(s.StartTime, s.EndTime),
		Depth: s.Depth, Dialect: known(s.Dialect), Provider: known(s.Provider), Framework: known(s.Framework),
		ServiceName: known(s.ServiceName), RequestModel: known(s.RequestModel), ResponseModel: known(s.ResponseModel),
		Inputs: s.Inputs, Outputs: s.Outputs, Truncated: s.Truncated, Cut: cutMembers(s.Cut),
		Usage:        usageOf(s.InputTokens, s.OutputTokens, s.CacheReadTokens, s.CacheWriteTokens, s.ReasoningTokens, s.OtherTokens),
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
		span.Error = &contract.SpanError{Type: s.ErrorType, Message: s.ErrorMessage, Stack: s.ErrorStack}
	}
	if s.ToolName != "" || s.ToolCallID != "" || s.ToolArguments != "" || s.ToolResult != "" {
		span.Tool = &contract.ToolCall{
			Name: known(s.ToolName), CallId: known(s.ToolCallID), Arguments: known(s.ToolArguments), Result: known(s.ToolResult),
		}
	}
	if s.TimeToFirstToken != nil {
		if ms := *s.TimeToFirstToken * 1000; !math.IsInf(ms, 0) { // JSON has no infinity
			span.TimeToFirstTokenMs = &ms
		}
	}
	if !whole {
		return span, nil
	}
	span.ComputedCostUsd = computedCost(s)
	span.ScopeName, span.ScopeVersion = known(s.ScopeName), known(s.ScopeVersion)
	span.Attributes, span.ResourceAttributes = object(s.Attributes), object(s.ResourceAttributes)
	span.SystemInstructions, span.InputMessages, span.OutputMessages = all(s.SystemInstructions), all(s.InputMessages), all(s.OutputMessages)
	definitions := make([]any, len(s.ToolDefinitions))
	for i, definition := range s.ToolDefinitions {
		definitions[i] = definition
	}
	span.ToolDefinitions = &definitions
	events := make([]contract.SpanEvent, len(s.Events))
	for i, event := range s.Events {
		events[i] = contract.SpanEvent{Name: event.Name, Time: event.Time.UTC(), Attributes: *object(event.Attributes)}
	}
	span.Events = &events
	links := make([]contract.SpanLink, len(s.Links))
	for i, link := range s.Links {
		run, err := uuid.Parse(link.RunID)
		if err != nil {
			return contract.Span{}, fmt.Errorf("read run of link: %w", err)
		}
		links[i] = contract.SpanLink{RunId: run, SpanId: link.SpanID, Attributes: *object(link.Attributes)}
	}
	span.Links = &links
	return span, nil
}

// computedCost returns what the tokens of a span cost by the prices if its client sent another cost, else nil.
func computedCost(s *runs.Span) *float64 {
	usd, err := strconv.ParseFloat(s.AttributesJSON[runmodel.KeyComputedCostUSD], 64)
	if err != nil {
		return nil
	}
	return &usd
}

// usageOf returns nil if nothing is known. The total is the sum of the known parts: some calls have no output.
func usageOf(input, output, cacheRead, cacheWrite, reasoning, other *int64) *contract.Usage {
	if input == nil && output == nil && cacheRead == nil && cacheWrite == nil && reasoning == nil && other == nil {
		return nil
	}
	return &contract.Usage{
		InputTokens: input, OutputTokens: output, CacheReadInputTokens: cacheRead,
		CacheWriteInputTokens: cacheWrite, ReasoningOutputTokens: reasoning, OtherTokens: other, TotalTokens: totalOf(input, output, other),
	}
}

func totalOf(parts ...*int64) (total *int64) {
	for _, part := range parts {
		if part != nil {
			total = new(valueOf(total, 0) + *part)
		}
	}
	return total
}

func promptOf(id, name, version string) *contract.PromptRef {
	if id == "" && name == "" && version == "" {
		return nil
	}
	return &contract.PromptRef{Id: known(id), Name: known(name), Version: known(version)}
}

func promptsOf(r *runmodel.Run) []contract.PromptRef {
	prompts := make([]contract.PromptRef, len(r.PromptIDs))
	for i := range prompts {
		prompts[i] = contract.PromptRef{Id: known(r.PromptIDs[i]), Name: known(r.PromptNames[i]), Version: known(r.PromptVersions[i])}
	}
	return prompts
}

func listedReplayability(level string) *contract.Replayability {
	if level == "" {
		return nil
	}
	known := contract.Replayability(level)
	return &known
}

func costSourceOf(source string) *contract.CostSource {
	if source == "" {
		return nil
	}
	named := contract.CostSource(source)
	return &named
}
