package rules_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/engines"
	"github.com/looptrace/looptrace/test/provider"
)

// ruling is a project with rules, whose judges answer from a script.
type ruling struct {
	*apitest.Env
	address string
	session string
	as      apitest.Option
	project uuid.UUID
	server  *provider.Server
	made    contract.Provider
}

func newRuling(t *testing.T, vote func(q *provider.Request, n int) *provider.Reply) *ruling {
	t.Helper()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	r := &ruling{Env: e, address: address, session: session, as: apitest.Cookie(session), project: project.Id}
	r.server = provider.Start(t, provider.Options{Answer: apitest.Judging(vote)})
	r.made = e.Connect(t, r.as, project.Id, "openai", r.server, "")
	for _, model := range []string{"judge-1", "judge-2", "judge-3"} {
		e.Price(t, r.as, project.Id, model)
	}
	return r
}

// passing is the vote of a judge that passes even numbers.
func passing(_ *provider.Request, n int) *provider.Reply {
	return apitest.Voted(map[bool]string{true: "pass", false: "fail"}[n%2 == 0])
}

// rule makes a rule that takes all runs of the session support, unless more says otherwise.
func (r *ruling) rule(t *testing.T, more string) contract.EvalRule {
	t.Helper()
	return apitest.Must[contract.EvalRule](t, r.Do(t, http.MethodPost, "/v1/eval-rules", r.body(more), r.as), http.StatusCreated)
}

func (r *ruling) body(more string) string {
	for _, member := range []string{`"name":"support is right"`, `"run_filter":"session_id=support"`, `"sample_rate":1`} {
		name, _, _ := strings.Cut(member, ":")
		if name == `"name"` || !strings.Contains(more, name) {
			more += "," + member
		}
	}
	return fmt.Sprintf(`{"project_id":%q%s}`, r.project, more)
}

// panels has a panel of judges of these models, and what it may cost a day.
func (r *ruling) panels(models ...string) string {
	return `,"max_cost_usd_per_day":5,"panels":[` + apitest.PanelJSON("right", r.made.Id, apitest.BinaryScale, models...) + `]`
}

// ended records a run that answers "number N" with the same, and ends after everything before.
func (r *ruling) ended(t *testing.T, n int, change func(*apitest.SourceRun)) uuid.UUID {
	t.Helper()
	return r.RecordNumber(t, r.address, r.project, n, func(run *apitest.SourceRun) {
		run.Ago = 0
		if change != nil {
			change(run)
		}
	})
}

// find takes the runs that were written.
func (r *ruling) find(t *testing.T) {
	t.Helper()
	r.Clock.Advance(time.Minute) // the clock of the test stands
	require.NoError(t, r.Rules.Find(t.Context()))
}

// pass takes the runs that were written, and scores those that are due.
func (r *ruling) pass(t *testing.T, rules ...contract.EvalRule) {
	t.Helper()
	r.find(t)
	for i := range rules {
		require.NoError(t, r.Rules.Score(t.Context(), rules[i].Id))
	}
}

func (r *ruling) get(t *testing.T, id uuid.UUID) contract.EvalRule {
	t.Helper()
	w := r.Do(t, http.MethodGet, "/v1/eval-rules/"+id.String(), nil, r.as)
	require.Equal(t, http.StatusOK, w.Code, r.Log.String())
	rule := apitest.Must[contract.EvalRule](t, w, http.StatusOK)
	for _, c := range append([]contract.EvalRuleDay{{Counts: rule.Today}}, rule.Days...) {
		assert.Equal(t, c.Counts.Taken, c.Counts.Scored+c.Counts.PartlyScored+c.Counts.Failed+c.Counts.Skipped+c.Counts.OverBudget+c.Counts.Pending)
	}
	return rule
}

// counts sums the days of a rule up: a test may begin before midnight.
func (r *ruling) counts(t *testing.T, id uuid.UUID) (sum contract.EvalRuleCounts) {
	t.Helper()
	for _, day := range r.get(t, id).Days {
		sum.Taken += day.Counts.Taken
		sum.Scored += day.Counts.Scored
		sum.PartlyScored += day.Counts.PartlyScored
		sum.Failed += day.Counts.Failed
		sum.Skipped += day.Counts.Skipped
		sum.OverBudget += day.Counts.OverBudget
		sum.Pending += day.Counts.Pending
		sum.CostUsd += day.Counts.CostUsd
		sum.UnknownCostRuns += day.Counts.UnknownCostRuns
	}
	return sum
}

func (r *ruling) taken(t *testing.T, id uuid.UUID, query string) map[uuid.UUID]contract.EvalRuleRun {
	t.Helper()
	w := r.Do(t, http.MethodGet, "/v1/eval-rules/"+id.String()+"/runs?limit=500"+query, nil, r.as)
	require.Equal(t, http.StatusOK, w.Code, r.Log.String())
	page := apitest.Must[contract.EvalRuleRunPage](t, w, http.StatusOK)
	found := map[uuid.UUID]contract.EvalRuleRun{}
	for _, run := range page.Data {
		found[run.RunId] = run
	}
	require.Len(t, found, len(page.Data))
	return found
}

func (r *ruling) scoresOf(t *testing.T, run uuid.UUID) []contract.Score {
	t.Helper()
	return apitest.Must[contract.ScorePage](t, r.Do(t, http.MethodGet, "/v1/runs/"+run.String()+"/scores", nil, r.as), http.StatusOK).Data
}

// asked counts the requests to judges.
func (r *ruling) asked() int { return len(r.server.Requests()) }

func TestRuleScoresRunsAsTheyCome(t *testing.T) {
	t.Parallel()
	r := newRuling(t, passing)
	early := r.ended(t, 100, func(run *apitest.SourceRun) { run.Ago = time.Hour })
	rule := r.rule(t, r.panels("judge-1", "judge-2")+`,"graders":[`+apitest.NumberedGrader+`]`)
	assert.Equal(t, contract.Active, rule.Status)
	assert.Equal(t, contract.Author{Email: new(apitest.Email)}, rule.CreatedBy)
	ids := map[int]uuid.UUID{}
	for n := range 4 {
		ids[n] = r.ended(t, n, nil)
	}
	r.ended(t, 5, func(run *apitest.SourceRun) { run.Session = "other" })
	r.ended(t, 6, func(run *apitest.SourceRun) { run.Running = true })
	silent := r.ended(t, 7, func(run *apitest.SourceRun) { run.Question = "" })
	r.Rules.Find(t.Context())
	assert.Empty(t, r.taken(t, rule.Id, ""), "nothing is quiet yet")
	r.pass(t, rule)

	taken := r.taken(t, rule.Id, "")
	require.Len(t, taken, 5, r.Log.String())
	assert.NotContains(t, taken, early)
	assert.Equal(t, contract.EvalRuleRunStatusSkipped, taken[silent].Status)
	assert.Contains(t, taken[silent].Error.Detail, "has no output: it was not recorded")
	for n, id := range ids {
		run := taken[id]
		require.Equal(t, contract.EvalRuleRunStatusScored, run.Status, "%+v", run.Error)
		assert.Equal(t, "invoke_agent support", run.RunName)
		require.Len(t, run.Votes, 2)
		assert.Equal(t, "because", run.Votes[0].Reason)
		require.Len(t, run.Scores, 2)
		assert.Equal(t, "numbered", run.Scores[0].Name)
		assert.Equal(t, n%2 == 0, *run.Scores[1].Pass)
		require.NotNil(t, run.CostUsd)
		scores := r.scoresOf(t, id)
		require.Len(t, scores, 2)
		for _, score := range scores {
			assert.Equal(t, contract.ScoreAuthorKindRule, score.Author.Kind)
			assert.Equal(t, rule.Id, score.Author.Id)
			assert.Equal(t, "support is right", score.Author.Name)
			assert.Equal(t, contract.Program, score.Source)
			if score.Name == "right" {
				assert.Equal(t, n%2 == 0, score.Value)
				assert.Equal(t, "judge-1: because\njudge-2: because", *score.Comment)
			}
		}
	}
	read := r.get(t, rule.Id)
	counts := r.counts(t, rule.Id)
	assert.EqualValues(t, 5, counts.Taken)
	assert.EqualValues(t, 4, counts.Scored)
	assert.Positive(t, counts.CostUsd)
	require.Len(t, read.Days, 1)
	require.Len(t, read.Days[0].Scores, 2)
	right := read.Days[0].Scores[1]
	assert.Equal(t, "right", right.Name)
	assert.InDelta(t, .5, *right.Mean, 1e-9)
	assert.InDelta(t, .5, *right.PassRate, 1e-9)
	assert.EqualValues(t, 4, right.N)
	assert.EqualValues(t, 1, *right.Groups, "all are of one session")
	assert.Nil(t, right.Ci, "one group has no interval")
	assert.Equal(t, 8, r.asked())
	for _, request := range r.server.Requests() {
		assert.Contains(t, request.Last(), "look_up", "the judge sees the tool calls")
	}

	// A late span, and all again: nothing is scored twice.
	r.pass(t, rule)
	r.pass(t, rule)
	assert.Equal(t, 8, r.asked())
	assert.EqualValues(t, 5, r.counts(t, rule.Id).Taken)
	assert.Len(t, r.scoresOf(t, ids[0]), 2)
}

// TestRuleCountsSessions scores four runs of each of six sessions, all of which pass or fail together.
func TestRuleCountsSessions(t *testing.T) {
	t.Parallel()
	r := newRuling(t, passing)
	all := `,"run_filter":""` + r.panels("judge-1")
	ruleOf := func(name, more string) contract.EvalRule {
		body := strings.Replace(r.body(all+more), "support is right", name, 1)
		return apitest.Must[contract.EvalRule](t, r.Do(t, http.MethodPost, "/v1/eval-rules", body, r.as), http.StatusCreated)
	}
	sessions := ruleOf("by session", "")
	assert.Equal(t, "session", sessions.GroupBy)
	alone := ruleOf("by customer", `,"group_by":"metadata.customer"`)
	for n := range 24 {
		r.ended(t, n, func(run *apitest.SourceRun) { run.Session = fmt.Sprint(n % 6) })
	}
	r.pass(t, sessions, alone)
	score := func(id uuid.UUID) contract.EvalRuleScore {
		days := r.get(t, id).Days
		require.Len(t, days, 1)
		require.Len(t, days[0].Scores, 1)
		return days[0].Scores[0]
	}
	grouped, single := score(sessions.Id), score(alone.Id)
	for _, of := range []contract.EvalRuleScore{grouped, single} {
		assert.EqualValues(t, 24, of.N)
		assert.InDelta(t, .5, *of.Mean, 1e-9)
	}
	assert.EqualValues(t, 6, *grouped.Groups)
	assert.Nil(t, single.Groups, "no run has a customer")
	width := func(of contract.EvalRuleScore) float64 { return (*of.Ci)[1] - (*of.Ci)[0] }
	assert.Greater(t, width(grouped), 1.5*width(single))

	// Other groups are another way to score.
	w := r.Do(t, http.MethodPatch, "/v1/eval-rules/"+sessions.Id.String(), `{"group_by":"user"}`, r.as)
	changed := apitest.Must[contract.EvalRule](t, w, http.StatusOK)
	assert.Equal(t, "user", changed.GroupBy)
	assert.Equal(t, sessions.Version+1, changed.Version)
	w = r.Do(t, http.MethodPatch, "/v1/eval-rules/"+sessions.Id.String(), `{"group_by":"output.text"}`, r.as)
	assert.Equal(t, "body.group_by", (*apitest.WantProblem(t, w, http.StatusUnprocessableEntity).Errors)[0].Location)
}

func TestRuleIsRefused(t *testing.T) {
	t.Parallel()
	r := newRuling(t, passing)
	panels := r.panels("judge-1")
	for more, wrong := range map[string]string{
		``: "body.graders must have a grader",
		strings.Replace(panels, `"max_cost_usd_per_day":5,`, ``, 1):                                                                 "body.max_cost_usd_per_day is required with panels",
		strings.Replace(panels, `{"name":"right"`, `{"kind":"preference","name":"right"`, 1):                                        "body.panels[0].kind is preference",
		strings.Replace(panels, `{"name":"right"`, `{"aggregate":"dawid_skene","name":"right"`, 1):                                  "body.panels[0].aggregate",
		`,"graders":[{"name":"same","type":"string_check","operation":"eq"}]`:                                                       `body.graders[0] is "same", which looks at the reference output`,
		strings.Replace(panels, `"rubric":"Is it right?"`+apitest.BinaryScale, `"ready_made":"correctness"`, 1):                     "body.panels[0].judges[0].ready_made is correctness, which needs a reference output",
		`,"graders":[` + apitest.NumberedGrader + `,` + apitest.NumberedGrader + `]`:                                                "body.graders[1].name",
		panels + `,"graders":[` + strings.Replace(apitest.NumberedGrader, `"numbered"`, `"right"`, 1) + `]`:                         "body.graders[0].name is \"right\", which is the name of a panel",
		`,"max_cost_usd_per_day":5,"panels":[` + apitest.PanelJSON("right", uuid.New(), apitest.BinaryScale, "judge-1") + `]`:       "body.panels[0].judges[0].provider_id is no connection",
		`,"max_cost_usd_per_day":5,"panels":[` + apitest.PanelJSON("right", r.made.Id, apitest.BinaryScale, "judge-unpriced") + `]`: "body.allow_unpriced must be set",
		`,"graders":[` + apitest.NumberedGrader + `],"run_filter":"source=evaluation"`:                                              "body.run_filter has source=evaluation",
		`,"graders":[` + apitest.NumberedGrader + `],"run_filter":"source=all"`:                                                     "body.run_filter has source=all",
		`,"graders":[` + apitest.NumberedGrader + `],"run_filter":"project_id=` + r.project.String() + `"`:                          "body.run_filter has the parameter project_id",
		`,"graders":[` + apitest.NumberedGrader + `],"run_filter":"window_seconds=60"`:                                              "body.run_filter has the parameter window_seconds",
		`,"graders":[` + apitest.NumberedGrader + `],"run_filter":"start_after=2026-01-01T00:00:00Z"`:                               "body.run_filter has the parameter start_after",
		`,"graders":[` + apitest.NumberedGrader + `],"run_filter":"has_score=true"`:                                                 "body.run_filter has the parameter has_score",
		`,"graders":[` + apitest.NumberedGrader + `],"run_filter":"colour=red"`:                                                     "is no filter of runs",
		`,"graders":[` + apitest.NumberedGrader + `],"run_filter":"%zz"`:                                                            "body.run_filter cannot be read as a query string",
		`,"graders":[` + apitest.NumberedGrader + `],"sample_rate":0`:                                                               "body.sample_rate",
	} {
		for _, path := range []string{"/v1/eval-rules", "/v1/eval-rules/_actions/preview"} {
			got := apitest.WantProblem(t, r.Do(t, http.MethodPost, path, r.body(more), r.as), http.StatusUnprocessableEntity)
			var texts []string
			for _, field := range *got.Errors {
				texts = append(texts, field.Location+" "+field.Message)
			}
			assert.Contains(t, strings.Join(texts, "\n"), wrong, more)
		}
	}
	prompt := apitest.Must[contract.Prompt](t, r.Do(t, http.MethodPost, "/v1/prompts", fmt.Sprintf(
		`{"project_id":%q,"name":"judge","version":{"messages":[{"role":"user","content":"Compare {{output}} with {{reference_output}}."}]}}`, r.project), r.as), http.StatusCreated)
	named := fmt.Sprintf(`,"max_cost_usd_per_day":5,"panels":[{"name":"right","judges":[{"name":"a","provider_id":%q,"model_config":{"model":"judge-1"},"prompt":{"id":%q}%s}]}]`, r.made.Id, prompt.Id, apitest.BinaryScale)
	got := apitest.WantProblem(t, r.Do(t, http.MethodPost, "/v1/eval-rules", r.body(named), r.as), http.StatusUnprocessableEntity)
	assert.Contains(t, (*got.Errors)[0].Message, "needs {{reference_output}}, which runs do not have")
	steps := apitest.Must[contract.Prompt](t, r.Do(t, http.MethodPost, "/v1/prompts", fmt.Sprintf(
		`{"project_id":%q,"name":"steps","version":{"messages":[{"role":"user","content":"Judge {{output}} by {{trajectory}}."}]}}`, r.project), r.as), http.StatusCreated)
	got = apitest.WantProblem(t, r.Do(t, http.MethodPost, "/v1/eval-rules", r.body(strings.Replace(named, prompt.Id.String(), steps.Id.String(), 1)), r.as), http.StatusUnprocessableEntity)
	assert.Equal(t, "body.panels[0].judges[0].prompt", (*got.Errors)[0].Location)
	assert.Contains(t, (*got.Errors)[0].Message, "needs {{trajectory}}: judges are not shown the messages of an agent. Name its tool_calls instead")

	r.rule(t, `,"graders":[`+apitest.NumberedGrader+`]`)
	assert.Equal(t, "name_taken", apitest.WantProblem(t, r.Do(t, http.MethodPost, "/v1/eval-rules", r.body(panels), r.as), http.StatusConflict).Code)
	for missing, scopes := range map[contract.Scope][]contract.Scope{
		contract.ScopeRunsRead:  {contract.ScopeEvalsWrite, contract.ScopeRunsWrite},
		contract.ScopeRunsWrite: {contract.ScopeEvalsWrite, contract.ScopeRunsRead},
	} {
		key := r.Mint(t, r.session, r.project, scopes...)
		refused := apitest.WantProblem(t, r.Do(t, http.MethodPost, "/v1/eval-rules", r.body(panels), apitest.Bearer(key.Key)), http.StatusForbidden)
		assert.Contains(t, *refused.Detail, string(missing))
	}
}

// TestRuleSaysThatJudgesAreTied has two judges that never agree.
func TestRuleSaysThatJudgesAreTied(t *testing.T) {
	t.Parallel()
	r := newRuling(t, func(q *provider.Request, _ int) *provider.Reply {
		return apitest.Voted(map[string]string{"judge-1": "pass", "judge-2": "fail"}[q.Model])
	})
	rule := r.rule(t, r.panels("judge-1", "judge-2"))
	id := r.ended(t, 1, nil)
	r.pass(t, rule)
	run := r.taken(t, rule.Id, "")[id]
	assert.Equal(t, contract.EvalRuleRunStatusFailed, run.Status)
	require.NotNil(t, run.Error)
	assert.Equal(t, "judges_tied", run.Error.Code)
	assert.Equal(t, "The judges are tied. They split.", run.Scores[0].Reason)
	assert.Empty(t, r.scoresOf(t, id))
}
