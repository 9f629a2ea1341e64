package report

import (
	"fmt"
	"strings"

	"github.com/looptrace/looptrace/controlplane/evaluations/results"
	"github.com/looptrace/looptrace/controlplane/evaluations/wording"
)

// sentence says the decision in words.
func (g *Gate) sentence(m *results.Metric) string {
	d, u := &g.Difference, wording.UnitOf(m.Kind)
	evidence := wording.Items(int64(d.N)) + wording.Groups(g.Comparison.Groups)
	if d.Estimate != nil {
		evidence = fmt.Sprintf("%s%s, %s", u.Estimate(*d.Estimate), u.Interval(d.CI), evidence)
	}
	if judged := g.Comparison.Judged; judged != nil && judged.Estimate != nil {
		evidence += fmt.Sprintf(", corrected by labels of %s; by judges alone %s%s", wording.Items(int64(g.LabelsDrawn)), u.Estimate(*judged.Estimate), u.Interval(judged.CI))
	}
	if d := g.Treated; d != nil && d.Estimate != nil {
		evidence += fmt.Sprintf("; with failed outputs of the baseline as 0 %s%s", u.Estimate(*d.Estimate), u.Interval(d.CI))
	}
	allowed := marginText(m, g.Margin)
	switch g.Decision {
	case Incomplete:
		return fmt.Sprintf("Incomplete: of %s of the candidate an output failed or is missing, or %s failed. Of the others: %s.", wording.Items(g.CandidateLost), m.Name, evidence)
	case Pass:
		return fmt.Sprintf("Pass: %s is not worse than the baseline by more than %s: %s.", m.Name, allowed, evidence)
	case Regression:
		return fmt.Sprintf("Regression: %s is worse than the baseline by more than %s: %s.", m.Name, allowed, evidence)
	}
	return fmt.Sprintf("Inconclusive: whether %s is worse than the baseline by more than %s cannot be told: %s.%s", m.Name, allowed, evidence, g.remedy())
}

// remedy says what would let a candidate pass that is as good as the baseline.
func (g *Gate) remedy() string {
	var ways []string
	switch {
	case g.RepeatsRange != nil:
		ways = append(ways, wording.CountRange(*g.RepeatsRange, "repeats of these items on both sides"))
	case g.Margin > 0 && g.SplitKnown:
		ways = append(ways, "no number of repeats of these items")
	}
	if g.ItemsRange != nil {
		ways = append(ways, wording.CountRange(*g.ItemsRange, "items"))
	}
	if len(ways) == 0 {
		return ""
	}
	return " A candidate as good as the baseline would pass in 8 of 10 cases with " + strings.Join(ways, ", and with ") + "."
}

// ofMargin says where a margin comes from that nobody named.
func (g *Gate) ofMargin(m *results.Metric, isDefault bool) string {
	switch {
	case !isDefault:
		return ""
	case !g.Unsupported:
		return " The margin is what these items support."
	case g.ItemsRange == nil || g.Decision == Inconclusive:
		return fmt.Sprintf(" These items support no margin of %s, the widest that is taken by itself.", marginText(m, g.Margin))
	}
	return fmt.Sprintf(" These items support no margin of %s, the widest that is taken by itself: it needs %s.", marginText(m, g.Margin), wording.CountRange(*g.ItemsRange, "items"))
}

// leftOut says which items are not compared.
func (g *Gate) leftOut() string {
	items := &g.Comparison.Items
	var parts []string
	for _, part := range []struct {
		count int64
		text  string
	}{
		{g.OnlyCandidate, "that only the candidate was to do"},
		{g.OnlyBaseline, "that only the baseline was to do"},
		{g.Changed, "with other contents"},
		{int64(items.OnlyA + items.OnlyB + items.Neither), "without a value on a side"},
	} {
		if part.count > 0 {
			parts = append(parts, wording.Items(part.count)+" "+part.text)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " Not compared: " + strings.Join(parts, ", ") + "."
}
