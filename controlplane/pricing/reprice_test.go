package pricing

import (
	"context"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/prices"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

type store struct {
	conn   driver.Conn
	writer *clickhouse.Writer
}

func newStore(t *testing.T) *store {
	t.Helper()
	url := engines.ClickHouse(t)
	conn, err := clickhouse.Open(url)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	writer, err := clickhouse.NewWriter(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(writer.Close)
	return &store{conn, writer}
}

// add stores spans of one run in the way the exporter does.
func (s *store) add(t *testing.T, spans ...runmodel.Span) {
	t.Helper()
	require.NoError(t, s.writer.InsertSpans(t.Context(), spans))
	var bounds []clickhouse.Bounds
	keys := map[runmodel.RunKey][]runmodel.Span{}
	for _, span := range spans {
		bounds = append(bounds, clickhouse.Bounds{
			ProjectID: span.ProjectID, RunID: span.RunID, FirstStart: span.StartTime, LastStart: span.StartTime,
			FirstBatch: span.Version, LastBatch: span.Version,
		})
		keys[runmodel.RunKey{ProjectID: span.ProjectID, RunID: span.RunID}] = nil
	}
	require.NoError(t, s.writer.InsertBounds(t.Context(), bounds))
	_, err := clickhouse.DeriveRuns(t.Context(), s.conn, s.writer, keys, 0)
	require.NoError(t, err)
}

func (s *store) reprice(t *testing.T, o Options) *Summary {
	t.Helper()
	if o.From.IsZero() {
		o.From, o.To = noon.Add(-24*time.Hour), noon.Add(24*time.Hour)
	}
	sum, err := Reprice(t.Context(), s.conn, s.writer, o)
	require.NoError(t, err)
	assert.Equal(t, sum.Spans, sum.Sent+sum.Changed+sum.Withdrawn+sum.Unchanged+sum.Unpriced+sum.NotCounted)
	return sum
}

// spans returns a run's folded spans.
func (s *store) spans(t *testing.T, run uuid.UUID) []runmodel.Span {
	t.Helper()
	var versions []runmodel.Span
	require.NoError(t, s.conn.Select(t.Context(), &versions, "SELECT * EXCEPT escaped_words FROM spans FINAL WHERE run_id = ?", run))
	return runmodel.Fold(versions)
}

func (s *store) run(t *testing.T, run uuid.UUID) runmodel.Run {
	t.Helper()
	var runs []runmodel.Run
	require.NoError(t, s.conn.Select(t.Context(), &runs, "SELECT * EXCEPT written_at FROM runs FINAL WHERE run_id = ?", run))
	require.Len(t, runs, 1)
	return runs[0]
}

func (s *store) versions(t *testing.T) (n uint64) {
	t.Helper()
	require.NoError(t, s.conn.QueryRow(t.Context(), "SELECT count() FROM spans FINAL").Scan(&n))
	return n
}

func pointer[T any](value T) *T { return &value }

// call returns a span of 1000 input and 500 output tokens, which cost 0.0075 with gpt-4o.
func call(project, run uuid.UUID, id uint64, model string) runmodel.Span {
	start := noon.Add(time.Duration(id) * time.Second)
	return runmodel.Span{
		ProjectID: project, RunID: run, SpanID: id, Version: uint64(start.UnixNano()), StartTime: start, EndTime: start.Add(time.Second),
		Name: "chat " + model, Operation: "chat", Provider: "openai", RequestModel: model, ServiceName: "service", Inputs: "in", Outputs: "out",
		InputTokens: pointer(int64(1000)), OutputTokens: pointer(int64(500)),
		InputMessageIDs: []uint64{1, 2}, ResourceID: 3, Attributes: map[string]string{"kept": "yes"}, Metadata: map[string]string{"k": "v"},
	}
}

func costed(span runmodel.Span, cost float64, source, version string) runmodel.Span {
	span.CostUSD, span.CostSource, span.PriceVersion = &cost, source, version
	return span
}

func TestReprice(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	project, other, run, foreign := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	table := prices.Default().Version
	tool := call(project, run, 7, "")
	tool.InputTokens, tool.OutputTokens, tool.Operation = nil, nil, "execute_tool"
	wrapper := call(project, run, 8, "gpt-4o")
	wrapper.Counting = runmodel.CountNothing
	long := call(project, run, 9, "claude-opus-4-5")
	long.Provider, long.CacheWriteTokens = "anthropic", pointer(int64(600))
	long.AttributesJSON = map[string]string{runmodel.KeyCacheWrite1hTokens: "200", "other": "1"}
	before := []runmodel.Span{
		call(project, run, 1, "gpt-4o"), // priced for the first time
		costed(call(project, run, 2, "gpt-4o"), 9, runmodel.CostComputed, "2020-01-01"), // at old prices
		costed(call(project, run, 3, "gpt-4o"), 0.0075, runmodel.CostComputed, table),   // unchanged
		costed(call(project, run, 4, "gpt-4o"), 0.25, runmodel.CostSent, ""),            // sent by the client
		call(project, run, 5, "nobody-knows"),
		costed(call(project, run, 6, "nobody-knows-either"), 1, runmodel.CostComputed, "project:1"), // its price was deleted
		tool, wrapper, long,
	}
	s.add(t, before...)
	s.add(t, call(other, foreign, 1, "gpt-4o"))

	// A dry run reports the changes and writes nothing.
	count := s.versions(t)
	want := &Summary{
		Spans: 8, Sent: 1, Changed: 3, Withdrawn: 1, Unchanged: 1, Unpriced: 1, NotCounted: 1, Runs: 1,
		Unknown: map[string]int{"nobody-knows": 1, "nobody-knows-either": 1},
	}
	assert.Equal(t, want, s.reprice(t, Options{Project: project, DryRun: true}))
	assert.Equal(t, count, s.versions(t))

	assert.Equal(t, want, s.reprice(t, Options{Project: project}))
	after := s.spans(t, run)
	require.Len(t, after, len(before))
	for i, expected := range []runmodel.Span{
		costed(before[0], 0.0075, runmodel.CostComputed, table),
		costed(before[1], 0.0075, runmodel.CostComputed, table),
		before[2], before[3], before[4],
		call(project, run, 6, "nobody-knows-either"), // null, not 0
		before[6], before[7],
		costed(before[8], 400*5e-6+400*6.25e-6+200*10e-6+500*25e-6, runmodel.CostComputed, table),
	} {
		got := after[i]
		if got.CostUSD != nil {
			assert.InEpsilon(t, *expected.CostUSD, *got.CostUSD, 1e-9, "span %d", got.SpanID)
			got.CostUSD, expected.CostUSD = nil, nil
		}
		// No other field of a span changes.
		got.Version, expected.Version = 0, 0
		assert.Equal(t, normalized(expected), normalized(got), "span %d", got.SpanID)
	}
	// The run's row agrees with its spans.
	stored := s.run(t, run)
	require.NotNil(t, stored.CostUSD)
	assert.InEpsilon(t, 3*0.0075+0.25+0.019, *stored.CostUSD, 1e-9)
	assert.Equal(t, runmodel.CostComputed, stored.CostSource)
	assert.Equal(t, count-1+4, stored.Version)
	assert.Nil(t, s.run(t, foreign).CostUSD, "another project's")

	// A second run changes and writes nothing.
	written := s.versions(t)
	again := s.reprice(t, Options{Project: project})
	assert.Zero(t, again.Changed+again.Withdrawn+again.Runs)
	assert.Equal(t, written, s.versions(t))

	// All projects, one of which has its own prices.
	overrides := map[string][]prices.Override{project.String(): {
		{Model: "gpt-4o", Rates: prices.Rates{Input: 1, Output: 4}, Revision: 5},
		{Model: "nobody-knows*", Rates: prices.Rates{}, Revision: 6},
	}}
	sum := s.reprice(t, Options{Overrides: overrides})
	assert.Equal(t, 3+2+1, sum.Changed, "three calls of gpt-4o and two free ones, and the other project's")
	assert.Equal(t, 2, sum.Runs)
	assert.Empty(t, sum.Unknown)
	after = s.spans(t, run)
	assert.Equal(t, "project:5", after[0].PriceVersion)
	assert.Equal(t, "project:6", after[4].PriceVersion)
	assert.Zero(t, *after[4].CostUSD, "free, since a rule says so")
	assert.InEpsilon(t, 3*0.003+0.25+0.019, *s.run(t, run).CostUSD, 1e-9)
	assert.InEpsilon(t, 0.0075, *s.run(t, foreign).CostUSD, 1e-9)
	assert.Equal(t, table, s.spans(t, foreign)[0].PriceVersion)

	// A later version from the client takes precedence.
	late := costed(runmodel.Span{
		ProjectID: project, RunID: run, SpanID: 1, Version: uint64(noon.Add(time.Minute).UnixNano()), StartTime: before[0].StartTime, EndTime: runmodel.Epoch,
	}, 0.5, runmodel.CostSent, "")
	s.add(t, late)
	s.reprice(t, Options{Overrides: overrides})
	assert.InEpsilon(t, 0.5, *s.spans(t, run)[0].CostUSD, 1e-9)
}

func normalized(s runmodel.Span) runmodel.Span {
	for _, list := range []*[]string{&s.Tags, &s.FinishReasons} {
		*list = append([]string{}, *list...)
	}
	s.OutputMessageIDs = append([]uint64{}, s.OutputMessageIDs...)
	for _, m := range []*map[string]string{&s.Metadata, &s.Attributes, &s.AttributesJSON, &s.AgentParts} {
		if *m == nil {
			*m = map[string]string{}
		}
	}
	return s
}

func TestRepriceOnlyItsRange(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	project, run := uuid.New(), uuid.New()
	var spans []runmodel.Span
	for i := range 5 { // two hours apart, in one run over two days
		span := call(project, run, uint64(i+1), "gpt-4o")
		span.StartTime = noon.Add(time.Duration(i) * 4 * time.Hour)
		span.Version = uint64(span.StartTime.UnixNano())
		spans = append(spans, span)
	}
	s.add(t, spans...)
	sum := s.reprice(t, Options{From: noon.Add(4 * time.Hour), To: noon.Add(16 * time.Hour)})
	assert.Equal(t, 3, sum.Changed)
	var priced []uint64
	for _, span := range s.spans(t, run) {
		if span.CostUSD != nil {
			priced = append(priced, span.SpanID)
		}
	}
	assert.Equal(t, []uint64{2, 3, 4}, priced, "16 hours later is not part of it")
	assert.InEpsilon(t, 3*0.0075, *s.run(t, run).CostUSD, 1e-9)
	// Bounds are exact to the nanosecond.
	sum = s.reprice(t, Options{From: spans[4].StartTime.Add(1), To: spans[4].StartTime.Add(time.Hour)})
	assert.Zero(t, sum.Spans)
	sum = s.reprice(t, Options{From: spans[4].StartTime, To: spans[4].StartTime.Add(1)})
	assert.Equal(t, 1, sum.Changed)
}

// A price depends on all versions of a span, and a later version may change its start time.
func TestRepriceFoldsFirst(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	project, run := uuid.New(), uuid.New()
	first := call(project, run, 1, "gpt-4o")
	first.InputTokens, first.OutputTokens = nil, nil
	second := runmodel.Span{
		ProjectID: project, RunID: run, SpanID: 1, Version: first.Version + 10, StartTime: first.StartTime.Add(time.Hour), EndTime: runmodel.Epoch,
		InputTokens: pointer(int64(1000)), OutputTokens: pointer(int64(500)),
	}
	s.add(t, first, second)
	assert.Zero(t, s.reprice(t, Options{From: noon, To: noon.Add(time.Hour)}).Spans, "it has moved on")
	assert.Equal(t, 1, s.reprice(t, Options{From: noon.Add(time.Hour), To: noon.Add(2 * time.Hour)}).Changed)
	assert.InEpsilon(t, 0.0075, *s.run(t, run).CostUSD, 1e-9)
	assert.Equal(t, 0, s.reprice(t, Options{}).Changed)
}

// After a kill between writing spans and their run, the run is stale. The next Reprice writes only that run.
func TestRepriceAfterAKill(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	project := uuid.New()
	const runs = 40
	ids := make([]uuid.UUID, runs)
	for i := range ids {
		ids[i] = uuid.New()
		s.add(t, call(project, ids[i], 1, "gpt-4o"), call(project, ids[i], 2, "gpt-4o-mini"))
	}
	// The state after a kill: the spans of one run are written, its row is not.
	cost := 0.0075
	require.NoError(t, s.writer.InsertSpans(t.Context(), []runmodel.Span{{
		ProjectID: project, RunID: ids[0], SpanID: 1, Version: call(project, ids[0], 1, "gpt-4o").Version + 1, StartTime: noon.Add(time.Second),
		EndTime: runmodel.Epoch, CostUSD: &cost, CostSource: runmodel.CostComputed, PriceVersion: prices.Default().Version,
	}, {
		ProjectID: project, RunID: ids[0], SpanID: 2, Version: call(project, ids[0], 2, "gpt-4o-mini").Version + 1, StartTime: noon.Add(2 * time.Second),
		EndTime: runmodel.Epoch, CostUSD: pointer(0.00045), CostSource: runmodel.CostComputed, PriceVersion: prices.Default().Version,
	}}))
	require.Nil(t, s.run(t, ids[0]).CostUSD)

	// More calls that are canceled at arbitrary points and return different errors.
	for _, after := range []time.Duration{10, 30, 90} {
		ctx, cancel := context.WithTimeout(t.Context(), after*time.Millisecond)
		_, _ = Reprice(ctx, s.conn, s.writer, Options{From: noon.Add(-time.Hour), To: noon.Add(time.Hour)})
		cancel()
	}
	s.reprice(t, Options{})
	for _, id := range ids {
		run := s.run(t, id)
		require.NotNil(t, run.CostUSD)
		assert.InEpsilon(t, 0.00795, *run.CostUSD, 1e-9)
		assert.Equal(t, uint64(4), run.Version)
	}
	assert.Equal(t, uint64(4*runs), s.versions(t), "each span once more, and none twice")
	again := s.reprice(t, Options{})
	assert.Zero(t, again.Changed+again.Runs)
	assert.Equal(t, 2*runs, again.Unchanged)
}

func TestRepriceManyRuns(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	project := uuid.New()
	var ids []uuid.UUID
	var spans []runmodel.Span
	for range 2*runBatch + 1 {
		ids = append(ids, uuid.New())
		spans = append(spans, call(project, ids[len(ids)-1], 1, "gpt-4o"))
	}
	s.add(t, spans...)
	sum := s.reprice(t, Options{Project: project})
	assert.Equal(t, len(ids), sum.Changed)
	assert.Equal(t, len(ids), sum.Runs)
	var total float64
	require.NoError(t, s.conn.QueryRow(t.Context(), "SELECT sum(cost_usd) FROM runs FINAL").Scan(&total))
	assert.InEpsilon(t, float64(len(ids))*0.0075, total, 1e-9)
}
