package datasets_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/requestbody"
)

const importTime = 30 * time.Second

func getImport(t *testing.T, e *apitest.Env, as apitest.Option, id uuid.UUID) contract.Import {
	t.Helper()
	return apitest.Must[contract.Import](t, e.Do(t, http.MethodGet, "/v1/imports/"+id.String(), nil, as), http.StatusOK)
}

// finish waits for the end of an import.
func finish(t *testing.T, e *apitest.Env, as apitest.Option, id uuid.UUID) (ended contract.Import) {
	t.Helper()
	require.Eventually(t, func() bool {
		ended = getImport(t, e, as, id)
		return ended.FinishedAt != nil
	}, importTime, 50*time.Millisecond)
	return ended
}

func importErrors(t *testing.T, e *apitest.Env, as apitest.Option, id uuid.UUID) []contract.ImportError {
	t.Helper()
	return apitest.Must[contract.ImportErrorPage](t, e.Do(t, http.MethodGet, "/v1/imports/"+id.String()+"/errors?limit=500", nil, as), http.StatusOK).Data
}

const (
	typeJSONL = "application/x-ndjson"
)

func TestImport(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	faq := e.CreateDataset(t, as, project.Id, "faq", "old")
	e.Work(t)
	file := "id,question,answer\r\nfr,What is the capital of France?,Paris\r\nit,\"Rome, or\r\nMilan?\",Rome\r\n"
	started := e.SendFile(t, as, faq.Id, "?file_name=faq.csv&note=From+the+wiki", "application/octet-stream", file)
	assert.Equal(t, contract.FileFormatCsv, *started.Format)
	ended := finish(t, e, as, started.Id)
	require.Nil(t, ended.Error)
	assert.Equal(t, contract.ImportStatusSucceeded, ended.Status)
	assert.Equal(t, []any{int64(2), int64(0), int64(0), int64(0), int64(0), int64(2), int64(2), 2, int64(len(file)), int64(len(file))},
		[]any{*ended.Added, *ended.Updated, *ended.Removed, *ended.Unchanged, ended.Rejected, ended.Processed, *ended.Total, *ended.Revision, ended.SizeBytes, ended.BytesRead})
	assert.JSONEq(t, `{"shape":"columns","input":["question"],"reference_output":"answer","metadata":null,"key":"id","split":null,"tags":null}`, string(*ended.Mapping))
	assert.Equal(t, []string{"old=old", `fr={"question":"What is the capital of France?"}`, `it={"question":"Rome, or\r\nMilan?"}`}, keysOf(t, e, as, faq.Id, ""))
	assert.Equal(t, []string{"old=old"}, keysOf(t, e, as, faq.Id, "1"))
	revisions := apitest.Must[contract.DatasetRevisionPage](t, e.Do(t, http.MethodGet, "/v1/datasets/"+faq.Id.String()+"/revisions", nil, as), http.StatusOK)
	assert.Equal(t, contract.DatasetRevisionEntryKindImport, revisions.Data[0].Kind)
	assert.Equal(t, "From the wiki", revisions.Data[0].Note)
	assert.Equal(t, apitest.Email, *revisions.Data[0].CreatedBy.Email)

	again := finish(t, e, as, e.SendFile(t, as, faq.Id, "?mode=upsert", apitest.TypeCSV, file).Id)
	assert.Nil(t, again.Revision, "nothing changed")
	assert.EqualValues(t, 2, *again.Unchanged)
	assert.Equal(t, "import_finished", apitest.WantProblem(t, e.Do(t, http.MethodPost, "/v1/imports/"+again.Id.String()+"/_actions/cancel", nil, as), http.StatusConflict).Code)
	require.Eventually(t, func() bool {
		return e.Count(t, "SELECT (SELECT count(*) FROM import_chunks) + (SELECT count(*) FROM import_rows)") == 0
	}, importTime, 50*time.Millisecond)
	list := apitest.Must[contract.ImportPage](t, e.Do(t, http.MethodGet, "/v1/datasets/"+faq.Id.String()+"/imports", nil, as), http.StatusOK)
	require.Len(t, list.Data, 2)
	assert.Equal(t, again.Id, list.Data[0].Id)
	assert.Equal(t, "faq.csv", *list.Data[1].FileName)
}

// TestImportOfRejectedRows imports files without a row in which a mapping can be found.
func TestImportOfRejectedRows(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	faq := e.CreateDataset(t, as, project.Id, "faq")
	e.Work(t)
	const file = `{"input":1,"input":2}` + "\n" + `{"input":"\ud800"}` + "\n"
	rejected := finish(t, e, as, e.SendFile(t, as, faq.Id, "", typeJSONL, file).Id)
	require.NotNil(t, rejected.Error)
	assert.Equal(t, "rows_rejected", rejected.Error.Code)
	assert.Len(t, importErrors(t, e, as, rejected.Id), 2)

	skipped := finish(t, e, as, e.SendFile(t, as, faq.Id, "?on_error=skip", typeJSONL, file).Id)
	assert.Nil(t, skipped.Error)
	assert.Equal(t, []int64{2, 2, 0}, []int64{skipped.Processed, skipped.Rejected, *skipped.Added})
}

// TestImportsAreWrites imports what a write of items would write, in every mode, with the same result.
func TestImportsAreWrites(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	e.Work(t)
	before := `{"mode":"append","items":[{"key":"a","input":"1"},{"key":"b","input":"2"},{"input":"twice"},{"input":"twice"},{"input":"gone"},{"key":"k","input":"same content"}]}`
	items := []string{
		`{"key":"b","input":"2"}`, `{"key":"a","input":"new","tags":["t"]}`, `{"input":"twice","split":"test"}`, `{"input":"fresh"}`, `{"input":"fresh"}`,
		`{"key":"c","input":"same content"}`, `{"input":{"n":1.50,"m":[12345678901234567890]},"reference_output":null,"metadata":{"x":"y"}}`,
	}
	for _, mode := range []string{"append", "upsert", "replace"} {
		for _, dedupe := range []string{"", "content"} {
			t.Run(mode+dedupe, func(t *testing.T) {
				t.Parallel()
				given := items
				if mode == "append" { // no key may exist
					given = given[2:]
				}
				written, imported := e.CreateDataset(t, as, project.Id, "written "+mode+dedupe), e.CreateDataset(t, as, project.Id, "imported "+mode+dedupe)
				for _, d := range []contract.Dataset{written, imported} {
					apitest.Must[contract.DatasetWritten](t, e.Do(t, http.MethodPost, "/v1/datasets/"+d.Id.String()+"/items", before, as), http.StatusCreated)
				}
				body, query := `{"mode":"`+mode+`","items":[`+strings.Join(given, ",")+`]`, "?mode="+mode+"&mapping="+url.QueryEscape(`{"shape":"looptrace"}`)
				if dedupe != "" {
					body, query = body+`,"dedupe":"content"`, query+"&dedupe=content"
				}
				result := apitest.Must[contract.DatasetWritten](t, e.Do(t, http.MethodPost, "/v1/datasets/"+written.Id.String()+"/items", body+"}", as), http.StatusCreated)
				ended := finish(t, e, as, e.SendFile(t, as, imported.Id, query, typeJSONL, strings.Join(given, "\n")).Id)
				require.Nil(t, ended.Error)
				assert.Equal(t, []int{result.Added, result.Updated, result.Removed, result.Unchanged, result.Revision},
					[]int{int(*ended.Added), int(*ended.Updated), int(*ended.Removed), int(*ended.Unchanged), *ended.Revision})
				for _, revision := range []string{"1", "2"} {
					assert.Equal(t, contentsOf(t, e, as, written.Id, revision), contentsOf(t, e, as, imported.Id, revision))
				}
				counted := apitest.Must[contract.Dataset](t, e.Do(t, http.MethodGet, "/v1/datasets/"+imported.Id.String(), nil, as), http.StatusOK)
				assert.Len(t, contentsOf(t, e, as, imported.Id, ""), int(counted.ItemCount))
			})
		}
	}
}

// contentsOf lists the items of a revision without what differs between datasets.
func contentsOf(t *testing.T, e *apitest.Env, as apitest.Option, dataset uuid.UUID, revision string) []contract.DatasetItem {
	t.Helper()
	path := "/v1/datasets/" + dataset.String() + "/items?limit=500"
	if revision != "" {
		path += "&revision=" + revision
	}
	page := apitest.Must[contract.DatasetItemPage](t, e.Do(t, http.MethodGet, path, nil, as), http.StatusOK)
	for i := range page.Data {
		page.Data[i].Id, page.Data[i].CreatedAt = uuid.Nil, time.Time{}
	}
	return page.Data
}

// TestImportNamesBadRows imports a file of 10,000 rows, 100 of which are bad.
func TestImportNamesBadRows(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	faq := e.CreateDataset(t, as, project.Id, "faq")
	path := "/v1/datasets/" + faq.Id.String()
	apitest.Must[contract.Dataset](t, e.Do(t, http.MethodPatch, path, `{"schema":{"input":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}}`, as), http.StatusOK)
	e.Work(t)
	var (
		file strings.Builder
		bad  []int64
	)
	for i := int64(1); i <= 10_000; i++ {
		switch i % 400 {
		case 100:
			fmt.Fprintf(&file, "{\"key\":\"%d\",\"input\":{\"n\":%d}\n", i, i) // no end
		case 200:
			fmt.Fprintf(&file, "{\"key\":\"%d\",\"input\":{\"n\":\"%d\"}}\n", i, i) // no integer
		case 300:
			fmt.Fprintf(&file, "{\"key\":\"%d\"}\n", i) // no input
		case 0:
			fmt.Fprintf(&file, "{\"key\":\"%d\",\"input\":{\"n\":%d}}\n", i-1, i) // the key of the line before
		default:
			fmt.Fprintf(&file, "{\"key\":\"%d\",\"input\":{\"n\":%d}}\n", i, i)
			continue
		}
		bad = append(bad, i)
	}
	require.Len(t, bad, 100)

	refused := finish(t, e, as, e.SendFile(t, as, faq.Id, "?mode=upsert", typeJSONL, file.String()).Id)
	require.NotNil(t, refused.Error)
	assert.Equal(t, contract.ImportStatusFailed, refused.Status)
	assert.Equal(t, "rows_rejected", refused.Error.Code)
	assert.Contains(t, refused.Error.Detail, "100 of 10000 rows")
	assert.Equal(t, []int64{10_000, 100, 100}, []int64{refused.Processed, refused.Rejected, refused.ErrorsKept})
	assert.Empty(t, keysOf(t, e, as, faq.Id, ""))

	skipped := finish(t, e, as, e.SendFile(t, as, faq.Id, "?mode=upsert&on_error=skip", typeJSONL, file.String()).Id)
	require.Nil(t, skipped.Error)
	assert.Equal(t, []int64{9_900, 100, 10_000, 100}, []int64{*skipped.Added, skipped.Rejected, skipped.Processed, skipped.ErrorsKept})

	for _, id := range []uuid.UUID{refused.Id, skipped.Id} {
		errs := importErrors(t, e, as, id)
		lines := make([]int64, len(errs))
		for i, row := range errs {
			lines[i] = row.Line
			assert.NotEmpty(t, row.Reason)
		}
		assert.Equal(t, bad, lines)
		assert.Contains(t, errs[1].Reason, "schema")
		assert.Contains(t, errs[3].Reason, "also that of line 399")
	}
	w := e.Do(t, http.MethodGet, "/v1/imports/"+refused.Id.String()+"/errors?format=csv", nil, as)
	assert.Equal(t, 101, strings.Count(w.Body.String(), "\n"), w.Body.String())
	assert.Equal(t, "text/csv", w.Header().Get("Content-Type"))
	assert.True(t, strings.HasPrefix(w.Body.String(), "line,column,reason,value\n100,"))
}

// TestImportGoesOn stops the process in the middle of an import, several times.
func TestImportGoesOn(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	faq := e.CreateDataset(t, as, project.Id, "faq")
	var file bytes.Buffer
	const rows = 60_000
	for i := range rows {
		fmt.Fprintf(&file, "{\"key\":\"%d\",\"input\":{\"question\":\"What is %d?\"}}\n", i, i)
	}
	id := e.SendFile(t, as, faq.Id, "", typeJSONL, file.String()).Id
	stops := 0
	for last := int64(-1); ; {
		stop := e.Work(t)
		var now contract.Import
		require.Eventually(t, func() bool {
			now = getImport(t, e, as, id)
			return now.FinishedAt != nil || now.Processed > last
		}, importTime, time.Millisecond)
		stop()
		require.Nil(t, now.FinishedAt, "it was stopped before its end")
		last = now.Processed
		if stops++; stops == 3 {
			break
		}
	}
	e.Work(t)
	ended := finish(t, e, as, id)
	require.Nil(t, ended.Error)
	assert.Equal(t, []int64{rows, rows, rows}, []int64{*ended.Added, ended.Processed, *ended.Total})
	assert.Equal(t, rows, e.Count(t, "SELECT count(DISTINCT (key, ordinal)) FROM dataset_items WHERE dataset_id = $1 AND ordinal = key::int + 1", faq.Id))
	assert.Equal(t, 1, *ended.Revision)
}

// hold locks the dataset while fn runs, so that an import waits before it writes.
func hold(t *testing.T, e *apitest.Env, as apitest.Option, dataset, id uuid.UUID, fn func(tx pgx.Tx)) {
	t.Helper()
	require.NoError(t, pgx.BeginFunc(t.Context(), e.DB, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), "SELECT FROM datasets WHERE id = $1 FOR UPDATE", dataset); err != nil {
			return err
		}
		e.Work(t)
		require.Eventually(t, func() bool {
			now := getImport(t, e, as, id)
			return now.Phase != nil && *now.Phase == contract.ImportPhaseWriting
		}, importTime, time.Millisecond)
		fn(tx)
		return nil
	}))
}

func TestCancelImport(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	faq := e.CreateDataset(t, as, project.Id, "faq", "a")
	cancel := func(id uuid.UUID) contract.Import {
		return apitest.Must[contract.Import](t, e.Do(t, http.MethodPost, "/v1/imports/"+id.String()+"/_actions/cancel", nil, as), http.StatusOK)
	}
	queued := e.SendFile(t, as, faq.Id, "", apitest.TypeCSV, "key,input\nb,2\n").Id
	assert.Equal(t, contract.ImportStatusCancelled, cancel(queued).Status)
	assert.Equal(t, contract.ImportStatusCancelled, cancel(queued).Status, "again")

	writing := e.SendFile(t, as, faq.Id, "", apitest.TypeCSV, "key,input\nc,3\n").Id
	hold(t, e, as, faq.Id, writing, func(pgx.Tx) { cancel(writing) })
	require.Eventually(t, func() bool {
		return e.Count(t, "SELECT count(*) FROM river_job WHERE kind = 'import' AND state = 'cancelled'") == 2
	}, importTime, 50*time.Millisecond)
	assert.Equal(t, []string{"a=a"}, keysOf(t, e, as, faq.Id, ""))
	assert.Equal(t, contract.ImportStatusCancelled, getImport(t, e, as, writing).Status)
	require.NoError(t, e.Datasets.RemoveLeftovers(t.Context()))
	assert.Zero(t, e.Count(t, "SELECT (SELECT count(*) FROM import_chunks) + (SELECT count(*) FROM import_rows)"))
}

// TestReplacedAttempt has an attempt that another one replaced. It must not take the file away, and the import goes on.
func TestReplacedAttempt(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	faq := e.CreateDataset(t, as, project.Id, "faq")
	id := e.SendFile(t, as, faq.Id, "", apitest.TypeCSV, "input\n1\n2\n").Id
	hold(t, e, as, faq.Id, id, func(pgx.Tx) { e.Exec(t, "UPDATE imports SET attempt_id = $2 WHERE id = $1", id, uuid.New()) })
	require.Eventually(t, func() bool {
		return e.Count(t, "SELECT count(*) FROM river_job WHERE kind = 'import' AND state = 'completed'") == 1
	}, importTime, 50*time.Millisecond)
	assert.Equal(t, contract.ImportStatusRunning, getImport(t, e, as, id).Status)
	assert.Equal(t, 3, e.Count(t, "SELECT (SELECT count(*) FROM import_chunks) + (SELECT count(*) FROM import_rows)"))

	require.NoError(t, e.Queue.Requeue(t.Context()))
	assert.Equal(t, 1, e.Count(t, "SELECT count(*) FROM river_job WHERE kind = 'import'"), "the other attempt may be working")
	e.Clock.Advance(2 * time.Minute)
	require.NoError(t, e.Queue.Requeue(t.Context()))
	require.NoError(t, e.Queue.Requeue(t.Context()))
	assert.Equal(t, 2, e.Count(t, "SELECT count(*) FROM river_job WHERE kind = 'import'"))
	ended := finish(t, e, as, id)
	require.Nil(t, ended.Error)
	assert.EqualValues(t, 2, *ended.Added)
}

// TestBusyDataset writes to, changes and deletes a dataset while an import holds it.
func TestBusyDataset(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	path := "/v1/datasets/" + e.CreateDataset(t, as, project.Id, "faq").Id.String()
	require.NoError(t, pgx.BeginFunc(t.Context(), e.DB, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), "SELECT FROM datasets FOR UPDATE")
		require.NoError(t, err)
		for _, r := range []struct{ method, path, body string }{
			{http.MethodPost, path + "/items", `{"input":1}`}, {http.MethodPatch, path, `{"name":"other"}`}, {http.MethodDelete, path, "{}"},
		} {
			assert.Equal(t, "dataset_busy", apitest.WantProblem(t, e.Do(t, r.method, r.path, r.body, as), http.StatusConflict).Code, r.method)
		}
		return nil
	}))
}

// TestImportChecksTheNewSchema changes the schema after the rows were read.
func TestImportChecksTheNewSchema(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	faq := e.CreateDataset(t, as, project.Id, "faq")
	id := e.SendFile(t, as, faq.Id, "?on_error=skip", typeJSONL, "{\"input\":1}\n{\"input\":\"two\"}\n").Id
	hold(t, e, as, faq.Id, id, func(tx pgx.Tx) {
		_, err := tx.Exec(t.Context(), `UPDATE datasets SET input_schema = '{"type":"string"}' WHERE id = $1`, faq.Id)
		require.NoError(t, err)
	})
	ended := finish(t, e, as, id)
	require.Nil(t, ended.Error)
	assert.Equal(t, []int64{1, 1, 2}, []int64{*ended.Added, ended.Rejected, ended.Processed})
	require.Len(t, importErrors(t, e, as, id), 1)
}

// TestImportFailures has files and writes that cannot be imported. Each says why, and changes nothing.
func TestImportFailures(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	faq := e.CreateDataset(t, as, project.Id, "faq", "a", "b", "c")
	e.Work(t)
	for name, c := range map[string]struct{ query, mediaType, file, code, detail string }{
		"stale":           {"?base_revision=0", apitest.TypeCSV, "key,input\nz,1\n", "stale_base_revision", "revision 1"},
		"too many gone":   {"?mode=replace&max_removed=2", apitest.TypeCSV, "key,input\nz,1\n", "too_many_removed", "3 items"},
		"known key":       {"", apitest.TypeCSV, "key,input\na,1\n", "rows_rejected", "1 of 1"},
		"no rows":         {"", apitest.TypeCSV, "key,input\n", "no_rows", "no rows"},
		"unknown column":  {"?mapping=" + url.QueryEscape(`{"shape":"columns","input":["question"]}`), apitest.TypeCSV, "key,input\nz,1\n", "wrong_mapping", "question"},
		"broken Parquet":  {"?format=parquet", "application/octet-stream", "PAR1 and no more", "unreadable_file", "Parquet"},
		"a late member":   {"", typeJSONL, strings.Repeat("{\"input\":1}\n", 1200) + `{"input":1,"late":2}`, "rows_rejected", "1 of 1201"},
		"unknown member":  {"?mapping=" + url.QueryEscape(`{"shape":"looptrace"}`), typeJSONL, `{"input":1,"foo":2}`, "rows_rejected", "1 of 1"},
		"no list in JSON": {"", "application/json", `"a"`, "unreadable_file", ""},
	} {
		t.Run(name, func(t *testing.T) {
			ended := finish(t, e, as, e.SendFile(t, as, faq.Id, c.query, c.mediaType, c.file).Id)
			require.NotNil(t, ended.Error)
			assert.Equal(t, c.code, ended.Error.Code, ended.Error.Detail)
			assert.Contains(t, strings.ToLower(ended.Error.Detail), strings.ToLower(c.detail))
			assert.Nil(t, ended.Revision)
		})
	}
	assert.Equal(t, 1, e.Count(t, "SELECT revision FROM datasets WHERE id = $1", faq.Id))
}

// TestRefusedUploads has uploads that are refused, or break off. Nothing is kept of them.
func TestRefusedUploads(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	faq := e.CreateDataset(t, as, project.Id, "faq")
	path := "/v1/datasets/" + faq.Id.String() + "/imports"
	for name, c := range map[string]struct{ query, mediaType, file, location string }{
		"no file":          {"", apitest.TypeCSV, "", "body"},
		"PDF":              {"", "application/octet-stream", "%PDF-1.7 and so on", "body"},
		"unknown mapping":  {"?mapping=" + url.QueryEscape(`{"shape":"excel"}`), apitest.TypeCSV, "a\n1\n", "query.mapping"},
		"broken mapping":   {"?mapping=" + url.QueryEscape(`{"shape"`), apitest.TypeCSV, "a\n1\n", "query.mapping"},
		"removed":          {"?max_removed=1", apitest.TypeCSV, "a\n1\n", "query.max_removed"},
		"unknown mode":     {"?mode=merge", apitest.TypeCSV, "a\n1\n", "query.mode"},
		"control in name":  {"?file_name=a%00b.csv", apitest.TypeCSV, "a\n1\n", "query.file_name"},
		"control in sheet": {"?sheet=a%00b", apitest.TypeCSV, "a\n1\n", "query.sheet"},
		"NUL as delimiter": {"?delimiter=%00", apitest.TypeCSV, "a\n1\n", "query.delimiter"},
		"unknown encoding": {"?encoding=ebcdic", apitest.TypeCSV, "a\n1\n", "query.encoding"},
	} {
		t.Run(name, func(t *testing.T) {
			w := e.Do(t, http.MethodPost, path+c.query, c.file, as, apitest.Header("Content-Type", c.mediaType))
			refused := apitest.WantProblem(t, w, http.StatusUnprocessableEntity)
			require.NotEmpty(t, refused.Errors)
			assert.Equal(t, c.location, (*refused.Errors)[0].Location)
		})
	}
	t.Run("other", func(t *testing.T) {
		apitest.WantProblem(t, e.Do(t, http.MethodPost, path, "<p>", as, apitest.Header("Content-Type", "text/html")), http.StatusUnsupportedMediaType)
		apitest.WantProblem(t, e.Do(t, http.MethodPost, path, "a\n1\n", as, apitest.Header("Content-Type", apitest.TypeCSV), func(r *http.Request) { r.ContentLength = 3 << 30 }), http.StatusRequestEntityTooLarge)
		breaksOff := func(r *http.Request) {
			r.ContentLength = -1
			r.Body = io.NopCloser(io.MultiReader(strings.NewReader("a\n"+strings.Repeat("1\n", 1<<20)), iotest.ErrReader(errors.New("gone"))))
		}
		assert.GreaterOrEqual(t, e.Do(t, http.MethodPost, path, "", as, apitest.Header("Content-Type", apitest.TypeCSV), breaksOff).Code, 400)
	})
	assert.Zero(t, e.Count(t, "SELECT count(*) FROM imports"))
}

// TestRejectedOnce has an import that is rejected for its keys, and cannot be ended at the first attempt.
func TestRejectedOnce(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	faq := e.CreateDataset(t, as, project.Id, "faq", "a")
	e.Exec(t, "CREATE SEQUENCE tries")
	e.Exec(t, `CREATE FUNCTION fail_once() RETURNS trigger LANGUAGE plpgsql AS
		'BEGIN IF NEW.status = ''failed'' AND nextval(''tries'') = 1 THEN RAISE EXCEPTION ''not yet''; END IF; RETURN NEW; END'`)
	e.Exec(t, "CREATE TRIGGER fail_once BEFORE UPDATE ON imports FOR EACH ROW EXECUTE FUNCTION fail_once()")
	e.Work(t)
	id := e.SendFile(t, as, faq.Id, "", apitest.TypeCSV, "key,input\na,1\nb,2\nb,3\n").Id
	ended := finish(t, e, as, id)
	assert.Equal(t, "rows_rejected", ended.Error.Code)
	assert.Equal(t, []int64{2, 2}, []int64{ended.Rejected, ended.ErrorsKept})
	assert.Len(t, importErrors(t, e, as, id), 2)
	assert.Equal(t, 2, e.Count(t, "SELECT last_value FROM tries"))
}

// TestImportWithOldStatistics has statistics of PostgreSQL that know only the rows of another import.
func TestImportWithOldStatistics(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	faq := e.CreateDataset(t, as, project.Id, "faq")
	const rows = 40_000
	var file strings.Builder
	file.WriteString("key,input\n")
	for i := range rows {
		fmt.Fprintf(&file, "%d,question %d\n", i, i)
	}
	before := e.SendFile(t, as, faq.Id, "", apitest.TypeCSV, file.String()).Id
	hold(t, e, as, faq.Id, before, func(tx pgx.Tx) {
		_, err := tx.Exec(t.Context(), "ANALYZE import_rows")
		require.NoError(t, err)
	})
	finish(t, e, as, before)
	require.Eventually(t, func() bool { return e.Count(t, "SELECT count(*) FROM import_rows") == 0 }, importTime, 50*time.Millisecond)
	for _, mode := range []string{"?mode=upsert", "?mode=replace&dedupe=content"} {
		again := finish(t, e, as, e.SendFile(t, as, faq.Id, mode, apitest.TypeCSV, file.String()).Id)
		require.Nil(t, again.Error)
		assert.EqualValues(t, rows, *again.Unchanged, mode)
	}
}

// TestSlowUpload sends a file in pieces. They are stored as they come, and an upload that breaks off leaves nothing.
func TestSlowUpload(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	faq := e.CreateDataset(t, as, project.Id, "faq")
	server := httptest.NewServer(requestbody.Bound(t.Context(), e.API, requestbody.Limits{Idle: importTime, Total: importTime}))
	t.Cleanup(server.Close)
	impatient := httptest.NewServer(requestbody.Bound(t.Context(), e.API, requestbody.Limits{Idle: 100 * time.Millisecond, Total: importTime}))
	t.Cleanup(impatient.Close)
	piece := strings.Repeat("a question\n", 100_000)
	begin := func(server *httptest.Server, action, size string) net.Conn {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		require.NoError(t, conn.SetDeadline(time.Now().Add(importTime)))
		head := httptest.NewRequest(http.MethodPost, "/v1/datasets/"+faq.Id.String()+"/imports"+action, http.NoBody)
		as(head)
		_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nCookie: %s\r\nContent-Type: text/csv\r\n%s\r\n\r\n",
			head.URL, head.Header.Get("Cookie"), size)
		require.NoError(t, err)
		return conn
	}
	answer := func(conn net.Conn, status int) (code string) {
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		defer func() { require.NoError(t, response.Body.Close()) }()
		var got struct{ Code string }
		require.NoError(t, json.NewDecoder(response.Body).Decode(&got))
		require.Equal(t, status, response.StatusCode, got.Code)
		return got.Code
	}
	send := func(conn net.Conn, text string) {
		_, err := io.WriteString(conn, text)
		require.NoError(t, err)
	}

	whole := begin(server, "", fmt.Sprintf("Content-Length: %d", 2*len(piece)))
	send(whole, piece)
	require.Eventually(t, func() bool {
		return e.Count(t, "SELECT count(*) FROM imports WHERE status = 'uploading' AND size_bytes > 0") == 1
	}, importTime, 50*time.Millisecond, "the first piece is stored before the last one comes")
	send(whole, piece)
	assert.Empty(t, answer(whole, http.StatusCreated))

	send(begin(server, "/_actions/preview", "Content-Length: 5000000"), piece) // it keeps the owner's place
	var organization uuid.UUID
	require.NoError(t, e.DB.QueryRow(t.Context(), "SELECT id FROM organizations").Scan(&organization))
	as = apitest.Cookie(e.AddMember(t, "member@example.com", "member", organization))
	quick := begin(server, "/_actions/preview", "Content-Length: 4")
	send(quick, "a\n1\n")
	assert.Empty(t, answer(quick, http.StatusOK))

	for _, action := range []string{"", "/_actions/preview"} {
		stalled := begin(impatient, action, "Content-Length: 5000000")
		send(stalled, "a\n1\n")
		assert.Equal(t, "body_timeout", answer(stalled, http.StatusRequestTimeout))
		broken := begin(server, action, "Transfer-Encoding: chunked")
		send(broken, "2\r\na\n\r\nzz\r\n")
		assert.Equal(t, "malformed_body", answer(broken, http.StatusBadRequest))
	}
	require.Eventually(t, func() bool { return e.Count(t, "SELECT count(*) FROM imports") == 1 }, importTime, 50*time.Millisecond)
}

func TestTooManyImports(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	faq := e.CreateDataset(t, as, project.Id, "faq")
	for range 10 {
		e.SendFile(t, as, faq.Id, "", apitest.TypeCSV, "input\n1\n")
	}
	w := e.Do(t, http.MethodPost, "/v1/datasets/"+faq.Id.String()+"/imports", "input\n1\n", as, apitest.Header("Content-Type", apitest.TypeCSV))
	assert.Equal(t, "too_many_imports", apitest.WantProblem(t, w, http.StatusConflict).Code)
}

func TestExportDataset(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	faq := e.CreateDataset(t, as, project.Id, "faq")
	path := "/v1/datasets/" + faq.Id.String()
	body := `{"mode":"append","items":[{"key":"=1+1","input":{"b":1.50,"a":[12345678901234567890]},"reference_output":"Zürich\n\"x\"","metadata":{"m":[]},"split":"test","tags":["a,b","c"],
		"source_run_id":"01985f6e-0000-7000-8000-000000000001","source_span_id":"00f067aa0ba902b7"},{"input":null},{"input":"123","reference_output":false}]}`
	apitest.Must[contract.DatasetWritten](t, e.Do(t, http.MethodPost, path+"/items", body, as), http.StatusCreated)
	e.WriteItems(t, as, faq.Id, "append", "later")
	e.Work(t)
	for format, mediaType := range map[string]string{"jsonl": typeJSONL, "csv": apitest.TypeCSV, "parquet": "application/vnd.apache.parquet"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			w := e.Do(t, http.MethodGet, path+"/export?revision=1&format="+format, nil, as)
			require.Equal(t, http.StatusOK, w.Code, w.Body.String())
			assert.True(t, strings.HasPrefix(w.Header().Get("Content-Type"), mediaType), w.Header().Get("Content-Type"))
			assert.Contains(t, w.Header().Get("Content-Disposition"), "r1."+format)
			copied := e.CreateDataset(t, as, project.Id, "copy "+format)
			ended := finish(t, e, as, e.SendFile(t, as, copied.Id, "", mediaType, w.Body.String()).Id)
			require.Nil(t, ended.Error)
			want, got := contentsOf(t, e, as, faq.Id, "1"), contentsOf(t, e, as, copied.Id, "")
			want = slices.DeleteFunc(want, func(i contract.DatasetItem) bool { return string(i.Input) == "null" })
			got = slices.DeleteFunc(got, func(i contract.DatasetItem) bool { return string(i.Input) == "null" })
			assert.Equal(t, want, got)
		})
	}
	assert.Equal(t, 4, strings.Count(e.Do(t, http.MethodGet, path+"/export", nil, as).Body.String(), "\n"))
	apitest.WantProblem(t, e.Do(t, http.MethodGet, path+"/export?revision=9", nil, as), http.StatusUnprocessableEntity)
}

func TestPreviewImport(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	faq := e.CreateDataset(t, as, project.Id, "faq")
	path := "/v1/datasets/" + faq.Id.String() + "/imports/_actions/preview"
	apitest.Must[contract.Dataset](t, e.Do(t, http.MethodPatch, "/v1/datasets/"+faq.Id.String(), `{"schema":{"reference_output":{"type":"string"}}}`, as), http.StatusOK)
	file := "question;answer;extra\nOne?;1;x\nTwo?;;\n"
	preview := apitest.Must[contract.ImportPreview](t, e.Do(t, http.MethodPost, path, file, as, apitest.Header("Content-Type", apitest.TypeCSV)), http.StatusOK)
	assert.Equal(t, contract.FileFormatCsv, preview.Format)
	assert.Equal(t, ";", *preview.Delimiter)
	assert.True(t, preview.Complete)
	assert.Equal(t, 2, preview.RowsRead)
	require.Len(t, preview.Rows, 2)
	assert.Equal(t, `{"question":"One?","answer":"1","extra":"x"}`, string(preview.Rows[0].Values)) //nolint:testifylint // the order counts
	assert.Empty(t, preview.Rows[1].Item, "it does not fit the schema")
	require.Len(t, preview.Rows[1].Errors, 1)
	assert.Equal(t, "answer", *preview.Rows[1].Errors[0].Column)

	mapping := url.QueryEscape(`{"shape":"columns","input":"question","reference_output":"extra"}`)
	mapped := apitest.Must[contract.ImportPreview](t, e.Do(t, http.MethodPost, path+"?mapping="+mapping, file, as, apitest.Header("Content-Type", apitest.TypeCSV)), http.StatusOK)
	assert.Contains(t, string(*mapped.Rows[0].Item), `"input":"One?"`)
	partial := apitest.Must[contract.ImportPreview](t, e.Do(t, http.MethodPost, path+"?partial=true", file+"Thr", as, apitest.Header("Content-Type", apitest.TypeCSV)), http.StatusOK)
	assert.Len(t, partial.Rows, 2)
	assert.False(t, partial.Complete)
	wrong := url.QueryEscape(`{"shape":"columns","input":"prompt"}`)
	refused := apitest.WantProblem(t, e.Do(t, http.MethodPost, path+"?mapping="+wrong, file, as, apitest.Header("Content-Type", apitest.TypeCSV)), http.StatusUnprocessableEntity)
	assert.Equal(t, "query.mapping", (*refused.Errors)[0].Location)
	assert.Zero(t, e.Count(t, "SELECT count(*) FROM imports"))
}
