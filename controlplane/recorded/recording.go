package recorded

import (
	"encoding/json"
	"time"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// Span is a folded span of a recorded run with its texts, as runs.Service reads it in full. Messages are in the newest
// form of the GenAI conventions.
type Span struct {
	runmodel.Span
	SystemInstructions []json.RawMessage
	InputMessages      []json.RawMessage
	OutputMessages     []json.RawMessage
	ToolDefinitions    []json.RawMessage
	// Truncated reports that texts of the span are missing or cut. What depends on them cannot be replayed.
	Truncated bool
}

// Kind is what the engine does with a step.
type Kind string

// The kinds.
const (
	// KindModel is a call of a model, KindTool one of a tool.
	KindModel Kind = "model"
	KindTool  Kind = "tool"
	// KindFrame is any other step: an agent, a chain, a workflow, a retriever, a plain span.
	KindFrame Kind = "frame"
)

// Recording is a recorded run. It is not changed after Read, and may be used by several attempts at a time.
type Recording struct {
	// Steps are in start order; a parent comes before its children.
	Steps []Step
	Loops []Loop
	// Start is the start of the first step.
	Start time.Time
	// Duration runs from Start to the end of the last step. It is nil for a run that has not ended.
	Duration      *time.Duration
	Replayability Replayability

	Spans       []Span // of Steps
	bySpan      map[uint64]int
	frames      []int  // of Steps: see readFrames
	Calls       []Call // those that models asked for come first, in the order of their askers
	Forms       messageForms
	Cache       MessageCache
	groups      map[string][]json.RawMessage // recorded messages as those that they become
	tails       map[tailKey]*tail            // of the requests that were converted last
	talks       []*History                   // of Steps, nil for one that is no model call
	Requests    []requestDigests             // of Steps
	Definitions ToolCache
	// Effects are the side effects of tools that the recording tells of.
	Effects map[string]SideEffects
}

// Step is a step of a recorded run.
type Step struct {
	// SpanID is 16 lower-case hexadecimal digits.
	SpanID string
	// Parent is the index of the parent step, -1 for none.
	Parent int
	Kind   Kind
	// SpanKind is the kind of the span, such as llm, tool, agent or retriever: runmodel.Span.EffectiveKind.
	SpanKind string
	// Name is that of the span, or of the tool.
	Name string
	// Agent is the name of the nearest agent, "" if none is named.
	Agent string
	// Offset is the start, from the start of the run. Duration is nil if the step has not ended.
	Offset   time.Duration
	Duration *time.Duration
	// Status is a status of runmodel. ErrorType and ErrorMessage are empty without an error.
	Status                  string
	ErrorType, ErrorMessage string
	// Model is set for KindModel, Tool for KindTool.
	Model *ModelCall
	Tool  *ToolCall
	// Inputs and Outputs are the payloads of a frame, "" if it has none.
	Inputs, Outputs string
	// Loop is the index of the loop that a model call or a tool call belongs to, -1 for none.
	Loop int
	// Asker is the index of the model call whose answer asked for this tool call, -1 for none: the program called it.
	Asker int
	// Opaque says why the request of a model call cannot be made from what came before. Empty if it can, or if the call is
	// the first one of its loop.
	Opaque string
	// Links are the indexes of steps of the run that the span links to.
	Links []int
	// TimeoutMS and Retries are those in force, nil if unknown. Attempts is how many were made, nil if unknown.
	TimeoutMS, Retries, Attempts *int64
}

// ModelCall is a recorded call of a model.
type ModelCall struct {
	// Provider is a name of gen_ai.provider.name, "" if unknown.
	Provider string
	Request  Request
	// Response is nil if none was recorded.
	Response *Response
	// Verbatim reports that the request is the one that was sent, not made of the messages of the span.
	Verbatim bool
	CostUSD  *float64
}

// Request is what a model is asked.
type Request struct {
	Model    string            `json:"model"`
	Messages []json.RawMessage `json:"messages"`
	// Tools have the shape of chat completions.
	Tools []json.RawMessage `json:"tools,omitempty"`
	// Params are the other members of a chat completion by their names there, such as temperature, max_tokens,
	// tool_choice and response_format. Members that chat completions do not have are the provider's own.
	Params map[string]json.RawMessage `json:"params,omitempty"`
}

// Response is what a model answers.
type Response struct {
	// Message is an assistant's message in the shape of chat completions.
	Message json.RawMessage `json:"message"`
	// FinishReason is that of llm.Result, "" if unknown.
	FinishReason string `json:"finish_reason,omitempty"`
	// Usage is nil if unknown.
	Usage       *Usage `json:"usage,omitempty"`
	Model       string `json:"model,omitempty"`
	ID          string `json:"id,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
}

// Usage is the tokens of a call as llm.Usage counts them; nil is unknown.
type Usage struct {
	Input      *int64 `json:"input_tokens,omitempty"`
	Output     *int64 `json:"output_tokens,omitempty"`
	CacheRead  *int64 `json:"cache_read_input_tokens,omitempty"`
	CacheWrite *int64 `json:"cache_write_input_tokens,omitempty"`
	Reasoning  *int64 `json:"reasoning_output_tokens,omitempty"`
}

// SideEffects says whether a tool changes the world.
type SideEffects string

// The side effects. A tool of which nothing is known writes.
const (
	SideEffectsRead  SideEffects = "read"
	SideEffectsWrite SideEffects = "write"
)

// ToolCall is a recorded call of a tool.
type ToolCall struct {
	Name   string `json:"name"`
	CallID string `json:"call_id,omitempty"`
	// Arguments is the text as recorded: JSON, as a rule.
	Arguments string `json:"arguments"`
	// Result is what the model was told, or else the result of the span. Nil if neither was recorded.
	Result *string `json:"result,omitempty"`
	// SideEffects is empty if the recording does not tell: it counts as SideEffectsWrite.
	SideEffects SideEffects `json:"side_effects,omitempty"`
}

// Loop is the model calls of one conversation: the messages of each request begin with those of the one before.
type Loop struct {
	// Calls are the indexes of its model calls, in order.
	Calls []int
	// Parent is the index of the nearest frame that all calls are below, -1 for none.
	Parent int
	// Joined reports that each recorded request has only the messages since the answer before. The whole requests were
	// joined of them.
	Joined bool

	Turns []LoopCall // of Calls
}

// Level says how far a run can be replayed. Each level includes those before.
type Level string

// The levels.
const (
	// LevelNone: nothing. The run has not ended, or has no call of a model or a tool: no edit fits it.
	LevelNone Level = "none"
	// LevelStructure: timeouts and retries, by the recorded durations; and the run as it was.
	LevelStructure Level = "structure"
	// LevelLLM: single model calls. What follows a changed answer cannot be made.
	LevelLLM Level = "llm"
	// LevelFull: whole loops, with the results of tools from the recording.
	LevelFull Level = "full"
)

// Replayability is how far a run can be replayed, and what is missing for more.
type Replayability struct {
	Level   Level     `json:"level"`
	Missing []Missing `json:"missing,omitempty"`
}

// Missing is something that a recording lacks.
type Missing struct {
	// Code is stable: no_steps, run_not_ended, no_calls, no_model_calls, durations, truncated, requests, responses, model_names,
	// tool_definitions, tool_arguments, tool_results, opaque_requests, whole_requests.
	Code string `json:"code"`
	// Limits is the highest level that is possible without it, "" if it limits none.
	Limits Level `json:"limits,omitempty"`
	// Steps are the ids of the spans concerned, at most MaxMissingSteps of them. Count is how many there are.
	Steps []string `json:"steps,omitempty"`
	Count int      `json:"count"`
	// Detail says in a sentence what is missing, Remedy how to record it.
	Detail string `json:"detail"`
	Remedy string `json:"remedy"`
}

// MaxMissingSteps limits Missing.Steps.
const MaxMissingSteps = 20
