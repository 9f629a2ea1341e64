package evaluations_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/provider"
)

// ratedTable is a published table of ratings. Votes are those of each output by judge, nil for one that is missing.
type ratedTable struct {
	ID    string `json:"id"`
	Scale struct {
		Type     string
		Min, Max float64
		Labels   []string
	}
	Votes     [][]*float64
	Expected  map[string]float64
	Tolerance float64
}

func ratedTables(t *testing.T) []ratedTable {
	t.Helper()
	data, err := os.ReadFile("panel/testdata/golden.json")
	require.NoError(t, err)
	var file struct{ Cases []ratedTable }
	require.NoError(t, json.Unmarshal(data, &file))
	require.NotEmpty(t, file.Cases)
	return file.Cases
}

// scale is the scale of the judges that vote as the table does.
func (r *ratedTable) scale(t *testing.T) string {
	t.Helper()
	switch r.Scale.Type {
	case "binary":
		return apitest.BinaryScale
	case "categorical":
		labels, err := json.Marshal(r.Scale.Labels)
		require.NoError(t, err)
		return fmt.Sprintf(`,"scale":{"type":"categorical","labels":%s}`, labels)
	}
	return fmt.Sprintf(`,"scale":{"type":%q,"min":%v,"max":%v}`, r.Scale.Type, r.Scale.Min, r.Scale.Max)
}

// vote is what a judge says of an output.
func (r *ratedTable) vote(output, judge int) *provider.Reply {
	value := r.Votes[output][judge]
	switch {
	case value == nil:
		failures := []provider.Reply{
			{Text: "I would give it four out of five."},
			{Refusal: "I can't assist with that."},
			{Text: `{"reason": "cut", "val`, Finish: "length"},
			{Error: &provider.Error{Status: http.StatusBadRequest, Type: "invalid_request_error", Message: "no"}},
		}
		return &failures[output%len(failures)]
	case r.Scale.Type == "binary":
		return apitest.Voted([]string{"fail", "pass"}[int(*value)])
	case r.Scale.Type == "categorical":
		return apitest.Voted(r.Scale.Labels[int(*value)])
	}
	return apitest.Voted(*value)
}

// TestPublishedAgreement: judges that vote as published tables do, with failures for the gaps, agree as their sources say.
func TestPublishedAgreement(t *testing.T) {
	t.Parallel()
	tables := ratedTables(t)
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{Answer: apitest.Judging(func(q *provider.Request, n int) *provider.Reply {
		var table, judge int
		if _, err := fmt.Sscanf(q.Model, "judge-%d-%d", &table, &judge); err != nil || n < 0 {
			return &provider.Reply{Text: "I see no number."} // a canary
		}
		return tables[table].vote(n, judge)
	})})
	made := e.Connect(t, as, project.Id, "openai", server, `,"max_concurrency":50`)
	for i := range tables {
		table := &tables[i]
		t.Run(table.ID, func(t *testing.T) {
			t.Parallel()
			items, judges := len(table.Votes), len(table.Votes[0])
			models := make([]string, judges)
			for j := range models {
				models[j] = fmt.Sprintf("judge-%d-%d", i, j)
			}
			dataset := e.CreateDatasetOf(t, as, project.Id, table.ID, apitest.Questions(items)...)
			ended := evaluated(t, e, as, evaluate(t, e, as, project.Id, dataset.Id, `{"outputs":"reference"}`,
				`,"panels":[`+apitest.PanelJSON("panel", made.Id, table.scale(t), models...)+`]`).Id)
			require.Equal(t, contract.EvaluationStatusSucceeded, ended.Status, "%+v", ended.Error)

			valid := 0
			for _, row := range table.Votes {
				for _, value := range row {
					if value != nil {
						valid++
					}
				}
			}
			v := ended.Accounting.Votes
			assert.EqualValues(t, items*judges, v.Total)
			assert.EqualValues(t, valid, v.Ok)
			assert.EqualValues(t, items*judges-valid, v.ParseError+v.Refused+v.ProviderError)

			reliability := ended.Summary.Panels[0].Reliability
			require.NotNil(t, reliability)
			assert.Equal(t, judges, reliability.Raters)
			text, err := json.Marshal(reliability)
			require.NoError(t, err)
			var figures map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(text, &figures))
			require.NotEmpty(t, table.Expected)
			for name, want := range table.Expected {
				var figure contract.ReliabilityFigure
				require.NoError(t, json.Unmarshal(figures[name], &figure), name)
				require.NotNil(t, figure.Value, name)
				assert.InDelta(t, want, *figure.Value, table.Tolerance, name)
			}
			report := e.Do(t, http.MethodGet, "/v1/eval-runs/"+ended.Id.String()+"/report?format=json", nil, as)
			require.Equal(t, http.StatusOK, report.Code, report.Body)
			assert.Contains(t, report.Body.String(), strings.TrimSuffix(string(text), "}"), "the report says the same")
		})
	}
}
