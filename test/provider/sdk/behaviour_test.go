package sdk_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/azure"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/provider"
)

// TestReasoning checks the three ways in which reasoning is told.
func TestReasoning(t *testing.T) {
	t.Parallel()
	s := provider.Start(t, provider.Options{})
	params := chat("reasoning", "Why?")
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	all, chunks, err := streamChat(t.Context(), openAI(s), params)
	require.NoError(t, err)
	assert.EqualValues(t, 13, all.Usage.CompletionTokensDetails.ReasoningTokens)
	assert.EqualValues(t, 24, all.Usage.CompletionTokens)
	for _, c := range chunks {
		assert.NotContains(t, c.RawJSON(), "reasoning_content")
	}

	_, chunks, err = streamChat(t.Context(), openAI(s), chat("reasoning-content", "Why?"))
	require.NoError(t, err)
	var reasoning strings.Builder
	for _, c := range chunks {
		var delta struct {
			Text string `json:"reasoning_content"`
		}
		require.NoError(t, json.Unmarshal([]byte(c.Choices[0].Delta.RawJSON()), &delta))
		reasoning.WriteString(delta.Text)
	}
	whole, err := openAI(s).Chat.Completions.New(t.Context(), chat("reasoning-content", "Why?"))
	require.NoError(t, err)
	assert.Contains(t, whole.Choices[0].Message.RawJSON(), reasoning.String())
	assert.Contains(t, reasoning.String(), "France is a country")

	thinking := message("reasoning", "Why?")
	thinking.Thinking = anthropic.ThinkingConfigParamOfEnabled(2048)
	thinking.Tools = claudeOffered()
	said, err := claude(s).Messages.New(t.Context(), thinking)
	require.NoError(t, err)
	require.Equal(t, "thinking", said.Content[0].Type)
	streamed, _, err := streamMessage(t.Context(), claude(s), thinking)
	require.NoError(t, err)
	assert.Equal(t, reasoning.String(), streamed.Content[0].Thinking)
	assert.Equal(t, said.Content[0].Signature, streamed.Content[0].Signature)
	assert.EqualValues(t, 13, streamed.Usage.OutputTokensDetails.ThinkingTokens)

	// The block goes back with its signature when tools were called.
	thinking.Model = "claude-sonnet-4-5"
	said, err = claude(s).Messages.New(t.Context(), thinking)
	require.NoError(t, err)
	require.Len(t, said.Content, 3)
	results := anthropic.NewUserMessage(anthropic.NewToolResultBlock(said.Content[1].ID, "sunny", false), anthropic.NewToolResultBlock(said.Content[2].ID, "noon", false))
	back, question := said.ToParam(), thinking.Messages[0]
	thinking.Messages = []anthropic.MessageParam{question, back, results}
	_, err = claude(s).Messages.New(t.Context(), thinking)
	require.NoError(t, err)
	thinking.Messages[1].Content = back.Content[1:]
	_, err = claude(s).Messages.New(t.Context(), thinking)
	_, _, text := claudeFailure(t, err)
	assert.Contains(t, text, "messages.1.content.0.type: Expected `thinking`")
	back.Content[0].OfThinking.Signature = "made up"
	thinking.Messages[1] = back
	_, err = claude(s).Messages.New(t.Context(), thinking)
	_, _, text = claudeFailure(t, err)
	assert.Contains(t, text, "Invalid `signature`")
}

func TestUsageOfCache(t *testing.T) {
	t.Parallel()
	s := provider.Start(t, provider.Options{})
	whole, err := openAI(s).Chat.Completions.New(t.Context(), chat("cached", "Hello"))
	require.NoError(t, err)
	assert.EqualValues(t, 2048, whole.Usage.PromptTokensDetails.CachedTokens)
	assert.Greater(t, whole.Usage.PromptTokens, int64(3072), "OpenAI's input includes the cache")
	said, err := claude(s).Messages.New(t.Context(), message("cached", "Hello"))
	require.NoError(t, err)
	assert.Equal(t, []int64{2048, 1024}, []int64{said.Usage.CacheReadInputTokens, said.Usage.CacheCreationInputTokens})
	assert.Less(t, said.Usage.InputTokens, int64(100), "Anthropic's does not")
	streamed, _, err := streamMessage(t.Context(), claude(s), message("cached", "Hello"))
	require.NoError(t, err)
	assert.Equal(t, said.Usage.CacheReadInputTokens, streamed.Usage.CacheReadInputTokens)
	none, err := openAI(s).Chat.Completions.New(t.Context(), chat("no-usage", "Hello"))
	require.NoError(t, err)
	assert.False(t, none.JSON.Usage.Valid())
}

func TestFinish(t *testing.T) {
	t.Parallel()
	s := provider.Start(t, provider.Options{})
	for model, want := range map[string][2]string{
		"text": {"stop", "end_turn"}, "length": {"length", "max_tokens"}, "content-filter": {"content_filter", "refusal"}, "refusal": {"stop", "refusal"},
	} {
		all, _, err := streamChat(t.Context(), openAI(s), chat(model, "Hello"))
		require.NoError(t, err)
		assert.Equal(t, want[0], all.Choices[0].FinishReason, model)
		assert.Equal(t, model == "refusal", all.Choices[0].Message.Refusal != "", model)
		streamed, _, err := streamMessage(t.Context(), claude(s), message(model, "Hello"))
		require.NoError(t, err)
		assert.EqualValues(t, want[1], streamed.StopReason, model)
	}
	params := chat("text", "Hello")
	params.MaxCompletionTokens = openai.Int(3)
	whole, err := openAI(s).Chat.Completions.New(t.Context(), params)
	require.NoError(t, err)
	assert.Equal(t, []string{"The capital of", "length"}, []string{whole.Choices[0].Message.Content, whole.Choices[0].FinishReason})
	short := message("text", "Hello")
	short.StopSequences = []string{" is"}
	said, err := claude(s).Messages.New(t.Context(), short)
	require.NoError(t, err)
	assert.Equal(t, []string{"The capital of France", "stop_sequence", " is"}, []string{said.Content[0].Text, string(said.StopReason), said.StopSequence})
}

var verdict = map[string]any{
	"type": "object", "additionalProperties": false, "required": []string{"reason", "passed", "label", "score", "parts", "none"},
	"properties": map[string]any{
		"reason": map[string]any{"type": "string", "maxLength": 30}, "passed": map[string]any{"type": "boolean"},
		"label": map[string]any{"enum": []string{"good", "fair", "bad"}}, "score": map[string]any{"type": "integer", "minimum": 1, "maximum": 5},
		"parts": map[string]any{"type": "array", "minItems": 2, "items": map[string]any{"$ref": "#/$defs/part"}}, "none": map[string]any{"type": []string{"string", "null"}},
	},
	"$defs": map[string]any{"part": map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"at", "more"},
		"properties": map[string]any{
			"at":   map[string]any{"type": "number", "exclusiveMinimum": 2, "maximum": 3},
			"more": map[string]any{"anyOf": []any{map[string]any{"$ref": "#/$defs/part"}, map[string]any{"type": "null"}}},
		},
	}},
}

func format(schema any) openai.ChatCompletionNewParamsResponseFormatUnion {
	return openai.ChatCompletionNewParamsResponseFormatUnion{OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{
		JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "verdict", Schema: schema, Strict: openai.Bool(true)},
	}}
}

// TestSchema checks that answers fit their schemas, for many seeds.
func TestSchema(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(verdict)
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("verdict.json", document))
	schema, err := compiler.Compile("verdict.json")
	require.NoError(t, err)
	seen := map[string]bool{}
	for seed := range uint64(40) {
		s := provider.Start(t, provider.Options{Seed: seed})
		for _, model := range []string{"text", "pass-50"} {
			params := chat(model, "Judge.")
			params.ResponseFormat = format(verdict)
			params.Tools = offered() // are offered and not called
			all, _, err := streamChat(t.Context(), openAI(s), params)
			require.NoError(t, err)
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(all.Choices[0].Message.Content))
			require.NoError(t, err)
			require.NoError(t, schema.Validate(value), all.Choices[0].Message.Content)
			seen[all.Choices[0].Message.Content] = true
		}
	}
	assert.Greater(t, len(seen), 20, "seeds give different values")
	s := provider.Start(t, provider.Options{})
	params := chat("json-prose", "Judge.")
	params.ResponseFormat = format(verdict)
	whole, err := openAI(s).Chat.Completions.New(t.Context(), params)
	require.NoError(t, err)
	assert.False(t, json.Valid([]byte(whole.Choices[0].Message.Content)))

	params.Model, params.ResponseFormat = "text", format(map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string"}}, "additionalProperties": false})
	_, err = openAI(s).Chat.Completions.New(t.Context(), params)
	assert.Contains(t, failure(t, err).Message, "Invalid schema for response_format 'verdict': In context=(), 'required' is required")
	asked := message("text", "Judge.")
	asked.OutputConfig.Format.Schema = weather
	_, err = claude(s).Messages.New(t.Context(), asked)
	_, _, words := claudeFailure(t, err)
	assert.Equal(t, "output_config.format.schema: For 'integer' type, properties maximum, minimum are not supported", words)
	asked.OutputConfig.Format.Schema = map[string]any{"type": "object", "properties": map[string]any{"ok": map[string]any{"type": "boolean"}}, "required": []string{"ok"}, "additionalProperties": false}
	streamed, _, err := streamMessage(t.Context(), claude(s), asked)
	require.NoError(t, err)
	assert.Regexp(t, `^\{"ok": (true|false)\}$`, streamed.Content[0].Text)

	params = chat("text", "Answer.")
	params.ResponseFormat = openai.ChatCompletionNewParamsResponseFormatUnion{OfJSONObject: &shared.ResponseFormatJSONObjectParam{}}
	_, err = openAI(s).Chat.Completions.New(t.Context(), params)
	assert.Contains(t, failure(t, err).Message, "must contain the word 'json'")
	params.Messages = append(params.Messages, openai.SystemMessage("Write JSON."))
	whole, err = openAI(s).Chat.Completions.New(t.Context(), params)
	require.NoError(t, err)
	assert.True(t, json.Valid([]byte(whole.Choices[0].Message.Content)))
}

// TestParameters checks the refusals that name a parameter.
func TestParameters(t *testing.T) {
	t.Parallel()
	s := provider.Start(t, provider.Options{})
	for _, test := range []struct {
		model, body, param, code, message string
	}{
		{"no-max-tokens", `"max_tokens": 5`, "max_tokens", "unsupported_parameter", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."},
		{"gpt-5-mini", `"max_tokens": 5`, "max_tokens", "unsupported_parameter", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."},
		{"no-temperature", `"temperature": 0.2`, "temperature", "unsupported_value", "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported."},
		{"text", `"temperature": 3`, "temperature", "decimal_above_max_value", "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 instead."},
		{"no-schema", `"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}`, "", "", "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model. Learn more about supported models at the Structured Outputs guide: https://platform.openai.com/docs/guides/structured-outputs"},
		{"text", `"top_k": 3`, "top_k", "unknown_parameter", "Unknown parameter: 'top_k'."},
		{"text", `"reasoning_effort": "low"`, "", "", "Unrecognized request argument supplied: reasoning_effort"},
		{"text", `"tool_choice": "auto"`, "tool_choice", "", "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified."},
	} {
		var extra map[string]any
		require.NoError(t, json.Unmarshal([]byte("{"+test.body+"}"), &extra))
		var options []openaioption.RequestOption
		for name, value := range extra {
			options = append(options, openaioption.WithJSONSet(name, value))
		}
		_, err := openAI(s).Chat.Completions.New(t.Context(), chat(test.model, "Hello"), options...)
		e := failure(t, err)
		assert.Equal(t, []any{400, "invalid_request_error", test.param, test.code, test.message}, []any{e.StatusCode, e.Type, e.Param, e.Code, e.Message})
	}
	for _, test := range []struct {
		model   string
		set     string
		value   any
		message string
	}{
		{"no-temperature", "temperature", 0.2, "`temperature` is deprecated for this model."},
		{"text", "temperature", 1.5, "temperature: range: 0..1"},
		{"text", "seed", 1, "seed: Extra inputs are not permitted"},
		{"text", "thinking", map[string]any{"type": "adaptive"}, "adaptive thinking is not supported on this model"},
		{"reasoning", "thinking", map[string]any{"type": "enabled", "budget_tokens": 10}, "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"},
	} {
		_, err := claude(s).Messages.New(t.Context(), message(test.model, "Hello"), anthropicoption.WithJSONSet(test.set, test.value))
		status, kind, text := claudeFailure(t, err)
		assert.Equal(t, []any{400, "invalid_request_error", test.message}, []any{status, kind, text})
	}
}

// TestAzure checks Azure with the SDK's own support, and the other base URLs.
func TestAzure(t *testing.T) {
	t.Parallel()
	s := provider.Start(t, provider.Options{})
	client := openai.NewClient(azure.WithEndpoint(s.URL, "2024-10-21"), azure.WithUnsafeAllowHTTP(), azure.WithAPIKey(s.Key), openaioption.WithMaxRetries(0))
	all, chunks, err := streamChat(t.Context(), &client, chat("text", "Hello"))
	require.NoError(t, err)
	assert.Equal(t, "The capital of France is Paris. It lies on the Seine.", all.Choices[0].Message.Content)
	assert.Empty(t, chunks[0].Choices, "the first chunk has the filter's results")
	_, err = client.Chat.Completions.New(t.Context(), chat("unheard-of", "Hello"))
	assert.Equal(t, "DeploymentNotFound", failure(t, err).Code)
	_, err = client.Chat.Completions.New(t.Context(), chat("text", "Hello"), azure.WithAPIKey("wrong"))
	assert.Equal(t, "401", failure(t, err).Code)
	request := s.Requests()[0]
	assert.Equal(t, "/openai/deployments/text/chat/completions?api-version=2024-10-21", request.URI)
	assert.Equal(t, []any{provider.Azure, "text"}, []any{request.Protocol, request.Model})

	for base, status := range map[string]int{"/compatible": 200, "/openai/v1": 200, "": 404, "/v2": 404} {
		_, err := openAI(s, openaioption.WithBaseURL(s.URL+base)).Chat.Completions.New(t.Context(), chat("text", "Hello"))
		if status == http.StatusOK {
			require.NoError(t, err, base)
			continue
		}
		assert.Equal(t, "Invalid URL (POST "+base+"/chat/completions)", failure(t, err).Message)
	}
}

func TestListing(t *testing.T) {
	t.Parallel()
	s := provider.Start(t, provider.Options{})
	page, err := openAI(s).Models.List(t.Context())
	require.NoError(t, err)
	assert.Len(t, page.Data, len(provider.Models()))
	_, err = openAI(s).Models.Get(t.Context(), "unheard-of")
	assert.Equal(t, http.StatusNotFound, failure(t, err).StatusCode)
	models, err := claude(s).Models.List(t.Context(), anthropic.ModelListParams{})
	require.NoError(t, err)
	assert.Len(t, models.Data, len(provider.Models()))
	assert.EqualValues(t, "model", models.Data[0].Type)
	_, err = openAI(s, openaioption.WithAPIKey("wrong")).Models.List(t.Context())
	assert.Equal(t, http.StatusUnauthorized, failure(t, err).StatusCode)
}

// TestRetries checks that the SDKs understand when to try again.
func TestRetries(t *testing.T) {
	t.Parallel()
	for header, value := range map[string]string{"Retry-After-Ms": "1", "Retry-After": time.Now().Add(time.Second).UTC().Format(http.TimeFormat)} {
		s := provider.Start(t, provider.Options{})
		limited := provider.Reply{Header: http.Header{header: {value}}, Error: &provider.Error{Status: 429, Type: "requests", Message: "Slow down."}}
		s.Next(limited, provider.Reply{Text: "Yes."}, limited, provider.Reply{Text: "Yes."})
		whole, err := openAI(s, openaioption.WithMaxRetries(2)).Chat.Completions.New(t.Context(), chat("text", "Hello"))
		require.NoError(t, err)
		assert.Equal(t, "Yes.", whole.Choices[0].Message.Content)
		said, err := claude(s, anthropicoption.WithMaxRetries(2)).Messages.New(t.Context(), message("text", "Hello"))
		require.NoError(t, err)
		assert.Equal(t, "Yes.", said.Content[0].Text)
		assert.Len(t, s.Requests(), 4)
	}
	s := provider.Start(t, provider.Options{})
	for _, model := range []string{"error-429", "error-429-ms", "error-429-date", "error-429-long"} {
		_, err := openAI(s).Chat.Completions.New(t.Context(), chat(model, "Hello"))
		assert.NotEmpty(t, failure(t, err).Response.Header.Get("Retry-After"), model)
	}
}

func TestImages(t *testing.T) {
	t.Parallel()
	s := provider.Start(t, provider.Options{})
	const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	params := openai.ChatCompletionNewParams{Model: "echo", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
		openai.TextContentPart("What is this?"), openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: "data:image/png;base64," + pixel}),
	})}}
	whole, err := openAI(s).Chat.Completions.New(t.Context(), params)
	require.NoError(t, err)
	assert.Equal(t, "What is this?", whole.Choices[0].Message.Content)
	asked := message("echo", "What is this?")
	asked.Messages[0].Content = append(asked.Messages[0].Content, anthropic.NewImageBlockBase64("image/png", pixel))
	said, err := claude(s).Messages.New(t.Context(), asked)
	require.NoError(t, err)
	assert.Equal(t, "What is this?", said.Content[0].Text)
	for _, r := range s.Requests() {
		assert.Equal(t, 1, r.Messages[0].Images)
	}
}

// TestSeed checks that answers depend on seed and request, and come as often as they should.
func TestSeed(t *testing.T) {
	t.Parallel()
	const count = 300
	ask := func(s *provider.Server, model string, number func(int) int) (answers []string) {
		answers = make([]string, count)
		var all sync.WaitGroup
		for worker := range 4 {
			all.Go(func() {
				for i := worker; i < count; i += 4 {
					whole, err := openAI(s).Chat.Completions.New(t.Context(), chat(model, fmt.Sprint("Question ", number(i))))
					if !assert.NoError(t, err) {
						return
					}
					answers[i] = whole.Choices[0].Message.Content
				}
			})
		}
		all.Wait()
		return answers
	}
	yes := func(answers []string) (n int) {
		for _, a := range answers {
			n += strings.Count(a, "yes")
		}
		return n
	}
	each, same := func(i int) int { return i }, func(int) int { return 0 }
	first := ask(provider.Start(t, provider.Options{Seed: 1}), "pass-70", each)
	assert.Equal(t, first, ask(provider.Start(t, provider.Options{Seed: 1}), "pass-70", each))
	assert.NotEqual(t, first, ask(provider.Start(t, provider.Options{Seed: 2}), "pass-70", each))
	assert.InDelta(t, 0.7*count, yes(first), 0.1*count)
	assert.Contains(t, []int{0, count}, yes(ask(provider.Start(t, provider.Options{Seed: 1}), "pass-70", same)))
	noisy := yes(ask(provider.Start(t, provider.Options{Seed: 1}), "noisy-70", same))
	assert.InDelta(t, 0.7*count, noisy, 0.1*count)
	assert.Equal(t, noisy, yes(ask(provider.Start(t, provider.Options{Seed: 1}), "noisy-70", same)))
}

// TestDelays checks that tokens do not come early, and that the record knows when they were sent.
func TestDelays(t *testing.T) {
	t.Parallel()
	s := provider.Start(t, provider.Options{})
	begun := time.Now()
	all, _, err := streamChat(t.Context(), openAI(s), chat("text@30ms+2ms", "Hello"))
	require.NoError(t, err)
	sent := s.Requests()[0].Sent
	require.Len(t, sent, 11)
	assert.GreaterOrEqual(t, sent[0].At.Sub(begun), 30*time.Millisecond)
	assert.GreaterOrEqual(t, sent[10].At.Sub(begun), 49*time.Millisecond)
	var text strings.Builder
	for _, token := range sent {
		text.WriteString(token.Text)
	}
	assert.Equal(t, all.Choices[0].Message.Content, text.String())
	begun = time.Now()
	_, err = claude(s).Messages.New(t.Context(), message("text@30ms+2ms", "Hello"))
	require.NoError(t, err)
	assert.GreaterOrEqual(t, time.Since(begun), 50*time.Millisecond)
}

// TestEveryModel checks that each listed model is known, and answers as a stream what it answers whole.
func TestEveryModel(t *testing.T) {
	t.Parallel()
	s := provider.Start(t, provider.Options{})
	broken := []string{"reset", "cut", "bad-json", "bad-sse"}
	varies := []string{"flaky-50", "noisy-70", "pass-70"}
	for _, model := range provider.Models() {
		if slices.Contains([]string{"huge", "stall", "stall-stream", "error-404", "redirect"}, model) {
			continue // have tests of their own
		}
		whole, err := openAI(s).Chat.Completions.New(t.Context(), chat(model, "Hello"))
		var e *openai.Error
		if errors.As(err, &e) {
			assert.NotEqual(t, http.StatusNotFound, e.StatusCode, model)
			continue
		}
		if slices.Contains(broken, model) {
			require.Error(t, err, model)
			continue
		}
		require.NoError(t, err, model)
		all, _, err := streamChat(t.Context(), openAI(s), chat(model, "Hello"))
		if !slices.Contains(varies, model) {
			require.NoError(t, err, model)
			assert.Equal(t, whole.Choices[0].Message.Content, all.Choices[0].Message.Content, model)
			assert.Equal(t, whole.Choices[0].FinishReason, all.Choices[0].FinishReason, model)
		}
	}
}
