package apitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/provider"
)

// EvaluationTime is how long an evaluation may take.
const EvaluationTime = 60 * time.Second

// ExactGrader is a grader that compares with the reference output.
const ExactGrader = `{"name":"correct","type":"string_check","operation":"eq","input":"{{sample.output_text}}","reference":"{{item.reference_output}}"}`

// Questions are items whose reference output is the number in their input.
func Questions(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"key":"q%d","input":{"question":"number %d"},"reference_output":"%d","split":"test"}`, i, i, i)
	}
	return list
}

// CreateDatasetOf creates a dataset with items as JSON.
func (e *Env) CreateDatasetOf(t *testing.T, as Option, project uuid.UUID, name string, items ...string) contract.Dataset {
	t.Helper()
	created := Must[contract.Dataset](t, e.Do(t, http.MethodPost, "/v1/datasets", fmt.Sprintf(`{"project_id":%q,"name":%q}`, project, name), as), http.StatusCreated)
	body := `{"items":[` + strings.Join(items, ",") + `]}`
	Must[contract.DatasetWritten](t, e.Do(t, http.MethodPost, "/v1/datasets/"+created.Id.String()+"/items", body, as), http.StatusCreated)
	return created
}

// NumberIn returns the number of a question.
func NumberIn(q *provider.Request) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(q.Last(), "number "))
	return n
}

// Answering answers with the number in the question. Side B is wrong where the number is a multiple of ten, side A of three.
func Answering(q *provider.Request) *provider.Reply {
	n := NumberIn(q)
	wrong := map[string]int{"model-a": 3, "model-b": 10}[q.Model]
	text := strconv.Itoa(n)
	if wrong > 0 && n%wrong == 0 {
		text = "unknown"
	}
	return &provider.Reply{Text: text}
}

// ComparisonBody returns the body of a comparison. more has members that follow the others.
func ComparisonBody(project, dataset, connection uuid.UUID, more string) string {
	side := func(model string) string {
		return fmt.Sprintf(`{"provider_id":%q,"messages":[{"role":"user","content":"{{question}}"}],"model_config":{"model":%q,"max_output_tokens":20}}`, connection, model)
	}
	body := fmt.Sprintf(`{"project_id":%q,"dataset_id":%q`, project, dataset)
	for name, model := range map[string]string{"a": "model-a", "b": "model-b"} {
		if !strings.Contains(more, `"`+name+`":{`) {
			body += fmt.Sprintf(`,%q:%s`, name, side(model))
		}
	}
	if !strings.Contains(more, `"graders"`) {
		body += `,"graders":[` + ExactGrader + `]`
	}
	return body + more + "}"
}

// Compare starts a comparison.
func (e *Env) Compare(t *testing.T, as Option, body string) contract.Comparison {
	t.Helper()
	w := e.Do(t, http.MethodPost, "/v1/comparisons", body, as)
	started := Must[contract.Comparison](t, w, http.StatusCreated)
	assert.Equal(t, "/v1/comparisons/"+started.Id.String(), w.Header().Get("Location"))
	return started
}

// NumberedGrader is a grader that passes what starts with "number".
const NumberedGrader = `{"name":"numbered","type":"string_check","operation":"starts_with","reference":"number"}`

// BeginEvalRun begins an eval-run of a dataset. more has members of the request.
func (e *Env) BeginEvalRun(t *testing.T, as Option, project, dataset uuid.UUID, more string) contract.EvalRun {
	t.Helper()
	body := fmt.Sprintf(`{"project_id":%q,"name":"agent","dataset_id":%q,"target":{"external":true}%s}`, project, dataset, more)
	w := e.Do(t, http.MethodPost, "/v1/eval-runs", body, as)
	begun := Must[contract.EvalRun](t, w, http.StatusCreated)
	assert.Equal(t, "/v1/eval-runs/"+begun.Id.String(), w.Header().Get("Location"))
	return begun
}

// FillEvaluations makes a dataset with a cancelled comparison and an eval-run of it, each with a panel and an output with a label, and
// returns their ids and that of its item.
func (e *Env) FillEvaluations(t *testing.T, as Option, project, connection uuid.UUID, name string) (comparison, evalRun, item string) {
	t.Helper()
	dataset := e.CreateDatasetOf(t, as, project, name+" evaluated", Questions(1)...)
	items := Must[contract.DatasetItemPage](t, e.Do(t, http.MethodGet, "/v1/datasets/"+dataset.Id.String()+"/items", nil, as), http.StatusOK)
	panels := `,"panels":[` + PanelJSON("right", connection, BinaryScale, "text") + `]`
	compared := e.Compare(t, as, ComparisonBody(project, dataset.Id, connection, panels))
	Must[contract.Comparison](t, e.Do(t, http.MethodPost, "/v1/comparisons/"+compared.Id.String()+"/_actions/cancel", nil, as), http.StatusOK)
	e.Exec(t, `INSERT INTO evaluation_outputs (evaluation_id, number, side, repeat, status, output, requests, scores, created_at)
		VALUES ($1, 1, 0, 1, 'ok', '1', 1, '[]', now())`, compared.Id)
	run := e.BeginEvalRun(t, as, project, dataset.Id, panels)
	e.SendResults(t, as, &run, func(*contract.EvalRunItem, int) string { return `"output":1` })
	Must[contract.Label](t, e.Do(t, http.MethodPut, "/v1/eval-runs/"+run.Id.String()+"/items/"+items.Data[0].Id.String()+"/label", RightLabel, as), http.StatusOK)
	Must[contract.Label](t, e.Do(t, http.MethodPut, "/v1/comparisons/"+compared.Id.String()+"/items/"+items.Data[0].Id.String()+"/label", RightSideLabel, as), http.StatusOK)
	return compared.Id.String(), run.Id.String(), items.Data[0].Id.String()
}

// RightLabel labels the output of the eval-run that FillEvaluations makes, RightSideLabel that of the comparison.
const (
	RightLabel     = `{"panel":"right","repeat":1,"value":true}`
	RightSideLabel = `{"panel":"right","side":"a","repeat":1,"value":true}`
)

// SendResults sends a result for each item and repeat. result returns the members of a result, or "" for none.
func (e *Env) SendResults(t *testing.T, as Option, run *contract.EvalRun, result func(item *contract.EvalRunItem, repeat int) string) contract.EvalRunAdded {
	t.Helper()
	page := Must[contract.EvalRunItemPage](t, e.Do(t, http.MethodGet, "/v1/eval-runs/"+run.Id.String()+"/items?limit=500", nil, as), http.StatusOK)
	var list []string
	for i := range page.Data {
		for repeat := 1; repeat <= run.Repeats; repeat++ {
			if members := result(&page.Data[i], repeat); members != "" {
				list = append(list, fmt.Sprintf(`{"item_id":%q,"repeat":%d,%s}`, page.Data[i].ItemId, repeat, members))
			}
		}
	}
	return Must[contract.EvalRunAdded](t, e.Do(t, http.MethodPost, "/v1/eval-runs/"+run.Id.String()+"/results", `{"items":[`+strings.Join(list, ",")+`]}`, as), http.StatusOK)
}

// NumberSaid matches the number of what is judged.
var NumberSaid = regexp.MustCompile(`number (\d+)`)

// Judging answers judges as vote says, by the number in what is judged, and all others as Answering does. A canary has no number: it is -1.
func Judging(vote func(q *provider.Request, n int) *provider.Reply) func(*provider.Request) *provider.Reply {
	return func(q *provider.Request) *provider.Reply {
		if !strings.HasPrefix(q.Model, "judge") {
			return Answering(q)
		}
		n := -1
		for _, m := range q.Messages {
			if found := NumberSaid.FindStringSubmatch(m.Text); m.Role == "user" && found != nil {
				n, _ = strconv.Atoi(found[1])
			}
		}
		return vote(q, n)
	}
}

// Voted is the answer of a judge.
func Voted(value any) *provider.Reply {
	text, err := json.Marshal(map[string]any{"reason": "because", "value": value})
	if err != nil {
		panic(err)
	}
	return &provider.Reply{Text: string(text)}
}

// PanelJSON returns a panel whose judges have these models. more has members of each judge, such as its scale.
func PanelJSON(name string, connection uuid.UUID, more string, models ...string) string {
	judges := make([]string, len(models))
	for i, model := range models {
		judges[i] = fmt.Sprintf(`{"name":%q,"provider_id":%q,"model_config":{"model":%q,"max_output_tokens":100},"rubric":"Is it right?"%s}`, model, connection, model, more)
	}
	return fmt.Sprintf(`{"name":%q,"judges":[%s]}`, name, strings.Join(judges, ","))
}

// BinaryScale is the member of a judge that says pass or fail.
const BinaryScale = `,"scale":{"type":"binary"}`
