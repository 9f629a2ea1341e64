package genaispans

import (
	"strings"
	"time"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// langfuseDialect is Langfuse's SDKs (langfuse-python langfuse/_client/attributes.py, langfuse-js packages/core).
// Inputs, outputs and usage are JSON in strings.
var langfuseDialect = dialect{
	name: "langfuse",
	rules: []rule{
		{to: toRequestModel, from: []string{"langfuse.observation.model.name", "langfuse.observation.model"}},
		{to: toSessionID, from: []string{"langfuse.session.id"}, wins: true},
		{to: toUserID, from: []string{"langfuse.user.id"}},
		{to: toTags, from: []string{"langfuse.trace.tags", "langfuse.tags"}},
		{to: toPromptName, from: []string{"langfuse.observation.prompt.name", "langfuse.prompt.name"}},
		{to: toPromptVersion, from: []string{"langfuse.observation.prompt.version", "langfuse.prompt.version"}},
		{to: toEnvironment, from: []string{"langfuse.environment"}},
		{to: toRelease, from: []string{"langfuse.release"}},
		{to: toErrorMessage, from: []string{"langfuse.observation.status_message"}},
		{to: toMetadata, from: []string{"langfuse.observation.metadata", "langfuse.trace.metadata"}},
		{to: toInputs, from: []string{"langfuse.observation.input", "langfuse.trace.input"}},
		{to: toOutputs, from: []string{"langfuse.observation.output", "langfuse.trace.output"}},
	},
	kind: func(x *span) (string, string) {
		kind := strings.ToLower(x.plainStr("langfuse.observation.type"))
		if kind == "span" || kind == "" {
			// Python SDKs up to 3.3.0 send generations as spans. Spans of other instrumentations with Langfuse's keys for tags or
			// sessions keep their kind.
			if x.str("langfuse.observation.model.name") != "" || x.str("langfuse.observation.model") != "" || x.str("langfuse.observation.usage_details") != "" {
				return isLLM.kind, isLLM.operation
			}
			return "", ""
		}
		found := langfuseKinds[kind]
		return found.kind, found.operation
	},
	derive: func(x *span) {
		const usageKey, costKey = "langfuse.observation.usage_details", "langfuse.observation.cost_details"
		if usage, ok := parseObject(x.plainStr(usageKey)); ok {
			x.overrideUsage(langfuse, usage, usageKey, true)
		}
		if cost, ok := parseObject(x.plainStr(costKey)); ok {
			x.offerCost(langfuse, cost, costKey, true, true)
		}
		if parameters, ok := parseObject(x.plainStr("langfuse.observation.model.parameters")); ok {
			x.offerParameters(langfuse, parameters, "langfuse.observation.model.parameters")
		}
		if x.isCall() {
			x.offer(toInputMessages, langfuse, fromText, x.str("langfuse.observation.input"), "langfuse.observation.input")
			x.offer(toOutputMessages, langfuse, fromText, x.str("langfuse.observation.output"), "langfuse.observation.output")
			if x.has(toOutputMessages) && x.has(toRequestModel) { // its one model name is the response model if there is a response
				x.offer(toResponseModel, langfuse, fromText, x.text(toRequestModel), x.best[toRequestModel].source)
			}
			if input, ok := parseObject(x.str("langfuse.observation.input")); ok {
				x.offerRequest(langfuse, input, "langfuse.observation.input")
			}
		}
		if strings.EqualFold(x.str("langfuse.observation.level"), "ERROR") {
			x.fail("langfuse.observation.level")
		} else {
			x.best[toErrorMessage] = candidate{}
		}
		if at, err := time.Parse(time.RFC3339Nano, unquoted(x.plainStr("langfuse.observation.completion_start_time"))); err == nil {
			x.offerStart(langfuse, at, "langfuse.observation.completion_start_time")
		}
		if x.str(keyExperimentID) != "" { // a call of run_experiment
			if source, stated := x.own(ownSource); !stated {
				source.SetStr(runmodel.SourceEvaluation)
			}
		}
		x.metadataUnder("langfuse.trace.metadata.")
		x.metadataUnder("langfuse.observation.metadata.")
	},
}

// keyExperimentID is on all spans of an experiment's items.
const keyExperimentID = "langfuse.experiment.id"

var langfuseKinds = kinds{
	"generation": isLLM, "embedding": isEmbedding, "agent": isAgent, "tool": isTool, "chain": isWorkflow,
	"retriever": isRetriever, "guardrail": isGuardrail, "evaluator": isEvaluator, "event": isSpan,
}

// offerStart offers the time from the span's start to an instant.
func (x *span) offerStart(id dialectID, at time.Time, source string) {
	after := at.Sub(x.StartTimestamp().AsTime())
	if after > 0 && after < 24*time.Hour {
		x.offer(toTimeToFirstChunk, id, fromText, formatSeconds(after), source)
	}
}

// fail marks the span as failed if its status does not.
func (x *span) fail(source string) {
	if _, ok := x.attrs.Get(runmodel.KeyStatus); !ok {
		x.attrs.PutStr(runmodel.KeyStatus, runmodel.StatusError)
		if x.trace != nil {
			x.trace(runmodel.KeyStatus, source)
		}
	}
}

// metadataUnder turns the attributes under a prefix into metadata. It does not replace existing metadata.
func (x *span) metadataUnder(prefix string) {
	type pair struct{ key, value string }
	var found []pair
	for key, value := range x.attrs.All() {
		if name, ok := strings.CutPrefix(key, prefix); ok && name != "" && len(name) <= maxMetadataKey {
			found = append(found, pair{runmodel.KeyMetadataPrefix + name, valueText(value)})
		}
	}
	for _, p := range found {
		if _, ok := x.attrs.Get(p.key); !ok {
			x.attrs.PutStr(p.key, p.value)
		}
	}
}

// offerParameters offers the request parameters in a JSON object.
func (x *span) offerParameters(id dialectID, o object, source string) {
	for _, p := range []struct {
		to   target
		keys []string
	}{
		{toTemperature, []string{"temperature"}},
		{toTopP, []string{"top_p", "topP"}},
		{toTopK, []string{"top_k", "topK"}},
		{toMaxTokens, []string{"max_tokens", "max_completion_tokens", "max_output_tokens", "maxTokens", "maxOutputTokens"}},
		{toFrequencyPenalty, []string{"frequency_penalty", "frequencyPenalty"}},
		{toPresencePenalty, []string{"presence_penalty", "presencePenalty"}},
		{toSeed, []string{"seed"}},
		{toStopSequences, []string{"stop_sequences", "stop"}},
		{toStream, []string{"stream"}},
	} {
		if value := o.get(p.keys...); value != "" && value != `""` && value != "-1" {
			x.offer(p.to, id, fromJSON, value, source)
		}
	}
}
