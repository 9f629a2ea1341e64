package rules_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/provider"
)

// held is a ruling whose judges answer when they are let go.
type held struct {
	*ruling
	asked, goOn chan struct{}
}

func newHeld(t *testing.T) *held {
	t.Helper()
	h := &held{asked: make(chan struct{}, 100), goOn: make(chan struct{})}
	h.ruling = newRuling(t, func(q *provider.Request, n int) *provider.Reply {
		h.asked <- struct{}{}
		<-h.goOn
		return passing(q, n)
	})
	return h
}

// score begins to score, and returns when a judge is asked.
func (h *held) score(ctx context.Context, t *testing.T, rule uuid.UUID) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- h.Rules.Score(ctx, rule) }()
	<-h.asked
	return done
}

// TestRuleChangesWhileRunsAreJudged renames a panel while its judge is asked. The run gets the score of the new version alone.
func TestRuleChangesWhileRunsAreJudged(t *testing.T) {
	t.Parallel()
	h := newHeld(t)
	rule := h.rule(t, h.panels("judge-1"))
	id := h.ended(t, 2, nil)
	h.find(t)
	done := h.score(context.WithoutCancel(t.Context()), t, rule.Id)
	renamed := `{"panels":[` + apitest.PanelJSON("correct", h.made.Id, apitest.BinaryScale, "judge-1") + `]}`
	require.Equal(t, 2, apitest.Must[contract.EvalRule](t, h.Do(t, http.MethodPatch, "/v1/eval-rules/"+rule.Id.String(), renamed, h.as), http.StatusOK).Version)
	close(h.goOn)
	require.NoError(t, <-done)
	require.NoError(t, h.Rules.Score(t.Context(), rule.Id))
	run := h.taken(t, rule.Id, "")[id]
	assert.Equal(t, contract.EvalRuleRunStatusScored, run.Status)
	assert.Equal(t, 2, run.Version)
	require.NotNil(t, run.CostUsd, "both votes are stored")
	require.Len(t, run.Votes, 1)
	scores := h.scoresOf(t, id)
	require.Len(t, scores, 1)
	assert.Equal(t, "correct", scores[0].Name)
	assert.InDelta(t, *run.CostUsd*1e9, h.Count(t, "SELECT counted_nanousd FROM eval_rule_runs"), 1, "what was reserved came back")
}

// TestRuleIsShutDownWhileRunsAreJudged ends the process while a judge is asked. What that can have cost counts, and is said to be unknown.
func TestRuleIsShutDownWhileRunsAreJudged(t *testing.T) {
	t.Parallel()
	h := newHeld(t)
	rule := h.rule(t, h.panels("judge-1"))
	id := h.ended(t, 2, nil)
	h.find(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := h.score(ctx, t, rule.Id)
	reserved := h.Count(t, "SELECT counted_nanousd FROM eval_rule_runs")
	require.Positive(t, reserved)
	cancel()
	<-done
	close(h.goOn)
	assert.Equal(t, reserved, h.Count(t, "SELECT counted_nanousd FROM eval_rule_runs"))
	assert.EqualValues(t, 1, h.counts(t, rule.Id).Pending)
	assert.EqualValues(t, 1, h.counts(t, rule.Id).UnknownCostRuns)
	require.NoError(t, h.Rules.Score(t.Context(), rule.Id))
	run := h.taken(t, rule.Id, "")[id]
	assert.Equal(t, contract.EvalRuleRunStatusScored, run.Status)
	assert.Nil(t, run.CostUsd)
	assert.Greater(t, h.Count(t, "SELECT counted_nanousd FROM eval_rule_runs"), reserved)
}

// TestRuleAfterKill has runs of a worker that was killed: one that it had not begun, and one that it had reserved money for.
func TestRuleAfterKill(t *testing.T) {
	t.Parallel()
	r := newRuling(t, passing)
	rule := r.rule(t, r.panels("judge-1"))
	waiting, begun := r.ended(t, 2, nil), r.ended(t, 4, nil)
	r.find(t)
	r.Exec(t, "UPDATE eval_rule_runs SET worker = gen_random_uuid()")
	r.Exec(t, "UPDATE eval_rule_runs SET counted_nanousd = 1000000, counted_day = $2 WHERE run_id = $1", begun, r.Clock.Now().UTC())
	require.NoError(t, r.Rules.Score(t.Context(), rule.Id))
	taken := r.taken(t, rule.Id, "")
	assert.NotNil(t, taken[waiting].CostUsd)
	assert.Nil(t, taken[begun].CostUsd, "calls may have been made whose votes are lost")
	counts := r.counts(t, rule.Id)
	assert.EqualValues(t, 2, counts.Scored)
	assert.EqualValues(t, 1, counts.UnknownCostRuns)
	assert.Positive(t, counts.CostUsd)
}

// TestRuleBudgetOfAnotherDay tries a run again that used a whole budget yesterday.
func TestRuleBudgetOfAnotherDay(t *testing.T) {
	t.Parallel()
	r := newRuling(t, passing)
	rule := r.rule(t, r.panels("judge-1"))
	id := r.ended(t, 2, nil)
	r.find(t)
	r.Exec(t, "UPDATE eval_rule_runs SET counted_nanousd = 5000000000, counted_day = $1", r.Clock.Now().UTC().Add(-24*time.Hour))
	require.NoError(t, r.Rules.Score(t.Context(), rule.Id))
	assert.Equal(t, contract.EvalRuleRunStatusScored, r.taken(t, rule.Id, "")[id].Status)
	assert.Less(t, r.Count(t, "SELECT counted_nanousd FROM eval_rule_runs"), 5_000_000_000)
}
