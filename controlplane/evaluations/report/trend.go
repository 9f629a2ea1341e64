package report

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/results"
	"github.com/looptrace/looptrace/controlplane/evaluations/wording"
	"github.com/looptrace/looptrace/controlplane/optional"
	"github.com/looptrace/looptrace/controlplane/stats/compare"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// Trend is a metric over the eval-runs of a dataset with one name, the newest first. They have the same items for the most part, so that
// their means are not independent: what changed is the difference on these items.
type Trend struct {
	Metric string
	Better evaluations.Better
	Points []TrendPoint
}

// TrendPoint is an eval-run of a trend.
type TrendPoint struct {
	Evaluation evaluations.Evaluation
	Side       compare.Side
	// Groups counts the groups of items, nil if no two belong together.
	Groups *int
	// Change is nil for the oldest one.
	Change *TrendChange
}

// TrendChange is the difference to the eval-run before.
type TrendChange struct {
	Since    uuid.UUID
	Sentence string
	// Same counts the items that both have with equal contents, the other three those that are not compared.
	Same, OnlyHere, OnlyBefore, Changed int64
	Difference                          results.Difference
	Groups                              *int
	// LabelsDrawn counts the items whose labels correct the difference.
	LabelsDrawn int
}

// Trend returns a metric of an eval-run and of those before it. An empty name is that of the primary metric.
func (s *Reporter) Trend(ctx context.Context, grant access.Grant, id uuid.UUID, name string, limit int) (*Trend, error) {
	e, err := s.evaluations.Get(ctx, grant, evaluations.EvalRun, id)
	if err != nil {
		return nil, err
	}
	if name == "" {
		name = optional.Value(e.PrimaryMetric)
	}
	runs, err := postgres.Many[struct{ ID uuid.UUID }](ctx, s.db, "list eval-runs of a trend", pgx.NamedArgs{"id": e.ID, "metric": name, "limit": limit})
	if err != nil {
		return nil, err
	}
	trend := &Trend{Metric: name, Better: evaluations.Higher, Points: []TrendPoint{}}
	var after *results.EvalRun
	for _, run := range runs {
		side, err := s.results.EvalRun(ctx, grant, "query", run.ID, "")
		if problem.Is(err, problem.Invalid) || problem.Is(err, problem.Conflict) { // it was deleted or resumed in the meantime
			continue
		}
		if err != nil {
			return nil, err
		}
		m, ok := side.Metric(name)
		if !ok {
			continue
		}
		if err := s.results.ReadPeople(ctx, side, name); err != nil {
			return nil, err
		}
		if n := len(trend.Points); n > 0 {
			trend.Points[n-1].Change = changeOf(after, side, m)
		}
		point := TrendPoint{Evaluation: side.Evaluation}
		point.Side, point.Groups = side.Results.SideOf(m)
		m.Bound(point.Side.CI, 0)
		trend.Better, trend.Points, after = m.Better, append(trend.Points, point), side
	}
	return trend, nil
}

// changeOf compares two eval-runs of a trend.
func changeOf(now, was *results.EvalRun, m *results.Metric) *TrendChange {
	g := results.Pair(now, was, m.Name)
	one := compare.Metric{Name: m.Name, Better: compare.Direction(m.Better), Items: g.Items, Amount: !m.IsShare(), Corrected: g.Correction}
	if m.Kind == evaluations.KindDuration {
		one.Untested = results.DifferentTimes
	}
	compared := compare.Compare([]compare.Metric{one}, compare.Options{Alpha: evaluations.Level})[0]
	c := &TrendChange{
		Since: was.Evaluation.ID, Same: int64(len(g.Items)), OnlyHere: g.OnlyCandidate, OnlyBefore: g.OnlyBaseline, Changed: g.Changed,
		Difference: m.DifferenceOf(&compared, evaluations.Level), Groups: compared.Groups,
	}
	if compared.Judged != nil {
		c.LabelsDrawn = one.Corrected.Labels
	}
	c.Sentence = c.sentence(m, int64(len(now.Results.Items)))
	return c
}

// sentence says the change in words.
func (c *TrendChange) sentence(m *results.Metric, items int64) string {
	if c.Same == 0 {
		return "No item was in the eval-run before with the same contents: the means are of other items."
	}
	text := fmt.Sprintf("%d of %s %s in the eval-run before, with the same contents.", c.Same, wording.Items(items), wording.Agreeing(c.Same, "was", "were"))
	d := &c.Difference
	if d.Estimate == nil {
		return text + " None has a value in both."
	}
	u := wording.UnitOf(m.Kind)
	text += fmt.Sprintf(" On %s%s the change is %s%s", wording.Items(int64(d.N)), wording.Groups(c.Groups), u.Estimate(*d.Estimate), u.Interval(d.CI))
	if c.LabelsDrawn > 0 {
		text += ", corrected by labels of " + wording.Items(int64(c.LabelsDrawn))
	}
	if d.CI == nil || d.CI.Contains(0) {
		return text + ": whether anything changed cannot be told."
	}
	return text + "."
}
