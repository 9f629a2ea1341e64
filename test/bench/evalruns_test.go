package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestEvalRuns lets five judges cast BENCH_JUDGEMENTS votes, with calls of 200 ms, 50 at once. Then it judges as many items with each of them,
// with calls that take no time, and reads the result.
func TestEvalRuns(t *testing.T) {
	votes, _ := strconv.Atoi(os.Getenv("BENCH_JUDGEMENTS"))
	if votes == 0 {
		t.Skip("see make bench-eval-runs")
	}
	const judges, each = 5, 200 * time.Millisecond
	b := newEvaluationBench(t)
	b.judge(votes/judges, judges, each)
	url := b.judge(votes, judges, 0)
	b.reads(url, "", "/report", "/report?format=markdown&token_budget=20000", "/items?limit=50&split=right", "/items?limit=50&offset="+strconv.Itoa(votes-50),
		"/report?format=junit", "/export?format=csv")
}

// judge judges the reference outputs of a new dataset, and returns the URL of the eval-run.
func (b *providerBench) judge(items, judges int, each time.Duration) (url string) {
	list := make([]string, judges)
	for i := range list {
		list[i] = fmt.Sprintf(`{"name":"judge %d","provider_id":%q,"model_config":{"model":"pass-%d@%s"},"rubric":"Is it right?","scale":{"type":"binary"}}`, i+1, b.connection, 90-10*i, each)
	}
	dataset := b.numbers(fmt.Sprintf("%d numbers", items), items)
	return b.evaluate("/v1/eval-runs", fmt.Sprintf(`{"project_id":%q,"name":"judged","dataset_id":%q,"target":{"outputs":"reference"},"panels":[{"name":"right","judges":[%s]}]}`,
		b.project, dataset, strings.Join(list, ",")), items*judges, each)
}
