package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/controlplane/stats"
)

// firstAttributable is the first position at which treatments decide otherwise than controls. Benjamini and Hochberg's correction is over
// the positions that could be significant.
func (t *trial) firstAttributable() *Place {
	p := make([]float64, len(t.Steps))
	tests := map[string]stats.Energy{} // many positions have the same counts
	for at, step := range t.Steps {
		a, b := step.known(t.controls), step.known(t.treatments)
		p[at] = math.NaN()
		if len(a) == 0 || len(b) == 0 {
			continue
		}
		key := counts(a, b)
		e, ok := tests[key]
		if !ok {
			g := sameOrNot(slices.Concat(a, b), len(a))
			e = stats.EnergyTest(g.Distances, g.First, trials{t}.seed(7))
			tests[key] = e
		}
		if e.P.Value != nil && (e.Least == nil || *e.Least <= t.Alpha) {
			p[at] = *e.P.Value
		}
	}
	for at, q := range stats.BenjaminiHochberg(p) {
		if q <= t.Alpha { // not if it is NaN
			return &Place{at, t.Steps[at].ID, t.Steps[at].Name}
		}
	}
	return nil
}

// known are the sorted signatures of attempts.
func (s Step) known(places []int) (signatures []string) {
	for _, i := range places {
		if s.Signatures[i+1] != "" {
			signatures = append(signatures, s.Signatures[i+1])
		}
	}
	slices.SortFunc(signatures, cmp.Compare[string])
	return signatures
}

// counts lists how often each signature stands in both groups, without the signatures.
func counts(a, b []string) string {
	pairs := map[string][2]int{}
	for _, x := range a {
		pairs[x] = [2]int{pairs[x][0] + 1, pairs[x][1]}
	}
	for _, x := range b {
		pairs[x] = [2]int{pairs[x][0], pairs[x][1] + 1}
	}
	list := make([]string, 0, len(pairs))
	for _, pair := range pairs {
		list = append(list, fmt.Sprint(pair))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// sameOrNot has the distance 0 for equal signatures and 1 for others.
func sameOrNot(signatures []string, first int) stats.DistanceGroups {
	g := stats.DistanceGroups{Distances: make([][]float64, len(signatures)), First: first}
	for i, x := range signatures {
		g.Distances[i] = make([]float64, len(signatures))
		for j, y := range signatures {
			if x != y {
				g.Distances[i][j] = 1
			}
		}
	}
	return g
}

// alike reports whether all attempts of a role made the same decisions, and which.
func (t *trial) alike(places []int) (decisions string, ok bool) {
	for _, i := range places {
		own := t.Attempts[i].Decisions
		if own == "" || decisions != "" && own != decisions {
			return "", false
		}
		decisions = own
	}
	return decisions, decisions != ""
}

// stepsInside reports whether at no step the share of runs that decide something changed by delta or more, with the confidence 1-alpha: each
// interval at 1-2 alpha is within delta. Since all must be, no correction is needed (Berger 1982). Distances alone can miss a change of one
// step among others that vary.
func (ts trials) stepsInside() bool {
	for _, t := range ts {
		for _, step := range t.Steps {
			a, b := step.known(t.controls), step.known(t.treatments)
			if (len(a) == 0) != (len(b) == 0) {
				return false
			}
			with := map[string][2]int{}
			for _, x := range a {
				with[x] = [2]int{with[x][0] + 1, with[x][1]}
			}
			for _, x := range b {
				with[x] = [2]int{with[x][0], with[x][1] + 1}
			}
			for _, n := range with {
				ci := stats.NewcombeDifference(n[0], len(a), n[1], len(b), 2*t.Alpha)
				if ci == nil || ci[0] <= -t.Delta || ci[1] >= t.Delta {
					return false
				}
			}
		}
	}
	return true
}
