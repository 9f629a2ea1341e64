package providers

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/controlplane/llm/client"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/internal/problem"
)

const (
	// testOutput is the max_output_tokens of tests: enough for a model that reasons first.
	testOutput = 256
	// testTimeout limits a whole test.
	testTimeout = 45 * time.Second
)

// TestResult is what a test of a connection found. A nil boolean is unknown.
type TestResult struct {
	Reachable                          bool
	Authenticated                      *bool
	Chat, Streaming, Tools, JSONSchema *bool
	// Problem is what went wrong first, nil if nothing did.
	Problem  *problem.Error
	Duration time.Duration
}

// Test tests a connection. The features are those of the model; without one they are unknown.
func (s *Service) Test(ctx context.Context, grant access.Grant, p *Provider, model string) (TestResult, error) {
	if err := validate.Printable("body.model", model); err != nil {
		return TestResult{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	begin := time.Now()
	t := &test{Service: s, grant: grant, provider: p, model: model}
	err := t.run(ctx)
	t.result.Duration = time.Since(begin)
	return t.result, err
}

// test is a test while it runs.
type test struct {
	*Service
	grant    access.Grant
	provider *Provider
	model    string
	result   TestResult
}

func (t *test) run(ctx context.Context) error {
	conn, err := t.connection(t.provider)
	if err != nil {
		return err
	}
	failed, err := t.list(ctx, conn)
	if err != nil {
		return err
	}
	if failed != nil && failed.Status == 0 { // no answer
		t.note(failed)
		return nil
	}
	t.result.Reachable = true
	refused := failed != nil && (failed.Kind == llm.Authentication || failed.Kind == llm.Permission)
	if t.model != "" {
		return t.features(ctx)
	}
	if refused {
		t.note(failed)
		t.result.Authenticated = new(false)
		return nil
	}
	if failed == nil && conn.APIKey != "" { // a public list says nothing of the key
		conn.APIKey, conn.Headers = "", nil
		if without, err := t.list(ctx, conn); err != nil || without != nil {
			t.result.Authenticated = new(true)
			return err
		}
	}
	return nil
}

func (t *test) list(ctx context.Context, conn llm.Connection) (*llm.Error, error) {
	client, err := client.New(conn)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the address
	}
	_, err = client.Models(ctx)
	var failed *llm.Error
	if err == nil || errors.As(err, &failed) {
		return failed, nil
	}
	return nil, err //nolint:wrapcheck // it names the address
}

// note keeps the first problem.
func (t *test) note(failed *llm.Error) {
	if t.result.Problem == nil {
		t.result.Problem = problemOf(t.provider, failed)
	}
}

func (t *test) features(ctx context.Context) error {
	ask := json.RawMessage(`{"role":"user","content":"Answer with the word ok."}`)
	tool := json.RawMessage(`{"type":"function","function":{"name":"report","description":"Reports the state.","parameters":{"type":"object","properties":{"state":{"type":"string"}},"required":["state"],"additionalProperties":false}}}`)
	schema := json.RawMessage(`{"type":"json_schema","json_schema":{"name":"state","strict":true,"schema":{"type":"object","properties":{"state":{"type":"string"}},"required":["state"],"additionalProperties":false}}}`)
	messages := []json.RawMessage{ask}
	connection, err := t.Connect(ctx, t.grant.Projects, t.provider.ID, t.model)
	if err != nil {
		return err
	}
	for _, feature := range []struct {
		found   **bool
		request llm.Request
		stream  bool
		shown   func(*Answer) bool
	}{
		{&t.result.Chat, llm.Request{Messages: messages}, false, func(*Answer) bool { return true }},
		{&t.result.Streaming, llm.Request{Messages: messages}, true, func(*Answer) bool { return true }},
		{&t.result.Tools, llm.Request{Messages: messages, Tools: []json.RawMessage{tool}, ToolChoice: json.RawMessage(`"required"`)}, false, callsTool},
		{&t.result.JSONSchema, llm.Request{Messages: messages, ResponseFormat: schema}, false, func(a *Answer) bool { return a.Strategy == llm.Native && a.Structured != nil }},
	} {
		feature.request.MaxOutputTokens = new(int64(testOutput))
		call := Call{
			Request: feature.request, Feature: FeatureTest, User: t.grant.CreatedBy(), KeyName: t.grant.CreatedByKey(),
			Attempts: 1, MaxWait: testTimeout,
		}
		if feature.stream {
			call.OnDelta = func(llm.Delta) error { return nil }
		}
		answer, err := connection.Complete(ctx, call)
		var failed *llm.Error
		switch {
		case err == nil:
			*feature.found = new(feature.shown(&answer))
			t.result.Authenticated = new(true)
		case errors.As(err, &failed):
			t.note(failed)
			if t.stop(failed) {
				return nil
			}
			if failed.Kind == llm.InvalidParameter {
				*feature.found = new(false)
			}
		default: // a limit of ours
			if refused := problem.Of(err); refused != nil && refused.Code != problem.CodeDependency {
				t.result.Problem = refused
				return nil
			}
			return err
		}
	}
	return nil
}

// stop reports whether further features cannot be tested.
func (t *test) stop(failed *llm.Error) bool {
	switch failed.Kind {
	case llm.Authentication, llm.Permission:
		t.result.Authenticated = new(false)
		return true
	case llm.NotFound:
		t.result.Chat = new(false)
		return true
	case llm.InvalidParameter:
		t.result.Authenticated = new(true)
		return false
	default:
		return true
	}
}

func callsTool(a *Answer) bool {
	var message struct {
		ToolCalls []json.RawMessage `json:"tool_calls"`
	}
	return json.Unmarshal(a.Message, &message) == nil && len(message.ToolCalls) > 0
}
