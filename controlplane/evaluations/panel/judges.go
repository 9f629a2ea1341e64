package panel

import (
	"math"
	"slices"

	"github.com/looptrace/looptrace/controlplane/stats"
	"github.com/looptrace/looptrace/controlplane/stats/compare"
)

// alpha is 1 - the confidence of all intervals.
const alpha = .05

// JudgeResult is what is known of a judge.
type JudgeResult struct {
	Name         string     `json:"name"`
	ProviderName string     `json:"provider_name"`
	Model        string     `json:"model"`
	Escalation   bool       `json:"escalation"`
	Version      string     `json:"version"`
	Votes        VoteCounts `json:"votes"`
	// Score is its mean score, of N items; without a mean for categories that do not pass or fail.
	Score compare.Side `json:"score"`
	// PanelAgreement is [stats.PairKappa] of the judge and the panel without it; for an escalation of it and the panel.
	PanelAgreement Figure `json:"panel_agreement"`
	// FlipRate is the share of pairs of repeats of an output that differ.
	FlipRate Figure `json:"flip_rate"`
	// PositionConsistency is [stats.PositionConsistency]; not applicable beyond preferences.
	PositionConsistency Figure `json:"position_consistency"`
	// LengthCorrelation is Spearman's of its scores and the outputs' lengths.
	LengthCorrelation Figure `json:"length_correlation"`
	// Stopped is nil if no vote is missing because the judge was stopped.
	Stopped     *Stopped `json:"stopped"`
	Canary      *Canary  `json:"canary"`
	Cost        float64  `json:"cost_usd"`
	UnknownCost int      `json:"unknown_cost_votes"`
	Duration    *float64 `json:"duration_ms"`
	// Without is nil for the only judge, for an escalation, and for an aggregate that was removed.
	Without *Without `json:"without"`
}

// Without is what would be without a judge.
type Without struct {
	Score *float64 `json:"score"`
	// Changed counts outputs whose score changes by more than a twentieth, or whose category changes, or that have a score on one side only.
	Changed int `json:"changed"`
	// Saved is the known cost of its votes, SavedShare that of the known cost of the panel, nil if that is 0.
	Saved      float64  `json:"saved_usd"`
	SavedShare *float64 `json:"saved_share"`
}

// changedBy is how far a score may move and count as the same.
const changedBy = .05

func (t *table) judge(j int) JudgeResult {
	in := t.Judges[j]
	r := JudgeResult{Name: in.Name, ProviderName: in.ProviderName, Model: in.Model, Escalation: in.Escalation, Version: in.Version}
	if in.Canary != "" {
		r.Canary = &in.Canary
	}
	if in.Stopped != nil && in.Stopped.Votes > 0 {
		r.Stopped = in.Stopped
	}
	r.Votes, r.Cost, r.UnknownCost, r.Duration = t.account(j)
	scores := make([]float64, len(t.Outputs))
	for o, v := range t.values[j] {
		scores[o] = t.normalize(v)
	}
	r.Score = t.side(scores)
	r.FlipRate = t.flipRate(j)
	r.PositionConsistency = t.position(j)
	r.LengthCorrelation = t.length(scores)
	return r
}

// account counts the votes of a judge, adds their costs, and finds the median duration.
func (t *table) account(j int) (counts VoteCounts, cost float64, unknown int, median *float64) {
	var durations []float64
	for o := range t.Outputs {
		for _, i := range t.cell(o, j) {
			v := &t.Votes[i]
			counts.add(t.status(v), v.Cached)
			if v.Status == Skipped || v.Status == Pending {
				continue
			}
			if known := pointer(v.Cost); known != nil {
				cost += *known
			} else {
				unknown++
			}
			if !v.Cached && pointer(v.Duration) != nil {
				durations = append(durations, v.Duration)
			}
		}
	}
	return counts, cost, unknown, stats.Median(durations).Value
}

// byCluster collects values by item, without NaN.
func (t *table) byCluster(values []float64) [][]float64 {
	places := make(map[int]int, len(values))
	var clusters [][]float64
	for o, x := range values {
		if math.IsNaN(x) {
			continue
		}
		place, ok := places[t.clusters[o]]
		if !ok {
			place = len(clusters)
			places[t.clusters[o]] = place
			clusters = append(clusters, nil)
		}
		clusters[place] = append(clusters[place], x)
	}
	return clusters
}

// side is the mean of values by output, of N items.
func (t *table) side(values []float64) compare.Side {
	items := map[int]bool{}
	for o, x := range values {
		if !math.IsNaN(x) {
			items[t.Outputs[o].Item] = true
		}
	}
	e := stats.ClusteredInterval(t.byCluster(values), alpha)
	return compare.Side{Mean: e.Value.Value, CI: within(e.CI), N: len(items)}
}

// within cuts an interval of a score off at 0 and 1.
func within(i *stats.Interval) *stats.Interval {
	if i == nil {
		return nil
	}
	return &stats.Interval{max(0, min(1, i[0])), max(0, min(1, i[1]))}
}

// mean is that of values by output, of N outputs.
func (t *table) mean(values []float64) Figure {
	n := 0
	for _, x := range values {
		if !math.IsNaN(x) {
			n++
		}
	}
	return figure(stats.ClusteredInterval(t.byCluster(values), alpha), n)
}

// missing is a list without a value for each output.
func (t *table) missing() []float64 { return slices.Repeat([]float64{math.NaN()}, len(t.Outputs)) }

// flipRate is how often repeats of a judge differ. Numbers flip if one repeat passes and another fails.
func (t *table) flipRate(j int) Figure {
	if t.Kind == Score && t.Scale.Type == Numeric && t.Scale.PassAt == nil {
		return without(stats.NotApplicable, 0)
	}
	flipped := t.missing()
	for o := range t.Outputs {
		repeats := t.repeats(o, j)
		if len(repeats) < 2 {
			continue
		}
		differ, pairs := 0, 0
		for i, x := range repeats {
			for _, y := range repeats[:i] {
				pairs++
				if t.flips(x, y) {
					differ++
				}
			}
		}
		flipped[o] = float64(differ) / float64(pairs)
	}
	return t.mean(flipped)
}

func (t *table) flips(x, y float64) bool {
	if t.Kind == Score && t.Scale.Type == Numeric {
		return *t.pass(t.normalize(x)) != *t.pass(t.normalize(y))
	}
	return x != y
}

// position is what the order of outputs does to a judge of preferences, by all pairs of votes in both orders.
func (t *table) position(j int) Figure {
	if t.Kind != Preference {
		return without(stats.NotApplicable, 0)
	}
	same := t.missing()
	for o := range t.Outputs {
		var ab, ba []stats.Preference
		t.pairs(t.cell(o, j), func(x, y float64) {
			ab, ba = append(ab, place(x, AB)), append(ba, place(y, BA))
		})
		same[o] = number(stats.PositionConsistency(ab, ba))
	}
	return t.mean(same)
}

// place is the place in the prompt of the side that won.
func place(value float64, order Order) stats.Preference {
	switch {
	case value == .5:
		return stats.Tie
	case (value == 0) == (order == AB):
		return stats.First
	}
	return stats.Second
}

// length is the correlation of scores and lengths.
func (t *table) length(scores []float64) Figure {
	var x, y []float64
	var clusters []int
	for o, score := range scores {
		if length := t.Outputs[o].Length; !math.IsNaN(score) && !math.IsNaN(length) {
			x, y, clusters = append(x, length), append(y, score), append(clusters, t.clusters[o])
		}
	}
	if !t.scored() {
		return without(stats.NotApplicable, 0)
	}
	return figure(stats.ClusteredSpearman(x, y, clusters), len(x))
}

// against sets how far a judge agrees with the rest, whose verdicts these are.
func (t *table) against(j int, rest []verdict) Figure {
	if len(t.members) < 2 && j != t.escalation {
		return without(stats.NotApplicable, 0)
	}
	values := make([]float64, len(rest))
	for o, v := range rest {
		values[o] = v.value
	}
	a := stats.PairKappa(t.values[j], values, t.measured(), t.options)
	f := figure(a.Estimate, a.N)
	if j == t.escalation && f.Flag == nil {
		flag := SplitOnly
		f.Flag = &flag
	}
	return f
}

// without compares the verdicts without a judge with those of the panel.
func (t *table) without(rest []verdict, cost, total float64) *Without {
	w := Without{Saved: cost}
	if total > 0 {
		w.SavedShare = pointer(cost / total)
	}
	scores := make([]float64, len(rest))
	for o, now := range rest {
		scores[o] = now.score
		was := t.final[o]
		switch {
		case was.reason != "" && now.reason != "":
		case was.reason != "", now.reason != "", math.Abs(now.score-was.score) > changedBy+rounding, t.Scale.Type == Categorical && t.Kind == Score && now.value != was.value:
			w.Changed++
		}
	}
	w.Score = t.side(scores).Mean
	return &w
}
