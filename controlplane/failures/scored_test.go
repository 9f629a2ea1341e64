package failures_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// scoredRuns is a project with runs that ended well, and scores of them.
type scoredRuns struct {
	*failureStates
	started time.Time
}

func newScoredRuns(t *testing.T) *scoredRuns {
	t.Helper()
	f := newFailureStates(t, "book")
	return &scoredRuns{f, f.Clock.Now().Add(-time.Hour)}
}

// run stores a run of an agent that ended well.
func (s *scoredRuns) run(t *testing.T, agent string) uuid.UUID {
	t.Helper()
	id := uuid.New()
	apitest.StoreSpans(t, s.address, []runmodel.Span{{
		ProjectID: s.project, RunID: id, SpanID: 7, Version: 1, IsRun: true, StartTime: s.started, EndTime: s.started.Add(time.Second), Name: "support", Kind: "agent",
		AgentName: agent, Status: "ok", Dialect: "native", SessionID: "tau",
	}})
	return id
}

// score writes a score of a run and returns its id.
func (s *scoredRuns) score(t *testing.T, run uuid.UUID, body string) string {
	t.Helper()
	s.Clock.Advance(time.Millisecond)
	path := "/v1/runs/" + run.String() + "/scores"
	return apitest.Must[contract.Score](t, s.Do(t, http.MethodPost, path, body, s.session), http.StatusCreated).Id.String()
}

// rules sets which scores fail the project's runs.
func (s *scoredRuns) rules(t *testing.T, list string) {
	t.Helper()
	path := "/v1/projects/" + s.project.String() + "/failed-scores"
	set := apitest.Must[contract.ProjectFailedScores](t, s.Do(t, http.MethodPut, path, `{"scores":`+list+`}`, s.session), http.StatusOK)
	assert.Equal(t, set, apitest.Must[contract.ProjectFailedScores](t, s.Do(t, http.MethodGet, path, nil, s.key), http.StatusOK))
}

// failed returns the runs that the list says failed, and holds that all that count failed runs agree with it.
func (s *scoredRuns) failed(t *testing.T) map[uuid.UUID]contract.Run {
	t.Helper()
	of := "?project_id=" + s.project.String()
	failed := map[uuid.UUID]contract.Run{}
	for _, run := range apitest.Must[contract.RunPage](t, s.Do(t, http.MethodGet, "/v1/runs"+of+"&outcome=failed", nil, s.key), http.StatusOK).Data {
		failed[run.RunId] = run
	}
	for _, run := range apitest.Must[contract.RunPage](t, s.Do(t, http.MethodGet, "/v1/runs"+of, nil, s.key), http.StatusOK).Data {
		listed, ok := failed[run.RunId]
		assert.Equal(t, ok, run.Outcome == contract.OutcomeFailed)
		alone := apitest.Must[contract.Run](t, s.Do(t, http.MethodGet, "/v1/runs/"+run.RunId.String(), nil, s.key), http.StatusOK)
		assert.Equal(t, run.Outcome, alone.Outcome)
		assert.Equal(t, run.FailedScores, alone.FailedScores)
		assert.Equal(t, run.Failure, alone.Failure)
		if ok {
			assert.Equal(t, listed.Failure, run.Failure)
			inGroup := apitest.Must[contract.RunPage](t, s.Do(t, http.MethodGet, "/v1/runs"+of+"&fingerprint="+run.Failure.Fingerprint, nil, s.key), http.StatusOK).Data
			ids := []uuid.UUID{}
			for _, other := range inGroup {
				ids = append(ids, other.RunId)
				assert.Equal(t, run.Failure.Fingerprint, other.Failure.Fingerprint)
			}
			assert.Contains(t, ids, run.RunId)
		}
	}
	groups := s.list(t, "")
	assert.EqualValues(t, len(failed), groups.FailedRunCount)
	grouped := 0
	for _, group := range groups.Data {
		grouped += int(group.Count)
		for _, run := range append(group.Sample, group.Representative) {
			require.Contains(t, failed, run.RunId)
			assert.Equal(t, group.Fingerprint, failed[run.RunId].Failure.Fingerprint)
			assert.Equal(t, group.Step, failed[run.RunId].Failure.Step)
		}
	}
	assert.Len(t, failed, grouped)
	stats := apitest.Must[contract.RunStats](t, s.Do(t, http.MethodGet, "/v1/runs/stats"+of+"&group_by=agent_name", nil, s.key), http.StatusOK)
	assert.EqualValues(t, len(failed), stats.Total.ErrorCount)
	inGroups := 0
	for _, group := range stats.Groups {
		inGroups += int(group.Totals.ErrorCount)
	}
	assert.Equal(t, len(failed), inGroups)
	scored := 0
	for _, run := range failed {
		if run.SessionId != nil {
			scored++
		}
	}
	for _, thread := range apitest.Must[contract.ThreadPage](t, s.Do(t, http.MethodGet, "/v1/threads"+of, nil, s.key), http.StatusOK).Data {
		assert.EqualValues(t, scored, thread.ErrorCount)
	}
	return failed
}

// TestRunsFailedByScores holds that one rule decides which runs a score fails, in lists, statistics, threads and groups.
func TestRunsFailedByScores(t *testing.T) {
	t.Parallel()
	s := newScoredRuns(t)
	one, two, other := s.run(t, "retail"), s.run(t, "retail"), s.run(t, "airline")
	require.Len(t, s.failed(t), 1, "the run with an error")

	// By default false fails a run, and no number or category does.
	s.score(t, one, `{"name":"reward","value":0}`)
	s.score(t, one, `{"name":"verdict","value":"wrong"}`)
	s.score(t, one, `{"name":"solved","value":false,"span_id":"0000000000000007"}`)
	require.Len(t, s.failed(t), 1, "a score of a span is not of the run")
	solved := s.score(t, one, `{"name":"solved","value":false}`)
	failed := s.failed(t)
	require.Len(t, failed, 2)
	run := failed[one]
	assert.Equal(t, contract.StatusOk, run.Status, "what was sent")
	assert.Equal(t, &[]contract.FailedScore{{Name: "solved", Value: false}}, run.FailedScores)
	assert.Equal(t, contract.Failure{
		Fingerprint: run.Failure.Fingerprint, Class: contract.FailureClassScored, SpanId: "0000000000000007",
		Step: contract.FailingStep{Kind: "score", Name: "solved"}, MessageTemplate: "scored as failed",
	}, *run.Failure)

	// The newest score counts, and a deleted one does not.
	right := s.score(t, one, `{"name":"solved","value":true}`)
	require.Len(t, s.failed(t), 1)
	for i, id := range []string{right, solved} {
		w := s.Do(t, http.MethodDelete, "/v1/runs/"+one.String()+"/scores/"+id, nil, s.session)
		require.Equal(t, http.StatusNoContent, w.Code, w.Body)
		require.Len(t, s.failed(t), 2-i)
	}

	// Numbers below a bound, categories, and true.
	s.rules(t, `[{"name":"reward","when":"below","bound":1},{"name":"verdict","when":"categories","categories":["wrong","worse"]},{"name":"toxic","when":"true"}]`)
	failed = s.failed(t)
	require.Len(t, failed, 2)
	assert.Equal(t, &[]contract.FailedScore{{Name: "reward", Value: 0.0}, {Name: "verdict", Value: "wrong"}}, failed[one].FailedScores)
	s.score(t, two, `{"name":"reward","value":0.5}`)
	s.score(t, other, `{"name":"reward","value":1}`)
	s.score(t, other, `{"name":"toxic","value":false}`)
	failed = s.failed(t)
	require.Len(t, failed, 3)
	assert.Equal(t, failed[one].Failure.Fingerprint, failed[two].Failure.Fingerprint, "one score, one agent")
	s.score(t, other, `{"name":"reward","value":0}`)
	failed = s.failed(t)
	require.Len(t, failed, 4)
	assert.NotEqual(t, failed[one].Failure.Fingerprint, failed[other].Failure.Fingerprint, "another agent")

	// A group of a score is resolved as others are, and opens again.
	group := failed[one].Failure.Fingerprint
	path := "/v1/agent/failed-runs/" + group + "/state?project_id=" + s.project.String()
	state := apitest.Must[contract.FailureState](t, s.Do(t, http.MethodPut, path, `{"state":"resolved"}`, s.session), http.StatusOK)
	assert.Equal(t, contract.FailureStateNameResolved, state.State)
	assert.Len(t, s.list(t, "").Data, 2)
	s.Clock.Advance(time.Minute)
	s.started = s.Clock.Now()
	s.Clock.Advance(time.Minute)
	again := s.run(t, "retail")
	s.score(t, again, `{"name":"reward","value":0}`)
	for _, found := range s.list(t, "").Data {
		if found.Fingerprint == group {
			require.NotNil(t, found.State.Regression)
			assert.Equal(t, again, found.State.Regression.RunId)
			assert.EqualValues(t, 3, found.Count)
		}
	}

	// Never.
	s.rules(t, `[{"name":"reward","when":"never"},{"name":"verdict","when":"never"}]`)
	require.Len(t, s.failed(t), 2, "toxic is no longer defined, and false")
	s.rules(t, `[{"name":"reward","when":"never"},{"name":"verdict","when":"never"},{"name":"toxic","when":"never"}]`)
	require.Len(t, s.failed(t), 1)
}

func TestRefusedFailedScores(t *testing.T) {
	t.Parallel()
	s := newScoredRuns(t)
	path := "/v1/projects/" + s.project.String() + "/failed-scores"
	for rules, location := range map[string]string{
		`{"name":"a","when":"below"}`:                                   "body.scores[0].bound",
		`{"name":"a","when":"never","bound":1}`:                         "body.scores[0].bound",
		`{"name":"a","when":"categories"}`:                              "body.scores[0].categories",
		`{"name":"a","when":"true","categories":["b"]}`:                 "body.scores[0].categories",
		`{"name":"a","when":"never"},{"name":"a","when":"true"}`:        "body.scores[1].name",
		`{"name":"a\u0000","when":"never"}`:                             "body.scores[0].name",
		`{"name":"a","when":"categories","categories":["b","\u0000c"]}`: "body.scores[0].categories[1]",
	} {
		w := s.Do(t, http.MethodPut, path, fmt.Sprintf(`{"scores":[%s]}`, rules), s.session)
		require.Equal(t, http.StatusUnprocessableEntity, w.Code, w.Body)
		assert.Contains(t, apitest.Locations(t, w), location)
	}
}
