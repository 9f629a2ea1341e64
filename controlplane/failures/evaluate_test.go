package failures

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"

	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// mode is a failure mode that is planted in generated traffic.
type mode struct {
	agent, tool, errorType string
	message                func(r *rand.Rand) string
	// path of steps between the root and the tool.
	path []string
}

// modes have messages with ids, numbers, addresses and quoted values that differ in each run. Some modes differ only in the tool, the
// type, the status, the agent or the path.
var modes = []mode{
	{"support", "lookup_order", "KeyError", func(r *rand.Rand) string { return fmt.Sprintf("'order_%d'", r.IntN(1e6)) }, nil},
	{"support", "refund", "KeyError", func(r *rand.Rand) string { return fmt.Sprintf("'order_%d'", r.IntN(1e6)) }, nil},
	{"support", "refund", "HTTPError", func(r *rand.Rand) string {
		return fmt.Sprintf("HTTP 503 from https://pay.example.com/v1/refunds/%d after %dms", r.IntN(1e6), r.IntN(3000))
	}, nil},
	{"support", "refund", "HTTPError", func(r *rand.Rand) string {
		return fmt.Sprintf("HTTP 429 from https://pay.example.com/v1/refunds/%d after %dms", r.IntN(1e6), r.IntN(3000))
	}, nil},
	{"support", "chat", "RateLimitError", func(r *rand.Rand) string {
		return fmt.Sprintf("Error code: 429 - Rate limit reached for org-%x on tokens per min: limit %d, used %d", r.Uint64(), r.IntN(1e5), r.IntN(1e5))
	}, nil},
	{"research", "chat", "RateLimitError", func(r *rand.Rand) string {
		return fmt.Sprintf("Error code: 429 - Rate limit reached for org-%x on tokens per min: limit %d, used %d", r.Uint64(), r.IntN(1e5), r.IntN(1e5))
	}, nil},
	{"research", "fetch", "TimeoutError", func(r *rand.Rand) string {
		return fmt.Sprintf("request to 10.0.%d.%d:8080 timed out after %.1fs", r.IntN(255), r.IntN(255), r.Float64()*30)
	}, nil},
	{"research", "fetch", "TimeoutError", func(r *rand.Rand) string {
		return fmt.Sprintf("request to 10.0.%d.%d:8080 timed out after %.1fs", r.IntN(255), r.IntN(255), r.Float64()*30)
	}, []string{"second opinion"}},
	{"research", "parse", "ValidationError", func(r *rand.Rand) string {
		return fmt.Sprintf("%d validation errors for Report: field required at 2026-%02d-%02dT10:00:00Z", 1+r.IntN(9), 1+r.IntN(12), 1+r.IntN(28))
	}, nil},
	{"research", "parse", "JSONDecodeError", func(r *rand.Rand) string {
		return fmt.Sprintf("Expecting ',' delimiter: line %d column %d (char %d)", r.IntN(99), r.IntN(99), r.IntN(9999))
	}, []string{"plan"}},
	{"coder", "run_tests", "AssertionError", func(r *rand.Rand) string { return fmt.Sprintf("expected %d but got %d", r.IntN(99), r.IntN(99)) }, []string{"edit", "verify"}},
	{"coder", "apply_patch", "FileNotFoundError", func(r *rand.Rand) string {
		return fmt.Sprintf("[Errno 2] No such file or directory: '/tmp/%s/main.go'", uuid.UUID{byte(r.IntN(255)), byte(r.IntN(255)), 9})
	}, []string{"edit"}},
}

// failedRun is a run that failed in a mode. Everything that differs between runs comes from random.
func failedRun(m mode, random *rand.Rand, start time.Time) []runmodel.Span {
	var id uuid.UUID
	for i := range id {
		id[i] = byte(random.Uint32())
	}
	names := append(append([]string{m.agent}, m.path...), m.tool)
	spans := make([]runmodel.Span, len(names))
	for i, name := range names {
		spans[i] = runmodel.Span{
			ProjectID: uuid.Max, RunID: id, SpanID: random.Uint64() | 1, Version: 1, Name: name, Status: "error", Kind: "task",
			StartTime: start.Add(time.Duration(i) * time.Millisecond), EndTime: start.Add(time.Second),
		}
		if i > 0 {
			spans[i].ParentSpanID = spans[i-1].SpanID
		}
	}
	spans[0].Kind, spans[0].AgentName = "agent", m.agent
	last := &spans[len(spans)-1]
	last.Kind, last.ErrorType, last.ErrorMessage = "tool", m.errorType, m.message(random)
	return spans
}

// TestGroupingOfPlantedFailures prints how well fingerprints recover planted failure modes.
// docs/measurements/failed-runs.md has the figures.
func TestGroupingOfPlantedFailures(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	random := rand.New(rand.NewPCG(1, 1))
	truth, found := []int{}, []string{}
	for i := range 3000 {
		m := random.IntN(len(modes))
		run := runmodel.Totals(failedRun(modes[m], random, start.Add(time.Duration(i)*time.Minute)))
		truth, found = append(truth, m), append(found, run.Fingerprint)
	}
	f1, ari, groups := agreement(truth, found)
	t.Logf("3000 failed runs of %d planted modes: %d groups, pairwise F1 %.3f, adjusted Rand index %.3f", len(modes), groups, f1, ari)
	assert.GreaterOrEqual(t, f1, .95)
	assert.GreaterOrEqual(t, ari, .95)

	// The same runs with other ids, times and numbers keep the fingerprint of their mode.
	stable := 0
	for m := range modes {
		seen := map[string]bool{}
		for seed := range 200 {
			r := rand.New(rand.NewPCG(uint64(seed), uint64(m)))
			seen[runmodel.Totals(failedRun(modes[m], r, start.Add(time.Duration(seed)*time.Hour))).Fingerprint] = true
		}
		if len(seen) == 1 {
			stable++
		} else {
			t.Logf("mode %d has %d fingerprints", m, len(seen))
		}
	}
	t.Logf("modes with one fingerprint over 200 runs with other ids, times and numbers: %d of %d", stable, len(modes))
	assert.Equal(t, len(modes), stable)
}

// agreement of two groupings: F1 over pairs, and the adjusted Rand index (Hubert and Arabie 1985).
func agreement(truth []int, found []string) (f1, ari float64, groups int) {
	pairs := func(n float64) float64 { return n * (n - 1) / 2 }
	both, inTruth, inFound := map[string]float64{}, map[int]float64{}, map[string]float64{}
	for i := range truth {
		both[fmt.Sprint(truth[i], " ", found[i])]++
		inTruth[truth[i]]++
		inFound[found[i]]++
	}
	var together, a, b float64
	for _, n := range both {
		together += pairs(n)
	}
	for _, n := range inTruth {
		a += pairs(n)
	}
	for _, n := range inFound {
		b += pairs(n)
	}
	expected := a * b / pairs(float64(len(truth)))
	return 2 * together / (a + b), (together - expected) / ((a+b)/2 - expected), len(inFound)
}

// TestRankingOfPlantedImpact prints how well ranks order groups of known impact: the runs and users of the last day, and whether the
// failures end the run.
func TestRankingOfPlantedImpact(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 8, 0, 0, 0, 0, time.UTC)
	sum, byCount, trials := 0., 0., 200
	without := map[Part]float64{}
	for trial := range trials {
		random := rand.New(rand.NewPCG(7, uint64(trial)))
		var groups []Group
		gains := map[string]float64{}
		counted := map[string]float64{}
		for i := range 30 {
			perDay := math.Exp(random.Float64()*5) - 1 // runs a day while it lasts
			age := random.Float64() * 7                // days since it ended
			if random.IntN(2) == 0 {
				age = random.Float64() / 12
			}
			lasted := random.Float64() * (7 - min(age, 6.9))
			g := runs.FailureGroup{
				Fingerprint: fmt.Sprintf("g%02d", i), AgentName: "a", Peers: "a", Runs: uint64(perDay*lasted) + 1, Class: runmodel.FailureError,
				Last: now.Add(-time.Duration(age * 24 * float64(time.Hour))),
			}
			g.First = g.Last.Add(-time.Duration(lasted * 24 * float64(time.Hour)))
			g.Users = g.Runs/2 + 1
			if random.IntN(3) == 0 {
				g.Class = runmodel.FailureUnrecovered
			}
			if age < .25 {
				g.Now = uint64(perDay * min(lasted, .25-age))
			}
			g.Before = g.Runs - min(g.Runs, g.Now)
			f := facts{group: &g, now: now, firstSeen: g.First, agentRuns: 20_000, namesUsers: true}
			parts := f.parts()
			groups = append(groups, Group{FailureGroup: g, Parts: parts, Rank: rankOf(parts)})
			// The impact of leaving it alone: the users that it affects a day if it continues.
			stillOn := math.Exp2(-age)
			gains[g.Fingerprint] = math.Log2(1 + stillOn*perDay*severities[g.Class])
			counted[g.Fingerprint] = float64(g.Runs)
		}
		sortGroups(groups)
		sum += ndcg(fingerprintsOf(groups), gains)
		for _, part := range order {
			for i := range groups {
				rest := maps.Clone(groups[i].Parts)
				delete(rest, part)
				groups[i].Rank = rankOf(rest)
			}
			sortGroups(groups)
			without[part] += ndcg(fingerprintsOf(groups), gains)
		}
		for i := range groups {
			groups[i].Rank = counted[groups[i].Fingerprint]
		}
		sortGroups(groups)
		byCount += ndcg(fingerprintsOf(groups), gains)
	}
	t.Logf("NDCG@10 against planted impact, mean of %d: by rank %.3f, by count alone %.3f", trials, sum/float64(trials), byCount/float64(trials))
	for _, part := range []Part{Recency, Spike, Impact, Severity, Novelty} { // the others are not planted
		t.Logf("without %s %.3f", part, without[part]/float64(trials))
	}
	assert.Greater(t, sum/float64(trials), .8)
}

func ndcg(order []string, gains map[string]float64) float64 {
	const k = 10
	var best []float64
	for _, gain := range gains {
		best = append(best, gain)
	}
	for i := range best {
		for j := i + 1; j < len(best); j++ {
			if best[j] > best[i] {
				best[i], best[j] = best[j], best[i]
			}
		}
	}
	got, ideal := 0., 0.
	for i := range min(k, len(order)) {
		got += gains[order[i]] / math.Log2(float64(i)+2)
		ideal += best[i] / math.Log2(float64(i)+2)
	}
	return got / ideal
}

func TestParts(t *testing.T) {
	t.Parallel()
	// Negative binomial with r = 0.5, p = 28/29: P(X < 3) by its terms.
	r, p, sum := .5, 28./29, 0.
	for k := range 3 {
		a, _ := math.Lgamma(float64(k) + r)
		b, _ := math.Lgamma(r)
		c, _ := math.Lgamma(float64(k) + 1)
		sum += math.Exp(a-b-c) * math.Pow(p, r) * math.Pow(1-p, float64(k))
	}
	assert.InDelta(t, sum, spike(3, 0), 1e-12)
	assert.Zero(t, spike(2, 0))
	assert.Less(t, spike(3, 84), .7, "three in six hours are what 84 a week are")
	assert.Greater(t, spike(30, 84), .999999)
	// The golden interval of 18 of 20 begins at .69897.
	assert.InDelta(t, .69897, wilsonLower(18, 20), 1e-5)
	assert.Zero(t, wilsonLower(0, 30))
	assert.InDelta(t, .5, half(24*time.Hour, recencyHalf), 1e-12)
	total := 0.
	for _, w := range Weights {
		total += w
	}
	assert.InDelta(t, 1, total, 1e-12)
	assert.InDelta(t, 1, rankOf(map[Part]float64{Recency: 1, Severity: 1}), 1e-12, "what is not known counts for nothing")
}

func TestContrasts(t *testing.T) {
	t.Parallel()
	g := &runs.FailureGroup{Fingerprint: "f", AgentName: "a", Peers: "a", Runs: 10}
	agents := map[runs.AttributeCount]uint64{
		{Of: "a", Name: "release", Value: "2"}: 20, {Of: "a", Name: "model", Value: "m"}: 1000, {Of: "a", Name: "tag", Value: "rare"}: 2,
	}
	list := contrasts(g, 1000, []runs.AttributeCount{
		{Name: "release", Value: "2", Runs: 10}, {Name: "model", Value: "m", Runs: 10}, {Name: "tag", Value: "rare", Runs: 2},
	}, agents)
	assert.Equal(t, []Contrast{
		{Name: "release", Value: "2", With: 10, Runs: 10, OthersWith: 10, OthersRuns: 990, Ochiai: 10 / math.Sqrt(10*20)},
		{Name: "tag", Value: "rare", With: 2, Runs: 10, OthersWith: 0, OthersRuns: 990, Ochiai: 2 / math.Sqrt(10*2)},
	}, list)
	assert.Empty(t, contrasts(g, 10, []runs.AttributeCount{{Name: "release", Value: "2", Runs: 10}}, agents), "there is nothing to compare with")
}
