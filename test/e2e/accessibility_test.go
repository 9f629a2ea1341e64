package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/browser"
	"github.com/looptrace/looptrace/test/product"
	"github.com/looptrace/looptrace/test/provider"
)

// TestAccessibility opens every route of the UI with every tab, menu and dialog: axe finds nothing, also in the dark, the keyboard
// opens and closes dialogs, and nothing is wider than the window.
func TestAccessibility(t *testing.T) {
	t.Parallel()
	started := product.Start(t)
	b := browser.New(t, filepath.Join("output", t.Name()))
	var opened, more []string
	b.Play(t, "walk", map[string]any{"base": started.Ports.URL(product.Web)}, &opened)
	account, err := started.Setup(t.Context())
	require.NoError(t, err)
	p := withKeys(t, started, account)
	p.browser = b
	p.play(t, "walk", p.everything(t), &more)

	opened = append(opened, more...)
	for _, route := range routes(t) {
		assert.Contains(t, opened, route, "the walk doesn't open this route: add a place to test/browser/places.mjs")
	}
	for _, route := range opened {
		assert.Contains(t, routes(t), route, "a place in test/browser/places.mjs has a route that the router lacks")
	}
}

var routePath = regexp.MustCompile(`\bpage\(\s*"([^"]+)"|\bpath: "([^"]+)"`)

// routes reads the routes of the UI's router, those of a project in full: /p/:projectId/runs.
func routes(t *testing.T) []string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("..", "..", "ui", "src", "app", "router.tsx"))
	require.NoError(t, err)
	var all []string
	pages := 0
	for _, match := range routePath.FindAllStringSubmatch(string(source), -1) {
		path := match[1] + match[2]
		if match[1] != "" {
			pages++
		}
		switch {
		case path == "/p/:projectId", path == "*": // it leads to another, or says that there is none
		case strings.HasPrefix(path, "/"):
			all = append(all, path)
		default:
			all = append(all, "/p/:projectId/"+path)
		}
	}
	require.Equal(t, strings.Count(string(source), `import("@/features/`), pages, "each page of the router has a path that can be read here")
	return all
}

// everything fills a project with samples, and with all that they lack. It returns the input of the walk.
func (p *project) everything(t *testing.T) map[string]any {
	t.Helper()
	cookie := http.Header{"Cookie": {p.Cookie}}
	read := func(path string, into any) bool {
		answer := p.do(t, http.MethodGet, path, cookie, nil)
		return answer.Status == http.StatusOK && json.Unmarshal(answer.Body, into) == nil
	}
	for range 6 {
		_, err := p.NewProject(t.Context(), "Project "+uuid.NewString()[:8]) // the palette scrolls
		require.NoError(t, err)
	}
	var me struct {
		Projects []struct {
			WorkspaceID string `json:"workspace_id"`
		}
	}
	require.True(t, read("/v1/me", &me))
	answer := p.do(t, http.MethodPost, "/v1/samples", cookie, map[string]any{"workspace_id": me.Projects[0].WorkspaceID})
	require.Equal(t, http.StatusCreated, answer.Status, "%s", answer.Body)
	var samples struct{ ID string }
	require.NoError(t, json.Unmarshal(answer.Body, &samples))
	account := *p.Account
	account.ProjectID = samples.ID
	s := withKeys(t, p.product, &account)

	models := provider.Start(t, provider.Options{Answer: orderModel})
	connection := s.create(t, "/v1/providers", map[string]any{"name": "Scripted", "kind": "openai", "base_url": models.URL + "/v1", "api_key": models.Key})
	s.create(t, "/v1/projects/"+s.ProjectID+"/prices", map[string]any{"model": "model-a", "input": 1, "output": 10})
	agent := s.sendAgent(t, true)
	replay := s.create(t, "/v1/replays", map[string]any{
		"run_id": agent, "controls": 3, "treatments": 2,
		"edits": []any{map[string]any{"target": "all", "set": map[string]any{"system_prompt": "Ask before you change anything."}}},
	})
	batch := s.create(t, "/v1/replay-batches", map[string]any{
		"project_id": s.ProjectID, "run_ids": []string{agent}, "controls": 1, "treatments": 1,
		"edits":   []any{map[string]any{"target": "all", "set": map[string]any{"system_prompt": "Ask before you change anything."}}},
		"outcome": map[string]any{"name": "asked", "type": "string_check", "operation": "ilike", "input": "{{sample.output_text}}", "reference": "shall i"},
	})
	var groups struct {
		Data []struct{ Fingerprint string }
	}
	require.Eventually(t, func() bool {
		return read("/v1/agent/failed-runs?project_id="+s.ProjectID, &groups) && len(groups.Data) > 0
	}, waitTime, 200*time.Millisecond, "runs have failed")
	diagnosis := s.create(t, "/v1/diagnoses", map[string]any{
		"project_id": s.ProjectID, "fingerprint": groups.Data[0].Fingerprint, "provider_id": connection, "model": "model-a",
	})
	rule := s.create(t, "/v1/eval-rules", map[string]any{
		"name": "polite", "run_filter": "environment=production", "sample_rate": 1, "max_cost_usd_per_day": 1,
		"panels": []any{map[string]any{"name": "polite", "judges": []any{map[string]any{
			"name": "model-a", "provider_id": connection, "model_config": map[string]any{"model": "model-a", "max_output_tokens": 100}, "rubric": "Is it polite?",
			"scale": map[string]any{"type": "ordinal", "min": 1, "max": 5},
		}}}},
	})
	similar := s.similarItems(t)
	checked := s.do(t, http.MethodPost, "/v1/datasets/"+similar+"/near-duplicates/_actions/check", cookie, map[string]any{})
	require.Less(t, checked.Status, 300, "%s", checked.Body)
	imported, err := product.Post(t.Context(), p.web()+"/v1/datasets/"+similar+"/imports?file_name=faq.csv", s.adminKey, "application/octet-stream",
		[]byte("question,answer\nWhat is RAG?,An architecture\n"))
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, imported.Status, "%s", imported.Body)
	var job struct{ ID string }
	require.NoError(t, json.Unmarshal(imported.Body, &job))
	s.create(t, "/v1/projects/"+s.ProjectID+"/views", map[string]any{"page": "runs", "name": "Failed runs", "query": "outcome=failed"})

	var runs, comparisons struct {
		Data []struct {
			ID      string
			Summary json.RawMessage
		}
	}
	require.Eventually(t, func() bool {
		return read("/v1/runs?limit=500&project_id="+s.ProjectID, &runs) && len(runs.Data) >= 142 &&
			read("/v1/comparisons?project_id="+s.ProjectID, &comparisons) && len(comparisons.Data) == 1 && len(comparisons.Data[0].Summary) > len("null")
	}, waitTime, 200*time.Millisecond, "the samples are complete")
	var replayed struct{ Status string }
	require.Eventually(t, func() bool {
		return read("/v1/replays/"+replay, &replayed) && replayed.Status == "succeeded"
	}, waitTime, 200*time.Millisecond, "the replay ends")
	require.Eventually(t, func() bool {
		return read("/v1/replay-batches/"+batch, &replayed) && replayed.Status == "succeeded"
	}, waitTime, 200*time.Millisecond, "the batch ends")
	return map[string]any{
		"projectId": s.ProjectID, "agent": agent, "replay": replay, "batch": batch, "diagnosis": diagnosis, "rule": rule, "similar": similar, "import": job.ID,
	}
}
