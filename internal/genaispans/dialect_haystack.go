package genaispans

import (
	"strings"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// haystackDialect is Haystack's own tracing (haystack/tracing, haystack/core/pipeline, haystack/components/agents).
// Content is recorded if HAYSTACK_CONTENT_TRACING_ENABLED is set.
var haystackDialect = dialect{
	name:      "haystack",
	framework: "haystack",
	rules: []rule{
		{to: toToolName, from: []string{"haystack.tool.name"}},
		{to: toInputs, from: []string{
			"haystack.agent.input", "haystack.agent.step.tool.input", "haystack.tool.input", "haystack.component.input", "haystack.pipeline.input_data",
		}},
		{to: toOutputs, from: []string{
			"haystack.agent.output", "haystack.agent.step.tool.output", "haystack.tool.output", "haystack.component.output", "haystack.pipeline.output_data",
		}},
	},
	kind: func(x *span) (string, string) {
		if found, ok := haystackSpans[x.Name()]; ok {
			return found.kind, found.operation
		}
		for _, known := range haystackKeys {
			if _, ok := x.get(known.key); ok {
				return known.kind, known.operation
			}
		}
		component := x.str("haystack.component.type")
		if _, recorded := x.get("haystack.component.output"); !recorded {
			component = "" // unknown whether it made a call or wraps one
		}
		for _, known := range haystackComponents {
			if strings.HasSuffix(component, known.suffix) {
				return known.kind, known.operation
			}
		}
		return "", ""
	},
	derive: func(x *span) {
		if !x.isCall() {
			return
		}
		for _, prefix := range []string{"haystack.agent.step.llm", "haystack.component"} {
			input, output := prefix+".input", prefix+".output"
			if o, ok := parseObject(x.jsonAt(input)); ok {
				x.offer(toInputMessages, haystack, fromJSON, o.get("messages", "prompt"), input)
				x.offer(toToolDefinitions, haystack, fromJSON, o.get("tools"), input)
			}
			if o, ok := parseObject(x.jsonAt(output)); ok {
				x.haystackAnswer(o, output)
			}
		}
	},
}

// haystackAnswer reads the replies of a generator. Their metadata is in the first reply, or next to the replies.
func (x *span) haystackAnswer(o object, source string) {
	replies := o.get("replies")
	x.offer(toOutputMessages, haystack, fromJSON, replies, source)
	list, _ := parseArray(replies)
	metas, _ := parseArray(o.get("meta"))
	var meta object
	if len(list) > 0 {
		if reply, ok := parseObject(list[0]); ok {
			meta = reply.at("meta", "_meta")
		}
	}
	if meta == nil && len(metas) > 0 {
		meta, _ = parseObject(metas[0])
	}
	x.offer(toResponseModel, haystack, fromJSON, meta.get("model"), source)
	x.offer(toFinishReasons, haystack, fromJSON, meta.get("finish_reason"), source)
	if usage := meta.at("usage"); usage != nil {
		x.offerUsage(haystack, usage, source, false)
	}
}

var haystackSpans = kinds{
	"haystack.pipeline.run": isWorkflow, "haystack.async_pipeline.run": isWorkflow, "haystack.agent.run": isAgent, "haystack.agent.step": isTask,
	"haystack.agent.step.llm": isLLM, "haystack.agent.step.tool": isTool, "haystack.tool": isTool,
}

// haystackKeys tell the kind of a span that was named anew.
var haystackKeys = []struct {
	key string
	kindAndOperation
}{
	{"haystack.agent.step.llm.input", isLLM},
	{"haystack.tool.name", isTool},
	{"haystack.agent.input", isAgent},
	{"haystack.pipeline.input_data", isWorkflow},
}

// haystackComponents map suffixes of component types to kinds.
var haystackComponents = []struct {
	suffix string
	kindAndOperation
}{
	{"Generator", isLLM},
	{"Embedder", isEmbedding},
	{"Retriever", isRetriever},
	{"Ranker", isReranker},
	{"Agent", isAgent},
	{"", kindAndOperation{runmodel.KindTask, ""}},
}
