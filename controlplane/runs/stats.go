package runs

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"
	"unsafe"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/problem"
)

// StatsQuery selects the totals of a filter's runs, over time and by group.
type StatsQuery struct {
	Filter
	// Bucket is the length of a bucket; 0 chooses it by the window.
	Bucket time.Duration
	// GroupBy is one of StatsGroups, or empty.
	GroupBy string
	// Groups is how many groups are listed, the largest first. The rest is added up as Other.
	Groups int
}

// Stats are the totals of the runs that started in [Start, End).
type Stats struct {
	Start, End time.Time
	Bucket     time.Duration
	Total      StatsRow
	// Series has a point for every bucket, including empty ones. Buckets are aligned to the Unix epoch in UTC. The first may begin before
	// Start, and the last may end after End, but both hold runs of the window only.
	Series []StatsRow
	Groups []StatsGroup
	// Other adds up the runs of the groups that are not in Groups, nil if there are none. OtherGroups counts these groups.
	Other       *StatsGroup
	OtherGroups uint64
	// Partial reports that reading the whole window took too long. The runs before Start were left out.
	Partial bool
}

// StatsGroup are the runs that have one value of what they are grouped by. Empty is no value.
type StatsGroup struct {
	Value  string
	Total  StatsRow
	Series []StatsRow
}

// StatsRow is a sum over runs. Figures are nil if no run knows them.
type StatsRow struct {
	Bucket      time.Time
	Count       uint64    `ch:"runs"`
	ErrorCount  uint64    `ch:"errors"`
	EndedCount  uint64    `ch:"ended"`
	Input       *int64    `ch:"input"`
	Output      *int64    `ch:"output"`
	CacheRead   *int64    `ch:"cache_read"`
	CacheWrite  *int64    `ch:"cache_write"`
	Reasoning   *int64    `ch:"reasoning"`
	OtherTokens *int64    `ch:"other_sum"`
	CostUSD     *float64  `ch:"cost"`
	NoUsage     uint64    `ch:"no_usage"` // runs whose tokens are unknown
	NoCost      uint64    `ch:"no_cost"`  // runs whose cost is unknown
	Sampled     uint64    `ch:"sampled"`  // runs that a sampler kept for a share of all
	SampleShare *float64  `ch:"share"`    // the least share of these
	DurationsMs []float64 // percentiles 50, 95 and 99 of the runs with a known end, nil if there are none
}

// StatsGroups maps what runs can be grouped by to what they have of it in the table runs.
var StatsGroups = map[string]grouping{
	"model":          {column: "models", isList: true},
	"name":           {column: "name"},
	"kind":           {column: "kind"},
	"status":         {column: "status"},
	"agent_name":     {column: "agent_name"},
	"environment":    {column: "environment"},
	"release":        {column: "release"},
	"agent_release":  {column: "agent_release"},
	"prompt_version": {column: "prompts", isList: true, with: "WITH " + promptLabels + " AS prompts "},
	"error_type":     {column: "error_type"},
	"user_id":        {column: "user_id"},
	"session_id":     {column: "session_id"},
	"tag":            {column: "tags", isList: true},
}

// grouping is what runs are grouped by.
type grouping struct {
	column string
	// isList is true if a run has several values in the column.
	isList bool
	// with defines the column before SELECT, if it is none of the table. args are its arguments.
	with string
	args []any
}

// MaxBuckets is how many points a series may have.
const MaxBuckets = 1000

// ErrTooManyBuckets means that the window has more than MaxBuckets buckets of the given length.
var ErrTooManyBuckets = problem.InvalidField("query.bucket_seconds", "must be longer: the window has more than 1,000 buckets of it")

// bucketLengths are those that chooseBucket chooses from. The last is for any longer window.
var bucketLengths = []time.Duration{
	time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour, 365 * 24 * time.Hour,
}

// chosenBuckets is how many points a series may have if its bucket length was chosen.
const chosenBuckets = 60

func chooseBucket(start, end time.Time) time.Duration {
	for _, length := range bucketLengths {
		if bucketsBetween(start, end, length) <= chosenBuckets {
			return length
		}
	}
	return bucketLengths[len(bucketLengths)-1]
}

// bucketOf returns when the bucket of t begins.
func bucketOf(t time.Time, length time.Duration) time.Time {
	seconds := int64(length / time.Second)
	return time.Unix(t.Unix()/seconds*seconds, 0).UTC()
}

func bucketsBetween(start, end time.Time, length time.Duration) int {
	return int(bucketOf(end.Add(-1), length).Sub(bucketOf(start, length))/length) + 1
}

// Stats adds up the runs that a filter selects. If that takes too long, it adds up the newest part of the window.
func (s *Service) Stats(ctx context.Context, projects access.Projects, q StatsQuery) (Stats, error) {
	return s.statsBy(ctx, projects, q, StatsGroups[q.GroupBy])
}

// statsBy is Stats by a grouping that may be none of StatsGroups.
func (s *Service) statsBy(ctx context.Context, projects access.Projects, q StatsQuery, by grouping) (Stats, error) {
	projects = projects.Only(q.ProjectID)
	var err error
	if q.Filter, err = s.resolve(ctx, projects, q.Filter); err != nil {
		return Stats{}, err
	}
	if q.StartAfter.IsZero() || q.StartBefore.IsZero() {
		if q.StartAfter, q.StartBefore, err = s.startRange(ctx, projects, q.Filter); err != nil {
			return Stats{}, err
		}
	}
	stats := Stats{Start: q.StartAfter, End: q.StartBefore, Bucket: q.Bucket, Series: []StatsRow{}, Groups: []StatsGroup{}}
	if !stats.Start.Before(stats.End) {
		stats.Bucket = cmp.Or(stats.Bucket, bucketLengths[0])
		return stats, nil
	}
	if stats.Bucket == 0 {
		stats.Bucket = chooseBucket(stats.Start, stats.End)
	}
	if bucketsBetween(stats.Start, stats.End, stats.Bucket) > MaxBuckets {
		return Stats{}, ErrTooManyBuckets
	}
	stats.Partial, err = s.readNewest(&stats.Start, stats.End, func(s *Service, start time.Time) error {
		return s.stats(ctx, projects, q, by, start, &stats)
	})
	return stats, err
}

// statsSum adds up the runs of one bucket that belong to the same groups.
type statsSum struct {
	StatsRow
	Slot      int64    `ch:"slot"`      // when the bucket begins, in Unix seconds
	Groups    []string `ch:"belongs"`   // those of names
	Other     bool     `ch:"other"`     // they belong to other groups as well
	State     string   `ch:"durations"` // ClickHouse's t-digest of the milliseconds of those with a known end
	durations digest   // of State
}

func (r *statsSum) complete() (err error) {
	r.durations, err = parseDigest(r.State)
	r.State = ""
	return err
}

func (r statsSum) size() int {
	size := int(unsafe.Sizeof(r)) + len(r.durations)*int(unsafe.Sizeof(centroid{}))
	for _, group := range r.Groups {
		size += int(unsafe.Sizeof(group)) + len(group)
	}
	return size
}

const statsColumns = `count() AS runs, countIf(` + failedItself + `) AS errors, countIf(status != 'running') AS ended,
	hex(quantileTDigestStateIf((` + duration + `) / 1e6, ` + hasEnd + `)) AS durations,
	sum(input_tokens) AS input, sum(output_tokens) AS output, sum(cache_read_tokens) AS cache_read,
	sum(cache_write_tokens) AS cache_write, sum(reasoning_tokens) AS reasoning, sum(other_tokens) AS other_sum, sum(cost_usd) AS cost,
	countIf(input_tokens IS NULL AND output_tokens IS NULL AND other_tokens IS NULL) AS no_usage, countIf(cost_usd IS NULL) AS no_cost,
	countIf(sample_share IS NOT NULL) AS sampled, min(sample_share) AS share`

func (s *Service) stats(ctx context.Context, projects access.Projects, q StatsQuery, by grouping, start time.Time, stats *Stats) error {
	windows, err := s.windows(ctx, q.Filter, start, stats.End)
	if err != nil {
		return err
	}
	var top []string
	var groups uint64
	if by.column != "" {
		if top, groups, err = s.topGroups(ctx, projects, newWindow(q.Filter, start, stats.End), windows, by, q.Groups); err != nil {
			return err
		}
	}
	return s.statsOf(ctx, projects, by, windows, start, top, groups, stats)
}

// statsOf adds up the runs of the groups top, which are some of the given number of groups, and of the rest.
func (s *Service) statsOf(
	ctx context.Context, projects access.Projects, by grouping, windows []window, start time.Time, top []string, groups uint64, stats *Stats,
) error {
	names := []string{""}
	// Runs are grouped by key, which is those of their values that are in names, and by other, which is whether they have more values.
	key, other, belongs := "''", "false", "[]::Array(String)"
	var args []any
	column := by.column
	if column != "" {
		if len(top) > 0 {
			names = top
		}
		if by.isList {
			// emptyArrayToSingle took several times as long.
			key = "arrayFilter(v -> v IN (?), if(empty(" + column + "), [''], " + column + "))"
			other = "length(key) < greatest(length(" + column + "), 1)"
			belongs = "CAST(arrayDistinct(key) AS Array(String))"
		} else {
			key = "if(" + column + " IN (?), " + column + ", '')"
			other = column + " NOT IN (?)"
			belongs = "if(other, [], [CAST(key AS String)])"
			args = []any{names}
		}
		args = append(args, names)
	}
	seconds := int64(stats.Bucket / time.Second)
	args = slices.Concat(by.args, []any{seconds, seconds}, args)
	fold := newStatsFold(start, stats.End, stats.Bucket, names)
	for _, w := range windows {
		rows, err := readWindow(ctx, s, projects, w, (*statsSum).complete, `SELECT slot, other, `+belongs+` AS belongs, sums.* EXCEPT (slot, key, other) FROM (
			`+by.with+`SELECT intDiv(toUnixTimestamp64Nano(start_time), 1000000000 * ?) * ? AS slot, `+key+` AS key, `+other+` AS other, `+statsColumns+`
			FROM runs FINAL WHERE `+w.String()+` GROUP BY slot, key, other
		) AS sums`, append(slices.Clone(args), w.args...)...)
		if err != nil {
			return err
		}
		for i := range rows {
			fold.add(&rows[i])
		}
		// Those that a score alone fails are counted apart: a score changes no day of runs, and the sums above may be of the cache.
		var scored []statsSum
		if err := query(ctx, s.conn, projects, &scored, `SELECT slot, other, `+belongs+` AS belongs, errors FROM (
			`+by.with+`SELECT intDiv(toUnixTimestamp64Nano(start_time), 1000000000 * ?) * ? AS slot, `+key+` AS key, `+other+` AS other, count() AS errors
			FROM runs FINAL WHERE `+w.String()+` AND `+w.scored.String()+` GROUP BY slot, key, other
		) AS sums`, slices.Concat(args, w.args, w.scored.args)...); err != nil {
			return err
		}
		for i := range scored {
			fold.add(&scored[i])
		}
	}
	stats.Total, stats.Series = fold.all.rows()
	stats.Groups, stats.Other, stats.OtherGroups = []StatsGroup{}, nil, 0
	if column == "" {
		return nil
	}
	for _, name := range names {
		if group := fold.groups[name]; group.sum.Count > 0 {
			total, series := group.rows()
			stats.Groups = append(stats.Groups, StatsGroup{Value: name, Total: total, Series: series})
		}
	}
	if fold.other.sum.Count > 0 {
		stats.Other = &StatsGroup{}
		stats.Other.Total, stats.Other.Series = fold.other.rows()
		stats.OtherGroups = groups - uint64(len(stats.Groups))
	}
	return nil
}

// groupCount is a value and how many runs have it.
type groupCount struct {
	Value  string `ch:"value"`
	Runs   uint64 `ch:"runs"`
	Groups uint64 `ch:"groups"` // number of values
}

func (c groupCount) size() int { return int(unsafe.Sizeof(c)) + len(c.Value) }

// maxCountedValues is how many values of a window are counted here. If there are more, ClickHouse finds the largest.
const maxCountedValues = 2000

// topGroups returns the values that most runs have, and how many values there are. windows divide whole.
func (s *Service) topGroups(ctx context.Context, projects access.Projects, whole window, windows []window, by grouping, limit int) ([]string, uint64, error) {
	if windows[0].state != "" {
		counts, complete, err := s.countValues(ctx, projects, windows, by)
		if err != nil {
			return nil, 0, err
		}
		if complete {
			return topValues(counts, limit), uint64(len(counts)), nil
		}
	}
	counts, err := s.groupCounts(ctx, projects, whole, by, limit)
	if err != nil || len(counts) == 0 {
		return nil, 0, err
	}
	names := make([]string, len(counts))
	for i := range counts {
		names[i] = counts[i].Value
	}
	return names, counts[0].Groups, nil
}

// countValues counts the runs of every value. complete is false if there are too many values.
func (s *Service) countValues(ctx context.Context, projects access.Projects, windows []window, by grouping) (counts map[string]uint64, complete bool, err error) {
	counts = map[string]uint64{}
	for _, w := range windows {
		rows, err := s.groupCounts(ctx, projects, w, by, maxCountedValues)
		if err != nil {
			return nil, false, err
		}
		for _, row := range rows {
			if row.Groups > maxCountedValues {
				return nil, false, nil
			}
			counts[row.Value] += row.Runs
		}
	}
	return counts, true, nil
}

// topValues returns the values that most runs have, equal ones in the order of their names.
func topValues(counts map[string]uint64, limit int) []string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	return names[:min(limit, len(names))]
}

// groupCounts returns the values that most runs of a window have, up to limit. It ignores those longer than maxValueBytes.
func (s *Service) groupCounts(ctx context.Context, projects access.Projects, w window, by grouping, limit int) ([]groupCount, error) {
	counts := by.with + "SELECT " + by.column + " AS value, count() AS runs FROM runs FINAL WHERE " + w.String() + " GROUP BY value"
	if by.isList {
		counts = `SELECT arrayJoin(if(empty(list), [''], list)) AS value, sum(n) AS runs FROM (
			` + by.with + `SELECT ` + by.column + ` AS list, count() AS n FROM runs FINAL WHERE ` + w.String() + ` GROUP BY list) GROUP BY value`
	}
	return readWindow(ctx, s, projects, w, func(*groupCount) error { return nil }, `
		SELECT value, runs, groups FROM (SELECT CAST(value AS String) AS value, runs, count() OVER () AS groups FROM (`+counts+`))
		WHERE length(value) <= ? ORDER BY runs DESC, value LIMIT ?`, append(slices.Concat(by.args, w.args), maxValueBytes, limit)...)
}
