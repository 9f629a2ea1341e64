package recorded

import (
	"slices"

	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// levels are in order.
var levels = []Level{LevelNone, LevelStructure, LevelLLM, LevelFull}

// Codes of Missing.
const (
	missNoSteps         = "no_steps"
	missNotEnded        = "run_not_ended"
	missNoCalls         = "no_calls"
	missNoModelCalls    = "no_model_calls"
	missDurations       = "durations"
	missTruncated       = "truncated"
	missRequests        = "requests"
	missResponses       = "responses"
	missModelNames      = "model_names"
	missToolDefinitions = "tool_definitions"
	missToolArguments   = "tool_arguments"
	missToolResults     = "tool_results"
	missOpaque          = "opaque_requests"
	missWhole           = "whole_requests"
)

// RecordContents says how contents are recorded.
const RecordContents = "Switch the recording of contents on: capture_content=True or LOOPTRACE_CAPTURE_CONTENT=true in Looptrace's SDK, " +
	"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY for OpenTelemetry's instrumentations, TRACELOOP_TRACE_CONTENT=true for OpenLLMetry's."

// lacks are what a recording can lack, in the order in which they are told.
var lacks = []Missing{
	{Code: missNoSteps, Limits: LevelNone, Detail: "The run has no steps.", Remedy: "Record the steps of the agent as spans: docs/recipes shows it for each framework."},
	{Code: missNotEnded, Limits: LevelNone, Detail: "The run has not ended.", Remedy: "Wait for its end. If the program was killed, end its spans when it stops: shut the SDK down, so that it sends what it has."},
	{Code: missNoCalls, Limits: LevelNone, Detail: "The run has no calls of models or tools, so that no step of it can be edited.", Remedy: "Instrument the agent: docs/recipes shows it for each framework."},
	{Code: missNoModelCalls, Limits: LevelStructure, Detail: "The run has no calls of models.", Remedy: "Instrument the client of the model: docs/recipes shows it for each framework."},
	{Code: missDurations, Detail: "Some steps have not ended, so that nobody knows how long they took.", Remedy: "End the span of each call, also after an error."},
	{Code: missTruncated, Limits: LevelStructure, Detail: "Some texts are cut or missing.", Remedy: "Raise the limit of recorded contents: content_limit in Looptrace's SDK, OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT in OpenTelemetry's."},
	{Code: missRequests, Limits: LevelStructure, Detail: "Some model calls have no messages.", Remedy: RecordContents},
	{Code: missResponses, Limits: LevelStructure, Detail: "Some model calls that did not fail have no answer.", Remedy: RecordContents},
	{Code: missModelNames, Limits: LevelStructure, Detail: "Some model calls do not name their model.", Remedy: "Record gen_ai.request.model on each model call."},
	{Code: missToolDefinitions, Limits: LevelLLM, Detail: "Some model calls have no definitions of the tools that they call, so that a model that is asked again cannot call them.", Remedy: "Record gen_ai.tool.definitions on each model call. " + RecordContents},
	{Code: missToolArguments, Detail: "Some tool calls by the program itself have no arguments.", Remedy: "Record gen_ai.tool.call.arguments on each tool call. " + RecordContents},
	{Code: missToolResults, Limits: LevelLLM, Detail: "Some tool calls that a model asked for have no result.", Remedy: "Record gen_ai.tool.call.result on each tool call, and its id in gen_ai.tool.call.id. " + RecordContents},
	{Code: missOpaque, Limits: LevelLLM, Detail: "Some requests cannot be made from the request, the answer and the tool results before them: the program changes the messages by rules of its own.", Remedy: "Let the messages only grow, and record each model call. Single steps can still be edited."},
	{Code: missWhole, Detail: "The recorded requests have only the messages since the answer before. The whole requests are joined of them.", Remedy: "Record all messages of each request in gen_ai.input.messages."},
}

// judge decides how far the run can be replayed.
func (r *Recording) judge() {
	found := map[string][]int{}
	lack := func(code string, step int) { found[code] = append(found[code], step) }
	if len(r.Steps) == 0 {
		found[missNoSteps] = []int{}
	} else if r.Duration == nil || r.running() {
		found[missNotEnded] = []int{}
	}
	models, tools := 0, 0
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Kind != KindFrame && s.Duration == nil {
			lack(missDurations, i)
		}
		if s.Kind != KindFrame && r.Spans[i].Truncated {
			lack(missTruncated, i)
		}
		switch s.Kind {
		case KindModel:
			models++
			r.judgeModel(i, lack)
		case KindTool:
			tools++
			if s.Asker < 0 && s.Tool.Arguments == "" {
				lack(missToolArguments, i)
			}
		}
	}
	switch {
	case len(r.Steps) == 0 || models > 0:
	case tools == 0:
		found[missNoCalls] = []int{}
	default:
		found[missNoModelCalls] = []int{}
	}
	ends := r.EndingTools()
	for i := range r.Calls {
		call := &r.Calls[i]
		if call.Asker >= 0 && call.Content == nil && !ends[call.Name] {
			lack(missToolResults, call.Asker)
		}
	}
	for l := range r.Loops {
		if r.Loops[l].Joined {
			found[missWhole] = append(found[missWhole], r.Loops[l].Calls...)
		}
	}
	r.Replayability.Level = LevelFull
	for _, one := range lacks {
		steps, ok := found[one.Code]
		if !ok {
			continue
		}
		one.Count = len(steps)
		for _, i := range steps[:min(len(steps), MaxMissingSteps)] {
			one.Steps = append(one.Steps, r.Steps[i].SpanID)
		}
		r.Replayability.Missing = append(r.Replayability.Missing, one)
		if one.Limits != "" && slices.Index(levels, one.Limits) < slices.Index(levels, r.Replayability.Level) {
			r.Replayability.Level = one.Limits
		}
	}
}

// running reports whether the outermost steps of the run have no end.
func (r *Recording) running() bool {
	for i := range r.Steps {
		if r.Steps[i].Parent < 0 && r.Steps[i].Duration == nil && r.Steps[i].Status == runmodel.StatusRunning {
			return true
		}
	}
	return false
}

func (r *Recording) judgeModel(i int, lack func(string, int)) {
	s := &r.Steps[i]
	request := &s.Model.Request
	if len(request.Messages) == 0 {
		lack(missRequests, i)
	}
	if s.Model.Response == nil && !s.Failed() {
		lack(missResponses, i)
	}
	if request.Model == "" {
		lack(missModelNames, i)
	}
	if s.Opaque != "" {
		lack(missOpaque, i)
	}
	if s.Model.Response == nil {
		return
	}
	defined := map[string]bool{}
	for _, raw := range request.Tools {
		tool := jsontext.Members(raw)
		if function := jsontext.Members(tool["function"]); function != nil {
			tool = function
		}
		defined[jsontext.String(tool["name"])] = true
	}
	for _, call := range r.Cache.Read(s.Model.Response.Message).Calls {
		if !defined[call.Name] {
			lack(missToolDefinitions, i)
			return
		}
	}
}

// Refusal explains in a sentence why an attempt of a kind is not possible, "" if it is.
func (p *Replayability) Refusal(need Level) string {
	if slices.Index(levels, p.Level) >= slices.Index(levels, need) {
		return ""
	}
	for _, one := range p.Missing {
		if one.Limits != "" && slices.Index(levels, one.Limits) < slices.Index(levels, need) {
			return one.Detail + " " + one.Remedy
		}
	}
	return ""
}
