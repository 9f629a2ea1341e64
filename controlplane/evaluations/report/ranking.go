package report

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/results"
	"github.com/looptrace/looptrace/controlplane/stats"
	"github.com/looptrace/looptrace/controlplane/stats/compare"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

const (
	// maxRanked is how many eval-runs are compared at once, rankedItems how many of their items are listed.
	maxRanked, rankedItems = 6, 20
)

// RankingQuery says which eval-runs are compared, and by what.
type RankingQuery struct {
	EvalRuns []uuid.UUID
	// Metric is that of all eval-runs. Empty is the primary one of the first.
	Metric string
	// GroupBy is the path by which items belong together. Empty is that of the eval-runs, if it is the same for all.
	GroupBy string
}

// Ranking is a comparison of several eval-runs.
type Ranking struct {
	Sentence string
	Metric   string
	Kind     evaluations.Kind
	Better   evaluations.Better
	// GroupBy is the path by which items belong together, empty if each is on its own.
	GroupBy     string
	Sides       []RankedSide
	Differences []RankedDifference
	// Items counts those that all sides have, which the figures are about; Groups is nil if no two belong together.
	Items  int
	Groups *int
	Worst  []RankedItem
}

// RankedSide is an eval-run. Scored counts its items with a value, LeftOut those of them that another side lacks, Failed items with an
// output that failed.
type RankedSide struct {
	EvalRun                 *evaluations.Evaluation
	Mean                    compare.Side
	Scored, LeftOut, Failed int64
}

// RankedDifference is the difference of two sides, B less A, which are indexes in the list of sides.
type RankedDifference struct {
	A, B       int
	Difference results.Difference
	// IntentionToTreat has a score of 0 for every output that failed. It is nil if none did, and for what is no score.
	IntentionToTreat *results.Difference
	Verdict          compare.Verdict
	Sentence         string
}

// RankedItem is an item on which sides differ. Scores are the means of its repeats by side.
type RankedItem struct {
	ItemID uuid.UUID
	Key    *string
	Scores []float64
	Spread float64
	Input  string
}

// Rank compares several eval-runs of a dataset by one metric.
func (s *Reporter) Rank(ctx context.Context, grant access.Grant, q *RankingQuery) (*Ranking, error) {
	sides, err := s.rankedSides(ctx, grant, q)
	if err != nil {
		return nil, err
	}
	m, err := rankedMetric(sides, q.Metric)
	if err != nil {
		return nil, err
	}
	table := newRankedTable(sides, m)
	options := compare.SeveralOptions{
		Options: compare.Options{Alpha: evaluations.Level, Seed: uint64(sides[0].Evaluation.Seed)}, Better: compare.Direction(m.Better), Amount: !m.IsShare(),
	}
	several := compare.Pairs(table.items(false), options)
	if several.Items == 0 {
		return nil, problem.InvalidField("query.eval_run_id", fmt.Sprintf("name eval-runs without a common item that has %s in all of them: leave out the one with other items", m.Name))
	}
	treated := several
	if m.Kind == evaluations.KindScore && table.failures() {
		treated = compare.Pairs(table.items(true), options)
	}
	r := &Ranking{
		Metric: m.Name, Kind: m.Kind, Better: m.Better, GroupBy: q.GroupBy, Items: several.Items, Groups: several.Groups,
		Sides: make([]RankedSide, len(sides)),
	}
	for i := range sides {
		r.Sides[i] = RankedSide{EvalRun: &sides[i].Evaluation, Mean: several.Sides[i], Scored: table.scored[i], LeftOut: table.scored[i] - int64(several.Items), Failed: table.failed[i]}
		m.Bound(r.Sides[i].Mean.CI, 0)
	}
	for i := range several.Pairs {
		r.Differences = append(r.Differences, r.difference(m, &several.Pairs[i], &treated.Pairs[i], table.failures()))
	}
	r.Sentence = r.sentence(sides)
	r.Worst, err = s.rankedItems(ctx, sides, table)
	return r, err
}

// rankedSides reads the eval-runs. Only the first one has groups, since all of them have the items that count.
func (s *Reporter) rankedSides(ctx context.Context, grant access.Grant, q *RankingQuery) ([]*results.EvalRun, error) {
	found := make([]evaluations.Evaluation, len(q.EvalRuns))
	configs := make([]evaluations.Config, len(q.EvalRuns))
	for i, id := range q.EvalRuns {
		at := rankedLocation(i)
		if slices.Contains(q.EvalRuns[:i], id) {
			return nil, problem.InvalidField(at, "is named twice: name each eval-run once")
		}
		var err error
		if found[i], err = s.evaluations.Ended(ctx, grant, at, id); err != nil {
			return nil, err
		}
		if found[i].ProjectID != found[0].ProjectID || found[i].DatasetID != found[0].DatasetID {
			return nil, problem.InvalidField(at, fmt.Sprintf("is an eval-run of the dataset %q, and the first one is of %q: choose eval-runs of one dataset", found[i].DatasetName, found[0].DatasetName))
		}
		if configs[i], err = found[i].ReadConfig(); err != nil {
			return nil, err
		}
	}
	if len(found) < 2 || len(found) > maxRanked {
		return nil, problem.InvalidField("query.eval_run_id", fmt.Sprintf("must be given for 2 to %d eval-runs of one dataset", maxRanked))
	}
	if q.GroupBy != "" {
		if _, err := evaluations.ItemPath("query.group_by", q.GroupBy); err != nil {
			return nil, err
		}
	} else if !slices.ContainsFunc(configs, func(c evaluations.Config) bool { return c.GroupBy != configs[0].GroupBy }) {
		q.GroupBy = configs[0].GroupBy
	}
	sides := make([]*results.EvalRun, len(found))
	for i := range found {
		configs[i].GroupBy = ""
		if i == 0 {
			configs[i].GroupBy = q.GroupBy
		}
		r, err := s.results.Read(ctx, &found[i], &configs[i], int32(found[i].ItemCount))
		if err != nil {
			return nil, err
		}
		sides[i] = &results.EvalRun{Evaluation: found[i], Results: r}
		for _, p := range configs[i].Panels {
			sides[i].Panels = append(sides[i].Panels, p.Name)
		}
	}
	if q.GroupBy != "" && !sides[0].Results.Grouped() {
		return nil, problem.InvalidField("query.group_by", "is a path at which no item has a value")
	}
	return sides, nil
}

// rankedLocation is where an eval-run stands in the request.
func rankedLocation(i int) string { return fmt.Sprintf("query.eval_run_id[%d]", i) }

// rankedMetric returns the metric that all sides have.
func rankedMetric(sides []*results.EvalRun, name string) (*results.Metric, error) {
	if name == "" && sides[0].Results.Summary.PrimaryMetric != nil {
		name = *sides[0].Results.Summary.PrimaryMetric
	}
	var m *results.Metric
	for i, side := range sides {
		found, ok := side.Metric(name)
		if !ok {
			return nil, problem.InvalidField("query.metric", fmt.Sprintf("is no metric of the eval-run %q: it has %s", side.Evaluation.Name, side.Names()))
		}
		if i == 0 {
			m = found
		}
	}
	if m.Kind == evaluations.KindDuration {
		return nil, problem.InvalidField("query.metric", "is a duration, which depends on the load at the time of each eval-run. Compare two sides in one comparison: it takes turns")
	}
	return m, nil
}

// rankedTable has the values of items by side.
type rankedTable struct {
	rows           []rankedRow
	scored, failed []int64
}

// rankedRow is an item: its results by side, nil where a side does not have it or has other contents.
type rankedRow struct {
	id     uuid.UUID
	hash   []byte
	group  int
	values [][]float64
	failed []int
}

// newRankedTable puts the items of all sides together. Contents are those of the first side that has an item.
func newRankedTable(sides []*results.EvalRun, m *results.Metric) *rankedTable {
	t := &rankedTable{scored: make([]int64, len(sides)), failed: make([]int64, len(sides))}
	indexes := map[uuid.UUID]int{}
	row := func(item *results.Item) *rankedRow {
		index, ok := indexes[item.ID]
		if !ok {
			index = len(t.rows)
			indexes[item.ID] = index
			t.rows = append(t.rows, rankedRow{
				id: item.ID, hash: item.Hash, group: item.Group, values: make([][]float64, len(sides)), failed: make([]int, len(sides)),
			})
		}
		if !bytes.Equal(t.rows[index].hash, item.Hash) {
			return nil
		}
		return &t.rows[index]
	}
	for i, side := range sides {
		at := side.Results.Index(m.Name)
		for j := range side.Results.Items {
			item := &side.Results.Items[j]
			if values := item.ValuesOf(evaluations.SideA, at); len(values) > 0 {
				t.scored[i]++
			}
			if item.Failed[evaluations.SideA] > 0 {
				t.failed[i]++
			}
			if one := row(item); one != nil {
				one.values[i], one.failed[i] = item.ValuesOf(evaluations.SideA, at), item.Failed[evaluations.SideA]
			}
		}
	}
	return t
}

// items returns what is compared. Values of failed outputs are 0 if failedAsZero.
func (t *rankedTable) items(failedAsZero bool) []compare.Scored {
	items := make([]compare.Scored, len(t.rows))
	for i := range t.rows {
		row := &t.rows[i]
		items[i] = compare.Scored{Sides: slices.Clone(row.values), Group: row.group}
		if failedAsZero {
			for side, values := range row.values {
				items[i].Sides[side] = results.WithFailures(values, row.failed[side])
			}
		}
	}
	return items
}

// failures reports whether an output failed.
func (t *rankedTable) failures() bool {
	return slices.ContainsFunc(t.failed, func(n int64) bool { return n > 0 })
}

// spreads returns the items that all sides have, those with the largest difference of two sides first.
func (t *rankedTable) spreads() []RankedItem {
	var items []RankedItem
	for i := range t.rows {
		row := &t.rows[i]
		item := RankedItem{ItemID: row.id}
		for _, values := range row.values {
			if value := results.Mean(values); value != nil {
				item.Scores = append(item.Scores, *value)
			}
		}
		if len(item.Scores) < len(row.values) {
			continue
		}
		if item.Spread = slices.Max(item.Scores) - slices.Min(item.Scores); item.Spread > results.Tiny {
			items = append(items, item)
		}
	}
	slices.SortStableFunc(items, func(x, y RankedItem) int { return cmp.Compare(y.Spread, x.Spread) })
	return items[:min(len(items), rankedItems)]
}

// rankedItems returns the items on which sides differ most, as the first side has them.
func (s *Reporter) rankedItems(ctx context.Context, sides []*results.EvalRun, t *rankedTable) ([]RankedItem, error) {
	worst := t.spreads()
	indexes, numbers := map[uuid.UUID]int{}, []int32{}
	for i := range worst {
		indexes[worst[i].ItemID] = i
	}
	first := sides[0]
	for i := range first.Results.Items {
		if _, ok := indexes[first.Results.Items[i].ID]; ok {
			numbers = append(numbers, int32(i+1))
		}
	}
	if len(worst) == 0 {
		return []RankedItem{}, nil
	}
	items, _, err := s.evaluations.Items(ctx, &first.Evaluation, evaluations.ItemsQuery{Numbers: numbers, Longest: 1}, postgres.Page{Limit: rankedItems})
	for i := range items {
		one := &worst[indexes[items[i].ItemID]]
		one.Key = items[i].Key
		if items[i].Item != nil {
			one.Input = cut(items[i].Item.Input)
		}
	}
	return worst, err
}

// difference reads a pair. treated is that with 0 for failed outputs, which names the same side where one is called better.
func (r *Ranking) difference(m *results.Metric, pair, treated *compare.SeveralPair, failures bool) RankedDifference {
	d := RankedDifference{A: pair.A, B: pair.B, Difference: rankedDifference(m, pair.Difference, pair.Flags), Verdict: pair.Verdict}
	if m.Kind == evaluations.KindScore && failures {
		d.IntentionToTreat = new(rankedDifference(m, treated.Difference, treated.Flags))
		if d.Verdict != treated.Verdict {
			d.Verdict = compare.Inconclusive
		}
	}
	d.Sentence = r.pairSentence(m, &d)
	return d
}

func rankedDifference(m *results.Metric, d compare.Difference, flags []stats.Flag) results.Difference {
	return m.DifferenceOf(&compare.Comparison{Difference: d, Flags: flags}, evaluations.Level)
}
