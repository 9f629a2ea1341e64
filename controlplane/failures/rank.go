package failures

import (
	"cmp"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/mathext"

	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// Part is one of the figures, from 0 to 1, that make up a rank.
type Part string

// Parts of a rank.
const (
	Recency  Part = "recency"
	Spike    Part = "spike"
	Impact   Part = "impact"
	Severity Part = "severity"
	Novelty  Part = "novelty"
	Lift     Part = "lift"
	Waste    Part = "waste"
	Writes   Part = "writes"
)

// Weights of the parts in a rank. If a part is unknown, the others weigh more in proportion.
var Weights = map[Part]float64{
	Recency: .20, Spike: .18, Impact: .18, Severity: .15, Novelty: .12, Lift: .10, Waste: .03, Writes: .04,
}

// Half-lives of recency and novelty.
const (
	recencyHalf = 24 * time.Hour
	noveltyHalf = 72 * time.Hour
)

// severities of the classes of failures.
var severities = map[string]float64{
	runmodel.FailureError: 1, runmodel.FailureTimeout: 1, runmodel.FailureCancelled: .75, runmodel.FailureUnrecovered: .75, runmodel.FailureScored: .75,
	runmodel.SignalRepeatedCall: .5, runmodel.SignalEmptyAnswer: .5, runmodel.SignalCutAnswer: .5, runmodel.SignalUnusedError: .5,
	runmodel.SignalSlow: .25, runmodel.SignalExpensive: .25, runmodel.SignalManyTokens: .25,
}

// maxUsers is the number of affected users from which on there cannot be a larger impact.
const maxUsers = 1000

// facts are what a window shows about a group.
type facts struct {
	group     *runs.FailureGroup
	now       time.Time
	firstSeen time.Time
	// isNew reports that it was first seen in the newest of several releases.
	isNew bool
	// agentRuns counts the runs of the group's agent in the window.
	agentRuns uint64
	// namesUsers reports that the project's runs name users.
	namesUsers bool
	// projectCost is the cost of all runs of the window, nil if unknown.
	projectCost *float64
}

// parts returns the parts of a group except lift. Unknown ones are missing.
func (f *facts) parts() map[Part]float64 {
	g := f.group
	parts := map[Part]float64{
		Recency:  half(f.now.Sub(g.Last), recencyHalf),
		Spike:    spike(g.Now, g.Before),
		Severity: severities[g.Class],
		Novelty:  half(f.now.Sub(f.firstSeen), noveltyHalf),
	}
	if f.isNew {
		parts[Novelty] = 1
	}
	rate := wilsonLower(float64(g.Runs), float64(f.agentRuns))
	parts[Impact] = rate
	if f.namesUsers {
		parts[Impact] = .5*min(1, math.Log1p(float64(g.Users))/math.Log1p(maxUsers)) + .5*rate
	}
	if g.CostUSD != nil && f.projectCost != nil && *f.projectCost > 0 {
		parts[Waste] = min(1, math.Log1p(*g.CostUSD)/math.Log1p(*f.projectCost))
	}
	if g.StepEffects != "" { // what a tool wrote wrongly is harder to take back than what it read
		parts[Writes] = 0
		if g.StepEffects == runmodel.EffectsWrite {
			parts[Writes] = 1
		}
	}
	return parts
}

// rankUnits are in a rank of 1: a cursor has a rank as a whole number of them.
const rankUnits = 1e9

// rankOf is the weighted mean of the known parts.
func rankOf(parts map[Part]float64) float64 {
	sum, weights := 0., 0.
	for _, part := range order {
		if value, ok := parts[part]; ok {
			sum += Weights[part] * value
			weights += Weights[part]
		}
	}
	if weights == 0 {
		return 0
	}
	return math.Round(sum/weights*rankUnits) / rankUnits
}

// order is that in which parts are added up, so that a sum is the same to the last bit.
var order = []Part{Recency, Spike, Impact, Severity, Novelty, Lift, Waste, Writes}

func half(age, halfLife time.Duration) float64 {
	return math.Exp2(-max(0, float64(age)) / float64(halfLife))
}

// spike is the probability of fewer than now runs in six hours, by the rate of the seven days before, which are 28 times six hours: the
// tail of a Gamma-Poisson prediction, negative binomial with r = before + 1/2 and p = 28/29. Fewer than three runs are no spike.
func spike(now, before uint64) float64 {
	const minRuns, windows = 3, float64(runs.SpikeBefore / runs.SpikeNow)
	if now < minRuns {
		return 0
	}
	// P(X <= k) of a negative binomial is the regularised incomplete beta function I_p(r, k+1).
	return mathext.RegIncBeta(float64(before)+.5, float64(now), windows/(windows+1))
}

// wilsonLower is the lower end of the Wilson interval of a proportion at 95% (Wilson 1927).
func wilsonLower(k, n float64) float64 {
	const z = 1.959963984540054
	if n <= 0 {
		return 0
	}
	k = min(k, n)
	p := k / n
	return max(0, (p+z*z/(2*n)-z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n)))/(1+z*z/n))
}

// Contrast is an attribute that the runs of a group have more often than other runs of their agent.
type Contrast struct {
	Name, Value string
	// With and OthersWith are how many of the group's runs, and of the agent's other runs, have it.
	With, Runs             uint64
	OthersWith, OthersRuns uint64
	// Ochiai is With / sqrt(Runs * (With + OthersWith)). It is 1 if all runs of the group have the attribute and no other does.
	Ochiai float64
}

// contrasts returns the attributes in which a group differs from its agent's other runs, the strongest first.
func contrasts(g *runs.FailureGroup, agentRuns uint64, own []runs.AttributeCount, agents map[runs.AttributeCount]uint64) []Contrast {
	others := agentRuns - min(agentRuns, g.Runs)
	var list []Contrast
	for _, a := range own {
		all := agents[runs.AttributeCount{Of: g.Peers, Name: a.Name, Value: a.Value}]
		c := Contrast{Name: a.Name, Value: a.Value, With: min(a.Runs, g.Runs), Runs: g.Runs, OthersRuns: others}
		c.OthersWith = min(all-min(all, a.Runs), others)
		if others == 0 || float64(c.With)*float64(others) <= float64(c.OthersWith)*float64(c.Runs) {
			continue // other runs have it as often
		}
		c.Ochiai = float64(c.With) / math.Sqrt(float64(c.Runs)*float64(c.With+c.OthersWith))
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b Contrast) int {
		return cmp.Or(cmp.Compare(b.Ochiai, a.Ochiai), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value))
	})
	return list
}
