package agentview_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tiktoken-go/tokenizer"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

func TestAgentView(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	path := "/v1/runs/" + apitest.StoreRun(t, address, project.Id).String() + "/agent-view"
	key := apitest.Bearer(e.Mint(t, session, project.Id, contract.ScopeRunsRead).Key)
	o200k, err := tokenizer.Get(tokenizer.O200kBase)
	require.NoError(t, err)

	t.Run("json", func(t *testing.T) {
		w := e.Do(t, http.MethodGet, path, nil, key)
		view := apitest.Must[apitest.AgentView](t, w, http.StatusOK)
		assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
		counted, err := o200k.Count(w.Body.String())
		require.NoError(t, err)
		assert.Equal(t, counted, view.TokensUsed)
		require.Len(t, view.ErrorChain, 1)
		assert.Equal(t, apitest.RootSpan, view.ErrorChain[0].SpanID)
		require.Len(t, view.Steps, 3)
		assert.Regexp(t, `^<(\d{6}) error>Timeout: too slow<\d{6} input>What is 2\^53\+1\?</\d{6}>$`, view.Steps[0].Recorded)
		assert.Regexp(t, `^<(\d{6}) user>What is 2\^53\+1\?</\d{6}>$`, view.Steps[1].Recorded)
		assert.Equal(t, "multiply", view.Steps[2].Name)
		assert.Regexp(t, `^<(\d{6}) arguments>{"a":2}</\d{6}>$`, view.Steps[2].Recorded)
		assert.Nil(t, view.LeftOut)
	})
	t.Run("text", func(t *testing.T) {
		w := e.Do(t, http.MethodGet, path+"?format=text&token_budget=300", nil, key)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		assert.Equal(t, "text/markdown; charset=utf-8", w.Header().Get("Content-Type"))
		counted, err := o200k.Count(w.Body.String())
		require.NoError(t, err)
		assert.LessOrEqual(t, counted, 300)
		assert.True(t, strings.HasPrefix(w.Body.String(), "# Run\n"))
	})
	t.Run("suspects", func(t *testing.T) {
		start := time.Now().Add(-time.Hour).UTC().Truncate(time.Microsecond)
		spans := []runmodel.Span{{
			SpanID: 1, Name: "agent", Kind: runmodel.KindAgent, StartTime: start, EndTime: start.Add(time.Minute), Status: runmodel.StatusError, ErrorMessage: "no such order",
		}}
		for i, answer := range []string{"ok", "I cancel your order.", "I am sorry."} {
			at := start.Add(time.Duration(i) * time.Second)
			spans = append(spans, runmodel.Span{
				SpanID: uint64(i + 2), ParentSpanID: 1, Name: "chat", Kind: runmodel.KindLLM, StartTime: at, EndTime: at.Add(time.Second), Outputs: answer,
			})
		}
		run := uuid.New()
		for i := range spans {
			spans[i].ProjectID, spans[i].RunID, spans[i].Version = project.Id, run, 1
		}
		apitest.StoreSpans(t, address, spans)
		view := apitest.Must[apitest.AgentView](t, e.Do(t, http.MethodGet, "/v1/runs/"+run.String()+"/agent-view", nil, key), http.StatusOK)
		require.Len(t, view.Suspects, 3)
		assert.Equal(t, []int{3, 4, 2}, []int{view.Suspects[0].N, view.Suspects[1].N, view.Suspects[2].N})
		assert.Equal(t, "chat new", view.Suspects[0].Name+" "+view.Suspects[0].Why)
	})
	t.Run("long run", func(t *testing.T) {
		path := "/v1/runs/" + apitest.StoreLongRun(t, address, project.Id).String() + "/agent-view"
		w := e.Do(t, http.MethodGet, path+"?focus=0000000000000002&token_budget=2000", nil, key)
		view := apitest.Must[apitest.AgentView](t, w, http.StatusOK)
		counted, err := o200k.Count(w.Body.String())
		require.NoError(t, err)
		assert.Equal(t, counted, view.TokensUsed)
		require.NotNil(t, view.LeftOut)
		assert.Equal(t, 2000, view.LeftOut.Steps+len(view.Steps))
		var focused string
		for _, step := range view.Steps {
			if step.SpanID == "0000000000000002" {
				focused = step.Recorded
			}
		}
		assert.Contains(t, focused, "it goes on it goes on")
		assert.Regexp(t, `<\d{6} \d+\+ bytes left out>`, focused, "the store has more than was read")
		assert.Regexp(t, `<\d{6} input>\d+ bytes`, focused, "an image is shown as its size")

		next := apitest.Must[apitest.AgentView](t, e.Do(t, http.MethodGet, strings.TrimPrefix(view.LeftOut.Next, "GET "), nil, key), http.StatusOK)
		assert.NotEmpty(t, next.Steps)
	})
	t.Run("refused", func(t *testing.T) {
		for _, focus := range []string{"00000000000000ff", "0000000000000000"} {
			apitest.Golden(t, "not_found", e.Do(t, http.MethodGet, path+"?focus="+focus, nil, key))
		}
		apitest.Golden(t, "not_found", e.Do(t, http.MethodGet, "/v1/runs/"+apitest.NoSuchID+"/agent-view", nil, key))
		for _, query := range []string{"token_budget=255", "token_budget=100001", "focus=A1", "format=xml"} {
			got := apitest.WantProblem(t, e.Do(t, http.MethodGet, path+"?"+query, nil, key), http.StatusUnprocessableEntity)
			assert.Equal(t, problem.CodeValidationFailed, got.Code, query)
		}
		ingest := apitest.Bearer(e.Mint(t, session, project.Id, contract.ScopeIngestWrite).Key)
		assert.Equal(t, http.StatusForbidden, e.Do(t, http.MethodGet, path, nil, ingest).Code)
		other := e.CreateProject(t, session, project.WorkspaceId, "other")
		stranger := apitest.Bearer(e.Mint(t, session, other.Id, contract.ScopeRunsRead).Key)
		apitest.Golden(t, "not_found", e.Do(t, http.MethodGet, path, nil, stranger))
	})
}

// TestAgentViewLongTexts: what is read of a text is cut at 16 KiB, and where it is cut the view says so.
func TestAgentViewLongTexts(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	key := apitest.Bearer(e.Mint(t, session, project.Id, contract.ScopeRunsRead).Key)
	start := time.Now().Add(-time.Hour).UTC().Truncate(time.Microsecond)
	stored := func(t *testing.T, span runmodel.Span, messages ...string) apitest.AgentView {
		t.Helper()
		span.ProjectID, span.RunID, span.SpanID, span.Version = project.Id, uuid.New(), 1, 1
		span.StartTime, span.EndTime, span.Name = start, start.Add(time.Second), "step"
		writer, err := clickhouse.NewWriter(t.Context(), address)
		require.NoError(t, err)
		defer writer.Close()
		for i, text := range messages {
			content, err := json.Marshal(text)
			require.NoError(t, err)
			frame, texts, err := runmodel.SplitContent(runmodel.ContentMessage, `{"role":"assistant","parts":[{"type":"text","content":`+string(content)+`}]}`)
			require.NoError(t, err)
			span.OutputMessageIDs = append(span.OutputMessageIDs, uint64(i+1))
			require.NoError(t, writer.InsertContents(t.Context(), []runmodel.Content{{
				ProjectID: project.Id, Hour: start.Truncate(time.Hour), RunID: span.RunID, ContentID: uint64(i + 1), Kind: runmodel.ContentMessage, Frame: frame, Texts: texts,
			}}))
		}
		apitest.StoreSpans(t, address, []runmodel.Span{span})
		view := apitest.Must[apitest.AgentView](t, e.Do(t, http.MethodGet, "/v1/runs/"+span.RunID.String()+"/agent-view?token_budget=100000", nil, key), http.StatusOK)
		require.Len(t, view.Steps, 1)
		return view
	}
	const excerpt = 16 << 10
	long := func(n int) string { return strings.Repeat("it goes on ", n/11+1)[:n] }
	for name, test := range map[string]struct {
		span     runmodel.Span
		messages []string
		want     string // what is shown at the end, before the marks
		cut      bool
	}{
		"error":                             {runmodel.Span{ErrorMessage: long(990) + "at the end"}, nil, "at the end", false},
		"error of wide letters":             {runmodel.Span{ErrorType: "E", ErrorMessage: strings.Repeat("é", 400) + "at the end"}, nil, "ééat the end", false},
		"long error":                        {runmodel.Span{ErrorMessage: long(20_000)}, nil, "goes on it go", true},
		"output of just as much":            {runmodel.Span{Outputs: long(excerpt-5) + "ended"}, nil, "ended", false},
		"output of a byte more":             {runmodel.Span{Outputs: long(excerpt-5) + "ended!"}, nil, "ended", true},
		"output cut in white space":         {runmodel.Span{Outputs: long(excerpt-10) + "ended" + strings.Repeat(" ", 20) + "and more"}, nil, "ended", true},
		"output that begins with such":      {runmodel.Span{Outputs: strings.Repeat(" ", 20) + long(excerpt-25) + "ended" + "and more"}, nil, "ended", true},
		"output cut in a letter":            {runmodel.Span{Outputs: long(excerpt-6) + "ended" + "漢字"}, nil, "ended", true},
		"message":                           {runmodel.Span{}, []string{long(excerpt-5) + "ended"}, "ended", false},
		"message of a byte more":            {runmodel.Span{}, []string{long(excerpt-5) + "ended!"}, "ended", true},
		"message cut in a letter":           {runmodel.Span{}, []string{long(excerpt-6) + "ended" + "漢字"}, "ended", true},
		"messages that are long together":   {runmodel.Span{}, []string{long(12_000), long(12_000) + "ended"}, "ended", false},
		"messages of which the first is so": {runmodel.Span{}, []string{long(20_000), "ended"}, "ended", true},
	} {
		t.Run(name, func(t *testing.T) {
			view := stored(t, test.span, test.messages...)
			recorded := view.Steps[0].Recorded
			assert.NotContains(t, recorded, "\uFFFD")
			if test.cut {
				assert.Regexp(t, test.want+` ?<\d{6} 1\+ bytes left out></\d{6}>$`, recorded)
				require.NotNil(t, view.Cut)
				assert.Equal(t, 1, view.Cut.Steps)
			} else {
				assert.Regexp(t, test.want+`</\d{6}>$`, recorded)
				assert.Nil(t, view.Cut)
			}
		})
	}
}
