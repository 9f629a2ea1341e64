package statistics

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/looptrace/looptrace/controlplane/evaluations/panel"
	"github.com/looptrace/looptrace/controlplane/stats"
)

// judges vote on outputs of which a share is right. Each passes a share of what is right (sensitivity) and fails a share of what is not
// (specificity). Their mistakes share a part of the variance of a latent normal number.
type judges struct {
	right                    float64
	sensitivity, specificity []float64
	shared, missing          float64
}

// alike are judges with the same errors.
func alike(n int, right, sensitivity, specificity, shared float64) judges {
	return judges{right: right, sensitivity: slices.Repeat([]float64{sensitivity}, n), specificity: slices.Repeat([]float64{specificity}, n), shared: shared}
}

// votes are 1 for a pass, 0 for a fail, and NaN for one that is missing; truth is 1 where a pass is right.
func (j judges) votes(random *rand.Rand) (votes []float64, truth float64) {
	if random.Float64() < j.right {
		truth = 1
	}
	common := random.NormFloat64()
	for i := range j.sensitivity {
		passes := j.sensitivity[i]
		if truth == 0 {
			passes = 1 - j.specificity[i]
		}
		vote := 0.
		if math.Sqrt(j.shared)*common+math.Sqrt(1-j.shared)*random.NormFloat64() < distuv.UnitNormal.Quantile(passes) {
			vote = 1
		}
		if random.Float64() < j.missing {
			vote = math.NaN()
		}
		votes = append(votes, vote)
	}
	return votes, truth
}

func (j judges) rows(random *rand.Rand, outputs int) [][]float64 {
	rows := make([][]float64, outputs)
	for i := range rows {
		rows[i], _ = j.votes(random)
	}
	return rows
}

// mostlyBest are grades of three judges, of which nearly all are 5.
func mostlyBest(random *rand.Rand, outputs int) [][]float64 {
	rows := make([][]float64, outputs)
	for i := range rows {
		item := 1.2 + .8*random.NormFloat64()
		for range 3 {
			rows[i] = append(rows[i], grade(item+.5*random.NormFloat64()))
		}
	}
	return rows
}

// TestAlpha counts how many 95% intervals of alpha have the value of very many outputs inside, and how many data sets have none, since
// all votes are equal. Few outputs of 97% that pass, or of a lenient judge, decide alpha.
func TestAlpha(t *testing.T) {
	table := newTable("coverage of 95% intervals of alpha in %", "outputs", "coverage", "without an interval")
	missing := alike(3, .8, .92, .8, .6)
	missing.missing = .1
	for _, c := range []struct {
		name  string
		scale stats.Scale
		rows  func(random *rand.Rand, outputs int) [][]float64
	}{
		{"80% pass, independent errors", stats.NominalScale, alike(3, .8, .92, .8, 0).rows},
		{"80% pass, shared errors, 10% missing", stats.NominalScale, missing.rows},
		{"80% pass, one lenient judge", stats.NominalScale, judges{.8, []float64{.92, .92, .99}, []float64{.8, .8, .3}, .3, 0}.rows},
		{"80% pass, copies of a lenient judge", stats.NominalScale, alike(3, .8, .97, .6, .95).rows},
		{"90% pass, two judges", stats.NominalScale, alike(2, .9, .95, .8, 0).rows},
		{"97% pass", stats.NominalScale, alike(3, .97, .98, .7, .3).rows},
		{"98% pass, five judges", stats.NominalScale, alike(5, .98, .99, .6, .3).rows},
		{"votes by chance, two judges", stats.NominalScale, alike(2, .8, .8, .2, 0).rows},
		{"grades 1-5", stats.OrdinalScale, func(random *rand.Rand, outputs int) [][]float64 { return gradesOf(random, outputs, 3) }},
		{"grades 1-5, mostly 5", stats.OrdinalScale, mostlyBest},
	} {
		truth := *stats.KrippendorffInterval(c.rows(rand.New(rand.NewPCG(1, 1)), 200_000), c.scale, stats.BootstrapOptions{}).Value.Value
		for _, n := range sizes(0) {
			name := fmt.Sprintf("%s, %d outputs", c.name, n)
			shares := share(t, "alpha, "+name, func(random *rand.Rand) []bool {
				e := stats.KrippendorffInterval(c.rows(random, n), c.scale, stats.BootstrapOptions{})
				return []bool{covers(e.CI, truth), e.CI == nil, e.CI == nil && e.Value.Value != nil}
			})
			coverage := shares[0] / (1 - shares[1])
			table.add(c.name, n, coverage, shares[1])
			assert.GreaterOrEqual(t, coverage, .93-slack(.93), name)
			if n == 500 {
				assert.LessOrEqual(t, coverage, .97+slack(.97), name)
			}
			assert.Zero(t, shares[2], "%s: only votes that are all equal have none", name)
		}
	}
	table.print()
}

// besidePeople is a panel of one judge with labels of all of its outputs.
func (j judges) besidePeople(random *rand.Rand, outputs int) panel.Input {
	in := panel.Input{
		Name: "quality", Kind: panel.Score, Scale: panel.Scale{Type: panel.Binary}, Aggregate: panel.Majority, Seed: 1,
		Judges: []panel.Judge{{Name: "judge"}},
	}
	for o := range outputs {
		votes, truth := j.votes(random)
		in.Outputs = append(in.Outputs, panel.Output{Item: o, Length: math.NaN()})
		in.Votes = append(in.Votes, panel.Vote{Output: int32(o), Value: votes[0], Cost: math.NaN(), Duration: math.NaN()})
		in.Labels = append(in.Labels, panel.Label{Output: o, Value: truth})
	}
	return in
}

// TestLabelWords counts sentences about a panel beside labels of people that are false: those that say that it judges as people do, of
// one that is right on less than 80% of all outputs, of those that people pass or of those that they fail, or whose kappa is below .6; and
// those that say the contrary, of one that does reach 80%.
func TestLabelWords(t *testing.T) {
	table := newTable("sentences beside labels in %", "labels", "judges as people do", "false", "differs on what people fail or pass", "false")
	cases := []judges{
		alike(1, .95, .985, .2, 0), alike(1, .7, .95, .79, 0), alike(1, .95, .955, .81, 0), alike(1, .7, .95, .92, 0),
		alike(1, .6, .97, .4, 0), alike(1, .7, .81, .81, 0),
	}
	labels := []int{100, 300}
	if !full() {
		cases, labels = cases[:4], []int{100}
	}
	for _, c := range cases {
		base, sensitivity, specificity := c.right, c.sensitivity[0], c.specificity[0]
		right, passed := base*sensitivity+(1-base)*specificity, base*sensitivity+(1-base)*(1-specificity)
		chance := base*passed + (1-base)*(1-passed)
		kappa := (right - chance) / (1 - chance)
		good := right >= .8 && sensitivity >= .8 && specificity >= .8
		for _, n := range labels {
			name := fmt.Sprintf("%.0f%% pass, sensitivity %.3g, specificity %.2g, kappa %.2f", 100*base, sensitivity, specificity, kappa)
			shares := share(t, fmt.Sprint("words, ", name, n), func(random *rand.Rand) []bool {
				s, _, err := panel.Measure(c.besidePeople(random, n))
				if err != nil {
					return []bool{false, false, false, false}
				}
				same := strings.Contains(s.Labels.Sentence, "it judges as people do.")
				differs, _, found := strings.Cut(s.Labels.Sentence, "; read the outputs")
				passes, fails := found && strings.Contains(differs, "that people fail"), found && strings.Contains(differs, "that people pass")
				often := strings.Contains(differs, "it often judges as people do not")
				wrong := passes && specificity >= .8 || fails && sensitivity >= .8 || often && right >= .8
				return []bool{same, same && !(good && kappa >= .6), found, wrong}
			})
			table.add(name, n, shares...)
			assert.LessOrEqual(t, shares[1], .05+slack(.05), "%s, %d labels: as people do", name, n)
			assert.LessOrEqual(t, shares[3], .05+slack(.05), "%s, %d labels: differs", name, n)
		}
	}
	table.print()
}
