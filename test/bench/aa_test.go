package bench

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/test/product"
	"github.com/looptrace/looptrace/test/provider"
)

const (
	// aaItems are those of each pair, aaAtOnce how many pairs are under way.
	aaItems, aaAtOnce = 50, 4
	// steady answers always, and flaky fails in 3% of calls.
	steady, flaky = "gpt-4o", "gpt-4o-mini"
)

// equals answers both sides alike: with random words, after random times that grow and shrink with the load.
func equals(begin time.Time) func(*provider.Request) *provider.Reply {
	return func(q *provider.Request) *provider.Reply {
		number, err := strconv.Atoi(strings.TrimPrefix(q.Last(), "number "))
		if err != nil {
			return nil
		}
		if q.Model == flaky && rand.Float64() < .03 {
			return &provider.Reply{Error: &provider.Error{Status: 400, Type: "invalid_request_error", Message: "The input could not be read."}}
		}
		load := 1 + 4*math.Pow(math.Sin(time.Since(begin).Seconds()/10), 2)
		reply := &provider.Reply{Text: "I do not know", FirstToken: time.Duration(load * 4e6 * math.Exp(.6*rand.NormFloat64()))}
		if easy := .5 + .5*float64(number)/aaItems; rand.Float64() < easy {
			reply.Text = q.Last()
		}
		if rand.Float64() < .9 {
			reply.Text += " please"
		}
		reply.Text += strings.Repeat(" word", int(10*math.Exp(.7*rand.NormFloat64())))
		return reply
	}
}

// pair is what is said of a pair.
type pair struct {
	verdicts []string
	err      error
}

// TestAA compares equals, under a load that changes all the time: by comparisons, and by two eval-runs, of which one is compared with the
// other, and is asked of by gates. It counts pairs of which anything says that one side is better or worse: a verdict on any metric, a
// gate, or a failed case of a verdict in JUnit.
func TestAA(t *testing.T) {
	pairs, _ := strconv.Atoi(os.Getenv("BENCH_AA_PAIRS"))
	if pairs == 0 {
		t.Skip("see make bench-aa")
	}
	minutes, err := strconv.Atoi(os.Getenv("BENCH_AA_MINUTES"))
	require.NoError(t, err)
	load := loadAverage()
	up := product.Start(t)
	account, err := up.Setup(t.Context())
	require.NoError(t, err)
	key, err := account.Key(t.Context(), "bench", apikey.ScopeAdmin, apikey.ScopeDatasetsWrite, apikey.ScopeDatasetsRead, apikey.ScopeEvalsWrite, apikey.ScopeEvalsRead)
	require.NoError(t, err)
	begin := time.Now()
	b := &providerBench{t: t, up: up, server: provider.Start(t, provider.Options{Answer: equals(begin)}), key: key, project: account.ProjectID}
	b.connect()
	dataset := b.numbers("numbers", aaItems)
	found := make([]*pair, pairs)
	var group sync.WaitGroup
	for worker := range aaAtOnce {
		group.Go(func() {
			for i := worker; i < pairs && time.Since(begin) < time.Duration(minutes)*time.Minute; i += aaAtOnce {
				one := &pair{}
				if i/aaAtOnce%2 == 0 {
					one.err = b.aaComparison(one, dataset, i)
				} else {
					one.err = b.aaEvalRuns(one, dataset, i)
				}
				found[i] = one
			}
		})
	}
	group.Wait()
	made, said := [2]int{}, [2]int{}
	kinds := map[string]int{}
	for i, one := range found {
		if one == nil {
			continue
		}
		require.NoError(t, one.err)
		way := i / aaAtOnce % 2
		made[way]++
		if len(one.verdicts) > 0 {
			said[way]++
			fmt.Printf("pair %d: %s\n", i, strings.Join(one.verdicts, "; "))
		}
		for _, v := range one.verdicts {
			kinds[v]++
		}
	}
	n := float64(made[0] + made[1])
	all := float64(said[0] + said[1])
	fmt.Printf("load before the start %s; %.0f pairs in %.0f s\n", load, n, time.Since(begin).Seconds())
	fmt.Printf("comparisons: %d of %d with a verdict; eval-runs: %d of %d; all: %.1f%%\n%v\n", said[0], made[0], said[1], made[1], 100*all/n, kinds)
	assert.LessOrEqual(t, all/n, .05+2*math.Sqrt(.05*.95/n))
}

const aaGraders = `"graders":[{"name":"right","type":"string_check","operation":"like","input":"{{sample.output_text}}","reference":"{{item.reference_output}}"},
	{"name":"polite","type":"string_check","operation":"like","input":"{{sample.output_text}}","reference":"please"}]`

// aaSide is the configuration of both sides. A third of the pairs has failures.
func (b *providerBench) aaSide(number int) string {
	model := steady
	if number%3 == 0 {
		model = flaky
	}
	return fmt.Sprintf(`{"provider_id":%q,"messages":[{"role":"user","content":"{{question}}"}],"model_config":{"model":%q}}`, b.connection, model)
}

func (b *providerBench) aaComparison(p *pair, dataset string, number int) error {
	side := b.aaSide(number)
	more := ""
	if number%5 == 0 {
		more = `"stop_early":true,`
	}
	path := "/v1/comparisons/" + b.create("/v1/comparisons", fmt.Sprintf(`{"project_id":%q,"dataset_id":%q,"a":%s,"b":%s,"primary_metric":"right",%s%s}`,
		b.project, dataset, side, side, more, aaGraders))
	return b.addVerdicts(p, path)
}

// aaEvalRuns makes two eval-runs one after the other, and compares them.
func (b *providerBench) aaEvalRuns(p *pair, dataset string, number int) error {
	var ids [2]string
	for i := range ids {
		ids[i] = b.create("/v1/eval-runs", fmt.Sprintf(`{"project_id":%q,"name":"run","dataset_id":%q,"target":{"config":%s},"primary_metric":"right",%s}`,
			b.project, dataset, b.aaSide(number), aaGraders))
		if _, err := b.summary("/v1/eval-runs/" + ids[i]); err != nil {
			return err
		}
	}
	path := "/v1/comparisons/" + b.create("/v1/comparisons", fmt.Sprintf(`{"project_id":%q,"dataset_id":%q,"a":{"eval_run_id":%q},"b":{"eval_run_id":%q},"primary_metric":"right"}`,
		b.project, dataset, ids[0], ids[1]))
	if err := b.addVerdicts(p, path); err != nil {
		return err
	}
	for metric, margin := range map[string]float64{"right": .05, "polite": .05, "failures": .05, "output_tokens": 2, "cost_usd": .00002} {
		answer := b.post(b.up.Ports.URL(product.Web)+"/v1/gates/_actions/check", b.key, fmt.Sprintf(`{"candidate":%q,"baseline":%q,"metric":%q,"margin":%g}`, ids[1], ids[0], metric, margin))
		var gate struct{ Decision, Sentence string }
		err := json.NewDecoder(answer.Body).Decode(&gate)
		if err := answer.Body.Close(); err != nil {
			return fmt.Errorf("check a gate: %w", err)
		}
		if err != nil {
			return fmt.Errorf("check a gate: %w", err)
		}
		if gate.Decision == "regression" {
			p.verdicts = append(p.verdicts, "gate on "+metric)
		}
	}
	return nil
}

// aaSummary is what is read of a summary.
type aaSummary struct {
	Sentence string
	Metrics  []struct{ Name, Verdict string }
}

// summary waits for a summary.
func (b *providerBench) summary(path string) (*aaSummary, error) {
	for ; ; time.Sleep(100 * time.Millisecond) {
		var answer struct {
			Status  string
			Summary *aaSummary
		}
		if err := json.Unmarshal(b.read(b.up.Ports.URL(product.Web)+path), &answer); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		switch {
		case answer.Summary != nil:
			return answer.Summary, nil
		case answer.Status == "failed":
			return nil, fmt.Errorf("%s failed", path)
		}
	}
}

// addVerdicts adds the verdicts of a comparison, and of its JUnit.
func (b *providerBench) addVerdicts(p *pair, path string) error {
	summary, err := b.summary(path)
	if err != nil {
		return err
	}
	for _, m := range summary.Metrics {
		if m.Verdict == "a_better" || m.Verdict == "b_better" {
			p.verdicts = append(p.verdicts, m.Name)
		}
	}
	if said := strings.Contains(summary.Sentence, " of B: ") || strings.Contains(summary.Sentence, " than A ("); said != (len(p.verdicts) > 0) {
		return fmt.Errorf("the sentence and the verdicts %v differ: %s", p.verdicts, summary.Sentence)
	}
	if junit := string(b.read(b.up.Ports.URL(product.Web) + path + "/report?format=junit")); strings.Contains(junit, "<failure") {
		p.verdicts = append(p.verdicts, "junit")
	}
	return nil
}
