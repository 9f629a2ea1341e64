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

// Part is one of the figures that a rank is made of, from 0 to 1.
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
)

// Weights of the parts in a rank. Where a part is not known, the others make up for it in proportion.
var Weights = map[Part]float64{
	Recency: .22, Spike: .18, Impact: .18, Severity: .15, Novelty: .12, Lift: .10, Waste: .05,
}

// Half-lives of what has been seen last, and first.
const (
	recencyHalf = 24 * time.Hour
	noveltyHalf = 72 * time.Hour
)

// severities of the classes of failures.
var severities = map[string]float64{
	runmodel.FailureError: 1, runmodel.FailureTimeout: 1, runmodel.FailureCancelled: .75, runmodel.FailureUnrecovered: .75,
}

// manyUsers is how many users are as many as can be.
const manyUsers = 1000

// facts are what a window says of a group.
type facts struct {
	group     *runs.FailureGroup
	now       time.Time
	firstSeen time.Time
	// isNew: it was first seen in the newest of several releases.
	isNew bool
	// agentRuns are the runs of the group's agent in the window.
	agentRuns uint64
	// namesUsers tells that the project's runs name users.
	namesUsers bool
	// projectCost is what all runs of the window cost, nil where unknown.
	projectCost *float64
}

// parts are the figures of a group, all but lift; those that nothing is known of are missing.
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
		parts[Impact] = .5*min(1, math.Log1p(float64(g.Users))/math.Log1p(manyUsers)) + .5*rate
	}
	if g.CostUSD != nil && f.projectCost != nil && *f.projectCost > 0 {
		parts[Waste] = min(1, math.Log1p(*g.CostUSD)/math.Log1p(*f.projectCost))
	}
	return parts
}

// rankOf is the weighted mean of the parts that are known.
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
	return sum / weights
}

// order in which parts are added up, so that a sum is the same to the last bit.
var order = []Part{Recency, Spike, Impact, Severity, Novelty, Lift, Waste}

func half(age, halfLife time.Duration) float64 {
	return math.Exp2(-max(0, float64(age)) / float64(halfLife))
}

// spike is how likely fewer than `now` runs are in six hours, by the rate of the seven days before, which are 28 times six
// hours: the tail of a Gamma-Poisson prediction, negative binomial with r = before + 1/2 and p = 28/29. Under three
// runs are no spike.
func spike(now, before uint64) float64 {
	const fewest, windows = 3, float64(runs.SpikeBefore / runs.SpikeNow)
	if now < fewest {
		return 0
	}
	// P(X <= k) of a negative binomial is the regularised incomplete beta function I_p(r, k+1).
	return mathext.RegIncBeta(float64(before)+.5, float64(now), windows/(windows+1))
}

// wilsonLower is the lower end of the Wilson interval of a share at 95% (Wilson 1927).
func wilsonLower(k, n float64) float64 {
	const z = 1.959963984540054
	if n <= 0 {
		return 0
	}
	k = min(k, n)
	p := k / n
	return max(0, (p+z*z/(2*n)-z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n)))/(1+z*z/n))
}

// Contrast is an attribute that failing runs of a group have more often than other runs of their agent.
type Contrast struct {
	Name, Value string
	// Of the group's runs, and of the agent's other runs, those that have it.
	With, Runs             uint64
	OthersWith, OthersRuns uint64
	// Ochiai is With / sqrt(Runs * (With + OthersWith)): 1 where all runs of the group have it and no other does.
	Ochiai float64
}

// contrasts are the attributes in which a group differs from its agent's other runs, the most telling first.
func contrasts(g *runs.FailureGroup, agentRuns uint64, own []runs.AttributeCount, agents map[runs.AttributeCount]uint64) []Contrast {
	others := agentRuns - min(agentRuns, g.Runs)
	var list []Contrast
	for _, a := range own {
		all := agents[runs.AttributeCount{Of: g.AgentName, Name: a.Name, Value: a.Value}]
		c := Contrast{Name: a.Name, Value: a.Value, With: min(a.Runs, g.Runs), Runs: g.Runs, OthersRuns: others}
		c.OthersWith = min(all-min(all, a.Runs), others)
		if others == 0 || float64(c.With)*float64(others) <= float64(c.OthersWith)*float64(c.Runs) {
			continue // others have it as often
		}
		c.Ochiai = float64(c.With) / math.Sqrt(float64(c.Runs)*float64(c.With+c.OthersWith))
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b Contrast) int {
		return cmp.Or(cmp.Compare(b.Ochiai, a.Ochiai), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value))
	})
	return list
}
