package apitest

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/problem"
)

func init() {
	// The tests of a package may have the flag, too. They are initialized before: this package imports what they test.
	if flag.Lookup("update") == nil {
		flag.Bool("update", false, "write the golden files anew")
	}
}

// Updating tells that golden files are to be written anew.
func Updating() bool { return flag.Lookup("update").Value.String() == "true" }

// Must returns the body of an answer whose status is known.
func Must[T any](t *testing.T, w *httptest.ResponseRecorder, status int) T {
	t.Helper()
	require.Equal(t, status, w.Code, w.Body.String())
	var v T
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &v))
	return v
}

// WantProblem returns the problem of an answer that must be one.
func WantProblem(t *testing.T, w *httptest.ResponseRecorder, status int) contract.Problem {
	t.Helper()
	require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"), w.Body.String())
	return Must[contract.Problem](t, w, status)
}

var requestIDText = regexp.MustCompile(`"request_id":"[0-9a-f-]{36}"`)

// Golden compares an answer, its request id left out, with testdata/NAME.golden.
func Golden(t *testing.T, name string, w *httptest.ResponseRecorder) {
	t.Helper()
	var got strings.Builder
	fmt.Fprintf(&got, "%d %s\n", w.Code, http.StatusText(w.Code))
	for _, h := range []string{"Content-Type", "Allow", "Retry-After", "Www-Authenticate"} {
		if v := w.Header().Get(h); v != "" {
			fmt.Fprintf(&got, "%s: %s\n", h, v)
		}
	}
	got.WriteString("\n" + requestIDText.ReplaceAllString(w.Body.String(), `"request_id":"REQUEST_ID"`))
	file := filepath.Join("testdata", name+".golden")
	if Updating() {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got.String()), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), got.String())
}

// CodeOf returns the code of a problem.
func CodeOf(t *testing.T, w *httptest.ResponseRecorder, status int) string {
	t.Helper()
	return WantProblem(t, w, status).Code
}

// Locations returns where the answer says that the request is wrong, in order.
func Locations(t *testing.T, w *httptest.ResponseRecorder) []string {
	t.Helper()
	got := WantProblem(t, w, http.StatusUnprocessableEntity)
	require.NotNil(t, got.Errors)
	var list []string
	for _, e := range *got.Errors {
		list = append(list, e.Location)
	}
	slices.Sort(list)
	return list
}

// Refusal is the errors of an answer that says what is wrong with a request.
func Refusal(t *testing.T, e *Env, method, target string, body any, options ...Option) []problem.Field {
	t.Helper()
	w := e.Do(t, method, target, body, options...)
	require.Equal(t, http.StatusUnprocessableEntity, w.Code, "%s: %s", target, w.Body)
	var problem struct {
		Errors []problem.Field `json:"errors"`
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &problem))
	require.NotEmpty(t, problem.Errors, target)
	return problem.Errors
}

// WithoutRequestID returns the body of an answer, its request id left out.
func WithoutRequestID(w *httptest.ResponseRecorder) string {
	return requestIDText.ReplaceAllString(w.Body.String(), "")
}
