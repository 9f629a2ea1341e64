package importing

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// importServer answers as a test says, and keeps what it was asked. The real one is in test/e2e.
type importServer struct {
	url string

	mu       sync.Mutex
	asked    []string // method and path, in their order
	query    url.Values
	headers  http.Header
	body     string
	datasets string
	// jobs are the answers to questions for the import; the last one is given again.
	jobs      []string
	errorRows string
	preview   string
	refuse    map[string]int
	onPoll    func()
}

func serveImports(t *testing.T) *importServer {
	t.Helper()
	s := &importServer{datasets: `{"data": [{"id": "d1", "name": "faq"}]}`, refuse: map[string]int{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *importServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := r.Method + " " + r.URL.Path
	s.asked = append(s.asked, asked)
	if status := s.refuse[asked]; status != 0 {
		w.WriteHeader(status)
		code := map[int]string{http.StatusConflict: "import_finished"}[status]
		_, _ = io.WriteString(w, `{"title": "Refused", "detail": "It is refused.", "code": "`+code+`"}`)
		return
	}
	switch asked {
	case "GET /v1/me":
		_, _ = io.WriteString(w, `{"projects": [{"id": "p1"}]}`)
	case "GET /v1/datasets":
		s.query = r.URL.Query()
		_, _ = io.WriteString(w, s.datasets)
	case "POST /v1/datasets":
		body, _ := io.ReadAll(r.Body)
		s.body = string(body)
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"id": "d2", "name": "faq"}`)
	case "POST /v1/datasets/d1/imports", "POST /v1/datasets/d2/imports", "POST /v1/datasets/d1/imports/_actions/preview":
		body, _ := io.ReadAll(r.Body)
		s.query, s.headers, s.body = r.URL.Query(), r.Header, string(body)
		if strings.HasSuffix(asked, "preview") {
			_, _ = io.WriteString(w, s.preview)
			return
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, job(`"status": "queued"`))
	case "GET /v1/imports/i1":
		if s.onPoll != nil {
			s.onPoll()
		}
		_, _ = io.WriteString(w, s.jobs[0])
		if len(s.jobs) > 1 {
			s.jobs = s.jobs[1:]
		}
	case "POST /v1/imports/i1/_actions/cancel":
		_, _ = io.WriteString(w, job(`"status": "cancelled"`))
	case "GET /v1/imports/i1/errors":
		if r.URL.Query().Get("format") == "csv" {
			_, _ = io.WriteString(w, "line,column,reason,value\n7,score,is no number,x\n")
			return
		}
		s.query = r.URL.Query()
		_, _ = io.WriteString(w, s.errorRows)
	default:
		http.NotFound(w, r)
	}
}

func job(more string) string { return `{"id": "i1", ` + more + `}` }

const succeeded = `"status": "succeeded", "revision": 4, "added": 3, "updated": 2, "removed": 1, "unchanged": 0, "rejected": 0`

// importDatasets runs the command.
func importDatasets(ctx context.Context, t *testing.T, address, stdin string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	t.Setenv("LOOPTRACE_ENDPOINT", address)
	t.Setenv("LOOPTRACE_API_KEY", "lt_k.s")
	c := New() //nolint:contextcheck // ExecuteContext passes it
	var out, errs bytes.Buffer
	c.SetOut(&out)
	c.SetErr(&errs)
	c.SetIn(strings.NewReader(stdin))
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(append([]string{"datasets"}, args...))
	err = c.ExecuteContext(ctx)
	return out.String(), errs.String(), err
}

func writeFile(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func TestDatasetsAreImported(t *testing.T) {
	s := serveImports(t)
	s.jobs = []string{job(`"status": "running", "phase": "reading"`), job(succeeded)}
	file := writeFile(t, "faq.csv", "question\nWhy?\n")
	out, _, err := importDatasets(t.Context(), t, s.url, "", file)
	require.NoError(t, err)
	assert.Equal(t, "faq: revision 4, 3 added, 2 updated, 1 removed, 0 unchanged, 0 rejected\n", out)
	assert.Equal(t, []string{"GET /v1/me", "GET /v1/datasets", "POST /v1/datasets/d1/imports", "GET /v1/imports/i1", "GET /v1/imports/i1"}, s.asked)
	assert.Equal(t, url.Values{"file_name": {"faq.csv"}}, s.query, "defaults are the service's")
	assert.Equal(t, "text/csv", s.headers.Get("Content-Type"))
	assert.Equal(t, "14", s.headers.Get("Content-Length"))
	assert.Equal(t, "question\nWhy?\n", s.body)

	mapping := writeFile(t, "mapping.json", `{"shape": "columns"}`)
	_, _, err = importDatasets(t.Context(), t, s.url, "a;b", "-", "--dataset", "FAQ", "--project", "p2", "--mode", "replace", "--on-error", "skip", "--dedupe",
		"--mapping", "@"+mapping, "--max-removed", "0", "--note", "n", "--format", "csv", "--encoding", "utf-8", "--delimiter", `\t`, "--sheet", "S", "--no-header")
	require.NoError(t, err)
	assert.Equal(t, url.Values{
		"mode": {"replace"}, "on_error": {"skip"}, "dedupe": {"content"}, "mapping": {`{"shape": "columns"}`}, "max_removed": {"0"}, "note": {"n"},
		"format": {"csv"}, "encoding": {"utf-8"}, "delimiter": {"\t"}, "sheet": {"S"}, "header": {"false"},
	}, s.query)
	assert.Equal(t, "a;b", s.body)
}

func TestDatasetIsCreated(t *testing.T) {
	s := serveImports(t)
	s.datasets = `{"data": []}`
	s.jobs = []string{job(`"status": "succeeded", "revision": null, "added": 0, "updated": 0, "removed": 0, "unchanged": 7, "rejected": 0`)}
	file := writeFile(t, "faq.parquet", "PAR1")
	out, _, err := importDatasets(t.Context(), t, s.url, "", file)
	require.NoError(t, err)
	assert.Equal(t, "created the dataset faq\nfaq: no new revision, 0 added, 0 updated, 0 removed, 7 unchanged, 0 rejected\n", out)
	assert.Contains(t, s.asked, "POST /v1/datasets/d2/imports")
	assert.Equal(t, "application/vnd.apache.parquet", s.headers.Get("Content-Type"))

	_, _, err = importDatasets(t.Context(), t, s.url, "", file, "--dry-run")
	require.ErrorContains(t, err, "there is no dataset faq, and a dry run creates none")
}

func TestRejectedRowsAreListed(t *testing.T) {
	s := serveImports(t)
	s.jobs = []string{job(`"status": "failed", "rejected": 30, "errors_kept": 30, "error": {"code": "rows_rejected", "detail": "30 rows were rejected."}`)}
	s.errorRows = `{"data": [{"line": 7, "column": "sc\u001bore", "reason": "is no number", "value": "` + strings.Repeat("x", 400) + `"}, {"line": 9, "column": null, "reason": "has no input", "value": null}]}`
	file := writeFile(t, "faq.jsonl", "{}")
	listed := `rejected  line 7, column sc\x1bore: is no number (` + strings.Repeat("x", 299) + "…)\nrejected  line 9: has no input\n"
	out, _, err := importDatasets(t.Context(), t, s.url, "", file)
	require.EqualError(t, err, "the import failed: 30 rows were rejected.")
	assert.Equal(t, listed+"and 28 errors more: save them with --errors FILE.csv the next time, or read GET /v1/imports/i1/errors?format=csv now\n", out)
	assert.Equal(t, "20", s.query.Get("limit"))

	s.jobs = []string{job(succeeded + `, "rejected": 30, "errors_kept": 30`)}
	saved := filepath.Join(t.TempDir(), "errors.csv")
	out, _, err = importDatasets(t.Context(), t, s.url, "", file, "--on-error", "skip", "--errors", saved)
	require.NoError(t, err)
	assert.Equal(t, listed+"and 28 errors more, all in "+saved+"\nfaq: revision 4, 3 added, 2 updated, 1 removed, 0 unchanged, 30 rejected\n", out)
	content, err := os.ReadFile(saved)
	require.NoError(t, err)
	assert.Equal(t, "line,column,reason,value\n7,score,is no number,x\n", string(content))
}

func TestInterruptCancelsTheImport(t *testing.T) {
	file := writeFile(t, "faq.csv", "question\nWhy?\n")
	interrupted := func(s *importServer) (string, error) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.onPoll = cancel
		out, _, err := importDatasets(ctx, t, s.url, "", file)
		return out, err
	}
	s := serveImports(t)
	s.jobs = []string{job(`"status": "running", "phase": "reading"`)}
	_, err := interrupted(s)
	require.EqualError(t, err, "cancelled: nothing was imported")
	assert.Equal(t, "POST /v1/imports/i1/_actions/cancel", s.asked[len(s.asked)-1])

	// It had ended before.
	s = serveImports(t)
	s.refuse["POST /v1/imports/i1/_actions/cancel"] = http.StatusConflict
	s.jobs = []string{job(`"status": "running", "phase": "writing"`), job(succeeded)}
	out, err := interrupted(s)
	require.NoError(t, err)
	assert.Contains(t, out, "faq: revision 4, 3 added")

	s = serveImports(t)
	s.refuse["POST /v1/imports/i1/_actions/cancel"] = http.StatusForbidden
	s.jobs = []string{job(`"status": "running", "phase": "writing"`)}
	_, err = interrupted(s)
	require.EqualError(t, err, "interrupted, but the import i1 could not be cancelled and goes on: It is refused. (403 Forbidden)")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = importDatasets(ctx, t, serveImports(t).url, "", file)
	require.EqualError(t, err, "interrupted: nothing was imported")
}

func TestQuestionsAreRepeatedWhileThereIsNoAnswer(t *testing.T) {
	s := serveImports(t)
	s.jobs = []string{job(succeeded)}
	s.refuse["GET /v1/imports/i1"] = http.StatusServiceUnavailable
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			s.mu.Lock()
			enough := strings.Count(strings.Join(s.asked, "\n"), "GET /v1/imports/i1") > 1
			if enough {
				delete(s.refuse, "GET /v1/imports/i1")
			}
			s.mu.Unlock()
			if enough {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	out, _, err := importDatasets(t.Context(), t, s.url, "", writeFile(t, "faq.csv", "a\n1\n"))
	<-done
	require.NoError(t, err)
	assert.Contains(t, out, "faq: revision 4")

	s.refuse["GET /v1/imports/i1"] = http.StatusForbidden
	_, _, err = importDatasets(t.Context(), t, s.url, "", writeFile(t, "faq.csv", "a\n1\n"))
	require.EqualError(t, err, "the import i1 may go on, but what becomes of it is not known: It is refused. (403 Forbidden)")
}

const previewJSON = `{"format": "csv", "encoding": "utf-8", "delimiter": ";", "header": true, "sheet": null, "sheets": [],
	"mapping": {"shape":"columns","input":["question","a\u009bb\\n"]},
	"columns": [{"name": "question", "type": "text", "filled": 2, "kinds": {}, "examples": ["Why?"]}, {"name": "empty", "type": "text", "examples": []}],
	"rows": [{"line": 2, "values": {}, "item": {"input":{"question":"Why?"}}, "errors": []},
		{"line": 3, "values": {}, "item": null, "errors": [{"line": 3, "column": "score", "reason": "is no number", "value": "x"}]}],
	"rows_read": 2, "complete": true}`

func TestDryRunPrintsAPreview(t *testing.T) {
	s := serveImports(t)
	s.preview = previewJSON
	file := writeFile(t, "faq.csv", "question\nWhy?\n")
	out, _, err := importDatasets(t.Context(), t, s.url, "", file, "--dry-run", "--mode", "replace")
	require.EqualError(t, err, "rejected: 1")
	assert.Equal(t, `csv, utf-8, delimiter ";"
column    question, text, such as Why?
column    empty, text
mapping   {"shape":"columns","input":["question","a\u009bb\\n"]}
item      line 2: {"input":{"question":"Why?"}}
rejected  line 3, column score: is no number (x)
Nothing was imported. Of all 2 rows, 1 would be rejected.
`, out)
	assert.Equal(t, url.Values{"file_name": {"faq.csv"}}, s.query)
	_, _, err = importDatasets(t.Context(), t, s.url, "", file, "--dry-run", "--on-error", "skip")
	require.NoError(t, err)

	large := writeFile(t, "faq.csv", strings.Repeat("x", previewBytes+1))
	_, _, err = importDatasets(t.Context(), t, s.url, "", large, "--dry-run", "--on-error", "skip")
	require.NoError(t, err)
	assert.Equal(t, "true", s.query.Get("partial"))
	assert.Len(t, s.body, previewBytes)
}

func TestDatasetsSayWhatIsWrong(t *testing.T) {
	s := serveImports(t)
	full, empty := writeFile(t, "faq.csv", "a\n1\n"), writeFile(t, "empty.csv", "")
	for want, args := range map[string][]string{
		"name the dataset with --dataset": {"-"},
		"no such file":                    {"absent.csv"},
		"it is empty":                     {empty},
		"is a folder":                     {t.TempDir()},
		"--mapping is no JSON":            {full, "--mapping", "question"},
		"read --mapping":                  {full, "--mapping", "@absent"},
	} {
		_, _, err := importDatasets(t.Context(), t, s.url, "", args...)
		require.ErrorContains(t, err, want)
	}
	s.refuse["POST /v1/datasets/d1/imports"] = http.StatusUnprocessableEntity
	_, _, err := importDatasets(t.Context(), t, s.url, "", full)
	require.EqualError(t, err, "It is refused. (422 Unprocessable Entity)")
	_, _, err = importDatasets(t.Context(), t, "http://127.0.0.1:1", "", full)
	require.ErrorContains(t, err, "no Looptrace at http://127.0.0.1:1")
}

func TestProgress(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Unix(0, 0)
	p := newProgress(&out)
	p.now = func() time.Time { return now }
	p.next = now.Add(p.every)
	show := func(after time.Duration, text string) {
		now = now.Add(after)
		p.show(text)
	}
	show(0, "too soon")
	show(5*time.Second, "a")
	show(time.Second, "too soon again")
	show(5*time.Second, "a")
	show(0, "b")
	p.clear()
	assert.Equal(t, "a\nb\n", out.String(), "other outputs get lines")

	out.Reset()
	p.terminal = true
	show(5*time.Second, "c")
	show(5*time.Second, "d")
	p.clear()
	p.clear()
	assert.Equal(t, "\r\x1b[Kc\r\x1b[Kd\r\x1b[K", out.String(), "a terminal gets one line")

	assert.Equal(t, "0.5 of 2.0 MiB (25 %)", share(1<<19, 1<<21))
	assert.Equal(t, "0.5 MiB", share(1<<19, 0))
	reading, writing := "reading", "writing"
	for want, i := range map[string]imported{
		"waiting for the import to begin":                    {Status: "queued"},
		"reading: 1.0 of 2.0 MiB (50 %), 7 rows, 1 rejected": {Status: "running", Phase: &reading, BytesRead: 1 << 20, SizeBytes: 2 << 20, Processed: 7, Rejected: 1},
		"writing: 10000 rows, 0 rejected":                    {Status: "running", Phase: &writing, Processed: 10_000},
	} {
		assert.Equal(t, want, i.describe())
	}
}
