package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/test/product"
)

// datasetBench measures datasets on the product as `looptrace up` starts it.
type datasetBench struct {
	t    *testing.T
	up   *product.Product
	key  string
	pool *pgxpool.Pool
	rows int
}

// TestDatasets imports BENCH_DATASET_ROWS rows of 500 bytes, once undisturbed and once with a kill -9 of the control plane, and reads the
// items. The limit beside it is a copy of the same rows within PostgreSQL, with the same indexes.
func TestDatasets(t *testing.T) {
	rows, _ := strconv.Atoi(os.Getenv("BENCH_DATASET_ROWS"))
	if rows == 0 {
		t.Skip("see make bench-datasets")
	}
	load := loadAverage()
	up := product.Start(t)
	account, err := up.Setup(t.Context())
	require.NoError(t, err)
	key, err := account.Key(t.Context(), "bench", apikey.ScopeDatasetsRead, apikey.ScopeDatasetsWrite)
	require.NoError(t, err)
	b := &datasetBench{t: t, up: up, key: key, pool: openPostgres(t, up), rows: rows}
	file := b.writeFile()
	size, err := os.Stat(file)
	require.NoError(t, err)
	fmt.Printf("%d cores of %s, load before the start %s; %d rows, %d MB of JSONL\n", runtime.NumCPU(), runtime.GOARCH, load, rows, size.Size()/1e6)

	time.Sleep(5 * time.Second)
	idle := b.rss()
	first := b.create(account.ProjectID, "undisturbed")
	begin := time.Now()
	id := b.upload(first, file)
	uploaded := time.Since(begin)
	peak := b.finish(id, nil)
	took := time.Since(begin)
	fmt.Printf("import                 %.1f s (upload %.1f s), %.0f rows/s\n", took.Seconds(), uploaded.Seconds(), float64(rows)/took.Seconds())
	fmt.Printf("control plane RSS      idle %d MB, peak %d MB, +%d MB\n", idle/1e6, peak/1e6, (peak-idle)/1e6)

	begin = time.Now()
	_, err = b.pool.Exec(t.Context(), "CREATE TABLE limit_items (LIKE dataset_items INCLUDING ALL)")
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), "INSERT INTO limit_items SELECT * FROM dataset_items WHERE dataset_id = $1", first)
	require.NoError(t, err)
	copied := time.Since(begin)
	fmt.Printf("copy within PostgreSQL %.1f s: the import takes %.1f times as long\n", copied.Seconds(), took.Seconds()/copied.Seconds())
	b.exec("DROP TABLE limit_items")

	b.reads(first)
	b.edit(first)

	second := b.create(account.ProjectID, "killed")
	id = b.upload(second, file)
	kills := 0
	b.finish(id, func(processed, total int) {
		if kills == 0 && processed > total/3 {
			kills++
			pid, err := b.up.PID(product.ControlPlaneProcess)
			require.NoError(t, err)
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		}
	})
	require.Equal(t, 1, kills)
	var differing int
	require.NoError(t, b.pool.QueryRow(t.Context(), `
		SELECT count(*) FROM (SELECT ordinal, key, item_hash FROM dataset_items WHERE dataset_id = $1 AND added_in = 1) a
		FULL JOIN (SELECT ordinal, key, item_hash FROM dataset_items WHERE dataset_id = $2 AND added_in = 1) b USING (ordinal, key, item_hash)
		WHERE a.ordinal IS NULL OR b.ordinal IS NULL`, first, second).Scan(&differing))
	require.Zero(t, differing)
	fmt.Println("after kill -9 in the middle: the same items")
}

func (b *datasetBench) exec(statement string, args ...any) {
	b.t.Helper()
	_, err := b.pool.Exec(b.t.Context(), statement, args...)
	require.NoError(b.t, err)
}

func openPostgres(t *testing.T, up *product.Product) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig("postgres://looptrace@" + up.Ports.Addr(product.Postgres) + "/looptrace?sslmode=disable")
	require.NoError(t, err)
	config.ConnConfig.Password = up.Password(t, "postgres")
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// writeFile writes the rows, and returns the path of the file.
func (b *datasetBench) writeFile() string {
	path := filepath.Join(b.t.TempDir(), "items.jsonl")
	file, err := os.Create(path)
	require.NoError(b.t, err)
	out := bufio.NewWriter(file)
	padding := strings.Repeat("The customer asks about an order, its delivery and the bill. ", 5)
	for i := range b.rows {
		_, err := fmt.Fprintf(out, `{"key":"row-%07d","input":{"question":"What became of order %d? %s"},"reference_output":"Order %d was delivered.","metadata":{"n":%d},"split":"test"}`+"\n",
			i, i*7919, padding, i*7919, i)
		require.NoError(b.t, err)
	}
	require.NoError(b.t, out.Flush())
	require.NoError(b.t, file.Close())
	return path
}

func (b *datasetBench) process() product.Process {
	b.t.Helper()
	all, err := b.up.Processes()
	require.NoError(b.t, err)
	for _, p := range all {
		if p.Name == product.ControlPlaneProcess {
			return p
		}
	}
	b.t.Fatal("the control plane does not run")
	return product.Process{}
}

func (b *datasetBench) rss() int64 {
	usage, err := b.process().Usage()
	require.NoError(b.t, err)
	return usage.RSS
}

// call sends a request and reads the answer into into.
func (b *datasetBench) call(method, path, mediaType string, body io.Reader, into any) error {
	request, err := http.NewRequestWithContext(b.t.Context(), method, b.up.Ports.URL(product.Web)+path, body)
	require.NoError(b.t, err)
	request.Header.Set("Authorization", "Bearer "+b.key)
	request.Header.Set("Content-Type", mediaType)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { require.NoError(b.t, answer.Body.Close()) }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s: %s", answer.Status, text)
	}
	return json.Unmarshal(text, into)
}

func (b *datasetBench) create(project, name string) (id string) {
	var created struct{ ID string }
	body := fmt.Sprintf(`{"project_id":%q,"name":%q}`, project, name)
	require.NoError(b.t, b.call(http.MethodPost, "/v1/datasets", "application/json", strings.NewReader(body), &created))
	return created.ID
}

func (b *datasetBench) upload(dataset, path string) (id string) {
	file, err := os.Open(path) // the client closes it
	require.NoError(b.t, err)
	var started struct{ ID string }
	require.NoError(b.t, b.call(http.MethodPost, "/v1/datasets/"+dataset+"/imports?file_name=items.jsonl", "application/x-ndjson", file, &started))
	return started.ID
}

// finish waits for the end of an import, and returns the highest RSS of the control plane. meanwhile is called with the progress.
func (b *datasetBench) finish(id string, meanwhile func(processed, total int)) (peak int64) {
	ctx, cancel := context.WithTimeout(b.t.Context(), 15*time.Minute)
	defer cancel()
	for {
		require.NoError(b.t, ctx.Err())
		time.Sleep(200 * time.Millisecond)
		var now struct {
			Status    string
			Processed int
			Added     int
			Error     *struct{ Code, Detail string }
		}
		if err := b.call(http.MethodGet, "/v1/imports/"+id, "application/json", http.NoBody, &now); err != nil {
			require.NotNil(b.t, meanwhile, "%v", err) // it was killed
			continue
		}
		if meanwhile == nil {
			peak = max(peak, b.rss())
		} else {
			meanwhile(now.Processed, b.rows)
		}
		require.Nil(b.t, now.Error)
		if now.Status == "succeeded" {
			require.Equal(b.t, b.rows, now.Added)
			return peak
		}
	}
}

// reads measures pages of 100 items.
func (b *datasetBench) reads(dataset string) {
	path := "/v1/datasets/" + dataset + "/items?limit=100"
	deep := path
	for page := 1; page < min(1000, b.rows/100); page++ {
		var answer struct {
			NextCursor string `json:"next_cursor"`
		}
		require.NoError(b.t, b.call(http.MethodGet, deep, "application/json", http.NoBody, &answer))
		deep = path + "&cursor=" + answer.NextCursor
	}
	for name, path := range map[string]string{"first page": path, "page 1,000": deep, "search": path + "&search=order+7919000"} {
		var times []time.Duration
		for range 50 {
			begin := time.Now()
			var answer struct{ Data []json.RawMessage }
			require.NoError(b.t, b.call(http.MethodGet, path, "application/json", http.NoBody, &answer))
			require.NotEmpty(b.t, answer.Data)
			times = append(times, time.Since(begin))
		}
		p := percentilesOf(times)
		fmt.Printf("%-22s p50 %.1f ms, p95 %.1f ms\n", name, p.P50, p.P95)
	}
}

// edit changes one item, and counts the rows that this stores.
func (b *datasetBench) edit(dataset string) {
	count := func() (n int) {
		require.NoError(b.t, b.pool.QueryRow(b.t.Context(), "SELECT count(*) FROM dataset_items WHERE dataset_id = $1", dataset).Scan(&n))
		return n
	}
	before := count()
	var page struct{ Data []struct{ ID string } }
	require.NoError(b.t, b.call(http.MethodGet, "/v1/datasets/"+dataset+"/items?limit=1", "application/json", http.NoBody, &page))
	begin := time.Now()
	var edited struct{ ID string }
	require.NoError(b.t, b.call(http.MethodPatch, "/v1/datasets/"+dataset+"/items/"+page.Data[0].ID, "application/json", strings.NewReader(`{"split":"train"}`), &edited))
	fmt.Printf("edit of one item       %.1f ms, %d row stored\n", float64(time.Since(begin).Microseconds())/1e3, count()-before)
}
