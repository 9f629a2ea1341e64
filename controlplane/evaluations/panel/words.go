package panel

import (
	"fmt"
	"math"
	"strings"

	"github.com/looptrace/looptrace/controlplane/stats"
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
		return fmt.Sprintf("%s of votes are the same value, so that alpha says little (%s); %s is %s. Judge outputs that differ more in quality. %s",
			percent(share), withInterval(a), name, withInterval(ac), t.validity(s.Labels))
	}
	return t.agreement(s.Reliability, s.Labels)
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
	if f := s.Judges[t.members[0]].FlipRate; f.Value != nil {
		text += fmt.Sprintf(" Its repeats differ in %s of pairs", percent(*f.Value))
		if f.CI != nil {
			text += " " + percentInterval(*f.CI)
		}
		text += "."
	}
	if s.Labels == nil {
		text += " Add a judge of another model family, or label some outputs."
	}
	return text
}

// agreement says how far judges agree, no more firmly than the interval of alpha allows. Where they agree it adds that they need not be right.
func (t *table) agreement(r *Reliability, labels *LabelsResult) string {
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
		text += "good agreement with each other."
	case value >= goodAlpha:
		text += "good agreement with each other here, but it may be weak: judge more outputs."
	case low >= fairAlpha:
		text += "fair agreement with each other, for tentative conclusions."
	case value >= fairAlpha:
		text += "fair agreement with each other here, but it may be weak: draw tentative conclusions only, or judge more outputs."
	case high >= fairAlpha:
		return text + "weak agreement here, though it may be fair: judge more outputs, or make the rubric more exact."
	default:
		return text + "weak agreement. Make the rubric more exact, and rest no decision on this score alone."
	}
	return text + " " + t.validity(labels)
}

// validity says what agreement of judges does not: whether they are right. It quotes what labels say.
func (t *table) validity(labels *LabelsResult) string {
	const text = "That does not say that they are right: judges that make the same mistakes agree, too. "
	if labels == nil || labels.Outputs == 0 {
		return text + "Only labels of people can tell: label some outputs."
	}
	quote, _, _ := strings.Cut(labels.Sentence, ". ")
	return text + "By labels of people: " + strings.TrimSuffix(quote, ".") + "."
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

// Limits from which a panel judges as people do. The lower ends of intervals must reach them.
const (
	// enoughRight is the share of outputs on which a panel is right: of all, of those that people pass, and of those that they fail.
	enoughRight = .8
	// enoughKappa is the agreement with people beyond chance.
	enoughKappa = .6
	// fewLabels is the number of labels below which errors of judges say little.
	fewLabels = 30
)

// labelsSentence is about the panel's values beside what people say of the outputs.
func (t *table) labelsSentence(r *LabelsResult, values, truth []float64) string {
	if r.Outputs == 0 {
		return "No output has both a label and a score: label outputs that have a score."
	}
	text := fmt.Sprintf("The panel is right on %s of %s", percent(*r.Agreement.Value), plural(r.Outputs, "labelled output"))
	if r.Agreement.CI != nil {
		text += " " + percentInterval(*r.Agreement.CI)
	}
	if r.Kappa.Value != nil {
		text += ", kappa " + withInterval(r.Kappa)
	}
	sensitivity, specificity := t.rates(values, truth)
	text += besidePeople(r, sensitivity, specificity) + t.correctedWords(r)
	if r.Before != nil {
		text += beforeWords(r.Before)
	}
	return text
}

// besidePeople says whether the panel judges as people do, and if not, or if that is not known, on what they differ. Where nothing passes
// or fails, sensitivity and specificity are not applicable.
func besidePeople(r *LabelsResult, sensitivity, specificity Figure) string {
	a := r.Agreement
	if r.Outputs < fewLabels || a.CI == nil {
		return ": too few labels to trust that."
	}
	var wrong, unknown []string
	for _, side := range []struct {
		rate       Figure
		says, does string
	}{{specificity, "fail", "passes"}, {sensitivity, "pass", "fails"}} {
		switch f := side.rate; {
		case f.has(stats.NotApplicable):
		case f.Value == nil:
			unknown = append(unknown, fmt.Sprintf("people %s none of them, so that nobody knows whether it does what people do there", side.says))
		case f.CI == nil || f.CI[0] < enoughRight:
			differ := int(math.Round((1 - *f.Value) * float64(f.N)))
			words := fmt.Sprintf("it %s %d of the %s that people %s", side.does, differ, plural(f.N, "output"), side.says)
			if f.CI != nil && f.CI[1] < enoughRight {
				wrong = append(wrong, words)
			} else {
				unknown = append(unknown, words+", which is too few to know how often")
			}
		}
	}
	switch {
	case len(wrong) > 0:
		return ": " + strings.Join(wrong, ", and ") + "; read the outputs on which they differ."
	case a.CI[1] < enoughRight:
		return ": it often judges as people do not; read the outputs on which they differ."
	case len(unknown) > 0:
		return ", but " + strings.Join(unknown, ", and ") + ": label more outputs."
	case a.CI[0] < enoughRight:
		return "."
	case r.Kappa.CI == nil || r.Kappa.CI[0] < enoughKappa:
		return ", but perhaps only because most answers are the same: label outputs that differ more in quality."
	}
	return ": it judges as people do."
}

func (t *table) correctedWords(r *LabelsResult) string {
	c := r.Corrected
	text := ""
	switch {
	case c.has(Grouped):
		text = " Labels correct no mean score where items belong together."
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
