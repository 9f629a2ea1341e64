package results

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/panel"
	"github.com/looptrace/looptrace/controlplane/evaluations/wording"
	"github.com/looptrace/looptrace/controlplane/stats"
	"github.com/looptrace/looptrace/controlplane/stats/compare"
)

// EvalRunSummary is the result of an eval-run.
type EvalRunSummary struct {
	Sentence string          `json:"sentence"`
	Scores   []EvalRunMetric `json:"scores"`
	Panels   []PanelSummary  `json:"panels"`
	// Partial is whether results are missing.
	Partial bool `json:"partial"`
}

// EvalRunMetric is the mean of a metric over the items.
type EvalRunMetric struct {
	Name   string             `json:"name"`
	Kind   evaluations.Kind   `json:"kind"`
	Better evaluations.Better `json:"better"`
	Mean   *float64           `json:"mean"`
	CI     *stats.Interval    `json:"ci"`
	// PassRate is the share of outputs that pass, of those that a grader passed or failed. It is nil without any.
	PassRate *float64 `json:"pass_rate"`
	// Categories are the shares of labels, which are the score of a panel whose categories neither pass nor fail. N counts items with one.
	Categories []panel.Category `json:"categories"`
	N          int              `json:"n"`
	// Groups counts the groups of items, nil if no two belong together.
	Groups *int `json:"groups"`
	// AllPass is nil without repeats that pass or fail.
	AllPass *AllPass `json:"all_pass"`
}

// AllPass is the share of N items of which all repeats pass.
type AllPass struct {
	Value float64         `json:"value"`
	CI    *stats.Interval `json:"ci"`
	N     int             `json:"n"`
}

// EvalRunSummary summarizes an eval-run.
func (r *Results) EvalRunSummary() EvalRunSummary {
	summary := EvalRunSummary{Scores: make([]EvalRunMetric, len(r.metrics)), Panels: r.panels, Partial: r.partial()}
	for i := range r.metrics {
		m := &r.metrics[i]
		passes, judged := 0, 0
		for j := range r.Items {
			passes, judged = passes+r.Items[j].passes[m.Name], judged+r.Items[j].judged[m.Name]
		}
		side, groups := r.SideOf(m)
		m.Bound(side.CI, 0)
		summary.Scores[i] = EvalRunMetric{Name: m.Name, Kind: m.Kind, Better: m.Better, Mean: side.Mean, CI: side.CI, N: side.N, Groups: groups}
		summary.Scores[i].AllPass = r.allPass(m.Name, r.e.Repeats)
		summary.Scores[i].addCategories(r)
		if judged > 0 {
			summary.Scores[i].PassRate = new(float64(passes) / float64(judged))
		}
	}
	summary.Sentence = evalRunSentence(r, &summary)
	if found := r.config.Target.Found; found != nil && found.Sentence() != "" {
		summary.Sentence += " " + found.Sentence()
	}
	return summary
}

// addCategories adds the shares of labels, if outputs have labels in place of values.
func (m *EvalRunMetric) addCategories(r *Results) {
	items := r.namedItems(m.Name)
	for i := range r.panels {
		if items > 0 && r.panels[i].Name == m.Name {
			m.Categories, m.N = r.panels[i].Categories, items
		}
	}
}

// partial reports whether outputs or votes are missing.
func (r *Results) partial() bool {
	return r.Accounting.OutputsPending > 0 || r.Accounting.Votes != nil && r.Accounting.Votes.Pending > 0
}

// SideOf returns the mean of a metric of an eval-run, and the number of groups of its items.
func (r *Results) SideOf(m *Metric) (compare.Side, *int) {
	one := r.metricOf(m, len(r.Items), nil, false)
	for i := range one.Items {
		one.Items[i].B = one.Items[i].A
	}
	compared := compare.Compare([]compare.Metric{one}, compare.Options{})[0]
	return compared.A, compared.Groups
}

func evalRunSentence(r *Results, summary *EvalRunSummary) string {
	c := &r.Accounting
	var out strings.Builder
	fmt.Fprintf(&out, "%d of %s %s scored.", c.Scored, wording.Items(c.Items), wording.Agreeing(c.Scored, "is", "are"))
	for _, m := range summary.Scores {
		if m.Kind == evaluations.KindScore && m.Mean != nil {
			fmt.Fprintf(&out, " %s: %.1f%%%s, %s.", m.Name, *m.Mean*100, wording.Interval(m.CI), wording.Items(int64(m.N))+wording.Groups(m.Groups))
		}
		if len(m.Categories) > 0 {
			fmt.Fprintf(&out, " %s: %s, %s.", m.Name, sharesText(m.Categories), wording.Items(int64(m.N)))
		}
	}
	if c.TargetFailed > 0 {
		fmt.Fprintf(&out, " %s %s no output.", wording.Items(c.TargetFailed), wording.Agreeing(c.TargetFailed, "has", "have"))
	}
	if c.JudgeFailed > 0 {
		fmt.Fprintf(&out, " %s %s no score.", wording.Items(c.JudgeFailed), wording.Agreeing(c.JudgeFailed, "has", "have"))
	}
	for i := range r.panels {
		out.WriteString(" " + r.panels[i].Sentence)
	}
	if c.Skipped > 0 {
		fmt.Fprintf(&out, " %s %s skipped.", wording.Items(c.Skipped), wording.Agreeing(c.Skipped, "was", "were"))
	}
	if c.Pending > 0 {
		fmt.Fprintf(&out, " %s %s not done%s.", wording.Items(c.Pending), wording.Agreeing(c.Pending, "is", "are"), stoppedWords(r.panels))
	}
	if r.runsUnknown > 0 {
		fmt.Fprintf(&out, " The runs of %d results are not known.", r.runsUnknown)
	}
	return out.String()
}

// maxShares is how many labels a sentence names.
const maxShares = 5

// sharesText writes the shares of labels, the commonest first. Labels that no output has are left out.
func sharesText(categories []panel.Category) string {
	sorted := slices.DeleteFunc(slices.Clone(categories), func(c panel.Category) bool { return c.Outputs == 0 })
	slices.SortStableFunc(sorted, func(x, y panel.Category) int { return cmp.Compare(y.Outputs, x.Outputs) })
	parts := make([]string, 0, maxShares+1)
	for i, c := range sorted {
		if i == maxShares {
			parts = append(parts, fmt.Sprintf("%d more labels", len(sorted)-maxShares))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %.1f%%%s", c.Label, c.Share*100, wording.Interval(c.CI)))
	}
	return strings.Join(parts, ", ")
}
