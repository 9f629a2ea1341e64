package failures_test

import (
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

// answered stores a run that ended well with an answer of the model, and returns its id. said is that of [runmodel.Span.Said].
func (s *scoredRuns) answered(t *testing.T, agent, said, reason string) uuid.UUID {
	t.Helper()
	id := uuid.New()
	step := func(span runmodel.Span) runmodel.Span {
		span.ProjectID, span.RunID, span.Version, span.Status, span.Dialect = s.project, id, 1, "ok", "native"
		span.StartTime, span.EndTime = s.started, s.started.Add(time.Second)
		return span
	}
	apitest.StoreSpans(t, s.address, []runmodel.Span{
		step(runmodel.Span{SpanID: 7, IsRun: true, Name: "support", Kind: "agent", AgentName: agent}),
		step(runmodel.Span{SpanID: 8, ParentSpanID: 7, Name: "chat", Kind: "llm", RequestModel: "m", Said: said, FinishReasons: []string{reason}}),
	})
	return id
}

func (s *scoredRuns) signalGroups(t *testing.T, query string) map[contract.FailureClass]contract.FailedRunGroup {
	t.Helper()
	groups := map[contract.FailureClass]contract.FailedRunGroup{}
	for _, group := range s.list(t, query).Data {
		groups[group.Class] = group
	}
	return groups
}

// TestSignalsAreGroups holds that runs with signals are groups of their own and that no signal makes a run a failed one.
func TestSignalsAreGroups(t *testing.T) {
	t.Parallel()
	s := newScoredRuns(t)
	cut, both := s.answered(t, "retail", "text", "length"), s.answered(t, "retail", "nothing", "length")
	good := s.answered(t, "retail", "text", "stop")
	other := s.answered(t, "airline", "text", "length")
	of := "?project_id=" + s.project.String()

	list := s.list(t, "")
	assert.EqualValues(t, 1, list.FailedRunCount, "the run with an error")
	assert.EqualValues(t, 3, list.SignalRunCount)
	assert.Equal(t, 4, list.GroupCount)
	assert.Len(t, s.signalGroups(t, "&groups=errors"), 1)
	groups := s.signalGroups(t, "&groups=signals&agent_name=retail")
	require.Len(t, groups, 2)
	empty, long := groups[contract.FailureClassEmptyAnswer], groups[contract.FailureClassCutAnswer]
	assert.EqualValues(t, 1, empty.Count)
	assert.EqualValues(t, 2, long.Count)
	assert.InDelta(t, 1, long.Share, 1e-9)
	assert.EqualValues(t, 3, long.AgentRunCount)
	assert.Equal(t, contract.FailingStep{Kind: "llm", Name: "chat"}, long.Step)
	assert.NotEqual(t, empty.Fingerprint, long.Fingerprint)
	assert.Equal(t, both, empty.Representative.RunId)
	assert.Equal(t, "0000000000000008", empty.Representative.SpanId)
	sample := []uuid.UUID{long.Representative.RunId}
	for _, run := range long.Sample {
		sample = append(sample, run.RunId)
	}
	assert.ElementsMatch(t, []uuid.UUID{cut, both}, sample)

	one := apitest.Must[contract.FailedRunsDetail](t, s.Do(t, http.MethodGet, "/v1/agent/failed-runs/"+long.Fingerprint+of, nil, s.key), http.StatusOK)
	assert.Equal(t, contract.FailureClassCutAnswer, one.Group.Class)
	for query, want := range map[string][]uuid.UUID{
		"&fingerprint=" + long.Fingerprint:       {cut, both},
		"&signal=cut_answer":                     {cut, both, other},
		"&signal=empty_answer":                   {both},
		"&signal=empty_answer&signal=cut_answer": {cut, both, other},
		"&signal=slow":                           nil,
	} {
		var got []uuid.UUID
		for _, run := range apitest.Must[contract.RunPage](t, s.Do(t, http.MethodGet, "/v1/runs"+of+query, nil, s.key), http.StatusOK).Data {
			got = append(got, run.RunId)
			assert.Equal(t, contract.OutcomeSucceeded, run.Outcome)
			assert.Nil(t, run.Failure)
		}
		assert.ElementsMatch(t, want, got, query)
	}
	run := apitest.Must[contract.Run](t, s.Do(t, http.MethodGet, "/v1/runs/"+both.String(), nil, s.key), http.StatusOK)
	require.Len(t, *run.Signals, 2)
	assert.Equal(t, contract.RunSignal{
		Signal: contract.SignalEmptyAnswer, Fingerprint: empty.Fingerprint, SpanId: "0000000000000008", Step: contract.SignalStep{Kind: "llm", Name: "chat"},
	}, (*run.Signals)[1])
	assert.Nil(t, apitest.Must[contract.Run](t, s.Do(t, http.MethodGet, "/v1/runs/"+good.String(), nil, s.key), http.StatusOK).Signals)

	// Groups are resolved as others are.
	state := "/v1/agent/failed-runs/" + empty.Fingerprint + "/state" + of
	apitest.Must[contract.FailureState](t, s.Do(t, http.MethodPut, state, `{"state":"resolved"}`, s.session), http.StatusOK)
	assert.NotContains(t, s.signalGroups(t, ""), contract.FailureClassEmptyAnswer)

	// A signal that is off is nowhere.
	path := "/v1/projects/" + s.project.String() + "/signals"
	set := apitest.Must[contract.ProjectSignals](t, s.Do(t, http.MethodPut, path, `{"off":["slow","cut_answer","slow"]}`, s.session), http.StatusOK)
	assert.Equal(t, []contract.Signal{contract.SignalCutAnswer, contract.SignalSlow}, set.Off)
	assert.Equal(t, set, apitest.Must[contract.ProjectSignals](t, s.Do(t, http.MethodGet, path, nil, s.key), http.StatusOK))
	assert.EqualValues(t, 1, s.list(t, "").SignalRunCount)
	assert.NotContains(t, s.signalGroups(t, "&state=all"), contract.FailureClassCutAnswer)
	assert.Empty(t, apitest.Must[contract.RunPage](t, s.Do(t, http.MethodGet, "/v1/runs"+of+"&signal=cut_answer", nil, s.key), http.StatusOK).Data)
	run = apitest.Must[contract.Run](t, s.Do(t, http.MethodGet, "/v1/runs/"+both.String(), nil, s.key), http.StatusOK)
	require.Len(t, *run.Signals, 1)
	apitest.WantProblem(t, s.Do(t, http.MethodPut, path, `{"off":["fast"]}`, s.session), http.StatusUnprocessableEntity)
}
