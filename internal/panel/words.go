package panel

import (
	"fmt"
	"math"
	"strings"

	"github.com/looptrace/looptrace/internal/stats"
)

// goodAlpha and fairAlpha are Krippendorff's limits.
const (
	goodAlpha = .8
	fairAlpha = 2. / 3
)

// words are the sentence and the warnings.
func (t *table) words(s *Summary) (sentence string, warnings []string) {
	return t.sentence(s), t.warnings(s)
}

func (t *table) sentence(s *Summary) string {
	switch {
	case s.Votes.OK == 0 && s.Votes.failed() == 1:
		return "The only vote is not valid, so that there is no score. Look at its error."
	case s.Votes.OK == 0 && s.Votes.failed() > 0:
		return fmt.Sprintf("None of the %s is valid, so that there is no score. Look at the errors of the votes.", plural(s.Votes.failed(), "vote"))
	case s.Votes.OK == 0:
		return "No vote was made, so that there is no score."
	case len(t.members) == 1:
		return t.alone(s)
	case s.Reliability == nil:
		return "No judge of the panel makes the score: name one that is not an escalation."
	}
	a := s.Reliability.KrippendorffAlpha
	if a.Value == nil {
		if a.has(stats.NoVariation) {
			return "All votes are the same value: nothing can be said about agreement. Judge outputs that differ more in quality."
		}
		return "No output has valid votes of two judges: nothing can be said about agreement."
	}
	ac := s.Reliability.GwetAC
	if share := t.commonest(); share >= commonShare && *a.Value < fairAlpha && ac.Value != nil && *ac.Value >= goodAlpha {
		name := "AC1"
		if t.measured() == stats.OrdinalScale {
			name = "AC2"
		}
		return fmt.Sprintf("%s of votes are the same value, so that alpha says little (%s); %s is %s. Judge outputs that differ more in quality.",
			percent(share), withInterval(a), name, withInterval(ac))
	}
	return t.agreement(s.Reliability)
}

// commonShare is the share of the commonest value from which alpha and kappa say little.
const commonShare = .9

// commonest is the share of the commonest value of members, 0 for numbers.
func (t *table) commonest() float64 {
	if t.measured() == stats.IntervalScale {
		return 0
	}
	counts, total, most := map[float64]int{}, 0, 0
	for _, j := range t.members {
		for _, v := range t.values[j] {
			if !math.IsNaN(v) {
				counts[v]++
				total++
				most = max(most, counts[v])
			}
		}
	}
	return float64(most) / float64(max(1, total))
}

func (t *table) alone(s *Summary) string {
	text := "A single judge makes the score: nothing can be said about agreement with others."
	if a := s.Judges[t.members[0]].SelfConsistency; a.Value != nil {
		text += fmt.Sprintf(" Its repeats agree with alpha %s.", withInterval(a))
	}
	if s.Labels == nil {
		text += " Add a judge of another model family, or label some outputs."
	}
	return text
}

// agreement says how far judges agree, no more firmly than the interval of alpha allows.
func (t *table) agreement(r *Reliability) string {
	a := r.KrippendorffAlpha
	low, high := -1., 1.
	if a.CI != nil {
		low, high = a.CI[0], a.CI[1]
	} else if r.Items >= fewOutputs {
		switch {
		case *a.Value == 1:
			low = 1 // all agree on values that differ
		case r.PercentAgreement.Value != nil && *r.PercentAgreement.Value == 0:
			high = *a.Value // none agree
		}
	}
	value := *a.Value
	of := "alpha " + withInterval(a)
	switch {
	case high < 0:
		return fmt.Sprintf("These judges disagree more than chance would (%s): they read the rubric differently; do not trust the %s below.", of, t.result())
	case low <= 0 && high >= fairAlpha:
		return fmt.Sprintf("%s (%s), but %s are too few to tell that from chance: judge more.", t.pairsWords(r), of, plural(r.Items, "output"))
	case low <= 0:
		return fmt.Sprintf("These judges agree little more than chance would (%s); do not trust the %s below.", of, t.result())
	}
	text := fmt.Sprintf("%s (%s): ", t.pairsWords(r), of)
	switch {
	case value >= goodAlpha && low >= fairAlpha:
		return text + "good agreement."
	case value >= goodAlpha:
		return text + "good agreement here, but it may be weak: judge more outputs."
	case low >= fairAlpha:
		return text + "fair agreement, for tentative conclusions."
	case value >= fairAlpha:
		return text + "fair agreement here, but it may be weak: draw tentative conclusions only, or judge more outputs."
	case high >= fairAlpha:
		return text + "weak agreement here, though it may be fair: judge more outputs, or make the rubric more exact."
	}
	return text + "weak agreement. Make the rubric more exact, and rest no decision on this score alone."
}

// result is what the panel comes to.
func (t *table) result() string {
	if t.scored() {
		return "mean score"
	}
	return "shares of labels"
}

// pairsWords say on how many pairs of votes judges agree, unless those are numbers, which are hardly ever equal.
func (t *table) pairsWords(r *Reliability) string {
	if t.measured() == stats.IntervalScale || r.PercentAgreement.Value == nil {
		return fmt.Sprintf("The %d judges agree", r.Raters)
	}
	return fmt.Sprintf("The %d judges agree on %s of pairs", r.Raters, percent(*r.PercentAgreement.Value))
}

// enoughRight is the share of outputs on which a panel is right that counts as good beside labels.
const enoughRight = .8

func (t *table) labelsSentence(r *LabelsResult) string {
	if r.Outputs == 0 {
		return "No output has both a label and a score: label outputs that have a score."
	}
	on := plural(r.Outputs, "labelled output")
	a := r.Agreement
	text := fmt.Sprintf("The panel is right on %s of %s", percent(*a.Value), on)
	if a.CI != nil {
		text += " " + percentInterval(*a.CI)
	}
	if r.Kappa.Value != nil {
		text += ", kappa " + withInterval(r.Kappa)
	}
	switch {
	case r.Outputs < fewLabels || a.CI == nil:
		text += ": too few labels to trust that."
	case a.CI[0] >= enoughRight && (r.Kappa.CI == nil || r.Kappa.CI[0] <= 0):
		text += ", but perhaps only because most answers are the same: label outputs that differ more in quality."
	case a.CI[0] >= enoughRight:
		text += ": it judges as people do."
	case a.CI[1] < enoughRight:
		text += ": it often judges as people do not; read the outputs on which they differ."
	default:
		text += "."
	}
	text += t.correctedWords(r)
	if r.Before != nil {
		text += beforeWords(r.Before)
	}
	return text
}

func (t *table) correctedWords(r *LabelsResult) string {
	c := r.Corrected
	text := ""
	switch {
	case c.has(NotDrawn):
		text = " These outputs were not drawn at random, so that they correct no mean score."
	case c.Value != nil && c.CI != nil:
		text = fmt.Sprintf(" Corrected by labels of %s, drawn at random, the mean score is %s.", plural(r.Drawn, "item"), withInterval(c))
	}
	switch {
	case r.LabelsNeeded == nil:
	case c.Value == nil:
		text += fmt.Sprintf(" Label %s in random order to correct the mean score.", plural(*r.LabelsNeeded, "more item"))
	default:
		text += fmt.Sprintf(" About %d more labels would make its interval half as wide.", *r.LabelsNeeded)
	}
	if w := r.Replaceable; w.Value != nil {
		if *w.Value >= .5 {
			text += " By the alt-test it may stand in for a person"
		} else {
			text += " By the alt-test it may not stand in for a person"
		}
		if w.has(stats.FewItems) {
			text += ", but that is of few outputs"
		}
		text += "."
	}
	return text
}

func beforeWords(b *LabelsBefore) string {
	d := b.Difference
	if d.Estimate == nil || d.CI == nil {
		return ""
	}
	by := points(math.Abs(*d.Estimate))
	interval := pointInterval(d.CI[0], d.CI[1])
	switch {
	case d.P == nil || *d.P > alpha || d.CI.Contains(0):
		return fmt.Sprintf(" Nothing shows that it is right more or less often than the panel before (difference %s points).", interval)
	case *d.Estimate > 0:
		return fmt.Sprintf(" It is right more often than the panel before, by %s %s.", by, interval)
	}
	return fmt.Sprintf(" It is right less often than the panel before, by %s (difference %s points).", by, interval)
}

// short has two decimals: 0.83, -0.05, 1. What is not quite 1 has three.
func short(x float64) string {
	decimals := 2
	if x < 1 && x >= .995 {
		decimals = 3
	}
	text := strings.TrimSuffix(fmt.Sprintf("%.*f", decimals, x), ".00")
	if text == "-0" {
		return "0"
	}
	return text
}

// withInterval is a value with its interval, such as 0.83 [0.78, 0.87].
func withInterval(f Figure) string {
	if f.CI == nil {
		return short(*f.Value) + ", without an interval"
	}
	return fmt.Sprintf("%s [%s, %s]", short(*f.Value), short(f.CI[0]), short(f.CI[1]))
}

// percent is no 0 or 100 unless it is that.
func percent(share float64) string {
	for decimals := range 3 {
		text := fmt.Sprintf("%.*f", decimals, 100*share)
		whole := strings.TrimRight(text, ".0") // 100 becomes 1
		if (whole != "" || share == 0) && (whole != "1" || !strings.HasPrefix(text, "100") || share == 1) {
			return text + " %"
		}
	}
	if share < .5 {
		return "less than 0.01 %"
	}
	return "more than 99.99 %"
}

func percentInterval(i stats.Interval) string {
	return fmt.Sprintf("[%.0f, %.0f]", 100*i[0], 100*i[1])
}

// points are hundredths of a score.
func points(x float64) string {
	n := 100 * x
	text := fmt.Sprintf("%.0f", n)
	if n < 1 {
		text = fmt.Sprintf("%.1f", n)
	}
	if text == "1" {
		return "1 point"
	}
	return text + " points"
}

func pointInterval(low, high float64) string {
	decimals := 0
	if high-low < .03 {
		decimals = 1
	}
	number := func(x float64) string {
		text := fmt.Sprintf("%.*f", decimals, 100*x)
		if strings.Trim(text, "-0.") == "" {
			return "0"
		}
		return text
	}
	return fmt.Sprintf("[%s, %s]", number(low), number(high))
}

func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
