package e2e

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/test/browser"
	"github.com/looptrace/looptrace/test/provider"
)

// TestComparisons starts, watches and reads comparisons in the browser.
func TestComparisons(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.browser = browser.New(t, filepath.Join("output", t.Name()))
	models := provider.Start(t, provider.Options{Answer: numberModels()})
	connection := p.create(t, "/v1/providers", map[string]any{"project_id": p.ProjectID, "name": "Scripted", "kind": "openai", "base_url": models.URL + "/v1", "api_key": models.Key})
	for _, model := range []string{"model-a", "model-b", "model-held", "model-failing"} {
		p.create(t, "/v1/projects/"+p.ProjectID+"/prices", map[string]any{"model": model, "input": 1, "output": 10})
	}
	dataset := p.createDataset(t, "numbers")
	items := make([]any, 62)
	for i := range items {
		input := map[string]any{"question": fmt.Sprintf("number %d", i)}
		if i >= 60 {
			input = map[string]any{"text": fmt.Sprintf("number %d", i)}
		}
		items[i] = map[string]any{"key": fmt.Sprintf("q%02d", i), "input": input, "reference_output": strconv.Itoa(i), "split": []string{"even", "odd"}[i%2]}
	}
	p.writeItems(t, dataset, map[string]any{"items": items})
	prompt := p.create(t, "/v1/prompts", map[string]any{"project_id": p.ProjectID, "name": "numbers/answer"})
	for _, system := range []string{"You answer with a number.", "You answer with a number, and nothing else."} {
		p.create(t, "/v1/prompts/"+prompt+"/versions", map[string]any{
			"messages":     []any{map[string]any{"role": "system", "content": system}, map[string]any{"role": "user", "content": "{{question}}"}},
			"model_config": map[string]any{"model": "model-a", "provider_id": connection, "max_output_tokens": 20},
		})
	}
	input := map[string]any{"dataset": dataset, "prompt": prompt, "connection": connection, "release": models.URL + "/v1/models?release", "key": models.Key}
	t.Run("use", func(t *testing.T) { p.play(t, "comparisons", input, nil) })
	t.Run("states", func(t *testing.T) {
		input["email"], input["password"] = "ann-"+uuid.NewString()[:8]+"@example.com", "plum gravel otter kiln"
		p.play(t, "comparisonsstates", input, nil)
	})
}

// heldAfter is how many answers of the model that is held come at once.
const heldAfter = 20

// numberModels answer with the number at the end of the question. Model A is wrong at multiples of three, model B at multiples of ten. One
// is held after some answers, until a listing of models asks for its release. Another refuses multiples of five.
func numberModels() func(*provider.Request) *provider.Reply {
	var held atomic.Int64
	var once sync.Once
	released := make(chan struct{})
	return func(q *provider.Request) *provider.Reply {
		if q.Model == "" && strings.HasSuffix(q.URI, "?release") {
			once.Do(func() { close(released) })
			return nil
		}
		number, err := strconv.Atoi(strings.TrimPrefix(q.Last(), "number "))
		if err != nil {
			return nil
		}
		// The provider changes its models after 40 items.
		reply := &provider.Reply{Text: strconv.Itoa(number), Fingerprint: fmt.Sprintf("fp_%d", number/40)}
		switch {
		case q.Model == "model-a" && number%3 == 0, q.Model == "model-b" && number%10 == 0:
			reply.Text = "I don't know the number."
		case q.Model == "model-held" && held.Add(1) > heldAfter:
			select {
			case <-released:
			case <-time.After(waitTime):
			}
		case q.Model == "model-failing" && number%5 == 0:
			return &provider.Reply{Error: &provider.Error{
				Status: http.StatusBadRequest, Type: "invalid_request_error", Message: "This number isn't allowed.", Code: "content_policy_violation",
			}}
		}
		return reply
	}
}
