package grader

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/grader/textmetrics"
)

const (
	megabyte = 1 << 20
	// large is what every grader is tried with. It is beyond the limits of those that compare every pair.
	large = megabyte / 8
)

// everyGrader is one grader of each type, with its name.
func everyGrader(t *testing.T) map[string]*Grader {
	t.Helper()
	graders := map[string]*Grader{}
	for _, definition := range []string{
		`"type": "string_check", "operation": "like"`, `"type": "regex", "pattern": "(a|b)*c$"`, `"type": "number"`,
		`"type": "length", "max": 10, "unit": "words"`, `"type": "json_check", "operation": "eq"`, `"type": "json_similarity"`,
		`"type": "json_schema", "schema": {"uniqueItems": true, "pattern": "a*b*"}`, `"type": "tool_schema", "tools": [{"name": "f", "parameters": {"type": "object"}}]`,
		`"type": "finish_reason", "allowed": ["stop"]`, `"type": "refusal"`, `"type": "trajectory_match", "reference": [{"name": "f"}]`,
		`"type": "tool_use", "max": 1`, `"type": "tool_order", "order": ["f", "g"]`, `"type": "tool_loop"`, `"type": "budget", "max_tool_calls": 3`,
		`"type": "expression", "expression": "output_text.matches('(a+)+$') && size(tool_calls) > 0"`,
		`"type": "multi", "graders": {"a": {"type": "string_check", "operation": "eq"}}, "calculate_output": "a^2"`,
	} {
		g := parsed(t, `{"name": "g", `+definition+`}`)
		graders[g.Type()] = g
	}
	for _, metric := range textmetrics.MetricNames() {
		graders["text_similarity "+metric] = parsed(t, fmt.Sprintf(`{"name": "g", "type": "text_similarity", "evaluation_metric": %q}`, metric))
	}
	return graders
}

func TestEveryTypeIsTried(t *testing.T) {
	t.Parallel()
	tried := map[string]bool{}
	for _, g := range everyGrader(t) {
		tried[g.Type()] = true
	}
	for _, kind := range Types() {
		assert.True(t, tried[kind], kind)
	}
}

// TestHostileSamples grades large texts and deep JSON with everything. Each grader ends, with a score or an error that says why.
func TestHostileSamples(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`[`, 5000) + strings.Repeat(`]`, 5000)
	manyCalls := Sample{ToolCalls: make([]ToolCall, 20_000), ReferenceOutput: json.RawMessage(`"x"`)}
	for i := range manyCalls.ToolCalls {
		manyCalls.ToolCalls[i] = ToolCall{Name: "f", Arguments: json.RawMessage(fmt.Sprintf(`{"i": %d}`, i%7))}
	}
	distinct := make([]string, 30_000)
	for i := range distinct {
		distinct[i] = fmt.Sprint("w", i)
	}
	samples := map[string]Sample{
		"one letter":     {Output: TextOf(t, strings.Repeat("a", large)), ReferenceOutput: TextOf(t, strings.Repeat("a", large-1)+"b")},
		"words":          {Output: TextOf(t, strings.Repeat("the cat ", large/8*2)), ReferenceOutput: TextOf(t, strings.Repeat("cat the ", large/8*2))},
		"distinct words": {Output: TextOf(t, strings.Join(distinct, " ")), ReferenceOutput: TextOf(t, strings.Join(distinct[1000:], "-"))},
		"digits":         {Output: TextOf(t, strings.Repeat("1,", large/2)), ReferenceOutput: TextOf(t, strings.Repeat("1", large))},
		"deep":           {Output: json.RawMessage(deep), ReferenceOutput: json.RawMessage(deep)},
		"deep as text":   {Output: TextOf(t, deep), ReferenceOutput: TextOf(t, deep)},
		"unicode":        {Output: TextOf(t, strings.Repeat("\u0301世", large/5)), ReferenceOutput: TextOf(t, strings.Repeat("世", large/3))},
		"calls":          manyCalls,
		"deep arguments": {ToolCalls: []ToolCall{{Name: "f", Arguments: json.RawMessage(deep)}}, ReferenceOutput: json.RawMessage(`1`)},
		"nothing":        {},
		"nulls":          {Input: json.RawMessage("null"), Output: json.RawMessage("null"), ReferenceOutput: json.RawMessage("null"), Message: json.RawMessage("null")},
	}
	graders := everyGrader(t)
	for name, sample := range samples {
		for kind, g := range graders {
			r := g.Grade(t.Context(), &sample)
			assert.True(t, (r.Score != nil) != (r.Error != "") || strings.HasPrefix(r.Reason, "Does not apply"), "%s of %s: %+v", kind, name, r)
			if r.Score != nil {
				assert.True(t, *r.Score >= 0 && *r.Score <= 1, "%s of %s: %v", kind, name, *r.Score)
			}
			assert.Less(t, len(r.Reason)+len(r.Error)+len(r.Evidence), 100_000, "%s of %s", kind, name)
		}
	}
	for _, metric := range []string{"rouge_l", "fuzzy_match"} {
		sample := samples["words"]
		if metric == "rouge_l" {
			sample = samples["distinct words"]
		}
		assert.Contains(t, graders["text_similarity "+metric].Grade(t.Context(), &sample).Error, "too many", metric)
	}
	assert.Contains(t, graders["trajectory_match"].Grade(t.Context(), &manyCalls).Error, "t most 500")
}

func TestHostileDefinitions(t *testing.T) {
	t.Parallel()
	// Each level of these schemas validates the level below twice: 2^40 steps.
	doubling := func(draft string) string {
		var b strings.Builder
		fmt.Fprintf(&b, `{%s"$ref": "#/definitions/d40", "definitions": {"d0": {"type": "string"}`, draft)
		for i := 1; i <= 40; i++ {
			fmt.Fprintf(&b, `, "d%d": {"allOf": [{"$ref": "#/definitions/d%d"}, {"$ref": "#/definitions/d%d"}]}`, i, i-1, i-1)
		}
		return b.String() + "}}"
	}
	for _, draft := range []string{"", `"$schema": "http://json-schema.org/draft-07/schema#", `, `"$schema": "http://json-schema.org/draft-04/schema#", `} {
		g := parsed(t, `{"name": "g", "type": "json_schema", "schema": `+doubling(draft)+`}`)
		r := g.Grade(t.Context(), &Sample{Output: json.RawMessage(`"\"x\""`)})
		assert.Contains(t, r.Error, "more than 200000 steps", draft)
		assert.Nil(t, r.Score)
	}
	recursive := parsed(t, `{"name": "g", "type": "json_schema", "schema": {"items": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}, "minItems": 1}}`)
	r := recursive.Grade(t.Context(), &Sample{Output: json.RawMessage(strings.Repeat("[", 60) + strings.Repeat("]", 60))})
	assert.Contains(t, r.Error, "steps")

	big := Sample{Output: TextOf(t, strings.Repeat("a", megabyte))}
	for expression, says := range map[string]string{
		"[output_text]" + strings.Repeat(".map(a, a + a)", 20) + ".all(a, a != '')":                                                                          "memory",
		"[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, [1,2,3,4,5,6,7,8,9].all(d, output_text.contains('b') == false))))": "cost",
		"output_text.matches(output_text)": "regex",
	} {
		g := parsed(t, fmt.Sprintf(`{"name": "g", "type": "expression", "expression": %q}`, expression))
		r := g.Grade(t.Context(), &big)
		assert.Nil(t, r.Score, expression)
		assert.Contains(t, strings.ToLower(r.Error), says, expression)
	}
	_, parseErr := Parse(json.RawMessage(`{"name": "g", "type": "expression", "expression": "`+strings.Repeat("(", 900)+`"}`), "g")
	require.Error(t, parseErr)
	slow := parsed(t, `{"name": "g", "type": "regex", "pattern": "(a{900}|a{900}b)c"}`)
	assert.Contains(t, slow.Grade(t.Context(), &big).Error, "too long for this pattern")
	_, parseErr = Parse(json.RawMessage(`{"name": "g", "x": "`+strings.Repeat("a", maxDefinition)+`"}`), "g")
	require.ErrorContains(t, parseErr, "at most 128 KiB")
}

func TestGradeEndsWithTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for kind, g := range everyGrader(t) {
		r := g.Grade(ctx, &Sample{Output: json.RawMessage(`"x"`), ReferenceOutput: json.RawMessage(`"x"`)})
		assert.Contains(t, r.Error, "canceled", kind)
		assert.Nil(t, r.Score, kind)
		assert.Nil(t, r.Pass, kind)
	}
}

// TestGradersAreShared grades with the same graders from several goroutines; the race detector watches.
func TestGradersAreShared(t *testing.T) {
	t.Parallel()
	graders := everyGrader(t)
	sample := of(`"the answer is B, (1.5)"`, `["B", "1.5"]`)
	sample.ToolCalls = calls(`f {"a": [1, {"b": 2}]}`, `!g`).ToolCalls
	alone := map[string]Result{}
	for kind, g := range graders {
		alone[kind] = g.Grade(t.Context(), &sample)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for kind, g := range graders {
				assert.Equal(t, alone[kind], g.Grade(t.Context(), &sample), kind)
			}
		})
	}
	group.Wait()
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"name": "g", "type": "string_check", "operation": "eq", "reference": ["{{item.a}}", {"b": "x{{sample.output_text}}"}]}`,
		`{"name": "g", "type": "multi", "graders": {"a": {"type": "number", "absolute_tolerance": 1e-3}}, "calculate_output": "min(a, 1) ^ 2"}`,
		`{"name": "g", "type": "trajectory_match", "reference": [{"name": "f", "arguments": {"a": 1}}], "argument_overrides": {"f": ["a"]}}`,
		`{"name": "g", "type": "expression", "expression": "output_text.size() > 2 ? 0.5 : 1.0"}`,
		`{"name": "g", "type": "json_schema", "schema": {"$ref": "#/$defs/a", "$defs": {"a": {"not": {"type": "null"}}}}}`,
		`{"name": "g", "type": "tool_schema", "tools": [{"function": {"name": "f", "parameters": {"type": "object"}}}]}`,
		`{"name": "g", "type": "text_similarity", "evaluation_metric": "rouge_l", "pattern": "(a)|b", "pass_threshold": 0.5}`,
	} {
		f.Add(seed)
	}
	samples := []Sample{
		{},
		of(`"a b (1) answer: B"`, `["a", "b"]`), of(`{"a": [1, "x", null]}`, `{"tool_calls": [{"name": "f"}]}`),
		calls(`f {"a": 1}`, `!f "x"`, `g`),
	}
	f.Fuzz(func(t *testing.T, definition string) {
		g, parseErr := Parse(json.RawMessage(definition), "body")
		if parseErr != nil {
			return
		}
		for i := range samples {
			judge(t, g, &samples[i])
		}
	})
}

func FuzzGrade(f *testing.F) {
	f.Add(`"Paris"`, `["Paris", "paris"]`, `{"q": "x"}`)
	f.Add(`{"a": {"b": [1, 2.50, 1e3]}}`, `{"a": {"b": [1, 2.5, 1000]}, "tool_calls": [{"name": "f"}]}`, `"{\"a\": 1}"`)
	f.Add(`"the answer is (B)\n- 1,234.5e-3 &amp; −7"`, `"-7"`, `null`)
	f.Fuzz(func(t *testing.T, output, reference, arguments string) {
		if !json.Valid([]byte(output)) || !json.Valid([]byte(reference)) || !json.Valid([]byte(arguments)) {
			return
		}
		sample := of(output, reference)
		sample.ToolCalls = []ToolCall{{Name: "f", Arguments: json.RawMessage(arguments)}, {Name: "f", Arguments: json.RawMessage(arguments)}}
		for _, g := range everyGrader(t) {
			judge(t, g, &sample)
		}
	})
}

// judge grades and checks that exactly one of score, error and not applicable comes out, twice the same.
func judge(t *testing.T, g *Grader, sample *Sample) {
	t.Helper()
	r := g.Grade(t.Context(), sample)
	if r.Score != nil {
		require.True(t, *r.Score >= 0 && *r.Score <= 1, "%s: %v", g.Type(), *r.Score)
		require.Empty(t, r.Error)
	} else {
		require.Nil(t, r.Pass)
		require.NotEqual(t, r.Error == "", r.Reason == "", "%s: %+v", g.Type(), r)
	}
	require.True(t, r.Evidence == nil || json.Valid(r.Evidence))
	require.Equal(t, r, g.Grade(t.Context(), sample), g.Type())
}
