package grader

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/grader/formula"
	"github.com/looptrace/looptrace/internal/problem"
)

func ptr[T any](v T) *T { return &v }

// graded is a case: a definition without a name, a sample, and what comes out.
type graded struct {
	grader string
	sample Sample
	// want is the score; -1 that the grader does not apply, -2 an error.
	want float64
	// pass is "pass", "fail" or "" for neither.
	pass string
	// says is a part of the reason or the error.
	says string
}

const (
	na      = -1
	failing = -2
)

func gradeOne(t *testing.T, c *graded) Result {
	t.Helper()
	g, parseErr := Parse(json.RawMessage(`{"name": "g", `+c.grader+`}`), "body")
	require.NoError(t, parseErr, c.grader)
	r := g.Grade(t.Context(), &c.sample)
	about := c.grader + " " + string(c.sample.Output) + ": " + r.Reason + r.Error
	switch c.want {
	case na:
		assert.False(t, r.Applies(), about)
		assert.Empty(t, r.Error, about)
		assert.Nil(t, r.Pass, about)
		assert.Contains(t, r.Reason, "Does not apply", about)
	case failing:
		assert.Nil(t, r.Score, about)
		assert.NotEmpty(t, r.Error, about)
	default:
		if assert.NotNil(t, r.Score, about) {
			assert.InDelta(t, c.want, *r.Score, 1e-9, about)
		}
		switch c.pass {
		case "":
			assert.Nil(t, r.Pass, about)
		default:
			if assert.NotNil(t, r.Pass, about) {
				assert.Equal(t, c.pass == "pass", *r.Pass, about)
			}
		}
		if g.Binary() {
			assert.Contains(t, []float64{0, 1}, *r.Score, about)
		}
	}
	assert.Contains(t, r.Reason+r.Error, c.says, about)
	if r.Evidence != nil {
		assert.True(t, json.Valid(r.Evidence))
	}
	return r
}

func of(output, reference string) Sample {
	return Sample{Output: json.RawMessage(output), ReferenceOutput: json.RawMessage(reference)}
}

func TestText(t *testing.T) {
	t.Parallel()
	for _, c := range []graded{
		{`"type": "string_check", "operation": "eq", "ignore_case": true, "pattern": "(?i)answer:? *([A-E])"`, of(`"ANSWER: c"`, `"C"`), 1, "pass", ""},
		{`"type": "string_check", "operation": "eq"`, of(`"Paris"`, `"Paris"`), 1, "pass", `"Paris" equals "Paris".`},
		{`"type": "string_check", "operation": "eq"`, of(`"paris"`, `"Paris"`), 0, "fail", "does not equal"},
		{`"type": "string_check", "operation": "eq", "ignore_case": true`, of(`"paris"`, `"PARIS"`), 1, "pass", ""},
		{`"type": "string_check", "operation": "eq"`, of(`"Paris\n"`, `"Paris"`), 0, "fail", `\n`},
		{`"type": "string_check", "operation": "eq", "pattern": "^\\s*(.*?)\\s*$"`, of(`"Paris\n"`, `"Paris"`), 1, "pass", ""},
		{`"type": "string_check", "operation": "eq"`, of(`"paris"`, `["Paris", "paris"]`), 1, "pass", "1 of 2"},
		{`"type": "string_check", "operation": "eq"`, of(`"x"`, `[]`), na, "", "empty"},
		{`"type": "string_check", "operation": "eq"`, of(`42`, `42`), 1, "pass", ""},
		{`"type": "string_check", "operation": "eq"`, of(`{"a": 1}`, `"{\"a\": 1}"`), 1, "pass", ""},
		{`"type": "string_check", "operation": "ne"`, of(`"a"`, `"b"`), 1, "pass", ""},
		{`"type": "string_check", "operation": "ne"`, of(`"a"`, `"a"`), 0, "fail", ""},
		{`"type": "string_check", "operation": "ne", "negate": true`, of(`"a"`, `"a"`), 1, "pass", ""},
		{`"type": "string_check", "operation": "ne"`, of(`"a"`, `["b", "a"]`), 0, "fail", ""},
		{`"type": "string_check", "operation": "like"`, of(`"in Paris now"`, `"Paris"`), 1, "pass", "contains"},
		{`"type": "string_check", "operation": "like"`, of(`"100% x"`, `"0% x"`), 1, "pass", ""},
		{`"type": "string_check", "operation": "ilike"`, of(`"in PARIS now"`, `"paris"`), 1, "pass", ""},
		{`"type": "string_check", "operation": "like"`, of(`"anything"`, `""`), na, "", "empty"},
		{`"type": "string_check", "operation": "eq"`, of(`""`, `""`), 1, "pass", ""},
		{`"type": "string_check", "operation": "like", "match": "all", "reference": ["a", "b"]`, of(`"a"`, ``), 0, "fail", `"b"`},
		{`"type": "string_check", "operation": "like", "match": "all", "reference": ["a", "b"]`, of(`"ab"`, ``), 1, "pass", "2 of 2"},
		{`"type": "string_check", "operation": "like", "reference": ["c", "b"]`, of(`"ab"`, ``), 1, "pass", `contains "b"`},
		{`"type": "string_check", "operation": "like", "negate": true, "reference": ["sorry", "cannot"]`, of(`"I cannot"`, ``), 0, "fail", ""},
		{`"type": "string_check", "operation": "starts_with", "reference": "Dear"`, of(`"Dear Sir"`, ``), 1, "pass", "starts with"},
		{`"type": "string_check", "operation": "ends_with", "reference": "."`, of(`"Dear Sir"`, ``), 0, "fail", "does not end"},
		{`"type": "string_check", "operation": "eq"`, of(`"x"`, ``), na, "", "no reference_output"},
		{`"type": "string_check", "operation": "eq"`, of(`"x"`, `null`), na, "", "no reference_output"},
		{`"type": "string_check", "operation": "eq"`, of(``, `"x"`), na, "", "no output"},
		{`"type": "string_check", "operation": "eq"`, Sample{Message: json.RawMessage(`{"content": null}`), ReferenceOutput: json.RawMessage(`"x"`)}, 0, "fail", ""},
		{`"type": "string_check", "operation": "eq", "pattern": "answer: (\\w+)"`, of(`"The answer: Paris."`, `"Paris"`), 1, "pass", ""},
		{`"type": "string_check", "operation": "eq", "pattern": "answer: (\\w+)"`, of(`"Paris"`, `"Paris"`), 0, "fail", "no answer"},
		{`"type": "string_check", "operation": "ne", "pattern": "answer: (\\w+)"`, of(`"Paris"`, `"Rome"`), 0, "fail", "no answer"},
		{`"type": "string_check", "operation": "eq", "reference": "{{item.reference_output.answer}}"`, of(`"4"`, `{"answer": 4}`), 1, "pass", ""},
		{`"type": "string_check", "operation": "eq", "reference": "{{item.answer}}"`, of(`"4"`, `{"answer": 4}`), 1, "pass", ""},
		{`"type": "string_check", "operation": "eq", "reference": "{{ item.b[1] }}"`, of(`"y"`, `{"b": ["x", "y"]}`), 1, "pass", ""},
		{`"type": "string_check", "operation": "like", "reference": "{{item.b[*].c}}"`, of(`"y"`, `{"b": [{"c": "x"}, {"c": "y"}]}`), 1, "pass", ""},
		{`"type": "string_check", "operation": "eq", "reference": "{{item['my-field']}}"`, of(`"y"`, `{"my-field": "y"}`), 1, "pass", ""},
		{`"type": "string_check", "operation": "eq", "reference": "{{item.c}}"`, of(`"y"`, `{"b": 1}`), na, "", "no c"},
		{`"type": "string_check", "operation": "eq", "input": "{{sample.output_json.c}}"`, of(`"no JSON"`, `"x"`), 0, "fail", "no output_json.c"},
		{`"type": "string_check", "operation": "eq", "input": "{{sample.output_json.c}}"`, of(`"{\"c\": \"x\"}"`, `"x"`), 1, "pass", ""},
		{`"type": "string_check", "operation": "eq", "input": "{{sample.output_json.c}}", "reference": "{{item.d}}"`, of(`"no JSON"`, `"x"`), na, "", "no d"},
		{`"type": "string_check", "operation": "eq", "input": "<{{sample.output_text}}>", "reference": "<{{item.reference_output}}>"`, of(`"a<b"`, `"a<b"`), 1, "pass", ""},

		{`"type": "regex", "pattern": "\\d{4}"`, of(`"in 1984"`, ``), 1, "pass", `"1984"`},
		{`"type": "regex", "pattern": "^\\d{4}$"`, of(`"in 1984"`, ``), 0, "fail", ""},
		{`"type": "regex", "pattern": "YES", "ignore_case": true`, of(`"yes"`, ``), 1, "pass", ""},
		{`"type": "regex", "pattern": "sorry", "negate": true`, of(`"sorry"`, ``), 0, "fail", ""},
		{`"type": "regex", "pattern": "sorry", "negate": true`, of(`"fine"`, ``), 1, "pass", ""},

		{`"type": "number"`, of(`"42"`, `42`), 1, "pass", ""},
		{`"type": "number"`, of(`"It is 42.0."`, `"42"`), 1, "pass", "42.0"},
		{`"type": "number"`, of(`"4 + 38 = 42"`, `42`), 1, "pass", ""},
		{`"type": "number"`, of(`"1,234,567.5"`, `1234567.5`), 1, "pass", ""},
		{`"type": "number"`, of(`"10.1"`, `10`), 0, "fail", "not"},
		{`"type": "number", "absolute_tolerance": 0.1`, of(`"10.1"`, `10`), 1, "pass", ""},
		{`"type": "number", "absolute_tolerance": 0.0999`, of(`"10.1"`, `10`), 0, "fail", ""},
		{`"type": "number", "relative_tolerance": 0.01`, of(`"-101"`, `-100`), 1, "pass", ""},
		{`"type": "number"`, of(`"12345678901234567890"`, `12345678901234567891`), 0, "fail", ""},
		{`"type": "number"`, of(`"1e3"`, `1000`), 1, "pass", ""},
		{`"type": "number"`, of(`"pages 10-20"`, `20`), 1, "pass", ""},
		{`"type": "number"`, of(`"€5"`, `5`), 1, "pass", ""},
		{`"type": "number"`, of(`"−5 degrees"`, `-5`), 1, "pass", ""},
		{`"type": "number"`, of(`"version v2"`, `2`), 0, "fail", "no number"},
		{`"type": "number"`, of(`"1e999999999"`, `1`), failing, "", "digits"},
		{`"type": "number"`, of(`"x"`, `"many"`), failing, "", "not a number"},
		{`"type": "number", "pattern": "#### (.*)"`, of(`"7 apples\n#### 5"`, `5`), 1, "pass", ""},

		{`"type": "length", "max": 3`, of(`"äöü"`, ``), 1, "pass", "3 characters"},
		{`"type": "length", "min": 2, "max": 3, "unit": "words"`, of(`"one"`, ``), 0, "fail", ""},
		{`"type": "length", "max": 2, "unit": "lines"`, of(`"one\ntwo\n"`, ``), 1, "pass", "2 lines"},
		{`"type": "length", "min": 1`, Sample{ToolCalls: []ToolCall{}}, 0, "fail", ""},

		{`"type": "text_similarity", "evaluation_metric": "fuzzy_match"`, of(`"abc"`, `"abc"`), 1, "", ""},
		{`"type": "text_similarity", "evaluation_metric": "fuzzy_match", "pass_threshold": 0.8`, of(`"kitten"`, `"sitting"`), 8.0 / 13, "fail", ""},
		{`"type": "text_similarity", "evaluation_metric": "bleu"`, of(`"abc"`, `" "`), na, "", "empty"},
		{`"type": "text_similarity", "evaluation_metric": "rouge_2"`, of(`"abc"`, `"abc"`), na, "", "fewer words"},
		{`"type": "text_similarity", "evaluation_metric": "rouge_1"`, of(`""`, `"abc"`), 0, "", ""},
	} {
		gradeOne(t, &c)
	}
}

func TestStructure(t *testing.T) {
	t.Parallel()
	const person = `"schema": {"type": "object", "required": ["name"], "properties": {"age": {"type": "integer"}, "name": {"type": "string", "pattern": "^A"}}}`
	for _, c := range []graded{
		{`"type": "json_check", "operation": "valid"`, of(`"{\"a\": 1}"`, ``), 1, "pass", ""},
		{`"type": "json_check", "operation": "valid"`, of(`"{\"a\": 1"`, ``), 0, "fail", "not JSON"},
		{`"type": "json_check", "operation": "valid"`, of("\"```json\\n{}\\n```\"", ``), 0, "fail", ""},
		{"\"type\": \"json_check\", \"operation\": \"valid\", \"pattern\": \"(?s)```(?:json)?(.*)```\"", of("\"```json\\n{}\\n```\"", ``), 1, "pass", ""},
		{`"type": "json_check", "operation": "valid"`, of(`{"a": 1}`, ``), 1, "pass", ""},
		{`"type": "json_check", "operation": "valid", "input": "{{sample.output_json.a.b}}"`, of(`{"a": {"c": 1}}`, ``), 0, "fail", "no output_json.a.b"},
		{`"type": "json_check", "operation": "eq"`, of(`{"a": 1.0, "b": [1]}`, `{"b": [1], "a": 1}`), 1, "pass", ""},
		{`"type": "json_check", "operation": "eq"`, of(`"{\"a\": 1}"`, `"{\"a\": 1}"`), 1, "pass", ""},
		{`"type": "json_check", "operation": "eq"`, of(`{"a": 12345678901234567890}`, `{"a": 12345678901234567891}`), 0, "fail", ""},
		{`"type": "json_check", "operation": "eq"`, of(`{"a": "1"}`, `{"a": 1}`), 0, "fail", ""},
		{`"type": "json_check", "operation": "contains"`, of(`{"a": 1, "b": {"c": 2, "d": 3}}`, `{"b": {"c": 2}}`), 1, "pass", ""},
		{`"type": "json_check", "operation": "contains"`, of(`{"a": 1}`, `{"b": null}`), 0, "fail", ""},
		{`"type": "json_check", "operation": "eq", "input": "{{sample.output_json.items[*].id}}", "reference": [1, 2]`, of(`{"items": [{"id": 1}, {"id": 2}]}`, ``), 1, "pass", ""},

		{`"type": "json_similarity"`, of(`{"a": 1, "b": "x"}`, `{"b": "x", "a": 1}`), 1, "", ""},
		{`"type": "json_similarity"`, of(`{"a": 1, "b": "x"}`, `{"a": 1}`), 0.5, "", "differences: 1"},
		{`"type": "json_similarity"`, of(`{"a": {"b": 1, "c": 2}, "d": "kitten"}`, `{"a": {"b": 1, "c": 3}, "d": "sitting"}`), (0.5 + 4.0/7) / 2, "", ""},
		{`"type": "json_similarity"`, of(`[1, 2, 3]`, `[1, 2]`), 2.0 / 3, "", ""},
		{`"type": "json_similarity", "pass_threshold": 0.9`, of(`[]`, `{}`), 0, "fail", ""},
		{`"type": "json_similarity"`, of(`"no JSON"`, `{}`), 0, "", "not JSON"},
		{`"type": "json_similarity"`, of(`{}`, `{}`), 1, "", ""},

		{`"type": "json_schema", ` + person, of(`{"name": "Ada", "age": 36}`, ``), 1, "pass", ""},
		{`"type": "json_schema", ` + person, of(`"{\"name\": \"Ada\", \"age\": \"36\"}"`, ``), 0, "fail", "/age"},
		{`"type": "json_schema", ` + person, of(`{"age": 36}`, ``), 0, "fail", "name"},
		{`"type": "json_schema", ` + person, of(`{"name": "Bob"}`, ``), 0, "fail", "/name"},
		{`"type": "json_schema", ` + person, of(`"Ada"`, ``), 0, "fail", "not JSON"},

		{`"type": "finish_reason", "allowed": ["stop"]`, Sample{FinishReason: "stop"}, 1, "pass", ""},
		{`"type": "finish_reason", "allowed": ["stop"]`, Sample{FinishReason: "length"}, 0, "fail", "length"},
		{`"type": "finish_reason", "allowed": ["stop"]`, Sample{}, na, "", ""},
		{`"type": "refusal"`, Sample{Message: json.RawMessage(`{"content": "Yes"}`)}, 1, "pass", ""},
		{`"type": "refusal"`, Sample{Message: json.RawMessage(`{"content": null, "refusal": "No."}`)}, 0, "fail", "No."},
		{`"type": "refusal", "expected": true`, Sample{Message: json.RawMessage(`{"content": [{"type": "refusal", "refusal": "No."}]}`)}, 1, "pass", ""},
		{`"type": "refusal"`, Sample{FinishReason: "content_filter"}, 0, "fail", ""},
		{`"type": "refusal"`, of(`"I cannot help with that"`, ``), na, "", ""},

		{`"type": "budget", "max_cost_usd": 0.01`, Sample{CostUSD: ptr(0.01)}, 1, "pass", ""},
		{`"type": "budget", "max_cost_usd": 0.01`, Sample{CostUSD: ptr(0.011)}, 0, "fail", "cost_usd"},
		{`"type": "budget", "max_cost_usd": 0.01`, Sample{}, na, "", "cost_usd is not known"},
		{`"type": "budget", "max_cost_usd": 0.01, "max_duration_ms": 100`, Sample{Duration: ptr(time.Second)}, 0, "fail", "1000"},
		{`"type": "budget", "max_cost_usd": 0.01, "max_duration_ms": 100`, Sample{Duration: ptr(time.Millisecond)}, na, "", "cost_usd"},
		{`"type": "budget", "max_total_tokens": 10`, Sample{InputTokens: ptr[int64](6), OutputTokens: ptr[int64](5)}, 0, "fail", "11"},
		{`"type": "budget", "max_total_tokens": 10`, Sample{InputTokens: ptr[int64](6)}, na, "", "total_tokens"},
		{`"type": "budget", "max_time_to_first_token_ms": 500, "max_tool_calls": 0`, Sample{TimeToFirstToken: ptr(time.Second / 2), ToolCalls: []ToolCall{}}, 1, "pass", ""},
	} {
		gradeOne(t, &c)
	}
}

// calls makes tool calls of texts such as `search {"q": "x"}`. One with a ! in front failed.
func calls(list ...string) Sample {
	s := Sample{ToolCalls: []ToolCall{}}
	for _, one := range list {
		var call ToolCall
		if rest, ok := strings.CutPrefix(one, "!"); ok {
			call.Error, one = ptr("no"), rest
		}
		name, arguments, _ := strings.Cut(one, " ")
		call.Name, call.Arguments = name, json.RawMessage(arguments)
		s.ToolCalls = append(s.ToolCalls, call)
	}
	return s
}

func TestTrajectory(t *testing.T) {
	t.Parallel()
	const three = `"type": "trajectory_match", "reference": [{"name": "search", "arguments": {"q": "x"}}, {"name": "open", "arguments": {"id": 1}}, {"name": "answer"}]`
	searched := calls(`search {"q": "x"}`, `search {"q": "y"}`, `open {"id": 1.0}`)
	all := calls(`search {"q": "x"}`, `open {"id": 1}`, `answer`)
	shuffled := calls(`answer {}`, `search {"q": "x"}`, `open "{\"id\": 1}"`)
	more := calls(`search {"q": "x", "lang": "en"}`, `open {"id": 1}`, `answer`, `close`)
	for _, c := range []graded{
		{three, searched, 2.0 / 3, "fail", "2 of 3 calls match 3"},
		{three + `, "score": "order"`, searched, 2.0 / 3, "fail", ""},
		{three, all, 1, "pass", ""},
		{three + `, "mode": "strict"`, all, 1, "pass", ""},
		{three + `, "mode": "strict"`, shuffled, 1, "fail", ""},
		{three, shuffled, 1, "pass", "in order 0.67"},
		{three + `, "mode": "subset"`, calls(`answer`), 0.5, "pass", ""},
		{three + `, "mode": "subset", "score": "recall"`, calls(`answer`), 1.0 / 3, "pass", ""},
		{three + `, "mode": "superset"`, more, 2 * 0.5 * (2.0 / 3) / (0.5 + 2.0/3), "fail", ""},
		{three + `, "mode": "superset", "arguments": "superset"`, more, 6.0 / 7, "pass", ""},
		{three + `, "mode": "superset", "arguments": "superset", "score": "precision"`, more, 0.75, "pass", ""},
		{three + `, "mode": "superset", "argument_overrides": {"search": ["q"]}`, more, 6.0 / 7, "pass", ""},
		{three + `, "mode": "superset", "argument_overrides": {"search": "ignore"}`, more, 6.0 / 7, "pass", ""},
		{three + `, "arguments": "subset"`, calls(`search`, `open`, `answer`), 1, "pass", ""},
		{three + `, "arguments": "ignore", "pass_threshold": 0.5`, calls(`search`), 0.5, "pass", ""},
		{three, calls(), 0, "fail", "0 of 0"},
		{three, Sample{}, na, "", "not known"},
		{three, Sample{Message: json.RawMessage(`{"content": "x"}`)}, 0, "fail", ""},
		{`"type": "trajectory_match"`, calls(`a`), na, "", "no reference_output.tool_calls"},
		{`"type": "trajectory_match", "reference": []`, calls(), 1, "pass", ""},
		{`"type": "trajectory_match", "reference": []`, calls(`a`), 0, "fail", ""},
		{`"type": "trajectory_match", "reference": [{"type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}}]`, calls(`f {"a": 1}`), 1, "pass", ""},
		// The first wanted call fits both; pairs in order alone would leave the second without a partner.
		{`"type": "trajectory_match", "arguments": "superset", "reference": [{"name": "f"}, {"name": "f", "arguments": {"a": 1}}]`, calls(`f {"a": 1}`, `f {"b": 2}`), 1, "pass", ""},

		{`"type": "tool_use", "tools": ["search"], "min": 1`, searched, 1, "pass", ""},
		{`"type": "tool_use", "tools": ["search"], "min": 1, "max": 1`, searched, 0, "fail", "2 times"},
		{`"type": "tool_use", "tools": ["search", "close"], "min": 1`, searched, 0.5, "fail", `"close" was called never`},
		{`"type": "tool_use", "tools": ["delete", "drop"], "max": 0`, searched, 1, "pass", ""},
		{`"type": "tool_use", "tools": ["delete", "drop"], "max": 0`, calls(`drop`), 0.5, "fail", ""},
		{`"type": "tool_use", "max": 2`, searched, 0, "fail", "3 tool calls"},
		{`"type": "tool_use", "max": 2`, Sample{}, na, "", ""},

		{`"type": "tool_order", "order": ["verify", "refund"]`, calls(`verify`, `refund`), 1, "pass", ""},
		{`"type": "tool_order", "order": ["verify", "refund"]`, calls(`refund`, `verify`), 0, "fail", "before"},
		{`"type": "tool_order", "order": ["verify", "refund"]`, calls(`!verify`, `refund`), 0, "fail", ""},
		{`"type": "tool_order", "order": ["verify", "refund"]`, calls(`refund`, `verify`, `refund`), 0.5, "fail", ""},
		{`"type": "tool_order", "order": ["verify", "refund"]`, calls(`verify`), na, "", ""},

		{`"type": "expression", "expression": "tool_calls.all(c, c.error == null || tool_calls.exists(d, d.name == c.name && d.error == null))"`, calls(`!a`, `a`), 1, "pass", ""},
		{`"type": "expression", "expression": "tool_calls.all(c, c.error == null || tool_calls.exists(d, d.name == c.name && d.error == null))"`, calls(`!a`, `b`), 0, "fail", ""},
		{`"type": "tool_loop"`, all, 1, "pass", ""},
		{`"type": "tool_loop"`, calls(`a`, `a`, `a`), 1.0 / 3, "fail", "2 of 3"},
		{`"type": "tool_loop", "max_repeats": 3`, calls(`a`, `a`, `a`), 1.0 / 3, "pass", ""},
		{`"type": "tool_loop"`, calls(`a`, `b`, `a`, `b`, `a`, `b`), 1.0 / 3, "fail", "cycles: 1"},
		{`"type": "tool_loop"`, Sample{ToolCalls: []ToolCall{{Name: "poll", Result: json.RawMessage(`1`)}, {Name: "poll", Result: json.RawMessage(`2`)}}}, 1, "pass", ""},
		{`"type": "tool_loop"`, calls(), na, "", ""},

		{`"type": "tool_schema", "tools": [{"name": "open", "parameters": {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}}, {"name": "answer"}]`, calls(`open {"id": 1}`, `answer`), 1, "pass", ""},
		{`"type": "tool_schema", "tools": [{"type": "function", "function": {"name": "open", "parameters": {"required": ["id"]}}}]`, calls(`open {}`, `open {"id": 1}`, `opne {"id": 1}`), 1.0 / 3, "fail", "2 of 3"},
		{`"type": "tool_schema", "tools": [{"name": "open"}]`, calls(`open "{\"id\": "`), 0, "fail", "not JSON"},
		{`"type": "tool_schema"`, calls(`open`), na, "", "no tools"},
		{`"type": "tool_schema", "tools": []`, calls(), na, "", ""},
	} {
		gradeOne(t, &c)
	}
	r := gradeOne(t, &graded{three, searched, 2.0 / 3, "fail", ""})
	assert.JSONEq(t, `{"precision": 0.6666666666666666, "recall": 0.6666666666666666, "f1": 0.6666666666666666, "order": 0.6666666666666666,
		"matched": [{"tool": "search", "call": 0, "reference": 0}, {"tool": "open", "call": 2, "reference": 1}],
		"unexpected": [{"tool": "search", "position": 1}], "missing": [{"tool": "answer", "position": 2}]}`, string(r.Evidence))
	r = gradeOne(t, &graded{`"type": "tool_loop"`, calls(`z`, `a`, `b`, `a`, `b`, `a`, `b`, `c`), 0.5, "fail", ""})
	assert.Contains(t, string(r.Evidence), `"cycles":[{"position":1,"length":2,"repeats":3}]`)
}

func TestExpressions(t *testing.T) {
	t.Parallel()
	sample := Sample{
		Input: json.RawMessage(`{"limit": 3}`), Output: json.RawMessage(`"{\"n\": 2}"`), ReferenceOutput: json.RawMessage(`{"n": 2}`),
		Metadata: map[string]any{"tier": "gold", "n": 3}, ToolCalls: []ToolCall{{Name: "f", Arguments: json.RawMessage(`"{\"a\": 1}"`)}},
		InputTokens: ptr[int64](5), FinishReason: "stop",
	}
	for _, c := range []graded{
		{`"type": "expression", "expression": "output_json.n == reference.n && output_json.n <= input.limit"`, sample, 1, "pass", ""},
		{`"type": "expression", "expression": "metadata.tier == 'gold' ? 0.25 : 1.0"`, sample, 0.25, "", ""},
		{`"type": "expression", "expression": "tool_calls.all(c, c.name != 'delete') && tool_calls[0].arguments.a == 1"`, sample, 1, "pass", ""},
		{`"type": "expression", "expression": "usage.input_tokens < 10 && usage.output_tokens == null && cost_usd == null"`, sample, 1, "pass", ""},
		{`"type": "expression", "expression": "output_text.matches('(?i)N') && finish_reason == 'stop'"`, sample, 1, "pass", ""},
		{`"type": "expression", "expression": "math.least(1.0, 3.0 / 2.0)"`, sample, 1, "", ""},
		{`"type": "expression", "expression": "cost_usd == null ? dyn(null) : cost_usd < 1"`, sample, na, "", "null"},
		{`"type": "expression", "expression": "output == null && tool_calls == null && output_text == ''"`, Sample{}, 1, "pass", ""},
		{`"type": "expression", "expression": "metadata.missing == 1"`, sample, failing, "", "has(x.y)"},
		{`"type": "expression", "expression": "2"`, sample, failing, "", "between 0 and 1"},
		{`"type": "expression", "expression": "metadata.tier"`, sample, failing, "", "string"},
		{`"type": "expression", "expression": "[1,2,3].all(a, [1,2,3].all(b, output_text.contains('')))"`, sample, 1, "pass", ""},
	} {
		gradeOne(t, &c)
	}
}

func TestMulti(t *testing.T) {
	t.Parallel()
	const guide = `"type": "multi", "graders": {
		"name": {"name": "name_grader", "type": "text_similarity", "input": "{{sample.output_json.name}}", "reference": "{{item.name}}", "evaluation_metric": "fuzzy_match", "pass_threshold": 0.9},
		"email": {"name": "email_grader", "type": "string_check", "input": "{{sample.output_json.email}}", "reference": "{{item.email}}", "operation": "eq"}
	}, "calculate_output": "(name + email) / 2"`
	item := json.RawMessage(`{"name": "John Doe", "email": "john.doe@gmail.com"}`)
	tools := `"type": "multi", "graders": {
		"function_name": {"name": "function_name", "type": "string_check", "input": "get_acceptors", "reference": "{{sample.output_tools[0].function.name}}", "operation": "eq"},
		"arguments": {"name": "arguments", "type": "string_check", "input": "{\"smiles\": \"{{item.smiles}}\"}", "reference": "{{sample.output_tools[0].function.arguments}}", "operation": "eq"}
	}, "calculate_output": "0.5 * function_name + 0.5 * arguments"`
	called := calls(`get_acceptors "{\"smiles\": \"C=O\"}"`)
	called.Input = json.RawMessage(`{"smiles": "C=O"}`)
	const a = `{"name": "a", "type": "string_check", "operation": "like", "reference": "a", "weight": 3}`
	const b = `{"name": "b", "type": "string_check", "operation": "like", "reference": "b"}`
	const r = `{"name": "r", "type": "string_check", "operation": "eq"}`
	for _, c := range []graded{
		{guide, Sample{Input: item, Output: json.RawMessage(`"{\"name\": \"John Doe\", \"email\": \"john.doe@gmail.com\"}"`)}, 1, "", ""},
		{guide, Sample{Input: item, Output: json.RawMessage(`{"name": "John Do", "email": "x"}`)}, (14.0 / 15) / 2, "", ""},
		{guide + `, "pass_threshold": 0.5`, Sample{Input: item, Output: json.RawMessage(`{"name": "John Doe", "email": "x"}`)}, 0.5, "pass", ""},
		{guide, Sample{Input: json.RawMessage(`{"name": "John Doe"}`), Output: json.RawMessage(`{"name": "John Doe"}`)}, na, "", "email does not apply"},
		{tools, called, 1, "", ""},
		{`"type": "multi", "graders": [` + a + `, ` + b + `]`, of(`"a"`, ``), 0.75, "fail", "weighted mean of 2"},
		{`"type": "multi", "graders": [` + a + `, ` + b + `]`, of(`"ab"`, ``), 1, "pass", ""},
		{`"type": "multi", "graders": [` + a + `, ` + r + `]`, of(`"ab"`, ``), 1, "pass", "left out"},
		{`"type": "multi", "graders": [` + r + `]`, of(`"ab"`, ``), na, "", "none of its graders"},
		{`"type": "multi", "graders": ` + b + `, "calculate_output": "b"`, of(`"ab"`, ``), 1, "", ""},
		{`"type": "multi", "graders": [` + a + `, ` + b + `], "pass_threshold": 0.7`, of(`"a"`, ``), 0.75, "pass", ""},
		{`"type": "multi", "graders": [` + a + `, {"name": "n", "type": "number", "reference": "x"}]`, of(`"a"`, ``), failing, "", "n: "},
		{`"type": "multi", "graders": [` + a + `], "calculate_output": "a / 0"`, of(`"a"`, ``), failing, "", "calculate_output"},
		{`"type": "multi", "graders": [` + a + `], "calculate_output": "a * 1.5"`, of(`"a"`, ``), failing, "", "1.5"},
	} {
		gradeOne(t, &c)
	}
}

func TestFormula(t *testing.T) {
	t.Parallel()
	scores := map[string]float64{"a": 0.5, "b_2": 0.25}
	for text, want := range map[string]float64{
		"a": 0.5, "a+b_2": 0.75, "a - b_2 * 2": 0, "(a - b_2) * 2": 0.5, "2^3^2": 512, "-2^2": -4, "2^-1": 0.5, "1e-3*10": 0.01, "1E2": 100,
		"min(a, b_2, 1)": 0.25, "max(a)": 0.5, "abs(-a)": 0.5, "floor(a)": 0, "ceil(a)": 1, "exp(0)": 1, "sqrt(b_2)": 0.5, "log(exp(1))": 1,
		" 1 /\n4 ": 0.25, "--a": 0.5, "1-1-1": -1, "8/2/2": 2, ".5": 0.5, "2*-a": -1,
	} {
		f, parseErr := formula.ParseFormula(text, []string{"a", "b_2"})
		require.NoError(t, parseErr, text)
		assert.InDelta(t, want, f.Evaluate(scores), 1e-12, text)
	}
	for _, text := range []string{
		"", "a +", "a b_2", "c", "min()", "abs(a, a)", "(a", "a)", "a ** 2", "1.2.3", "sin(a)", "a; a", "__import__('os')", strings.Repeat("(", 3000),
		strings.Repeat("-", 1999) + "a", strings.Repeat("(", 60) + "a" + strings.Repeat(")", 60), "min", "1e", "a[0]",
	} {
		_, parseErr := formula.ParseFormula(text, []string{"a", "b_2"})
		assert.Error(t, parseErr, text)
	}
}

func TestParseNamesThePlace(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	for _, c := range []struct{ definition, location, message string }{
		{`[]`, "body.graders[2]", "object"},
		{`{`, "body.graders[2]", "valid JSON"},
		{`null`, "body.graders[2]", "object"},
		{`{"type": "regex", "pattern": "a"}`, "body.graders[2].name", "required"},
		{`{"name": "x"}`, "body.graders[2].type", "required"},
		{`{"name": " ", "type": "regex", "pattern": "a"}`, "body.graders[2].name", "blank"},
		{`{"name": "x", "type": "bleurt"}`, "body.graders[2].type", "string_check"},
		{`{"name": "x", "type": "score_model", "model": "gpt"}`, "body.graders[2].type", "judge"},
		{`{"name": "x", "type": "label_model"}`, "body.graders[2].type", "judge"},
		{`{"name": "x", "type": "python", "source": "def grade"}`, "body.graders[2].type", "SDK"},
		{`{"name": "x", "type": "regex"}`, "body.graders[2].pattern", "required"},
		{`{"name": "x", "type": "regex", "pattern": "("}`, "body.graders[2].pattern", "regular expression"},
		{`{"name": "x", "type": "regex", "pattern": "(a)\\1"}`, "body.graders[2].pattern", "RE2"},
		{`{"name": "x", "type": "regex", "pattern": "(a{500}){2}(b{500}){2}(c{500}){2}"}`, "body.graders[2].pattern", "complex"},
		{`{"name": "x", "type": "regex", "pattern": "` + strings.Repeat("a", 2001) + `"}`, "body.graders[2].pattern", "2000"},
		{`{"name": "x", "type": "regex", "pattern": 7}`, "body.graders[2].pattern", "a text"},
		{`{"name": "x", "type": "regex", "pattern": "a", "flags": "i"}`, "body.graders[2].flags", "not a member"},
		{`{"name": "x", "type": "regex", "pattern": "a", "pass_threshold": 1}`, "body.graders[2].pass_threshold", "not a member"},
		{`{"name": "x", "type": "regex", "pattern": "a", "weight": 2}`, "body.graders[2].weight", "multi"},
		{`{"name": "x", "type": "string_check", "operation": "is"}`, "body.graders[2].operation", "ilike"},
		{`{"name": "x", "type": "string_check", "operation": "eq", "input": "{{prompt}}"}`, "body.graders[2].input", "{{item.…}}"},
		{`{"name": "x", "type": "string_check", "operation": "eq", "input": "{{sample.text}}"}`, "body.graders[2].input", "output_text"},
		{`{"name": "x", "type": "string_check", "operation": "eq", "reference": "{{item.a"}`, "body.graders[2].reference", "}}"},
		{`{"name": "x", "type": "string_check", "operation": "eq", "reference": "{{item[}}"}`, "body.graders[2].reference", "JSON path"},
		{`{"name": "x", "type": "string_check", "operation": "eq", "reference": ` + deep + `}`, "body.graders[2].reference", "nest"},
		{`{"name": "x", "type": "text_similarity", "evaluation_metric": "cosine"}`, "body.graders[2].evaluation_metric", "embeddings"},
		{`{"name": "x", "type": "text_similarity", "evaluation_metric": "levenshtein"}`, "body.graders[2].evaluation_metric", "fuzzy_match"},
		{`{"name": "x", "type": "text_similarity", "evaluation_metric": "chrf"}`, "body.graders[2].evaluation_metric", "fuzzy_match"},
		{`{"name": "x", "type": "choice"}`, "body.graders[2].type", "string_check"},
		{`{"name": "x", "type": "tool_errors"}`, "body.graders[2].type", "expression"},
		{`{"name": "x", "type": "step_efficiency"}`, "body.graders[2].type", "max_tool_calls"},
		{`{"name": "x", "type": "text_similarity", "evaluation_metric": "bleurt"}`, "body.graders[2].evaluation_metric", "rouge_l"},
		{`{"name": "x", "type": "text_similarity", "evaluation_metric": "bleu", "pass_threshold": 2}`, "body.graders[2].pass_threshold", "between 0 and 1"},
		{`{"name": "x", "type": "number", "absolute_tolerance": -1}`, "body.graders[2].absolute_tolerance", "between 0"},
		{`{"name": "x", "type": "length"}`, "body.graders[2].min", "required"},
		{`{"name": "x", "type": "length", "min": 2, "max": 1}`, "body.graders[2].max", "at least min"},
		{`{"name": "x", "type": "json_schema"}`, "body.graders[2].schema", "required"},
		{`{"name": "x", "type": "json_schema", "schema": {"type": "strnig"}}`, "body.graders[2].schema", "JSON Schema"},
		{`{"name": "x", "type": "json_schema", "schema": {"$ref": "https://example.com/s.json"}}`, "body.graders[2].schema", "not loaded"},
		{`{"name": "x", "type": "json_schema", "schema": {"$ref": "file:///etc/passwd"}}`, "body.graders[2].schema", "not loaded"},
		{`{"name": "x", "type": "json_schema", "schema": {"pattern": "((a{30}){30}){2}"}}`, "body.graders[2].schema", "JSON Schema"},
		{`{"name": "x", "type": "json_check", "operation": "valid", "reference": 1}`, "body.graders[2].reference", "not used"},
		{`{"name": "x", "type": "trajectory_match", "reference": [{"tool": "a"}]}`, "body.graders[2].reference", "no name"},
		{`{"name": "x", "type": "trajectory_match", "argument_overrides": {"f": "fuzzy"}}`, "body.graders[2].argument_overrides.f", "superset"},
		{`{"name": "x", "type": "tool_use", "tools": ["a"]}`, "body.graders[2].min", "required"},
		{`{"name": "x", "type": "tool_use", "tools": "a", "min": 1}`, "body.graders[2].tools", "list"},
		{`{"name": "x", "type": "tool_order", "order": ["a"]}`, "body.graders[2].order", "two"},
		{`{"name": "x", "type": "tool_schema", "tools": [{"parameters": {}}]}`, "body.graders[2].tools", "no name"},
		{`{"name": "x", "type": "budget"}`, "body.graders[2].max_input_tokens", "max_cost_usd"},
		{`{"name": "x", "type": "expression", "expression": "outptu == 1"}`, "body.graders[2].expression", "output_text"},
		{`{"name": "x", "type": "expression", "expression": "'text'"}`, "body.graders[2].expression", "true or false"},
		{`{"name": "x", "type": "multi", "graders": {}}`, "body.graders[2].graders", "from 1"},
		{`{"name": "x", "type": "multi", "graders": "a"}`, "body.graders[2].graders", "object"},
		{`{"name": "x", "type": "multi", "graders": {"a": {"type": "regex", "pattern": "("}}}`, "body.graders[2].graders.a.pattern", "regular"},
		{`{"name": "x", "type": "multi", "graders": [{"name": "a", "type": "regex", "pattern": "a"}, {"type": "regex"}]}`, "body.graders[2].graders[1].name", "required"},
		{`{"name": "x", "type": "multi", "graders": {"a": {"type": "multi", "graders": {}}}}`, "body.graders[2].graders.a.type", "inside"},
		{`{"name": "x", "type": "multi", "graders": {"a": {"type": "regex", "pattern": "a"}}, "calculate_output": "a + b"}`, "body.graders[2].calculate_output", "character 5"},
		{`{"name": "x", "type": "multi", "graders": [{"name": "a", "type": "regex", "pattern": "a", "weight": 0}]}`, "body.graders[2].graders", "weight"},
	} {
		_, parseErr := Parse(json.RawMessage(c.definition), "body.graders[2]")
		require.Error(t, parseErr, c.definition)
		p := problem.Of(parseErr)
		require.NotNil(t, p, c.definition)
		assert.Equal(t, problem.Invalid, p.Kind)
		require.NotEmpty(t, p.Fields)
		found := false
		for _, field := range p.Fields {
			found = found || field.Location == c.location && strings.Contains(field.Message, c.message)
		}
		assert.True(t, found, "%s: %v has no %s with %s", c.definition, p.Fields, c.location, c.message)
	}
	_, parseErr := Parse(json.RawMessage(`{"type": "regex", "pattern": "(", "input": 7, "negate": "no"}`), "g")
	assert.Len(t, problem.Of(parseErr).Fields, 3, "all that is wrong: %v", problem.Of(parseErr).Fields)
}

func TestVersion(t *testing.T) {
	t.Parallel()
	a := parsed(t, `{"name": "a", "type": "regex", "pattern": "x", "negate": false}`)
	assert.Equal(t, "a", a.Name())
	assert.Equal(t, "regex", a.Type())
	assert.Equal(t, "higher", a.Better())
	assert.True(t, a.Binary())
	assert.Len(t, a.Version(), 16)
	assert.Equal(t, a.Version(), parsed(t, `{"negate":false,"pattern":"x","type":"regex","name":"b"}`).Version(), "the name and the order do not count")
	assert.NotEqual(t, a.Version(), parsed(t, `{"name": "a", "type": "regex", "pattern": "y"}`).Version())
	assert.False(t, parsed(t, `{"name": "a", "type": "text_similarity", "evaluation_metric": "bleu"}`).Binary())
	assert.True(t, parsed(t, `{"name": "a", "type": "expression", "expression": "output == 'x'"}`).Binary())
	assert.False(t, parsed(t, `{"name": "a", "type": "expression", "expression": "0.5"}`).Binary())
}

func TestToolCallsOfTheMessage(t *testing.T) {
	t.Parallel()
	g, err := Parse([]byte(`{"name":"calls","type":"tool_use","tools":["f"],"min":1}`), "g")
	require.NoError(t, err)
	for message, score := range map[string]float64{
		`{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}`: 1,
		`{"role":"assistant","content":"no"}`: 0,
	} {
		found := g.Grade(t.Context(), &Sample{Message: []byte(message)})
		require.NotNil(t, found.Score, found.Error)
		assert.InDelta(t, score, *found.Score, 0)
	}
}

// TestLacking says of graders whether they looked at what the sample does not have.
func TestLacking(t *testing.T) {
	t.Parallel()
	message := json.RawMessage(`{"content": "x"}`)
	all := Sample{Output: json.RawMessage(`"x"`), ToolCalls: []ToolCall{}, CostUSD: ptr(0.5)}
	for _, c := range []struct {
		definition string
		sample     Sample
		lacking    bool
	}{
		{`"type": "tool_use", "max": 2`, Sample{}, true},
		{`"type": "tool_use", "max": 2`, Sample{Message: message}, true}, // only the last message
		{`"type": "tool_use", "max": 2`, all, false},
		{`"type": "budget", "max_cost_usd": 1`, Sample{Output: json.RawMessage(`"x"`)}, true},
		{`"type": "budget", "max_cost_usd": 1`, all, false},
		{`"type": "string_check", "operation": "eq", "reference": "x"`, Sample{Output: json.RawMessage(`"x"`)}, false},
		{`"type": "string_check", "operation": "eq", "reference": "x", "input": "{{sample.output_tools}}"`, Sample{Output: json.RawMessage(`"x"`)}, true},
		{`"type": "multi", "graders": [{"name": "a", "type": "tool_use", "max": 2}, {"name": "b", "type": "length", "max": 9}]`, Sample{Output: json.RawMessage(`"x"`)}, true},
	} {
		g, err := Parse(json.RawMessage(`{"name": "g", `+c.definition+`}`), "grader")
		require.NoError(t, err)
		assert.Equal(t, c.lacking, new(g.Grade(t.Context(), &c.sample)).Lacking, c.definition)
	}
}

func TestLooksAtReference(t *testing.T) {
	t.Parallel()
	for definition, looks := range map[string]bool{
		`{"name":"g","type":"string_check","operation":"eq"}`:                                                  true,
		`{"name":"g","type":"string_check","operation":"eq","reference":"Paris"}`:                              false,
		`{"name":"g","type":"string_check","operation":"eq","reference":"{{item.input}}"}`:                     false,
		`{"name":"g","type":"string_check","operation":"eq","reference":["a","{{item.reference_output.b}}"]}`:  true,
		`{"name":"g","type":"trajectory_match"}`:                                                               true,
		`{"name":"g","type":"expression","expression":"output == reference"}`:                                  true,
		`{"name":"g","type":"expression","expression":"output_text == 'reference'"}`:                           false,
		`{"name":"g","type":"multi","graders":{"a":{"type":"string_check","operation":"eq"}}}`:                 true,
		`{"name":"g","type":"multi","graders":{"a":{"type":"string_check","operation":"eq","reference":"x"}}}`: false,
	} {
		g, err := Parse(json.RawMessage(definition), "grader")
		require.NoError(t, err, definition)
		assert.Equal(t, looks, g.LooksAtReference(), definition)
	}
}
