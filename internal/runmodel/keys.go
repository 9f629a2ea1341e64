// Package runmodel is the domain that ingest, store and control plane share: runs, spans, contents and scores as rows
// of the store, the attribute keys that carry them, and the rules that derive runs from spans.
package runmodel

// Looptrace's own attributes. They carry the fields of native runs that OpenTelemetry has no key for.
const (
	// KeyProjectID is the resource attribute that names the project. Ingest sets it and overrides what the client
	// sent.
	KeyProjectID = "looptrace.project.id"
	// KeyReceivedAt is the resource attribute that orders the versions of a span, in Unix nanoseconds. It is derived
	// from the queue's record, so a redelivered record gets the same version again.
	KeyReceivedAt = "looptrace.received_at"
	// KeyRawRequest is the resource attribute that holds a whole request in raw form. Only records of the queue have
	// it: see otlpwire.Passthrough.
	KeyRawRequest = "looptrace.raw_request"
	// KeySDK is the resource attribute with the envelope's `sdk`.
	KeySDK = "looptrace.sdk"

	// KeyRun is true on the span that is a native run itself.
	KeyRun            = "looptrace.run"
	KeyKind           = "looptrace.kind"
	KeyStatus         = "looptrace.status"
	KeyInputs         = "looptrace.inputs"
	KeyOutputs        = "looptrace.outputs"
	KeyTags           = "looptrace.tags"
	KeyMetadataPrefix = "looptrace.metadata."
	KeyPromptID       = "looptrace.prompt.id"
	KeyPromptAlias    = "looptrace.prompt.alias"
	// KeySource is what made the run: one of Sources. See Run.Source.
	KeySource  = "looptrace.source"
	KeyCostUSD = "looptrace.cost_usd"
	// KeyOtherTokens are the tokens of a total that are neither input nor output, as far as is known.
	KeyOtherTokens  = "looptrace.usage.other_tokens"
	KeyErrorMessage = "looptrace.error.message"
	// KeySideEffects is EffectsRead or EffectsWrite, on the span of a call of a tool.
	KeySideEffects = "looptrace.tool.side_effects"
	// KeyMCPAnnotations are the ToolAnnotations of MCP as a JSON object.
	KeyMCPAnnotations = "mcp.tool.annotations"

	// KeyDialect is the convention that the span was written in. KeyFramework is the agent framework or SDK that
	// wrote it.
	KeyDialect   = "looptrace.dialect"
	KeyFramework = "looptrace.framework"
	// KeyUsageCounted is false on a span that by its own account repeats the usage of another span.
	KeyUsageCounted = "looptrace.usage.counted"
	// KeyScores lists the evaluation results that came with the span. Each is a JSON object {name, value, label,
	// explanation, response_id, id, source, of, exported_id, created_at}, of which only name is required. The value is a
	// number or a boolean. source is ScoreHuman or ScoreProgram, the default. of is ScoreOfRun or ScoreOfParent if it is
	// not the span itself that was judged. A score from an export has the id that it had there, and when it was written,
	// in Unix nanoseconds.
	KeyScores = "looptrace.scores"
	// KeyFromLog is true on a version that was made of log records. It belongs to the span that the records name.
	KeyFromLog = "looptrace.from_log"
	// KeyRecordOf is KindTool or KindLLM on a version made of log records that name such a call, and not the span that
	// they belong to.
	KeyRecordOf = "looptrace.record_of"
	// KeyRecordIn is the conversation of such a version whose records name no span. PlaceRecord finds its run.
	KeyRecordIn = "looptrace.record_in"
	// KeyContinuation is true on a span that continues a call which another span stands for: its usage counts, but it
	// is no call of its own.
	KeyContinuation = "looptrace.continuation"
	// KeyExported is true on the instrumentation scope of spans that an export of Looptrace wrote: they have all that the
	// mapping adds.
	KeyExported = "looptrace.exported"
	// KeyAdded lists the attributes that the client did not send and the mapping added, separated by spaces.
	KeyAdded = "looptrace.added"
	// KeyOriginalPrefix prefixes the key of an attribute whose value the mapping replaced, or removed: what was received.
	KeyOriginalPrefix = "looptrace.original."
)

// Attributes of the OpenTelemetry GenAI semantic conventions, newest names
// (open-telemetry/semantic-conventions-genai, model/gen-ai/registry.yaml).
const (
	KeyOperationName    = "gen_ai.operation.name"
	KeyProviderName     = "gen_ai.provider.name"
	KeyRequestModel     = "gen_ai.request.model"
	KeyResponseModel    = "gen_ai.response.model"
	KeyResponseID       = "gen_ai.response.id"
	KeyFinishReasons    = "gen_ai.response.finish_reasons"
	KeyTimeToFirstChunk = "gen_ai.response.time_to_first_chunk"
	KeyInputTokens      = "gen_ai.usage.input_tokens"
	KeyOutputTokens     = "gen_ai.usage.output_tokens"
	KeyCacheReadTokens  = "gen_ai.usage.cache_read.input_tokens"
	KeyCacheWriteTokens = "gen_ai.usage.cache_write.input_tokens"
	KeyReasoningTokens  = "gen_ai.usage.reasoning.output_tokens"
	// KeyCacheWrite1hTokens are those of KeyCacheWriteTokens that are cached for an hour. The conventions have no name.
	KeyCacheWrite1hTokens = "gen_ai.usage.cache_creation.ephemeral_1h_input_tokens"
	KeyInputMessages      = "gen_ai.input.messages"
	KeyOutputMessages     = "gen_ai.output.messages"
	KeySystemInstructions = "gen_ai.system_instructions"
	KeyToolDefinitions    = "gen_ai.tool.definitions"
	KeyToolName           = "gen_ai.tool.name"
	KeyToolCallID         = "gen_ai.tool.call.id"
	KeyToolCallArguments  = "gen_ai.tool.call.arguments"
	KeyToolCallResult     = "gen_ai.tool.call.result"
	KeyAgentName          = "gen_ai.agent.name"
	KeyConversationID     = "gen_ai.conversation.id"
	KeyPromptName         = "gen_ai.prompt.name"
	KeyPromptVersion      = "gen_ai.prompt.version"
)

// Attributes of the OpenTelemetry core conventions.
const (
	KeyServiceName         = "service.name"
	KeyServiceVersion      = "service.version"
	KeyEnvironment         = "deployment.environment.name"
	KeySessionID           = "session.id"
	KeyUserID              = "user.id"
	KeyErrorType           = "error.type"
	EventException         = "exception"
	KeyExceptionType       = "exception.type"
	KeyExceptionMessage    = "exception.message"
	KeyExceptionStacktrace = "exception.stacktrace"
)

// Attributes of the event that carries a score. The conventions have no place for the last four: the first two of them are
// those of OpenInference's annotations.
const (
	EventEvaluation          = "gen_ai.evaluation.result"
	KeyEvaluationName        = "gen_ai.evaluation.name"
	KeyEvaluationValue       = "gen_ai.evaluation.score.value"
	KeyEvaluationLabel       = "gen_ai.evaluation.score.label"
	KeyEvaluationExplanation = "gen_ai.evaluation.explanation"
	// KeyAnnotatorKind is AnnotatorHuman for a person's judgement.
	KeyAnnotatorKind = "annotation.annotator_kind"
	// KeyAnnotationID separates scores of one name.
	KeyAnnotationID = "annotation.identifier"
	// KeyScoreOf is ScoreOfRun for a score of the whole run.
	KeyScoreOf = "looptrace.score.of"
	// KeyScoreKind is ScoreBoolean if the value, a double in the conventions, is a boolean.
	KeyScoreKind = "looptrace.score.kind"
)

// AnnotatorHuman is the KeyAnnotatorKind of a person.
const AnnotatorHuman = "HUMAN"

// States of a run or span in the API.
const (
	StatusRunning   = "running"
	StatusOK        = "ok"
	StatusError     = "error"
	StatusCancelled = "cancelled"
)

// Sources are what makes runs: programs of the user, or Looptrace's own playground, evaluations and replays.
var Sources = []string{SourceUser, SourcePlayground, SourceEvaluation, SourceReplay}

// The elements of Sources.
const (
	SourceUser       = "user"
	SourcePlayground = "playground"
	SourceEvaluation = "evaluation"
	SourceReplay     = "replay"
)

// Kinds of spans that Looptrace knows. Others of the form [a-z][a-z0-9_.-]{0,63} are kept as sent.
const (
	KindAgent     = "agent"
	KindWorkflow  = "workflow"
	KindTask      = "task"
	KindLLM       = "llm"
	KindTool      = "tool"
	KindRetriever = "retriever"
	KindEmbedding = "embedding"
	KindReranker  = "reranker"
	KindGuardrail = "guardrail"
	KindEvaluator = "evaluator"
	KindMemory    = "memory"
	KindPlan      = "plan"
	KindSpan      = "span"
)
