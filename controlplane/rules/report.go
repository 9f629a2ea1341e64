package rules

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/stats"
	"github.com/looptrace/looptrace/internal/postgres"
)

const (
	// reportedDays is how many days a report has, and reportedErrors how many errors. errorTime is how far back these are looked for.
	reportedDays, reportedErrors = 30, 20
	errorTime                    = 7 * 24 * time.Hour
	// alpha is that of intervals.
	alpha = 0.05
)

// Counts counts runs by what became of them. The sum is what the rule took.
type Counts struct {
	Runs map[RunStatus]int64
	// Cost is the known cost of votes. Unknown counts runs with a call whose cost is unknown.
	Cost    providers.Money
	Unknown int64
}

// Taken is how many runs there are.
func (c *Counts) Taken() (taken int64) {
	for _, n := range c.Runs {
		taken += n
	}
	return taken
}

// countRow counts the runs of a status.
type countRow struct {
	Status      RunStatus
	Runs        int64
	CostNanousd providers.Money
	Unknown     int64
}

func (c *Counts) add(row *countRow) {
	if c.Runs == nil {
		c.Runs = map[RunStatus]int64{}
	}
	c.Runs[row.Status] += row.Runs
	c.Cost += row.CostNanousd
	c.Unknown += row.Unknown
}

// Today returns what some rules did today, by their ids.
func (s *Service) Today(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]*Counts, error) {
	rows, err := postgres.Many[struct {
		RuleID uuid.UUID
		countRow
	}](ctx, s.db, "count day", pgx.NamedArgs{"ids": ids, "day": day(s.now())})
	if err != nil {
		return nil, err
	}
	found := make(map[uuid.UUID]*Counts, len(ids))
	for _, id := range ids {
		found[id] = &Counts{}
	}
	for i := range rows {
		found[rows[i].RuleID].add(&rows[i].countRow)
	}
	return found, nil
}

// Day is what a version of a rule did with the runs that it took on a day.
type Day struct {
	Day     time.Time
	Version int
	Counts  Counts
	Scores  []DayScore
}

// DayScore sums up a score of a day. Mean is from 0 to 1, nil for categories.
type DayScore struct {
	Name           string
	Mean, PassRate *float64
	CI             *stats.Interval
	N              int64
	// Groups counts the groups of runs, which are the units of CI. It is nil if no two runs belong together, and for categories.
	Groups *int64
	Labels map[string]int64

	place int
}

// ErrorCount counts runs that failed, lack a score or wait for the same reason. Detail is that of the newest one.
type ErrorCount struct {
	Code   string
	Detail string
	Runs   int64
}

// Report is what a rule did.
type Report struct {
	// Days are the last 30 with runs, the newest first.
	Days []Day
	// Errors are those of the last seven days, the most frequent first.
	Errors []ErrorCount
}

type dayKey struct {
	day     time.Time
	version int
}

// Report returns what a rule did.
func (s *Service) Report(ctx context.Context, rule uuid.UUID) (*Report, error) {
	rows, err := postgres.Many[struct {
		Day     time.Time
		Version int
		countRow
	}](ctx, s.db, "count days", pgx.NamedArgs{"id": rule, "limit": reportedDays})
	if err != nil {
		return nil, err
	}
	report := &Report{Days: []Day{}}
	for i := range rows {
		last := len(report.Days) - 1
		if last < 0 || !report.Days[last].Day.Equal(rows[i].Day) || report.Days[last].Version != rows[i].Version {
			report.Days = append(report.Days, Day{Day: rows[i].Day, Version: rows[i].Version, Scores: []DayScore{}})
			last++
		}
		report.Days[last].Counts.add(&rows[i].countRow)
	}
	if len(report.Days) > 0 {
		if err := s.addScores(ctx, rule, report.Days); err != nil {
			return nil, err
		}
	}
	report.Errors, err = postgres.Many[ErrorCount](ctx, s.db, "count errors", pgx.NamedArgs{"id": rule, "day": day(s.now().Add(-errorTime)), "limit": reportedErrors})
	return report, err
}

// addScores adds the scores to days, of which the last one is the first.
func (s *Service) addScores(ctx context.Context, rule uuid.UUID, days []Day) error {
	args := pgx.NamedArgs{"id": rule, "day": days[len(days)-1].Day}
	sums, err := postgres.Many[struct {
		Day            time.Time
		Version        int
		Name           string
		Place          int
		N              int64
		Mean           *float64
		Binary         *bool
		Judged, Passed int64
		Groups         int64
		SS, SN, NN     float64
		SSS, SSN       float64
		SNN, NNN       float64
	}](ctx, s.db, "sum scores", args)
	if err != nil {
		return err
	}
	labels, err := postgres.Many[struct {
		Day               time.Time
		Version           int
		Name              string
		Place             int
		Label             string
		N, Judged, Passed int64
	}](ctx, s.db, "count labels", args)
	if err != nil {
		return err
	}
	found := map[dayKey][]DayScore{}
	for _, sum := range sums {
		score := DayScore{Name: sum.Name, Mean: sum.Mean, N: sum.N, PassRate: rate(sum.Passed, sum.Judged), Labels: map[string]int64{}, place: sum.Place}
		if n := float64(sum.N); sum.Mean != nil {
			moments := stats.ClusterMoments{
				Clusters: float64(sum.Groups), N: n, Sum: *sum.Mean * n, SS: sum.SS, SN: sum.SN, NN: sum.NN, SSS: sum.SSS, SSN: sum.SSN, SNN: sum.SNN, NNN: sum.NNN,
			}
			score.CI = moments.Interval(*sum.Binary, alpha)
			if sum.Groups < sum.N {
				score.Groups = &sum.Groups
			}
		}
		key := dayKey{sum.Day, sum.Version}
		found[key] = append(found[key], score)
	}
	type category struct {
		dayKey
		name string
	}
	categories, judged, passed := map[category]*DayScore{}, map[category]int64{}, map[category]int64{}
	for _, label := range labels {
		key := category{dayKey{label.Day, label.Version}, label.Name}
		if categories[key] == nil {
			categories[key] = &DayScore{Name: label.Name, Labels: map[string]int64{}, place: label.Place}
		}
		categories[key].Labels[label.Label] = label.N
		categories[key].N += label.N
		judged[key], passed[key] = judged[key]+label.Judged, passed[key]+label.Passed
	}
	for key, score := range categories {
		score.PassRate = rate(passed[key], judged[key])
		found[key.dayKey] = append(found[key.dayKey], *score)
	}
	for i := range days {
		if list := found[dayKey{days[i].Day, days[i].Version}]; list != nil {
			slices.SortFunc(list, func(a, b DayScore) int { return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.Name, b.Name)) })
			days[i].Scores = list
		}
	}
	return nil
}

func rate(passed, judged int64) *float64 {
	if judged == 0 {
		return nil
	}
	return new(float64(passed) / float64(judged))
}

// Run is a run that a rule took.
type Run struct {
	RunID       uuid.UUID
	RunName     string
	Version     int
	Status      RunStatus
	ErrorCode   *string
	ErrorDetail *string
	Attempts    int
	CostNanousd providers.Money
	CostUnknown bool
	TakenAt     time.Time
	FinishedAt  *time.Time
	// Scores and Votes are those of its version.
	Scores []evaluations.Score `db:"-"`
	Votes  []evaluations.Vote  `db:"-"`
}

// Runs returns a page of the runs that a rule took, the newest first. An empty status selects all, and a nil day.
func (s *Service) Runs(ctx context.Context, grant access.Grant, rule uuid.UUID, status RunStatus, on *time.Time, page postgres.Page) ([]Run, bool, error) {
	if _, err := s.Get(ctx, grant, rule); err != nil {
		return nil, false, err
	}
	found, more, err := postgres.List[Run](ctx, s.db, "list runs", page, pgx.NamedArgs{"projects": grant.IDs(), "id": rule, "status": status, "day": on})
	if err != nil || len(found) == 0 {
		return found, more, err
	}
	ids, at := make([]uuid.UUID, len(found)), make(map[uuid.UUID]*Run, len(found))
	for i := range found {
		ids[i], at[found[i].RunID] = found[i].RunID, &found[i]
	}
	scores, err := postgres.Many[struct {
		RunID         uuid.UUID
		Name          string
		Value         *float64
		Pass          *bool
		Label         *string
		Reason, Error string
		Evidence      *string
	}](ctx, s.db, "list scores of runs", pgx.NamedArgs{"id": rule, "runs": ids})
	if err != nil {
		return nil, false, err
	}
	for _, score := range scores {
		one := evaluations.Score{Name: score.Name, Value: score.Value, Pass: score.Pass, Reason: score.Reason, Error: score.Error}
		if score.Evidence != nil {
			one.Evidence = []byte(*score.Evidence)
		}
		at[score.RunID].Scores = append(at[score.RunID].Scores, one)
	}
	votes, err := s.votesOf(ctx, rule, ids)
	for id, list := range votes {
		for i := range list {
			if list[i].version == at[id].Version {
				at[id].Votes = append(at[id].Votes, list[i].Vote)
			}
		}
	}
	return found, more, err
}

// storedVote is a vote with the version of the rule whose judge gave it.
type storedVote struct {
	evaluations.Vote
	version int
}

// votesOf returns the votes on runs.
func (s *Service) votesOf(ctx context.Context, rule uuid.UUID, ids []uuid.UUID) (map[uuid.UUID][]storedVote, error) {
	rows, err := postgres.Many[struct {
		OfRun   uuid.UUID
		Version int
		evaluations.Vote
	}](ctx, s.db, "list votes of runs", pgx.NamedArgs{"id": rule, "runs": ids})
	if err != nil {
		return nil, err
	}
	found := map[uuid.UUID][]storedVote{}
	for i := range rows {
		found[rows[i].OfRun] = append(found[rows[i].OfRun], storedVote{rows[i].Vote, rows[i].Version})
	}
	return found, nil
}
