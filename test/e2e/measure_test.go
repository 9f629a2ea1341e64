package e2e

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestBrowserFigures measures how soon long runs can be read, beside the limits that the product promises. It fails on
// no figure.
func TestBrowserFigures(t *testing.T) {
	if os.Getenv("BENCH_BROWSER") == "" {
		t.Skip("`make bench-browser` measures")
	}
	p := newProduct(t)
	limits := map[int]time.Duration{10_000: 1500 * time.Millisecond, 100_000: 5 * time.Second}
	var runs []map[string]any
	for _, spans := range []int{10_000, 100_000} {
		id := p.sendLongRun(t, spans)
		runs = append(runs, map[string]any{"id": id, "spans": spans})
	}
	store := p.product.ClickHouse(t)
	last := uint64(0)
	require.Eventually(t, func() bool { // the store has merged its parts
		before := last
		var merges uint64
		err := store.QueryRow(t.Context(), "SELECT count(), (SELECT count() FROM system.merges WHERE database = currentDatabase()) FROM system.parts WHERE active AND database = currentDatabase()").Scan(&last, &merges)
		return assert.NoError(t, err) && merges == 0 && last == before
	}, 2*time.Minute, 2*time.Second)
	var figures []struct {
		Spans              int     `json:"spans"`
		OpenMs             float64 `json:"openMs"`
		LongestOpening     float64 `json:"longestOpening"`
		LongTasksScrolling int     `json:"longTasksScrolling"`
		LongestScrolling   float64 `json:"longestScrolling"`
	}
	p.play(t, "measure", map[string]any{"runs": runs, "rounds": 5}, &figures)
	load, _ := os.ReadFile("/proc/loadavg") // only Linux has it
	fmt.Printf("\n%d cores, load %s", runtime.NumCPU(), load)
	fmt.Printf("%8s  %12s  %12s  %8s  %14s  %16s  %14s\n",
		"spans", "readable, ms", "slowest, ms", "of limit", "opening, ms", "tasks over 50 ms", "scrolling, ms")
	for _, spans := range []int{10_000, 100_000} {
		var open []float64
		opening, scrolling, tasks := 0., 0., 0
		for _, f := range figures {
			if f.Spans != spans {
				continue
			}
			open = append(open, f.OpenMs)
			opening, scrolling, tasks = max(opening, f.LongestOpening), max(scrolling, f.LongestScrolling), tasks+f.LongTasksScrolling
		}
		slices.Sort(open)
		median := open[len(open)/2]
		fmt.Printf("%8d  %12.0f  %12.0f  %8.2f  %14.0f  %16d  %14.0f\n",
			spans, median, open[len(open)-1], median/float64(limits[spans].Milliseconds()), opening, tasks, scrolling)
	}
}
