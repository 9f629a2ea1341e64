package runs

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
	"unsafe"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// PromptUsageQuery selects the runs of a project that used a prompt and started in a window of time, without those that a [Filter] leaves
// out.
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

// PromptCalls adds up the model calls that name the version themselves and started in the window. Figures are nil if no call knows them. A call that two
// libraries recorded counts twice if both name the prompt.
type PromptCalls struct {
	Count      uint64 `ch:"calls"`
	ErrorCount uint64 `ch:"errors"`
	// DurationsMs are percentiles 50, 95 and 99 of the calls that have ended, nil if there are none.
	DurationsMs []float64
	Input       *int64   `ch:"input"`
	Output      *int64   `ch:"output"`
	CostUSD     *float64 `ch:"cost"`
	NoUsage     uint64   `ch:"no_usage"` // calls whose tokens are unknown
	NoCost      uint64   `ch:"no_cost"`  // calls whose cost is unknown
}

// Limits of an answer.
const (
	// MaxUsageVersions limits the versions. Clients choose what they call a version.
	MaxUsageVersions = 100
	maxUsageScores   = 50 // of a version
)

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
	if filter.failures, err = s.failuresOf(ctx, q.ProjectID); err != nil {
		return PromptUsage{}, err
	}
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
	usage.Partial, err = s.readNewest(&usage.Start, usage.End, func(s *Service, start time.Time) error {
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
	windows, err := s.windows(ctx, filter, start, usage.End)
	if err != nil {
		return err
	}
	var scores []usageScore
	var calls map[string]*PromptCalls
	stats := Stats{Start: start, End: usage.End, Bucket: usage.Bucket}
	seen, versions, err := s.usageSeen(ctx, projects, windows, by)
	if err != nil {
		return err
	}
	top := make([]string, len(seen))
	for i := range seen {
		top[i] = seen[i].Version
	}
	usage.Total, usage.Versions, usage.OtherVersions, usage.Other = StatsRow{}, []PromptVersionUsage{}, 0, nil
	if len(seen) == 0 {
		return nil
	}
	group, groupContext := errgroup.WithContext(ctx)
	group.Go(func() error {
		return s.statsOf(groupContext, projects, by, windows, start, top, versions, &stats)
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
	usage.Total, usage.OtherVersions = stats.Total, stats.OtherGroups
	if stats.Other != nil {
		usage.Other = &stats.Other.Total
	}
	for _, group := range stats.Groups {
		v := PromptVersionUsage{Version: group.Value, Runs: group.Total, Series: group.Series}
		if i := slices.IndexFunc(seen, func(s usageSeen) bool { return s.Version == v.Version }); i >= 0 {
			v.First, v.Last, v.LinkedByText = seen[i].First.UTC(), seen[i].Last.UTC(), seen[i].ByText
			v.UnpricedCalls, v.UnpricedRuns = seen[i].UnpricedCalls, seen[i].UnpricedRuns
		}
		for _, score := range scores {
			if score.Version == v.Version {
				v.Scores = append(v.Scores, ScoreMean{Name: score.Name, IsBoolean: score.Booleans == score.Count, Count: score.Count, Mean: score.Mean})
			}
		}
		if of := calls[v.Version]; of != nil {
			v.Calls = *of
		}
		usage.Versions = append(usage.Versions, v)
	}
	return nil
}

// usageSeen are figures of the runs of a version that Stats does not have.
type usageSeen struct {
	Version       string    `ch:"version"`
	Runs          uint64    `ch:"runs"`
	Versions      uint64    `ch:"versions_found"`
	First         time.Time `ch:"first"`
	Last          time.Time `ch:"last"`
	ByText        uint64    `ch:"by_text"`
	UnpricedCalls uint64    `ch:"unpriced_calls"`
	UnpricedRuns  uint64    `ch:"unpriced_runs"`
}

func (s usageSeen) size() int { return int(unsafe.Sizeof(s)) + len(s.Version) }

// usageSeen returns the versions with the most runs, and how many versions there are at least.
func (s *Service) usageSeen(ctx context.Context, projects access.Projects, windows []window, by grouping) (seen []usageSeen, versions uint64, err error) {
	at := map[string]int{}
	for _, w := range windows {
		rows, err := readWindow(ctx, s, projects, w, func(*usageSeen) error { return nil }, `SELECT *, count() OVER () AS versions_found FROM (`+by.with+`
			SELECT arrayJoin(versions) AS version, count() AS runs, min(start_time) AS first, max(start_time) AS last,
				countIf(NOT has(named, version)) AS by_text, sum(unpriced_call_count) AS unpriced_calls, countIf(unpriced_call_count > 0) AS unpriced_runs
			FROM runs FINAL WHERE `+w.String()+` GROUP BY version
		) WHERE length(version) <= ? ORDER BY runs DESC, version LIMIT ?`, append(slices.Concat(by.args, w.args), maxValueBytes, maxCountedValues)...)
		if err != nil {
			return nil, 0, err
		}
		for _, row := range rows {
			versions = max(versions, row.Versions)
			i, ok := at[row.Version]
			if !ok {
				at[row.Version] = len(seen)
				seen = append(seen, row)
				continue
			}
			sum := &seen[i]
			sum.Runs, sum.ByText = sum.Runs+row.Runs, sum.ByText+row.ByText
			sum.UnpricedCalls, sum.UnpricedRuns = sum.UnpricedCalls+row.UnpricedCalls, sum.UnpricedRuns+row.UnpricedRuns
			sum.First, sum.Last = earlier(sum.First, row.First), later(sum.Last, row.Last)
		}
	}
	versions = max(versions, uint64(len(seen)))
	slices.SortFunc(seen, func(a, b usageSeen) int {
		return cmp.Or(cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.Version, b.Version))
	})
	return seen[:min(len(seen), MaxUsageVersions)], versions, nil
}

// usageScore is a score of the runs of a version, or of their spans.
type usageScore struct {
	Version  string  `ch:"version"`
	Name     string  `ch:"score"`
	Count    uint64  `ch:"n"`
	Booleans uint64  `ch:"booleans"`
	Mean     float64 `ch:"mean"`
}

// usageScores reads the scores of the runs of a window. A project has fewer scores than runs, so it looks up the runs of the scores.
func (s *Service) usageScores(ctx context.Context, projects access.Projects, w window, by grouping) ([]usageScore, error) {
	const numbers = "{projects} AND isNotNull(number) AND isFinite(number)"
	var rows []usageScore
	err := query(ctx, s.conn, projects, &rows, fmt.Sprintf(`
		SELECT version, score, count() AS n, countIf(value_kind = '%s') AS booleans, avg(assumeNotNull(number)) AS mean
		FROM (SELECT run_id, substring(name, 1, %d) AS score, value_kind, number FROM scores FINAL WHERE %s) AS judged
		INNER JOIN (
			%s SELECT run_id, arrayJoin(versions) AS version FROM runs FINAL WHERE %s AND run_id IN (SELECT run_id FROM scores WHERE %s)
		) AS used USING (run_id)
		GROUP BY version, score ORDER BY n DESC, score LIMIT %d BY version LIMIT %d`,
		runmodel.ScoreBoolean, scoreName, numbers, by.with, w.String(), numbers, maxUsageScores, MaxUsageVersions*maxUsageScores),
		slices.Concat(by.args, w.args)...)
	return rows, err
}

// usageCalls are the calls of a version in a window.
type usageCalls struct {
	PromptCalls

	Version   string `ch:"version"`
	State     string `ch:"durations"` // as in statsSum
	durations digest
}

func (c *usageCalls) complete() (err error) {
	c.durations, err = parseDigest(c.State)
	c.State = ""
	return err
}

func (c usageCalls) size() int {
	return int(unsafe.Sizeof(c)) + len(c.Version) + len(c.durations)*int(unsafe.Sizeof(centroid{}))
}

// maxCallDelay is how long after the start of its run a call may start so that usageCalls looks up what made the run.
const maxCallDelay = 24 * time.Hour

// usageCalls reads the model calls between start and end that name the prompt, by version, without those of runs that Looptrace made. A span takes its cost from the newest of its
// versions that has one, as runmodel.Fold does. Other fields of versions rarely contradict each other: it takes the latest end, the largest
// numbers of tokens, and an error if there is one.
func (s *Service) usageCalls(ctx context.Context, projects access.Projects, q PromptUsageQuery, start, end time.Time) (map[string]*PromptCalls, error) {
	is, args := (&PromptMatch{ID: q.ID, Name: q.Name}).named("prompt_id", "prompt_name")
	windows, err := s.windowsOf(ctx, "spans", start, end, func(start, end time.Time) window {
		w := window{where: inProjects()}
		w.startsIn(start, end)
		made := inProjects()
		made.startsIn(start.Add(-maxCallDelay), end)
		made.add("source != ?", runmodel.SourceUser)
		// Without FINAL it reads little more than the source of most runs.
		w.add("run_id NOT IN (SELECT run_id FROM runs WHERE "+made.String()+")", made.args...)
		return w
	})
	if err != nil {
		return nil, err
	}
	sums, durations := map[string]*PromptCalls{}, map[string]digest{}
	for _, w := range windows {
		// The ids of spans are random: few spans besides those of the prompt pass the first condition.
		rows, err := readWindow(ctx, s, projects, w, (*usageCalls).complete, `
			SELECT its_version AS version, count() AS calls, countIf(failed) AS errors,
				hex(quantileTDigestStateIf((toUnixTimestamp64Nano(ended) - toUnixTimestamp64Nano(began)) / 1e6, toUnixTimestamp64Nano(ended) != 0)) AS durations,
				sum(its_input) AS input, sum(its_output) AS output, sum(its_cost) AS cost,
				countIf(its_input IS NULL AND its_output IS NULL) AS no_usage, countIf(its_cost IS NULL) AS no_cost
			FROM (
				WITH version + if(from_log, 0, 9223372036854775808) AS age
				SELECT argMax(prompt_version, if(`+is+`, age, 0)) AS its_version,
					max(status = 'error') OR NOT max(status IN ('ok', 'cancelled')) AND max(error_type != '' OR notEmpty(error_message)) AS failed,
					min(start_time) AS began, max(end_time) AS ended, max(input_tokens) AS its_input, max(output_tokens) AS its_output,
					nullIf(if(max(cost_source = 'sent'), argMax(ifNull(cost_usd, -1), if(cost_source = 'sent', age, 0)),
						argMax(ifNull(cost_usd, -1), if(cost_source != '', age, 0))), -1) AS its_cost
				FROM spans WHERE span_id IN (SELECT span_id FROM spans WHERE `+w.String()+` AND `+is+`) AND `+w.String()+`
				GROUP BY sipHash64(run_id, span_id)
				HAVING max(`+is+`) AND NOT max(counting = 'nothing' OR operation = ?) AND max(kind = ? OR kind = '' AND operation IN (?))
			)
			GROUP BY version ORDER BY calls DESC, version LIMIT ?`,
			slices.Concat(args, w.args, args, w.args, args, []any{runmodel.FetchResponse, runmodel.KindLLM, runmodel.ModelCallOperations, maxCountedValues})...)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			sum := sums[row.Version]
			if sum == nil {
				sum = &PromptCalls{}
				sums[row.Version] = sum
			}
			sum.add(&row.PromptCalls)
			durations[row.Version] = append(durations[row.Version], row.durations...)
		}
	}
	for version, sum := range sums {
		sum.DurationsMs = durations[version].compress().percentiles()
	}
	return sums, nil
}

func (c *PromptCalls) add(other *PromptCalls) {
	c.Count += other.Count
	c.ErrorCount += other.ErrorCount
	c.NoUsage += other.NoUsage
	c.NoCost += other.NoCost
	addKnown(&c.Input, other.Input)
	addKnown(&c.Output, other.Output)
	addKnown(&c.CostUSD, other.CostUSD)
}
