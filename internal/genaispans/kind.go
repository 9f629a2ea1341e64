package genaispans

import (
	"strings"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// kinds maps a dialect's names of kinds, in lower case, to the kind and the operation.
type kinds map[string]kindAndOperation

type kindAndOperation struct{ kind, operation string }

var (
	isLLM       = kindAndOperation{runmodel.KindLLM, "chat"}
	isEmbedding = kindAndOperation{runmodel.KindEmbedding, "embeddings"}
	isAgent     = kindAndOperation{runmodel.KindAgent, "invoke_agent"}
	isTool      = kindAndOperation{runmodel.KindTool, "execute_tool"}
	isWorkflow  = kindAndOperation{runmodel.KindWorkflow, "invoke_workflow"}
	isTask      = kindAndOperation{runmodel.KindTask, ""}
	isRetriever = kindAndOperation{runmodel.KindRetriever, "retrieval"}
	isReranker  = kindAndOperation{runmodel.KindReranker, ""}
	isGuardrail = kindAndOperation{runmodel.KindGuardrail, ""}
	isEvaluator = kindAndOperation{runmodel.KindEvaluator, ""}
	isMemory    = kindAndOperation{runmodel.KindMemory, ""}
	isPlan      = kindAndOperation{runmodel.KindPlan, "plan"}
	isSpan      = kindAndOperation{runmodel.KindSpan, ""}
)

// by returns the kind function of a dialect that states the kind in an attribute.
func (k kinds) by(keys ...string) func(*span) (string, string) {
	return func(x *span) (string, string) {
		for _, key := range keys {
			if name := x.plainStr(key); name != "" {
				if found, ok := k[strings.ToLower(name)]; ok {
					return found.kind, found.operation
				}
			}
		}
		return "", ""
	}
}

// operations are the values of gen_ai.operation.name: those of the conventions and those written instead.
var operations = map[string]kindAndOperation{
	"chat":                {runmodel.KindLLM, "chat"},
	"generate_content":    {runmodel.KindLLM, "generate_content"},
	"text_completion":     {runmodel.KindLLM, "text_completion"},
	"fetch_response":      {runmodel.KindLLM, "fetch_response"},
	"embeddings":          isEmbedding,
	"retrieval":           isRetriever,
	"create_agent":        {runmodel.KindAgent, "create_agent"},
	"invoke_agent":        isAgent,
	"invoke_workflow":     isWorkflow,
	"plan":                isPlan,
	"execute_tool":        isTool,
	"search_memory":       {runmodel.KindMemory, "search_memory"},
	"create_memory":       {runmodel.KindMemory, "create_memory"},
	"update_memory":       {runmodel.KindMemory, "update_memory"},
	"upsert_memory":       {runmodel.KindMemory, "upsert_memory"},
	"delete_memory":       {runmodel.KindMemory, "delete_memory"},
	"create_memory_store": {runmodel.KindMemory, "create_memory_store"},
	"delete_memory_store": {runmodel.KindMemory, "delete_memory_store"},

	"chat.completions":          isLLM, // Semantic Kernel
	"chat_completion":           isLLM,
	"text.completions":          {runmodel.KindLLM, "text_completion"},
	"completion":                isLLM, // LiteLLM's call types, OpenLLMetry's llm.request.type
	"acompletion":               isLLM,
	"atext_completion":          {runmodel.KindLLM, "text_completion"},
	"responses":                 isLLM,
	"aresponses":                isLLM,
	"anthropic_messages":        isLLM,
	"agenerate_content":         {runmodel.KindLLM, "generate_content"},
	"llm_request":               isLLM,
	"llm_call":                  isLLM, // Gemini CLI
	"tool_call":                 isTool,
	"agent_call":                isAgent,
	"user_prompt":               isWorkflow,
	"system_prompt":             isSpan,
	"schedule_tool_calls":       isTask,
	"embedding":                 isEmbedding, // Spring AI
	"aembedding":                isEmbedding,
	"rerank":                    isReranker,
	"arerank":                   isReranker,
	"framework":                 isWorkflow,
	"agent_step":                {runmodel.KindTask, ""}, // AI SDK 7
	"agent_handoff":             {runmodel.KindTask, ""},
	"execute_task":              isTask,
	"execute_event_loop_cycle":  {runmodel.KindTask, ""}, // Strands
	"invoke_swarm":              isWorkflow,
	"invoke_graph":              isWorkflow,
	"vector_db_retrieve":        isRetriever,
	"vectordb":                  isRetriever,
	"guardrail.run":             isGuardrail,
	"guard":                     isGuardrail,
	"image":                     {runmodel.KindLLM, ""},
	"audio":                     {runmodel.KindLLM, ""},
	"agent":                     isAgent,
	"chain":                     isWorkflow,
	"workflow":                  isWorkflow,
	"react":                     isTask,
	"agent_run":                 isAgent, // Mastra's span types in lower case
	"workflow_run":              isWorkflow,
	"model_generation":          isLLM,
	"evaluate":                  isEvaluator,
	"realtime":                  isLLM,
	"invoke_agent_internal":     isAgent,
	"stream_text":               isLLM,
	"generate_text":             isLLM,
	"agent_invocation":          isAgent,
	"handle_conversation_turn":  isWorkflow,
	"multi_agent_orchestration": isWorkflow,
}

// operationNames are the conventions' operations that a span name may begin with if no attribute states one.
var operationNames = []string{"invoke_agent", "create_agent", "execute_tool", "invoke_workflow", "generate_content", "text_completion", "embeddings", "chat"}

// decideKind takes the kind from the first dialect that states one, else from the operation, else from the span's
// attributes. Dialects come before the operation because LangSmith records a retriever as embeddings.
func (x *span) decideKind() {
	if x.fromLog {
		if x.kind = x.recordOf; x.kind != "" {
			x.attrs.PutStr(runmodel.KeyKind, x.kind)
		}
		return
	}
	operation := ""
	for _, id := range kindOrder {
		if !x.found.has(id) || dialects[id].kind == nil {
			continue
		}
		if kind, op := dialects[id].kind(x); kind != "" || op != "" {
			x.kind, operation = kind, op
			break
		}
	}
	sent := strings.ToLower(x.text(toOperation))
	known, isKnown := operations[sent]
	if x.kind == "" && isKnown {
		x.kind = known.kind
	}
	if x.kind == "" {
		x.kind, operation = x.guessKind()
	}
	if isKnown && known.operation != "" && (operation == "" || known.kind == x.kind) {
		operation = known.operation
	}
	x.writeKind(sent, known, isKnown, operation)
}

// writeKind writes the operation under its newest name, and the kind if the operation does not imply it.
func (x *span) writeKind(sent string, known kindAndOperation, isKnown bool, operation string) {
	switch {
	case sent == "" && operation != "":
		x.putString(toOperation, operation)
		sent, known = operation, operations[operation]
		if x.trace != nil {
			x.trace(runmodel.KeyOperationName, "kind "+x.kind)
		}
	case operation != "" && (known.operation != sent || known.kind != x.kind):
		x.putString(toOperation, operation)
		sent, known = operation, operations[operation]
	case isKnown && x.text(toOperation) != x.str(runmodel.KeyOperationName):
		x.putString(toOperation, x.text(toOperation))
	}
	if x.kind == "" || known.operation == sent && known.kind == x.kind {
		return
	}
	if _, ok := x.attrs.Get(runmodel.KeyKind); !ok {
		x.attrs.PutStr(runmodel.KeyKind, x.kind)
		if x.trace != nil {
			x.trace(runmodel.KeyKind, x.dialect())
		}
	}
}

// guessKind derives the kind of a span that no dialect and no operation classifies.
func (x *span) guessKind() (kind, operation string) {
	name := x.Name()
	for _, op := range operationNames {
		if rest, named := strings.CutPrefix(name, op+" "); named || name == op {
			if x.kind = operations[op].kind; x.isCall() && !strings.Contains(rest, " ") && named && !x.has(toResponseModel) {
				x.offerLast(toRequestModel, rest, "name of the span")
			}
			return x.kind, op
		}
	}
	switch {
	case x.has(toToolName) && x.has(toToolCallID), x.has(toToolCallArguments), x.has(toToolCallResult):
		return runmodel.KindTool, "execute_tool"
	case x.has(toRequestModel), x.has(toResponseModel), x.has(toFinishReasons), x.has(toResponseID):
		return runmodel.KindLLM, "chat"
	case x.has(toToolName):
		return runmodel.KindTool, "execute_tool"
	case x.has(toRetrievalDocuments), len(x.flat.documents) > 0:
		return runmodel.KindRetriever, "retrieval"
	}
	return "", ""
}

// kindOrder is the order in which dialects are asked for the kind: that of detection, with MLflow first, which keeps
// its own type next to other dialects' keys that it writes.
var kindOrder = func() []dialectID {
	order := []dialectID{native, mlflow}
	for id := range dialectCount {
		if id != mlflow && id != native {
			order = append(order, id)
		}
	}
	return order
}()

// isCall reports whether the span's kind is a model call.
func (x *span) isCall() bool {
	return x.kind == runmodel.KindLLM || x.kind == runmodel.KindEmbedding || x.kind == runmodel.KindReranker
}

// dialect returns the value of looptrace.dialect.
func (x *span) dialect() string { return dialects[x.found.first()].name }
