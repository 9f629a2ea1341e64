package engine

import (
	"context"
	"encoding/json"
	"time"

	"github.com/looptrace/looptrace/controlplane/recorded"
)

// Executor is who makes the calls that the recording does not answer.
type Executor string

// The executors.
const (
	// ExecutorCassette: nobody. A model call whose request is not a recorded one ends the attempt.
	ExecutorCassette Executor = "cassette"
	// ExecutorServer: model calls from the fork on are made by the model function, and tools are answered by the recording.
	ExecutorServer Executor = "server"
)

// Options are those of an attempt.
type Options struct {
	// Executor is ExecutorCassette if empty.
	Executor Executor
	// Tools are the policies by the name of the tool. "*" is for tools without one.
	Tools map[string]ToolPolicy
	// ForkSpanID is the step from which model calls are made even if no edit changes it, so that a control forks where
	// its treatment does: Checked.ForkSpanID. Empty means the first step that an edit changes.
	ForkSpanID string
	// MaxSteps limits the model calls and tool calls of the attempt. 0 means twice the recorded ones and 5 more.
	MaxSteps int
	// Limit is asked before each call of the model. Another reason than "" ends the attempt. Nil means no limit.
	Limit func(Spent) StopReason
	// Store is told each step before the next one begins, except those in Done. Frames and steps that were not reached come
	// last. An error ends Replay.
	Store func(context.Context, AttemptStep) error
	// Done are steps that an interrupted attempt has stored, in order. They are not made, and not stored, again. Replay
	// returns ErrNotDone if the recording, the edits or the options are not those of that attempt.
	Done []AttemptStep
}

// Spent is what an attempt has used so far.
type Spent struct {
	// Calls are those of the model that were made.
	Calls int `json:"calls"`
	// Usage and CostUSD sum up what is known. UnknownUsage and UnknownCost count calls without.
	InputTokens  int64   `json:"input_tokens"`
	OutputTokens int64   `json:"output_tokens"`
	CostUSD      float64 `json:"cost_usd"`
	UnknownUsage int     `json:"unknown_usage"`
	UnknownCost  int     `json:"unknown_cost"`
	// Duration is that of the calls.
	Duration time.Duration `json:"duration"`
}

// Call is a model call to make.
type Call struct {
	// Key names the call within the attempt, and is the same if the attempt is resumed: an idempotency key.
	Key string
	// Recorded is the index of the step that the call stands for, -1 for none.
	Recorded int
	// Provider is the recorded one of the loop, "" if unknown.
	Provider string
	Request  recorded.Request
}

// Answer is the answer to a call.
type Answer struct {
	Response recorded.Response
	Duration time.Duration
	// TimeToFirstToken is 0 if unknown.
	TimeToFirstToken time.Duration
	// CostUSD is nil if unknown.
	CostUSD *float64
	// Attempts is how many requests the caller made.
	Attempts int
}

// ModelFunc makes a call of a model, with retries for transport errors. A *CallError is the outcome of the call and ends the attempt
// with StopModelError. Any other error ends Replay, which can be resumed.
type ModelFunc func(context.Context, Call) (Answer, error)

// CallError is an answer of the provider that a retry does not change.
type CallError struct{ Type, Message string }

func (e *CallError) Error() string { return e.Type + ": " + e.Message }

// StopReason is why an attempt ended.
type StopReason string

// The reasons.
const (
	// StopCompleted: every loop came to its end.
	StopCompleted StopReason = "completed"
	// StopMiss: a call is not in the recording, and the policy or the executor makes none.
	StopMiss StopReason = "miss"
	// StopWriteBarrier: like StopMiss, of a tool that writes: what was recorded after it no longer holds.
	StopWriteBarrier StopReason = "write_barrier"
	// StopOpaque: a request depends on a step that differs, and only the program knows how.
	StopOpaque StopReason = "opaque"
	// StopCensored: the recording ends at a timeout or an error that the edit takes away.
	StopCensored StopReason = "censored"
	// StopModelError: the model's provider refused a call, or a model call timed out by an edit.
	StopModelError StopReason = "model_error"
	StopStepLimit  StopReason = "step_limit"
	// StopMaxCost is for Options.Limit.
	StopMaxCost StopReason = "max_cost"
)

// Source is where a step of an attempt comes from.
type Source string

// The sources.
const (
	// SourceCopied: the step cannot depend on the edit, or comes before it. It is the recorded one, but for its times.
	SourceCopied Source = "copied"
	// SourceServed: a recorded answer to an equal call. AttemptStep.Tier says how equal, AttemptStep.Stale whether the recorded world still holds.
	SourceServed Source = "served"
	// SourceReissued: the model was called.
	SourceReissued Source = "reissued"
	// SourceNearest and SourceFixed: by the policy of the tool.
	SourceNearest Source = "nearest"
	SourceFixed   Source = "fixed"
	// SourceEdited: the edit says the answer.
	SourceEdited Source = "edited"
	// SourceStale: served, but a write before it differs from the recording.
	SourceStale Source = "stale"
	// SourceDerived: made of what is below the step and differs: a frame, or a tool that has an agent below it.
	SourceDerived Source = "derived"
	// SourceNotReached: a recorded step that the attempt did not come to. It is no step of the attempt's run.
	SourceNotReached Source = "not_reached"
)

// Attempt is a replay of a run.
type Attempt struct {
	// Steps are model calls and tool calls as they were made, then frames, then steps that were not reached.
	Steps []AttemptStep `json:"steps"`
	Stop  Stop          `json:"stop"`
	// Spent counts the calls of the model, those of Done included.
	Spent Spent `json:"spent"`
	// Duration is that of the replayed run. It is nil if the attempt did not complete or it is unknown.
	Duration *time.Duration `json:"duration,omitempty"`
	// Answer is the text of the last answer of the attempt's run, nil if there is none.
	Answer *string `json:"answer,omitempty"`
	// Exposure counts the model calls and tool calls by where they come from: a source, or the tier of a served one.
	Exposure map[string]int `json:"exposure"`
	// FirstDivergence is the index of the first step in Steps that differs from the recorded one, -1 if none does.
	FirstDivergence int `json:"first_divergence"`
}

// Stop is why and where an attempt ended.
type Stop struct {
	Reason StopReason `json:"reason"`
	// Recorded is the index of the recorded step at which it ended, -1 for none or after StopCompleted.
	Recorded int `json:"recorded"`
	// SpanID is that of the step, "" for none.
	SpanID string `json:"span_id,omitempty"`
	// Detail says in a sentence what happened, Remedy what to do about it. Neither has a text of the recording. Both are empty after StopCompleted.
	Detail string `json:"detail,omitempty"`
	Remedy string `json:"remedy,omitempty"`
}

// AttemptStep is a step of an attempt. Its JSON can be stored and given back as Options.Done.
type AttemptStep struct {
	// Index is that in Attempt.Steps.
	Index int `json:"index"`
	// Recorded is the index of the recorded step that it stands for, -1 for none. SpanID is the id of that step's span.
	Recorded int    `json:"recorded"`
	SpanID   string `json:"span_id,omitempty"`
	// Parent is the index of the recorded step that is the parent, -1 for none. New steps have parents that are recorded.
	Parent   int           `json:"parent"`
	Kind     recorded.Kind `json:"kind"`
	SpanKind string        `json:"span_kind"`
	Name     string        `json:"name"`
	Agent    string        `json:"agent,omitempty"`

	Source Source `json:"source"`
	// Tier is set for a tool call that was looked up.
	Tier Tier `json:"tier,omitempty"`
	// Stale reports that the step takes something from the recording that may no longer hold: a result after a write that differs, or a
	// user's message after an answer that differs.
	Stale bool `json:"stale,omitempty"`
	// Differs reports that what the step was given or what it returned differs from the recorded step, after normalisation.
	Differs bool `json:"differs,omitempty"`
	// Unrecorded reports that the recording has no span for calls like this one, though the model was told their results. A span of it
	// would seem to be new.
	Unrecorded bool `json:"unrecorded,omitempty"`
	// Note says what a person should know of the step.
	Note string `json:"note,omitempty"`

	// Offset is the start, from the start of the run.
	Offset time.Duration `json:"offset"`
	// Duration is nil if it is unknown.
	Duration     *time.Duration `json:"duration,omitempty"`
	Status       string         `json:"status"`
	ErrorType    string         `json:"error_type,omitempty"`
	ErrorMessage string         `json:"error_message,omitempty"`

	// Provider, Request and Response are those of a model call. Response is nil if there is none. All three are empty for a copied step:
	// Recording.Steps has them.
	Provider string             `json:"provider,omitempty"`
	Request  *recorded.Request  `json:"request,omitempty"`
	Response *recorded.Response `json:"response,omitempty"`
	// Tool is a tool call with its result, nil for a copied step.
	Tool *recorded.ToolCall `json:"tool,omitempty"`
	// Inputs and Outputs are those of a frame. Outputs is empty if only the program could make it: Note says so.
	Inputs  string `json:"inputs,omitempty"`
	Outputs string `json:"outputs,omitempty"`

	CostUSD *float64 `json:"cost_usd,omitempty"`
	// Attempts is Answer.Attempts.
	Attempts int `json:"attempts,omitempty"`
}

// SpanForm is a step of an attempt in the form that spans have: messages of the GenAI conventions. What does not differ
// from the recorded step is as it was recorded, byte by byte.
type SpanForm struct {
	SystemInstructions []json.RawMessage
	InputMessages      []json.RawMessage
	OutputMessages     []json.RawMessage
	ToolDefinitions    []json.RawMessage
	// Inputs, Outputs, ToolArguments and ToolResult are "" if the step has none.
	Inputs, Outputs           string
	ToolArguments, ToolResult string
	// Recorded is the span that the step stands for, nil for none. Name, kind and other attributes are to be taken from it.
	Recorded *recorded.Span
}
