package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/browser"
	"github.com/looptrace/looptrace/test/provider"
)

// TestJudges starts an eval-run with judges, reads their votes, labels outputs, and compares with judges, in the browser. Meanwhile, rules
// score runs: one that is made in the browser, and one whose connection has a wrong key.
func TestJudges(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.browser = browser.New(t, filepath.Join("output", t.Name()))
	models := provider.Start(t, provider.Options{Answer: judgingModels})
	connection := p.create(t, "/v1/providers", map[string]any{"project_id": p.ProjectID, "name": "Scripted", "kind": "openai", "base_url": models.URL + "/v1", "api_key": models.Key})
	for _, model := range []string{"model-a", "model-b", "gpt-judge", "claude-judge", "qwen-judge"} {
		p.create(t, "/v1/projects/"+p.ProjectID+"/prices", map[string]any{"model": model, "input": 1, "output": 10})
	}
	dataset := p.createDataset(t, "numbers")
	items := make([]any, 30)
	for i := range items {
		items[i] = map[string]any{"key": fmt.Sprintf("q%02d", i), "input": map[string]any{"question": fmt.Sprintf("number %d", i)}, "reference_output": strconv.Itoa(i)}
	}
	p.writeItems(t, dataset, map[string]any{"items": items})
	side := func(model string) map[string]any {
		return map[string]any{
			"provider_id": connection, "messages": []any{map[string]any{"role": "user", "content": "{{question}}"}},
			"model_config": map[string]any{"model": model, "max_output_tokens": 20},
		}
	}
	judge := func(model string) map[string]any {
		return map[string]any{"name": model, "provider_id": connection, "model_config": map[string]any{"model": model, "max_output_tokens": 100}, "rubric": "Which one is right?"}
	}
	comparison := p.create(t, "/v1/comparisons", map[string]any{
		"project_id": p.ProjectID, "name": "with judges", "dataset_id": dataset, "a": side("model-a"), "b": side("model-b"),
		"panels": []any{map[string]any{"name": "better", "kind": "preference", "judges": []any{judge("gpt-judge"), judge("claude-judge")}}},
	})
	r := p.rules(t, models)
	p.play(t, "judges", map[string]any{
		"dataset": dataset, "comparison": comparison, "email": "ann-" + uuid.NewString()[:8] + "@example.com", "password": "plum gravel otter kiln",
	}, nil)
	require.Eventually(t, func() bool { return r.didRule(t, r.input["rule"], "active", 8) }, waitTime, 100*time.Millisecond)
	require.Eventually(t, func() bool { return r.didRule(t, r.input["stopped"], "stopped", 0) }, waitTime, 100*time.Millisecond)
	r.input["late"] = r.sendAnswers(t, "refused", 1)[0]
	r.play(t, "rules", r.input, nil)
}

// rulesProject is a project with rules, and the input of the scenario that reads them.
type rulesProject struct {
	*project
	input map[string]any
}

// rules makes a project with a rule that is made in the browser and one whose connection has a wrong key, and sends runs for both.
func (p *project) rules(t *testing.T, models *provider.Server) rulesProject {
	t.Helper()
	r := newProject(t)
	r.browser = p.browser
	connect := func(name, key string) string {
		return r.create(t, "/v1/providers", map[string]any{"name": name, "kind": "openai", "base_url": models.URL + "/v1", "api_key": key})
	}
	connect("Scripted", models.Key)
	for _, model := range []string{"gpt-judge", "claude-judge", "qwen-judge"} {
		r.create(t, "/v1/projects/"+r.ProjectID+"/prices", map[string]any{"model": model, "input": 1, "output": 10})
	}
	r.sendAnswers(t, "rules", 3)
	var rule string
	r.play(t, "rulesnew", nil, &rule)
	refusing := connect("Refused", "sk-wrong")
	polite := map[string]any{
		"name": "claude", "provider_id": refusing, "model_config": map[string]any{"model": "claude-judge", "max_output_tokens": 100},
		"rubric": "Is it polite?", "scale": map[string]any{"type": "ordinal", "min": 1, "max": 5},
	}
	stopped := r.create(t, "/v1/eval-rules", map[string]any{
		"name": "Refused", "run_filter": "environment=refused", "sample_rate": 1, "max_cost_usd_per_day": 1,
		"panels": []any{map[string]any{"name": "polite", "judges": []any{polite}}},
	})
	answers := r.sendAnswers(t, "rules", 8)
	r.sendAnswers(t, "refused", 11)
	return rulesProject{r, map[string]any{"rule": rule, "stopped": stopped, "connection": refusing, "key": models.Key, "run": answers[4]}}
}

// sendAnswers sends runs of an environment that end now, each with a number from 1, and one more without an output. It returns their ids.
func (p *project) sendAnswers(t *testing.T, environment string, count int) []string {
	t.Helper()
	now := time.Now().UTC()
	ids, runs := make([]string, count+1), make([]any, count+1)
	for i := range runs {
		ids[i] = uuid.NewString()
		run := map[string]any{
			"run_id": ids[i], "name": fmt.Sprintf("<b>answer %d</b>", i+1), "environment": environment, "inputs": fmt.Sprintf("number %d", i+1),
			"start_time": now.Add(-time.Second), "end_time": now,
		}
		if i < count {
			run["outputs"] = fmt.Sprintf("Sorry, it is %d.", i+1)
		}
		runs[i] = run
	}
	p.post(t, "", len(runs), 0, map[string]any{"runs": runs})
	for _, id := range ids {
		p.awaitRun(t, id, ofSpans(1))
	}
	return ids
}

// didRule says whether a rule has a status and has scored a number of runs.
func (p *project) didRule(t *testing.T, rule any, status string, scored int) bool {
	answer := p.do(t, http.MethodGet, fmt.Sprint("/v1/eval-rules/", rule), bearer(p.adminKey), nil)
	var found struct {
		Status string `json:"status"`
		Today  struct {
			Scored int `json:"scored"`
		} `json:"today"`
	}
	return json.Unmarshal(answer.Body, &found) == nil && found.Status == status && found.Today.Scored == scored
}

var judgedNumber = regexp.MustCompile(`number (\d+)`)

// judgingModels answer questions for a number with it, and judge answers from 1 to 5: those of multiples of three are bad. Qwen disagrees on multiples
// of five, and gives no vote on 7. Asked for a preference, judges like what they are shown first; Claude likes the second on odd numbers.
func judgingModels(q *provider.Request) *provider.Reply {
	if !strings.HasSuffix(q.Model, "-judge") {
		return numberModels()(q)
	}
	number := -1
	for _, m := range q.Messages {
		if found := judgedNumber.FindStringSubmatch(m.Text); m.Role == "user" && found != nil {
			number, _ = strconv.Atoi(found[1])
		}
	}
	if strings.Contains(q.Messages[0].Text, "which of two outputs is better") {
		value := "first"
		if q.Model == "claude-judge" && number%2 == 1 {
			value = "second"
		}
		return &provider.Reply{Text: fmt.Sprintf(`{"reason": "It was shown %s.", "value": %q}`, value, value)}
	}
	value := 5
	switch {
	case number < 0:
		value = 1
	case q.Model == "qwen-judge" && number == 7:
		return &provider.Reply{Text: "I'd give it four out of five."}
	case (number%3 == 0) != (q.Model == "qwen-judge" && number%5 == 0):
		value = 2
	}
	return &provider.Reply{Text: fmt.Sprintf(`{"reason": "The number is %d.", "value": %d}`, number, value)}
}
