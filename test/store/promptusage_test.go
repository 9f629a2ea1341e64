package store

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/controlplane/access/accesstest"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/genaispans"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

// TestPromptUsage adds up runs that name a prompt in different ways, or not at all.
func TestPromptUsage(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	conn, err := clickhouse.Open(address)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	service := runs.NewService(conn, nil, nil, slog.New(slog.DiscardHandler))
	t.Cleanup(service.Close)
	writer, err := clickhouse.NewWriter(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(writer.Close)

	const textOf2, another = 77, 78
	project, foreign := uuid.New(), uuid.New()
	begin := time.Now().UTC().Truncate(time.Hour).Add(-50 * time.Hour)
	minute, running := 0, false
	type change = func(*runmodel.Span)
	run := func(project uuid.UUID, spans ...change) uuid.UUID {
		id := uuid.New()
		start := begin.Add(time.Duration(minute) * time.Minute)
		minute++
		versions := []runmodel.Span{{
			ProjectID: project, RunID: id, SpanID: 1, Version: 1, Kind: runmodel.KindAgent, Name: "agent", StartTime: start, EndTime: start.Add(10 * time.Second),
		}}
		if running {
			versions[0].EndTime = runmodel.Epoch
		}
		for i, change := range spans {
			s := runmodel.Span{
				ProjectID: project, RunID: id, SpanID: uint64(2 + i), ParentSpanID: 1, Version: 1, Operation: "chat", StartTime: start, EndTime: start.Add(time.Second),
			}
			change(&s)
			versions = append(versions, s)
		}
		require.NoError(t, writer.InsertSpans(t.Context(), versions))
		require.NoError(t, writer.InsertRuns(t.Context(), []runmodel.Run{runmodel.Totals(versions)}))
		return id
	}
	named := func(version string, more ...change) change {
		return func(s *runmodel.Span) {
			s.PromptName, s.PromptVersion = "triage", version
			for _, change := range more {
				change(s)
			}
		}
	}
	ten, five, cent := int64(10), int64(5), 0.01
	used := func(s *runmodel.Span) {
		s.InputTokens, s.OutputTokens, s.CostUSD, s.CostSource = &ten, &five, &cent, runmodel.CostSent
	}
	unpriced := func(s *runmodel.Span) { s.InputTokens, s.OutputTokens = &ten, &five }
	root := func(change change) change {
		return func(s *runmodel.Span) { change(s); s.SpanID, s.ParentSpanID, s.Version = 1, 0, 2 }
	}
	of := func(text uint64) change { return func(s *runmodel.Span) { s.InstructionsTextID = text } }

	first := run(project, named("3", used))
	second := run(project, named("3", used, func(s *runmodel.Span) { s.PromptID, s.Status, s.ErrorType = "p", "error", "timeout" }),
		func(s *runmodel.Span) { s.PromptName, s.PromptVersion = "answer", "1" },
		root(func(s *runmodel.Span) { s.Status, s.ErrorType = "error", "timeout" }))
	run(project, named("", used))
	run(project, of(textOf2))
	run(project, named("99", unpriced))
	run(project, named("3", func(s *runmodel.Span) { s.PromptID = "another" }))
	run(project, named("3", used), of(textOf2), of(another))
	running = true
	run(project, named("3", func(s *runmodel.Span) { s.EndTime = runmodel.Epoch }), of(another))
	running = false
	run(project, func(s *runmodel.Span) { s.PromptID, s.PromptVersion, s.Kind = "p", "5", runmodel.KindTask })
	run(foreign, named("3", used))
	// A plain trace is hidden, whatever it names.
	plain := runmodel.Span{
		ProjectID: project, RunID: uuid.New(), SpanID: 1, Version: 1, Name: "GET /", StartTime: begin, EndTime: begin.Add(time.Second), PromptName: "triage", PromptVersion: "3",
	}
	require.NoError(t, writer.InsertSpans(t.Context(), []runmodel.Span{plain}))
	require.NoError(t, writer.InsertRuns(t.Context(), []runmodel.Run{runmodel.Totals([]runmodel.Span{plain})}))
	// So is a run that Looptrace made, whether its root or another span says so.
	source := func(s *runmodel.Span) { s.Source = runmodel.SourceEvaluation }
	run(project, named("3", used), root(source))
	run(project, named("3", used, source))
	// The first run's call is delivered again, and gets another price, by a version that has nothing else.
	dime := 0.1
	again := runmodel.Span{ProjectID: project, RunID: first, SpanID: 2, ParentSpanID: 1, Operation: "chat", StartTime: begin, EndTime: begin.Add(time.Second)}
	named("3", used)(&again)
	again.Version = 2
	priced := runmodel.Span{ProjectID: project, RunID: first, SpanID: 2, Version: 3, StartTime: begin, EndTime: runmodel.Epoch, CostUSD: &dime, CostSource: runmodel.CostComputed}
	require.NoError(t, writer.InsertSpans(t.Context(), []runmodel.Span{again, priced}))

	score := func(of uuid.UUID, span uint64, name string, value any) {
		s := runmodel.Score{ProjectID: project, RunID: of, ScoreID: uuid.New(), SpanID: span, Name: name, Version: 1, CreatedAt: begin}
		require.True(t, s.SetValue(value))
		require.NoError(t, clickhouse.InsertScores(t.Context(), conn, []runmodel.Score{s}))
	}
	score(first, 0, "accuracy", 0.5)
	score(second, 2, "accuracy", 1.0)
	score(second, 0, "polite", true)
	score(first, 0, "polite", false)
	score(first, 0, "polite", true)
	score(first, 0, "mood", "good")

	q := runs.PromptUsageQuery{
		ProjectID: project, ID: "p", Name: "triage", TextIDs: map[string][]uint64{"2": {textOf2, 1}, "3": {1 << 63}},
		StartAfter: begin.Add(-time.Hour), StartBefore: begin.Add(time.Hour),
	}
	projects := accesstest.Projects(t, project, foreign)
	usage, err := service.PromptUsage(t.Context(), projects, q)
	require.NoError(t, err)
	assert.False(t, usage.Partial)
	assert.EqualValues(t, 8, usage.Total.Count)
	assert.EqualValues(t, 1, usage.Total.ErrorCount)
	assert.Nil(t, usage.Other)
	byVersion := map[string]runs.PromptVersionUsage{}
	var versions []string
	for _, v := range usage.Versions {
		byVersion[v.Version], versions = v, append(versions, v.Version)
		var inSeries, failed uint64
		for _, point := range v.Series {
			inSeries, failed = inSeries+point.Count, failed+point.ErrorCount
		}
		assert.Equal(t, []uint64{v.Runs.Count, v.Runs.ErrorCount}, []uint64{inSeries, failed}, v.Version)
	}
	slices.Sort(versions)
	assert.Equal(t, []string{"", "2", "3", "5", "99"}, versions)

	v3 := byVersion["3"]
	assert.Equal(t, []uint64{4, 1, 3}, []uint64{v3.Runs.Count, v3.Runs.ErrorCount, v3.Runs.EndedCount})
	assert.InDelta(t, 10_000, v3.Runs.DurationsMs[0], 1, "of those that have ended")
	assert.InDelta(t, 0.03, *v3.Runs.CostUSD, 1e-9)
	assert.EqualValues(t, 30, *v3.Runs.Input)
	assert.Equal(t, []uint64{1, 1, 0, 0}, []uint64{v3.Runs.NoCost, v3.Runs.NoUsage, v3.UnpricedCalls, v3.LinkedByText})
	assert.Equal(t, begin, v3.First)
	assert.Equal(t, begin.Add(7*time.Minute), v3.Last)
	assert.Equal(t, []runs.ScoreMean{{Name: "polite", IsBoolean: true, Count: 3, Mean: 2.0 / 3}, {Name: "accuracy", Count: 2, Mean: 0.75}}, v3.Scores)
	calls := v3.Calls
	assert.Equal(t, []uint64{4, 1, 1, 1}, []uint64{calls.Count, calls.ErrorCount, calls.NoUsage, calls.NoCost})
	assert.InDelta(t, 1000, calls.DurationsMs[0], 1)
	assert.InDelta(t, 0.03, *calls.CostUSD, 1e-9, "what the client sent wins over a price")
	assert.EqualValues(t, 15, *calls.Output)

	v2 := byVersion["2"]
	assert.Equal(t, []uint64{2, 2, 0}, []uint64{v2.Runs.Count, v2.LinkedByText, v2.Calls.Count})
	assert.Nil(t, v2.Calls.DurationsMs)
	assert.Nil(t, v2.Calls.CostUSD)
	v99 := byVersion["99"]
	assert.Equal(t, []uint64{1, 1, 1, 1}, []uint64{v99.Runs.Count, v99.Runs.NoCost, v99.UnpricedCalls, v99.UnpricedRuns})
	assert.Nil(t, v99.Runs.CostUSD, "unknown is not 0")
	assert.EqualValues(t, 1, byVersion[""].Runs.Count)
	assert.EqualValues(t, 1, byVersion[""].Calls.Count)
	assert.EqualValues(t, 0, byVersion["5"].Calls.Count, "a task is no model call")

	again2, err := service.PromptUsage(t.Context(), projects, q)
	require.NoError(t, err)
	assert.Equal(t, usage, again2)

	q.TextIDs, q.ID = nil, ""
	byName, err := service.PromptUsage(t.Context(), projects, q)
	require.NoError(t, err)
	assert.EqualValues(t, 7, byName.Total.Count, "without its id, other ids are not foreign")

	q.Name = "unheard of"
	none, err := service.PromptUsage(t.Context(), projects, q)
	require.NoError(t, err)
	assert.Empty(t, none.Versions)
	assert.EqualValues(t, 0, none.Total.Count)

	q.ProjectID = foreign
	none, err = service.PromptUsage(t.Context(), accesstest.Projects(t, project), q)
	assert.ErrorIs(t, err, runs.ErrNotFound, "%+v", none)
}

// TestPromptsOfInstrumentations stores what programs with stock instrumentations sent, and finds each run by the prompt and version that its
// program named, or else by its system prompt.
func TestPromptsOfInstrumentations(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	mapper := genaispans.NewMapper(nil)
	send := func(name string) uuid.UUID {
		text, err := os.ReadFile(filepath.Join("..", "conformance", "testdata", name, "traces.json"))
		require.NoError(t, err)
		td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(text)
		require.NoError(t, err)
		mapper.Map(td)
		for _, rs := range td.ResourceSpans().All() {
			rs.Resource().Attributes().PutStr(runmodel.KeyProjectID, s.project.String())
		}
		id := uuid.UUID(td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).TraceID())
		require.NoError(t, s.exporter.ConsumeTraces(t.Context(), td))
		return id
	}
	var naming []uuid.UUID
	for _, name := range []string{"otel-genai-prompt-1.3b0", "openinference-prompt-0.1.72", "langfuse-prompt-5.0.4", "traceloop-sdk-prompt-0.62.4"} {
		naming = append(naming, send(name))
	}
	send("openllmetry-openai-0.62.4") // names no prompt
	idsOf := func(prompts ...runs.PromptMatch) []uuid.UUID {
		ids := []uuid.UUID{}
		for _, run := range list(t, s, runs.ListQuery{Filter: runs.Filter{Prompts: prompts}}) {
			ids = append(ids, run.RunID)
		}
		return ids
	}
	assert.ElementsMatch(t, naming, idsOf(runs.OfPrompt("", "weather/clerk", "3")...))
	assert.Empty(t, idsOf(runs.OfPrompt("", "weather/clerk", "4")...))
	assert.Empty(t, idsOf(runs.OfPrompt("", "weather", "3")...))
	byText := idsOf(runs.PromptMatch{Name: "weather/clerk", Version: "3", TextIDs: []uint64{runmodel.SystemTextID("You are a weather clerk. Use the tool.")}})
	assert.Greater(t, len(byText), len(naming))
	assert.Subset(t, byText, naming)

	usage, err := s.PromptUsage(t.Context(), s.projects, runs.PromptUsageQuery{ProjectID: s.project, Name: "weather/clerk"})
	require.NoError(t, err)
	require.Len(t, usage.Versions, 1)
	assert.Equal(t, "3", usage.Versions[0].Version)
	assert.EqualValues(t, 4, usage.Versions[0].Runs.Count)
	assert.EqualValues(t, 3, usage.Versions[0].Calls.Count, "OpenInference's program names its prompt on the function around the call")
}

// TestPromptsBeforeMigration: a run that was stored before runs had the prompts of all spans has that of its root.
func TestPromptsBeforeMigration(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	conn, err := clickhouse.Open(s.url)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	named, unnamed := uuid.New(), uuid.New()
	require.NoError(t, conn.Exec(t.Context(), `INSERT INTO runs (project_id, run_id, version, start_time, end_time, kind, prompt_id, prompt_name, prompt_version)
		VALUES (?, ?, 1, now(), now(), 'agent', 'p', 'triage', '3'), (?, ?, 1, now(), now(), 'agent', '', '', '')`, s.project, named, s.project, unnamed))
	for _, prompts := range [][]runs.PromptMatch{
		runs.OfPrompt("p", "", ""), runs.OfPrompt("", "triage", "3"), runs.OfPrompt("", "", "3"), runs.OfPrompt("p", "triage", "3"),
	} {
		found := list(t, s, runs.ListQuery{Filter: runs.Filter{Prompts: prompts}})
		if assert.Len(t, found, 1, "%+v", prompts) {
			assert.Equal(t, named, found[0].RunID)
			assert.Equal(t, []string{"triage"}, found[0].PromptNames)
		}
	}
	for _, run := range list(t, s, runs.ListQuery{}) {
		assert.Equal(t, run.RunID == named, len(run.PromptIDs) == 1)
	}
}
