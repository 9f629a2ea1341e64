package results_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/report"
	"github.com/looptrace/looptrace/controlplane/evaluations/results"
	"github.com/looptrace/looptrace/controlplane/evaluations/wording"
	"github.com/looptrace/looptrace/controlplane/stats/compare"
)

// simulated is how many results of each kind are drawn: 2000 with BENCH_STATISTICS, else 300 of the kinds that take little time.
func simulated() int {
	if os.Getenv("BENCH_STATISTICS") != "" {
		return 2000
	}
	return 300
}

// world has results of two sides with known differences.
type world struct {
	name string
	// items and repeats are those of each side; size is how many items belong together, 0 for none.
	items, repeats, size int
	draw                 func(random *rand.Rand, repeats int) (a, b []float64)
	// shift is the standard deviation of what B adds to the chances of a group's items.
	shift float64
	// difference is that of the score B less A, with failed outputs as 0.
	difference float64
	// fails is the share of outputs that fail by chance; evades that of the wrong outputs of a side that fail instead.
	fails  float64
	evades [2]float64
	// dearer is what B's cost, duration and tokens are multiplied with, less 1; more what is added, in parts of the mean.
	dearer, more float64
	// failsMore is the share of outputs that fail on B only.
	failsMore float64
	early     bool
	margin    *float64
	slow      bool
}

// passes are scores of one latent number for each output, of which the item explains a part.
func passes(mean, difference, item float64) func(*rand.Rand, int) (a, b []float64) {
	ends := [2]float64{distuv.UnitNormal.Quantile(mean), distuv.UnitNormal.Quantile(mean + difference)}
	return func(random *rand.Rand, repeats int) (a, b []float64) {
		common := math.Sqrt(item) * random.NormFloat64()
		pass := func(end float64) float64 {
			return indicator(common+math.Sqrt(1-item)*random.NormFloat64() < end)
		}
		for range repeats {
			a, b = append(a, pass(ends[evaluations.SideA])), append(b, pass(ends[evaluations.SideB]))
		}
		return a, b
	}
}

func indicator(ok bool) float64 {
	if ok {
		return 1
	}
	return 0
}

// breaking are passes of items that mostly pass always or never. B is worse, as some items fail for good.
func breaking(mean, difference float64) func(*rand.Rand, int) (a, b []float64) {
	return func(random *rand.Rand, repeats int) (a, b []float64) {
		p := distuv.Beta{Alpha: mean, Beta: 1 - mean, Src: random}.Rand()
		q := p
		if random.Float64() < -difference/mean {
			q = 0
		}
		for range repeats {
			a, b = append(a, indicator(random.Float64() < p)), append(b, indicator(random.Float64() < q))
		}
		return a, b
	}
}

// partial are scores of which most are exactly 1. B is worse, as some items get 0.
func partial(ones, difference float64) func(*rand.Rand, int) (a, b []float64) {
	mean := 1 - (1-ones)/4
	return func(random *rand.Rand, repeats int) (a, b []float64) {
		hard, lost := random.Float64() > ones, random.Float64() < -difference/mean
		score := func() float64 {
			if hard && random.Float64() < .5 {
				return random.Float64()
			}
			return 1
		}
		for range repeats {
			a, b = append(a, score()), append(b, score()*indicator(!lost))
		}
		return a, b
	}
}

// primaryName and secondName are the scores: the second one has no difference.
const primaryName, secondName = "correct", "polite"

// rows draws the outputs, and the group of each item.
func (w *world) rows(random *rand.Rand) (rows []results.OutputRow, groups []int) {
	groups = make([]int, w.items)
	shift := 0.
	for i := range w.items {
		if w.size > 0 {
			groups[i] = 1 + i/w.size
			if i%w.size == 0 {
				shift = w.shift * random.NormFloat64()
			}
		}
		scores := [2][]float64{}
		scores[evaluations.SideA], scores[evaluations.SideB] = w.draw(random, w.repeats)
		length := .5 * random.NormFloat64()
		for side := range scores {
			for repeat, score := range scores[side] {
				if side == evaluations.SideB && random.Float64() < math.Abs(shift) {
					score = indicator(shift > 0)
				}
				row := results.OutputRow{Number: int32(i + 1), Side: side, Repeat: repeat, Status: evaluations.OutputOK, Scores: "[]"}
				if random.Float64() < w.fails || side == evaluations.SideB && random.Float64() < w.failsMore || score < .5 && random.Float64() < w.evades[side] {
					row.Status, row.ErrorCode = evaluations.OutputFailed, new("timeout")
				} else {
					second := indicator(random.Float64() < .9)
					text, _ := json.Marshal([]evaluations.Score{{Name: primaryName, Value: &score}, {Name: secondName, Value: &second}})
					row.Scores = string(text)
					row.CostNanousd, row.DurationMS, row.OutputTokens = w.amounts(random, side, length)
				}
				rows = append(rows, row)
			}
		}
	}
	return rows, groups
}

// amounts are log-normal numbers with means of $0.002, 2 s and 400 tokens.
func (w *world) amounts(random *rand.Rand, side int, length float64) (cost *int64, duration *float64, tokens *int64) {
	of := func(mean float64) float64 {
		x := mean * math.Exp(length+.5*random.NormFloat64()-.25)
		if side == evaluations.SideB {
			x = x*(1+w.dearer) + w.more*mean
		}
		return x
	}
	return new(int64(of(2e6))), new(of(2000)), new(int64(of(400)))
}

// graded has the names of the scores, as an evaluation's configuration has.
const graded = `{"graders":[{"name":"` + primaryName + `"},{"name":"` + secondName + `"}]}`

// compare draws a comparison, and summarizes it.
func (w *world) compare(t *testing.T, random *rand.Rand) *evaluations.Evaluation {
	t.Helper()
	config := evaluations.Config{EquivalenceMargin: w.margin, StopEarly: w.early, Sides: [2]evaluations.Side{{Name: "old", Repeats: w.repeats}, {Name: "new", Repeats: w.repeats}}}
	e := evaluations.Evaluation{
		Kind: evaluations.Comparison, Name: "simulated", DatasetName: "simulated", ItemCount: int64(w.items), Seed: int64(random.Uint32()), Config: graded, PrimaryMetric: new(primaryName),
		OutputsTotal: int64(2 * w.repeats * w.items),
	}
	rows, groups := w.rows(random)
	var stopped *float64
	for _, p := range results.Parts(&e, &config) {
		if p.Share == 1 || stopped != nil {
			continue
		}
		made := slices.Clone(rows[:2*w.repeats*int(p.Last)])
		decided, err := results.Of(t, &e, &config, made, groups).Decided(p.Last)
		require.NoError(t, err)
		if decided {
			stopped, rows = &p.Share, made
		}
	}
	r := results.Of(t, &e, &config, rows, groups)
	require.NoError(t, r.Summarize(stopped))
	text, err := json.Marshal(r.Summary)
	require.NoError(t, err)
	e.Summary = new(string(text))
	return &e
}

// What sentences say. A number has a sign of Unicode.
var (
	figure      = `([+−]?[\d.]+)`
	difference  = figure + `( points| USD| ms|)(?: \[` + figure + `, ` + figure + `\])?(?:, p (=|<) ([\d.]+))?`
	saysBetter  = regexp.MustCompile(`B \(new\) is (better|worse) than A \(old\) on (\w+): ` + difference)
	saysEqual   = regexp.MustCompile(`A and B are equivalent on (\w+), within ` + figure + ` points: ` + difference)
	saysAmount  = regexp.MustCompile(`(Cost|Duration|Output tokens|Failures) of B: ` + difference)
	saysUnknown = regexp.MustCompile(`Whether B differs from A on (\w+) cannot be told: ` + difference)
	saysLost    = regexp.MustCompile(`(\d+) of (\d+) items ha(?:s|ve) no score on a side`)
	saysPending = regexp.MustCompile(`(\d+) of \d+ items (?:is|are) not done`)
	saysPass    = regexp.MustCompile(`^Pass: (\w+) is not worse than the baseline by more than ` + figure + `(?: points| USD|): ` + difference)
	saysWorse   = regexp.MustCompile(`^Regression: (\w+) is worse than the baseline by more than ` + figure + `(?: points| USD|): ` + difference)
	saysOpen    = regexp.MustCompile(`^Inconclusive: whether (\w+) is worse than the baseline by more than ` + figure + `(?: points| USD|) cannot be told: ` + difference)
)

// amountNames are what sentences call metrics.
var amountNames = map[string]string{"Cost": evaluations.MetricCost, "Duration": "duration_ms", "Output tokens": "output_tokens", "Failures": evaluations.MetricFailures}

func numberOf(t *testing.T, text string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(strings.Replace(text, "−", "-", 1), 64)
	require.NoError(t, err, text)
	return x
}

// rounds checks that a text is a number that was rounded to its digits, at least to one after the point.
func rounds(t *testing.T, sentence, text string, x float64) {
	t.Helper()
	_, after, _ := strings.Cut(text, ".")
	last := math.Pow10(-len(after))
	assert.InDelta(t, x, numberOf(t, text), last*.5000001, "%s in %q", text, sentence)
	assert.True(t, len(after) > 0 || math.Abs(x) >= 99.95 || x == 0, "%s in %q", text, sentence)
	assert.Equal(t, x > 1e-9, strings.HasPrefix(text, "+"), "the sign of %s in %q", text, sentence)
}

// agrees checks that the figures after a claim are those of the table, and do not contradict the claim.
func agrees(t *testing.T, sentence string, found []string, d *results.Difference, scale float64, claimed bool) {
	t.Helper()
	rounds(t, sentence, found[0], *d.Estimate*scale)
	require.Equal(t, d.CI != nil, found[2] != "", sentence)
	if d.CI == nil {
		return
	}
	rounds(t, sentence, found[2], d.CI[0]*scale)
	rounds(t, sentence, found[3], d.CI[1]*scale)
	estimate, low, high := numberOf(t, found[0]), numberOf(t, found[2]), numberOf(t, found[3])
	assert.True(t, low <= estimate && estimate <= high, sentence)
	small := false
	if found[4] != "" {
		p := numberOf(t, found[5])
		small = p <= evaluations.Level
		assert.InDelta(t, *d.PAdjusted, p, max(.001, .051**d.PAdjusted), sentence)
	}
	if claimed {
		assert.False(t, low <= 0 && 0 <= high, "a claim beside an interval with 0: %q", sentence)
		assert.True(t, found[4] == "" || small, "a claim beside a large p: %q", sentence)
	}
}

// claims count what a sentence says: what is false, and whether it decides. alsoFalse is what is false of another truth, or of equivalence,
// which has a level of its own.
type claims struct{ falseOnes, alsoFalse, decided int }

// check reads the sentence of a comparison.
func (w *world) check(t *testing.T, e *evaluations.Evaluation) (c claims) {
	t.Helper()
	summary, err := results.ReadSummary(e)
	require.NoError(t, err)
	sentence := summary.Sentence
	metrics := map[string]*results.MetricSummary{}
	verdicts := 0
	for i := range summary.Metrics {
		m := &summary.Metrics[i]
		metrics[m.Name] = m
		if m.Verdict == compare.ABetter || m.Verdict == compare.BBetter {
			verdicts++
		}
	}
	truth := map[string]float64{primaryName: w.difference}
	for _, name := range []string{evaluations.MetricCost, "duration_ms", "output_tokens"} {
		truth[name] = w.dearer + w.more // in parts of A's mean
	}
	truth[evaluations.MetricFailures] = w.failsMore - w.evades[evaluations.SideA] + w.evades[evaluations.SideB]
	said := 0
	for _, found := range saysBetter.FindAllStringSubmatch(sentence, -1) {
		m := metrics[found[2]]
		agrees(t, sentence, found[3:], &m.Difference, 100, true)
		wrong := truth[m.Name] >= 0
		if found[1] == "better" {
			wrong = truth[m.Name] <= 0
		}
		c.falseOnes += int(indicator(wrong))
		said++
	}
	for _, found := range saysAmount.FindAllStringSubmatch(sentence, -1) {
		m := metrics[amountNames[found[1]]]
		agrees(t, sentence, found[2:], &m.Difference, wording.UnitOf(m.Kind).Scale, true)
		c.falseOnes += int(indicator(truth[m.Name]*numberOf(t, found[2]) <= 0))
		said++
	}
	assert.Equal(t, verdicts, said, "each verdict is said: %q", sentence)
	for _, found := range saysEqual.FindAllStringSubmatch(sentence, -1) {
		require.Equal(t, compare.Equivalent, metrics[found[1]].Verdict)
		assert.InDelta(t, *w.margin*100, numberOf(t, found[2]), 1e-9, sentence)
		agrees(t, sentence, found[3:], &metrics[found[1]].Difference, 100, false)
		within := numberOf(t, found[5]) >= -numberOf(t, found[2]) && numberOf(t, found[6]) <= numberOf(t, found[2])
		assert.True(t, within || strings.Contains(sentence, "The interval that decides is that of"), sentence)
		c.alsoFalse += int(indicator(math.Abs(truth[found[1]]) >= *w.margin))
		c.decided++
	}
	for _, found := range saysUnknown.FindAllStringSubmatch(sentence, -1) {
		m := metrics[found[1]]
		agrees(t, sentence, found[2:], &m.Difference, 100, false)
		if m.Difference.CI != nil && !m.Difference.CI.Contains(0) {
			small := numberOf(t, found[7]) <= evaluations.Level
			assert.True(t, !small || m.IntentionToTreat != nil, "nothing says why it cannot be told: %q", sentence)
			assert.Equal(t, !small, strings.Contains(sentence, "leaves out 0, but p decides"), sentence)
		}
	}
	if found := saysLost.FindStringSubmatch(sentence); found != nil {
		missing := numberOf(t, found[1])
		if pending := saysPending.FindStringSubmatch(sentence); pending != nil {
			missing += numberOf(t, pending[1])
		}
		assert.InDelta(t, w.items-metrics[primaryName].Difference.N, missing, 0, sentence)
	}
	if primary := metrics[primaryName]; primary.Verdict == compare.ABetter || primary.Verdict == compare.BBetter {
		c.decided++
	}
	assert.NotContains(t, sentence, "e-", "a number without an exponent")
	return c
}

// draws counts over results.
func draws(t *testing.T, name string, one func(random *rand.Rand) claims) (all claims) {
	t.Helper()
	n := simulated()
	answers := make([]claims, n)
	seed := uint64(0)
	for _, c := range []byte(name) {
		seed = seed*31 + uint64(c)
	}
	var group sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for worker := range workers {
		group.Go(func() {
			for i := worker; i < n && !t.Failed(); i += workers {
				answers[i] = one(rand.New(rand.NewPCG(uint64(i), seed)))
			}
		})
	}
	group.Wait()
	for _, c := range answers {
		all.falseOnes += min(1, c.falseOnes) // a sentence is false once
		all.alsoFalse += min(1, c.alsoFalse)
		all.decided += min(1, c.decided)
	}
	return all
}

// atMost is the number of results of which the given share is false, and two standard errors.
func atMost(share float64) int {
	n := float64(simulated())
	return int(n*share + 2*math.Sqrt(n*share*(1-share)))
}

// TestSentences counts sentences of comparisons that say what is false: at most 5%, and two standard errors.
func TestSentences(t *testing.T) {
	t.Parallel()
	margin := .05
	worlds := []world{
		{name: "passes, no difference", items: 60, repeats: 1, draw: passes(.8, 0, .4)},
		{name: "passes of 95%, no difference", items: 50, repeats: 1, draw: passes(.95, 0, .4), slow: true},
		{name: "passes, 3 repeats, no difference", items: 50, repeats: 3, draw: breaking(.8, 0)},
		{name: "partial credit, no difference", items: 50, repeats: 1, draw: partial(.7, 0), slow: true},
		{name: "failed by chance, no difference", items: 60, repeats: 1, draw: passes(.8, 0, .4), fails: .1, slow: true},
		{name: "failed by chance, 3 repeats, no difference", items: 50, repeats: 3, draw: breaking(.8, 0), fails: .1, slow: true},
		{name: "B fails where it is wrong", items: 100, repeats: 1, draw: passes(.7, 0, .4), evades: [2]float64{0, .4}},
		{name: "A fails where it is wrong, 3 repeats", items: 50, repeats: 3, draw: breaking(.7, 0), evades: [2]float64{.4, 0}, slow: true},
		{name: "10 groups, no difference", items: 100, repeats: 1, draw: passes(.5, 0, .4), size: 10, shift: .15, slow: true},
		{name: "10 groups, 3 repeats, no difference", items: 50, repeats: 3, draw: passes(.5, 0, .4), size: 5, shift: .15, slow: true},
		{name: "early looks, no difference", items: 40, repeats: 1, draw: passes(.8, 0, .4), early: true},
		{name: "early looks, failed by chance, 2 repeats", items: 40, repeats: 2, draw: breaking(.8, 0), fails: .1, early: true, slow: true},
		{name: "early looks, B worse by 15", items: 60, repeats: 1, draw: passes(.8, -.15, .4), difference: -.15, early: true, slow: true},
		{name: "B worse by 10", items: 60, repeats: 1, draw: passes(.8, -.1, .4), difference: -.1, slow: true},
		{name: "B breaks 5%, margin of 5", items: 60, repeats: 3, draw: breaking(.9, -.05), difference: -.05, margin: &margin, slow: true},
		{name: "passes, worse by the margin", items: 150, repeats: 1, draw: passes(.9, -.05, .4), difference: -.05, margin: &margin, slow: true},
		{name: "partial credit, worse by the margin", items: 100, repeats: 1, draw: partial(.9, -.05), difference: -.05, margin: &margin, slow: true},
		{name: "equal, with a margin", items: 150, repeats: 2, draw: passes(.95, 0, .8), margin: &margin, slow: true},
		{name: "B costs a fifth more", items: 60, repeats: 1, draw: passes(.8, 0, .4), dearer: .2, slow: true},
		{name: "B costs as much more on each item", items: 60, repeats: 1, draw: passes(.8, 0, .4), more: .2},
		{name: "B fails more", items: 60, repeats: 1, draw: passes(.8, 0, .4), failsMore: .15, difference: -.12, slow: true},
	}
	for i := range worlds {
		w := &worlds[i]
		if w.slow && simulated() < 2000 {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			c := draws(t, w.name, func(random *rand.Rand) claims { return w.check(t, w.compare(t, random)) })
			n := float64(simulated())
			t.Logf("| %s | %.1f | %.1f | %.1f |", w.name, 100*float64(c.falseOnes)/n, 100*float64(c.alsoFalse)/n, 100*float64(c.decided)/n)
			assert.LessOrEqual(t, c.falseOnes, atMost(.05))
			assert.LessOrEqual(t, c.alsoFalse, atMost(.05), "equivalence")
		})
	}
}

// gateOf decides on A as the baseline and B as the candidate, by outputs up to a repeat.
func (w *world) gateOf(t *testing.T, rows []results.OutputRow, groups []int, name string, repeats int, margin float64, repeated bool) (*report.Gate, *results.Metric) {
	t.Helper()
	var sides [2]*results.EvalRun
	for side := range sides {
		e := evaluations.Evaluation{Kind: evaluations.EvalRun, ItemCount: int64(len(groups)), Repeats: repeats, Config: graded, PrimaryMetric: new(primaryName), OutputsTotal: int64(repeats * len(groups))}
		var own []results.OutputRow
		for i := range rows {
			if row := rows[i]; row.Side == side && row.Repeat < repeats {
				row.Side = evaluations.SideA
				own = append(own, row)
			}
		}
		sides[side] = &results.EvalRun{Evaluation: e, Results: results.Of(t, &e, &evaluations.Config{}, own, groups)}
	}
	m, ok := sides[evaluations.SideA].Metric(name)
	require.True(t, ok, name)
	g, err := report.Decide(sides[evaluations.SideB], sides[evaluations.SideA], m, &margin, repeated)
	require.NoError(t, err)
	return g, m
}

// checkGate reads the sentence of a gate. worse is by how much the candidate is worse, in the metric's unit.
func checkGate(t *testing.T, g *report.Gate, m *results.Metric, margin, worse float64) (c claims) {
	t.Helper()
	u := wording.UnitOf(m.Kind)
	for decision, says := range map[report.Decision]*regexp.Regexp{report.Pass: saysPass, report.Regression: saysWorse, report.Inconclusive: saysOpen} {
		found := says.FindStringSubmatch(g.Sentence)
		require.Equal(t, g.Decision == decision, found != nil, g.Sentence)
		if found == nil || g.Difference.Estimate == nil {
			continue
		}
		assert.Equal(t, m.Name, found[1])
		shown := numberOf(t, found[2])
		assert.InDelta(t, margin*u.Scale, shown, 1e-9*shown, g.Sentence)
		agrees(t, g.Sentence, found[3:], &g.Difference, u.Scale, false)
		if found[5] == "" {
			continue
		}
		worst, best := numberOf(t, found[5]), numberOf(t, found[6])
		if m.Better == evaluations.Lower {
			worst, best = -best, -worst
		}
		assert.False(t, decision == report.Pass && worst < -shown || decision == report.Regression && best > -shown, g.Sentence)
	}
	assert.NotContains(t, g.Sentence, "e-", "a number without an exponent")
	c.decided = int(indicator(g.Decision == report.Pass || g.Decision == report.Regression))
	c.falseOnes = int(indicator(g.Decision == report.Pass && worse >= margin))
	c.alsoFalse = int(indicator(g.Decision == report.Regression && worse <= margin))
	return c
}

// TestGateSentences counts sentences of gates that say what is false. Where the candidate is worse by the margin, a pass is false if it is
// the least bit worse, and a regression if it is not: no truth makes both false. Each is meant to be 2.5%, and at most 4% where few items
// differ, as shares have steps.
func TestGateSentences(t *testing.T) {
	t.Parallel()
	const a, b = .15 * .7978845608028654, .45 // of the groups' shifts: E|N(0, .15)|, and B's mean
	for _, g := range []struct {
		world
		metric        string
		margin, worse float64
		looks         []int
	}{
		{world{name: "passes, worse by the margin", items: 100, repeats: 1, draw: passes(.85, -.05, .4)}, primaryName, .05, .05, nil},
		{world{name: "passes, worse by the margin, 500 items", items: 500, repeats: 1, draw: passes(.85, -.05, .4), slow: true}, primaryName, .05, .05, nil},
		{world{name: "passes, 1.25 points", items: 200, repeats: 1, draw: passes(.9, 0, .4), slow: true}, primaryName, .0125, 0, nil},
		{world{name: "3 repeats, items break by the margin", items: 100, repeats: 3, draw: breaking(.9, -.05)}, primaryName, .05, .05, nil},
		{world{name: "10 repeats, items break by the margin", items: 50, repeats: 10, draw: breaking(.95, -.1), slow: true}, primaryName, .1, .1, nil},
		{world{name: "partial credit, worse by the margin", items: 100, repeats: 1, draw: partial(.9, -.05), slow: true}, primaryName, .05, .05, nil},
		{world{name: "10 groups, worse by the margin", items: 100, repeats: 1, draw: passes(.5, b-.5, .4), size: 10, shift: .15, slow: true}, primaryName, .5 - (1-a)*b - a/2, .5 - (1-a)*b - a/2, nil},
		{world{name: "cost, worse by the margin", items: 100, repeats: 1, draw: passes(.9, 0, .4), dearer: .2}, evaluations.MetricCost, .0004, .0004, nil},
		{world{name: "tokens, 3 repeats, worse by the margin", items: 60, repeats: 3, draw: passes(.9, 0, .4), dearer: .2, slow: true}, "output_tokens", 80, 80, nil},
		{world{name: "failures, worse by the margin", items: 100, repeats: 1, draw: passes(.9, 0, .4), failsMore: .1, slow: true}, evaluations.MetricFailures, .1, .1, nil},
		{world{name: "the candidate fails where it is wrong", items: 100, repeats: 1, draw: passes(.7, 0, .4), evades: [2]float64{0, .4}, slow: true}, primaryName, .01, 0, nil},
		{world{name: "the baseline fails where it is wrong", items: 200, repeats: 1, draw: passes(.7, 0, .4), evades: [2]float64{.4, 0}}, primaryName, .01, 0, nil},
		{world{name: "the baseline fails where it is wrong, 3 repeats", items: 200, repeats: 3, draw: passes(.7, 0, .4), evades: [2]float64{.4, 0}, slow: true}, primaryName, 0, 0, nil},
		{world{name: "asked after 1, 2, 4 and 8 repeats, items break by the margin", items: 50, repeats: 8, draw: breaking(.9, -.1), slow: true}, primaryName, .1, .1, []int{1, 2, 4, 8}},
	} {
		if g.slow && simulated() < 2000 {
			continue
		}
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			c := draws(t, "gate, "+g.name, func(random *rand.Rand) (c claims) {
				rows, groups := g.rows(random)
				looks := g.looks
				if looks == nil {
					looks = []int{g.repeats}
				}
				for _, repeats := range looks {
					decided, m := g.gateOf(t, rows, groups, g.metric, repeats, g.margin, len(looks) > 1)
					one := checkGate(t, decided, m, g.margin, g.worse)
					c.falseOnes += one.falseOnes
					c.alsoFalse += one.alsoFalse
					c.decided += one.decided
				}
				return c
			})
			n := float64(simulated())
			t.Logf("| %s | %.1f | %.1f |", g.name, 100*float64(c.falseOnes)/n, 100*float64(c.alsoFalse)/n)
			assert.LessOrEqual(t, c.falseOnes, atMost(.04))
			assert.LessOrEqual(t, c.alsoFalse, atMost(.04))
		})
	}
}

// TestDetectable: where sentences name a difference that so many items would show in 8 of 10 comparisons, they show it about as often.
func TestDetectable(t *testing.T) {
	if simulated() < 2000 {
		t.Skip("it takes minutes: see make bench-stats")
	}
	t.Parallel()
	says := regexp.MustCompile(`would show a true difference of ` + figure + ` points in 8 of 10 comparisons`)
	w := world{name: "detectable", items: 100, repeats: 1, draw: passes(.8, 0, .4)}
	var named []float64
	random := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		summary, err := results.ReadSummary(w.compare(t, random))
		require.NoError(t, err)
		if found := says.FindStringSubmatch(summary.Sentence); found != nil {
			named = append(named, numberOf(t, found[1])/100)
		}
	}
	slices.Sort(named)
	w.difference = -named[len(named)/2]
	w.draw = passes(.8, w.difference, .4)
	c := draws(t, w.name, func(random *rand.Rand) claims { return w.check(t, w.compare(t, random)) })
	shown := float64(c.decided) / float64(simulated())
	t.Logf("a difference of %.1f points is shown in %.1f%%", -100*w.difference, 100*shown)
	assert.InDelta(t, .8, shown, .06)
}
