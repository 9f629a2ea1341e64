package completions

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/recording"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// begin begins the run of the completion.
func (c *Completing) begin() {
	c.run = recording.Run{
		Project: c.caller.Project, Source: c.caller.Source, ID: c.out.Run, Name: c.caller.Source, Kind: "task", Start: c.now(),
		ThreadID: c.request.ThreadID, Prompt: c.request.Prompt, Metadata: map[string]any{"provider_id": c.connection.Provider.ID, "provider": c.connection.Provider.Name},
	}
	c.run.UserID = c.caller.Email
	maps.Copy(c.run.Metadata, c.caller.Metadata)
	if c.request.Prompt != nil && c.request.Prompt.Name != "" {
		c.run.Name = c.request.Prompt.Name
	}
	if len(c.request.Variables) > 0 {
		c.run.Metadata["variables"] = c.request.Variables
	}
	c.run.Inputs = lastUserContent(c.request.Messages)
}

// record records the run.
func (c *Completing) record(ctx context.Context, err error) {
	c.run.End = c.now()
	c.run.Status, c.run.Failure = failureOf(err)
	if c.out.Message != nil {
		c.run.Outputs = contentOf(c.out.Message)
	}
	c.recorder.Record(ctx, &c.run)
}

// addModelSpan adds a call of the model to the run.
func (c *Completing) addModelSpan(start time.Time, answer *providers.Answer, err error) {
	span := recording.Span{
		ID: newSpanID(), Name: "chat " + c.model.Model, Kind: "llm", Start: start, End: c.now(), Model: c.model.Model, Provider: c.connection.Provider.SpanName(),
		Attributes: map[string]any{
			"gen_ai.operation.name": "chat", "gen_ai.request.model": c.model.Model, "gen_ai.input.messages": asText(c.model.Messages),
			"looptrace.attempts": answer.Attempts,
		},
	}
	span.Status, span.Failure = failureOf(err)
	a := span.Attributes
	if len(c.model.Tools) > 0 {
		a["gen_ai.tool.definitions"] = asText(c.model.Tools)
	}
	if len(c.model.ResponseFormat) > 0 {
		a["gen_ai.request.response_format"] = string(c.model.ResponseFormat)
	}
	setIfAny(a, "gen_ai.request.temperature", c.model.Temperature)
	setIfAny(a, "gen_ai.request.top_p", c.model.TopP)
	setIfAny(a, "gen_ai.request.max_tokens", c.model.MaxOutputTokens)
	setIfAny(a, "gen_ai.request.seed", c.model.Seed)
	setIfAny(a, "gen_ai.request.reasoning_effort", c.model.ReasoningEffort)
	if len(c.model.Stop) > 0 {
		a["gen_ai.request.stop_sequences"] = c.model.Stop
	}
	if len(c.model.ToolChoice) > 0 {
		a["gen_ai.request.tool_choice"] = string(c.model.ToolChoice)
	}
	if result := answer.Result; result != nil {
		a["gen_ai.output.messages"] = asText([]json.RawMessage{result.Message})
		setIfSaid(a, "gen_ai.response.id", result.ResponseID)
		setIfSaid(a, "gen_ai.response.model", result.Model)
		setIfSaid(a, "openai.response.system_fingerprint", result.Fingerprint)
		if result.FinishReason != "" {
			a["gen_ai.response.finish_reasons"] = []string{result.FinishReason}
		}
		if result.TimeToFirstToken > 0 {
			a["gen_ai.response.time_to_first_chunk"] = result.TimeToFirstToken.Seconds()
		}
		if len(result.RawRequest) <= recordedBody {
			a["looptrace.provider.request"] = string(result.RawRequest)
		}
		if len(result.RawResponse) <= recordedBody {
			a["looptrace.provider.response"] = string(result.RawResponse)
		}
		if u := result.Usage; u != nil {
			span.Usage = &recording.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Reasoning: u.Reasoning}
		}
	}
	c.run.Spans = append(c.run.Spans, span)
}

// addToolSpan adds the answer to a tool call to the run.
func (c *Completing) addToolSpan(call ToolCall, content string) {
	now := c.now()
	c.run.Spans = append(c.run.Spans, recording.Span{
		ID: newSpanID(), Name: call.Name, Kind: "tool", Status: recording.StatusOK, Start: now, End: now,
		Tool: &recording.Tool{Name: call.Name, CallID: call.ID, Arguments: call.Arguments, Result: content},
	})
}

func setIfAny[T any](attributes map[string]any, name string, value *T) {
	if value != nil {
		attributes[name] = *value
	}
}

func setIfSaid(attributes map[string]any, name, value string) {
	if value != "" {
		attributes[name] = value
	}
}

// asText returns a JSON list as text.
func asText(list []json.RawMessage) string {
	text, err := json.Marshal(list)
	if err != nil {
		return "" // the elements were read as JSON before
	}
	return string(text)
}

// lastUserContent returns the content of the last message of the user, or null.
func lastUserContent(messages []json.RawMessage) json.RawMessage {
	for i := len(messages) - 1; i >= 0; i-- {
		var m struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		}
		if json.Unmarshal(messages[i], &m) == nil && m.Role == "user" {
			return m.Content
		}
	}
	return nil
}

// contentOf returns the text of a message, or the whole message if it has none.
func contentOf(message json.RawMessage) json.RawMessage {
	var m struct {
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(message, &m) != nil || jsontext.IsNull(m.Content) || string(m.Content) == `""` {
		return message
	}
	return m.Content
}
