package genaisemconvprocessor

import (
	"github.com/looptrace/looptrace/internal/runmodel"
)

// target is a field of the newest conventions, or of Looptrace, that rules fill.
type target uint8

const (
	toOperation target = iota
	toProvider
	toRequestModel
	toResponseModel
	toResponseID
	toFinishReasons
	toTimeToFirstChunk
	toInputTokens
	toOutputTokens
	toTotalTokens
	toCacheReadTokens
	toCacheWriteTokens
	toReasoningTokens
	toInputMessages
	toOutputMessages
	toSystemInstructions
	toToolDefinitions
	toToolName
	toToolDescription
	toToolCallID
	toToolCallArguments
	toToolCallResult
	toAgentName
	toAgentID
	toAgentDescription
	toAgentVersion
	toWorkflowName
	toConversationID
	toSessionID
	toUserID
	toPromptName
	toPromptVersion
	toTags
	toMetadata
	toEnvironment
	toRelease
	toErrorType
	toErrorMessage
	toCost
	toInputs
	toOutputs
	toTemperature
	toTopP
	toTopK
	toMaxTokens
	toFrequencyPenalty
	toPresencePenalty
	toSeed
	toChoiceCount
	toStopSequences
	toStream
	toReasoningLevel
	toOutputType
	toServiceTier
	toRetrievalQuery
	toRetrievalDocuments
	targetCount
)

// form says how the value of a target is read and written.
type form uint8

const (
	asString    form = iota
	asWord           // a string that is a name or an enum value: quotes of a JSON string are taken off
	asCount          // a number of things, not negative
	asNumber         // a number
	asSeconds        // a duration in seconds
	asMillis         // a duration in milliseconds, written in seconds
	asStrings        // a list of strings, or the JSON text of one, or one string
	asCommas         // a list of strings between commas in one string
	asBool           // a bool, or the text of one
	asMessages       // messages in any shape, of whoever says so in them
	asAnswer         // messages in any shape, of the assistant where they say nothing
	asParts          // system instructions
	asTools          // tool definitions
	asAny            // any value, kept as it is
	asText           // any value, as text
	asMetadata       // the JSON text of an object, whose members become metadata
	asJSON           // any value; a string is JSON text where it is valid
	asProvider       // the name of a provider in any spelling
	asOperation      // the name of an operation in any spelling
)

// fields are the keys and forms of the targets. A key that is empty is Looptrace's own bookkeeping.
var fields = [targetCount]struct {
	key  string
	form form
}{
	toOperation:          {runmodel.KeyOperationName, asOperation},
	toProvider:           {runmodel.KeyProviderName, asProvider},
	toRequestModel:       {runmodel.KeyRequestModel, asWord},
	toResponseModel:      {runmodel.KeyResponseModel, asWord},
	toResponseID:         {"gen_ai.response.id", asWord},
	toFinishReasons:      {runmodel.KeyFinishReasons, asStrings},
	toTimeToFirstChunk:   {runmodel.KeyTimeToFirstChunk, asSeconds},
	toInputTokens:        {runmodel.KeyInputTokens, asCount},
	toOutputTokens:       {runmodel.KeyOutputTokens, asCount},
	toTotalTokens:        {"", asCount},
	toCacheReadTokens:    {runmodel.KeyCacheReadTokens, asCount},
	toCacheWriteTokens:   {runmodel.KeyCacheWriteTokens, asCount},
	toReasoningTokens:    {runmodel.KeyReasoningTokens, asCount},
	toInputMessages:      {runmodel.KeyInputMessages, asMessages},
	toOutputMessages:     {runmodel.KeyOutputMessages, asAnswer},
	toSystemInstructions: {runmodel.KeySystemInstructions, asParts},
	toToolDefinitions:    {runmodel.KeyToolDefinitions, asTools},
	toToolName:           {runmodel.KeyToolName, asWord},
	toToolDescription:    {"gen_ai.tool.description", asString},
	toToolCallID:         {runmodel.KeyToolCallID, asWord},
	toToolCallArguments:  {runmodel.KeyToolCallArguments, asAny},
	toToolCallResult:     {runmodel.KeyToolCallResult, asAny},
	toAgentName:          {runmodel.KeyAgentName, asWord},
	toAgentID:            {"gen_ai.agent.id", asWord},
	toAgentDescription:   {"gen_ai.agent.description", asString},
	toAgentVersion:       {"gen_ai.agent.version", asWord},
	toWorkflowName:       {"gen_ai.workflow.name", asWord},
	toConversationID:     {runmodel.KeyConversationID, asWord},
	toSessionID:          {runmodel.KeySessionID, asWord},
	toUserID:             {runmodel.KeyUserID, asWord},
	toPromptName:         {runmodel.KeyPromptName, asWord},
	toPromptVersion:      {runmodel.KeyPromptVersion, asWord},
	toTags:               {runmodel.KeyTags, asStrings},
	toMetadata:           {"", asMetadata},
	toEnvironment:        {runmodel.KeyEnvironment, asWord},
	toRelease:            {runmodel.KeyServiceVersion, asWord},
	toErrorType:          {runmodel.KeyErrorType, asWord},
	toErrorMessage:       {runmodel.KeyErrorMessage, asText},
	toCost:               {runmodel.KeyCostUSD, asNumber},
	toInputs:             {runmodel.KeyInputs, asText},
	toOutputs:            {runmodel.KeyOutputs, asText},
	toTemperature:        {"gen_ai.request.temperature", asNumber},
	toTopP:               {"gen_ai.request.top_p", asNumber},
	toTopK:               {"gen_ai.request.top_k", asNumber},
	toMaxTokens:          {"gen_ai.request.max_tokens", asCount},
	toFrequencyPenalty:   {"gen_ai.request.frequency_penalty", asNumber},
	toPresencePenalty:    {"gen_ai.request.presence_penalty", asNumber},
	toSeed:               {"gen_ai.request.seed", asCount},
	toChoiceCount:        {"gen_ai.request.choice.count", asCount},
	toStopSequences:      {"gen_ai.request.stop_sequences", asStrings},
	toStream:             {"gen_ai.request.stream", asBool},
	toReasoningLevel:     {"gen_ai.request.reasoning.level", asWord},
	toOutputType:         {"gen_ai.output.type", asWord},
	toServiceTier:        {"openai.request.service_tier", asWord},
	toRetrievalQuery:     {"gen_ai.retrieval.query.text", asString},
	toRetrievalDocuments: {"gen_ai.retrieval.documents", asJSON},
}

// rule fills a target from the first of the keys that has a usable value.
type rule struct {
	to   target
	from []string
	// as is how the values are read, the target's own form where it is asString.
	as form
	// wins puts the rule before the target's own attribute: a dialect that writes something else into it.
	wins bool
}

// dialect is the table of one source.
type dialect struct {
	// name is the value of looptrace.dialect.
	name string
	// framework is the value of looptrace.framework where the scope does not name one.
	framework string
	rules     []rule
	// kind tells the kind of a span of the dialect, and the operation where it is one of the conventions'. Both are
	// empty where the dialect says nothing.
	kind func(*span) (kind, operation string)
	// derive offers what takes more than a rule: JSON in attributes, indexed keys, events.
	derive func(*span)
	// exclusive is true where the dialect's input tokens do not include those that were cached.
	exclusive func(*span) bool
}

// use is one key's part in filling one target.
type use struct {
	to      target
	as      form
	dialect dialectID
	// rank orders the candidates of a target, the lowest first.
	rank uint16
}

// own marks the attribute that has the target's own name: it is valid in every dialect.
const own = dialectCount

// Ranks, in steps that leave room for the keys of a rule: what wins over the target's own attribute, that itself,
// each dialect in turn.
const (
	rankWins    = 0
	rankOwn     = 1000
	rankDialect = 2000
	rankStep    = 100
)

func compile() map[string][]use {
	uses := make(map[string][]use)
	for to := range targetCount {
		if key := fields[to].key; key != "" {
			uses[key] = append(uses[key], use{to: to, as: fields[to].form, dialect: own, rank: rankOwn})
		}
	}
	for id := range dialects {
		next := make(map[target]uint16)
		for _, r := range dialects[id].rules {
			as := r.as
			if as == asString {
				as = fields[r.to].form
			}
			base := uint16(rankDialect + id*rankStep)
			if r.wins {
				base = uint16(rankWins + id)
			}
			for _, key := range r.from {
				uses[key] = append(uses[key], use{to: r.to, as: as, dialect: dialectID(id), rank: base + next[r.to]})
				if !r.wins {
					next[r.to]++
				}
			}
		}
	}
	return uses
}
