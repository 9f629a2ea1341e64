package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/panel"
	"github.com/looptrace/looptrace/controlplane/evaluations/wording"
	"github.com/looptrace/looptrace/controlplane/stats/compare"
)

// sentence says the result in words.
func (r *Results) sentence() string {
	var parts []string
	primary := r.Summary.Primary()
	switch {
	case r.Accounting.Outputs == 0:
		parts = append(parts, "There is nothing to compare: no output was made.")
	case primary == nil:
		parts = append(parts, "No grader says which side is better.")
	case r.namedItems(primary.Name) > 0:
		parts = append(parts, primary.Name+" has labels that neither pass nor fail, so that no side is better on it.")
	default:
		parts = append(parts, r.verdict(primary))
	}
	for i := range r.Summary.Metrics {
		m := &r.Summary.Metrics[i]
		if m == primary || m.Verdict != compare.BBetter && m.Verdict != compare.ABetter {
			continue
		}
		if m.Kind == evaluations.KindScore {
			parts = append(parts, r.verdict(m))
			continue
		}
		parts = append(parts, operationalSentence(m))
	}
	c := &r.Accounting
	if lost := c.TargetFailed + c.JudgeFailed; lost > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s %s no score on a side and %s not compared.", lost, wording.Items(c.Items), wording.Agreeing(lost, "has", "have"), wording.Agreeing(lost, "is", "are")))
	}
	if c.Skipped > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s %s skipped.", c.Skipped, wording.Items(c.Items), wording.Agreeing(c.Skipped, "was", "were")))
	}
	if c.Pending > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s %s not done%s.", c.Pending, wording.Items(c.Items), wording.Agreeing(c.Pending, "is", "are"), stoppedWords(r.panels)))
	}
	return strings.Join(parts, " ")
}

// verdict says the result of a score.
func (r *Results) verdict(m *MetricSummary) string {
	d := &m.Difference
	if d.Estimate == nil {
		return m.Name + " cannot be compared: no item has a score on both sides."
	}
	items := wording.Items(int64(d.N)) + wording.Groups(m.Groups)
	if repeats := r.config.Sides; repeats[evaluations.SideA].Repeats > 1 && repeats[evaluations.SideA].Repeats == repeats[evaluations.SideB].Repeats {
		items += fmt.Sprintf(" × %d", repeats[evaluations.SideA].Repeats)
	}
	evidence := wording.Points.Difference(&d.Difference) + ", " + items
	if judged := m.Judged; judged != nil {
		evidence += fmt.Sprintf(", corrected by labels of %s drawn at random; by judges alone %s", wording.Items(int64(m.LabelsDrawn)), wording.Points.Difference(&judged.Difference))
	}
	if treated := m.IntentionToTreat; treated != nil && treated.Estimate != nil {
		evidence += "; with failed outputs as 0 " + wording.Points.Difference(&treated.Difference)
	}
	winner, loser := r.config.Sides[evaluations.SideB].Name, r.config.Sides[evaluations.SideA].Name
	judged := ""
	if m.Judged == nil && slices.ContainsFunc(r.judged, func(p evaluations.ReadyPanel) bool { return p.Name == m.Name }) {
		judged = " That is by judges alone, who may err differently on both sides: " + m.labelsText() + "."
	}
	switch m.Verdict {
	case compare.BBetter:
		return fmt.Sprintf("B (%s) is better than A (%s) on %s: %s.%s", winner, loser, m.Name, evidence, judged)
	case compare.ABetter:
		return fmt.Sprintf("B (%s) is worse than A (%s) on %s: %s.%s", winner, loser, m.Name, evidence, judged)
	case compare.Equivalent:
		text := fmt.Sprintf("A and B are equivalent on %s, within %s points: %s.", m.Name, wording.Points.Exact(*r.config.EquivalenceMargin), evidence)
		if margin := *r.config.EquivalenceMargin; d.CI != nil && (d.CI[0] <= -margin || d.CI[1] >= margin) {
			text += fmt.Sprintf(" The interval that decides is that of %.4g%%, which is within.", 100*(2*d.Confidence-1))
		}
		return text
	}
	text := fmt.Sprintf("Whether B differs from A on %s cannot be told: %s.", m.Name, evidence)
	if d.CI != nil && !d.CI.Contains(0) && d.PAdjusted != nil && *d.PAdjusted > evaluations.Level {
		text += " The interval leaves out 0, but p decides"
		if *d.P <= evaluations.Level {
			text += ", which counts that other metrics are compared, too"
		}
		text += "."
	}
	if detectable := d.MinimumDetectable; detectable != nil && *detectable > 0 {
		text += fmt.Sprintf(" This many items would show a true difference of %s points in 8 of 10 comparisons.", wording.Number(*detectable*100))
	}
	return text
}

// labelsText says what labels of people would do, or why those that are there do not correct the difference.
func (m *MetricSummary) labelsText() string {
	switch {
	case m.LabelsFlag != nil && *m.LabelsFlag == panel.Grouped:
		return "labels of people correct no difference of groups"
	case m.LabelsFlag != nil && *m.LabelsFlag == panel.NotDrawn:
		return fmt.Sprintf("the labels of %s were not drawn at random and correct nothing", wording.Items(int64(m.LabelsPaired)))
	case m.LabelsPaired > 0 && m.LabelsNeeded != nil:
		return fmt.Sprintf("labels of %d more %s in random order would correct it", *m.LabelsNeeded, wording.Agreeing(int64(*m.LabelsNeeded), "item", "items"))
	}
	return "labels of people correct it"
}

// operationalSentence says a difference of costs, durations, tokens or failures.
func operationalSentence(m *MetricSummary) string {
	names := map[evaluations.Kind]string{evaluations.KindCost: "Cost", evaluations.KindDuration: "Duration", evaluations.KindOutputTokens: "Output tokens", evaluations.KindFailures: "Failures"}
	d := &m.Difference
	if m.Kind == evaluations.KindFailures {
		return fmt.Sprintf("Failures of B: %s, %d items.", wording.Points.Difference(&d.Difference), d.N)
	}
	u := wording.UnitOf(m.Kind)
	text := fmt.Sprintf("%s of B: %s%s", names[m.Kind], u.Estimate(*d.Estimate), u.Interval(d.CI))
	// The interval is none of the share: A's mean is not exact, either.
	if m.A.Mean != nil && *m.A.Mean > 0 {
		text += fmt.Sprintf(", %s%% of A's mean", wording.Sign(wording.Number(100**d.Estimate / *m.A.Mean)))
	}
	return text + "."
}
