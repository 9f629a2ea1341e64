package runs

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
	"unsafe"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// PromptUsageQuery selects the GenAI runs of a project that used a prompt and started in a window of time.
type PromptUsageQuery struct {
	ProjectID uuid.UUID
	// ID and Name are those of the prompt, as in PromptMatch.
	ID, Name string
	// TextIDs are the ids of the texts of versions of the prompt (runmodel.SystemTextID), by version. They link runs to a version that no
	// span names.
	TextIDs                 map[string][]uint64
	Window                  time.Duration // ends now
	StartAfter, StartBefore time.Time     // as in Filter
	// Bucket is the length of a bucket; 0 chooses it by the window.
	Bucket time.Duration
}

// PromptUsage is how the runs of a prompt went that started in [Start, End), by version.
type PromptUsage struct {
	Start, End time.Time
	Bucket     time.Duration
	// Total is that of all runs. A run that used several versions counts once, but in each of Versions.
	Total StatsRow
	// Versions are the versions with the most runs, up to MaxUsageVersions. OtherVersions counts the rest, and Other has their totals, nil
	// if there are none.
	Versions      []PromptVersionUsage
	OtherVersions uint64
	Other         *StatsRow
	// Partial reports that reading the whole window took too long. The runs before Start were left out.
	Partial bool
}

// PromptVersionUsage is how the runs of one version went.
type PromptVersionUsage struct {
	// Version is as the spans name it. It may be none that exists. Empty means that a span names the prompt without a version.
	Version     string
	Runs        StatsRow
	Series      []StatsRow
	First, Last time.Time // when the first and the last of the runs started
	// LinkedByText counts the runs in which no span names the version: a model call that names no prompt has its text.
	LinkedByText uint64
	// UnpricedCalls counts the calls that the cost of the runs leaves out because their price is unknown, and UnpricedRuns the runs that
	// have such calls.
	UnpricedCalls, UnpricedRuns uint64
	Scores                      []ScoreMean // most used names first
	Calls                       PromptCalls
}

// ScoreMean is the mean of the numbers of a score. Those of a boolean are 0 and 1, so its mean is the share of true.
type ScoreMean struct {
	Name      string
	IsBoolean bool // all of them are booleans
	Count     uint64
	Mean      float64
}

// PromptCalls adds up the model calls of the runs that name the version themselves. Figures are nil if no call knows them. A call that two
// libraries recorded counts twice if both name the prompt.
type PromptCalls struct {
	Count      uint64 `ch:"calls"`
	ErrorCount uint64 `ch:"errors"`
	// DurationsMs are percentiles 50 and 95 of the calls that have ended, nil if there are none.
	DurationsMs []float64 `ch:"durations"`
	Input       *int64    `ch:"input"`
	Output      *int64    `ch:"output"`
	CostUSD     *float64  `ch:"cost"`
	NoUsage     uint64    `ch:"no_usage"` // calls whose tokens are unknown
	NoCost      uint64    `ch:"no_cost"`  // calls whose cost is unknown
}

// Limits of an answer.
const (
	// MaxUsageVersions limits the versions. Clients choose what they call a version.
	MaxUsageVersions = 100
	maxUsageScores   = 50 // of a version
)

// callsAround is how far outside the window a call of its runs may start to be counted.
const callsAround = 24 * time.Hour

// PromptUsage adds up the runs of a prompt by version, and the model calls that name it. If that takes too long, it adds up the newest part
// of the window.
func (s *Service) PromptUsage(ctx context.Context, in access.Projects, q PromptUsageQuery) (PromptUsage, error) {
	projects := in.Only(q.ProjectID)
	filter := Filter{
		ProjectID: q.ProjectID, Window: q.Window, StartAfter: q.StartAfter, StartBefore: q.StartBefore,
		Prompts: []PromptMatch{{ID: q.ID, Name: q.Name, TextIDs: slices.Concat(slices.Collect(maps.Values(q.TextIDs))...)}},
	}.at(s.now())
	slices.Sort(filter.Prompts[0].TextIDs) // the cache compares statements
	var err error
	if filter.StartAfter.IsZero() || filter.StartBefore.IsZero() {
		if filter.StartAfter, filter.StartBefore, err = s.startRange(ctx, projects, filter); err != nil {
			return PromptUsage{}, err
		}
	}
	usage := PromptUsage{Start: filter.StartAfter, End: filter.StartBefore, Bucket: q.Bucket, Versions: []PromptVersionUsage{}}
	if !usage.Start.Before(usage.End) {
		return usage, nil
	}
	if usage.Bucket == 0 {
		usage.Bucket = chooseBucket(usage.Start, usage.End)
	}
	if bucketsBetween(usage.Start, usage.End, usage.Bucket) > MaxBuckets {
		return PromptUsage{}, ErrTooManyBuckets
	}
	usage.Partial, err = s.readNewest(ctx, &usage.Start, usage.End, func(ctx context.Context, start time.Time) error {
		return s.promptUsage(ctx, projects, q, filter, start, &usage)
	})
	return usage, err
}

// versionsOf is what runs are grouped by: the versions of the prompt that they used. The alias named has those that their spans name, and
// versions those of their texts as well.
func (q *PromptUsageQuery) versionsOf() grouping {
	match := PromptMatch{ID: q.ID, Name: q.Name}
	is, args := match.named("i", "n")
	named := `arrayFilter((v, i, n) -> ` + is + `, CAST(prompt_versions AS Array(String)), prompt_ids, CAST(prompt_names AS Array(String)))`
	versions := "arrayDistinct(named)"
	var ids []uint64
	var texts []string
	for _, version := range slices.Sorted(maps.Keys(q.TextIDs)) {
		for _, id := range q.TextIDs[version] {
			ids, texts = append(ids, id), append(texts, version)
		}
	}
	if len(ids) > 0 {
		versions = `arrayDistinct(arrayConcat(named, arrayFilter(v -> v != '',
			arrayMap(t -> transform(t, CAST(? AS Array(UInt64)), ?, ''), system_text_ids))))`
		args = append(args, ids, texts)
	}
	return grouping{column: "versions", isList: true, with: "WITH " + named + " AS named, " + versions + " AS versions ", args: args}
}

func (s *Service) promptUsage(ctx context.Context, projects access.Projects, q PromptUsageQuery, filter Filter, start time.Time, usage *PromptUsage) error {
	by := q.versionsOf()
	stats := Stats{Start: start, End: usage.End, Bucket: usage.Bucket}
	if err := s.stats(ctx, projects, StatsQuery{Filter: filter, Bucket: usage.Bucket, Groups: MaxUsageVersions}, by, start, &stats); err != nil {
		return err
	}
	usage.Total, usage.OtherVersions, usage.Other = stats.Total, stats.OtherGroups, nil
	if stats.Other != nil {
		usage.Other = &stats.Other.Total
	}
	usage.Versions = make([]PromptVersionUsage, len(stats.Groups))
	at := make(map[string]*PromptVersionUsage, len(stats.Groups))
	for i, group := range stats.Groups {
		usage.Versions[i] = PromptVersionUsage{Version: group.Value, Runs: group.Total, Series: group.Series}
		at[group.Value] = &usage.Versions[i]
	}
	if len(at) == 0 {
		return nil
	}
	var seen []usageSeen
	var scores []usageScore
	var calls []usageCalls
	group, groupContext := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		seen, err = s.usageSeen(groupContext, projects, filter, by, start, usage.End, slices.Sorted(maps.Keys(at)))
		return err
	})
	group.Go(func() (err error) {
		scores, err = s.usageScores(groupContext, projects, newWindow(filter, start, usage.End), by)
		return err
	})
	group.Go(func() (err error) {
		calls, err = s.usageCalls(groupContext, projects, q, start, usage.End)
		return err
	})
	if err := group.Wait(); err != nil {
		return err
	}
	for i := range seen {
		if of := at[seen[i].Version]; of != nil {
			seen[i].addTo(of)
		}
	}
	for i := range scores {
		if of := at[scores[i].Version]; of != nil && scores[i].Count > 0 {
			of.Scores = append(of.Scores, ScoreMean{
				Name: scores[i].Name, IsBoolean: scores[i].Booleans == scores[i].Count, Count: scores[i].Count, Mean: scores[i].Mean,
			})
		}
	}
	for i := range calls {
		if of := at[calls[i].Version]; of != nil {
			of.Calls = calls[i].PromptCalls
			if slices.ContainsFunc(of.Calls.DurationsMs, math.IsNaN) {
				of.Calls.DurationsMs = nil
			}
		}
	}
	return nil
}

// usageSeen are figures of the runs of a version that Stats does not have.
type usageSeen struct {
	Version       string    `ch:"version"`
	First         time.Time `ch:"first"`
	Last          time.Time `ch:"last"`
	ByText        uint64    `ch:"by_text"`
	UnpricedCalls uint64    `ch:"unpriced_calls"`
	UnpricedRuns  uint64    `ch:"unpriced_runs"`
}

func (s usageSeen) size() int { return int(unsafe.Sizeof(s)) + len(s.Version) }

func (s *usageSeen) addTo(of *PromptVersionUsage) {
	if of.First.IsZero() || s.First.Before(of.First) {
		of.First = s.First.UTC()
	}
	of.Last = later(of.Last, s.Last.UTC())
	of.LinkedByText += s.ByText
	of.UnpricedCalls += s.UnpricedCalls
	of.UnpricedRuns += s.UnpricedRuns
}

func (s *Service) usageSeen(ctx context.Context, projects access.Projects, f Filter, by grouping, start, end time.Time, names []string) ([]usageSeen, error) {
	windows, err := s.windows(ctx, f, start, end)
	if err != nil {
		return nil, err
	}
	var all []usageSeen
	for _, w := range windows {
		rows, err := readWindow(ctx, s, projects, w, func(*usageSeen) error { return nil }, by.with+`
			SELECT arrayJoin(versions) AS version, min(start_time) AS first, max(start_time) AS last, countIf(NOT has(named, version)) AS by_text,
				sum(unpriced_call_count) AS unpriced_calls, countIf(unpriced_call_count > 0) AS unpriced_runs
			FROM runs FINAL WHERE `+w.String()+` GROUP BY version HAVING version IN (?)`, append(slices.Concat(by.args, w.args), names)...)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

// usageScore is a score of the runs of a version, or of their spans.
type usageScore struct {
	Version  string  `ch:"version"`
	Name     string  `ch:"score"`
	Count    uint64  `ch:"n"`
	Booleans uint64  `ch:"booleans"`
	Mean     float64 `ch:"mean"`
}

func (s *Service) usageScores(ctx context.Context, projects access.Projects, w window, by grouping) ([]usageScore, error) {
	var rows []usageScore
	args := slices.Concat(by.args, w.args, w.args)
	err := query(ctx, s.conn, projects, &rows, fmt.Sprintf(`
		SELECT version, score, count() AS n, countIf(value_kind = '%s') AS booleans, avg(assumeNotNull(number)) AS mean
		FROM (%s SELECT run_id, arrayJoin(versions) AS version FROM runs FINAL WHERE %s) AS used
		INNER JOIN (
			SELECT run_id, substring(name, 1, %d) AS score, value_kind, number FROM scores FINAL
			WHERE {projects} AND number IS NOT NULL AND isFinite(number) AND run_id IN (SELECT run_id FROM runs FINAL WHERE %s)
		) AS judged USING (run_id)
		GROUP BY version, score ORDER BY n DESC, score LIMIT %d BY version LIMIT %d`,
		runmodel.ScoreBoolean, by.with, w.String(), scoreName, w.String(), maxUsageScores, MaxUsageVersions*maxUsageScores), args...)
	return rows, err
}

// usageCalls are the calls of a version.
type usageCalls struct {
	PromptCalls

	Version string `ch:"version"`
}

// usageCalls reads the model calls that name the prompt, in runs that started between start and end. A span takes each field from the
// newest of its versions that has it, as runmodel.Fold does.
func (s *Service) usageCalls(ctx context.Context, projects access.Projects, q PromptUsageQuery, start, end time.Time) ([]usageCalls, error) {
	match := PromptMatch{ID: q.ID, Name: q.Name}
	ran := newWindow(Filter{ProjectID: q.ProjectID, Prompts: []PromptMatch{match}}, start, end)
	spans := inProjects()
	spans.startsIn(start.Add(-callsAround), end.Add(callsAround))
	naming := where{slices.Clone(spans.conditions), slices.Clone(spans.args)}
	is, args := match.named("prompt_id", "prompt_name")
	naming.add(is, args...)
	naming.add("run_id IN (SELECT run_id FROM runs FINAL WHERE "+ran.String()+")", ran.args...)
	spans.add("(run_id, span_id) IN (SELECT run_id, span_id FROM spans WHERE "+naming.String()+")", naming.args...)
	named, namedArgs := match.named("its_id", "its_name")
	var rows []usageCalls
	err := query(ctx, s.conn, projects, &rows, `
		SELECT its_version AS version, count() AS calls, countIf(its_status = ? OR its_status = '' AND erred) AS errors,
			arrayMap(q -> toFloat64(q), quantilesTDigestIf(0.5, 0.95)((toUnixTimestamp64Nano(ended) - toUnixTimestamp64Nano(began)) / 1e6,
				toUnixTimestamp64Nano(ended) != 0)) AS durations,
			sum(its_input) AS input, sum(its_output) AS output, sum(its_cost.1) AS cost,
			countIf(its_input IS NULL AND its_output IS NULL) AS no_usage, countIf(its_cost.1 IS NULL) AS no_cost
		FROM (
			WITH (NOT from_log, version) AS age
			SELECT argMaxIf(prompt_id, age, prompt_id != '') AS its_id, argMaxIf(prompt_name, age, prompt_name != '') AS its_name,
				argMaxIf(prompt_version, age, prompt_version != '') AS its_version,
				argMaxIf(kind, age, kind != '') AS its_kind, argMaxIf(operation, age, operation != '') AS its_operation,
				argMaxIf(counting, age, counting != '') AS its_counting, argMaxIf(status, age, status != '') AS its_status,
				max(error_type != '' OR error_message != '') AS erred,
				argMax(start_time, age) AS began, argMaxIf(end_time, age, toUnixTimestamp64Nano(end_time) != 0) AS ended,
				argMax(input_tokens, age) AS its_input, argMax(output_tokens, age) AS its_output,
				argMaxIf(tuple(cost_usd), (cost_source = ?, age), cost_usd IS NOT NULL OR cost_source != '') AS its_cost
			FROM spans WHERE `+spans.String()+` GROUP BY run_id, span_id
		) WHERE `+named+` AND (its_kind = ? OR its_kind = '' AND its_operation IN (?)) AND its_operation != ? AND its_counting != ?
		GROUP BY version ORDER BY calls DESC, version LIMIT ?`,
		slices.Concat([]any{runmodel.StatusError, runmodel.CostSent}, spans.args, namedArgs, []any{
			runmodel.KindLLM, runmodel.ModelCallOperations, runmodel.FetchResponse, runmodel.CountNothing, maxCountedValues,
		})...)
	return rows, err
}
