package panel

import (
	"math"
	"time"

	"github.com/looptrace/looptrace/internal/stats"
)

// Anchors are outputs of an earlier eval-run that were judged again.
type Anchors struct {
	EvalRunID string
	// At is when they were judged first.
	At     time.Time
	Scores []Anchor
}

// Anchor has the scores of an output, from 0 to 1; NaN for none.
type Anchor struct {
	Item      int
	Then, Now float64
}

// AnchorsResult says whether the judges drifted.
type AnchorsResult struct {
	EvalRunID string `json:"eval_run_id"`
	Outputs   int    `json:"outputs"`
	// Missing counts those without a score then or now.
	Missing int `json:"missing"`
	// Then and Now are means over items with both; Difference is now less then.
	Then       stats.Side `json:"then"`
	Now        stats.Side `json:"now"`
	Difference Difference `json:"difference"`
	Sentence   string     `json:"sentence"`
}

// Difference is a paired difference of means over items.
type Difference struct {
	Estimate          *float64        `json:"estimate"`
	CI                *stats.Interval `json:"ci"`
	Confidence        float64         `json:"confidence"`
	P                 *float64        `json:"p"`
	PAdjusted         *float64        `json:"p_adjusted"`
	Test              stats.Test      `json:"test"`
	N                 int             `json:"n"`
	MinimumDetectable *float64        `json:"minimum_detectable"`
	Flags             []stats.Flag    `json:"flags"`
}

func difference(c stats.Comparison) Difference {
	d := c.Difference
	return Difference{
		Estimate: d.Estimate, CI: d.CI, Confidence: 1 - alpha, P: d.P, PAdjusted: d.PAdjusted, Test: d.Test, N: d.N,
		MinimumDetectable: d.MinimumDetectable, Flags: append([]stats.Flag{}, c.Flags...),
	}
}

func (a *Anchors) compare(seed uint64) *AnchorsResult {
	r := &AnchorsResult{EvalRunID: a.EvalRunID, Outputs: len(a.Scores)}
	places := map[int]int{}
	var items []stats.Paired
	for _, s := range a.Scores {
		if !(s.Then >= 0 && s.Then <= 1 && s.Now >= 0 && s.Now <= 1) { // or NaN
			r.Missing++
			continue
		}
		place, ok := places[s.Item]
		if !ok {
			place = len(items)
			places[s.Item] = place
			items = append(items, stats.Paired{})
		}
		items[place].A, items[place].B = append(items[place].A, s.Then), append(items[place].B, s.Now)
	}
	c := stats.Compare([]stats.Metric{{Better: stats.HigherBetter, Items: items}}, stats.CompareOptions{Seed: seed})[0]
	r.Then, r.Now, r.Difference = c.A, c.B, difference(c)
	r.Then.CI, r.Now.CI = within(r.Then.CI), within(r.Now.CI)
	r.Sentence = a.sentence(r)
	return r
}

// enoughAnchors is the number of anchors below which no drift of a size that matters can be told.
const enoughAnchors = 6

func (a *Anchors) sentence(r *AnchorsResult) string {
	on, same := a.At.UTC().Format("2 Jan 2006"), plural(r.Outputs-r.Missing, "output")
	d := r.Difference
	if d.Estimate == nil {
		return "No output has a score of " + on + " and one of now: nothing can be said about drift. Judge more anchors."
	}
	of := "by " + points(math.Abs(*d.Estimate))
	if d.CI != nil {
		low, high := d.CI[0], d.CI[1]
		if *d.Estimate < 0 {
			low, high = -high, -low
		}
		of += " " + pointInterval(low, high)
	}
	shown := d.CI != nil && !d.CI.Contains(0) && d.P != nil && *d.P <= alpha
	switch {
	case *d.Estimate == 0 && d.CI != nil:
		return "The judges give the same " + same + " the same mean score as on " + on + " (difference " + pointInterval(d.CI[0], d.CI[1]) + " points)."
	case d.N < enoughAnchors:
		return "The same " + same + " have a mean score that differs " + of + " from " + on + ": too few to say whether the judges drifted. Judge 20 anchors or more."
	case shown && *d.Estimate < 0:
		return "The judges are stricter than on " + on + " " + of + " on the same " + same + ": do not compare scores across that date."
	case shown:
		return "The judges are milder than on " + on + " " + of + " on the same " + same + ": do not compare scores across that date."
	}
	return "No drift is shown since " + on + ": the mean score of the same " + same + " differs " + of + ", which could be chance."
}
