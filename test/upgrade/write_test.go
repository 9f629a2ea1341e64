package upgrade

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/product"
	"github.com/looptrace/looptrace/test/provider"
)

const (
	// most is the size of a packed folder, in bytes: each release adds one to the repository.
	most = 5 << 20
	// settleTime limits the wait for what the product does by itself. A rule waits half a
	// minute for the rest of a run, an experiment two for further results.
	settleTime = 5 * time.Minute
)

// TestWrite writes a data folder of the release that UPGRADE_WRITE names: it uses every feature once.
func TestWrite(t *testing.T) {
	version := os.Getenv("UPGRADE_WRITE")
	if version == "" {
		t.Skip("see make upgrade-data")
	}
	require.Regexp(t, `^\d+\.\d+\.\d+$`, version)
	file := filepath.Join("testdata", version)
	require.NoFileExists(t, file+".tar.zst", "that of a release stays as it is; delete it if there is no such release yet")
	w := &writer{t: t, record: record{Version: version}, used: map[string]bool{}}
	w.serveModels()
	w.product = prepare(t)
	require.NoError(t, w.product.Up(t.Context()))

	w.caller = caller{t: t, base: w.product.Ports.URL(product.Web), called: w.called}
	w.writeAccounts()
	w.writeKeys()
	w.writePrompts()
	w.writeRuns()
	w.writeViews()
	w.writeProviders()
	w.writeDatasets()
	w.writeRule()
	w.writeComparisons()
	w.writeEvalRuns()
	w.writeReplays()
	w.writePrices()
	w.writeFailures()
	w.writeFindings()
	w.awaitRule()
	w.awaitExperiment()
	w.closeAccounts()
	w.settle()
	w.readAll()
	w.checkUsed()
	w.checkTables()

	w.shrinkWAL()
	require.NoError(t, w.product.Down())
	require.NoError(t, os.MkdirAll("testdata", 0o755))
	require.NoError(t, pack(w.product.Data, file+".tar.zst"))
	require.NoError(t, w.record.write(file+".json"))
	info, err := os.Stat(file + ".tar.zst")
	require.NoError(t, err)
	require.LessOrEqual(t, info.Size(), int64(most))
	t.Logf("%s.tar.zst: %d bytes, %d reads", file, info.Size(), len(w.record.Reads))
}

// prepare returns a product whose folder alone has its secrets. It stops when the test ends.
func prepare(t *testing.T) *product.Product {
	t.Helper()
	p, err := product.New(t.TempDir())
	require.NoError(t, err)
	p.Env = []string{"SESSION_SECRET=", "PROVIDER_KEYS_SECRET=", "PROVIDER_PRIVATE_ADDRESSES=loopback", "PUBLIC_URL=", "ALLOWED_HOSTS="}
	t.Cleanup(func() {
		if err := p.Down(); err != nil {
			t.Errorf("stop the product: %v", err)
		}
		if t.Failed() {
			t.Log(p.Logs())
		}
	})
	return p
}

// writer writes a data folder through a running product.
type writer struct {
	t       *testing.T
	product *product.Product
	models  *provider.Server
	slow    gate // before the slow model
	record  record
	// used are the operations that were called, as in the OpenAPI document.
	used map[string]bool

	// caller has no credentials, owner is the first user, key and ingest are keys of the project.
	caller, owner, key, ingest caller

	// Ids of what other steps need.
	organization, workspace, project, dataset, prompt, connection, rule string
	runs                                                                map[string]string // by what is special about them
	// paths are those to read at the end.
	paths []string
}

// called notes the operation of a request.
func (w *writer) called(method, path string) {
	for _, o := range operations(w.t) {
		if o.method == method && o.pattern.MatchString(path) {
			w.used[o.name] = true
			return
		}
	}
	require.FailNow(w.t, "no such operation", "%s %s", method, path)
}

// checkUsed requires that every operation was used, except those that are named.
func (w *writer) checkUsed() {
	for _, o := range operations(w.t) {
		_, excepted := unused[o.name]
		if excepted == w.used[o.name] {
			w.t.Errorf("operation %s (%s): use it in a step of TestWrite, or name it in unused, not both", o.name, o.path)
		}
	}
	require.False(w.t, w.t.Failed())
}

// checkTables requires that every table has rows, except those that are named: a table may belong to a feature without a subject.
func (w *writer) checkTables() {
	rows := map[string]int64{}
	found, err := w.postgres().Query(w.t.Context(), `SELECT tablename, (xpath('/row/n/text()', query_to_xml('SELECT count(*) AS n FROM ' || quote_ident(tablename), false, true, '')))[1]::text::bigint
		FROM pg_tables WHERE schemaname = 'public'`)
	require.NoError(w.t, err)
	var name string
	var count int64
	_, err = pgx.ForEachRow(found, []any{&name, &count}, func() error {
		rows[name] = count
		return nil
	})
	require.NoError(w.t, err)
	stored, err := w.product.ClickHouse(w.t).Query(w.t.Context(), "SELECT name, toInt64(total_rows) FROM system.tables WHERE database = currentDatabase() AND total_rows IS NOT NULL")
	require.NoError(w.t, err)
	for stored.Next() {
		require.NoError(w.t, stored.Scan(&name, &count))
		rows["clickhouse "+name] = count
	}
	require.NoError(w.t, stored.Err())
	for name, count := range rows {
		if _, excepted := empty[name]; excepted != (count == 0) {
			w.t.Errorf("table %s has %d rows: let TestWrite fill it, or name it in empty, not both", name, count)
		}
	}
	require.False(w.t, w.t.Failed())
}

// reads notes what to read at the end.
func (w *writer) reads(paths ...string) { w.paths = append(w.paths, paths...) }

// await waits for a condition.
func (w *writer) await(what string, condition func() bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), settleTime)
	defer cancel()
	err := product.Wait(ctx, func(context.Context) error {
		if !condition() {
			return errors.New(what)
		}
		return nil
	})
	require.NoError(w.t, err)
}

// awaitStatus waits until something has a status, and its summary or verdict where it ends with one.
func (w *writer) awaitStatus(path, status, result string) object {
	w.t.Helper()
	var last object
	w.await(path+" is "+status, func() bool {
		last = w.key.get(path)
		return last["status"] == status && (result == "" || last[result] != nil)
	})
	return last
}

// settle waits for jobs, such as those that summarize again after a label.
func (w *writer) settle() {
	conn := w.postgres()
	w.await("no job waits or runs", func() bool {
		var jobs int
		require.NoError(w.t, conn.QueryRow(w.t.Context(), "SELECT count(*) FROM river_job WHERE state IN ('available', 'pending', 'retryable', 'running')").Scan(&jobs))
		return jobs == 0
	})
}

// readAll reads everything, and notes what the product answers.
func (w *writer) readAll() {
	slices.Sort(w.paths)
	w.record.WrittenAt = time.Now().UTC()
	for _, path := range slices.Compact(w.paths) {
		answer := w.owner.send(http.MethodGet, path, product.JSON, nil)
		if answer.Status != http.StatusOK {
			w.t.Errorf("GET %s: %d %s", path, answer.Status, answer.Body)
			continue
		}
		w.record.Reads = append(w.record.Reads, read{Path: path, Answer: answerOf(w.t, answer)})
	}
	require.False(w.t, w.t.Failed())
}

// answerOf returns what lasts of an answer.
func answerOf(t *testing.T, answer product.Answer) any {
	t.Helper()
	if !strings.HasPrefix(answer.Header.Get("Content-Type"), product.JSON) {
		return string(answer.Body)
	}
	return lasting(decode(t, answer.Body))
}

// shrinkWAL makes PostgreSQL leave almost nothing in its log of changes, which would be half of the packed folder. It removes
// the segments itself, and the settings are as before afterwards.
func (w *writer) shrinkWAL() {
	conn := w.postgres()
	run := func(statement string) {
		_, err := conn.Exec(w.t.Context(), statement)
		require.NoError(w.t, err, statement)
	}
	segments := func() int {
		files, err := filepath.Glob(filepath.Join(w.product.Data, "postgres", "pg_wal", strings.Repeat("[0-9A-F]", 24)))
		require.NoError(w.t, err)
		return len(files)
	}
	// Without it, PostgreSQL renames old segments to future ones, with their content.
	run("ALTER SYSTEM SET wal_recycle = off")
	run("SELECT pg_reload_conf()")
	for range segments() + 1 {
		run("SELECT pg_switch_wal()")
		run("CHECKPOINT")
	}
	run("ALTER SYSTEM RESET wal_recycle")
	run("SELECT pg_reload_conf()")
	require.LessOrEqual(w.t, segments(), 2)
}

// operation is one of the OpenAPI document.
type operation struct {
	name, method, path string
	pattern            *regexp.Regexp
}

var parameter = regexp.MustCompile(`\\\{[a-z_]+\\\}`)

func newOperation(name, method, path string) operation {
	pattern := parameter.ReplaceAllString(regexp.QuoteMeta(path), `[^/]+`)
	return operation{name: name, method: method, path: path, pattern: regexp.MustCompile(fmt.Sprintf("^%s$", pattern))}
}
