package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/looptrace/looptrace/controlplane/llm"
)

// TestMessageOfTheUpstream has errors of aggregators that wrap those of the providers behind them.
func TestMessageOfTheUpstream(t *testing.T) {
	t.Parallel()
	quoted := func(text string) string { return fmt.Sprintf("%q", text) }
	const upstream = `{"error":{"message":"thought_signature missing in part 3","type":"bad_part","code":400}}`
	for _, c := range []struct{ body, want string }{
		{`{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":` + quoted(upstream) + `,"provider_name":"Google"}}}`, "Google: thought_signature missing in part 3"},
		{`{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":` + upstream + `,"provider_name":"Google"}}}`, "Google: thought_signature missing in part 3"},
		{`{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"the model is being loaded","provider_name":"Novita"}}}`, "Novita: the model is being loaded"},
		{`{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"<!doctype html><title>502 Bad Gateway</title>","provider_name":"Novita"}}}`, "Novita: Provider returned error"},
		{`{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"model\":[\"is away\"]}","provider_name":"Novita"}}}`, `Novita: {"model":["is away"]}`},
		{`{"error":{"message":"Provider returned error","code":400,"metadata":{"provider_name":"Novita"}}}`, "Novita: Provider returned error"},
		{`{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":` + quoted(`[{"error":{"code":400,"message":"No part 3","status":"INVALID_ARGUMENT"}}]`) + `}}}`, "No part 3"},
		{`{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":` + quoted("data: "+upstream+"\n\n") + `}}}`, "thought_signature missing in part 3"},
		{`{"error":{"message":` + quoted(upstream) + `,"code":400}}`, "thought_signature missing in part 3"},
		{`{"error":{"message":` + quoted(`{"error":{"message":`+quoted(upstream)+`}}`) + `,"code":400}}`, "thought_signature missing in part 3"},
		{`{"error":{"message":` + quoted("litellm.BadRequestError: GeminiException - "+upstream) + `,"code":"400"}}`, "litellm.BadRequestError: GeminiException - thought_signature missing in part 3"},
		{`{"error":` + upstream + `}`, "thought_signature missing in part 3"},
		{`{"error":{"error":{"error":"No part 3"}}}`, "No part 3"},
		{`{"error":{"message":"Bad Request","details":[{"@type":"x","reason":"R"},{"message":"No part 3"}]}}`, "No part 3"},
		{`{"error":{"message":"Request failed with status code 400","details":[{"fieldViolations":[{"field":"parts[3]","description":"No signature"}]}]}}`, "parts[3]: No signature"},
		{`{"error":"Upstream error","detail":"No part 3"}`, "No part 3"},
		{`{"error":"Bad Request","message":"No part 3"}`, "No part 3"},
		{`{"detail":` + upstream + `}`, "thought_signature missing in part 3"},
		{`{"detail":[{"type":"missing","loc":["body","parts",3],"msg":"Field required"},{"type":"missing","loc":["body","model"],"msg":"Field required"}]}`, "parts.3: Field required; model: Field required"},
		{`{"title":"Bad Request","status":400,"detail":"No part 3"}`, "No part 3"},
		{`{"errors":[{"message":"No part 3"},{"message":"No part 4"}]}`, "No part 3; No part 4"},
		{`{"Message":"No part 3"}`, "No part 3"},
		{`{"error":{"message":"The request to gemini was refused","code":400,"metadata":{"raw":` + quoted(upstream) + `,"provider_name":"Google"}}}`, "Google: The request to gemini was refused: thought_signature missing in part 3"},
		{`{"error":{"message":"Google says: thought_signature missing in part 3","metadata":{"raw":` + quoted(upstream) + `,"provider_name":"Google"}}}`, "Google says: thought_signature missing in part 3"},
		{`{"error":{"message":"provider error","upstream_error":{"message":"No part 3","provider":"Google"}}}`, "Google: No part 3"},
		{`{"error":{"message":"Unknown error","cause":{"body":` + quoted(upstream) + `}}}`, "thought_signature missing in part 3"},
		{`no upstream, no JSON`, "no upstream, no JSON"},
		{"\ufeff" + upstream, "thought_signature missing in part 3"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(c.body))
		}))
		t.Cleanup(server.Close)
		failed, _ := fail(t, llm.Connection{Kind: llm.OpenAI, BaseURL: server.URL, HTTP: loopback(t)}, llm.Request{Model: "m", Messages: user("hello")}, false)
		assert.Equal(t, c.want, failed.Message, c.body)
	}
}

// TestUpstreamClassifies: what the upstream says decides what kind of failure it is.
func TestUpstreamClassifies(t *testing.T) {
	t.Parallel()
	for upstream, want := range map[string]llm.ErrorKind{
		`{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}`: llm.ContextLength,
		`{"error":{"message":"No","code":"content_filter"}}`:                                                          llm.ContentFilter,
		`{"error":{"message":"No","type":"insufficient_quota"}}`:                                                      llm.QuotaExceeded,
	} {
		body := fmt.Sprintf(`{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":%q,"provider_name":"X"}}}`, upstream)
		conn := serve(t, "application/json", body)
		conn.Kind = llm.OpenAI
		failed, _ := fail(t, conn, llm.Request{Model: "m", Messages: user("hello")}, false)
		assert.Equal(t, want, failed.Kind, upstream)
	}
}

// TestHostileWrappers are cut: an error that is nested without end, or is long, is read in no time and told in few words.
func TestHostileWrappers(t *testing.T) {
	t.Parallel()
	const depth = 9000
	for _, body := range []string{
		strings.Repeat(`{"error":`, depth) + `"deep"` + strings.Repeat("}", depth),
		`{"error":{"message":"` + strings.Repeat("x", 1<<19) + `"}}`,
		`{"error":{"message":"` + strings.Repeat(`{\"error\":`, 1<<15) + `"}}`,
		`{"error":{"details":[` + strings.Repeat(`{"message":"x"},`, 1<<15) + `{}]}}`,
		`{"error":{"message":"error","metadata":{"provider_name":"` + strings.Repeat("x", 1<<19) + `"}}}`,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(server.Close)
		failed, _ := fail(t, llm.Connection{Kind: llm.OpenAI, BaseURL: server.URL, HTTP: loopback(t)}, llm.Request{Model: "m", Messages: user("hello")}, false)
		assert.LessOrEqual(t, len([]rune(failed.Message)), 1001, "%.80s", body)
	}
}
