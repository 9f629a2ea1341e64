package bench

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

// TestComparisons compares two configurations over BENCH_COMPARISON_ITEMS items, with calls of 200 ms, 50 at once, and reads the result.
// The limit beside it is the time in which a provider can answer them.
func TestComparisons(t *testing.T) {
	items, _ := strconv.Atoi(os.Getenv("BENCH_COMPARISON_ITEMS"))
	if items == 0 {
		t.Skip("see make bench-comparisons")
	}
	const each = 200 * time.Millisecond
	b := newEvaluationBench(t)
	dataset := b.numbers("numbers", items)
	side := func(model string) string {
		return fmt.Sprintf(`{"provider_id":%q,"messages":[{"role":"user","content":"{{question}}"}],"model_config":{"model":"%s@%s"}}`, b.connection, model, each)
	}
	path := b.evaluate("/v1/comparisons", fmt.Sprintf(`{"project_id":%q,"dataset_id":%q,"a":%s,"b":%s,
		"graders":[{"name":"same","type":"string_check","operation":"eq","input":"{{sample.output_text}}","reference":"{{item.reference_output}}"}]}`,
		b.project, dataset, side("text"), side("echo")), 2*items, each)
	b.reads(path, "", "/report", "/report?format=markdown&token_budget=20000", "/items?limit=50&outcome=improved", "/items?limit=50&offset="+strconv.Itoa(items-50), "/report?format=junit")
}
