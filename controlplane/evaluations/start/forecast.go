package start

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/results"
	"github.com/looptrace/looptrace/controlplane/evaluations/wording"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/stats/compare"
	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/postgres"
)

// Forecast says what an evaluation of so many items and repeats may show, and how many are needed for a goal.
type Forecast struct {
	Metric  string
	Items   int64
	Repeats int
	Power   float64
	Basis   ForecastBasis
	// EvalRuns are those that the variance comes from.
	EvalRuns []ForecastRun
	Variance compare.Range
	// Margin is the one at which a gate lets an unchanged system pass with Power, Difference the true one that a comparison finds with Power, nil
	// if it finds none.
	Margin     compare.Range
	Difference *compare.Range
	// Seconds is how long it takes, nil if that is not known.
	Seconds *float64
	// Needed is nil without a margin as a goal.
	Needed   *ForecastNeeded
	Sentence string
}

// ForecastBasis is where the variance of a forecast comes from.
type ForecastBasis string

// The bases of forecasts.
const (
	// FromDifferences: from the differences of two earlier eval-runs.
	FromDifferences ForecastBasis = "differences"
	// FromRepeats: from the repeats of an earlier eval-run, as of a system that does not change.
	FromRepeats ForecastBasis = "repeats"
	// FromAssumption: 10 to 30% of the items come out differently.
	FromAssumption ForecastBasis = "assumption"
)

// ForecastRun is an eval-run that the variance comes from.
type ForecastRun struct {
	ID   uuid.UUID
	Name string
}

// ForecastNeeded is what a margin needs.
type ForecastNeeded struct {
	Margin float64
	Items  *ForecastCount
	// Repeats are those of as many items. SplitKnown is whether it is known what repeats do; without Repeats none do enough then.
	Repeats    *ForecastCount
	SplitKnown bool
}

// ForecastCount is a range of numbers with what they cost and how long they take; High has no bound if it is nil, and what is not known is nil.
type ForecastCount struct {
	compare.Count
	CostLow, CostHigh       *providers.Money
	SecondsLow, SecondsHigh *float64
}

// Goal is what a forecast is asked for: the items for a margin, nil for none, with a power.
type Goal struct {
	Margin *float64
	Power  float64
}

const (
	// assumedLow and assumedHigh are the shares of items that come out differently, and assumedMean is the share that passes, where no
	// eval-run tells.
	assumedLow, assumedHigh, assumedMean = .1, .3, .8
	// forecastRuns is how many eval-runs are looked at, forecastOutputs how many outputs of one are read at most, and forecastPairs how
	// many items two of them must share.
	forecastRuns, forecastOutputs, forecastPairs = 20, 20_000, 20
)

// forecast says what an evaluation may show by its primary score, nil without one.
func (s *Starter) forecast(ctx context.Context, grant access.Grant, n *Wanted, p *plan, goal Goal) (*Forecast, error) {
	items := p.estimate.Items - p.estimate.Incompatible
	if n.Primary == "" || items < 2 { //nolint:mnd // what varies
		return nil, nil //nolint:nilnil // there is nothing to say
	}
	f := &Forecast{Metric: n.Primary, Items: items, Repeats: max(1, n.Config.Sides[evaluations.SideA].Repeats), Power: goal.Power}
	if n.Kind == evaluations.Comparison {
		f.Repeats = max(1, min(f.Repeats, n.Config.Sides[evaluations.SideB].Repeats))
	}
	var before []evaluations.Evaluation
	if grant.Allows(p.dataset.ProjectID, apikey.ScopeEvalsRead) { // who may only start some learns nothing of others
		var err error
		if before, err = s.runsBefore(ctx, grant, n); err != nil {
			return nil, err
		}
		if f.Seconds, err = s.secondsFor(ctx, grant, n, p, before); err != nil {
			return nil, err
		}
	}
	noise, err := s.noiseBefore(ctx, f, before)
	if err != nil {
		return nil, err
	}
	own := noise.With(f.Repeats)
	f.Variance, f.Margin = own.Variance, own.Margin(int(items), evaluations.Level, f.Power)
	if difference, ok := own.Difference(int(items), results.PrimaryShare*evaluations.Level, f.Power); ok {
		f.Difference = &difference
	}
	if goal.Margin != nil {
		f.Needed = &ForecastNeeded{Margin: *goal.Margin}
		f.Needed.Items = f.count(own.Items(*goal.Margin, evaluations.Level, f.Power), int(items), &p.estimate)
		var repeats compare.Count
		if repeats, f.Needed.SplitKnown = noise.Repeats(*goal.Margin, int(items), evaluations.Level, f.Power); f.Needed.SplitKnown {
			f.Needed.Repeats = f.count(repeats, f.Repeats, &p.estimate)
		}
	}
	f.Sentence = f.sentence(&p.estimate)
	return f, nil
}

// runsBefore returns the newest eval-runs of the dataset that have succeeded, those that are sides first.
func (s *Starter) runsBefore(ctx context.Context, grant access.Grant, n *Wanted) ([]evaluations.Evaluation, error) {
	found, _, err := s.evaluations.List(ctx, grant, evaluations.EvalRun, evaluations.Filter{Dataset: &n.Dataset, Status: evaluations.StatusSucceeded}, postgres.Page{Limit: forecastRuns})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(found, func(x, y evaluations.Evaluation) int { return n.isSide(&y) - n.isSide(&x) })
	return found, nil
}

// isSide is 1 if the outputs of an eval-run are those of a side, else 0.
func (n *Wanted) isSide(e *evaluations.Evaluation) int {
	for i := range n.Config.Sides {
		if id := n.Config.Sides[i].EvalRunID; id != nil && *id == e.ID {
			return 1
		}
	}
	return 0
}

// noiseBefore is how much the score varies between two of the eval-runs, between repeats of one, or by assumption.
func (s *Starter) noiseBefore(ctx context.Context, f *Forecast, before []evaluations.Evaluation) (compare.Noise, error) {
	var sides []*results.EvalRun
	for i := range before {
		e := &before[i]
		names, err := results.EvalRunScores(e)
		if err != nil {
			return compare.Noise{}, err
		}
		if e.Summary == nil || e.OutputsTotal > forecastOutputs || !slices.Contains(names, f.Metric) {
			continue
		}
		config, err := e.ReadConfig()
		if err != nil {
			return compare.Noise{}, err
		}
		found, err := s.results.Read(ctx, e, &config, int32(e.ItemCount))
		if err != nil {
			return compare.Noise{}, err
		}
		sides = append(sides, &results.EvalRun{Evaluation: *e, Results: found})
		if len(sides) == 1 {
			continue
		}
		pairs := results.Pair(sides[0], sides[1], f.Metric).Items
		if noise, ok := compare.NoiseOf(pairs, false); ok && len(pairs) >= forecastPairs {
			f.Basis, f.EvalRuns = FromDifferences, []ForecastRun{{sides[0].Evaluation.ID, sides[0].Evaluation.Name}, {sides[1].Evaluation.ID, sides[1].Evaluation.Name}}
			return noise, nil
		}
		break
	}
	if len(sides) > 0 && sides[0].Evaluation.Repeats > 1 {
		side := sides[0]
		values := side.Results.Values(evaluations.SideA, f.Metric)
		if noise, ok := compare.RepeatNoise(values, false); ok && len(values) >= forecastPairs {
			f.Basis, f.EvalRuns = FromRepeats, []ForecastRun{{side.Evaluation.ID, side.Evaluation.Name}}
			return noise, nil
		}
	}
	f.Basis, f.EvalRuns = FromAssumption, []ForecastRun{}
	return compare.AssumedNoise(assumedLow, assumedHigh, assumedMean), nil
}

// secondsFor is how long an evaluation takes, if it goes on as the newest one of its kind of the dataset did: by calls, or by outputs if it
// makes no calls. Nil if there is none.
func (s *Starter) secondsFor(ctx context.Context, grant access.Grant, n *Wanted, p *plan, before []evaluations.Evaluation) (*float64, error) {
	if n.Kind == evaluations.Comparison {
		var err error
		if before, _, err = s.evaluations.List(ctx, grant, evaluations.Comparison, evaluations.Filter{Dataset: &n.Dataset, Status: evaluations.StatusSucceeded}, postgres.Page{Limit: forecastRuns}); err != nil {
			return nil, err
		}
	}
	for i := range before {
		e := &before[i]
		then, err := e.ReadEstimate()
		if err != nil {
			return nil, err
		}
		made := e.OutputsDone - e.OutputsSkipped
		if e.StartedAt == nil || e.FinishedAt == nil || made <= 0 || (then.Calls > 0) != (p.estimate.Calls > 0) {
			continue
		}
		took := e.FinishedAt.Sub(*e.StartedAt).Seconds()
		if then.Calls > 0 { // a comparison that stopped early made a part of them
			return new(took * float64(p.estimate.Calls) / float64(then.Calls) * float64(e.OutputsTotal-e.OutputsSkipped) / float64(made)), nil
		}
		return new(took * float64((p.estimate.Items-p.estimate.Incompatible)*int64(n.Config.Repeats())) / float64(made)), nil
	}
	return nil, nil //nolint:nilnil // nothing tells
}

// count adds cost and time to numbers of which there are now some. It is nil if no number is enough.
func (f *Forecast) count(c compare.Count, now int, e *evaluations.Estimate) *ForecastCount {
	if c.Estimate == nil {
		return nil
	}
	times := func(amount *providers.Money, n *int) *providers.Money {
		if amount == nil || n == nil {
			return nil
		}
		return new(providers.Money(float64(*amount) * float64(*n) / float64(now)))
	}
	long := func(n *int) *float64 {
		if f.Seconds == nil || n == nil {
			return nil
		}
		return new(*f.Seconds * float64(*n) / float64(now))
	}
	return &ForecastCount{c, times(e.Low, &c.Low), times(e.High, c.High), long(&c.Low), long(c.High)}
}

// sentence says the forecast in words.
func (f *Forecast) sentence(e *evaluations.Estimate) string {
	often := "in 8 of 10 cases"
	if f.Power != results.DefaultPower {
		often = fmt.Sprintf("in %s%% of cases", wording.Number(f.Power*100))
	}
	has := wording.Items(f.Items)
	if f.Repeats > 1 {
		has += fmt.Sprintf(" × %d", f.Repeats)
	}
	text := fmt.Sprintf("With %s%s an unchanged system passes a gate %s at a margin of %s", has, forPrice(wording.PriceRange(e.Low, e.High), wording.TimeRange(f.Seconds, f.Seconds)), often, wording.PointsRange(&f.Margin))
	if f.Difference != nil {
		text += ", and a comparison finds a true difference of " + wording.PointsRange(f.Difference) + " as often"
	}
	switch f.Basis {
	case FromDifferences:
		text += fmt.Sprintf(", by how %s differs between the eval-runs “%s” and “%s”.", f.Metric, f.EvalRuns[0].Name, f.EvalRuns[1].Name)
	case FromRepeats:
		text += fmt.Sprintf(", by how %s differs between the repeats of the eval-run “%s”.", f.Metric, f.EvalRuns[0].Name)
	default:
		text += fmt.Sprintf(", if 10 to 30%% of the items come out differently: no earlier eval-run of the dataset tells how %s varies.", f.Metric)
	}
	if f.Needed != nil {
		text += " " + f.Needed.sentence(f.Repeats)
	}
	return text
}

// sentence says what a margin needs.
func (n *ForecastNeeded) sentence(repeats int) string {
	margin := wording.Number(n.Margin*100) + " points"
	var ways []string
	if n.Items != nil {
		what := "items"
		if repeats > 1 {
			what = fmt.Sprintf("items × %d", repeats)
		}
		ways = append(ways, n.Items.text(what))
	}
	switch {
	case n.Repeats != nil:
		ways = append(ways, n.Repeats.text("repeats of these items"))
	case n.SplitKnown:
		ways = append(ways, "no number of repeats of these items is enough")
	}
	if n.Items == nil {
		return fmt.Sprintf("No number of items decides a margin of %s.", margin)
	}
	joint := ", or "
	if n.Repeats == nil {
		joint = "; "
	}
	return fmt.Sprintf("A margin of %s needs %s.", margin, strings.Join(ways, joint))
}

func (c *ForecastCount) text(what string) string {
	return wording.CountRange(c.Count, what) + forPrice(wording.PriceRange(c.CostLow, c.CostHigh), wording.TimeRange(c.SecondsLow, c.SecondsHigh))
}

// forPrice writes a cost and a time after what has them. Both may be empty.
func forPrice(cost, time string) string {
	switch {
	case cost == "" && time == "":
		return ""
	case cost == "":
		return " (" + time + ")"
	case time == "":
		return " (" + cost + ")"
	}
	return " (" + cost + ", " + time + ")"
}
