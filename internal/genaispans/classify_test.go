package genaispans

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/genailogs"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/runpdata"
)

// stored returns what the store says of the spans of td once they are mapped: whether each is GenAI. It is nil for a span
// that cannot be stored. td stays as it is.
func stored(tb testing.TB, m *Mapper, td ptrace.Traces) []*bool {
	tb.Helper()
	mapped := ptrace.NewTraces()
	td.CopyTo(mapped)
	m.Map(mapped)
	for _, rs := range mapped.ResourceSpans().All() {
		rs.Resource().Attributes().PutStr(runmodel.KeyProjectID, uuid.Nil.String())
	}
	var rows runpdata.Rows
	require.NoError(tb, rows.Add(mapped))
	var list []*bool
	for _, rs := range mapped.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				if s.TraceID().IsEmpty() || s.SpanID().IsEmpty() {
					list = append(list, nil)
					continue
				}
				list = append(list, new(rows.Spans[0].IsGenAI()))
				rows.Spans = rows.Spans[1:]
			}
		}
	}
	require.Empty(tb, rows.Spans)
	return list
}

// requireClassified checks that Classify says what the store does, and changes nothing. It returns the number of spans that are
// GenAI.
func requireClassified(tb testing.TB, m *Mapper, td ptrace.Traces, of string) (genAI int) {
	tb.Helper()
	var encoder ptrace.ProtoMarshaler
	before, err := encoder.MarshalTraces(td)
	require.NoError(tb, err)
	want := stored(tb, m, td)
	i := 0
	m.Classify(td, func(s ptrace.Span, isGenAI bool) {
		if isGenAI {
			genAI++
		}
		if want[i] != nil {
			require.Equal(tb, *want[i], isGenAI, "%s: span %d, %q: %v", of, i, s.Name(), s.Attributes().AsRaw())
		}
		i++
	})
	require.Len(tb, want, i, of)
	after, err := encoder.MarshalTraces(td)
	require.NoError(tb, err)
	require.Equal(tb, before, after, of)
	return genAI
}

// TestClassifyRecorded checks every payload of test/conformance and internal/runpdata.
func TestClassifyRecorded(t *testing.T) {
	t.Parallel()
	m := NewMapper(nil)
	spans, genAI := 0, 0
	check := func(td ptrace.Traces, file string) {
		n := requireClassified(t, m, td, file)
		spans, genAI = spans+td.SpanCount(), genAI+n
		// As an export of Looptrace.
		m.Map(td)
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				ss.Scope().Attributes().PutBool(runmodel.KeyExported, true)
			}
		}
		require.Equal(t, n, requireClassified(t, m, td, file), file)
	}
	for _, folder := range []string{"../../test/conformance/testdata", "../runpdata/testdata/rows"} {
		require.NoError(t, filepath.WalkDir(folder, func(file string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(file) != ".json" {
				return err
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			// Other files of the folders are no OTLP.
			if td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(text); err == nil {
				check(td, file)
			}
			if ld, err := (&plog.JSONUnmarshaler{}).UnmarshalLogs(text); err == nil {
				td, _ := genailogs.ToSpans(ld)
				check(td, file)
			}
			return nil
		}))
	}
	require.Greater(t, genAI, 1000)
	require.Greater(t, spans, genAI)
}

func TestClassify(t *testing.T) {
	t.Parallel()
	http := map[string]any{"http.request.method": "GET", "url.full": "https://example.com/"}
	with := func(key string, value any) map[string]any {
		attrs := maps.Clone(http)
		attrs[key] = value
		return attrs
	}
	rules := []Rule{{To: runmodel.KeyRequestModel, From: []string{"acme.model"}, When: Condition{Scope: "acme*"}}}
	for name, test := range map[string]struct {
		scope    string
		exported bool
		rules    []Rule
		attrs    map[string]any
		want     bool
	}{
		"an HTTP request":                            {attrs: http},
		"an HTTP request of a platform's SDK":        {scope: "langfuse-sdk", attrs: http},
		"an HTTP request that a platform marked":     {attrs: with("sentry.op", "http.client")},
		"an HTTP request with an agent's name":       {attrs: with("gen_ai.agent.name", "clerk")},
		"an operation":                               {attrs: map[string]any{"gen_ai.operation.name": "chat"}, want: true},
		"a model alone":                              {attrs: map[string]any{"gen_ai.request.model": "gpt-5"}, want: true},
		"a kind of a dialect":                        {attrs: map[string]any{"openinference.span.kind": "RERANKER"}, want: true},
		"tokens of a dialect":                        {attrs: map[string]any{"llm.token_count.prompt": 7}, want: true},
		"tokens that no dialect knows":               {attrs: with(runmodel.KeyOtherTokens, 7), want: true},
		"a native run":                               {attrs: map[string]any{runmodel.KeyRun: true}, want: true},
		"a plain span of the native API":             {attrs: map[string]any{runmodel.KeyKind: runmodel.KindSpan}},
		"messages alone":                             {attrs: map[string]any{runmodel.KeyFromLog: true, runmodel.KeyInputMessages: asked}, want: true},
		"a record beside calls":                      {attrs: map[string]any{runmodel.KeyFromLog: true}},
		"a call that Looptrace exported":             {exported: true, attrs: map[string]any{"gen_ai.operation.name": "chat"}, want: true},
		"an export of what was not mapped":           {exported: true, attrs: map[string]any{"openinference.span.kind": "LLM"}},
		"an attribute that a rule maps":              {scope: "acme", rules: rules, attrs: with("acme.model", "a-7"), want: true},
		"an attribute that a rule maps in an export": {scope: "acme", exported: true, rules: rules, attrs: with("acme.model", "a-7")},
		"an attribute that a rule of a scope maps":   {scope: "other", rules: rules, attrs: with("acme.model", "a-7")},
	} {
		td := ptrace.NewTraces()
		ss := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
		ss.Scope().SetName(test.scope)
		if test.exported {
			ss.Scope().Attributes().PutBool(runmodel.KeyExported, true)
		}
		s := ss.Spans().AppendEmpty()
		s.SetTraceID(pcommon.TraceID{1})
		s.SetSpanID(pcommon.SpanID{1})
		require.NoError(t, s.Attributes().FromRaw(test.attrs))
		assert.Equal(t, test.want, requireClassified(t, NewMapper(test.rules), td, name) == 1, name)
	}
}

// TestClassifyRepeatedKeys checks spans that state their operation twice: the store keeps the last.
func TestClassifyRepeatedKeys(t *testing.T) {
	t.Parallel()
	for _, values := range [][2]string{{"chat", ""}, {"", "chat"}, {"", ""}} {
		td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(fmt.Appendf(nil, `{"resourceSpans":[{"scopeSpans":[{"spans":[
			{"traceId":"00000000000000000000000000000001","spanId":"0000000000000001","attributes":[
				{"key":%[1]q,"value":{"stringValue":%[2]q}},{"key":%[1]q,"value":{"stringValue":%[3]q}}]}]}]}]}`,
			runmodel.KeyOperationName, values[0], values[1]))
		require.NoError(t, err)
		require.Equal(t, 2, td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes().Len())
		assert.Equal(t, values[1] != "", requireClassified(t, NewMapper(nil), td, fmt.Sprint(values)) == 1, "%q", values)
	}
}

// TestClassifyAllocatesNothing is not parallel: others would allocate meanwhile.
func TestClassifyAllocatesNothing(t *testing.T) {
	td := ptrace.NewTraces()
	for _, scope := range []string{"opentelemetry.instrumentation.fastapi", "opentelemetry.instrumentation.asyncpg"} {
		ss := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
		ss.Scope().SetName(scope)
		httpSpan(ss.Spans().AppendEmpty(), 0)
		query := ss.Spans().AppendEmpty().Attributes()
		query.PutStr("db.system.name", "postgresql")
		query.PutStr("db.query.text", "SELECT 1")
		query.PutStr("db.operation.name", "SELECT")
		query.PutInt("db.response.returned_rows", 1)
	}
	m := NewMapper(nil)
	calls := 0
	classify := func() {
		m.Classify(td, func(_ ptrace.Span, isGenAI bool) {
			if !isGenAI {
				calls++
			}
		})
	}
	const runs = 100
	assert.Zero(t, testing.AllocsPerRun(runs, classify))
	assert.Equal(t, (runs+1)*td.SpanCount(), calls)
}
