package judge

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/prompts/prompttemplate"
	"github.com/looptrace/looptrace/internal/problem"
)

const (
	byProvider = `"provider_id": "01985f6e-0000-7000-8000-000000000001"`
	model      = `"model_config": {"model": "m", "max_output_tokens": 400}`
	withModel  = byProvider + ", " + model
	oneToFive  = `"scale": {"type": "ordinal", "min": 1, "max": 5}`
)

func parsed(t *testing.T, members string) *Definition {
	t.Helper()
	d, err := Parse(json.RawMessage("{"+members+"}"), "body.judges[0]")
	require.NoError(t, err)
	return d
}

func newJudge(t *testing.T, members string, prompt *prompttemplate.Prompt) *Judge {
	t.Helper()
	j, err := New(parsed(t, members), prompt, "body.judges[0]")
	require.NoError(t, err)
	return j
}

func rubricJudge(t *testing.T, scale string) *Judge {
	t.Helper()
	return newJudge(t, `"name": "n", "rubric": "Be strict.", "scale": `+scale+", "+withModel, nil)
}

func preferenceJudge(t *testing.T) *Judge {
	t.Helper()
	return newJudge(t, `"name": "n", "type": "preference", "rubric": "Be strict.", `+withModel, nil)
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	const rubric = `"name": "n", "rubric": "r", ` + withModel
	for members, wrong := range map[string]string{
		``: "name is required", `"name": " ", "rubric": "r", ` + oneToFive + ", " + withModel: "name must not be blank",
		`"name": 1, "rubric": "r", ` + oneToFive + ", " + withModel:                                                            "name must be a text",
		`"name": "` + strings.Repeat("n", 101) + `", "rubric": "r", ` + oneToFive + ", " + withModel:                           "name must have at most 100 characters",
		`"name": "n", "rubric": "r", ` + oneToFive + ", " + model:                                                              "provider_id is required: the id of a provider",
		`"name": "n", "rubric": "r", "provider_id": "x", ` + oneToFive + ", " + model:                                          "provider_id must be the id of a provider, a UUID",
		`"name": "n", "rubric": "r", ` + oneToFive + ", " + byProvider:                                                         `model_config is required: an object such as {"model": "…"}`,
		`"name": "n", "rubric": "r", "model_config": [], ` + oneToFive + ", " + byProvider:                                     "model_config must be an object whose model is a text",
		`"name": "n", "rubric": "r", "model_config": {"temperature": 0}, ` + oneToFive + ", " + byProvider:                     "model_config.model is missing: name a model",
		`"name": "n", ` + oneToFive + ", " + withModel:                                                                         "rubric is required: say what to judge by, or name a version of a prompt in prompt",
		`"name": "n", "rubric": "a\u0000", ` + oneToFive + ", " + withModel:                                                    "rubric must not contain the character U+0000",
		`"name": "n", "rubric": "  ", ` + oneToFive + ", " + withModel:                                                         "rubric must not be blank",
		`"name": "n", "rubric": "` + strings.Repeat("r", 33<<10) + `", ` + oneToFive + ", " + withModel:                        "rubric must have at most 32 KiB",
		`"prompt": {}, ` + oneToFive + ", " + rubric:                                                                           "prompt stands beside a rubric: leave one of them out",
		`"name": "n", "prompt": {"version": 1}, ` + oneToFive + ", " + withModel:                                               "prompt.id is required: the id of a prompt",
		`"name": "n", "prompt": {"id": "01985f6e-0000-7000-8000-000000000001", "version": 0}, ` + oneToFive + ", " + withModel: "prompt.version must be at least 1",
		`"name": "n", "prompt": {"id": "01985f6e-0000-7000-8000-000000000001", "alias": "a"}, ` + oneToFive + ", " + withModel: "prompt.version is required: a judge keeps to one version, so that its votes can be compared",
		`"type": "vote", ` + rubric:                    "type must be score or preference",
		`"repeats": 11, ` + oneToFive + ", " + rubric:  "repeats must be between 1 and 10",
		`"repeats": 0, ` + oneToFive + ", " + rubric:   "repeats must be between 1 and 10",
		`"repeats": 1.5, ` + oneToFive + ", " + rubric: "repeats must be a whole number",
		`"weight": 1, ` + oneToFive + ", " + rubric:    "weight is not a member of this object: it has model_config, name, pass, prompt, provider_id, repeats, rubric, scale, type",
		rubric: `scale is required: an object such as {"type": "ordinal", "min": 1, "max": 5}`,
		`"type": "preference", ` + oneToFive + ", " + rubric:                                "scale is not for a preference, whose values are first, second and tie: leave it out",
		`"type": "preference", "pass": 1, ` + rubric:                                        "pass is not for a preference: leave it out",
		`"scale": 5, ` + rubric:                                                             "scale must be an object with type, and min and max or labels",
		`"scale": {}, ` + rubric:                                                            "scale.type must be binary, ordinal, categorical or numeric",
		`"scale": {"type": "stars"}, ` + rubric:                                             "scale.type must be binary, ordinal, categorical or numeric",
		`"scale": {"type": "binary", "labels": ["a"]}, ` + rubric:                           "scale.labels must be between 2 and 50",
		`"scale": {"type": "binary", "labels": ["a", "b", "c"]}, ` + rubric:                 "scale.labels must be two, the better one last",
		`"scale": {"type": "binary", "min": 0}, ` + rubric:                                  "scale.min is not for a binary scale: leave it out",
		`"scale": {"type": "categorical"}, ` + rubric:                                       "scale.labels are required for a categorical scale",
		`"scale": {"type": "categorical", "labels": ["a", "A"]}, ` + rubric:                 `scale.labels[1] repeats "A": labels differ in more than capitals`,
		`"scale": {"type": "categorical", "labels": ["a", "\n"]}, ` + rubric:                "scale.labels[1] must not be blank",
		`"scale": {"type": "categorical", "labels": ["a", "b\u0007"]}, ` + rubric:           "scale.labels[1] must not contain control characters (at byte 1)",
		`"scale": {"type": "numeric", "min": 0}, ` + rubric:                                 "scale.max is required for this scale",
		`"scale": {"type": "numeric", "min": 1, "max": 1}, ` + rubric:                       "scale.max must be above min",
		`"scale": {"type": "numeric", "min": 1, "max": 2, "labels": ["a", "b"]}, ` + rubric: "scale.labels is not for a numeric scale: leave it out",
		`"scale": {"type": "ordinal"}, ` + rubric:                                           "scale.m",
		`"scale": {"type": "ordinal", "min": 1, "max": 2, "labels": ["a", "b"]}, ` + rubric: "scale.min is not for a ordinal scale: leave it out",
		`"scale": {"type": "ordinal", "min": 1, "max": 4.5}, ` + rubric:                     "scale.max must be a whole number up to a million",
		`"scale": {"type": "ordinal", "min": 0, "max": 21}, ` + rubric:                      "scale.max must be at most 20 above min: give a scale of more steps the type numeric",
		`"pass": 6, ` + oneToFive + ", " + rubric:                                           "pass must be the lowest number that passes, between 1 and 5",
		`"pass": "4", ` + oneToFive + ", " + rubric:                                         "pass must be the lowest number that passes, between 1 and 5",
		`"pass": "pass", "scale": {"type": "binary"}, ` + rubric:                            "pass is not for a binary scale, on which the second label passes: leave it out",
		`"pass": "c", "scale": {"type": "ordinal", "labels": ["a", "b"]}, ` + rubric:        "pass must be the lowest label that passes",
		`"pass": "a", "scale": {"type": "categorical", "labels": ["a", "b"]}, ` + rubric:    "pass must be a list of the labels that pass",
		`"pass": ["c"], "scale": {"type": "categorical", "labels": ["a", "b"]}, ` + rubric:  "pass must be labels of the scale, each once",
	} {
		_, err := Parse(json.RawMessage("{"+members+"}"), "body.judges[0]")
		require.True(t, problem.Is(err, problem.Invalid), "%s: %v", members, err)
		assert.True(t, strings.HasPrefix(err.Error(), "body.judges[0]."+wrong), "%s: %s", members, err)
	}
	for _, raw := range []string{``, `null`, `[]`, `"judge"`, `{"name": "n"`} {
		_, err := Parse(json.RawMessage(raw), "body.judges[0]")
		require.EqualError(t, err, "body.judges[0] must be an object with name, provider_id, model_config, and rubric or prompt", raw)
	}
	_, err := Parse(json.RawMessage(`{"repeats": 0, "scale": {"type": "ordinal", "min": 2, "max": 1}}`), "judge")
	assert.Len(t, problem.Of(err).Fields, 6, "every wrong value is named: %v", problem.Of(err).Fields)
}

// TestCanonical parses the canonical form again: it is the same for ever.
func TestCanonical(t *testing.T) {
	t.Parallel()
	const id = "01985f6e-0000-7000-8000-000000000001"
	for members, canonical := range map[string]string{
		`"name": " n ", "rubric": "r", "scale": {"type": "binary"}, ` + withModel: `{"name":"n","type":"score","provider_id":"` + id + `","model_config":{"model":"m","max_output_tokens":400},` +
			`"rubric":"r","scale":{"type":"binary","labels":["fail","pass"]},"repeats":1}`,
		`"name": "n", "type": "preference", "prompt": {"id": "` + id + `", "version": 3}, "repeats": 2, ` + withModel: `{"name":"n","type":"preference","provider_id":"` + id + `",` +
			`"model_config":{"model":"m","max_output_tokens":400},"prompt":{"id":"` + id + `","version":3},"repeats":2}`,
		`"name": "n", "rubric": "r", "pass": 3, ` + oneToFive + ", " + withModel: `{"name":"n","type":"score","provider_id":"` + id + `","model_config":{"model":"m","max_output_tokens":400},` +
			`"rubric":"r","scale":{"type":"ordinal","min":1,"max":5},"repeats":1,"pass":3}`,
		`"name": "n", "rubric": "r", "pass": "b", "scale": {"type": "ordinal", "labels": ["a", "b"]}, ` + withModel: `{"name":"n","type":"score","provider_id":"` + id + `",` +
			`"model_config":{"model":"m","max_output_tokens":400},"rubric":"r","scale":{"type":"ordinal","labels":["a","b"]},"repeats":1,"pass":"b"}`,
		`"name": "n", "rubric": "r", "pass": ["b"], "scale": {"type": "categorical", "labels": ["a", "b"]}, ` + withModel: `{"name":"n","type":"score","provider_id":"` + id + `",` +
			`"model_config":{"model":"m","max_output_tokens":400},"rubric":"r","scale":{"type":"categorical","labels":["a","b"]},"repeats":1,"pass":["b"]}`,
	} {
		first, err := json.Marshal(parsed(t, members))
		require.NoError(t, err)
		assert.Equal(t, canonical, string(first))
		again, err := Parse(first, "judge")
		require.NoError(t, err)
		second, err := json.Marshal(again)
		require.NoError(t, err)
		assert.Equal(t, string(first), string(second))
	}
}

// TestVersion changes each member: the version changes with all that can change a vote, and with nothing else.
func TestVersion(t *testing.T) {
	t.Parallel()
	const base = `"name": "n", "rubric": "r", "pass": 4, ` + oneToFive + ", " + withModel
	version := newJudge(t, base, nil).Version()
	assert.Len(t, version, 16)
	for old, changed := range map[string]string{
		`"n"`: `"other"`, `"pass": 4`: `"pass": 5, "repeats": 3`, `{"model": "m", "max_output_tokens": 400}`: `{"max_output_tokens":4e2,"model":"m"}`,
	} {
		assert.Equal(t, version, newJudge(t, strings.Replace(base, old, changed, 1), nil).Version(), changed)
	}
	for old, changed := range map[string]string{
		`"rubric": "r"`: `"rubric": "R"`, `"max": 5`: `"max": 6`, "000000000001": "000000000002", `"model": "m"`: `"model": "m2"`, "400": "401",
		`"ordinal"`: `"numeric"`,
	} {
		assert.NotEqual(t, version, newJudge(t, strings.Replace(base, old, changed, 1), nil).Version(), changed)
	}
	byPrompt := strings.Replace(base, `"rubric": "r"`, `"prompt": {"id": "01985f6e-0000-7000-8000-000000000009", "version": 1}`, 1)
	prompt := userPrompt("Judge {{output}}")
	version = newJudge(t, byPrompt, prompt).Version()
	assert.Equal(t, version, newJudge(t, strings.Replace(byPrompt, `"version": 1`, `"version": 2`, 1), userPrompt("Judge {{output}}")).Version(), "of equal content")
	assert.NotEqual(t, version, newJudge(t, byPrompt, userPrompt("Judge: {{output}}")).Version())
}

func userPrompt(text string) *prompttemplate.Prompt {
	return &prompttemplate.Prompt{Messages: []map[string]any{{"role": "user", "content": text}}, Missing: prompttemplate.MissingError}
}

func TestPromptsThatJudgeNothing(t *testing.T) {
	t.Parallel()
	const byPrompt = `"name": "n", "prompt": {"id": "01985f6e-0000-7000-8000-000000000009", "version": 1}, ` + withModel
	inSystem := userPrompt("Judge {{output}}")
	inSystem.Messages = append(inSystem.Messages, map[string]any{"role": "system", "content": "The input is {{input}}"})
	plainText := userPrompt("Judge {{output}}")
	plainText.Plain = true
	typed := userPrompt("Judge {{output}} {{input}}")
	typed.Variables = map[string]prompttemplate.Variable{"input": {Type: prompttemplate.TypeObject}}
	placeholder := userPrompt("Judge {{output}}")
	placeholder.Messages = append(placeholder.Messages, map[string]any{"type": "placeholder", "name": "history"})
	keeping := userPrompt("Judge {{output}} {{question}}")
	keeping.Missing = prompttemplate.MissingKeep
	for wrong, prompt := range map[string]*prompttemplate.Prompt{
		"has {{input}} in messages[1], which has the role system":                                          inSystem,
		"has none of the variables output, tool_calls, trajectory: the judge would not see":                userPrompt("Judge {{input}}"),
		"has none of the variables output, tool_calls, trajectory":                                         plainText,
		"is no template: messages[0].content":                                                              userPrompt("Judge {{output"),
		"has the variable input.question, for which a judge has no value: it gets input, reference_output": userPrompt("Judge {{output}} {{input.question}}"),
		"has the variable question, for which a judge has no value":                                        keeping,
		"declares input as object: a judge gets texts, so declare string or any":                           typed,
		"has the placeholder history, for which a judge has no messages: use variables":                    placeholder,
	} {
		_, err := New(parsed(t, oneToFive+", "+byPrompt), prompt, "body.judges[0]")
		require.True(t, problem.Is(err, problem.Invalid), "%s: %v", wrong, err)
		assert.True(t, strings.HasPrefix(err.Error(), "body.judges[0].prompt "+wrong), err.Error())
	}
	_, err := New(parsed(t, `"type": "preference", `+byPrompt), userPrompt("{{first_output}}"), "judge")
	require.ErrorContains(t, err, "second_output, second_tool_calls, second_trajectory")
	_, err = New(parsed(t, oneToFive+", "+byPrompt), nil, "judge")
	require.ErrorContains(t, err, "takes a prompt")
}

// FuzzParse reads any definition. One that is right has a canonical form that reads to the same, and names every other error by its place.
func FuzzParse(f *testing.F) {
	for _, scale := range []string{fivePoints, fractions, grades, topics, passOrFail} {
		f.Add(`{"name": "n", "rubric": "r", "repeats": 2, "scale": ` + scale + ", " + withModel + "}")
	}
	f.Add(`{"name": "n", "type": "preference", ` + promptMember + withModel + "}")
	f.Fuzz(func(t *testing.T, raw string) {
		d, err := Parse(json.RawMessage(raw), "judge")
		if err != nil {
			require.True(t, problem.Is(err, problem.Invalid), err)
			for _, field := range problem.Of(err).Fields {
				require.True(t, strings.HasPrefix(field.Location, "judge"), field.Location)
			}
			return
		}
		first, err := json.Marshal(d)
		require.NoError(t, err)
		again, err := Parse(first, "judge")
		require.NoError(t, err)
		second, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(first), string(second))
		if d.Type == TypeScore && d.Prompt == nil {
			_, err = New(d, nil, "judge")
			require.True(t, err == nil || problem.Is(err, problem.Invalid), err)
		}
	})
}
