package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// product answers like the product. reads counts the reads.
func product(t *testing.T, ingest int, read func(looks int64, w http.ResponseWriter, r *http.Request)) *Probe {
	t.Helper()
	var looks atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "Bearer secret", r.Header.Get("Authorization"))
		var sent struct{ Runs []map[string]any }
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&sent))
		assert.Len(t, sent.Runs, 1)
		for _, field := range []string{"name", "environment", "session_id"} {
			assert.Equal(t, Name, sent.Runs[0][field])
		}
		w.WriteHeader(ingest)
		_, _ = io.WriteString(w, `{"code":"queue_unavailable"}`)
	})
	mux.HandleFunc("GET /v1/runs/{id}", func(w http.ResponseWriter, r *http.Request) { read(looks.Add(1), w, r) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	p := New(Config{Ingest: server.URL, API: server.URL, Key: "secret"})
	p.lostAfter = 300 * time.Millisecond
	return p
}

func TestStages(t *testing.T) {
	t.Parallel()
	answers := func(status int) func(int64, http.ResponseWriter, *http.Request) {
		return func(_ int64, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
	}
	for _, c := range []struct {
		name   string
		ingest int
		read   func(int64, http.ResponseWriter, *http.Request)
		stage  string
		text   string
	}{
		{name: "visible", ingest: 202, read: func(looks int64, w http.ResponseWriter, _ *http.Request) {
			if looks < 4 {
				w.WriteHeader(http.StatusNotFound)
			}
		}},
		{name: "not accepted", ingest: 503, read: answers(200), stage: StageIngest, text: "was not accepted: ingest answers 503 queue_unavailable"},
		{name: "lost", ingest: 202, read: answers(404), stage: StageVisible, text: "was accepted and is not visible after 300ms"},
		{name: "unreadable", ingest: 202, read: answers(500), stage: StageRead, text: "could not be read within 300ms: the API answers 500"},
		{name: "hangs", ingest: 202, read: func(_ int64, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, stage: StageRead, text: "the API does not answer"},
		{name: "hangs after it said no", ingest: 202, read: func(looks int64, w http.ResponseWriter, r *http.Request) {
			if looks == 1 {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			<-r.Context().Done()
		}, stage: StageVisible, text: "is not visible"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			result, err := product(t, c.ingest, c.read).Once(t.Context())
			if c.stage == "" {
				require.NoError(t, err)
				assert.Positive(t, result.Accepted)
				assert.Greater(t, result.Visible, 3*minPause)
				return
			}
			var failure *FailedError
			require.ErrorAs(t, err, &failure)
			assert.Equal(t, c.stage, failure.Stage)
			require.ErrorContains(t, err, c.text)
			assert.NotContains(t, err.Error(), "secret")
		})
	}
	_, err := New(Config{Ingest: "http://127.0.0.1:1"}).Once(t.Context())
	var failure *FailedError
	require.ErrorAs(t, err, &failure)
	assert.Equal(t, StageIngest, failure.Stage)
}

// A stopped probe has no result.
func TestStopIsNoFailure(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	p := product(t, 202, func(_ int64, w http.ResponseWriter, _ *http.Request) {
		stop()
		w.WriteHeader(http.StatusNotFound)
	})
	m := NewMetrics()
	p.Run(ctx, time.Hour, m, slog.New(slog.DiscardHandler))
	assert.NotRegexp(t, `(?m)^looptrace_probe_failures_total\{.*\} [^0]`, text(t, m))
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	m := NewMetrics()
	m.note(Result{Accepted: 5 * time.Millisecond, Visible: 250 * time.Millisecond}, nil)
	m.note(Result{}, &FailedError{Stage: StageIngest, Err: errors.New("refused")})
	m.note(Result{Accepted: time.Millisecond}, fmt.Errorf("wrapped: %w", &FailedError{Stage: StageVisible, Err: errors.New("lost")}))
	got := text(t, m)
	for _, line := range []string{
		`looptrace_probe_visible_seconds_bucket{le="0.2"} 0`, `looptrace_probe_visible_seconds_bucket{le="0.3"} 1`,
		`looptrace_probe_visible_seconds_count 1`, `looptrace_probe_accepted_seconds_count 2`,
		`looptrace_probe_failures_total{stage="ingest"} 1`, `looptrace_probe_failures_total{stage="visible"} 1`,
		`looptrace_probe_failures_total{stage="read"} 0`,
	} {
		assert.Contains(t, got, line+"\n")
	}
}

func text(t *testing.T, m *Metrics) string {
	t.Helper()
	recorder := httptest.NewRecorder()
	m.Handler().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, recorder.Code)
	return strings.ReplaceAll(recorder.Body.String(), "\r", "")
}
