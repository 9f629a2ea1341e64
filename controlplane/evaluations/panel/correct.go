package panel

import (
	"math"

	"gonum.org/v1/gonum/stat"

	"github.com/looptrace/looptrace/controlplane/stats"
)

// fewDrawn is the number of labelled items below which they correct no mean: its interval would hardly be narrower than the scale.
const fewDrawn = 20

// correct sets the mean score that labels give, how many of them count, and how many more are needed. It goes by item: a label of one of its
// outputs stands for the item, whose repeats are as good.
func (t *table) correct(r *LabelsResult, p people) {
	if !t.scored() || len(t.Drawn) == 0 {
		r.Corrected = without(stats.NotApplicable, 0)
		return
	}
	if t.grouped {
		r.Corrected = without(Grouped, 0)
		return
	}
	labels, judged := t.drawn(p)
	c := stats.PPI(labels, judged, 0, 1)
	r.Drawn, r.DrawnOf = c.Labels, c.Items
	if c.Labels < fewDrawn && c.Labels < c.Items {
		flag := NeedsLabels
		if r.Outputs >= fewDrawn {
			flag = NotDrawn
		}
		r.Corrected = without(flag, c.Labels)
		r.LabelsNeeded = new(min(fewDrawn, c.Items) - c.Labels)
		return
	}
	e := stats.Estimate{Value: c.Value, CI: c.Interval(alpha)}
	if c.Labels == c.Items {
		e.Flag = AllLabelled
	} else {
		r.LabelsNeeded = toHalve(&c, stat.Variance(labels[:c.Labels], nil))
	}
	r.Corrected = figure(e, c.Labels)
}

// drawn returns what people and the panel say of each item with a score, from 0 to 1, in the order in which they are to be labelled.
func (t *table) drawn(p people) (labels, judged []float64) {
	outputs := map[int][]int{}
	for o, output := range t.Outputs {
		outputs[output.Item] = append(outputs[output.Item], o)
	}
	for _, item := range t.Drawn {
		label := math.NaN()
		var scores []float64
		for _, o := range outputs[item] {
			if value := t.binaryScore(t.final[o].score); !math.IsNaN(value) {
				scores = append(scores, value)
				if math.IsNaN(label) {
					label = t.said(p.rows[o])
				}
			}
		}
		if len(scores) > 0 {
			labels, judged = append(labels, label), append(judged, stat.Mean(scores, nil))
		}
	}
	return labels, judged
}

// said is the mean of what people say of an output, from 0 to 1; half for a tie.
func (t *table) said(row []float64) float64 {
	var given []float64
	for _, x := range row {
		if score := t.binaryScore(t.normalize(x)); !math.IsNaN(score) {
			given = append(given, score)
		}
	}
	if len(given) == 0 {
		return math.NaN()
	}
	return stat.Mean(given, nil)
}

// binaryScore is whether a score passes on a scale of passes and failures, half a pass neither; on others the score itself.
func (t *table) binaryScore(score float64) float64 {
	if !t.binary() || math.IsNaN(score) {
		return score
	}
	if pass := t.pass(score); pass != nil {
		return indicator(*pass)
	}
	return math.NaN()
}

// binary reports whether all values pass or fail, and are no more than that.
func (t *table) binary() bool {
	return t.Kind == Score && (t.Scale.Type == Binary || t.Scale.Type == Categorical)
}

// toHalve is how many more labels make the interval half as wide, if the part of the variance that comes from labels falls with
// their number. Labels of all items that are left need no correction, so that their mean has its own variance. Nil if that is not enough.
func toHalve(c *stats.Correction, ofLabel float64) *int {
	goal, left := (c.OfJudge+c.OfLabels)/4, c.Items-c.Labels
	if c.OfLabels > 0 && goal > c.OfJudge {
		if more := math.Ceil(float64(c.Labels)*c.OfLabels/(goal-c.OfJudge)) - float64(c.Labels); more < float64(left) {
			needed := int(more)
			return &needed
		}
	}
	if ofLabel/float64(c.Items) <= goal {
		return &left
	}
	return nil
}
