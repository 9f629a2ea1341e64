package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/test/engines"
	"github.com/looptrace/looptrace/test/product"
)

// TestListing opens the list of the large database in Chromium, scrolls it, filters it and searches it, and prints how
// soon rows stood there and how long the page's thread was held up. A figure never fails it.
func TestListing(t *testing.T) {
	if os.Getenv("BENCH_READ_SPANS") == "" {
		t.Skip("see make bench-list")
	}
	ctx := t.Context()
	load := loadAverage()
	r := newReadRig(t)
	databaseURL := engines.Postgres(t)
	r.startControlPlane(largeReads, r.ports.Addr(product.API), databaseURL)
	web := r.ports.URL(product.Web)
	child := r.run(product.WebProcess, []string{
		"WEB_ADDR=" + r.ports.Addr(product.Web), "API_URL=" + r.ports.URL(product.API), "INGEST_URL=" + r.ports.URL(product.Ingest),
		"UI_DIR=" + filepath.Join(r.root, "ui", "dist"),
	}, r.built("looptrace"), "web")
	r.await(child, answers("GET", web+"/healthz"))
	account, err := product.Setup(ctx, web)
	require.NoError(t, err)
	pool, err := postgres.Open(ctx, databaseURL)
	require.NoError(t, err)
	_, err = pool.Exec(ctx, "INSERT INTO projects (id, workspace_id, name) SELECT $1, workspace_id, 'many runs' FROM projects LIMIT 1", readProject)
	pool.Close()
	require.NoError(t, err)

	conn := r.openClickHouse(largeReads)
	fmt.Printf("load before the start %s; %d runs of %d spans\n", load, count(t, conn, "SELECT count() FROM runs"), count(t, conn, "SELECT count() FROM spans"))
	var figures []struct {
		Name              string
		Ms, Longest       float64
		LongTasks, Frames int
	}
	r.play("listing", map[string]any{
		"base": web, "projectId": readProject, "email": account.Email, "password": account.Password, "pages": 100, "rare": invoice(smallSpans(t), 0),
	}, &figures)
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "step\tms\ttasks over 50 ms\tlongest, ms") // Flush tells
	for _, f := range figures {
		_, _ = fmt.Fprintf(table, "%s\t%.0f\t%d\t%.0f\n", f.Name, f.Ms, f.LongTasks, f.Longest)
	}
	require.NoError(t, table.Flush())
}

// play runs a program of test/e2e/browser, where `make bench-browser` has installed them, and reads its result.
func (r *rig) play(scenario string, input map[string]any, result any) {
	r.t.Helper()
	installed := r.built("e2e-browser")
	require.DirExists(r.t, filepath.Join(installed, "node_modules"), "`make bench-browser` installs what drives the browser")
	for _, script := range []string{scenario, "scenario"} {
		text, err := os.ReadFile(filepath.Join(r.root, "test", "e2e", "browser", script+".mjs"))
		require.NoError(r.t, err)
		require.NoError(r.t, os.WriteFile(filepath.Join(installed, script+".mjs"), text, 0o644))
	}
	text, err := json.Marshal(input)
	require.NoError(r.t, err)
	chromium := os.Getenv("LOOPTRACE_CHROMIUM")
	if chromium == "" {
		chromium = "/usr/bin/chromium"
	}
	cmd := exec.CommandContext(r.t.Context(), "node", filepath.Join(installed, scenario+".mjs"))
	cmd.WaitDelay = time.Second
	cmd.Env = append(os.Environ(), "SCENARIO="+scenario, "INPUT="+string(text), "CHROMIUM="+chromium, "OUTPUT="+r.t.TempDir(), "STATE=")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	require.NoError(r.t, err, "%s", &stderr)
	var told struct {
		Findings []map[string]string
		Result   json.RawMessage
	}
	require.NoError(r.t, json.Unmarshal(output, &told), "%s", output)
	require.Empty(r.t, told.Findings)
	require.NoError(r.t, json.Unmarshal(told.Result, result))
}
