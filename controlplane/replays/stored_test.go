package replays_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

// TestDiffWaitsForTheRun compares an attempt whose run is stored late, never, or was deleted.
func TestDiffWaitsForTheRun(t *testing.T) {
	t.Parallel()
	l := newReplayLab(t)
	l.record(t, nil)
	id := l.FillReplay(t, l.as, l.run.String())
	path := "/v1/replays/" + id + "/diff"
	other, td := apitest.AgentTrace(apitest.OrderAgent)
	spans := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().Len()
	steps := strings.Repeat(`{"span_id":"a0"},`, spans)
	l.Exec(t, `UPDATE replay_attempts SET run_id = $2, details = $3 WHERE replay_id = $1`, id, other, `{"steps":[`+steps[:len(steps)-1]+`]}`)

	first, rest := ptrace.NewTraces(), ptrace.NewTraces()
	td.CopyTo(first)
	td.CopyTo(rest)
	n := 0
	first.ResourceSpans().At(0).ScopeSpans().At(0).Spans().RemoveIf(func(ptrace.Span) bool { n++; return n > 2 })
	n = 0
	rest.ResourceSpans().At(0).ScopeSpans().At(0).Spans().RemoveIf(func(ptrace.Span) bool { n++; return n <= 2 })
	l.send(first)
	began, answered := make(chan struct{}), make(chan *httptest.ResponseRecorder)
	go func() {
		close(began)
		answered <- l.Do(t, http.MethodGet, path+"?fold=false", nil, l.as)
	}()
	<-began
	l.send(rest)
	shown := apitest.Must[contract.ReplayDiff](t, <-answered, http.StatusOK)
	assert.Len(t, shown.Diff.Steps, spans, "all steps are compared")
	assert.Zero(t, shown.Diff.Counts.Removed)

	apitest.Must[contract.RunDeletion](t, l.Do(t, http.MethodPost, "/v1/runs/_actions/delete", map[string]any{"project_id": l.project, "run_ids": []uuid.UUID{other}}, l.as), http.StatusOK)
	assert.Equal(t, "run_deleted", apitest.WantProblem(t, l.Do(t, http.MethodGet, path, nil, l.as), http.StatusConflict).Code)

	l.Exec(t, `UPDATE replay_attempts SET run_id = $2 WHERE replay_id = $1`, id, uuid.New())
	assert.Equal(t, "run_not_stored", apitest.WantProblem(t, l.Do(t, http.MethodGet, path, nil, l.as), http.StatusConflict).Code)
}
