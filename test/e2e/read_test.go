package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/product"
)

// run is a run in the API's format.
type run struct {
	RunID          string            `json:"run_id"`
	Name           string            `json:"name"`
	Kind           string            `json:"kind"`
	Status         string            `json:"status"`
	StartTime      time.Time         `json:"start_time"`
	EndTime        *time.Time        `json:"end_time"`
	Inputs         *string           `json:"inputs"`
	Outputs        *string           `json:"outputs"`
	Error          *failure          `json:"error"`
	SessionID      *string           `json:"session_id"`
	ConversationID *string           `json:"conversation_id"`
	UserID         *string           `json:"user_id"`
	AgentName      *string           `json:"agent_name"`
	Tags           []string          `json:"tags"`
	Metadata       map[string]string `json:"metadata"`
	Environment    *string           `json:"environment"`
	Release        *string           `json:"release"`
	Models         []string          `json:"models"`
	Usage          *usage            `json:"usage"`
	CostUSD        *float64          `json:"cost_usd"`
	CostSource     *string           `json:"cost_source"`
	SpanCount      int               `json:"span_count"`
	ErrorCount     int               `json:"error_count"`
	LLMCallCount   int               `json:"llm_call_count"`
	ToolCallCount  int               `json:"tool_call_count"`
}

type failure struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Stack   string `json:"stack"`
}

// usage is token counts; nil where unknown.
type usage struct {
	Input      *int64 `json:"input_tokens"`
	Output     *int64 `json:"output_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	CacheWrite *int64 `json:"cache_write_input_tokens"`
	Reasoning  *int64 `json:"reasoning_output_tokens"`
	Total      *int64 `json:"total_tokens"`
}

// span is a whole span in the API's format.
type span struct {
	SpanID             string         `json:"span_id"`
	ParentSpanID       *string        `json:"parent_span_id"`
	Name               string         `json:"name"`
	Kind               string         `json:"kind"`
	Operation          *string        `json:"operation"`
	Status             string         `json:"status"`
	Error              *failure       `json:"error"`
	Depth              int            `json:"depth"`
	Provider           *string        `json:"provider"`
	ServiceName        *string        `json:"service_name"`
	RequestModel       *string        `json:"request_model"`
	ResponseModel      *string        `json:"response_model"`
	SystemInstructions any            `json:"system_instructions"`
	InputMessages      any            `json:"input_messages"`
	OutputMessages     any            `json:"output_messages"`
	ToolDefinitions    any            `json:"tool_definitions"`
	Inputs             *string        `json:"inputs"`
	Outputs            *string        `json:"outputs"`
	Tool               *tool          `json:"tool"`
	Usage              *usage         `json:"usage"`
	CostUSD            *float64       `json:"cost_usd"`
	FinishReasons      []string       `json:"finish_reasons"`
	AgentName          *string        `json:"agent_name"`
	Attributes         map[string]any `json:"attributes"`
	ResourceAttributes map[string]any `json:"resource_attributes"`
	ScopeName          *string        `json:"scope_name"`
	Events             []event        `json:"events"`
}

type tool struct {
	Name      *string `json:"name"`
	CallID    *string `json:"call_id"`
	Arguments *string `json:"arguments"`
	Result    *string `json:"result"`
}

type event struct {
	Name       string         `json:"name"`
	Attributes map[string]any `json:"attributes"`
}

// get reads a path of the API and decodes an answer of status 200 into into. Numbers in any values are json.Number.
func (p *project) get(ctx context.Context, path string, into any) (status int, err error) {
	answer, err := product.Do(ctx, http.MethodGet, p.web()+path, bearer(p.adminKey), nil)
	if err != nil || answer.Status != http.StatusOK {
		return answer.Status, err
	}
	decoder := json.NewDecoder(bytes.NewReader(answer.Body))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return answer.Status, product.Permanent(fmt.Errorf("read the answer to %s: %w", path, err))
	}
	return answer.Status, nil
}

// awaitRun waits until the API has a run and complete returns nil for it.
func (p *project) awaitRun(t *testing.T, id string, complete func(run) error) run {
	t.Helper()
	var found run
	eventually(t, func(ctx context.Context) error {
		found = run{}
		status, err := p.get(ctx, "/v1/runs/"+id, &found)
		if err != nil {
			return err
		}
		if status != http.StatusOK {
			return fmt.Errorf("run %s: the API answers %d", id, status)
		}
		if err := complete(found); err != nil {
			return fmt.Errorf("run %s: %w", id, err)
		}
		return nil
	})
	return found
}

// ofSpans accepts a run that has exactly so many spans.
func ofSpans(want int) func(run) error {
	return func(r run) error {
		if r.SpanCount == want {
			return nil
		}
		return fmt.Errorf("%d spans instead of %d", r.SpanCount, want)
	}
}

// spans reads all spans of a run in start order.
func (p *project) spans(t *testing.T, id string) []span {
	t.Helper()
	query := url.Values{"full": {"true"}, "limit": {"1000"}}
	var all []span
	for {
		var page struct {
			Data       []span  `json:"data"`
			HasMore    bool    `json:"has_more"`
			NextCursor *string `json:"next_cursor"`
		}
		status, err := p.get(t.Context(), "/v1/runs/"+id+"/spans?"+query.Encode(), &page)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status)
		all = append(all, page.Data...)
		if !page.HasMore {
			return all
		}
		require.NotNil(t, page.NextCursor)
		query.Set("cursor", *page.NextCursor)
	}
}

// runs lists all runs of the project that a query selects.
func (p *project) runs(t *testing.T, query url.Values) []run {
	t.Helper()
	query.Set("project_id", p.ProjectID)
	query.Set("limit", "500")
	var all []run
	for {
		var page struct {
			Data       []run   `json:"data"`
			HasMore    bool    `json:"has_more"`
			NextCursor *string `json:"next_cursor"`
		}
		status, err := p.get(t.Context(), "/v1/runs?"+query.Encode(), &page)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status)
		all = append(all, page.Data...)
		if !page.HasMore {
			return all
		}
		require.NotNil(t, page.NextCursor)
		query.Set("cursor", *page.NextCursor)
	}
}

func deref[T any](value *T) T {
	if value == nil {
		var zero T
		return zero
	}
	return *value
}
