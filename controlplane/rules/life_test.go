package rules_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/provider"
)

// storeRuns stores runs of one span that end in the session support.
func (r *ruling) storeRuns(t *testing.T, n int) []uuid.UUID {
	t.Helper()
	ids, rows := make([]uuid.UUID, n), make([][]runmodel.Span, n)
	now := time.Now().UTC()
	for i := range rows {
		ids[i] = uuid.New()
		rows[i] = []runmodel.Span{{
			ProjectID: r.project, RunID: ids[i], SpanID: 1, Version: uint64(now.UnixNano()), StartTime: now, EndTime: now.Add(time.Second), Name: "agent", Kind: "agent", IsRun: true,
			Status: runmodel.StatusOK, SessionID: "support", Inputs: fmt.Sprintf("number %d", i), Outputs: fmt.Sprintf("number %d", i),
		}}
	}
	apitest.StoreSpans(t, r.address, rows...)
	return ids
}

// TestRuleSamples takes a share of runs, which ClickHouse's hash decides.
func TestRuleSamples(t *testing.T) {
	t.Parallel()
	r := newRuling(t, passing)
	rule := r.rule(t, `,"sample_rate":0.25,"graders":[`+apitest.NumberedGrader+`]`)
	ids := r.storeRuns(t, 2000)
	r.find(t)
	inSample := map[uuid.UUID]bool{}
	conn, err := clickhouse.Open(r.address)
	require.NoError(t, err)
	defer conn.Close()
	rows, err := conn.Query(t.Context(), "SELECT DISTINCT run_id FROM runs WHERE sipHash64(toUUID(?), run_id) / exp2(64) < 0.25", rule.Id)
	require.NoError(t, err)
	for rows.Next() {
		var id uuid.UUID
		require.NoError(t, rows.Scan(&id))
		inSample[id] = true
	}
	require.NoError(t, rows.Close())
	assert.InDelta(t, 500, len(inSample), 100, "five standard deviations")
	assert.EqualValues(t, len(inSample), r.counts(t, rule.Id).Pending)
	taken := r.taken(t, rule.Id, "")
	for id := range taken {
		assert.True(t, inSample[id])
	}

	// A greater share has the same runs, and more of those that come. What was looked at is not taken again.
	changed := apitest.Must[contract.EvalRule](t, r.Do(t, http.MethodPatch, "/v1/eval-rules/"+rule.Id.String(), `{"sample_rate":1}`, r.as), http.StatusOK)
	assert.Equal(t, 1, changed.Version, "the same is scored")
	before := r.counts(t, rule.Id).Taken
	later := r.storeRuns(t, 20)
	r.pass(t, rule)
	all := r.counts(t, rule.Id)
	assert.Equal(t, 20, r.Count(t, "SELECT count(*) FROM eval_rule_runs WHERE status = 'scored' AND run_id = ANY($1)", later))
	assert.GreaterOrEqual(t, all.Taken, before+20)
	assert.LessOrEqual(t, all.Taken, int64(len(ids)+20))
	assert.Zero(t, all.Pending)
	assert.Zero(t, all.CostUsd)
}

// TestRuleBudget has money for some runs of a day, and two workers that share it.
func TestRuleBudget(t *testing.T) {
	t.Parallel()
	r := newRuling(t, func(q *provider.Request, n int) *provider.Reply {
		reply := passing(q, n)
		reply.Usage = &provider.Usage{Input: 400, Output: 100} // $0.0014
		return reply
	})
	const most = 0.02
	rule := r.rule(t, strings.Replace(r.panels("judge-1"), `"max_cost_usd_per_day":5`, fmt.Sprintf(`"max_cost_usd_per_day":%v`, most), 1))
	for n := range 30 {
		r.ended(t, n, nil)
	}
	r.find(t)
	for range 12 { // what others hold comes back
		var workers sync.WaitGroup
		for range 2 {
			workers.Go(func() { assert.NoError(t, r.Rules.Score(t.Context(), rule.Id)) })
		}
		workers.Wait()
		r.Clock.Advance(11 * time.Second)
	}
	counts := r.counts(t, rule.Id)
	assert.EqualValues(t, 30, counts.Taken)
	assert.Zero(t, counts.Pending)
	assert.Positive(t, counts.Scored)
	assert.Positive(t, counts.OverBudget)
	assert.LessOrEqual(t, counts.CostUsd, most)
	assert.EqualValues(t, counts.Scored, r.asked(), "no run was judged by both")
	over := r.taken(t, rule.Id, "&status=over_budget")
	require.Len(t, over, int(counts.OverBudget))
	for id, run := range over {
		assert.Equal(t, "over_budget", run.Error.Code)
		assert.Empty(t, r.scoresOf(t, id))
	}

	// The next day has its own money.
	r.Clock.Advance(24 * time.Hour)
	r.as = apitest.Cookie(r.LoginAs(t, apitest.Email)) // sessions end
	r.ended(t, 31, nil)
	r.pass(t, rule)
	after := r.counts(t, rule.Id)
	assert.Equal(t, counts.Scored+1, after.Scored)
	assert.Equal(t, counts.OverBudget, after.OverBudget)
	assert.Len(t, r.get(t, rule.Id).Days, 2)
}

// TestRuleStops refuses the key of the connection, deletes the connection, uses its budget up, and spoils the filter.
func TestRuleStops(t *testing.T) {
	t.Parallel()
	var refuse atomic.Bool
	r := newRuling(t, func(q *provider.Request, n int) *provider.Reply {
		if refuse.Load() {
			return &provider.Reply{Error: &provider.Error{Status: 401, Type: "invalid_request_error", Code: "invalid_api_key", Message: "Incorrect API key provided."}}
		}
		return passing(q, n)
	})
	rule := r.rule(t, r.panels("judge-1"))
	path := "/v1/eval-rules/" + rule.Id.String()
	resume := func(body string) contract.EvalRule {
		t.Helper()
		return apitest.Must[contract.EvalRule](t, r.Do(t, http.MethodPost, path+"/_actions/resume", body, r.as), http.StatusOK)
	}
	refuse.Store(true)
	for n := range 5 {
		r.ended(t, n, nil)
	}
	r.pass(t, rule)
	assert.Equal(t, contract.Active, r.get(t, rule.Id).Status, "five are not ten")
	refuse.Store(false)
	r.ended(t, 5, nil)
	r.pass(t, rule)
	refuse.Store(true)
	for n := range 9 {
		r.ended(t, 10+n, nil)
	}
	r.pass(t, rule)
	assert.Equal(t, contract.Active, r.get(t, rule.Id).Status, "one good vote resets the count")
	r.ended(t, 19, nil)
	r.pass(t, rule)
	stopped := r.get(t, rule.Id)
	require.Equal(t, contract.Stopped, stopped.Status)
	assert.Equal(t, "provider_key_refused", stopped.Stop.Code)
	assert.Contains(t, stopped.Stop.Detail, `The judge "judge-1" failed 10 times in a row`)
	assert.Contains(t, stopped.Stop.Remedy, "Enter a valid API key")
	require.NotEmpty(t, stopped.RecentErrors)
	assert.Equal(t, "provider_key_refused", stopped.RecentErrors[0].Code)
	counts := r.counts(t, rule.Id)
	assert.EqualValues(t, 15, counts.Failed)
	assert.EqualValues(t, 1, counts.Scored)
	assert.Zero(t, counts.UnknownCostRuns, "a refused call costs nothing")
	for _, run := range r.taken(t, rule.Id, "&status=failed") {
		assert.InDelta(t, 0, *run.CostUsd, 0)
		assert.InDelta(t, 0, *run.Votes[0].CostUsd, 0)
	}
	assert.Len(t, apitest.Must[contract.EvalRulePage](t, r.Do(t, http.MethodGet, "/v1/eval-rules?status=stopped", nil, r.as), http.StatusOK).Data, 1)

	// Runs that end while it is stopped are taken after.
	missed := r.ended(t, 20, nil)
	r.pass(t, rule)
	assert.NotContains(t, r.taken(t, rule.Id, ""), missed)
	refuse.Store(false)
	assert.Equal(t, contract.Active, resume(`{}`).Status)
	assert.Equal(t, contract.Active, resume(`{}`).Status, "again")
	r.pass(t, rule)
	assert.Equal(t, contract.EvalRuleRunStatusScored, r.taken(t, rule.Id, "")[missed].Status)

	// Without catching up, they are not.
	apitest.Must[contract.EvalRule](t, r.Do(t, http.MethodPost, path+"/_actions/pause", nil, r.as), http.StatusOK)
	lost := r.ended(t, 21, nil)
	r.find(t)
	r.Clock.Advance(time.Since(r.Clock.Now())) // the time at which rows are written
	resume(`{"catch_up":false}`)
	found := r.ended(t, 22, nil)
	r.pass(t, rule)
	assert.NotContains(t, r.taken(t, rule.Id, ""), lost)
	assert.Contains(t, r.taken(t, rule.Id, ""), found)

	// A filter that an earlier release allowed.
	r.Exec(t, "UPDATE eval_rules SET run_filter = 'colour=red' WHERE id = $1", rule.Id)
	r.find(t)
	stopped = r.get(t, rule.Id)
	assert.Equal(t, "run_filter_invalid", stopped.Stop.Code)
	assert.Contains(t, stopped.Stop.Detail, "colour")
	apitest.Must[contract.EvalRule](t, r.Do(t, http.MethodPatch, path, `{"run_filter":"session_id=support"}`, r.as), http.StatusOK)
	assert.Equal(t, 2, resume(`{}`).Version)

	// The connection's own budget.
	budget := func(amount string) {
		apitest.Must[contract.Provider](t, r.Do(t, http.MethodPatch, "/v1/providers/"+r.made.Id.String(), `{"monthly_budget_usd":`+amount+`}`, r.as), http.StatusOK)
	}
	budget("0.000001")
	waiting := r.ended(t, 24, nil)
	r.pass(t, rule)
	stopped = r.get(t, rule.Id)
	require.Equal(t, contract.Stopped, stopped.Status)
	assert.Equal(t, "budget_exceeded", stopped.Stop.Code)
	assert.Equal(t, contract.EvalRuleRunStatusPending, r.taken(t, rule.Id, "")[waiting].Status)
	budget("null")
	resume(`{}`)
	r.pass(t, rule)
	assert.Equal(t, contract.EvalRuleRunStatusScored, r.taken(t, rule.Id, "")[waiting].Status)

	// The connection is deleted.
	require.Equal(t, http.StatusNoContent, r.Do(t, http.MethodDelete, "/v1/providers/"+r.made.Id.String(), nil, r.as).Code)
	orphan := r.ended(t, 26, nil)
	r.pass(t, rule)
	stopped = r.get(t, rule.Id)
	require.Equal(t, contract.Stopped, stopped.Status)
	assert.Equal(t, "provider_deleted", stopped.Stop.Code)
	assert.Contains(t, stopped.Stop.Detail, "was deleted")
	apitest.Must[contract.EvalRule](t, r.Do(t, http.MethodPatch, path, `{"name":"still"}`, r.as), http.StatusOK)
	other := r.Connect(t, r.as, r.project, "openai", r.server, "")
	fixed := apitest.Must[contract.EvalRule](t, r.Do(t, http.MethodPatch, path, `{"panels":[`+apitest.PanelJSON("right", other.Id, apitest.BinaryScale, "judge-1")+`]}`, r.as), http.StatusOK)
	assert.Equal(t, 3, fixed.Version)
	resume(`{}`)
	r.pass(t, rule)
	assert.Equal(t, contract.EvalRuleRunStatusScored, r.taken(t, rule.Id, "")[orphan].Status)
	assert.Equal(t, 3, r.taken(t, rule.Id, "")[orphan].Version)
}

// TestRuleWithFaultyJudges has judges that answer with prose, refuse, miss the scale, or fail. The counts add up, and no failure is a number.
func TestRuleWithFaultyJudges(t *testing.T) {
	t.Parallel()
	var healed atomic.Bool
	r := newRuling(t, func(q *provider.Request, n int) *provider.Reply {
		if q.Model == "judge-2" {
			return apitest.Voted("pass")
		}
		switch {
		case n == 0:
			return &provider.Reply{Text: "I would say that it is fine."}
		case n == 1:
			return &provider.Reply{Refusal: "I cannot judge this."}
		case n == 2:
			return apitest.Voted("perhaps")
		case healed.Load():
			return apitest.Voted("pass")
		case n == 3:
			return &provider.Reply{Error: &provider.Error{Status: 429, Type: "rate_limit_error", Message: "Slow down."}}
		case n == 4:
			return &provider.Reply{Error: &provider.Error{Status: 503, Type: "server_error", Message: "Overloaded."}}
		}
		return apitest.Voted("pass")
	})
	one := r.rule(t, r.panels("judge-1")+`,"graders":[`+apitest.NumberedGrader+`]`)
	two := apitest.Must[contract.EvalRule](t, r.Do(t, http.MethodPost, "/v1/eval-rules", strings.Replace(r.body(r.panels("judge-1")), "support is right", "judges alone", 1), r.as), http.StatusCreated)
	ids := map[int]uuid.UUID{}
	for n := range 6 {
		ids[n] = r.ended(t, n, nil)
	}
	r.pass(t, one, two)
	for n, code := range map[int]string{0: "parse_error", 1: "refused", 2: "off_scale"} {
		partly, failed := r.taken(t, one.Id, "")[ids[n]], r.taken(t, two.Id, "")[ids[n]]
		assert.Equal(t, contract.EvalRuleRunStatusPartlyScored, partly.Status)
		assert.Equal(t, contract.EvalRuleRunStatusFailed, failed.Status)
		assert.Equal(t, code, failed.Error.Code)
		assert.Equal(t, code, partly.Error.Code)
		assert.Nil(t, failed.Scores[0].Score)
		assert.Nil(t, failed.Scores[0].Pass)
		scores := r.scoresOf(t, ids[n])
		require.Len(t, scores, 1, "of the grader")
		assert.Equal(t, "numbered", scores[0].Name)
	}
	for n, code := range map[int]string{3: "provider_rate_limited", 4: "provider_overloaded"} {
		waiting := r.taken(t, one.Id, "")[ids[n]]
		assert.Equal(t, contract.EvalRuleRunStatusPending, waiting.Status)
		assert.Equal(t, code, waiting.Error.Code)
		assert.Equal(t, 1, waiting.Attempts)
		assert.Empty(t, r.scoresOf(t, ids[n]))
	}
	counts := r.counts(t, one.Id)
	assert.EqualValues(t, 3, counts.PartlyScored)
	assert.EqualValues(t, 2, counts.Pending)
	assert.EqualValues(t, 1, counts.Scored)

	// What fails longer than half an hour has failed. The other rule's judge recovers.
	for _, wait := range []time.Duration{61 * time.Second, 5 * time.Minute, 31 * time.Minute} {
		r.Clock.Advance(wait)
		require.NoError(t, r.Rules.Score(t.Context(), one.Id))
	}
	failing := r.taken(t, one.Id, "")[ids[3]]
	assert.Equal(t, contract.EvalRuleRunStatusPartlyScored, failing.Status)
	assert.Equal(t, 4, failing.Attempts)
	healed.Store(true)
	require.NoError(t, r.Rules.Score(t.Context(), two.Id))
	assert.Equal(t, contract.EvalRuleRunStatusScored, r.taken(t, two.Id, "")[ids[3]].Status)
	assert.Nil(t, r.taken(t, two.Id, "")[ids[3]].Error)
	for _, id := range []uuid.UUID{one.Id, two.Id} {
		assert.Zero(t, r.counts(t, id).Pending)
		assert.EqualValues(t, 6, r.counts(t, id).Taken)
	}

	// Two rules with a score of the same name stay apart.
	names := map[string]int{}
	for _, score := range r.scoresOf(t, ids[5]) {
		names[score.Author.Name+"/"+score.Name]++
	}
	assert.Equal(t, map[string]int{"support is right/right": 1, "support is right/numbered": 1, "judges alone/right": 1}, names)
	day := r.get(t, two.Id).Days[0]
	assert.InDelta(t, 1, *day.Scores[0].Mean, 1e-9, "no failure is a 0")
	assert.EqualValues(t, 3, day.Scores[0].N)
}

// TestRuleKeepsPaidVotes loses the database after votes were made. No vote is made again, and no score is doubled.
func TestRuleKeepsPaidVotes(t *testing.T) {
	t.Parallel()
	r := newRuling(t, passing)
	rule := r.rule(t, r.panels("judge-1", "judge-2", "judge-3"))
	var ids []uuid.UUID
	for n := range 4 {
		ids = append(ids, r.ended(t, n, nil))
	}
	r.find(t)
	r.Exec(t, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$`)
	r.Exec(t, `CREATE TRIGGER refuse BEFORE INSERT ON eval_rule_scores EXECUTE FUNCTION refuse()`)
	require.NoError(t, r.Rules.Score(t.Context(), rule.Id))
	assert.Equal(t, 12, r.asked())
	assert.EqualValues(t, 4, r.counts(t, rule.Id).Pending)
	assert.Len(t, r.scoresOf(t, ids[0]), 1, "it was written before")
	require.NoError(t, r.Rules.Score(t.Context(), rule.Id))
	assert.Equal(t, 12, r.asked(), "the lease has not ended")
	r.Exec(t, `DROP TRIGGER refuse ON eval_rule_scores`)
	r.Clock.Advance(61 * time.Second)
	require.NoError(t, r.Rules.Score(t.Context(), rule.Id))
	assert.Equal(t, 12, r.asked())
	assert.EqualValues(t, 4, r.counts(t, rule.Id).Scored)
	for _, id := range ids {
		assert.Len(t, r.scoresOf(t, id), 1)
	}
	calls := apitest.Must[contract.EvalRuleRunPage](t, r.Do(t, http.MethodGet, "/v1/eval-rules/"+rule.Id.String()+"/runs", nil, r.as), http.StatusOK)
	for _, run := range calls.Data {
		assert.Len(t, run.Votes, 3)
	}
}

// TestRuleForgetsDeletedRuns deletes runs that were scored, and one while it is judged.
func TestRuleForgetsDeletedRuns(t *testing.T) {
	t.Parallel()
	judged, deleted := make(chan struct{}, 100), make(chan struct{})
	r := newRuling(t, func(q *provider.Request, n int) *provider.Reply {
		if n == 7 {
			judged <- struct{}{}
			<-deleted
		}
		return passing(q, n)
	})
	rule := r.rule(t, r.panels("judge-1"))
	scored, kept := r.ended(t, 1, nil), r.ended(t, 2, nil)
	r.pass(t, rule)
	remove := func(id uuid.UUID) {
		body := fmt.Sprintf(`{"project_id":%q,"run_ids":[%q]}`, r.project, id)
		apitest.Must[contract.RunDeletion](t, r.Do(t, http.MethodPost, "/v1/runs/_actions/delete", body, r.as), http.StatusOK)
	}
	remove(scored)
	running := r.ended(t, 7, nil)
	r.find(t)
	done := make(chan error)
	go func() { done <- r.Rules.Score(context.WithoutCancel(t.Context()), rule.Id) }()
	<-judged
	remove(running)
	close(deleted)
	require.NoError(t, <-done)
	gone := r.ended(t, 3, nil)
	r.find(t)
	r.Exec(t, "UPDATE eval_rule_runs SET status = 'pending', run_name = 'Ada', worker = NULL, next_attempt = now() - interval '1 day' WHERE run_id = $1", running)
	require.NoError(t, r.Rules.Score(t.Context(), rule.Id))
	remove(gone)
	taken := r.taken(t, rule.Id, "")
	for _, id := range []uuid.UUID{scored, running, gone} {
		run := taken[id]
		assert.Equal(t, contract.EvalRuleRunStatusSkipped, run.Status)
		assert.Equal(t, "run_deleted", run.Error.Code)
		assert.Empty(t, run.Scores)
		assert.Empty(t, run.Votes)
		assert.Empty(t, run.RunName)
	}
	assert.Equal(t, contract.EvalRuleRunStatusScored, taken[kept].Status)
	assert.Equal(t, 1, r.Count(t, "SELECT count(*) FROM eval_rule_votes"))
	assert.Equal(t, 1, r.Count(t, "SELECT count(*) FROM eval_rule_scores"))

	// The rule with all that it did, and the project with its rules.
	require.Equal(t, http.StatusNoContent, r.Do(t, http.MethodDelete, "/v1/eval-rules/"+rule.Id.String(), nil, r.as).Code)
	assert.Zero(t, r.Count(t, "SELECT count(*) FROM eval_rule_votes")+r.Count(t, "SELECT count(*) FROM eval_rule_runs"))
	assert.Len(t, r.scoresOf(t, kept), 1, "scores on runs stay")
	r.rule(t, r.panels("judge-1"))
	r.Exec(t, "DELETE FROM projects WHERE id = $1", r.project)
	assert.Zero(t, r.Count(t, "SELECT count(*) FROM eval_rules"))
}

// TestRulePreview looks at the runs of a week.
func TestRulePreview(t *testing.T) {
	t.Parallel()
	r := newRuling(t, passing)
	for n := range 8 {
		r.ended(t, n, func(run *apitest.SourceRun) { run.Ago = time.Duration(n) * time.Hour })
	}
	r.ended(t, 9, func(run *apitest.SourceRun) { run.Ago = 8 * 24 * time.Hour })
	r.ended(t, 10, func(run *apitest.SourceRun) { run.Question = "" })
	preview := func(more string) contract.EvalRulePreview {
		return apitest.Must[contract.EvalRulePreview](t, r.Do(t, http.MethodPost, "/v1/eval-rules/_actions/preview", r.body(more), r.as), http.StatusOK)
	}
	found := preview(r.panels("judge-1", "judge-2") + `,"sample_rate":0.5`)
	assert.EqualValues(t, 9, found.Matched)
	assert.EqualValues(t, 5, found.Sampled)
	assert.InDelta(t, 7.0/24, found.Days, .01)
	assert.EqualValues(t, 2, found.CallsPerRun)
	require.NotNil(t, found.CostLowUsd)
	require.NotNil(t, found.CostHighUsd)
	assert.Less(t, *found.CostLowUsd, *found.CostHighUsd)
	require.Len(t, found.Examples, 5)
	skipped := 0
	for _, one := range found.Examples {
		if one.Skipped != nil {
			skipped++
			assert.Contains(t, *one.Skipped, "has no output")
			continue
		}
		assert.Contains(t, string(*one.ReferenceOutput), "number")
	}
	assert.Equal(t, 1, skipped)
	assert.Zero(t, r.asked())
	assert.Zero(t, r.Count(t, "SELECT count(*) FROM eval_rules"))
	none := preview(r.panels("judge-1") + `,"run_filter":"session_id=nobody"`)
	assert.Zero(t, none.Matched)
	assert.Nil(t, none.CostLowUsd)
	unpriced := preview(`,"allow_unpriced":true,"max_cost_usd_per_day":5,"panels":[` + apitest.PanelJSON("right", r.made.Id, apitest.BinaryScale, "judge-unpriced") + `]`)
	assert.Equal(t, []string{"judge-unpriced"}, unpriced.UnpricedModels)
	assert.Nil(t, unpriced.CostHighUsd)
}

// TestRuleWritesCategoriesAndNumbers scores with the other scales, and a rule that a queue works on.
func TestRuleWritesCategoriesAndNumbers(t *testing.T) {
	t.Parallel()
	r := newRuling(t, func(q *provider.Request, n int) *provider.Reply {
		if q.Model == "judge-2" {
			return apitest.Voted([]string{"warm", "cold"}[n%2])
		}
		return apitest.Voted(n%5 + 1)
	})
	r.Work(t)
	tone := apitest.PanelJSON("tone", r.made.Id, `,"scale":{"type":"categorical","labels":["warm","cold"]}`, "judge-2")
	quality := apitest.PanelJSON("quality", r.made.Id, `,"scale":{"type":"ordinal","min":1,"max":5}`, "judge-1")
	rule := r.rule(t, `,"run_filter":"","max_cost_usd_per_day":5,"panels":[`+tone+`,`+quality+`]`)
	ids := map[int]uuid.UUID{}
	for n := range 5 {
		ids[n] = r.ended(t, n, func(run *apitest.SourceRun) { run.Session = fmt.Sprint(n) })
	}
	require.Eventually(t, func() bool {
		r.Clock.Advance(5 * time.Second)
		return r.counts(t, rule.Id).Scored == 5
	}, apitest.EvaluationTime, 100*time.Millisecond)
	for n, id := range ids {
		for _, score := range r.scoresOf(t, id) {
			if score.Name == "tone" {
				assert.Equal(t, []string{"warm", "cold"}[n%2], score.Value)
			} else {
				assert.InDelta(t, float64(n)/4, score.Value, 1e-9)
			}
		}
	}
	scores := r.get(t, rule.Id).Days[0].Scores
	require.Len(t, scores, 2)
	assert.Equal(t, map[string]int64{"warm": 3, "cold": 2}, scores[0].Labels)
	assert.Nil(t, scores[0].Mean)
	assert.InDelta(t, .5, *scores[1].Mean, 1e-9)
	require.NotNil(t, scores[1].Ci)
	assert.Less(t, (*scores[1].Ci)[0], .5)
}
