package verdict

import (
	"fmt"
	"math"

	"github.com/looptrace/looptrace/controlplane/stats"
)

// match counts the controls that are like the recording, of those of which it is known.
type match struct{ matched, of int }

// reproducibility is gate G3: how often controls did what the recording did.
func (ts trials) reproducibility(exact bool) (r Reproducibility) {
	var bytes, decisions, outcomes match
	for _, t := range ts {
		for _, i := range t.controls {
			a := &t.Attempts[i]
			bytes.hash(a.Bytes, t.Recorded.Bytes)
			decisions.hash(a.Decisions, t.Recorded.Decisions)
			own, ok := number(a.Outcome)
			recorded, too := number(t.Recorded.Outcome)
			if ok && too {
				outcomes.count(math.Abs(own-recorded) <= 1e-9*max(1, math.Abs(own)))
			}
		}
	}
	class := Unstable
	switch {
	case exact:
		class = ExactByConstruction
	case bytes.of+decisions.of+outcomes.of == 0:
		return r
	case bytes.all():
		class = Stable
	case decisions.all():
		class = DecisionStable
	case outcomes.all():
		class = OutcomeStable
	}
	r.Class = &class
	return r
}

func (m *match) hash(a, b string) {
	if a != "" && b != "" {
		m.count(a == b)
	}
}

func (m *match) count(matched bool) {
	m.of++
	if matched {
		m.matched++
	}
}

func (m match) all() bool { return m.of > 0 && m.matched == m.of }

// Limits of drift (G4). That the recording is the farthest of few is chance in one of 6 cases with 5 controls, so that few must differ more:
// these limits flag at most 5% of agents that did not change, of those that TestSize makes.
const (
	driftRatio      = 1.5
	driftRatioOfFew = 3
	driftControls   = 5
	manyControls    = 10
)

// drift is gate G4: whether controls still reproduce the recording. In one run the recording must be farther from the controls than any of
// these is from the others and the recording; over many runs relabeling the recording among its controls must be significant.
func (ts trials) drift() (d DriftResult) {
	d.Changed = []string{}
	seen := map[string]bool{}
	for _, t := range ts {
		for _, c := range t.Changes {
			text := fmt.Sprintf("%s: %s, now %s", cut(c.What), quote(c.From), quote(c.To))
			if !seen[text] {
				seen[text] = true
				d.Changed = append(d.Changed, text)
			}
		}
	}
	d.Flag = len(d.Changed) > 0
	var strata []stats.DistanceGroups
	recorded, controls, most := 0., 0., 0
	for _, t := range ts {
		if t.Structure == nil || math.IsNaN(t.Structure[0][0]) {
			continue
		}
		places := []int{0}
		for _, i := range t.controls {
			if !math.IsNaN(t.Structure[i+1][i+1]) {
				places = append(places, i+1)
			}
		}
		g := pick(t.Structure, places, 1)
		means := g.Means()
		if means.Across.Value == nil || means.Second.Value == nil {
			continue
		}
		recorded += *means.Across.Value
		controls += *means.Second.Value
		most = max(most, len(places)-1)
		strata = append(strata, g)
	}
	if len(strata) == 0 || len(ts) == 1 && most < driftControls {
		return d
	}
	d.ratio = finite(recorded / controls)
	far := recorded > driftRatio*controls
	if len(strata) == 1 {
		rank := rankOfFirst(strata[0].Distances)
		far = far && rank <= 1/float64(most+1) && (most >= manyControls || recorded > driftRatioOfFew*controls)
	} else {
		p := stats.StratifiedEnergy(strata, ts.seed(6)).P.Value
		far = far && p != nil && *p <= ts.alpha()
	}
	d.Measured = &far
	d.Flag = d.Flag || far
	return d
}

// rankOfFirst is the share of members whose mean distance to all others is at least that of the first.
func rankOfFirst(distances [][]float64) float64 {
	count, first := 0, 0.
	for i, row := range distances {
		sum := 0.
		for _, d := range row {
			sum += d
		}
		if i == 0 {
			first = sum
		}
		if sum >= first*(1-1e-12) {
			count++
		}
	}
	return float64(count) / float64(len(distances))
}
