package diff_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

// toolRun is a run that looks things up, one after the other.
func toolRun(project uuid.UUID, start time.Time, queries ...string) []runmodel.Span {
	run := uuid.New()
	id := func(i int) uint64 { return uint64(run[0])<<56 | uint64(run[1])<<32 | uint64(i+1) }
	end := start.Add(time.Duration(len(queries)+1) * time.Second)
	spans := []runmodel.Span{{
		ProjectID: project, RunID: run, SpanID: id(0), Version: 1, StartTime: start, EndTime: end, Name: "agent", Kind: "agent",
	}}
	for i, q := range queries {
		at := start.Add(time.Duration(i) * time.Second)
		spans = append(spans, runmodel.Span{
			ProjectID: project, RunID: run, SpanID: id(i + 1), ParentSpanID: id(0), Version: 1, StartTime: at, EndTime: at.Add(time.Second),
			Name: "search", Kind: "tool", ToolName: "search", ToolArguments: `{"request_id": "` + uuid.NewString() + `", "q":"` + q + `"}`,
			ToolResult: "about " + q,
		})
	}
	return spans
}

func TestDiff(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	key := apitest.Bearer(e.Mint(t, session, project.Id, contract.ScopeRunsRead).Key)
	start := time.Now().Add(-time.Hour).UTC().Truncate(time.Microsecond)
	var queries []string
	for i := range 30 {
		queries = append(queries, "topic number "+strconv.Itoa(i))
	}
	other := append([]string{}, queries...)
	other[20] = "topic numbers 20"
	other = append(other[:25], other[26:]...)
	base, changed := toolRun(project.Id, start, queries...), toolRun(project.Id, start.Add(time.Minute), other...)
	again := toolRun(project.Id, start.Add(2*time.Minute), queries...)
	cost := 0.5
	changed[3].CostUSD, changed[3].CostSource, changed[3].RequestModel = &cost, "sent", ""
	apitest.StoreSpans(t, address, base, changed, again)
	path := func(a, b []runmodel.Span) string {
		return "/v1/runs/" + a[0].RunID.String() + "/diff/" + b[0].RunID.String()
	}
	t.Run("different", func(t *testing.T) {
		d := apitest.Must[contract.RunDiff](t, e.Do(t, http.MethodGet, path(base, changed), nil, key), http.StatusOK)
		assert.Equal(t, base[0].RunID, d.Base.RunId)
		assert.Equal(t, changed[0].RunID, d.Other.RunId)
		assert.Equal(t, 31, d.StepCount)
		assert.Equal(t, [5]int{29, 1, 0, 1, 0}, [5]int{d.Counts.Same, d.Counts.Changed, d.Counts.Added, d.Counts.Removed, d.Counts.Moved})
		assert.Greater(t, d.Distance, 0.)
		assert.Less(t, d.Distance, .05)
		require.NotNil(t, d.FirstDivergence)
		assert.Equal(t, runmodel.FormatSpanID(base[21].SpanID), *d.FirstDivergence.BaseSpanId)
		assert.Equal(t, 21, d.FirstDivergence.N)
		assert.InDelta(t, -1000, *d.Totals.DurationMs.Difference, 1e-6)
		assert.Nil(t, d.Totals.CostUsd.Base)
		assert.InDelta(t, .5, *d.Totals.CostUsd.Other, 1e-9)
		assert.Nil(t, d.Totals.CostUsd.Difference)
		assert.InDelta(t, -1, *d.Totals.Spans.Difference, 1e-9)
		assert.Nil(t, d.Totals.TotalTokens.Base)
		assert.False(t, d.Partial)

		require.Less(t, len(d.Steps), 15, "what is the same is folded")
		n := 0
		var removed, replaced *contract.RunDiffStep
		for i := range d.Steps {
			s := &d.Steps[i]
			assert.Equal(t, n, s.N)
			n += max(s.Folded, 1)
			switch s.State {
			case "removed":
				removed = s
			case "changed":
				replaced = s
			}
		}
		assert.Equal(t, d.StepCount, n, "folded ones are counted")
		require.NotNil(t, removed)
		assert.Nil(t, removed.Other)
		assert.Equal(t, 27, removed.Base.Number)
		require.NotNil(t, replaced)
		require.Len(t, replaced.Changes, 2)
		assert.Equal(t, contract.RunDiffChangeField("input"), replaced.Changes[0].Field)
		hunks := replaced.Changes[0].Hunks
		require.NotEmpty(t, hunks)
		for _, h := range hunks {
			assert.Equal(t, "/q", *h.Path, "an id that each run makes anew is in no hunk of its own: %v", h)
		}
	})
	t.Run("unfolded", func(t *testing.T) {
		d := apitest.Must[contract.RunDiff](t, e.Do(t, http.MethodGet, path(base, changed)+"?fold=false&offset=2&limit=5", nil, key), http.StatusOK)
		require.Len(t, d.Steps, 5)
		assert.Equal(t, 2, d.Steps[0].N)
		assert.Equal(t, 7, *d.NextOffset)
		last := apitest.Must[contract.RunDiff](t, e.Do(t, http.MethodGet, path(base, changed)+"?fold=false&offset=28", nil, key), http.StatusOK)
		require.Len(t, last.Steps, 3)
		assert.Nil(t, last.NextOffset)
	})
	t.Run("same", func(t *testing.T) {
		d := apitest.Must[contract.RunDiff](t, e.Do(t, http.MethodGet, path(base, again), nil, key), http.StatusOK)
		assert.Zero(t, d.Distance)
		assert.Nil(t, d.FirstDivergence)
		assert.Equal(t, 31, d.Counts.Same)
		require.Len(t, d.Steps, 1)
		assert.Equal(t, 31, d.Steps[0].Folded)
	})
	t.Run("long errors", func(t *testing.T) {
		failed := func(message string) []runmodel.Span {
			spans := toolRun(project.Id, start, "x")
			spans[1].Status, spans[1].ErrorType, spans[1].ErrorMessage = "error", "E", message
			apitest.StoreSpans(t, address, spans)
			return spans
		}
		for n, whole := range map[int]bool{990: true, 8000: false} {
			text := strings.Repeat("é", n/2)
			a, again, b := failed(text+" one"), failed(text+" one"), failed(text+" two")
			d := apitest.Must[contract.RunDiff](t, e.Do(t, http.MethodGet, path(a, again), nil, key), http.StatusOK)
			assert.Equal(t, 2, d.Counts.Same, n)
			d = apitest.Must[contract.RunDiff](t, e.Do(t, http.MethodGet, path(a, b), nil, key), http.StatusOK)
			require.Equal(t, 1, d.Counts.Changed, n)
			change := d.Steps[len(d.Steps)-1].Changes[0]
			assert.Equal(t, contract.RunDiffChangeField("error"), change.Field)
			assert.Equal(t, whole, change.Whole, n)
			for _, h := range change.Hunks {
				assert.NotContains(t, h.Text, "\uFFFD")
			}
		}
	})
	t.Run("long arguments", func(t *testing.T) {
		writer, err := clickhouse.NewWriter(t.Context(), address)
		require.NoError(t, err)
		defer writer.Close()
		wrote := func(part string) []runmodel.Span {
			spans := toolRun(project.Id, start, "x")
			spans[1].Operation, spans[1].ToolArguments, spans[1].ToolResult, spans[1].OutputMessageIDs = "chat", "", "", []uint64{1}
			frame, texts, err := runmodel.SplitContent(runmodel.ContentMessage, `{"role":"assistant","parts":[`+part+`]}`)
			require.NoError(t, err)
			require.NoError(t, writer.InsertContents(t.Context(), []runmodel.Content{{
				ProjectID: project.Id, Hour: start.Truncate(time.Hour), RunID: spans[0].RunID, ContentID: 1, Kind: runmodel.ContentMessage, Frame: frame, Texts: texts,
			}}))
			apitest.StoreSpans(t, address, spans)
			return spans
		}
		body := strings.Repeat("字 of a file, ", 400)
		for name, shape := range map[string]string{
			"object":   `{"type":"tool_call","id":"call_0123456789","name":"write","arguments":{"file":"a","text":"TEXT"}}`,
			"string":   `{"type":"tool_call","id":"call_0123456789","name":"write","arguments":"{\"file\":\"a\",\"text\":\"TEXT\"}"}`,
			"response": `{"type":"tool_call_response","id":"call_0123456789","response":{"file":"a","text":"TEXT"}}`,
		} {
			of := func(text string) []runmodel.Span { return wrote(strings.Replace(shape, "TEXT", text, 1)) }
			a, again, b, early := of(body+"one"), of(body+"one"), of(body+"two"), of("No "+body+"one")
			d := apitest.Must[contract.RunDiff](t, e.Do(t, http.MethodGet, path(a, again), nil, key), http.StatusOK)
			assert.Equal(t, 2, d.Counts.Same, name)
			for _, other := range [][]runmodel.Span{b, early} {
				d = apitest.Must[contract.RunDiff](t, e.Do(t, http.MethodGet, path(a, other), nil, key), http.StatusOK)
				require.Equal(t, 1, d.Counts.Changed, name)
				change := d.Steps[len(d.Steps)-1].Changes[0]
				assert.Positive(t, change.Distance)
				assert.False(t, change.Whole, name)
				for _, h := range change.Hunks {
					assert.NotRegexp(t, `\x{FFFD}|[0-9A-F]{14}|u0000|\x00`, h.Text, name)
				}
			}
			d = apitest.Must[contract.RunDiff](t, e.Do(t, http.MethodGet, path(a, wrote(`{"type":"text","content":"said"}`)), nil, key), http.StatusOK)
			for _, change := range d.Steps[len(d.Steps)-1].Changes {
				for _, h := range change.Hunks {
					assert.NotRegexp(t, `\x{FFFD}|[0-9A-F]{14}|u0000|\x00`, h.Text, name)
				}
			}
		}
	})
	t.Run("refused", func(t *testing.T) {
		for _, p := range []string{
			"/v1/runs/" + base[0].RunID.String() + "/diff/" + apitest.NoSuchID, "/v1/runs/" + apitest.NoSuchID + "/diff/" + base[0].RunID.String(),
		} {
			apitest.Golden(t, "not_found", e.Do(t, http.MethodGet, p, nil, key))
		}
		other := e.CreateProject(t, session, project.WorkspaceId, "other")
		stranger := apitest.Bearer(e.Mint(t, session, other.Id, contract.ScopeRunsRead).Key)
		apitest.Golden(t, "not_found", e.Do(t, http.MethodGet, path(base, changed), nil, stranger))
		theirs := toolRun(other.Id, start, "x")
		apitest.StoreSpans(t, address, theirs)
		apitest.Golden(t, "not_found", e.Do(t, http.MethodGet, path(base, theirs), nil, key))
		apitest.Golden(t, "not_found", e.Do(t, http.MethodGet, path(theirs, base), nil, key))
		got := apitest.WantProblem(t, e.Do(t, http.MethodGet, path(base, changed)+"?limit=0", nil, key), http.StatusUnprocessableEntity)
		assert.Equal(t, problem.CodeValidationFailed, got.Code)
	})
}
