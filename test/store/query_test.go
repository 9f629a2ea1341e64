package store

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/access/accesstest"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

// querying is a store of generated runs of two projects, and a copy of them in memory.
type querying struct {
	*runs.Service
	address  string
	writer   *clickhouse.Writer
	project  uuid.UUID
	projects access.Projects
	all      []runmodel.Run // those with a GenAI span
	other    []runmodel.Run
	made     []runmodel.Run // by Looptrace, with or without a GenAI span
}

func maybe[T any](random *rand.Rand, value T) *T {
	if random.IntN(4) == 0 {
		return nil
	}
	return &value
}

func newQuerying(t *testing.T) *querying {
	t.Helper()
	address := engines.ClickHouse(t)
	conn, err := clickhouse.Open(address)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	s := &querying{Service: runs.NewService(conn, nil, nil, slog.New(slog.DiscardHandler)), address: address, project: uuid.New()}
	s.projects = accesstest.Projects(t, s.project)
	t.Cleanup(s.Close)
	s.writer, err = clickhouse.NewWriter(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(s.writer.Close)
	random := rand.New(rand.NewPCG(7, 7))
	end := time.Now().UTC().Truncate(time.Hour)
	pick := func(values ...string) string { return values[random.IntN(len(values))] }
	var rows []runmodel.Run
	for i := range 300 {
		start := end.Add(-time.Duration(random.IntN(20*24*60)) * time.Minute) // some at the same time
		run := runmodel.Run{
			ProjectID: s.project, RunID: uuid.New(), Version: 3, StartTime: start, FirstReceived: start, EndTime: start.Add(time.Duration(random.IntN(40)) * time.Millisecond),
			Name: pick("a", "b", "c"), Kind: pick("agent", "task"), Status: pick("ok", "error", "running"), AgentName: pick("", "x", "y"),
			Release: pick("1", "2"), AgentRelease: pick("1", "2"), Environment: pick("prod", "dev"), UserID: fmt.Sprint(random.IntN(20)),
			ConversationID: pick("", "c1"), Models: [][]string{{}, {"m1"}, {"m1", "m2"}}[random.IntN(3)], Tags: []string{pick("t1", "t2")},
			Metadata: map[string]string{"tier": pick("free", "pro")}, InputTokens: maybe(random, int64(random.IntN(9))), CostUSD: maybe(random, float64(random.IntN(9))/1000),
		}
		for range random.IntN(4) {
			run.PromptIDs = append(run.PromptIDs, pick("", "", "p", "q"))
			run.PromptNames = append(run.PromptNames, pick("", "triage", "answer"))
			run.PromptVersions = append(run.PromptVersions, pick("", "1", "2"))
			run.SystemTextIDs = append(run.SystemTextIDs, []uint64{7, 8, math.MaxUint64}[random.IntN(3)])
		}
		run.ErrorCount = uint64(random.IntN(2))
		if run.Status == "error" || run.Status == "ok" && i%7 == 0 {
			run.Fingerprint = "fp:v3:1" // of those that ended well, a step failed
		}
		if run.Status == "running" || i%10 == 0 { // some have an outcome but no end
			run.EndTime = runmodel.Epoch
		}
		if i%3 == 0 {
			run.OutputTokens = maybe(random, int64(random.IntN(9)))
		}
		run.Replayability = pick("", "none", "llm", "full")
		run.GenAI, run.Source = i%5 > 0, runmodel.SourceUser
		switch {
		case i%11 == 0:
			run.Source = runmodel.Sources[1+random.IntN(3)]
			s.made = append(s.made, run)
		case run.GenAI:
			s.all = append(s.all, run)
		default:
			s.other = append(s.other, run)
		}
		older := run
		older.Version, older.Status, older.Name, older.GenAI = 1, "running", "old", false
		older.Source = runmodel.Sources[random.IntN(4)]
		other := run
		other.ProjectID, other.Metadata = uuid.New(), map[string]string{"secret": "other"}
		rows = append(rows, run, older, other)
	}
	require.NoError(t, s.writer.InsertRuns(t.Context(), rows))
	return s
}

// pages reads a whole list, using cursors.
func (s *querying) pages(t *testing.T, q runs.ListQuery) []uuid.UUID {
	t.Helper()
	q.ProjectID = s.project
	ids := []uuid.UUID{}
	for range 1000 {
		page, err := s.List(t.Context(), s.projects, q)
		require.NoError(t, err)
		assert.False(t, page.Partial)
		assert.LessOrEqual(t, len(page.Runs), q.Limit)
		for _, run := range page.Runs {
			ids = append(ids, run.RunID)
		}
		if q.Cursor = page.NextCursor; q.Cursor == "" {
			return ids
		}
	}
	require.Fail(t, "the list has no end")
	return nil
}

// filters are filters and their meaning.
func filters(end time.Time) map[string]struct {
	runs.Filter
	matches func(r *runmodel.Run) bool
} {
	three, tokens := 0.003, int64(5)
	return map[string]struct {
		runs.Filter
		matches func(r *runmodel.Run) bool
	}{
		"none":          {runs.Filter{}, func(*runmodel.Run) bool { return true }},
		"agent":         {runs.Filter{AgentName: "x"}, func(r *runmodel.Run) bool { return r.AgentName == "x" }},
		"release":       {runs.Filter{Release: "2"}, func(r *runmodel.Run) bool { return r.Release == "2" }},
		"agent release": {runs.Filter{AgentRelease: "2"}, func(r *runmodel.Run) bool { return r.AgentRelease == "2" }},
		"prompt":        {runs.Filter{Prompts: runs.OfPrompt("", "triage", "")}, func(r *runmodel.Run) bool { return slices.Contains(r.PromptNames, "triage") }},
		"prompt by id":  {runs.Filter{Prompts: runs.OfPrompt("p", "", "")}, func(r *runmodel.Run) bool { return slices.Contains(r.PromptIDs, "p") }},
		"prompt version": {runs.Filter{Prompts: runs.OfPrompt("", "", "2")}, func(r *runmodel.Run) bool {
			return slices.Contains(r.PromptVersions, "2")
		}},
		"prompt and version": {runs.Filter{Prompts: runs.OfPrompt("", "triage", "2")}, func(r *runmodel.Run) bool {
			return names(r, func(_, name, version string) bool { return name == "triage" && version == "2" })
		}},
		"prompt by id and name": {runs.Filter{Prompts: runs.OfPrompt("p", "triage", "2")}, func(r *runmodel.Run) bool {
			return names(r, func(id, name, version string) bool {
				return (id == "p" || id == "" && name == "triage") && version == "2"
			})
		}},
		"prompt or its text": {runs.Filter{Prompts: []runs.PromptMatch{{Name: "triage", Version: "2", TextIDs: []uint64{7, math.MaxUint64}}, {ID: "q"}}}, func(r *runmodel.Run) bool {
			return slices.Contains(r.SystemTextIDs, 7) || slices.Contains(r.SystemTextIDs, math.MaxUint64) || slices.Contains(r.PromptIDs, "q") ||
				names(r, func(_, name, version string) bool { return name == "triage" && version == "2" })
		}},
		"a text of a prompt": {runs.Filter{Prompts: []runs.PromptMatch{{TextIDs: []uint64{7}}}}, func(r *runmodel.Run) bool { return slices.Contains(r.SystemTextIDs, 7) }},
		"no prompt":          {runs.Filter{Prompts: []runs.PromptMatch{{}}}, func(*runmodel.Run) bool { return false }},
		"conversation":       {runs.Filter{ConversationID: "c1"}, func(r *runmodel.Run) bool { return r.ConversationID == "c1" }},
		"metadata":           {runs.Filter{Metadata: map[string]string{"tier": "pro"}}, func(r *runmodel.Run) bool { return r.Metadata["tier"] == "pro" }},
		"another's":          {runs.Filter{Metadata: map[string]string{"secret": "other"}}, func(*runmodel.Run) bool { return false }},
		"status and kind":    {runs.Filter{Statuses: []string{"ok", "error"}, Kinds: []string{"task"}}, func(r *runmodel.Run) bool { return r.Status != "running" && r.Kind == "task" }},
		"failed":             {runs.Filter{Outcomes: []string{"failed"}}, func(r *runmodel.Run) bool { return r.Fingerprint != "" }},
		"recovered or running": {runs.Filter{Outcomes: []string{"recovered", "running"}}, func(r *runmodel.Run) bool {
			return r.Status == "running" || r.Fingerprint == "" && r.ErrorCount > 0
		}},
		"succeeded":     {runs.Filter{Outcomes: []string{"succeeded"}}, func(r *runmodel.Run) bool { return r.Outcome() == "succeeded" }},
		"model and tag": {runs.Filter{Model: "m2", Tag: "t1"}, func(r *runmodel.Run) bool { return slices.Contains(r.Models, "m2") && r.Tags[0] == "t1" }},
		"least": {runs.Filter{MinCostUSD: &three, MinTokens: &tokens, MinDuration: 5 * time.Millisecond}, func(r *runmodel.Run) bool {
			return r.CostUSD != nil && *r.CostUSD >= three && tokensOf(r) != nil && *tokensOf(r) >= tokens && !runmodel.IsAbsent(r.EndTime) && r.EndTime.Sub(r.StartTime) >= 5*time.Millisecond
		}},
		"replayable":          {runs.Filter{Replayability: []string{"llm", "full"}}, func(r *runmodel.Run) bool { return r.Replayability == "llm" || r.Replayability == "full" }},
		"evaluations":         {runs.Filter{Source: runmodel.SourceEvaluation}, func(r *runmodel.Run) bool { return r.GenAI && r.Source == runmodel.SourceEvaluation }},
		"of the user":         {runs.Filter{Source: runmodel.SourceUser}, func(*runmodel.Run) bool { return true }},
		"any source":          {runs.Filter{Source: runs.SourceAll, UserID: "3"}, func(r *runmodel.Run) bool { return r.GenAI && r.UserID == "3" }},
		"everything":          {runs.Filter{Source: runs.SourceAll, Traces: runs.TracesAll}, func(*runmodel.Run) bool { return true }},
		"other traces":        {runs.Filter{Traces: runs.TracesOther}, func(r *runmodel.Run) bool { return !r.GenAI }},
		"all traces of agent": {runs.Filter{Traces: runs.TracesAll, AgentName: "x"}, func(r *runmodel.Run) bool { return r.AgentName == "x" }},
		"time": {runs.Filter{StartAfter: end.Add(-9 * 24 * time.Hour), StartBefore: end.Add(-25 * time.Hour)}, func(r *runmodel.Run) bool {
			return !r.StartTime.Before(end.Add(-9*24*time.Hour)) && r.StartTime.Before(end.Add(-25*time.Hour))
		}},
	}
}

// names reports whether a run names a prompt that is the one sought.
func names(r *runmodel.Run, is func(id, name, version string) bool) bool {
	for i := range r.PromptIDs {
		if is(r.PromptIDs[i], r.PromptNames[i], r.PromptVersions[i]) {
			return true
		}
	}
	return false
}

func tokensOf(r *runmodel.Run) *int64 {
	if r.InputTokens == nil && r.OutputTokens == nil {
		return nil
	}
	var sum int64
	for _, n := range []*int64{r.InputTokens, r.OutputTokens} {
		if n != nil {
			sum += *n
		}
	}
	return &sum
}

// valueOf returns the value by which an order sorts. ok is false if it is unknown.
func valueOf(r *runmodel.Run, order string) (value float64, ok bool) {
	switch order {
	case "duration_ms":
		return float64(r.EndTime.Sub(r.StartTime)), !runmodel.IsAbsent(r.EndTime)
	case "cost_usd":
		if r.CostUSD == nil {
			return 0, false
		}
		return *r.CostUSD, true
	case "total_tokens":
		n := tokensOf(r)
		if n == nil {
			return 0, false
		}
		return float64(*n), true
	}
	return 0, true
}

// sorted returns the ids of runs in an order, as documented. ClickHouse compares a UUID by its halves, low one first.
func sorted(all []runmodel.Run, order string) []uuid.UUID {
	name, sign := order, 1
	if name[0] == '-' {
		name, sign = name[1:], -1
	}
	newest := -1
	if order == runs.OldestFirst {
		newest = 1
	}
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b runmodel.Run) int {
		av, aok := valueOf(&a, name)
		bv, bok := valueOf(&b, name)
		if aok != bok {
			if aok {
				return -1
			}
			return 1
		}
		byValue := 0
		if aok {
			byValue = sign * cmp.Compare(av, bv)
		}
		return cmp.Or(byValue, newest*a.StartTime.Compare(b.StartTime),
			newest*cmp.Compare(string(a.RunID[8:]), string(b.RunID[8:])), newest*cmp.Compare(string(a.RunID[:8]), string(b.RunID[:8])))
	})
	ids := make([]uuid.UUID, len(all))
	for i := range all {
		ids[i] = all[i].RunID
	}
	return ids
}

func TestFiltersAndOrders(t *testing.T) {
	t.Parallel()
	s := newQuerying(t)
	end := time.Now().UTC().Truncate(time.Hour)
	orders := []string{"-start_time", "start_time", "-duration_ms", "duration_ms", "-cost_usd", "cost_usd", "-total_tokens", "total_tokens"}
	for name, filter := range filters(end) {
		var want []runmodel.Run
		all := s.all
		if filter.Traces != "" {
			all = slices.Concat(s.all, s.other)
		}
		if filter.Source != "" && filter.Source != runmodel.SourceUser {
			all = slices.Concat(all, s.made)
		}
		for _, run := range all {
			if filter.matches(&run) {
				want = append(want, run)
			}
		}
		chosen := orders
		if name != "none" && name != "least" {
			chosen = orders[:1]
		}
		for _, order := range chosen {
			got := s.pages(t, runs.ListQuery{Filter: filter.Filter, Order: order, Limit: 71})
			assert.Equal(t, sorted(want, order), got, "%s, %s", name, order)
		}
		for _, q := range []runs.StatsQuery{{GroupBy: "name", Groups: 2}, {GroupBy: "model", Groups: 1}, {GroupBy: "model", Groups: 10}, {GroupBy: "prompt_version", Groups: 3}} {
			q.Filter = filter.Filter
			q.ProjectID = s.project
			s.checkStats(t, name+" by "+q.GroupBy, q, want)
		}
	}
}

// groupsOf returns the values of a run that q groups by: it counts in each of them.
func groupsOf(run *runmodel.Run, q runs.StatsQuery) []string {
	switch {
	case q.GroupBy == "name":
		return []string{run.Name}
	case q.GroupBy == "prompt_version":
		return promptsOf(run)
	case len(run.Models) == 0:
		return []string{""}
	}
	return run.Models
}

// promptsOf returns the prompts of a run with their versions.
func promptsOf(run *runmodel.Run) []string {
	if len(run.PromptIDs) == 0 {
		return []string{""}
	}
	var prompts []string
	for i := range run.PromptIDs {
		prompt := cmp.Or(run.PromptNames[i], run.PromptIDs[i])
		if run.PromptVersions[i] != "" {
			prompt += "@" + run.PromptVersions[i]
		}
		if !slices.Contains(prompts, prompt) {
			prompts = append(prompts, prompt)
		}
	}
	return prompts
}

// checkStats compares totals, series and groups with the expected sums.
func (s *querying) checkStats(t *testing.T, name string, q runs.StatsQuery, want []runmodel.Run) {
	t.Helper()
	stats, err := s.Stats(t.Context(), s.projects, q)
	require.NoError(t, err)
	var errors, ended, noCost uint64
	var cost float64
	var longest time.Duration
	perBucket, perGroup := map[time.Time]uint64{}, map[string]uint64{}
	for _, run := range want {
		if run.Outcome() == runmodel.OutcomeFailed {
			errors++
		}
		if run.Status != "running" {
			ended++
		}
		if !runmodel.IsAbsent(run.EndTime) {
			longest = max(longest, run.EndTime.Sub(run.StartTime))
		}
		if run.CostUSD == nil {
			noCost++
		} else {
			cost += *run.CostUSD
		}
		perBucket[run.StartTime.Truncate(stats.Bucket)]++
		for _, group := range groupsOf(&run, q) {
			perGroup[group]++
		}
	}
	assert.Equal(t, []uint64{uint64(len(want)), errors, ended, noCost}, []uint64{stats.Total.Count, stats.Total.ErrorCount, stats.Total.EndedCount, stats.Total.NoCost}, name)
	if stats.Total.CostUSD != nil {
		assert.InDelta(t, cost, *stats.Total.CostUSD, 1e-9, name)
	}
	for _, ms := range stats.Total.DurationsMs {
		assert.GreaterOrEqual(t, ms, 0.0, name)
		assert.LessOrEqual(t, ms, float64(longest)/float64(time.Millisecond), name)
	}
	for _, point := range stats.Series {
		if stats.Bucket <= 24*time.Hour { // longer ones do not begin where Truncate does
			assert.Equal(t, perBucket[point.Bucket], point.Count, "%s: %s", name, point.Bucket)
		}
	}
	assert.Len(t, stats.Groups, min(len(perGroup), q.Groups), name)
	named := map[string]bool{}
	for i, group := range stats.Groups {
		assert.Equal(t, perGroup[group.Value], group.Total.Count, "%s: %s", name, group.Value)
		var points uint64
		for _, point := range group.Series {
			points += point.Count
		}
		assert.Equal(t, perGroup[group.Value], points, "%s: %s, series", name, group.Value)
		if i > 0 {
			assert.LessOrEqual(t, group.Total.Count, stats.Groups[i-1].Total.Count)
		}
		named[group.Value] = true
	}
	var others uint64 // a run counts once among them, even with several values
	for _, run := range want {
		if slices.ContainsFunc(groupsOf(&run, q), func(group string) bool { return !named[group] }) {
			others++
		}
	}
	if others == 0 {
		assert.Nil(t, stats.Other, name)
		return
	}
	require.NotNil(t, stats.Other, name)
	assert.Equal(t, len(perGroup)-len(stats.Groups), int(stats.OtherGroups), name)
	assert.Equal(t, others, stats.Other.Total.Count, name)
}

// TestOutlineOfManySpans: a run with more spans than are read before their number is known has all of them.
func TestOutlineOfManySpans(t *testing.T) {
	t.Parallel()
	s := newQuerying(t)
	start := time.Now().UTC().Truncate(time.Hour)
	for _, n := range []int{3999, 4000, 4001, 9000} {
		spans := make([]runmodel.Span, n)
		id := uuid.New()
		for i := range spans {
			at := start.Add(time.Duration(i) * time.Millisecond)
			spans[i] = runmodel.Span{ProjectID: s.project, RunID: id, SpanID: uint64(i + 1), Version: 1, StartTime: at, EndTime: at, Name: "step", Kind: "task", Status: "ok"}
		}
		require.NoError(t, s.writer.InsertSpans(t.Context(), spans))
		require.NoError(t, s.writer.InsertRuns(t.Context(), []runmodel.Run{runmodel.Totals(spans)}))
		require.NoError(t, s.writer.InsertBounds(t.Context(), []clickhouse.Bounds{{
			ProjectID: s.project, RunID: id, FirstStart: start, LastStart: spans[n-1].StartTime, FirstBatch: 1, LastBatch: 1,
		}}))
		outline, err := s.Outline(t.Context(), s.projects, id)
		require.NoError(t, err)
		assert.False(t, outline.Partial)
		require.Len(t, outline.Spans, n)
		assert.Equal(t, uint64(n), outline.Spans[n-1].SpanID)
	}
	_, err := s.Outline(t.Context(), s.projects, uuid.New())
	require.ErrorIs(t, err, runs.ErrNotFound)
}

// TestTimeZones: an engine in a time zone whose hours begin in the middle of UTC's must return the same.
func TestTimeZones(t *testing.T) {
	t.Parallel()
	s := newQuerying(t)
	conn, err := clickhouse.Open(s.address + "?session_timezone=Asia%2FKolkata")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	zoned := &querying{Service: runs.NewService(conn, nil, nil, slog.New(slog.DiscardHandler)), project: s.project, projects: s.projects}
	t.Cleanup(zoned.Close)
	start := time.Now().UTC().Truncate(24 * time.Hour).Add(-48 * time.Hour)
	run := uuid.New()
	span := runmodel.Span{ProjectID: s.project, RunID: run, SpanID: 1, Version: 1, StartTime: start.Add(-23 * time.Hour), EndTime: start, Name: "whereabouts", Kind: "task"}
	totals := runmodel.Totals([]runmodel.Span{span})
	totals.StartTime = start.Add(50 * time.Minute) // a native run may state a later one
	require.NoError(t, s.writer.InsertSpans(t.Context(), []runmodel.Span{span}))
	require.NoError(t, s.writer.InsertRuns(t.Context(), []runmodel.Run{totals}))
	s.all = append(s.all, totals)
	for _, offset := range []time.Duration{0, 20 * time.Minute, 40 * time.Minute} {
		f := runs.Filter{StartAfter: start.Add(offset), StartBefore: start.Add(24*time.Hour + offset)}
		var want []runmodel.Run
		for _, run := range s.all {
			if !run.StartTime.Before(f.StartAfter) && run.StartTime.Before(f.StartBefore) {
				want = append(want, run)
			}
		}
		assert.Equal(t, sorted(want, runs.NewestFirst), zoned.pages(t, runs.ListQuery{Filter: f, Limit: 7}), offset)
		f.Search = "whereabouts"
		assert.Equal(t, []uuid.UUID{run}, zoned.pages(t, runs.ListQuery{Filter: f, Limit: 7}), offset)
	}
}

func TestCursors(t *testing.T) {
	t.Parallel()
	s := newQuerying(t)
	q := runs.ListQuery{Filter: runs.Filter{ProjectID: s.project, Window: 30 * 24 * time.Hour}, Limit: 10}
	page, err := s.List(t.Context(), s.projects, q)
	require.NoError(t, err)
	q.Cursor = page.NextCursor
	_, err = s.List(t.Context(), s.projects, q)
	require.NoError(t, err, "the window has moved, the cursor is of it all the same")
	for name, other := range map[string]runs.ListQuery{
		"order":  {Filter: q.Filter, Order: "cost_usd"},
		"filter": {Filter: runs.Filter{ProjectID: s.project, Window: q.Window, Name: "a"}},
	} {
		other.Limit, other.Cursor = 10, page.NextCursor
		_, err := s.List(t.Context(), s.projects, other)
		require.ErrorIs(t, err, runs.ErrInvalidCursor, name)
	}

	// Runs that arrive between pages, newer and older, must neither repeat nor hide others.
	for _, order := range []string{runs.NewestFirst, runs.OldestFirst, "-duration_ms", "cost_usd"} {
		q := runs.ListQuery{Filter: runs.Filter{ProjectID: s.project}, Order: order, Limit: 23}
		seen := map[uuid.UUID]int{}
		for n := 0; ; n++ {
			page, err := s.List(t.Context(), s.projects, q)
			require.NoError(t, err)
			for _, run := range page.Runs {
				seen[run.RunID]++
			}
			if q.Cursor = page.NextCursor; q.Cursor == "" || n == 100 {
				break
			}
			start := time.Now().UTC().Add(-time.Duration(n%5) * 90 * time.Hour)
			require.NoError(t, s.writer.InsertRuns(t.Context(), []runmodel.Run{{
				ProjectID: s.project, RunID: uuid.New(), Version: 1, StartTime: start, EndTime: start.Add(time.Millisecond), FirstReceived: start, Name: "new", Kind: "task", Status: "ok", GenAI: true, Source: "user",
			}}))
		}
		for _, run := range s.all {
			assert.Equal(t, 1, seen[run.RunID], order)
		}
		for _, times := range seen {
			assert.Equal(t, 1, times, order)
		}
	}
}
