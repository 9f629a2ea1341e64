package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/test/engines"
	"github.com/looptrace/looptrace/test/product"
)

// promptCount is the number of prompts in the project.
const promptCount = 10_000

// TestPrompts measures reads of prompts in a project with 10,000 of them, beside a request that only looks up its key.
func TestPrompts(t *testing.T) {
	if os.Getenv("BENCH_PROMPTS") == "" {
		t.Skip("see make bench-prompts")
	}
	load := loadAverage()
	r := newRig(t, t.TempDir())
	r.startClickHouse()
	databaseURL := engines.Postgres(t)
	pool, err := postgres.Open(t.Context(), databaseURL)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	key := fillPrompts(t, pool)
	require.NoError(t, r.openClickHouse("default").Exec(t.Context(), "CREATE DATABASE IF NOT EXISTS prompts"))
	api := "http://" + r.ports.Addr(product.API)
	r.startControlPlane("prompts", r.ports.Addr(product.API), databaseURL)

	client := &http.Client{Timeout: time.Minute}
	ask := func(t *testing.T, path string, status int, header http.Header) time.Duration {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, api+path, http.NoBody)
		require.NoError(t, err)
		for name, values := range header {
			request.Header[name] = values
		}
		request.Header.Set("Authorization", "Bearer "+key)
		begin := time.Now()
		answer, err := client.Do(request)
		require.NoError(t, err)
		body, err := io.ReadAll(answer.Body)
		took := time.Since(begin)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, status, answer.StatusCode, "%s: %s", path, body)
		return took
	}
	name := func(n int) string {
		return fmt.Sprintf("folder%d/prompt%d", n*7919%promptCount%100, n*7919%promptCount)
	}
	reads := []struct {
		name string
		read func(n int) time.Duration
	}{
		{"key only (GET /v1/me)", func(int) time.Duration { return ask(t, "/v1/me", http.StatusOK, nil) }},
		{"resolve by alias", func(n int) time.Duration {
			return ask(t, "/v1/prompts/resolve?alias=production&name="+name(n), http.StatusOK, nil)
		}},
		{"resolve by version", func(n int) time.Duration {
			return ask(t, "/v1/prompts/resolve?version=2&name="+name(n), http.StatusOK, nil)
		}},
		{"list a folder of 100", func(n int) time.Duration {
			return ask(t, fmt.Sprintf("/v1/prompts?limit=50&folder=folder%d", n%100), http.StatusOK, nil)
		}},
		{"list the top level", func(int) time.Duration { return ask(t, "/v1/prompts?folder=/", http.StatusOK, nil) }},
		{"search", func(n int) time.Duration {
			return ask(t, fmt.Sprintf("/v1/prompts?search=prompt%d", n*7919%promptCount), http.StatusOK, nil)
		}},
	}
	times := make([][]time.Duration, len(reads))
	const rounds, warming = 1000, 50
	for n := range rounds + warming { // by turns, so that all have the same noise
		for i, what := range reads {
			if took := what.read(n); n >= warming {
				times[i] = append(times[i], took)
			}
		}
	}
	fmt.Printf("%d cores of %s, load before the start %s; %d prompts of 2 versions\n", runtime.NumCPU(), runtime.GOARCH, load, promptCount)
	for i, what := range reads {
		p := percentilesOf(times[i])
		fmt.Printf("%-24s p50 %.2f ms, p95 %.2f ms\n", what.name, p.P50, p.P95)
	}
	moves := percentilesOf(aliasMoves(t, api, key, client))
	fmt.Printf("%-24s p50 %.2f ms, p95 %.2f ms\n", "move to event", moves.P50, moves.P95)
}

// fillPrompts creates a project with prompts, each with two versions and an alias, and returns a key of it.
func fillPrompts(t *testing.T, pool *pgxpool.Pool) string {
	t.Helper()
	key := apikey.Mint()
	hash := key.Hash()
	_, err := pool.Exec(t.Context(), `
		WITH o AS (INSERT INTO organizations (name) VALUES ('bench') RETURNING id),
		w AS (INSERT INTO workspaces (organization_id, name) SELECT id, 'bench' FROM o RETURNING id),
		p AS (INSERT INTO projects (id, workspace_id, name) SELECT $4, id, 'bench' FROM w RETURNING id)
		INSERT INTO api_keys (project_id, name, public_id, secret_sha256, scopes) SELECT id, 'bench', $1, $2, $3 FROM p`,
		key.PublicID(), hash[:], []string{apikey.ScopePromptsRead, apikey.ScopePromptsWrite}, readProject)
	require.NoError(t, err)
	for _, statement := range []string{
		`INSERT INTO prompts (project_id, name, description, tags, latest_version, created_at, updated_at)
			SELECT $1, 'folder' || n % 100 || '/prompt' || n, 'Prompt number ' || n, ARRAY['bench'], 2, now(), now() FROM generate_series(0, $2 - 1) n`,
		`INSERT INTO prompt_versions (prompt_id, version, content_hash, messages, tools, model_config, variables, template_format, missing, created_at)
			SELECT id, v, sha256(convert_to(name || v, 'UTF8')),
				json_build_array(json_build_object('role', 'system', 'content', repeat('You answer questions about {{product}}. ', 50) || v))::text,
				'[]', '{"model":"gpt-4o"}', '{"product":{"type":"any","required":true}}', 'mustache', 'error', now()
			FROM prompts, generate_series(1, 2) v WHERE project_id = $1 AND $2 > 0`,
		`INSERT INTO prompt_aliases (prompt_id, alias, version, changes, updated_at) SELECT id, 'production', 1, 1, now() FROM prompts WHERE project_id = $1 AND $2 > 0`,
		`INSERT INTO prompt_alias_changes (prompt_id, alias, number, change, to_version, created_at)
			SELECT id, 'production', 1, 'created', 1, now() FROM prompts WHERE project_id = $1 AND $2 > 0`,
	} {
		_, err := pool.Exec(t.Context(), statement, readProject, promptCount)
		require.NoError(t, err)
	}
	_, err = pool.Exec(t.Context(), "ANALYZE")
	require.NoError(t, err)
	return key.Reveal()
}

// aliasMoves moves an alias 200 times, and returns how long after the request each event came.
func aliasMoves(t *testing.T, api, key string, client *http.Client) []time.Duration {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	header := http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}}
	send := func(method, path, body string) *http.Response {
		request, err := http.NewRequestWithContext(ctx, method, api+path, strings.NewReader(body))
		require.NoError(t, err)
		request.Header = header
		answer, err := client.Do(request)
		require.NoError(t, err)
		require.Less(t, answer.StatusCode, http.StatusBadRequest, path)
		return answer
	}
	found := send(http.MethodGet, "/v1/prompts/resolve?name=folder7/prompt7", "")
	text, err := io.ReadAll(found.Body)
	require.NoError(t, err)
	require.NoError(t, found.Body.Close())
	_, id, _ := strings.Cut(string(text), `"prompt_id":"`)
	stream := send(http.MethodGet, "/v1/prompts/stream", "")
	events := make(chan time.Time)
	go func() {
		defer close(events)
		lines := bufio.NewScanner(stream.Body)
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "data: ") {
				select {
				case events <- time.Now():
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	<-events // ready
	var times []time.Duration
	for n := range 200 {
		begin := time.Now()
		moved := send(http.MethodPost, "/v1/prompts/"+id[:36]+"/aliases", fmt.Sprintf(`{"alias":"production","version":%d}`, 2-n%2))
		times = append(times, (<-events).Sub(begin))
		require.NoError(t, moved.Body.Close())
	}
	require.NoError(t, stream.Body.Close())
	return times
}
