package genaispans

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
	toCacheWrite1hTokens
	toReasoningTokens
	toOtherTokens
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
	toPromptID
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

// form is how the value of a target is read and written.
type form uint8

const (
	asString    form = iota
	asName           // a name or an enum value; quotes of a JSON string are removed
	asCount          // a number of things, not negative
	asNumber         // a number
	asSeconds        // a duration in seconds
	asMillis         // a duration in milliseconds, written in seconds
	asStrings        // a list of strings, or the JSON text of one, or one string
	asCommas         // one string of comma-separated values
	asBool           // a bool, or the text of one
	asMessages       // messages in any format, from the user unless they have a role
	asAnswer         // messages in any format, from the assistant unless they have a role
	asParts          // system instructions
	asTools          // tool definitions
	asAny            // any value, unchanged
	asText           // any value, as text
	asMetadata       // the JSON text of an object, whose members become metadata
	asJSON           // any value; a string is JSON text where it is valid
	asProvider       // the name of a provider in any spelling
	asOperation      // the name of an operation in any spelling
)

// fields are the keys and forms of the targets. A target with an empty key is internal.
var fields = [targetCount]struct {
	key  string
	form form
}{
	toOperation:          {runmodel.KeyOperationName, asOperation},
	toProvider:           {runmodel.KeyProviderName, asProvider},
	toRequestModel:       {runmodel.KeyRequestModel, asName},
	toResponseModel:      {runmodel.KeyResponseModel, asName},
	toResponseID:         {"gen_ai.response.id", asName},
	toFinishReasons:      {runmodel.KeyFinishReasons, asStrings},
	toTimeToFirstChunk:   {runmodel.KeyTimeToFirstChunk, asSeconds},
	toInputTokens:        {runmodel.KeyInputTokens, asCount},
	toOutputTokens:       {runmodel.KeyOutputTokens, asCount},
	toTotalTokens:        {"", asCount},
	toCacheReadTokens:    {runmodel.KeyCacheReadTokens, asCount},
	toCacheWriteTokens:   {runmodel.KeyCacheWriteTokens, asCount},
	toCacheWrite1hTokens: {runmodel.KeyCacheWrite1hTokens, asCount},
	toReasoningTokens:    {runmodel.KeyReasoningTokens, asCount},
	toOtherTokens:        {runmodel.KeyOtherTokens, asCount},
	toInputMessages:      {runmodel.KeyInputMessages, asMessages},
	toOutputMessages:     {runmodel.KeyOutputMessages, asAnswer},
	toSystemInstructions: {runmodel.KeySystemInstructions, asParts},
	toToolDefinitions:    {runmodel.KeyToolDefinitions, asTools},
	toToolName:           {runmodel.KeyToolName, asName},
	toToolDescription:    {"gen_ai.tool.description", asString},
	toToolCallID:         {runmodel.KeyToolCallID, asName},
	toToolCallArguments:  {runmodel.KeyToolCallArguments, asAny},
	toToolCallResult:     {runmodel.KeyToolCallResult, asAny},
	toAgentName:          {runmodel.KeyAgentName, asName},
	toAgentID:            {"gen_ai.agent.id", asName},
	toAgentDescription:   {"gen_ai.agent.description", asString},
	toAgentVersion:       {"gen_ai.agent.version", asName},
	toWorkflowName:       {"gen_ai.workflow.name", asName},
	toConversationID:     {runmodel.KeyConversationID, asName},
	toSessionID:          {runmodel.KeySessionID, asName},
	toUserID:             {runmodel.KeyUserID, asName},
	toPromptID:           {runmodel.KeyPromptID, asName},
	toPromptName:         {runmodel.KeyPromptName, asName},
	toPromptVersion:      {runmodel.KeyPromptVersion, asName},
	toTags:               {runmodel.KeyTags, asStrings},
	toMetadata:           {"", asMetadata},
	toEnvironment:        {runmodel.KeyEnvironment, asName},
	toRelease:            {runmodel.KeyServiceVersion, asName},
	toErrorType:          {runmodel.KeyErrorType, asName},
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
	toReasoningLevel:     {"gen_ai.request.reasoning.level", asName},
	toOutputType:         {"gen_ai.output.type", asName},
	toServiceTier:        {"openai.request.service_tier", asName},
	toRetrievalQuery:     {"gen_ai.retrieval.query.text", asString},
	toRetrievalDocuments: {"gen_ai.retrieval.documents", asJSON},
}

// rule fills a target from the first of the keys that has a usable value.
type rule struct {
	to   target
	from []string
	// as is how the values are read. The zero value means the target's own form.
	as form
	// wins ranks the rule before the attribute that has the target's own key, for dialects that misuse that key.
	wins bool
}

// dialect is the table of one source of spans.
type dialect struct {
	// name is the value of looptrace.dialect.
	name string
	// framework is the value of looptrace.framework if the scope does not name one.
	framework string
	rules     []rule
	// kind returns the kind of a span of the dialect, and the operation if the conventions define one. Both are empty
	// if the dialect does not determine the kind.
	kind func(*span) (kind, operation string)
	// derive offers values that a rule cannot express: JSON in attributes, indexed keys, events.
	derive func(*span)
	// exclusive reports whether the dialect's input tokens exclude cached ones.
	exclusive func(*span) bool
}

// use is the use of one key as a source of one target.
type use struct {
	to      target
	as      form
	dialect dialectID
	// rank orders the candidates of a target, lowest first.
	rank uint16
}

// standard stands for the attribute that has the target's own key, which is valid in every dialect.
const standard = dialectCount

// Ranks: rules that win over the target's own key, then that key, then each dialect in turn. Steps leave space for
// the keys of a rule.
const (
	rankWins     = 0
	rankStandard = 1000
	rankDialect  = 2000
	rankStep     = 100
)

func compile() map[string][]use {
	uses := make(map[string][]use)
	for to := range targetCount {
		if key := fields[to].key; key != "" {
			uses[key] = append(uses[key], use{to: to, as: fields[to].form, dialect: standard, rank: rankStandard})
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
