package datasets_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/access/accesstest"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/wiring"
	"github.com/looptrace/looptrace/internal/problem"
)

// ended waits for the end of an import.
func ended(t *testing.T, e *apitest.Env, as apitest.Option, id uuid.UUID) (found contract.Import) {
	t.Helper()
	require.Eventually(t, func() bool {
		found = apitest.Must[contract.Import](t, e.Do(t, http.MethodGet, "/v1/imports/"+id.String(), nil, as), http.StatusOK)
		return found.FinishedAt != nil
	}, importTime, 50*time.Millisecond)
	return found
}

func TestLimitsOfImports(t *testing.T) {
	t.Parallel()
	e := apitest.New(t).Configured(t, func(c *wiring.Config) {
		c.Datasets = datasets.Limits{FileRows: 4, FileBytes: 1000, Items: 5, WaitingFiles: 1, WaitingBytes: 10_000}
	})
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	dataset := e.CreateDataset(t, as, project.Id, "d")

	long := e.Do(t, http.MethodPost, "/v1/datasets/"+dataset.Id.String()+"/imports", "input\n"+strings.Repeat("x", 10_000), as, apitest.Header("Content-Type", apitest.TypeCSV))
	assert.Contains(t, *apitest.WantProblem(t, long, http.StatusConflict).Detail, "IMPORT_MAX_WAITING_BYTES")
	first := e.SendFile(t, as, dataset.Id, "", apitest.TypeCSV, "input\n1\n2\n3\n4\n")
	second := e.Do(t, http.MethodPost, "/v1/datasets/"+dataset.Id.String()+"/imports", "input\n1\n", as, apitest.Header("Content-Type", apitest.TypeCSV))
	assert.Contains(t, *apitest.WantProblem(t, second, http.StatusConflict).Detail, "IMPORT_MAX_WAITING_FILES")
	stop := e.Work(t)
	assert.Equal(t, contract.ImportStatus("succeeded"), ended(t, e, as, first.Id).Status)

	for name, c := range map[string]struct{ file, code, setting string }{
		"rows":  {"input\n1\n2\n3\n4\n5\n", "too_many_rows", "IMPORT_MAX_ROWS"},
		"bytes": {"input\n" + strings.Repeat("x", 1001) + "\n", "too_many_bytes", "IMPORT_MAX_BYTES"},
		"items": {"input\n6\n7\n", "too_many_items", "DATASET_MAX_ITEMS"},
	} {
		failed := ended(t, e, as, e.SendFile(t, as, dataset.Id, "", apitest.TypeCSV, c.file).Id)
		require.NotNil(t, failed.Error, name)
		assert.Equal(t, c.code, failed.Error.Code, name)
		assert.Contains(t, failed.Error.Detail, c.setting, name)
	}
	w := e.Do(t, http.MethodPost, "/v1/datasets/"+dataset.Id.String()+"/items", `{"mode":"append","items":[{"input":6},{"input":7}]}`, as)
	assert.Equal(t, "too_many_items", apitest.WantProblem(t, w, http.StatusConflict).Code)
	assert.Equal(t, 4, e.Count(t, "SELECT count(*) FROM dataset_items"))

	stop()
	e = e.Configured(t, func(*wiring.Config) {}) // raised by an administrator
	e.Work(t)
	assert.Equal(t, contract.ImportStatus("succeeded"), ended(t, e, as, e.SendFile(t, as, dataset.Id, "", apitest.TypeCSV, "input\n5\n6\n7\n8\n9\n").Id).Status)
}

// beforeFirst calls wait before the first byte is read.
type beforeFirst struct {
	io.Reader
	wait func()
}

func (r *beforeFirst) Read(p []byte) (int, error) {
	if r.wait != nil {
		r.wait()
		r.wait = nil
	}
	return r.Reader.Read(p)
}

// TestLimitsOfConcurrentUploads starts imports at once. Together they keep the limits of their project.
func TestLimitsOfConcurrentUploads(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	dataset := e.CreateDataset(t, apitest.Cookie(owner), project.Id, "d")
	grant := accesstest.Grant(t, project.Id)
	require.NoError(t, e.DB.QueryRow(t.Context(), "SELECT id FROM users").Scan(&grant.Principal.User.ID))
	start := func(limits datasets.Limits, uploads int, file func() io.Reader) (accepted int) {
		limited := e.Configured(t, func(c *wiring.Config) { c.Datasets = limits }).Datasets
		errs := make([]error, uploads)
		var done sync.WaitGroup
		for i := range errs {
			done.Go(func() {
				_, errs[i] = limited.StartImport(t.Context(), grant, dataset.Id, datasets.Upload{MediaType: apitest.TypeCSV, Mode: datasets.ModeAppend, OnError: "skip"}, file())
			})
		}
		done.Wait()
		for _, err := range errs {
			if err == nil {
				accepted++
			} else if refused := problem.Of(err); assert.NotNil(t, refused, err) {
				assert.Equal(t, "too_many_imports", refused.Code, err)
			}
		}
		return accepted
	}

	const files = 3
	limits := datasets.DefaultLimits
	limits.WaitingFiles = files
	assert.Equal(t, files, start(limits, 20, func() io.Reader { return strings.NewReader("input\n1\n") }), "files")
	assert.Equal(t, files, e.Count(t, "SELECT count(*) FROM imports"))

	e.Exec(t, "DELETE FROM imports")
	const size = 2 << 20
	limits = datasets.DefaultLimits
	limits.WaitingBytes = size + 1<<20
	var begun sync.WaitGroup // all uploads have begun before one sends a byte
	begun.Add(2)
	assert.Equal(t, 1, start(limits, 2, func() io.Reader {
		return &beforeFirst{strings.NewReader("input\n" + strings.Repeat("x", size-len("input\n"))), func() { begun.Done(); begun.Wait() }}
	}), "bytes")
	assert.Equal(t, size, e.Count(t, "SELECT sum(size_bytes) FROM imports"))
}
