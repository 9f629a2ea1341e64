package agentview

import "github.com/google/uuid"

// Calls are how a reader asks for more over its interface, REST or MCP.
type Calls interface {
	// Focus is the call that shows the run around a span.
	Focus(runID uuid.UUID, spanID string) string
	// Span is the call that shows a span in full. The reader replaces {span_id} by its id.
	Span(runID uuid.UUID) string
}

// Document is a view in JSON.
type Document struct {
	Notice      string  `json:"notice"`
	TokenBudget int     `json:"token_budget"`
	TokensUsed  int     `json:"tokens_used"`
	Encoding    string  `json:"encoding"`
	Run         Summary `json:"run"`
	About       *Totals `json:"about,omitempty"`
	// Attributes has what the program says of the run between marks: session, user, release, environment, tags, metadata.
	Attributes        string    `json:"attributes,omitempty"`
	ErrorChain        []StepRef `json:"error_chain,omitempty"`
	ErrorChainLeftOut int       `json:"error_chain_left_out,omitempty"`
	// Suspects are the steps that may be why the run failed, the likeliest first.
	Suspects          []Suspect `json:"suspects,omitempty"`
	CriticalPath      []StepRef `json:"critical_path,omitempty"`
	CriticalPathSteps int       `json:"critical_path_steps,omitempty"`
	Steps             []Step    `json:"steps"`
	LeftOut           *Rest     `json:"left_out,omitempty"`
	Cut               *Rest     `json:"cut,omitempty"`
}

// Summary is what every view has of its run.
type Summary struct {
	RunID      string   `json:"run_id"`
	Name       string   `json:"name"`
	Status     string   `json:"status"`
	Outcome    string   `json:"outcome"`
	DurationMS *float64 `json:"duration_ms"`
	Steps      int      `json:"steps"`
	Partial    bool     `json:"partial,omitempty"`
	Errors     uint64   `json:"errors"`
}

// Totals are those of the run.
type Totals struct {
	Agent        string   `json:"agent,omitempty"`
	Models       []string `json:"models,omitempty"`
	Start        string   `json:"start_time"`
	ModelCalls   uint64   `json:"model_calls"`
	ToolCalls    uint64   `json:"tool_calls"`
	InputTokens  *int64   `json:"input_tokens,omitempty"`
	OutputTokens *int64   `json:"output_tokens,omitempty"`
	CostUSD      *float64 `json:"cost_usd,omitempty"`
	// UnpricedCalls is how many calls of unknown price CostUSD leaves out.
	UnpricedCalls uint64 `json:"unpriced_calls,omitempty"`
	// Replayability is how far the run can be replayed, empty if unknown.
	Replayability string `json:"replayability,omitempty"`
	// Recovered is how many failed steps the run recovered from.
	Recovered int `json:"recovered,omitempty"`
	// Fingerprint is that of the runs that failed in the same way, empty for a run that did not fail.
	Fingerprint string `json:"fingerprint,omitempty"`
}

// StepRef refers to a step. N is its number in start order, from 1.
type StepRef struct {
	N      int      `json:"n"`
	SpanID string   `json:"span_id"`
	Name   string   `json:"name"`
	SelfMS *float64 `json:"self_ms,omitempty"`
}

// Step is a step that is shown. Recorded has its texts between marks.
type Step struct {
	N      int    `json:"n"`
	SpanID string `json:"span_id"`
	Kind   string `json:"kind"`
	Name   string `json:"name,omitempty"`
	Status string `json:"status,omitempty"`
	// Recovered reports that the step failed and the run recovered from it.
	Recovered bool   `json:"recovered,omitempty"`
	Recorded  string `json:"recorded,omitempty"`
}

// Rest is how many steps are left out or cut, and the call that shows more of them.
type Rest struct {
	Steps int    `json:"steps"`
	First string `json:"first,omitempty"`
	Last  string `json:"last,omitempty"`
	Next  string `json:"next"`
}
