package evaluations

import (
	"context"
	"fmt"

	"github.com/looptrace/looptrace/controlplane/stats/compare"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/optional"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// Trend is a metric over the eval-runs of a dataset with one name, the newest first. They have the same items for the most part, so that
// their means are not independent: what changed is the difference on these items.
type Trend struct {
	Metric string
	Better Better
	Points []TrendPoint
}

// TrendPoint is an eval-run of a trend.
type TrendPoint struct {
	Evaluation Evaluation
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
	Difference                          Difference
	Groups                              *int
	// LabelsDrawn counts the items whose labels correct the difference.
	LabelsDrawn int
}

// Trend returns a metric of an eval-run and of those before it. An empty name is that of the primary metric.
func (s *Reporter) Trend(ctx context.Context, grant access.Grant, id uuid.UUID, name string, limit int) (*Trend, error) {
	e, err := s.evaluations.Get(ctx, grant, EvalRun, id)
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
	trend := &Trend{Metric: name, Better: Higher, Points: []TrendPoint{}}
	var after *evalRunResult
	for _, run := range runs {
		side, err := s.results.EvalRun(ctx, grant, "query", run.ID, "")
		if problem.Is(err, problem.Invalid) || problem.Is(err, problem.Conflict) { // it was deleted or resumed in the meantime
			continue
		}
		if err != nil {
			return nil, err
		}
		m, ok := side.metric(name)
		if !ok {
			continue
		}
		if err := s.results.ReadPeople(ctx, side, name); err != nil {
			return nil, err
		}
		if n := len(trend.Points); n > 0 {
			trend.Points[n-1].Change = changeOf(after, side, m)
		}
		point := TrendPoint{Evaluation: side.e}
		point.Side, point.Groups = side.results.sideOf(m)
		m.bound(point.Side.CI, 0)
		trend.Better, trend.Points, after = m.better, append(trend.Points, point), side
	}
	return trend, nil
}

// changeOf compares two eval-runs of a trend.
func changeOf(now, was *evalRunResult, m *metric) *TrendChange {
	g := Pair(now, was, m.name)
	one := compare.Metric{Name: m.name, Better: compare.Direction(m.better), Items: g.Items, Amount: !m.isShare(), Corrected: g.Correction}
	if m.kind == KindDuration {
		one.Untested = differentTimes
	}
	compared := compare.Compare([]compare.Metric{one}, compare.CompareOptions{Alpha: level})[0]
	c := &TrendChange{
		Since: was.e.ID, Same: int64(len(g.Items)), OnlyHere: g.OnlyCandidate, OnlyBefore: g.OnlyBaseline, Changed: g.Changed,
		Difference: m.differenceOf(&compared, level), Groups: compared.Groups,
	}
	if compared.Judged != nil {
		c.LabelsDrawn = one.Corrected.Labels
	}
	c.Sentence = c.sentence(m, int64(len(now.results.items)))
	return c
}

// sentence says the change in words.
func (c *TrendChange) sentence(m *metric, items int64) string {
	if c.Same == 0 {
		return "No item was in the eval-run before with the same contents: the means are of other items."
	}
	text := fmt.Sprintf("%d of %s %s in the eval-run before, with the same contents.", c.Same, itemsText(items), agreeing(c.Same, "was", "were"))
	d := &c.Difference
	if d.Estimate == nil {
		return text + " None has a value in both."
	}
	u := unitOf(m.kind)
	text += fmt.Sprintf(" On %s%s the change is %s%s", itemsText(int64(d.N)), groupsText(c.Groups), u.estimate(*d.Estimate), u.interval(d.CI))
	if c.LabelsDrawn > 0 {
		text += ", corrected by labels of " + itemsText(int64(c.LabelsDrawn))
	}
	if d.CI == nil || d.CI.Contains(0) {
		return text + ": whether anything changed cannot be told."
	}
	return text + "."
}
