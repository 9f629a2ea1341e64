// Package store tests the run store from end to end: what the exporter writes is what the control plane reads.
package store

import (
	"cmp"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/components/clickhouserunsexporter"
	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/access/accesstest"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

var base = time.Date(2026, 3, 1, 11, 59, 58, 0, time.UTC)

type store struct {
	project  uuid.UUID
	projects access.Projects
	exporter exporter.Traces
	url      string
	*runs.Service
}

func newStore(t *testing.T) store {
	t.Helper()
	url := engines.ClickHouse(t)
	conn, err := clickhouse.Open(url)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	project := uuid.New()
	return store{project, accesstest.Projects(t, project), newExporter(t, url), url, runs.NewService(conn, nil, nil, slog.New(slog.DiscardHandler))}
}

func newExporter(t *testing.T, url string) exporter.Traces {
	t.Helper()
	factory := clickhouserunsexporter.NewFactory()
	config := factory.CreateDefaultConfig().(*clickhouserunsexporter.Config)
	config.URL = configopaque.String(url)
	e, err := factory.CreateTraces(t.Context(), exportertest.NewNopSettings(factory.Type()), config)
	require.NoError(t, err)
	require.NoError(t, e.Start(t.Context(), componenttest.NewNopHost()))
	t.Cleanup(func() { assert.NoError(t, e.Shutdown(t.Context())) })
	return e
}

// delivery is one record of the queue: spans under one resource, received at one time.
func (s store) delivery(received time.Time, spans ...func(ptrace.Span)) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr(runmodel.KeyProjectID, s.project.String())
	rs.Resource().Attributes().PutInt(runmodel.KeyReceivedAt, received.UnixNano())
	rs.Resource().Attributes().PutStr("service.name", "shop")
	scope := rs.ScopeSpans().AppendEmpty()
	scope.Scope().SetName("test")
	for _, fill := range spans {
		fill(scope.Spans().AppendEmpty())
	}
	return td
}

func span(run uuid.UUID, id, parent uint64, start, end time.Duration, attributes map[string]any) func(ptrace.Span) {
	return func(s ptrace.Span) {
		s.SetTraceID(pcommon.TraceID(run))
		s.SetSpanID(spanID(id))
		if parent != 0 {
			s.SetParentSpanID(spanID(parent))
		}
		s.SetName("step " + strconv.FormatUint(id, 10))
		s.SetStartTimestamp(pcommon.NewTimestampFromTime(base.Add(start)))
		if end != 0 {
			s.SetEndTimestamp(pcommon.NewTimestampFromTime(base.Add(end)))
		}
		if err := s.Attributes().FromRaw(attributes); err != nil {
			panic(err) // the tests' own attributes
		}
	}
}

func spanID(id uint64) pcommon.SpanID {
	var b pcommon.SpanID
	for i := range b {
		b[7-i] = byte(id >> (8 * i))
	}
	return b
}

func modelCall(input string, in, out int64) map[string]any {
	return map[string]any{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-4o",
		"gen_ai.usage.input_tokens": in, "gen_ai.usage.output_tokens": out,
		"gen_ai.input.messages":  `[{"role":"user","parts":[{"type":"text","content":"` + input + `"}]}]`,
		"gen_ai.output.messages": `[{"role":"assistant","parts":[{"type":"text","content":"answer to ` + input + `"}],"finish_reason":"stop"}]`,
	}
}

// list lists runs. Many tests store plain spans, so all traces are listed.
func list(t *testing.T, s store, q runs.ListQuery) []runs.Run {
	t.Helper()
	q.ProjectID, q.Traces = s.project, cmp.Or(q.Traces, runs.TracesAll)
	if q.Limit == 0 {
		q.Limit = 100
	}
	page, err := s.List(t.Context(), s.projects, q)
	require.NoError(t, err)
	return page.Runs
}

// TestDeliveryDoesNotMatter compares reads with the reference fold: however spans are divided into batches, repeated
// and reordered, and whichever of two writers writes them, runs and spans must be the same.
func TestDeliveryDoesNotMatter(t *testing.T) {
	t.Parallel()
	once := newStore(t)
	random := rand.New(rand.NewPCG(1, 2))
	var deliveries []ptrace.Traces
	for run := range 12 {
		id := uuid.New()
		for n := range uint64(1 + random.IntN(12)) {
			start := time.Duration(n) * 700 * time.Millisecond // across the end of an hour, 2 s after base
			deliveries = append(deliveries, once.delivery(base.Add(time.Hour+time.Duration(run)*time.Minute+start),
				span(id, n+1, n/2, start, start+time.Second, modelCall(strings.Repeat("long ", int(n%2)*100)+"question "+strconv.FormatUint(n, 10), 10, 1)),
				span(id, n+100, n+1, start+1, start+2, map[string]any{"gen_ai.operation.name": "execute_tool", "n": int64(n)}),
			))
		}
		// The same span again, with other fields, later.
		deliveries = append(deliveries, once.delivery(base.Add(2*time.Hour), span(id, 1, 0, 0, 3*time.Second, map[string]any{"session.id": "s", "late": true})))
	}
	for _, td := range deliveries {
		require.NoError(t, once.exporter.ConsumeTraces(t.Context(), copyOf(td)))
	}
	want := list(t, once, runs.ListQuery{})
	require.Len(t, want, 12)

	for range 3 {
		again := newStore(t)
		again.project, again.projects = once.project, once.projects
		second := newExporter(t, again.url)
		sent := append(append([]ptrace.Traces{}, deliveries...), deliveries[:len(deliveries)/2]...)
		random.Shuffle(len(sent), func(i, j int) { sent[i], sent[j] = sent[j], sent[i] })
		done := make(chan error, len(sent))
		var started int
		for len(sent) > 0 {
			n := min(1+random.IntN(8), len(sent))
			batch := ptrace.NewTraces()
			for _, td := range sent[:n] {
				copyOf(td).ResourceSpans().MoveAndAppendTo(batch.ResourceSpans())
			}
			sent = sent[n:]
			writer := again.exporter
			if started%2 == 1 {
				writer = second
			}
			started++
			go func() { done <- writer.ConsumeTraces(t.Context(), batch) }()
			if started%2 == 0 { // two concurrent writers
				require.NoError(t, <-done)
				require.NoError(t, <-done)
				started = 0
			}
		}
		for range started {
			require.NoError(t, <-done)
		}
		got := list(t, again, runs.ListQuery{})
		require.Equal(t, want, got)
		for _, run := range want {
			wantSpans, err := once.Spans(t.Context(), once.projects, run.RunID, runs.SpansQuery{Full: true, Limit: 1000})
			require.NoError(t, err)
			gotSpans, err := again.Spans(t.Context(), again.projects, run.RunID, runs.SpansQuery{Full: true, Limit: 1000})
			require.NoError(t, err)
			require.Equal(t, wantSpans, gotSpans)
		}
	}
}

func copyOf(td ptrace.Traces) ptrace.Traces {
	c := ptrace.NewTraces()
	td.CopyTo(c)
	return c
}

// TestBatchesInFlight writes two batches concurrently, which belong to the same runs on both sides of an hour: a run
// must not remain under the hour of its later span.
func TestBatchesInFlight(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	const rounds, runsEach = 30, 3
	for round := range rounds {
		var early, late []func(ptrace.Span)
		for range runsEach {
			run := uuid.New()
			early = append(early, span(run, 1, 0, 0, time.Minute, nil))
			late = append(late, span(run, 2, 1, 10*time.Second, 20*time.Second, nil))
		}
		var batches errgroup.Group
		batches.Go(func() error {
			time.Sleep(time.Duration(round%10) * time.Millisecond) // a different delay in each round
			return s.exporter.ConsumeTraces(t.Context(), s.delivery(base.Add(time.Hour), early...))
		})
		batches.Go(func() error { return s.exporter.ConsumeTraces(t.Context(), s.delivery(base.Add(time.Hour), late...)) })
		require.NoError(t, batches.Wait())
	}
	got := list(t, s, runs.ListQuery{})
	assert.Len(t, got, rounds*runsEach, "each run is listed once")
	for _, run := range got {
		assert.Equal(t, uint64(2), run.SpanCount)
		assert.Equal(t, base, run.StartTime)
	}
}

func TestTotals(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	run := uuid.New()
	rollUp := map[string]any{
		"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner",
		"gen_ai.usage.input_tokens": 300, "gen_ai.usage.output_tokens": 30,
	}
	require.NoError(t, s.exporter.ConsumeTraces(t.Context(), s.delivery(base,
		span(run, 1, 0, 0, 4*time.Second, rollUp),
		span(run, 2, 1, time.Second, 2*time.Second, modelCall("first", 100, 10)),
		span(run, 3, 1, 2*time.Second, 3*time.Second, modelCall("second", 200, 20)),
		func(sp ptrace.Span) {
			span(run, 4, 1, 3*time.Second, 3500*time.Millisecond, map[string]any{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"})(sp)
			sp.Status().SetCode(ptrace.StatusCodeError)
			event := sp.Events().AppendEmpty()
			event.SetName("exception")
			event.Attributes().PutStr("exception.type", "TimeoutError")
			event.Attributes().PutStr("exception.message", "no answer")
			event.Attributes().PutStr("exception.stacktrace", "at line 1")
		},
	)))
	got, err := s.Get(t.Context(), s.projects, run)
	require.NoError(t, err)
	assert.Equal(t, "step 1", got.Name)
	assert.Equal(t, runmodel.KindAgent, got.Kind)
	assert.Equal(t, runmodel.StatusOK, got.Status)
	assert.Equal(t, "planner", got.AgentName)
	assert.Equal(t, int64(300), *got.InputTokens, "the agent repeats what its calls used")
	assert.Equal(t, int64(30), *got.OutputTokens)
	assert.Nil(t, got.CostUSD, "an unknown cost is not 0")
	assert.Equal(t, []uint64{4, 1, 2, 1}, []uint64{got.SpanCount, got.ErrorCount, got.LLMCallCount, got.ToolCallCount})
	assert.Equal(t, []string{"gpt-4o"}, got.Models)
	assert.Equal(t, 4*time.Second, got.EndTime.Sub(got.StartTime))
	assert.Equal(t, "first", *got.Inputs)
	assert.Equal(t, "answer to second", *got.Outputs)

	tool, err := s.Span(t.Context(), s.projects, run, "0000000000000004")
	require.NoError(t, err)
	assert.Equal(t, "TimeoutError", tool.ErrorType)
	assert.Equal(t, "no answer", tool.ErrorMessage)
	assert.Equal(t, "at line 1", tool.ErrorStack)
	assert.Equal(t, 1, tool.Depth)
	assert.Equal(t, "search", tool.Attributes["gen_ai.tool.name"])
	assert.Equal(t, map[string]any{"service.name": "shop"}, tool.ResourceAttributes)
	assert.Len(t, tool.Events, 1)
}

// policy is a text that is long enough to be shared by runs.
var policy = strings.Repeat("one bag a head; ", 40)

// TestSharedContents stores a long text of many runs once, and returns it for each of them: whether the writer has it
// cached or not, and on the next day, but not in other projects.
func TestSharedContents(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	project := uuid.New()
	other := store{project, accesstest.Projects(t, project), s.exporter, s.url, s.Service}
	forgetful := store{s.project, s.projects, newExporter(t, s.url), s.url, s.Service}
	conn, err := clickhouse.Open(s.url)
	require.NoError(t, err)
	defer func() { assert.NoError(t, conn.Close()) }()
	whole := func() (rows uint64) {
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT (SELECT count() FROM shared_contents FINAL)
			+ (SELECT count() FROM contents FINAL WHERE kind = 'message' AND length(texts[1]) > 300)`).Scan(&rows))
		return rows
	}
	const nextDay = 24 * time.Hour
	var runIDs []uuid.UUID
	var readers []store
	for _, step := range []struct {
		name  string
		by    store
		at    time.Duration
		whole uint64
	}{
		{"a first run keeps question and answer to itself", s, 0, 2},
		{"a second one makes them shared", s, time.Minute, 4},
		{"a third one adds nothing", s, 2 * time.Minute, 4},
		{"a writer that does not know them keeps them with the run", forgetful, 3 * time.Minute, 6},
		{"and then finds them shared", forgetful, 4 * time.Minute, 6},
		{"another project shares nothing with this one", other, 0, 8},
		{"nor does another day", s, nextDay, 10},
		{"until two runs have them on that day", s, nextDay + time.Minute, 12},
	} {
		run := uuid.New()
		delivery := step.by.delivery(base.Add(step.at), span(run, 1, 0, step.at, step.at+time.Second, modelCall(policy, 1, 1)))
		require.NoError(t, step.by.exporter.ConsumeTraces(t.Context(), delivery), step.name)
		assert.Equal(t, step.whole, whole(), step.name)
		read, err := s.Span(t.Context(), step.by.projects, run, "0000000000000001")
		require.NoError(t, err, step.name)
		require.Len(t, read.InputMessages, 1, step.name)
		assert.JSONEq(t, `{"role":"user","parts":[{"type":"text","content":"`+policy+`"}]}`, string(read.InputMessages[0]), step.name)
		require.Len(t, read.OutputMessages, 1, step.name)
		assert.Contains(t, string(read.OutputMessages[0]), "answer to "+policy, step.name)
		runIDs = append(runIDs, run)
		readers = append(readers, step.by)
	}
	for i, run := range runIDs {
		read, err := s.Span(t.Context(), readers[i].projects, run, "0000000000000001")
		require.NoError(t, err)
		require.Len(t, read.InputMessages, 1, "run %d, after all others", i)
		assert.Contains(t, string(read.InputMessages[0]), policy)
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	ids := make([]uuid.UUID, 3)
	texts := []string{"Where is my Paket #42?", "refund for order 42", `quote ' and backslash \\ stay`}
	for i, text := range texts {
		ids[i] = uuid.New()
		require.NoError(t, s.exporter.ConsumeTraces(t.Context(), s.delivery(base.Add(time.Duration(i)*time.Second),
			span(ids[i], 1, 0, 0, time.Second, map[string]any{"gen_ai.operation.name": "invoke_agent"}),
			span(ids[i], 2, 1, 0, time.Second, modelCall(text, 1, 1)),
			span(ids[i], 3, 1, 0, time.Second, map[string]any{
				"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.arguments": map[string]any{"city": "Zürich"},
			}),
			span(ids[i], 4, 1, 0, time.Second, modelCall("The baggage policy: "+policy, 1, 1)))))
	}
	conn, err := clickhouse.Open(s.url)
	require.NoError(t, err)
	defer func() { assert.NoError(t, conn.Close()) }()
	require.NoError(t, s.exporter.ConsumeTraces(t.Context(), s.delivery(base, span(uuid.New(), 1, 0, 0, time.Second, map[string]any{
		"gen_ai.tool.call.arguments": map[string]any{"code": "import os\nprintf(1)"}, "looptrace.inputs": `{"q": "L\u00fcneburg\nthird"}`,
		"gen_ai.tool.call.result": `{"where": "\u673a\u573a", "who": "\u00c5SA \ud83d\ude00", "said": "say \"hi\"\r\nfourth\\fifth"}`,
	}), span(uuid.New(), 1, 0, 0, time.Second, modelCall(`sixth\nseventh \u00e9ighth`, 1, 1)))))
	merge := func() error { // builds the indexes
		return errors.Join(conn.Exec(t.Context(), "OPTIMIZE TABLE spans FINAL"), conn.Exec(t.Context(), "OPTIMIZE TABLE contents FINAL"),
			conn.Exec(t.Context(), "OPTIMIZE TABLE shared_contents FINAL"))
	}
	for _, state := range []struct {
		name    string
		reach   func() error
		indexed bool
	}{
		{"just stored", func() error { return nil }, false},
		{"merged", merge, true},
		{"without text indexes", func() error { return clickhouse.SetTextIndex(t.Context(), s.url, clickhouse.TextIndexOff) }, false},
		{"with text indexes again", func() error {
			return errors.Join(clickhouse.SetTextIndex(t.Context(), s.url, clickhouse.TextIndexOn), merge())
		}, true},
	} {
		require.NoError(t, state.reach(), state.name)
		var tables uint64
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT uniq(table) FROM system.parts
			WHERE database = currentDatabase() AND active AND secondary_indices_compressed_bytes > 0`).Scan(&tables))
		assert.Equal(t, state.indexed, tables == 3, "%s: %d tables have an index", state.name, tables)
		for query, want := range map[string]int{
			"paket": 1, "42": 2, "REFUND order": 1, "paket refund": 0, "zürich": 3, "ZÜRICH": 3, "step": 5,
			"role": 0, "text": 0, // the JSON of a message is not searched
			"baggage policy": 3, "baggage bag head": 3, "baggage paket": 0,
			`"order 42"`: 1, `"42 order"`: 0, `"order #42"`: 1, `"FOR Order" refund`: 1, `"my paket`: 1, `"where paket"`: 0, `"zürich"`: 3,
			`"baggage policy"`: 3, `"policy baggage"`: 0, `"refund for" "order 42"`: 1, `"refund for" "is my"`: 0, `"" paket ""`: 1, `"`: 0,
			"import printf": 1, "nprintf": 1, "lüneburg third": 1, "机场 åsa 😀": 1, "hi fourth fifth": 1, "sixth seventh": 1, "éighth": 1,
			"backslash": 1, `' OR 1=1 --`: 0, `\`: 0, "?!": 0,
		} {
			assert.Len(t, list(t, s, runs.ListQuery{Filter: runs.Filter{Search: query}}), want, "%s: search %q", state.name, query)
		}
	}
}

func TestListPages(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	const n = 25
	for i := range n {
		// Two runs each share a start, and they are distributed over months.
		at := base.Add(-time.Duration(i/2*i) * 12 * time.Hour).Sub(base)
		require.NoError(t, s.exporter.ConsumeTraces(t.Context(), s.delivery(base, span(uuid.New(), 1, 0, at, at+time.Second, nil))))
	}
	all := list(t, s, runs.ListQuery{Limit: 100})
	require.Len(t, all, n)
	for i := 1; i < n; i++ {
		assert.False(t, all[i].StartTime.After(all[i-1].StartTime), "newest first")
	}
	var paged []runs.Run
	q := runs.ListQuery{Filter: runs.Filter{ProjectID: s.project, Traces: runs.TracesAll}, Limit: 4}
	for {
		page, err := s.List(t.Context(), s.projects, q)
		require.NoError(t, err)
		paged = append(paged, page.Runs...)
		if !page.HasMore {
			break
		}
		q.Cursor = page.NextCursor
	}
	assert.Equal(t, all, paged)
	offset := list(t, s, runs.ListQuery{Limit: 5, Offset: 10})
	assert.Equal(t, all[10:15], offset)

	_, err := s.List(t.Context(), s.projects, runs.ListQuery{Filter: runs.Filter{ProjectID: s.project}, Limit: 1, Cursor: "x"})
	assert.ErrorIs(t, err, runs.ErrInvalidCursor)
}

func TestFilters(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	ok, failed, running := uuid.New(), uuid.New(), uuid.New()
	cost, tokens := 0.5, int64(11)
	require.NoError(t, s.exporter.ConsumeTraces(t.Context(), s.delivery(base,
		span(ok, 1, 0, 0, 10*time.Second, map[string]any{
			"looptrace.kind": "workflow", "looptrace.tags": []any{"a", "b"}, "looptrace.cost_usd": 0.75, "session.id": "s1",
			"user.id": "u1", "deployment.environment.name": "prod",
		}),
		span(ok, 2, 1, 0, time.Second, modelCall("x", 10, 2)),
		span(failed, 1, 0, time.Second, 2*time.Second, map[string]any{"looptrace.status": "error", "error.type": "Boom"}),
		span(running, 1, 0, 2*time.Second, 0, map[string]any{"looptrace.run": true}),
	)))
	for name, test := range map[string]struct {
		query runs.ListQuery
		want  []uuid.UUID
	}{
		"none":        {runs.ListQuery{}, []uuid.UUID{running, failed, ok}},
		"status":      {runs.ListQuery{Filter: runs.Filter{Statuses: []string{"error", "running"}}}, []uuid.UUID{running, failed}},
		"kind":        {runs.ListQuery{Filter: runs.Filter{Kinds: []string{"workflow"}}}, []uuid.UUID{ok}},
		"model":       {runs.ListQuery{Filter: runs.Filter{Model: "gpt-4o"}}, []uuid.UUID{ok}},
		"tag":         {runs.ListQuery{Filter: runs.Filter{Tag: "b"}}, []uuid.UUID{ok}},
		"session":     {runs.ListQuery{Filter: runs.Filter{SessionID: "s1"}}, []uuid.UUID{ok}},
		"user":        {runs.ListQuery{Filter: runs.Filter{UserID: "u1"}}, []uuid.UUID{ok}},
		"environment": {runs.ListQuery{Filter: runs.Filter{Environment: "prod"}}, []uuid.UUID{ok}},
		"duration":    {runs.ListQuery{Filter: runs.Filter{MinDuration: 5 * time.Second}}, []uuid.UUID{ok}},
		"cost":        {runs.ListQuery{Filter: runs.Filter{MinCostUSD: &cost}}, []uuid.UUID{ok}},
		"tokens":      {runs.ListQuery{Filter: runs.Filter{MinTokens: &tokens}}, []uuid.UUID{ok}},
		"error type":  {runs.ListQuery{Filter: runs.Filter{ErrorType: "Boom"}}, []uuid.UUID{failed}},
		"name":        {runs.ListQuery{Filter: runs.Filter{Name: "step 1"}}, []uuid.UUID{running, failed, ok}},
		"after":       {runs.ListQuery{Filter: runs.Filter{StartAfter: base.Add(time.Second)}}, []uuid.UUID{running, failed}},
		"before":      {runs.ListQuery{Filter: runs.Filter{StartBefore: base.Add(time.Second)}}, []uuid.UUID{ok}},
	} {
		var got []uuid.UUID
		for _, run := range list(t, s, test.query) {
			got = append(got, run.RunID)
		}
		assert.Equal(t, test.want, got, name)
	}
}

// TestUpdates follows a native run that is sent when it starts and again when it ends.
func TestUpdates(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	run := uuid.New()
	start := map[string]any{"looptrace.run": true, "looptrace.inputs": "hello", "looptrace.metadata.a": "1"}
	require.NoError(t, s.exporter.ConsumeTraces(t.Context(), s.delivery(base, span(run, 1, 0, 0, 0, start))))
	got, err := s.Get(t.Context(), s.projects, run)
	require.NoError(t, err)
	assert.Equal(t, runmodel.StatusRunning, got.Status)
	assert.True(t, runmodel.IsAbsent(got.EndTime))

	end := map[string]any{"looptrace.run": true, "looptrace.outputs": "bye", "looptrace.metadata.b": "2"}
	require.NoError(t, s.exporter.ConsumeTraces(t.Context(), s.delivery(base.Add(time.Minute), span(run, 1, 0, 0, time.Second, end))))
	got, err = s.Get(t.Context(), s.projects, run)
	require.NoError(t, err)
	assert.Equal(t, runmodel.StatusOK, got.Status)
	assert.Equal(t, runmodel.KindAgent, got.Kind)
	assert.Equal(t, "hello", *got.Inputs)
	assert.Equal(t, "bye", *got.Outputs)
	assert.Equal(t, map[string]string{"a": "1", "b": "2"}, got.Metadata)
	assert.Equal(t, uint64(1), got.SpanCount)

	// A span keeps the parent that it stated once. One that never states any is a child of the run.
	require.NoError(t, s.exporter.ConsumeTraces(t.Context(), s.delivery(base.Add(2*time.Minute),
		span(run, 2, 0, 0, 0, nil), span(run, 3, 2, 0, 0, nil))))
	require.NoError(t, s.exporter.ConsumeTraces(t.Context(), s.delivery(base.Add(3*time.Minute), span(run, 3, 0, 0, time.Second, nil))))
	page, err := s.Spans(t.Context(), s.projects, run, runs.SpansQuery{Limit: 10, Full: true})
	require.NoError(t, err)
	parents := map[uint64]uint64{}
	for _, span := range page.Spans {
		parents[span.SpanID] = span.ParentSpanID
	}
	assert.Equal(t, map[uint64]uint64{1: 0, 2: 1, 3: 2}, parents)
	assert.Equal(t, []int{0, 1, 2}, []int{page.Spans[0].Depth, page.Spans[1].Depth, page.Spans[2].Depth})
}

func TestTenantsAreApart(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	run := uuid.New()
	require.NoError(t, s.exporter.ConsumeTraces(t.Context(), s.delivery(base, span(run, 1, 0, 0, 1, modelCall("secret", 1, 1)))))
	other := accesstest.Projects(t, uuid.New())
	_, err := s.Get(t.Context(), other, run)
	require.ErrorIs(t, err, runs.ErrNotFound)
	_, err = s.Spans(t.Context(), other, run, runs.SpansQuery{Limit: 1})
	require.ErrorIs(t, err, runs.ErrNotFound)
	_, err = s.Span(t.Context(), other, run, "0000000000000001")
	require.ErrorIs(t, err, runs.ErrNotFound)
	_, err = s.List(t.Context(), other, runs.ListQuery{Filter: runs.Filter{ProjectID: s.project}, Limit: 1})
	require.ErrorIs(t, err, runs.ErrNotFound)
	page, err := s.List(t.Context(), other, runs.ListQuery{Filter: runs.Filter{ProjectID: other.IDs()[0], Search: "secret"}, Limit: 1})
	require.NoError(t, err)
	assert.Empty(t, page.Runs)

	// The same run id in two projects is two runs.
	b := s
	b.project = other.IDs()[0]
	require.NoError(t, s.exporter.ConsumeTraces(t.Context(), b.delivery(base, span(run, 1, 0, 0, 1, nil), span(run, 2, 1, 0, 1, nil))))
	got, err := s.Get(t.Context(), s.projects, run)
	require.NoError(t, err)
	assert.Equal(t, uint64(1), got.SpanCount)
	got, err = s.Get(t.Context(), other, run)
	require.NoError(t, err)
	assert.Equal(t, uint64(2), got.SpanCount)
}

// TestRealTraces reads back whole runs of agents, in the conventions that the store supports natively.
func TestRealTraces(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("LOOPTRACE_REALDATA")
	if folder == "" {
		t.Skip("LOOPTRACE_REALDATA names the folder of real traces")
	}
	files, err := filepath.Glob(filepath.Join(folder, "tau-bench-airline", "otlp", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files, folder)
	s := newStore(t)
	spans := 0
	histories := make(map[string][]any)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(text)
		require.NoError(t, err)
		for _, rs := range td.ResourceSpans().All() {
			rs.Resource().Attributes().PutStr(runmodel.KeyProjectID, s.project.String())
			for _, ss := range rs.ScopeSpans().All() {
				for _, sp := range ss.Spans().All() {
					if messages, ok := sp.Attributes().Get(runmodel.KeyInputMessages); ok {
						var list []any
						require.NoError(t, json.Unmarshal([]byte(messages.Str()), &list))
						histories[runmodel.RunID(sp.TraceID())+sp.SpanID().String()] = list
					}
				}
			}
		}
		spans += td.SpanCount()
		require.NoError(t, s.exporter.ConsumeTraces(t.Context(), td))
	}
	all := list(t, s, runs.ListQuery{Limit: 500})
	require.Len(t, all, 200)
	read := 0
	for _, run := range all {
		page, err := s.Spans(t.Context(), s.projects, run.RunID, runs.SpansQuery{Full: true, Limit: 10000})
		require.NoError(t, err)
		assert.Len(t, page.Spans, int(run.SpanCount))
		read += len(page.Spans)
		for _, span := range page.Spans {
			want := histories[run.RunID.String()+runmodel.FormatSpanID(span.SpanID)]
			got := make([]any, len(span.InputMessages))
			for i, message := range span.InputMessages {
				require.NoError(t, json.Unmarshal(message, &got[i]))
			}
			if want != nil {
				require.Equal(t, want, got)
			}
		}
	}
	assert.Equal(t, spans, read)
}
