package panel

import (
	"math"

	"gonum.org/v1/gonum/stat"

	"github.com/looptrace/looptrace/internal/stats"
)

// Method is how a mean score was corrected.
type Method string

// Methods.
const (
	// RoganGladen is for pass and fail.
	RoganGladen Method = "rogan_gladen"
	// PPI is PPI++, for other scores.
	PPI Method = "ppi"
)

// labelled are scores of the panel and of people.
type labelled struct {
	// people and panel are of the same outputs; rest are the panel's scores of the others.
	people, panel, rest []float64
	// clusters are the scores of people by item.
	clusters [][]float64
	// effect is the design effect of outputs of one item, at least 1: the variance of a mean is larger by it.
	effect float64
}

// correct sets the mean score that labels give, its method and the labels that it needs. The formulas take outputs as independent; their
// interval is wider by the root of the design effect.
func (t *table) correct(r *LabelsResult, truth []float64) {
	if !t.scored() {
		r.Corrected = without(stats.NotApplicable, 0)
		return
	}
	l := t.labelled(truth)
	n := len(l.people)
	if n < fewLabels {
		needed := fewLabels - n
		r.LabelsNeeded = &needed
	}
	var e stats.Estimate
	var unlabelled, byLabels float64 // the parts of the variance
	switch {
	case len(l.rest) == 0:
		e = stats.ClusteredInterval(l.clusters, alpha)
		if e.Flag == "" {
			e.Flag = AllLabelled
		}
		l.effect, r.LabelsNeeded = 1, nil
	case t.binary():
		method := RoganGladen
		r.Method = &method
		e, unlabelled, byLabels = l.roganGladen()
	default:
		method := PPI
		r.Method = &method
		e, unlabelled, byLabels = l.ppi()
	}
	widen(&e, math.Sqrt(l.effect))
	r.Corrected = figure(e, n)
	if n >= fewLabels && e.CI != nil && r.Method != nil {
		r.LabelsNeeded = toHalve(n, len(l.rest), unlabelled, byLabels, stat.Variance(l.people, nil))
	}
}

// binary reports whether all values pass or fail, and are no more than that.
func (t *table) binary() bool {
	return t.Kind == Score && (t.Scale.Type == Binary || t.Scale.Type == Categorical)
}

func (t *table) labelled(truth []float64) labelled {
	var l labelled
	people, panel := t.missing(), t.missing()
	for o, v := range t.final {
		score, label := v.score, t.normalize(truth[o])
		if t.binary() { // as it passes or fails; half a pass does neither
			score = math.NaN()
			if pass := t.pass(v.score); pass != nil {
				score = indicator(*pass)
			}
		}
		panel[o] = score
		switch {
		case math.IsNaN(score):
		case math.IsNaN(label):
			l.rest = append(l.rest, score)
		default:
			l.people, l.panel = append(l.people, label), append(l.panel, score)
			people[o] = label
		}
	}
	l.clusters = t.byCluster(people)
	l.effect = max(1, t.effect(people), t.effect(panel))
	return l
}

// effect is the design effect of values by output; 1 if no item has two.
func (t *table) effect(values []float64) float64 {
	clusters := t.byCluster(values)
	for _, cluster := range clusters {
		if len(cluster) > 1 {
			if e := stats.ClusteredMean(clusters).DesignEffect; e != nil {
				return *e
			}
			break
		}
	}
	return 1
}

// roganGladen is [stats.RoganGladen] with the two parts of its variance: of all outputs, and of labels.
func (l *labelled) roganGladen() (e stats.Estimate, unlabelled, byLabels float64) {
	var counts stats.Labels
	passed := 0
	for i, label := range l.people {
		passed += int(l.panel[i])
		if label == 1 {
			counts.Positives++
			counts.TruePositives += int(l.panel[i])
		} else {
			counts.Negatives++
			counts.TrueNegatives += 1 - int(l.panel[i])
		}
	}
	for _, score := range l.rest {
		passed += int(score)
	}
	n := len(l.people) + len(l.rest)
	e = stats.RoganGladen(passed, n, counts, alpha)
	theta, ok := e.Get()
	if !ok {
		return e, 0, 0
	}
	p, m1, m0 := float64(passed)/float64(n), float64(counts.Positives), float64(counts.Negatives)
	q1, q0 := float64(counts.TruePositives)/m1, float64(counts.TrueNegatives)/m0
	informed := (q0 + q1 - 1) * (q0 + q1 - 1)
	return e, p * (1 - p) / float64(n) / informed, ((1-theta)*(1-theta)*q0*(1-q0)/m0 + theta*theta*q1*(1-q1)/m1) / informed
}

// ppi is [stats.PPI] with the two parts of its variance.
func (l *labelled) ppi() (e stats.Estimate, unlabelled, byLabels float64) {
	e, lambda := stats.PPI(l.people, l.panel, l.rest, alpha)
	if e.Value.Value == nil {
		return e, 0, 0
	}
	*e.Value.Value = max(0, min(1, *e.Value.Value))
	off := make([]float64, len(l.people))
	for i := range off {
		off[i] = l.people[i] - lambda*l.panel[i]
	}
	return e, lambda * lambda * stat.Variance(l.rest, nil) / float64(len(l.rest)), stat.Variance(off, nil) / float64(len(off))
}

// widen makes the interval wider about the value, within [0, 1].
func widen(e *stats.Estimate, by float64) {
	value, ok := e.Get()
	if !ok || e.CI == nil {
		return
	}
	e.CI = &stats.Interval{max(0, value-(value-e.CI[0])*by), min(1, value+(e.CI[1]-value)*by)}
}

// toHalve is how many more labels than n make the interval half as wide, if the part of the variance that comes from labels falls with
// their number. Labels of all outputs that are left need no correction, so that their mean has its own variance. Nil if that is not enough.
func toHalve(n, left int, unlabelled, byLabels, ofLabel float64) *int {
	goal := (unlabelled + byLabels) / 4
	if byLabels > 0 && goal > unlabelled {
		if more := math.Ceil(float64(n)*byLabels/(goal-unlabelled)) - float64(n); more < float64(left) {
			needed := int(more)
			return &needed
		}
	}
	if ofLabel/float64(n+left) <= goal {
		return &left
	}
	return nil
}
