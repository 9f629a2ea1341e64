package work_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/provider"
)

// subject is work of a kind, as the conformance suite sees it.
type subject struct {
	// job is the kind of its jobs.
	job string
	// calls is how many calls of models it makes if nothing goes wrong, 0 if it makes none.
	calls int
	// stored counts the answers of models that are stored, in SQL.
	stored string
	// path is where the work is read. POST path/_actions/stop, cancel unless it has another name, makes it stopped, cancelled.
	path, stop, stopped string
	// status returns that of the work, where it is not a member of what is at path.
	status func(*testing.T) string
	// whole requires that all of the work is stored, once.
	whole func(*testing.T)
}

// kinds are all kinds of work that have an end. A new kind is added here, and nowhere else in the suite.
var kinds = map[string]func(*testing.T, *lab) subject{
	"import": func(t *testing.T, l *lab) subject {
		t.Helper()
		const rows = 20_000
		dataset := l.CreateDataset(t, l.as, l.project, "faq")
		var file strings.Builder
		for i := range rows {
			fmt.Fprintf(&file, "{\"key\":\"%d\",\"input\":{\"question\":\"What is %d?\"}}\n", i, i)
		}
		return subject{
			job: "import", path: "/v1/imports/" + l.SendFile(t, l.as, dataset.Id, "", "application/x-ndjson", file.String()).Id.String(),
			whole: func(t *testing.T) {
				t.Helper()
				assert.Equal(t, rows, l.Count(t, "SELECT count(*) FROM dataset_items WHERE dataset_id = $1", dataset.Id))
				assert.Equal(t, rows, l.Count(t, "SELECT count(DISTINCT key) FROM dataset_items WHERE dataset_id = $1 AND ordinal = key::int + 1", dataset.Id))
			},
		}
	},
	"near-duplicates": func(t *testing.T, l *lab) subject {
		t.Helper()
		const items = 4000
		texts := make([]string, items)
		for i := range texts {
			texts[i] = fmt.Sprintf(`{"key":"k%d","input":{"question":"What is number %d, and who has said that it is one of the largest?"}}`, i, i/2)
		}
		dataset := l.CreateDatasetOf(t, l.as, l.project, "faq", texts...)
		check := l.CheckNearDuplicates(t, l.as, dataset.Id, `{"threshold":1}`, http.StatusAccepted)
		path := "/v1/datasets/" + dataset.Id.String() + "/near-duplicates"
		get := func(t *testing.T) contract.NearDuplicatePage {
			t.Helper()
			return apitest.Must[contract.NearDuplicatePage](t, l.Do(t, http.MethodGet, path, nil, l.as), http.StatusOK)
		}
		return subject{
			job: "near_duplicates", path: path, stop: "cancel", stopped: "cancelled",
			status: func(t *testing.T) string { t.Helper(); return string(get(t).Check.Status) },
			whole: func(t *testing.T) {
				t.Helper()
				assert.EqualValues(t, items/2, *get(t).Check.Pairs)
				assert.Equal(t, items/2, l.Count(t, "SELECT count(*) FROM near_duplicate_pairs WHERE check_id = $1", check.Id))
			},
		}
	},
	"comparison": func(t *testing.T, l *lab) subject {
		t.Helper()
		const items = 20
		dataset := l.CreateDatasetOf(t, l.as, l.project, "numbers", apitest.Questions(items)...)
		started := l.Compare(t, l.as, apitest.ComparisonBody(l.project, dataset.Id, l.connection, ""))
		return subject{
			job: "evaluation", calls: 2 * items, stored: "SELECT count(*) FROM evaluation_outputs", path: "/v1/comparisons/" + started.Id.String(),
			whole: func(t *testing.T) {
				t.Helper()
				assert.Equal(t, 2*items, l.Count(t, "SELECT count(*) FROM evaluation_outputs WHERE evaluation_id = $1", started.Id))
				ended := apitest.Must[contract.Comparison](t, l.Do(t, http.MethodGet, "/v1/comparisons/"+started.Id.String(), nil, l.as), http.StatusOK)
				assert.EqualValues(t, items, ended.Accounting.Scored)
				assert.NotNil(t, ended.Summary)
			},
		}
	},
	"eval-run": func(t *testing.T, l *lab) subject {
		t.Helper()
		const items, judges = 12, 2
		dataset := l.CreateDatasetOf(t, l.as, l.project, "numbers", apitest.Questions(items)...)
		body := fmt.Sprintf(`{"project_id":%q,"name":"judged","dataset_id":%q,"target":{"outputs":"reference"},"panels":[%s]}`,
			l.project, dataset.Id, apitest.PanelJSON("right", l.connection, apitest.BinaryScale, "judge-1", "judge-2"))
		started := apitest.Must[contract.EvalRun](t, l.Do(t, http.MethodPost, "/v1/eval-runs", body, l.as), http.StatusCreated)
		return subject{
			job: "evaluation", calls: judges * (items + 1), stored: "SELECT count(*) FROM evaluation_votes", // with a canary each
			path: "/v1/eval-runs/" + started.Id.String(),
			whole: func(t *testing.T) {
				t.Helper()
				ended := apitest.Must[contract.EvalRun](t, l.Do(t, http.MethodGet, "/v1/eval-runs/"+started.Id.String(), nil, l.as), http.StatusOK)
				assert.EqualValues(t, items, ended.Accounting.Scored)
				assert.EqualValues(t, judges*items, ended.Accounting.Votes.Total)
				assert.EqualValues(t, judges*items, ended.Accounting.Votes.Ok)
			},
		}
	},
	"replay": func(t *testing.T, l *lab) subject {
		t.Helper()
		const controls, treatments = 5, 4
		run, td := apitest.AgentTrace(apitest.OrderAgent)
		l.send(td)
		body := fmt.Sprintf(`{"run_id":%q,"provider_id":%q,"controls":%d,"treatments":%d,
			"edits":[{"target":"all","set":{"system_prompt":"You help customers. Ask before you change anything."}}]}`, run, l.connection, controls, treatments)
		started := apitest.Must[contract.Replay](t, l.Do(t, http.MethodPost, "/v1/replays", body, l.as), http.StatusCreated)
		path := "/v1/replays/" + started.Id.String()
		return subject{
			job: "replay", calls: controls*len(apitest.OrderAgent) + treatments, path: path,
			stored: `SELECT (SELECT count(*) FROM replay_steps WHERE content::json ->> 'source' = 'reissued')
				+ (SELECT coalesce(sum((result::json -> 'spent' ->> 'calls')::bigint), 0) FROM replay_attempts)`,
			whole: func(t *testing.T) {
				t.Helper()
				ended := apitest.Must[contract.Replay](t, l.Do(t, http.MethodGet, path, nil, l.as), http.StatusOK)
				assert.NotNil(t, ended.Verdict)
				runs := map[uuid.UUID]bool{}
				for _, a := range ended.Attempts {
					require.Equal(t, contract.ReplayStatusSucceeded, a.Status, "attempt %d: %+v", a.Number, a.Detail)
					runs[*a.RunId] = true
					spans := 2 * len(apitest.OrderAgent)
					if a.Role == contract.Treatment {
						spans = 2
					}
					run := apitest.Must[contract.Run](t, l.Do(t, http.MethodGet, "/v1/runs/"+a.RunId.String(), nil, l.as), http.StatusOK)
					assert.EqualValues(t, spans, run.SpanCount, "the run of attempt %d", a.Number)
				}
				assert.Len(t, runs, controls+treatments)
			},
		}
	},
	"rule": func(t *testing.T, l *lab) subject {
		t.Helper()
		const runs = 16
		body := fmt.Sprintf(`{"project_id":%q,"name":"support is right","run_filter":"session_id=support","sample_rate":1,"max_cost_usd_per_day":5,"panels":[%s]}`,
			l.project, apitest.PanelJSON("right", l.connection, apitest.BinaryScale, "judge-1"))
		rule := apitest.Must[contract.EvalRule](t, l.Do(t, http.MethodPost, "/v1/eval-rules", body, l.as), http.StatusCreated)
		for n := range runs {
			l.RecordNumber(t, l.ClickHouse, l.project, n, func(run *apitest.SourceRun) { run.Ago = 0 })
		}
		l.Clock.Advance(time.Minute)
		require.NoError(t, l.Rules.Find(t.Context()))
		path := "/v1/eval-rules/" + rule.Id.String()
		get := func(t *testing.T) contract.EvalRule {
			t.Helper()
			return apitest.Must[contract.EvalRule](t, l.Do(t, http.MethodGet, path, nil, l.as), http.StatusOK)
		}
		scored := func(t *testing.T) int {
			t.Helper()
			return l.Count(t, "SELECT count(*) FROM eval_rule_runs WHERE rule_id = $1 AND status = 'scored'", rule.Id)
		}
		return subject{
			job: "eval_rule", calls: runs, stored: "SELECT count(*) FROM eval_rule_votes", path: path, stop: "pause", stopped: "paused",
			status: func(t *testing.T) string {
				t.Helper()
				if status := string(get(t).Status); status != "active" {
					return status
				}
				if scored(t) == runs {
					return "succeeded"
				}
				return "running"
			},
			whole: func(t *testing.T) {
				t.Helper()
				assert.Equal(t, runs, scored(t))
				page := apitest.Must[contract.EvalRuleRunPage](t, l.Do(t, http.MethodGet, path+"/runs?limit=500", nil, l.as), http.StatusOK)
				for _, run := range page.Data {
					list := apitest.Must[contract.ScorePage](t, l.Do(t, http.MethodGet, "/v1/runs/"+run.RunId.String()+"/scores", nil, l.as), http.StatusOK)
					assert.Len(t, list.Data, 1)
				}
			},
		}
	},
}

// lab is a project, and a provider whose answers wait once hold of them were given, until release.
type lab struct {
	*apitest.Env
	as         apitest.Option
	project    uuid.UUID
	send       func(ptrace.Traces)
	server     *provider.Server
	connection uuid.UUID
	processes  []*process

	mu      sync.Mutex
	answers int
	hold    int
	held    int
	open    chan struct{}
	usage   provider.Usage
}

// atOnce is how many calls the connection allows at once.
const atOnce = 4

func newLab(t *testing.T) *lab {
	t.Helper()
	e, session, project, send := apitest.NewReplayEnv(t)
	l := &lab{Env: e, as: apitest.Cookie(session), project: project.Id, send: send, hold: -1, open: make(chan struct{}), usage: provider.Usage{Input: 100, Output: 20}}
	answer := apitest.Judging(func(*provider.Request, int) *provider.Reply { return apitest.Voted("pass") })
	l.server = provider.Start(t, provider.Options{Answer: func(q *provider.Request) *provider.Reply {
		l.wait()
		var reply *provider.Reply
		if q.Model == apitest.AgentModel {
			reply = apitest.AnswerOrders(q)
		} else {
			reply = answer(q)
		}
		reply.Usage = &l.usage
		return reply
	}})
	t.Cleanup(l.release)
	l.connection = l.Connect(t, l.as, l.project, "openai", l.server, fmt.Sprintf(`,"max_concurrency":%d`, atOnce)).Id
	for _, model := range []string{"model-a", "model-b", "judge-1", "judge-2", apitest.AgentModel} {
		l.Price(t, l.as, l.project, model)
	}
	return l
}

// wait waits for the release of an answer beyond those that are given at once.
func (l *lab) wait() {
	l.mu.Lock()
	l.answers++
	holds := l.hold >= 0 && l.answers > l.hold
	if holds {
		l.held++
	}
	l.mu.Unlock()
	if holds {
		<-l.open
	}
}

func (l *lab) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.open:
	default:
		close(l.open)
	}
}

func (l *lab) holds() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held
}

func (l *lab) requests() int { return len(l.server.Requests()) }

// process is a process that works on jobs.
type process struct {
	*apitest.Env
	link *link
	stop func()
}

// start starts a process whose link to PostgreSQL takes a while.
func (l *lab) start(t *testing.T, delay time.Duration) *process {
	t.Helper()
	between, pool := newLink(t, l.DB.Config().ConnString(), delay)
	p := &process{Env: l.Beside(t, pool), link: between}
	p.Clock.Advance(time.Until(l.Clock.Now()) + time.Minute) // that of the lab is ahead
	settling, end := context.WithCancel(t.Context())
	var settled sync.WaitGroup
	settled.Go(func() { p.Providers.Run(settling) })
	work := p.Work(t)
	p.stop = func() {
		work()
		end()
		settled.Wait()
	}
	t.Cleanup(p.stop)
	l.processes = append(l.processes, p)
	return p
}

// until waits for something, while the clocks go on.
func (l *lab) until(t *testing.T, what string, done func() bool) {
	t.Helper()
	if !assert.Eventually(t, func() bool {
		for _, p := range l.processes {
			p.Clock.Advance(50 * time.Millisecond)
		}
		return done()
	}, apitest.EvaluationTime, 50*time.Millisecond, what) {
		var logs strings.Builder
		for _, p := range l.processes {
			logs.WriteString(p.Log.String())
		}
		require.FailNow(t, what, logs.String())
	}
}

// get returns what is at the path of the work, and its status.
func (l *lab) get(t *testing.T, s *subject) (status, body string) {
	t.Helper()
	w := l.Do(t, http.MethodGet, s.path, nil, l.as)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	var read struct{ Status string }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &read))
	if s.status != nil {
		return s.status(t), w.Body.String()
	}
	return read.Status, w.Body.String()
}

// middle waits until a process is in the middle of the work: its calls wait for answers, or, where it makes none, its link is frozen as soon as
// it has begun.
func (l *lab) middle(t *testing.T, s *subject, p *process) {
	t.Helper()
	if s.calls > 0 {
		l.until(t, "calls wait for answers, and the others are stored", func() bool { return l.holds() == atOnce && l.Count(t, s.stored) == l.hold })
	} else {
		for begin := time.Now(); ; time.Sleep(time.Millisecond) {
			if status, _ := l.get(t, s); status == "running" {
				break
			}
			require.Less(t, time.Since(begin), apitest.EvaluationTime, "it did not begin")
		}
		p.link.freeze()
	}
	status, body := l.get(t, s)
	require.Equal(t, "running", status, body)
}

// wantWhole waits for the end, and requires that everything is there once.
func (l *lab) wantWhole(t *testing.T, s *subject) {
	t.Helper()
	l.until(t, "the work ends", func() bool {
		status, body := l.get(t, s)
		require.Contains(t, []string{"queued", "running", "succeeded"}, status, body)
		return status == "succeeded" && l.idle(t, s)
	})
	s.whole(t)
	assert.Zero(t, l.Count(t, "SELECT count(*) FROM provider_calls WHERE status = 'running'"), "the end of every call is known")
}

// idle reports whether no job of the work is left.
func (l *lab) idle(t *testing.T, s *subject) bool {
	t.Helper()
	return l.Count(t, "SELECT count(*) FROM river_job WHERE kind = $1 AND finalized_at IS NULL", s.job) == 0
}

// gone makes all processes look as if they did not say for long that they are alive.
func (l *lab) gone(t *testing.T) {
	t.Helper()
	l.Clock.Advance(2 * time.Minute)
	l.Exec(t, "UPDATE job_workers SET seen_at = seen_at - interval '1 minute'")
}

// fault is what can happen to work.
type fault struct {
	// inMiddle is whether it happens when a quarter of the calls were answered.
	inMiddle bool
	// ofModels is whether it happens to work that calls models only.
	ofModels bool
	try      func(t *testing.T, l *lab, begin func() subject)
}

// faults are what can happen to work. Each ends with the work whole, or ended as it should.
var faults = map[string]fault{
	// The process is gone, with the calls that were under way.
	"kill": {inMiddle: true, try: func(t *testing.T, l *lab, begin func() subject) {
		t.Helper()
		s := begin()
		first := l.start(t, 0)
		l.middle(t, &s, first)
		first.link.cut()
		first.stop()
		l.gone(t)
		lost := l.holds()
		l.start(t, 0)
		l.release()
		l.wantWhole(t, &s)
		assert.LessOrEqual(t, l.requests(), s.calls+lost, "only calls under way are made again")
	}},
	// The process cannot reach the database, and does not know yet that another one has its work.
	"lost lease": {inMiddle: true, try: func(t *testing.T, l *lab, begin func() subject) {
		t.Helper()
		s := begin()
		first := l.start(t, 0)
		l.middle(t, &s, first)
		first.link.freeze()
		l.gone(t)
		lost := l.holds()
		l.start(t, 0)
		l.release()
		l.until(t, "another process ends the work", func() bool { status, _ := l.get(t, &s); return status == "succeeded" })
		first.link.thaw()
		l.wantWhole(t, &s)
		assert.LessOrEqual(t, l.requests(), s.calls+lost, "only calls under way are made again")
	}},
	// The database does not answer for longer than a statement may take.
	"frozen database": {inMiddle: true, try: func(t *testing.T, l *lab, begin func() subject) {
		t.Helper()
		s := begin()
		p := l.start(t, 0)
		l.middle(t, &s, p)
		p.link.freeze()
		l.release()
		require.Equal(t, http.StatusServiceUnavailable, p.Do(t, http.MethodGet, s.path, nil, l.as).Code, "a statement has no more time")
		p.link.thaw()
		l.wantWhole(t, &s)
		assert.Equal(t, s.calls, l.requests(), "no call is made twice")
	}},
	"slow database": {try: func(t *testing.T, l *lab, begin func() subject) {
		t.Helper()
		s := begin()
		l.start(t, 20*time.Millisecond)
		l.wantWhole(t, &s)
		assert.Equal(t, s.calls, l.requests(), "no call is made twice")
	}},
	// The job is there a second time while the first one is worked on.
	"duplicate delivery": {inMiddle: true, try: func(t *testing.T, l *lab, begin func() subject) {
		t.Helper()
		s := begin()
		p := l.start(t, 0)
		l.middle(t, &s, p)
		l.Exec(t, `INSERT INTO river_job (args, kind, queue, max_attempts, state, metadata)
			SELECT args, kind, queue, max_attempts, 'available', metadata FROM river_job WHERE kind = $1 LIMIT 1`, s.job)
		p.link.thaw()
		l.until(t, "both run", func() bool {
			return l.Count(t, "SELECT count(*) FROM river_job WHERE kind = $1 AND state NOT IN ('available', 'pending')", s.job) == 2
		})
		lost := l.holds()
		l.release()
		l.wantWhole(t, &s)
		assert.LessOrEqual(t, l.requests(), s.calls+lost, "only calls under way are made again")
	}},
	"cancel": {inMiddle: true, try: func(t *testing.T, l *lab, begin func() subject) {
		t.Helper()
		s := begin()
		p := l.start(t, 0)
		l.middle(t, &s, p)
		w := l.Do(t, http.MethodPost, s.path+"/_actions/"+s.stop, nil, l.as)
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		p.link.thaw()
		before := l.requests()
		l.release()
		l.until(t, "the jobs end", func() bool { return l.idle(t, &s) })
		status, body := l.get(t, &s)
		assert.Equal(t, s.stopped, status, body)
		if s.stop == "cancel" { // a rule that is paused finishes the runs that it has begun
			assert.LessOrEqual(t, l.requests(), before+atOnce, "no more calls are made")
		}
		l.until(t, "the end of every call is known", func() bool {
			return l.Count(t, "SELECT count(*) FROM provider_calls WHERE status = 'running'") == 0
		})
	}},
	// The budget of the connection allows a part of the calls.
	"out of money": {ofModels: true, try: func(t *testing.T, l *lab, begin func() subject) {
		t.Helper()
		l.usage.Output = 2000
		budget := 0.0201 * 5
		patch := fmt.Sprintf(`{"monthly_budget_usd":%v}`, budget)
		apitest.Must[contract.Provider](t, l.Do(t, http.MethodPatch, "/v1/providers/"+l.connection.String(), patch, l.as), http.StatusOK)
		s := begin()
		l.start(t, 0)
		l.until(t, "the work ends", func() bool {
			status, _ := l.get(t, &s)
			return status != "queued" && status != "running" && l.idle(t, &s)
		})
		_, body := l.get(t, &s)
		assert.Contains(t, body, "budget", "it says why")
		assert.Less(t, l.requests(), s.calls)
		assert.NotContains(t, body, "tried several times")
	}},
	"throttled provider": {ofModels: true, try: func(t *testing.T, l *lab, begin func() subject) {
		t.Helper()
		const refused = 3
		for range refused {
			l.server.Next(provider.Reply{
				Error:  &provider.Error{Status: http.StatusTooManyRequests, Type: "rate_limit_error", Message: "slow down"},
				Header: http.Header{"Retry-After": {"1"}, "Retry-After-Ms": {"10"}},
			})
		}
		s := begin()
		l.start(t, 0)
		l.wantWhole(t, &s)
		assert.Equal(t, s.calls+refused, l.requests(), "a call is made again, and no other")
	}},
}

// TestConformance holds each kind of work to what the package promises: nothing is lost, nothing is stored twice, no call is paid twice but those
// that were under way, and what ends early says why.
func TestConformance(t *testing.T) {
	t.Parallel()
	for kind, begin := range kinds {
		for name, f := range faults {
			if f.ofModels && (kind == "import" || kind == "near-duplicates") {
				continue
			}
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				l := newLab(t)
				f.try(t, l, func() subject {
					s := begin(t, l)
					if s.stop == "" {
						s.stop, s.stopped = "cancel", "cancelled"
					}
					if f.inMiddle {
						l.hold = s.calls / 4
					}
					return s
				})
			})
		}
	}
}
