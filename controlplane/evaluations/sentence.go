package evaluations

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/looptrace/looptrace/controlplane/stats/compare"

	"github.com/looptrace/looptrace/controlplane/evaluations/panel"
	"github.com/looptrace/looptrace/controlplane/stats"
)

// sentence says the result in words.
func (r *results) sentence() string {
	var parts []string
	primary := r.summary.primary()
	switch {
	case r.accounting.Outputs == 0:
		parts = append(parts, "There is nothing to compare: no output was made.")
	case primary == nil:
		parts = append(parts, "No grader says which side is better.")
	case r.namedItems(primary.Name) > 0:
		parts = append(parts, primary.Name+" has labels that neither pass nor fail, so that no side is better on it.")
	default:
		parts = append(parts, r.verdict(primary))
	}
	for i := range r.summary.Metrics {
		m := &r.summary.Metrics[i]
		if m == primary || m.Verdict != compare.BBetter && m.Verdict != compare.ABetter {
			continue
		}
		if m.Kind == KindScore {
			parts = append(parts, r.verdict(m))
			continue
		}
		parts = append(parts, operationalSentence(m))
	}
	c := &r.accounting
	if lost := c.TargetFailed + c.JudgeFailed; lost > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s %s no score on a side and %s not compared.", lost, itemsText(c.Items), agreeing(lost, "has", "have"), agreeing(lost, "is", "are")))
	}
	if c.Skipped > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s %s skipped.", c.Skipped, itemsText(c.Items), agreeing(c.Skipped, "was", "were")))
	}
	if c.Pending > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s %s not done%s.", c.Pending, itemsText(c.Items), agreeing(c.Pending, "is", "are"), stoppedWords(r.panels)))
	}
	return strings.Join(parts, " ")
}

// verdict says the result of a score.
func (r *results) verdict(m *MetricSummary) string {
	d := &m.Difference
	if d.Estimate == nil {
		return m.Name + " cannot be compared: no item has a score on both sides."
	}
	items := itemsText(int64(d.N)) + groupsText(m.Groups)
	if repeats := r.config.Sides; repeats[sideA].Repeats > 1 && repeats[sideA].Repeats == repeats[sideB].Repeats {
		items += fmt.Sprintf(" × %d", repeats[sideA].Repeats)
	}
	evidence := points.difference(&d.Difference) + ", " + items
	if judged := m.Judged; judged != nil {
		evidence += fmt.Sprintf(", corrected by labels of %s drawn at random; by judges alone %s", itemsText(int64(m.LabelsDrawn)), points.difference(&judged.Difference))
	}
	if treated := m.IntentionToTreat; treated != nil && treated.Estimate != nil {
		evidence += "; with failed outputs as 0 " + points.difference(&treated.Difference)
	}
	winner, loser := r.config.Sides[sideB].Name, r.config.Sides[sideA].Name
	judged := ""
	if m.Judged == nil && slices.ContainsFunc(r.judged, func(p readyPanel) bool { return p.Name == m.Name }) {
		judged = " That is by judges alone, who may err differently on both sides: " + m.labelsText() + "."
	}
	switch m.Verdict {
	case compare.BBetter:
		return fmt.Sprintf("B (%s) is better than A (%s) on %s: %s.%s", winner, loser, m.Name, evidence, judged)
	case compare.ABetter:
		return fmt.Sprintf("B (%s) is worse than A (%s) on %s: %s.%s", winner, loser, m.Name, evidence, judged)
	case compare.Equivalent:
		text := fmt.Sprintf("A and B are equivalent on %s, within %s points: %s.", m.Name, points.exact(*r.config.EquivalenceMargin), evidence)
		if margin := *r.config.EquivalenceMargin; d.CI != nil && (d.CI[0] <= -margin || d.CI[1] >= margin) {
			text += fmt.Sprintf(" The interval that decides is that of %.4g%%, which is within.", 100*(2*d.Confidence-1))
		}
		return text
	}
	text := fmt.Sprintf("Whether B differs from A on %s cannot be told: %s.", m.Name, evidence)
	if d.CI != nil && !d.CI.Contains(0) && d.PAdjusted != nil && *d.PAdjusted > level {
		text += " The interval leaves out 0, but p decides"
		if *d.P <= level {
			text += ", which counts that other metrics are compared, too"
		}
		text += "."
	}
	if detectable := d.MinimumDetectable; detectable != nil && *detectable > 0 {
		text += fmt.Sprintf(" This many items would show a true difference of %s points in 8 of 10 comparisons.", number(*detectable*100))
	}
	return text
}

// labelsText says what labels of people would do, or why those that are there do not correct the difference.
func (m *MetricSummary) labelsText() string {
	switch {
	case m.LabelsFlag != nil && *m.LabelsFlag == panel.Grouped:
		return "labels of people correct no difference of groups"
	case m.LabelsFlag != nil && *m.LabelsFlag == panel.NotDrawn:
		return fmt.Sprintf("the labels of %s were not drawn at random and correct nothing", itemsText(int64(m.LabelsPaired)))
	case m.LabelsPaired > 0 && m.LabelsNeeded != nil:
		return fmt.Sprintf("labels of %d more %s in random order would correct it", *m.LabelsNeeded, agreeing(int64(*m.LabelsNeeded), "item", "items"))
	}
	return "labels of people correct it"
}

// operationalSentence says a difference of costs, durations, tokens or failures.
func operationalSentence(m *MetricSummary) string {
	names := map[Kind]string{KindCost: "Cost", KindDuration: "Duration", KindOutputTokens: "Output tokens", KindFailures: "Failures"}
	d := &m.Difference
	if m.Kind == KindFailures {
		return fmt.Sprintf("Failures of B: %s, %d items.", points.difference(&d.Difference), d.N)
	}
	u := unitOf(m.Kind)
	text := fmt.Sprintf("%s of B: %s%s", names[m.Kind], u.estimate(*d.Estimate), u.interval(d.CI))
	// The interval is none of the share: A's mean is not exact, either.
	if m.A.Mean != nil && *m.A.Mean > 0 {
		text += fmt.Sprintf(", %s%% of A's mean", sign(number(100**d.Estimate / *m.A.Mean)))
	}
	return text + "."
}

// itemsText writes a number of items.
func itemsText(n int64) string {
	if n == 1 {
		return "1 item"
	}
	return fmt.Sprintf("%d items", n)
}

// groupsText writes a number of groups, if there are some.
func groupsText(n *int) string {
	if n == nil {
		return ""
	}
	return fmt.Sprintf(" in %d groups", *n)
}

// agreeing is the verb of a number of items.
func agreeing(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// unit is how the values of a metric are written.
type unit struct {
	scale float64
	name  string
	write func(float64) string
}

// points are those of scores and of shares of failures.
var points = unit{100, " points", number}

func unitOf(kind Kind) unit {
	switch kind {
	case KindCost:
		return unit{1, " USD", amount}
	case KindDuration:
		return unit{1, " ms", amount}
	case KindOutputTokens:
		return unit{1, "", amount}
	}
	return points
}

// estimate writes a difference.
func (u unit) estimate(x float64) string { return sign(u.write(x*u.scale)) + u.name }

// interval writes an interval, with a space before it.
func (u unit) interval(ci *stats.Interval) string {
	if ci == nil {
		return ""
	}
	return fmt.Sprintf(" [%s, %s]", sign(u.write(ci[0]*u.scale)), sign(u.write(ci[1]*u.scale)))
}

// difference writes a difference with its interval and p.
func (u unit) difference(d *compare.Difference) string {
	out := u.estimate(*d.Estimate) + u.interval(d.CI)
	if p := probability(d.PAdjusted); p != "" {
		out += ", " + p
	}
	return out
}

// exact writes a number that somebody chose, with as many digits as it has.
func (u unit) exact(x float64) string {
	x *= u.scale
	text := u.write(x)
	if shown, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(shown-x) <= 1e-9*math.Abs(x) {
		return text
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// probability writes a p value.
func probability(p *float64) string {
	switch {
	case p == nil:
		return ""
	case *p < 0.001:
		return "p < 0.001"
	case *p > level && *p < level*1.01: // else it would be rounded to what is a finding
		return fmt.Sprintf("p = %.3g", max(*p, 0.0501))
	}
	return fmt.Sprintf("p = %.2g", *p)
}

// sign gives a number that was written a sign, if it is not 0.
func sign(text string) string {
	if rest, negative := strings.CutPrefix(text, "-"); negative {
		return "−" + rest
	}
	if strings.Trim(text, "0.") == "" {
		return text
	}
	return "+" + text
}

// number writes a number with one digit after the point, or two significant ones.
func number(x float64) string {
	switch size := math.Abs(x); {
	case size < 1e-9: // the rounding of a sum
		return "0.0"
	case size < 0.095:
		return significant(x, 2)
	}
	return fmt.Sprintf("%.1f", x)
}

// amount writes a number with three significant digits, or all those before the point.
func amount(x float64) string {
	if math.Abs(x) < 1e-12 {
		return "0"
	}
	return significant(x, 3)
}

// significant writes a number without an exponent.
func significant(x float64, digits int) string {
	after := digits - 1 - int(math.Floor(math.Log10(math.Abs(x))))
	return strconv.FormatFloat(x, 'f', max(0, after), 64)
}
