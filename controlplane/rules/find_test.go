package rules_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/clickhouse"
)

// TestRulesOfManyProjects has a rule in each of 20,000 projects: the statement that looks for runs of all of them is not longer than
// ClickHouse reads.
func TestRulesOfManyProjects(t *testing.T) {
	t.Parallel()
	r := newRuling(t, passing)
	rule := r.rule(t, `,"graders":[`+apitest.NumberedGrader+`]`)
	r.AddProjects(t, 20_000)
	r.Exec(t, `INSERT INTO eval_rules SELECT (jsonb_populate_record(r, jsonb_build_object('id', uuidv7(), 'project_id', p.id))).*
		FROM eval_rules r JOIN projects p ON p.id != r.project_id`)
	r.ended(t, 2, nil)
	r.find(t)
	assert.Equal(t, 1, r.Count(t, "SELECT count(*) FROM eval_rule_runs WHERE rule_id = '"+rule.Id.String()+"'"))
}

// TestManyRulesFindFewRuns has 20 rules in a project of 200,000 runs of a week, of which 2,000 were written now. Looking for runs reads the
// hours of these, and no row of the rest.
func TestManyRulesFindFewRuns(t *testing.T) {
	t.Parallel()
	r := newRuling(t, passing)
	rules := make([]contract.EvalRule, 20)
	for i := range rules {
		body := strings.Replace(r.body(`,"sample_rate":0.05,"graders":[`+apitest.NumberedGrader+`]`), "support is right", fmt.Sprint("rule ", i), 1)
		rules[i] = apitest.Must[contract.EvalRule](t, r.Do(t, http.MethodPost, "/v1/eval-rules", body, r.as), http.StatusCreated)
	}
	conn, err := clickhouse.Open(r.address)
	require.NoError(t, err)
	defer conn.Close()
	insert := func(n, ago, spread int) {
		require.NoError(t, conn.Exec(t.Context(), `INSERT INTO runs (project_id, run_id, version, start_time, end_time, name, kind, status, session_id, input_preview, output_preview, written_at)
			SELECT toUUID(?), generateUUIDv4(), 1, now64(9) - ? - (number % ?) AS start, start + 1, 'agent', 'agent', 'ok', 'support', 'number 1', 'number 1', now64(3) - ? - (number % ?)
			FROM numbers(?)`, r.project.String(), ago, spread, ago, spread, n))
	}
	insert(200_000, 3600, 7*24*3600)
	insert(2_000, 0, 1)
	r.Clock.Advance(time.Hour) // after all ends
	r.Exec(t, "UPDATE eval_rules SET takes_from = now() - interval '10 minutes', mark_written_at = now() - interval '10 minutes'")
	r.Clock.Advance(time.Since(r.Clock.Now()) + time.Minute) // the inserts may have taken long
	look := func() (read uint64) {
		ctx := ch.Context(t.Context(), ch.WithProgress(func(p *ch.Progress) { read += p.Rows }))
		begun := time.Now()
		require.NoError(t, r.Rules.Find(ctx))
		t.Logf("20 rules looked for runs in %s and read %d rows", time.Since(begun).Round(time.Millisecond), read)
		return read
	}
	const most = 20 * 20_000 // of 20 times 202,000
	assert.Less(t, look(), uint64(most))
	taken := r.Count(t, "SELECT count(*) FROM eval_rule_runs")
	assert.InDelta(t, 20*2000*.05, taken, 300, "seven standard deviations")
	assert.Less(t, look(), uint64(most))
	assert.Equal(t, taken, r.Count(t, "SELECT count(*) FROM eval_rule_runs"))
}
