package runs

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
)

// StatsQuery asks what a filter's runs add up to, over time and by group.
type StatsQuery struct {
	Filter
	// Bucket is how long one point of the series is; 0 chooses it from the window.
	Bucket time.Duration
	// GroupBy is one of StatsGroups, or empty.
	GroupBy string
	// Groups is how many groups are told apart, the largest first; the rest are put together.
	Groups int
}

// Stats are totals, as of the runs that started in [Start, End).
type Stats struct {
	Start, End time.Time
	Bucket     time.Duration
	Total      StatsRow
	// Series has a point for every bucket, empty ones included. Buckets are aligned to the Unix epoch in UTC: the first
	// may begin before Start, and the last end after End; both hold runs of the window only.
	Series []StatsRow
	Groups []StatsGroup
	// Other are the runs of the groups that are not in Groups, nil where there are none; OtherGroups counts these groups.
	Other       *StatsGroup
	OtherGroups uint64
	// Partial tells that the runs before Start were left out, since reading them takes longer than one may.
	Partial bool
}

// StatsGroup are the runs that have one value of what they are grouped by; "" is none.
type StatsGroup struct {
	Value  string
	Total  StatsRow
	Series []StatsRow
}

// StatsRow adds runs up. Sums are nil where no run knows the figure.
type StatsRow struct {
	Bucket      time.Time `ch:"bucket"`
	Count       uint64    `ch:"runs"`
	ErrorCount  uint64    `ch:"errors"`
	EndedCount  uint64    `ch:"ended"`
	DurationsMs []float64 `ch:"durations"` // percentiles 50, 95, 99 of the runs that have ended
	Input       *int64    `ch:"input"`
	Output      *int64    `ch:"output"`
	CacheRead   *int64    `ch:"cache_read"`
	CacheWrite  *int64    `ch:"cache_write"`
	Reasoning   *int64    `ch:"reasoning"`
	CostUSD     *float64  `ch:"cost"`
	NoUsage     uint64    `ch:"no_usage"` // runs of which no tokens are known
	NoCost      uint64    `ch:"no_cost"`  // runs of which no cost is known
}

// StatsGroups are what runs can be grouped by, and the column of the table runs that says it.
var StatsGroups = map[string]string{
	"model":          "models",
	"name":           "name",
	"kind":           "kind",
	"status":         "status",
	"agent_name":     "agent_name",
	"environment":    "environment",
	"release":        "release",
	"prompt_version": "prompt_version",
	"error_type":     "error_type",
	"user_id":        "user_id",
	"session_id":     "session_id",
	"tag":            "tags",
}

// MaxBuckets is how many points a series has at most.
const MaxBuckets = 1000

// ErrTooManyBuckets means that the window has more than MaxBuckets buckets of the length that was asked for.
var ErrTooManyBuckets = errors.New("too many buckets")

// bucketLengths are those that are chosen from. The last is for anything longer.
var bucketLengths = []time.Duration{
	time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour, 365 * 24 * time.Hour,
}

// chosenBuckets is how many points a series has at most where its buckets were chosen.
const chosenBuckets = 60

func chooseBucket(start, end time.Time) time.Duration {
	for _, length := range bucketLengths {
		if bucketsBetween(start, end, length) <= chosenBuckets {
			return length
		}
	}
	return bucketLengths[len(bucketLengths)-1]
}

// bucketOf is when the bucket of t begins.
func bucketOf(t time.Time, length time.Duration) time.Time {
	seconds := int64(length / time.Second)
	return time.Unix(t.Unix()/seconds*seconds, 0).UTC()
}

func bucketsBetween(start, end time.Time, length time.Duration) int {
	return int(bucketOf(end.Add(-1), length).Sub(bucketOf(start, length))/length) + 1
}

// statsColumns add runs up, and partsColumns what was added up of parts of them.
const (
	statsColumns = `count() AS runs, countIf(status = 'error') AS errors, countIf(status != 'running') AS ended,
		quantilesTDigestStateIf(0.5, 0.95, 0.99)(
			(toUnixTimestamp64Nano(end_time) - toUnixTimestamp64Nano(start_time)) / 1e6, status != 'running') AS durations,
		sum(input_tokens) AS input, sum(output_tokens) AS output, sum(cache_read_tokens) AS cache_read,
		sum(cache_write_tokens) AS cache_write, sum(reasoning_tokens) AS reasoning, sum(cost_usd) AS cost,
		countIf(input_tokens IS NULL AND output_tokens IS NULL) AS no_usage, countIf(cost_usd IS NULL) AS no_cost`
	partsColumns = `sum(part.runs) AS runs, sum(part.errors) AS errors, sum(part.ended) AS ended,
		arrayMap(q -> toFloat64(q), quantilesTDigestMerge(0.5, 0.95, 0.99)(part.durations)) AS durations,
		sum(part.input) AS input, sum(part.output) AS output, sum(part.cache_read) AS cache_read,
		sum(part.cache_write) AS cache_write, sum(part.reasoning) AS reasoning, sum(part.cost) AS cost,
		sum(part.no_usage) AS no_usage, sum(part.no_cost) AS no_cost`
)

// Stats adds up the runs that a filter selects. Where that takes too long, it does so for the newest part of the window.
func (s *Service) Stats(ctx context.Context, scope Scope, q StatsQuery) (Stats, error) {
	scope, err := scope.narrow(q.ProjectID)
	if err != nil {
		return Stats{}, err
	}
	q.Filter = q.at(s.now())
	if q.StartAfter.IsZero() || q.StartBefore.IsZero() {
		if q.StartAfter, q.StartBefore, err = s.startsBetween(ctx, scope, q.Filter); err != nil {
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
	stats.Partial, err = s.newestWithin(ctx, &stats.Start, stats.End, func(ctx context.Context, start time.Time) error {
		return s.stats(ctx, scope, q, start, &stats)
	})
	return stats, err
}

// newestWithin calls read, with a start from which on to read; where that exceeds its bounds, with ever later ones.
// start is then what was read from. It tells whether that is later than it was.
func (s *Service) newestWithin(ctx context.Context, start *time.Time, end time.Time, read func(ctx context.Context, start time.Time) error) (bool, error) {
	const share = 8 // of the window in the next attempt
	from := *start
	for _, bound := range []time.Duration{8 * time.Second, 4 * time.Second, 4 * time.Second, 4 * time.Second} {
		err := read(bounded(ctx, bound), from)
		if err == nil {
			partial := from.After(*start)
			*start = from
			return partial, nil
		}
		if !errors.Is(err, ErrTooExpensive) {
			return false, err
		}
		from = end.Add(-end.Sub(from) / share)
	}
	return false, ErrTooExpensive
}

// startsBetween says in what time a project's runs started, where the filter leaves a bound open.
func (s *Service) startsBetween(ctx context.Context, scope Scope, f Filter) (start, end time.Time, err error) {
	start, end = f.StartAfter, f.StartBefore
	now := s.now().UTC()
	from := start
	if !start.IsZero() && end.IsZero() && now.After(start) {
		from = now // only runs that start later than now, by another clock, matter for the end
	}
	var w where
	w.add(scopeMark)
	w.period("start_time", from, end)
	var rows []struct {
		First time.Time `ch:"first"`
		Last  time.Time `ch:"last"`
	}
	err = query(ctx, s.conn, scope, &rows, "SELECT min(start_time) AS first, max(start_time) AS last FROM runs WHERE "+w.String()+" HAVING count() > 0", w.args...)
	if err != nil {
		return start, end, err
	}
	first, last := now, now
	if len(rows) > 0 {
		first, last = rows[0].First.UTC(), rows[0].Last.UTC().Add(1)
	}
	if start.IsZero() {
		start = first
	}
	if end.IsZero() {
		end = now
		if last.After(end) {
			end = last
		}
	}
	return start, end, nil
}

// statsRow is a row as it is read: of all runs, of a group or of the others, over the window or in one bucket of it.
type statsRow struct {
	StatsRow
	Of       uint8  `ch:"of"`
	Group    string `ch:"grp"`
	OfBucket uint8  `ch:"of_bucket"`
}

// Values of statsRow.Of; 0 is all runs.
const (
	ofGroup = 1
	ofOther = 2
)

// isList tells the columns of which a run has several values.
func isList(column string) bool { return column == "models" || column == "tags" }

func (s *Service) stats(ctx context.Context, scope Scope, q StatsQuery, start time.Time, stats *Stats) error {
	var w where
	w.add(scopeMark)
	w.period("start_time", start, stats.End)
	q.conditions(&w, start)

	names := []string{""}
	var groups uint64
	// Runs are told apart by key, what of their values is among the names, and other, whether there is more than that.
	key, other, belongs := "''", "false", "[]"
	var args []any
	if q.GroupBy != "" {
		column := StatsGroups[q.GroupBy]
		top, n, err := s.topGroups(ctx, scope, w, column, q.Groups)
		if err != nil {
			return err
		}
		if groups = n; len(top) > 0 {
			names = top
		}
		if isList(column) {
			// (emptyArrayToSingle took several times as long.)
			key = "arrayFilter(v -> v IN (?), if(empty(" + column + "), [''], " + column + "))"
			other = "length(key) < greatest(length(" + column + "), 1)"
			belongs = "arrayMap(v -> (1, CAST(v AS String)), arrayDistinct(key))"
		} else {
			key = "if(" + column + " IN (?), " + column + ", '')"
			other = column + " NOT IN (?)"
			belongs = "if(other, [], [(1, CAST(key AS String))])"
			args = []any{names}
		}
		args = append(args, names)
	}
	seconds := int64(stats.Bucket / time.Second)
	// Every run is added up once, into few parts, and those to what is asked for.
	statement := `
		SELECT fromUnixTimestamp64Second(slot, 'UTC') AS bucket, grouping(slot) = 0 AS of_bucket, belongs.1 AS of, belongs.2 AS grp, ` + partsColumns + `
		FROM (
			SELECT *, arrayJoin(arrayConcat([(0, '')], ` + belongs + `, if(other, [(2, '')], []))) AS belongs FROM (
				SELECT intDiv(toUnixTimestamp64Nano(start_time), 1000000000 * ?) * ? AS slot, ` + key + ` AS key, ` + other + ` AS other, ` + statsColumns + `
				FROM runs FINAL WHERE ` + w.String() + ` GROUP BY slot, key, other
			)
		) AS part
		GROUP BY GROUPING SETS ((belongs), (slot, belongs))`
	var rows []statsRow
	if err := query(ctx, s.conn, scope, &rows, statement, slices.Concat([]any{seconds, seconds}, args, w.args)...); err != nil {
		return err
	}
	stats.fill(rows, start, names, q.GroupBy != "")
	if stats.Other != nil {
		stats.OtherGroups = groups - uint64(len(stats.Groups))
	}
	return nil
}

// topGroups are the values of the most runs in a column, and how many values there are.
func (s *Service) topGroups(ctx context.Context, scope Scope, w where, column string, limit int) ([]string, uint64, error) {
	var rows []struct {
		Value  string `ch:"value"`
		Groups uint64 `ch:"groups"`
	}
	counts := "SELECT " + column + " AS value, count() AS runs FROM runs FINAL WHERE " + w.String() + " GROUP BY value"
	if isList(column) {
		counts = `SELECT arrayJoin(if(empty(list), [''], list)) AS value, sum(n) AS runs FROM (
			SELECT ` + column + ` AS list, count() AS n FROM runs FINAL WHERE ` + w.String() + ` GROUP BY list) GROUP BY value`
	}
	err := query(ctx, s.conn, scope, &rows, `
		SELECT CAST(value AS String) AS value, count() OVER () AS groups FROM (`+counts+`)
		ORDER BY runs DESC, value LIMIT ?`, append(slices.Clone(w.args), limit)...)
	if err != nil || len(rows) == 0 {
		return nil, 0, err
	}
	names := make([]string, len(rows))
	for i := range rows {
		names[i] = rows[i].Value
	}
	return names, rows[0].Groups, nil
}

// fill puts rows where they belong, with an empty point for every bucket that has no run.
func (s *Stats) fill(rows []statsRow, start time.Time, names []string, grouped bool) {
	first := bucketOf(start, s.Bucket)
	empty := make([]StatsRow, bucketsBetween(start, s.End, s.Bucket))
	for i := range empty {
		empty[i].Bucket = first.Add(time.Duration(i) * s.Bucket)
	}
	s.Series = slices.Clone(empty)
	s.Groups, s.Other = []StatsGroup{}, nil
	byName := map[string]*StatsGroup{}
	other := &StatsGroup{Series: slices.Clone(empty)}
	for _, name := range names {
		byName[name] = &StatsGroup{Value: name, Series: slices.Clone(empty)}
	}
	for _, row := range rows {
		total, series := &s.Total, s.Series
		switch row.Of {
		case ofGroup:
			total, series = &byName[row.Group].Total, byName[row.Group].Series
		case ofOther:
			total, series = &other.Total, other.Series
		}
		if row.OfBucket == 1 {
			at := int(row.Bucket.Sub(first) / s.Bucket)
			row.Bucket = series[at].Bucket
			series[at] = row.StatsRow
			continue
		}
		*total = row.StatsRow
	}
	if !grouped {
		return
	}
	for _, name := range names {
		if byName[name].Total.Count > 0 {
			s.Groups = append(s.Groups, *byName[name])
		}
	}
	if other.Total.Count > 0 {
		s.Other = other
	}
}

// narrow is the scope of one project, if it is among the scope's.
func (s Scope) narrow(project uuid.UUID) (Scope, error) {
	if !slices.Contains(s.ProjectIDs, project) {
		return Scope{}, ErrNotFound
	}
	return Scope{ProjectIDs: []uuid.UUID{project}}, nil
}
