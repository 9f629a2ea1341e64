package e2e

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/browser"
	"github.com/looptrace/looptrace/test/product"
	"github.com/looptrace/looptrace/test/provider"
)

// TestProviders connects, tests and deletes a provider of models in the browser, and reads the spending.
func TestProviders(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	models := provider.Start(t, provider.Options{})
	p.play(t, "providers", map[string]any{"address": models.URL + "/v1", "key": models.Key}, nil)
}

// TestPlayground calls models in the browser: three streams at once, tools, refusals, prompts, datasets, images and limits; as a viewer;
// and with a key that the server cannot read.
func TestPlayground(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.browser = browser.New(t, filepath.Join("output", t.Name()))
	models := provider.Start(t, provider.Options{})
	connection := p.create(t, "/v1/providers", map[string]any{"name": "Scripted", "kind": "openai", "base_url": models.URL + "/v1", "api_key": models.Key})
	prompt := p.create(t, "/v1/prompts", map[string]any{"name": "support/triage", "version": map[string]any{
		"messages": []any{
			map[string]any{"role": "system", "content": "You triage tickets."}, map[string]any{"role": "user", "content": "{{ticket}}"},
		},
		"model_config": map[string]any{"model": "no-temperature", "temperature": 0.5},
	}})
	p.create(t, "/v1/prompts/"+prompt+"/aliases", map[string]any{"alias": "production", "version": 1})
	p.create(t, "/v1/prompts", map[string]any{"name": "support/greet", "version": map[string]any{
		"messages": []any{map[string]any{"role": "user", "content": "Greet {{name}}."}},
	}})
	p.create(t, "/v1/projects/"+p.ProjectID+"/prices", map[string]any{"model": "tools", "input": 0, "output": 100})
	dataset := p.createDataset(t, "tickets")
	items := make([]any, 6)
	for i := range items {
		items[i] = map[string]any{"input": map[string]any{"ticket": "I was charged twice."}}
	}
	p.writeItems(t, dataset, map[string]any{"items": items})

	t.Run("calls", func(t *testing.T) {
		var measured struct {
			Longest    int `json:"longest"`
			Over50     int `json:"over50"`
			LongestCPU int `json:"longestCPU"`
			Over50CPU  int `json:"over50CPU"`
		}
		p.play(t, "playground", map[string]any{"key": models.Key, "runId": p.sendChat(t, "Where does {{she}} live?", "In Zürich.")}, &measured)
		t.Logf("while three columns streamed: longest task %d ms (%d ms of processor time), %d over 50 ms (%d of processor time)",
			measured.Longest, measured.LongestCPU, measured.Over50, measured.Over50CPU)
	})
	t.Run("saves", func(t *testing.T) {
		p.play(t, "playgroundsaves", map[string]any{"promptId": prompt, "datasetId": dataset}, nil)
	})
	t.Run("limits", func(t *testing.T) {
		p.play(t, "playgroundlimits", nil, nil)
		assert.True(t, slices.ContainsFunc(models.Requests(), func(r provider.Request) bool {
			return strings.Contains(string(r.Body), `"url":"data:image/png;base64,`)
		}), "the model gets the image of the file")
	})
	t.Run("viewer", func(t *testing.T) {
		p.play(t, "playgroundviewer", map[string]any{
			"providerId": connection, "email": "ann-" + uuid.NewString()[:8] + "@example.com", "password": "plum gravel otter kiln",
		}, nil)
	})
	t.Run("unreadable", func(t *testing.T) {
		p.loseSecret(t, connection)
		p.play(t, "playgroundunreadable", map[string]any{"key": models.Key}, nil)
	})
}

// create creates a resource in the project, and returns its id if it has one.
func (p *project) create(t *testing.T, path string, body map[string]any) string {
	t.Helper()
	if strings.Count(path, "/") == 2 {
		body["project_id"] = p.ProjectID
	}
	answer := p.do(t, http.MethodPost, path, bearer(p.adminKey), body)
	require.Equal(t, http.StatusCreated, answer.Status, "%s", answer.Body)
	var created struct {
		ID string `json:"id"`
	}
	require.NoError(t, json.Unmarshal(answer.Body, &created))
	return created.ID
}

// loseSecret makes a connection's secrets those of an instance whose secret the server does not have.
func (p *project) loseSecret(t *testing.T, connection string) {
	t.Helper()
	config, err := pgx.ParseConfig("postgres://looptrace@" + p.product.Ports.Addr(product.Postgres) + "/looptrace?sslmode=disable")
	require.NoError(t, err)
	config.Password = p.product.Password(t, "postgres")
	conn, err := pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	defer func() { assert.NoError(t, conn.Close(t.Context())) }()
	changed, err := conn.Exec(t.Context(), "UPDATE providers SET secret_id = 'lost' WHERE id = $1", connection)
	require.NoError(t, err)
	require.EqualValues(t, 1, changed.RowsAffected())
}
