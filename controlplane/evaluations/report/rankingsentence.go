package report

import (
	"fmt"
	"slices"

	"github.com/looptrace/looptrace/controlplane/evaluations/results"
	"github.com/looptrace/looptrace/controlplane/evaluations/wording"
	"github.com/looptrace/looptrace/controlplane/stats/compare"
)

// SideLetter is the letter of a side of a ranking.
func SideLetter(side int) string { return string(rune('A' + side)) }

// named is a side of a ranking in a sentence.
func (r *Ranking) named(side int) string {
	return fmt.Sprintf("%s (%s)", SideLetter(side), r.Sides[side].EvalRun.Name)
}

// pairSentence says the result of a pair.
func (r *Ranking) pairSentence(m *results.Metric, d *RankedDifference) string {
	a, b, u := r.named(d.A), r.named(d.B), wording.UnitOf(m.Kind)
	evidence := u.Difference(&d.Difference.Difference) + ", " + wording.Items(int64(r.Items)) + wording.Groups(r.Groups)
	if d.IntentionToTreat != nil && d.IntentionToTreat.Estimate != nil {
		evidence += "; with failed outputs as 0 " + u.Difference(&d.IntentionToTreat.Difference)
	}
	switch d.Verdict {
	case compare.BBetter:
		return fmt.Sprintf("%s is better than %s: %s.", b, a, evidence)
	case compare.ABetter:
		return fmt.Sprintf("%s is worse than %s: %s.", b, a, evidence)
	}
	return fmt.Sprintf("Whether %s differs from %s cannot be told: %s.", b, a, evidence)
}

// beats reports whether a side is called better than another one.
func (r *Ranking) beats(side, other int) bool {
	for i := range r.Differences {
		d := &r.Differences[i]
		if d.A == other && d.B == side && d.Verdict == compare.BBetter || d.A == side && d.B == other && d.Verdict == compare.ABetter {
			return true
		}
	}
	return false
}

// sentence says which side is best, if any is shown to be.
func (r *Ranking) sentence(sides []*results.EvalRun) string {
	var unbeaten []string
	text := ""
	for side := range r.Sides {
		beaten, best := false, true
		for other := range r.Sides {
			if other != side {
				beaten, best = beaten || r.beats(other, side), best && r.beats(side, other)
			}
		}
		if best {
			text = fmt.Sprintf("%s is better on %s than each of the others, over %s%s.", r.named(side), r.Metric, wording.Items(int64(r.Items)), wording.Groups(r.Groups))
		}
		if !beaten {
			unbeaten = append(unbeaten, r.named(side))
		}
	}
	switch {
	case text != "":
	case len(unbeaten) == 1:
		text = fmt.Sprintf("No side is shown to be the best on %s: none is better than %s, but it is not shown to be better than all others, over %s%s.",
			r.Metric, unbeaten[0], wording.Items(int64(r.Items)), wording.Groups(r.Groups))
	default:
		text = fmt.Sprintf("No side is shown to be the best on %s: whether %s differ cannot be told, over %s%s.",
			r.Metric, wording.List(unbeaten), wording.Items(int64(r.Items)), wording.Groups(r.Groups))
	}
	if slices.ContainsFunc(sides, func(side *results.EvalRun) bool { return slices.Contains(side.Panels, r.Metric) }) {
		text += " That is by judges alone, who may err differently on each side: labels of people do not correct it."
	}
	return text
}
