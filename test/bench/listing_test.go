package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/test/browser"
	"github.com/looptrace/looptrace/test/engines"
	"github.com/looptrace/looptrace/test/product"
)

// TestListing opens the run list of the large database in Chromium, scrolls, filters and searches, and prints how
// soon rows were visible and how long the page's thread was blocked. A figure never fails it.
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
	browser.New(t, t.TempDir()).Play(t, "listing", map[string]any{
		"base": web, "projectId": readProject, "email": account.Email, "password": account.Password, "pages": 100, "rare": invoice(smallSpans(t), 0),
	}, &figures)
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "step\tms\ttasks over 50 ms\tlongest, ms") // Flush reports
	for _, f := range figures {
		_, _ = fmt.Fprintf(table, "%s\t%.0f\t%d\t%.0f\n", f.Name, f.Ms, f.LongTasks, f.Longest)
	}
	require.NoError(t, table.Flush())
}
