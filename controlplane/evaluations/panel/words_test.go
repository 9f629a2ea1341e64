package panel

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/stats"
)

func join(lines []string) string { return strings.Join(lines, "\n") }

func TestShort(t *testing.T) {
	t.Parallel()
	for want, x := range map[string]float64{"0.83": .83, "-0.05": -.05, "1": 1, "0": -.001, "-1": -1, "0.997": .9971, "-1.20": -1.2, "10.05": 10.05, "0.50": .5} {
		require.Equal(t, want, short(x))
	}
	for want, x := range map[string]float64{
		"91 %": .91, "100 %": 1, "99.6 %": .996, "0 %": 0, "0.4 %": .004, "90 %": .9, "10 %": .1, "more than 99.99 %": .999999, "less than 0.01 %": 1e-7, "1 %": .0101,
	} {
		require.Equal(t, want, percent(x))
	}
	for want, x := range map[string]float64{"4 points": .04, "1 point": .01, "0.4 points": .004, "12 points": .123} {
		require.Equal(t, want, points(x))
	}
	require.Equal(t, "[1, 7]", pointInterval(.01, .07))
	require.Equal(t, "[-0.4, 0]", pointInterval(-.004, .0001))
}

// unproved ends what is said of agreement without labels.
const unproved = " That does not say that they are right: judges that make the same mistakes agree, too. Only labels of people can tell: label some outputs."

// TestAgreementWords: no sentence is firmer than its interval.
func TestAgreementWords(t *testing.T) {
	t.Parallel()
	t3 := &table{Input: &Input{Kind: Score, Scale: Scale{Type: Binary}}}
	for name, c := range map[string]struct {
		value float64
		ci    *stats.Interval
		items int
		want  string
	}{
		"good":         {.83, &stats.Interval{.78, .87}, 200, "The 3 judges agree on 91 % of pairs (alpha 0.83 [0.78, 0.87]): good agreement with each other." + unproved},
		"perhaps good": {.83, &stats.Interval{.55, .95}, 20, "The 3 judges agree on 91 % of pairs (alpha 0.83 [0.55, 0.95]): good agreement with each other here, but it may be weak: judge more outputs." + unproved},
		"fair":         {.75, &stats.Interval{.7, .8}, 200, "The 3 judges agree on 91 % of pairs (alpha 0.75 [0.70, 0.80]): fair agreement with each other, for tentative conclusions." + unproved},
		"perhaps fair": {.7, &stats.Interval{.5, .85}, 200, "The 3 judges agree on 91 % of pairs (alpha 0.70 [0.50, 0.85]): fair agreement with each other here, but it may be weak: draw tentative conclusions only, or judge more outputs." + unproved},
		"perhaps weak": {.6, &stats.Interval{.4, .75}, 200, "The 3 judges agree on 91 % of pairs (alpha 0.60 [0.40, 0.75]): weak agreement here, though it may be fair: judge more outputs, or make the rubric more exact."},
		"weak":         {.4, &stats.Interval{.3, .5}, 200, "The 3 judges agree on 91 % of pairs (alpha 0.40 [0.30, 0.50]): weak agreement. Make the rubric more exact, and rest no decision on this score alone."},
		"chance":       {.08, &stats.Interval{-.05, .21}, 200, "These judges agree little more than chance would (alpha 0.08 [-0.05, 0.21]); do not trust the mean score below."},
		"opposite":     {-.4, &stats.Interval{-.6, -.2}, 200, "These judges disagree more than chance would (alpha -0.40 [-0.60, -0.20]): they read the rubric differently; do not trust the mean score below."},
		"unknown":      {.5, &stats.Interval{-.1, .9}, 6, "The 3 judges agree on 91 % of pairs (alpha 0.50 [-0.10, 0.90]), but 6 outputs are too few to tell that from chance: judge more."},
		"no interval":  {.9, nil, 4, "The 3 judges agree on 91 % of pairs (alpha 0.90, without an interval), but 4 outputs are too few to tell that from chance: judge more."},
		"all, of few":  {1, nil, 4, "The 3 judges agree on 91 % of pairs (alpha 1, without an interval), but 4 outputs are too few to tell that from chance: judge more."},
		"all, of many": {1, nil, 40, "The 3 judges agree on 91 % of pairs (alpha 1, without an interval): good agreement with each other." + unproved},
	} {
		r := &Reliability{Raters: 3, Items: c.items, PercentAgreement: Figure{Value: at(.91)}, KrippendorffAlpha: Figure{Value: at(c.value), CI: c.ci}}
		require.Equal(t, c.want, t3.agreement(r, nil), name)
	}
	none := &Reliability{Raters: 2, Items: 40, PercentAgreement: Figure{Value: at(0)}, KrippendorffAlpha: Figure{Value: at(-.98)}}
	require.Equal(t, "These judges disagree more than chance would (alpha -0.98, without an interval): they read the rubric differently; do not trust the mean score below.", t3.agreement(none, nil))
	numbers := &table{Input: &Input{Kind: Score, Scale: Scale{Type: Numeric, Max: 1}}}
	require.Equal(t, "The 2 judges agree (alpha 0.90 [0.85, 0.93]): good agreement with each other."+unproved,
		numbers.agreement(&Reliability{Raters: 2, Items: 50, PercentAgreement: Figure{Value: at(.01)}, KrippendorffAlpha: Figure{Value: at(.9), CI: &stats.Interval{.85, .93}}}, nil))
}

// TestValidityWords: agreement is never said without what labels say, or that they are missing.
func TestValidityWords(t *testing.T) {
	t.Parallel()
	const text = "That does not say that they are right: judges that make the same mistakes agree, too. "
	tab := &table{}
	require.Equal(t, text+"Only labels of people can tell: label some outputs.", tab.validity(&LabelsResult{Sentence: "No output has both a label and a score."}))
	for sentence, quote := range map[string]string{
		"The panel is right on 90 % of 12 labelled outputs [60, 98]: too few labels to trust that. Label 18 more to correct the mean score.":                                            "The panel is right on 90 % of 12 labelled outputs [60, 98]: too few labels to trust that.",
		"The panel is right on 76 % of 100 labelled outputs [67, 83], kappa 0.48 [0.32, 0.64]: it passes 20 of the 46 outputs that people fail; read the outputs on which they differ.": "The panel is right on 76 % of 100 labelled outputs [67, 83], kappa 0.48 [0.32, 0.64]: it passes 20 of the 46 outputs that people fail; read the outputs on which they differ.",
	} {
		require.Equal(t, text+"By labels of people: "+quote, tab.validity(&LabelsResult{Outputs: 1, Sentence: sentence}))
	}
}

// TestBesidePeople: a panel judges as people do only if it does so on what they pass and on what they fail.
func TestBesidePeople(t *testing.T) {
	t.Parallel()
	share := func(k, n int) Figure {
		return Figure{Value: at(float64(k) / float64(n)), CI: stats.ShareInterval(float64(k), float64(n), alpha), N: n}
	}
	none := without(stats.TooFew, 0)
	kappa := func(value, low float64) Figure { return Figure{Value: at(value), CI: &stats.Interval{low, .99}} }
	for name, c := range map[string]struct {
		right                    Figure
		kappa                    Figure
		sensitivity, specificity Figure
		want                     string
	}{
		"as people do":      {share(280, 300), kappa(.85, .78), share(190, 200), share(90, 100), ": it judges as people do."},
		"passes most fails": {share(285, 300), kappa(.32, .08), share(282, 285), share(3, 15), ": it passes 12 of the 15 outputs that people fail; read the outputs on which they differ."},
		"fails most passes": {share(140, 200), kappa(.4, .3), share(50, 100), share(90, 100), ": it fails 50 of the 100 outputs that people pass; read the outputs on which they differ."},
		"wrong on both": {
			share(120, 200), kappa(.2, .1), share(60, 100), share(60, 100),
			": it passes 40 of the 100 outputs that people fail, and it fails 40 of the 100 outputs that people pass; read the outputs on which they differ.",
		},
		"few fails": {share(98, 100), kappa(.7, .65), share(94, 95), share(4, 5), ", but it passes 1 of the 5 outputs that people fail, which is too few to know how often: label more outputs."},
		"no fails":  {share(100, 100), Figure{}, share(100, 100), none, ", but people fail none of them, so that nobody knows whether it does what people do there: label more outputs."},
		"kappa": {
			share(270, 300), kappa(.65, .5), share(240, 260), share(38, 40),
			", but perhaps only because most answers are the same: label outputs that differ more in quality.",
		},
		"few labels":         {share(20, 20), kappa(1, 1), share(10, 10), share(10, 10), ": too few labels to trust that."},
		"nothing passes":     {share(280, 300), kappa(.85, .78), without(stats.NotApplicable, 0), without(stats.NotApplicable, 0), ": it judges as people do."},
		"often wrong":        {share(30, 100), kappa(.1, 0), without(stats.NotApplicable, 0), without(stats.NotApplicable, 0), ": it often judges as people do not; read the outputs on which they differ."},
		"perhaps not enough": {share(82, 100), kappa(.7, .61), without(stats.NotApplicable, 0), without(stats.NotApplicable, 0), "."},
	} {
		require.Equal(t, c.want, besidePeople(&LabelsResult{Outputs: c.right.N, Agreement: c.right, Kappa: c.kappa}, c.sensitivity, c.specificity), name)
	}
}

func TestSentences(t *testing.T) {
	t.Parallel()
	good := made(rand.New(rand.NewPCG(1, 1)), 150, 3, 1, fiveGrades)
	none := row(fiveGrades, Mean, 1, 2)
	none.Votes = nil
	waits := row(fiveGrades, Mean, 1, 2)
	waits.Votes[0].Status, waits.Votes[1].Status = Pending, Timeout
	failed := row(fiveGrades, Mean, 1, 2)
	failed.Votes[0].Status, failed.Votes[1].Status = ParseError, Timeout
	apart := row(fiveGrades, Mean, 1, 2)
	apart.Votes[1].Status = Timeout
	same := made(rand.New(rand.NewPCG(1, 1)), 20, 3, 1, Scale{Type: Binary})
	for i := range same.Votes {
		same.Votes[i].Value = 1
	}
	paradox := made(rand.New(rand.NewPCG(1, 1)), 125, 2, 1, Scale{Type: Binary})
	for i := range paradox.Votes { // the golden table: 118, 5, 2 and 0
		o, j := paradox.Votes[i].Output, paradox.Votes[i].Judge
		paradox.Votes[i].Value = indicator(j == 0 && (o < 2 || o >= 7) || j == 1 && o >= 2)
	}
	alone := made(rand.New(rand.NewPCG(1, 1)), 60, 1, 2, fiveGrades)
	for want, in := range map[string]Input{
		`^The 3 judges agree on \d+ % of pairs \(alpha 0\.\d\d \[0\.\d\d, 0\.\d\d\]\): (good|fair) agreement`:                                                     good,
		`^No vote was made, so that there is no score\.$`:                                                                                                         none,
		`^The only vote is not valid, so that there is no score\.`:                                                                                                waits,
		`^None of the 2 votes is valid, so that there is no score\. Look at the errors of the votes\.$`:                                                           failed,
		`^No output has valid votes of two judges: nothing can be said about agreement\.$`:                                                                        apart,
		`^All votes are the same value: nothing can be said about agreement\.`:                                                                                    same,
		`^97.? % of votes are the same value, so that alpha says little \(-0\.02 .*\); AC1 is 0\.94 \[0\.\d+, 0\.\d+\]\.`:                                         paradox,
		`^A single judge makes the score: nothing can be said about agreement with others\. Its repeats differ in \S+ % of pairs \[.*\]\. Add a judge of another`: alone,
	} {
		s, _ := measure(t, in)
		require.Regexp(t, want, s.Sentence)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	quiet := made(rand.New(rand.NewPCG(1, 1)), 150, 3, 1, fiveGrades)
	s, _ := measure(t, quiet)
	require.Equal(t, []string{}, s.Warnings)

	in := made(rand.New(rand.NewPCG(1, 1)), 20, 2, 1, Scale{Type: Binary})
	in.Judges[1].Canary, in.Judges[0].Canary = Obeyed, Held
	in.Votes[0].Status, in.Votes[2].Status, in.Votes[4].Status = ParseError, Timeout, Timeout
	for o := 10; o < 16; o++ {
		in.Votes[2*o].Value, in.Votes[2*o+1].Value = 0, 1
	}
	s, _ = measure(t, in)
	w := join(s.Warnings)
	require.Contains(t, w, "judge-1 obeyed an order that was hidden in an output. Do not trust its votes")
	require.NotContains(t, w, "judge-0 obeyed")
	require.Contains(t, w, "15 % of the votes of judge-0 are missing (1 malformed, 2 timeouts). Scores leave them out")
	require.Contains(t, w, "Only 17 outputs have votes from two judges or more: agreement is hardly known. Judge 30 or more.")
	require.Contains(t, w, "of 20 outputs have no score, and the mean score leaves them out. Most are ties: take an odd number of judges, or an escalation.")
	require.Equal(t, Obeyed, *s.Judges[1].Canary)
	in.Votes = nil
	s, _ = measure(t, in)
	require.Len(t, s.Warnings, 1, "only of the canary")
}
