package experiments_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/test/engines"
)

// lab sends experiments as SDKs of Langfuse do, to a project of its own.
type lab struct {
	*apitest.Env
	address string
	session string
	as      apitest.Option
	of      contract.ProjectAccess
	// project is where spans are sent.
	project uuid.UUID
}

func newLab(t *testing.T) *lab {
	t.Helper()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	l := &lab{Env: e, address: address, session: session, as: apitest.Cookie(session), of: project, project: project.Id}
	l.pass(t) // sets the mark
	return l
}

func (l *lab) pass(t *testing.T) {
	t.Helper()
	require.NoError(t, l.Experiments.Pass(t.Context()))
}

// sent is an item of an experiment to send. attributes replace those of its root; an empty text removes one.
type sent struct {
	trace      uuid.UUID
	root       byte
	name       string
	attributes map[string]any
	failure    string
	// evaluations are outputs of evaluators, by their names.
	evaluations map[string]string
	// only sends "root" or "evaluators" alone.
	only string
}

func (l *lab) send(t *testing.T, items ...sent) {
	t.Helper()
	for _, item := range items {
		td := ptrace.NewTraces()
		scope := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
		scope.Scope().SetName("langfuse-sdk")
		id := fmt.Sprintf("%016x", int(item.root))
		start := time.Now().UTC().Add(-time.Minute).Add(time.Duration(item.root) * time.Millisecond)
		attributes := map[string]any{
			"langfuse.observation.type": "span", "langfuse.experiment.id": "exp-1", "langfuse.experiment.name": "capitals - 2026-11-26T07:51:19Z",
			"langfuse.experiment.item.id": "fr", "langfuse.experiment.item.root_observation_id": id, "langfuse.experiment.item.expected_output": "Paris",
			"langfuse.observation.input": "What is the capital of France?", "langfuse.observation.output": "Paris",
			"langfuse.observation.metadata.experiment_name": `"capitals"`,
		}
		maps.Copy(attributes, item.attributes)
		maps.DeleteFunc(attributes, func(_ string, value any) bool { return value == "" })
		span := func(number byte, name string, attributes map[string]any) ptrace.Span {
			s := scope.Spans().AppendEmpty()
			s.SetTraceID(pcommon.TraceID(item.trace))
			s.SetSpanID(pcommon.SpanID{7: number})
			s.SetName(name)
			s.SetStartTimestamp(pcommon.NewTimestampFromTime(start.Add(time.Duration(number) * time.Millisecond)))
			s.SetEndTimestamp(pcommon.NewTimestampFromTime(start.Add(time.Duration(number)*time.Millisecond + 250*time.Millisecond)))
			require.NoError(t, s.Attributes().FromRaw(attributes))
			return s
		}
		if item.only != "evaluators" {
			s := span(item.root, item.name, attributes)
			if item.failure != "" {
				s.Status().SetCode(ptrace.StatusCodeError)
				s.Status().SetMessage(item.failure)
				s.Attributes().PutStr("error.type", "TimeoutError")
			}
		}
		number := item.root + 100
		for name, output := range item.evaluations {
			if item.only == "root" {
				break
			}
			number++
			s := span(number, name, map[string]any{
				"langfuse.observation.type": "evaluator", "langfuse.experiment.id": attributes["langfuse.experiment.id"],
				"langfuse.experiment.item.id": attributes["langfuse.experiment.item.id"], "langfuse.experiment.item.root_observation_id": id,
				"langfuse.observation.metadata.evaluator_kind": `"item"`, "langfuse.observation.output": output,
			})
			s.SetParentSpanID(pcommon.SpanID{7: item.root})
			if strings.HasPrefix(output, "{") {
				s.Status().SetCode(ptrace.StatusCodeError)
				s.Status().SetMessage("judge down")
			}
		}
		apitest.StoreTraces(t, l.address, l.project, td)
	}
}

func (l *lab) evalRuns(t *testing.T, as apitest.Option) []contract.EvalRun {
	t.Helper()
	return apitest.Must[contract.EvalRunPage](t, l.Do(t, http.MethodGet, "/v1/eval-runs?limit=100", nil, as), http.StatusOK).Data
}

// only returns the eval-run that there is.
func (l *lab) only(t *testing.T) contract.EvalRun {
	t.Helper()
	list := l.evalRuns(t, l.as)
	require.Len(t, list, 1, l.Log.String())
	return list[0]
}

func (l *lab) items(t *testing.T, run uuid.UUID) map[string]contract.EvalRunItem {
	t.Helper()
	page := apitest.Must[contract.EvalRunItemPage](t, l.Do(t, http.MethodGet, "/v1/eval-runs/"+run.String()+"/items?limit=500", nil, l.as), http.StatusOK)
	items := map[string]contract.EvalRunItem{}
	for _, item := range page.Data {
		items[*item.Key] = item
	}
	require.Len(t, items, len(page.Data))
	return items
}

const exactEvaluation = `[{"name": "exact", "value": 1.0, "comment": "the same", "data_type": "NUMERIC"}, {"name": "long", "value": false}, {"name": "tone", "value": "warm"}, {"name": "cost_usd", "value": 0.5}]`

// taskOf is an item as the SDK for Python sends it since 4.18: the task has a span of its own, and evaluators are spans.
func taskOf(key, input, output string) sent {
	return sent{trace: uuid.New(), root: 2, name: "experiment-item-task", evaluations: map[string]string{"exact_match": exactEvaluation}, attributes: map[string]any{
		"langfuse.experiment.item.id": key, "langfuse.observation.input": input, "langfuse.observation.output": output,
	}}
}

// TestManyProjects finds the experiment of one of 20,000 projects: the statement that looks for runs of all of them is not longer than
// ClickHouse reads.
func TestManyProjects(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.AddProjects(t, 20_000)
	l.send(t, taskOf("fr", "What is the capital of France?", "Paris"))
	l.pass(t)
	assert.EqualValues(t, 1, l.only(t).Progress.Total)
}

// TestMetadataFromTheStart proves that nobody sees an eval-run without its metadata: it has them even if the pass ends right after it began.
func TestMetadataFromTheStart(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	_, err := l.DB.Exec(t.Context(), `
		CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$;
		CREATE TRIGGER refuse BEFORE UPDATE OF metadata ON evaluations EXECUTE FUNCTION refuse()`)
	require.NoError(t, err)
	item := taskOf("fr", "What is the capital of France?", "Paris")
	item.attributes["langfuse.experiment.metadata"] = `{"model": "gpt-5"}`
	l.send(t, item)
	require.ErrorContains(t, l.Experiments.Pass(t.Context()), "refused")
	assert.Equal(t, "gpt-5", l.only(t).Metadata["model"])
}

func TestExperimentsOfLangfuse(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	first := taskOf("fr", "What is the capital of France?", "Paris")
	first.attributes["langfuse.experiment.metadata"] = `{"model": "gpt-5", "nested": {"a": 1}}`
	first.attributes["langfuse.experiment.description"] = "A test.\nOf two lines"
	first.attributes["langfuse.experiment.item.metadata"] = `{"tier": "gold", "n": 3}`
	structured := taskOf("it", `{"question": "Italy"}`, `{"answer": "Rome"}`)
	structured.attributes["langfuse.experiment.item.expected_output"] = `{"answer": "Rome"}`
	structured.evaluations = map[string]string{"broken": `{"error": "judge down"}`}
	failed := taskOf("es", "What is the capital of Spain?", "Error: no model")
	failed.failure, failed.evaluations = "no model", nil
	failed.attributes["langfuse.observation.level"] = "ERROR"
	none := taskOf("no", "42", "")
	none.attributes["langfuse.experiment.item.expected_output"] = ""
	l.send(t, first, structured, failed, none)
	l.pass(t)

	run := l.only(t)
	assert.Equal(t, "capitals", run.Name)
	assert.Equal(t, contract.EvaluationStatusRunning, run.Status)
	assert.Equal(t, "Langfuse capitals", run.Dataset.Name)
	assert.NotNil(t, run.Graders)
	assert.EqualValues(t, 4, run.Progress.Total)
	assert.EqualValues(t, 4, run.Progress.Done)
	assert.Equal(t, map[string]string{
		"langfuse.experiment_id": "exp-1", "langfuse.experiment": "capitals - 2026-11-26T07:51:19Z", "langfuse.description": "A test. Of two lines",
		"model": "gpt-5", "nested": `{"a": 1}`,
	}, run.Metadata)
	items := l.items(t, run.Id)
	require.Len(t, items, 4)
	one := items["fr"]
	assert.JSONEq(t, `"What is the capital of France?"`, string(*one.Input))
	assert.JSONEq(t, `"Paris"`, string(*one.ReferenceOutput))
	assert.JSONEq(t, `{"tier": "gold", "n": 3}`, string(*one.Metadata))
	output := one.Repeats[0].Result
	assert.JSONEq(t, `"Paris"`, string(*output.Output))
	assert.Equal(t, first.trace, *output.RunId)
	assert.InDelta(t, 250, *output.DurationMs, 1e-6)
	scores := map[string]contract.EvaluationScore{}
	for _, score := range output.Scores {
		scores[score.Name] = score
	}
	require.Len(t, scores, 4)
	assert.InDelta(t, 1, *scores["exact"].Score, 0)
	assert.Equal(t, "the same", scores["exact"].Reason)
	assert.False(t, *scores["long"].Pass)
	assert.Nil(t, scores["tone"].Score)
	assert.Contains(t, scores["tone"].Reason, `"warm" is not between 0 and 1`)
	assert.InDelta(t, 0.5, *scores["cost_usd (Langfuse)"].Score, 0)
	assert.JSONEq(t, `{"answer": "Rome"}`, string(*items["it"].Repeats[0].Result.Output))
	assert.JSONEq(t, `{"question": "Italy"}`, string(*items["it"].Input))
	assert.Equal(t, "judge down", *items["it"].Repeats[0].Result.Scores[0].Error)
	assert.Equal(t, "TimeoutError", items["es"].Repeats[0].Result.Error.Code)
	assert.JSONEq(t, `"42"`, string(*items["no"].Input), "the SDKs send the number and the text alike")
	recorded := apitest.Must[contract.Run](t, l.Do(t, http.MethodGet, "/v1/runs/"+first.trace.String(), nil, l.as), http.StatusOK)
	assert.Equal(t, contract.RunSourceEvaluation, recorded.Source)

	// It is finished when it is quiet, and a late result opens it again.
	l.pass(t)
	assert.Equal(t, contract.EvaluationStatusRunning, l.only(t).Status)
	l.Clock.Advance(3 * time.Minute)
	l.pass(t)
	assert.Equal(t, contract.EvaluationStatusSucceeded, l.only(t).Status)
	l.Work(t)
	summarized := func() (run contract.EvalRun) {
		require.Eventually(t, func() bool { run = l.only(t); return run.Summary != nil }, apitest.EvaluationTime, 50*time.Millisecond)
		return run
	}
	run = summarized()
	assert.EqualValues(t, 1, run.Accounting.TargetFailed)
	l.send(t, first) // sent again, it changes nothing
	l.pass(t)
	assert.Equal(t, contract.EvaluationStatusSucceeded, l.only(t).Status)
	l.send(t, taskOf("pt", "What is the capital of Portugal?", "Lisbon"))
	l.pass(t)
	run = l.only(t)
	assert.Equal(t, contract.EvaluationStatusRunning, run.Status)
	assert.EqualValues(t, 5, run.Progress.Done)
	l.Clock.Advance(3 * time.Minute)
	l.pass(t)
	run = summarized()
	assert.EqualValues(t, 5, run.Accounting.Items)
	assert.EqualValues(t, 0, run.Accounting.Pending)

	// A second experiment over the same data has the same dataset, so that the two can be compared.
	again := taskOf("fr", "What is the capital of France?", "Lyon")
	again.attributes["langfuse.experiment.name"] = "my own name"
	again.attributes["langfuse.experiment.id"] = "exp-2"
	again.attributes["langfuse.experiment.item.metadata"] = `{"tier": "gold", "n": 3}`
	l.send(t, again)
	l.pass(t)
	list := l.evalRuns(t, l.as)
	require.Len(t, list, 2)
	assert.Equal(t, list[1].Dataset.Id, list[0].Dataset.Id)
	assert.Equal(t, list[1].Dataset.Revision, list[0].Dataset.Revision, "the item did not change")
}

// TestExperimentRoots has the spans of other versions of the SDKs: the root of an item has its evaluators in it, or posts their scores.
func TestExperimentRoots(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	trace := uuid.New()
	older := func(root byte, key string) sent {
		return sent{trace: trace, root: root, name: "experiment-item-run", attributes: map[string]any{
			"langfuse.experiment.item.id": key, "langfuse.experiment.metadata.model": "gpt-5", "langfuse.experiment.item.metadata.tier": "gold",
			"langfuse.experiment.dataset.id": "ds-1", "langfuse.observation.metadata.experiment_name": "capitals",
		}}
	}
	// All items are in one trace, as in a function that is traced itself.
	items := []sent{older(2, "a"), older(3, "b"), older(4, "c")}
	l.send(t, items...)
	l.pass(t)
	run := l.only(t)
	assert.Equal(t, "Langfuse ds-1", run.Dataset.Name)
	assert.Equal(t, map[string]string{
		"langfuse.experiment_id": "exp-1", "langfuse.experiment": "capitals - 2026-11-26T07:51:19Z", "langfuse.dataset_id": "ds-1", "model": "gpt-5",
	}, run.Metadata)
	found := l.items(t, run.Id)
	require.Len(t, found, 3)
	assert.JSONEq(t, `{"tier": "gold"}`, string(*found["a"].Metadata))
	assert.Nil(t, found["a"].Repeats[0].Result.DurationMs, "it has the time of evaluators in it")
	assert.Empty(t, found["a"].Repeats[0].Result.Scores)

	// Of local data, each item has another id of the experiment, and one that failed does not have its name.
	for i := range items {
		items[i].attributes["langfuse.experiment.id"] = fmt.Sprint("item-", i)
		items[i].attributes["langfuse.experiment.dataset.id"] = ""
		items[i].trace = uuid.New()
	}
	items[0].failure, items[0].attributes["langfuse.observation.metadata.experiment_name"] = "no model", ""
	l.send(t, items...)
	l.pass(t)
	list := l.evalRuns(t, l.as)
	require.Len(t, list, 2)
	assert.Equal(t, "capitals", list[0].Name)
	assert.Equal(t, "Langfuse capitals", list[0].Dataset.Name)
	assert.Equal(t, contract.EvaluationProgress{Done: 3, Failed: 1, Total: 3}, list[0].Progress)
}

// TestExperimentsThatArriveInParts kills nothing: each pass sees a part, as after a kill, and what it adds twice is there once.
func TestExperimentsThatArriveInParts(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	item := taskOf("fr", "What is the capital of France?", "Paris")
	item.only = "root"
	l.send(t, item)
	l.pass(t)
	run := l.only(t)
	assert.Empty(t, l.items(t, run.Id)["fr"].Repeats[0].Result.Scores)
	item.only = "evaluators"
	l.send(t, item)
	l.pass(t)
	assert.Len(t, l.items(t, run.Id)["fr"].Repeats[0].Result.Scores, 4)
	assert.EqualValues(t, 1, l.only(t).Progress.Done)

	// After a kill between any two statements, the same runs are read again with what is stored.
	for _, lost := range []string{
		"UPDATE experiments SET begun = false",
		"DELETE FROM evaluation_outputs",
		"DELETE FROM evaluation_outputs; DELETE FROM evaluation_items",
		"DELETE FROM evaluation_outputs; DELETE FROM evaluation_items; DELETE FROM evaluations; UPDATE experiments SET begun = false",
		"DELETE FROM evaluations; UPDATE experiments SET begun = false; DELETE FROM experiment_datasets",
		"DELETE FROM evaluations; DELETE FROM experiments",
	} {
		for _, statement := range strings.Split(lost, "; ") {
			l.Exec(t, statement)
		}
		l.Exec(t, "INSERT INTO experiment_runs (project_id, run_id, written_at, next_attempt) VALUES ($1, $2, now(), now() - interval '1 hour')", l.project, item.trace)
		l.pass(t)
		again := l.only(t)
		items := l.items(t, again.Id)
		require.Len(t, items, 1, lost)
		assert.Len(t, items["fr"].Repeats[0].Result.Scores, 4, lost)
		assert.Equal(t, "exp-1", again.Metadata["langfuse.experiment_id"], lost)
		assert.Zero(t, l.Count(t, "SELECT count(*) FROM experiment_runs"), lost)
	}
}

func TestExperimentResultsThatAreNotUsed(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	unused := func() string { return l.only(t).Metadata["langfuse.unused_results"] }
	item := func(key string) sent { return taskOf(key, "Question "+key, "Answer") }
	second := item("a")
	second.attributes["langfuse.observation.output"] = "Another answer"
	large := item("large")
	large.attributes["langfuse.observation.input"] = strings.Repeat("x", 300<<10)
	nameless := item("")
	l.send(t, item("a"))
	l.pass(t)
	l.send(t, second, large, nameless, item("line\nbreak"), item(strings.Repeat("k", 300)))
	l.pass(t)
	run := l.only(t)
	assert.Equal(t, "5 (no_item_id: 3, second_result_of_item: 1, too_large: 1)", unused())
	assert.JSONEq(t, `"Answer"`, string(*l.items(t, run.Id)["a"].Repeats[0].Result.Output), "the first result of an item stays")
	l.send(t, second, large, nameless)
	l.pass(t)
	assert.True(t, strings.HasPrefix(unused(), "5 ("), "what is sent again is counted once")

	// The dataset changes under the eval-run: new items would change what it means.
	l.WriteItems(t, l.as, run.Dataset.Id, "upsert", "a=Another question")
	l.send(t, item("b"))
	l.pass(t)
	assert.Contains(t, unused(), "dataset_changed: 1")
	assert.EqualValues(t, 1, l.only(t).Progress.Total)

	// Somebody finishes it.
	apitest.Must[contract.EvalRunFinished](t, l.Do(t, http.MethodPost, "/v1/eval-runs/"+run.Id.String()+"/_actions/finish", nil, l.as), http.StatusOK)
	l.send(t, item("c"))
	l.pass(t)
	assert.Contains(t, unused(), "eval_run_ended: 1")
	assert.Equal(t, contract.EvaluationStatusSucceeded, l.only(t).Status)

	// It is deleted, and does not come again.
	require.Equal(t, http.StatusNoContent, l.Do(t, http.MethodDelete, "/v1/eval-runs/"+run.Id.String(), nil, l.as).Code)
	l.send(t, item("d"))
	l.pass(t)
	assert.Empty(t, l.evalRuns(t, l.as))
}

// TestHostileExperiments sends what no SDK does.
func TestHostileExperiments(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	hostile := taskOf("a", "{\"a\":1,\"a\":2}", "[\xff\x00")
	maps.Copy(hostile.attributes, map[string]any{
		"langfuse.experiment.id": strings.Repeat("i", 5000) + "\x00", "langfuse.experiment.name": strings.Repeat("é\n", 5000),
		"langfuse.observation.metadata.experiment_name": "<script>\x00" + strings.Repeat("n", 5000), "langfuse.experiment.description": strings.Repeat("d", 200<<10),
		"langfuse.experiment.item.metadata": "[1, 2", "langfuse.experiment.item.expected_output": strings.Repeat("[", 5000),
	})
	for i := range 200 {
		hostile.attributes[fmt.Sprintf("langfuse.experiment.metadata.%03d\x00%s", i, strings.Repeat("m", 300))] = strings.Repeat("v", 3000)
	}
	hostile.evaluations = map[string]string{"many": "[" + strings.TrimSuffix(strings.Repeat(`{"name":"a\u0000","value":1e300},{"value":null},`, 500), ",") + "]", "text": "no JSON", "list": "[1]"}
	l.send(t, hostile)
	l.pass(t)
	run := l.only(t)
	assert.Len(t, []rune(run.Name), 200)
	assert.Len(t, run.Metadata, 40)
	items := l.items(t, run.Id)
	one := items["a"]
	assert.JSONEq(t, `"{\"a\":1,\"a\":2}"`, string(*one.Input), "JSON that decoders read differently is a text")
	assert.JSONEq(t, `"[��"`, string(*one.Repeats[0].Result.Output))
	assert.JSONEq(t, `{"metadata": "[1, 2"}`, string(*one.Metadata))
	assert.NotEmpty(t, one.Repeats[0].Result.Scores)
	for _, score := range one.Repeats[0].Result.Scores {
		assert.Nil(t, score.Score)
	}

	// Another project that sends the same ids has an eval-run of its own.
	first := l.project
	l.project = l.CreateProject(t, l.session, l.of.WorkspaceId, "Other").Id
	l.send(t, hostile)
	l.pass(t)
	list := l.evalRuns(t, l.as)
	require.Len(t, list, 2)
	assert.Equal(t, l.project, list[0].ProjectId)
	assert.Equal(t, first, list[1].ProjectId)
	assert.NotEqual(t, list[0].Dataset.Id, list[1].Dataset.Id)
}

// TestExperimentsThatFail has a project in which no dataset can be made. It is tried again, and does not stop others.
func TestExperimentsThatFail(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	names := []string{"Langfuse capitals"}
	for n := 2; n <= 20; n++ {
		names = append(names, fmt.Sprintf("Langfuse capitals %d", n))
	}
	for _, name := range names {
		l.CreateDataset(t, l.as, l.project, name, "own")
	}
	l.send(t, taskOf("a", "Question", "Answer"))
	l.project = l.CreateProject(t, l.session, l.of.WorkspaceId, "Other").Id
	l.send(t, taskOf("a", "Question", "Answer"))
	require.ErrorContains(t, l.Experiments.Pass(t.Context()), `the names "Langfuse capitals" to "Langfuse capitals 20" are taken by other datasets: rename one`)
	assert.Equal(t, l.project, l.only(t).ProjectId)
	assert.Equal(t, 1, l.Count(t, "SELECT count(*) FROM experiment_runs WHERE attempts = 1"))

	l.Exec(t, "UPDATE datasets SET name = 'mine' WHERE name = 'Langfuse capitals 3'")
	l.pass(t) // it waits
	l.only(t)
	l.Clock.Advance(time.Minute)
	l.pass(t)
	list := l.evalRuns(t, l.as)
	require.Len(t, list, 2)
	assert.Equal(t, "Langfuse capitals 3", list[0].Dataset.Name)
	assert.Zero(t, l.Count(t, "SELECT count(*) FROM experiment_runs"))
}

// TestExperimentsFindRowsThatComeLate has a full page of runs that were written now, and then a row whose insert began before theirs.
func TestExperimentsFindRowsThatComeLate(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	conn, err := clickhouse.Open(l.address)
	require.NoError(t, err)
	defer conn.Close()
	insert := func(n, ago int) {
		require.NoError(t, conn.Exec(t.Context(), `INSERT INTO runs (project_id, run_id, version, start_time, end_time, name, kind, status, source, written_at)
			SELECT toUUID(?), generateUUIDv4(), 1, now64(9), now64(9), 'agent', 'agent', 'ok', 'evaluation', now64(3) - ? FROM numbers(?)`, l.project.String(), ago, n))
	}
	l.Exec(t, "CREATE TABLE noted (run_id uuid)")
	l.Exec(t, `CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO noted VALUES (NEW.run_id); RETURN NEW; END $$`)
	l.Exec(t, `CREATE TRIGGER note BEFORE INSERT ON experiment_runs FOR EACH ROW EXECUTE FUNCTION note()`)
	l.Exec(t, "UPDATE experiment_marks SET written_at = now() - interval '1 hour'")
	const page = 1000
	insert(page, 1)
	l.pass(t)
	insert(1, 5)
	l.pass(t)
	assert.Equal(t, page+1, l.Count(t, "SELECT count(DISTINCT run_id) FROM noted"))
}
