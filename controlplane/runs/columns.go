package runs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/internal/clickhouse"
)

// runColumns are the columns of the table runs that runmodel.Run has.
const runColumns = `project_id, run_id, version, start_time, end_time, first_received, root_span_id,
	name, kind, status, error_type, error_message, input_preview, output_preview,
	session_id, conversation_id, user_id, agent_name, environment, release, agent_release,
	prompt_id, prompt_name, prompt_version, prompt_ids, prompt_names, prompt_versions, system_text_ids, tags, metadata, models,
	input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, other_tokens,
	cost_usd, cost_source, unpriced_call_count, span_count, error_count, llm_call_count, tool_call_count,
	tools, genai, source, replayability, fingerprint, failure_class, failing_span_id, failing_kind, failing_name, failing_effects, failing_type, failing_template,
	signals, signal_span_ids, signal_kinds, signal_names, signal_effects, signal_fingerprints, signals_unknown, signals_version`

// Expressions that cut return a little more than the limit, which shows that there is more.
var (
	// listedRunColumns are runColumns cut. The statement selects them from a subquery, so that conditions see the stored columns.
	listedRunColumns = strings.Join(cutColumns(columnsOf(runColumns),
		prefixes(MaxListedText, "name", "error_type", "error_message", "session_id", "conversation_id", "user_id", "agent_name", "environment",
			"release", "prompt_id", "prompt_name", "prompt_version", "failing_name", "failing_type"),
		map[string]string{"tags": cutList, "models": cutList, "tools": cutList, "metadata": cutMap}), ", ")
	// cutList takes the elements that fit, and one more.
	cutList = fmt.Sprintf(`if(byteSize(%%[1]s) <= %[1]d, CAST(%%[1]s AS Array(String)), arrayMap(v -> substring(v, 1, %[1]d),
		arraySlice(CAST(%%[1]s AS Array(String)), 1, 1 + arrayCount(s -> s <= %[1]d, arrayCumSum(arrayMap(v -> length(v) + 3, %%[1]s))))))`, maxListedList)
	// cutMap takes the smallest members that fit, and one more. No lambda names a column, because ClickHouse would copy it for each
	// member.
	cutMap = fmt.Sprintf(`if(byteSize(%%[1]s) <= %[1]d, CAST(%%[1]s AS Map(String, String)), CAST(arrayMap(t -> (substring(t.1, 1, %[1]d), substring(t.2, 1, %[1]d)),
		arraySlice(%[2]s, 1, 1 + arrayCount(s -> s <= %[1]d, arrayCumSum(arrayMap(t -> length(t.1) + length(t.2) + 6, %[2]s))))) AS Map(String, String)))`,
		maxListedMetadata, `arraySort(t -> (length(t.1) + length(t.2), t.1), arrayZip(CAST(mapKeys(%[1]s) AS Array(String)), mapValues(%[1]s)))`)
)

// prefixes returns expressions that cut columns after limit bytes and one.
func prefixes(limit int, columns ...string) map[string]string {
	expressions := make(map[string]string, len(columns))
	for _, column := range columns {
		expressions[column] = fmt.Sprintf("substring(%%[1]s, 1, %d)", limit+1)
	}
	return expressions
}

// columnsOf splits a list of columns.
func columnsOf(list string) []string {
	return strings.Split(strings.Join(strings.Fields(list), ""), ",")
}

// cutColumns replaces columns by expressions that cut them.
func cutColumns(columns []string, expressions ...map[string]string) []string {
	cut := slices.Clone(columns)
	for i, name := range cut {
		for _, of := range expressions {
			if expression := of[name]; expression != "" {
				cut[i] = fmt.Sprintf(expression, name) + " AS " + name
			}
		}
	}
	return cut
}

// treeColumns show where a span is in the tree of its run, and whether its usage counts.
var treeColumns = []string{
	"span_id", "version", "parent_span_id", "start_time", "is_run", "from_log", "kind", "operation", "counting", "response_hash",
	"input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens", "other_tokens",
	"end_time", "status", "error_type", "scope_name", "request_model", "tool_call_id",
}

// listedColumns are what a list of spans shows: of the payloads only the beginnings of inputs and outputs. cutListedColumns cut all other
// texts as well, which takes ClickHouse longer to plan.
var (
	listedColumns    = cutColumns(allListedColumns, prefixes(maxListedPayload, "inputs", "outputs", "tool_arguments", "tool_result"))
	cutListedColumns = cutColumns(listedColumns,
		prefixes(MaxListedText, "name", "kind", "operation", "status", "error_type", "service_name", "scope_name", "dialect", "framework", "provider",
			"request_model", "response_model", "tool_name", "tool_call_id", "agent_name", "session_id", "conversation_id", "user_id",
			"prompt_id", "prompt_name", "prompt_version", "price_version"),
		prefixes(maxListedPayload, "error_message", "error_stack"), map[string]string{"finish_reasons": cutList})
	allListedColumns = []string{
		"span_id", "version", "parent_span_id", "start_time", "end_time", "is_run", "from_log",
		"name", "kind", "operation", "status", "error_type", "error_message", "error_stack", "service_name",
		"scope_name", "dialect", "framework", "provider", "request_model", "response_model", "tool_name", "tool_call_id", "agent_name",
		"session_id", "conversation_id", "user_id", "prompt_id", "prompt_name", "prompt_version", "finish_reasons",
		"input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens", "other_tokens",
		"cost_usd", "cost_source", "price_version", "counting", "response_hash", "time_to_first_token", "input_preview", "output_preview",
		"inputs", "outputs", "tool_arguments", "tool_result",
	}
)

// namingColumns identify spans to a reader, and are small whatever was recorded. outlineColumns have the beginning of the error as well,
// for readers that get no texts.
const (
	namingColumns = `project_id, run_id, span_id, version, parent_span_id, start_time, end_time, is_run, from_log,
	substring(name, 1, 200) AS name, kind, operation, status, substring(error_type, 1, 200) AS error_type,
	substring(request_model, 1, 200) AS request_model, substring(response_model, 1, 200) AS response_model,
	substring(tool_name, 1, 200) AS tool_name, substring(agent_name, 1, 200) AS agent_name,
	tool_call_id, scope_name, counting, response_hash, input_tokens, output_tokens, other_tokens`
	outlineColumns = namingColumns + `, substring(error_message, 1, 200) AS error_message`
)

// excerptColumns are the texts of a span, cut, and the ids of its contents.
var excerptColumns = namingColumns + fmt.Sprintf(`, output_message_ids,
	arraySlice(input_message_ids, -%[2]d) AS input_message_ids,
	substring(error_message, 1, %[1]d) AS error_message, substring(error_stack, 1, %[1]d) AS error_stack, substring(inputs, 1, %[1]d) AS inputs, substring(outputs, 1, %[1]d) AS outputs,
	substring(tool_arguments, 1, %[1]d) AS tool_arguments, substring(tool_result, 1, %[1]d) AS tool_result`, MaxExcerpt+1, excerptMessages)

// Columns of a content c: fullContent is all of it. cutContent has its texts cut, and only the size of a large frame.
var (
	fullContent = "c.frame AS frame, c.texts AS texts"
	cutContent  = fmt.Sprintf(`if(length(c.frame) > %[1]d, concat('"', toString(length(c.frame)), ' bytes"'), c.frame) AS frame,
		if(length(c.frame) > %[1]d, [], arrayMap(t -> substring(t, 1, %[2]d), c.texts)) AS texts`, maxFrame, MaxExcerpt+1)
)

// cutSQL is the SQL of a text as Texts returns it.
func cutSQL(text string) string {
	return fmt.Sprintf(`if(length(%[1]s) > %[2]d, concat(substring(%[1]s, 1, %[2]d), '\0', leftPad(hex(sipHash64(%[1]s)), %[3]d, '0')), %[1]s)`, text, MaxText, TextHash)
}

var (
	textColumns = namingColumns + fmt.Sprintf(`, output_message_ids, arraySlice(input_message_ids, -%d) AS input_message_ids,
	instructions_id, tool_definitions_id`, excerptMessages) +
		", " + cutSQL("error_message") + " AS error_message, " + cutSQL("inputs") + " AS inputs, " + cutSQL("outputs") + " AS outputs" +
		", " + cutSQL("tool_arguments") + " AS tool_arguments, " + cutSQL("tool_result") + " AS tool_result"
	// A content with much besides its texts, such as an image, is represented by its size and hash.
	hashedContent = fmt.Sprintf(`if(length(c.frame) > %[1]d, concat('"', toString(length(c.frame)), ' bytes, ', hex(sipHash64(c.frame)), '"'), c.frame) AS frame,
		if(length(c.frame) > %[1]d, [], arrayMap(t -> %[2]s, c.texts)) AS texts`, maxFrame, cutSQL("t"))
)

// Columns of a score, cut, for lists of runs or spans and for lists of scores.
var (
	shortScoreColumns = scoreColumns(shortComment)
	longScoreColumns  = scoreColumns(longComment)
)

func scoreColumns(comment int) string {
	return strings.Join(cutColumns(columnsOf(clickhouse.ScoreColumns), prefixes(scoreName, "name", "label", "author_name"), prefixes(comment, "comment")), ", ")
}
