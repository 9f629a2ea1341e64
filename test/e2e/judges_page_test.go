package e2e

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/test/browser"
	"github.com/looptrace/looptrace/test/provider"
)

// TestJudges starts an eval-run with judges, reads their votes, labels outputs, and compares with judges, in the browser.
func TestJudges(t *testing.T) {
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
	p.play(t, "judges", map[string]any{
		"dataset": dataset, "comparison": comparison, "email": "ann-" + uuid.NewString()[:8] + "@example.com", "password": "plum gravel otter kiln",
	}, nil)
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
