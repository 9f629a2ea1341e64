package e2e

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/bench/loadgen"
	"github.com/looptrace/looptrace/test/browser"
	"github.com/looptrace/looptrace/test/product"
)

// TestBrowserFigures measures how soon long runs can be read, against what the product promises. A figure never fails it.
func TestBrowserFigures(t *testing.T) {
	if os.Getenv("BENCH_BROWSER") == "" {
		t.Skip("`make bench-browser` measures")
	}
	s := &story{browser: browser.New(t, "output"), product: product.Start(t)}
	t.Run("first run", s.setUp)
	require.NotEmpty(t, s.adminKey)
	limits := map[int]time.Duration{10_000: 1500 * time.Millisecond, 100_000: 5 * time.Second}
	var runs []map[string]any
	for _, spans := range []int{10_000, 100_000} {
		id := s.sendLongRun(t, spans)
		runs = append(runs, map[string]any{"id": id, "spans": spans})
	}
	time.Sleep(10 * time.Second) // the store merges what it has got
	var figures []struct {
		Spans              int     `json:"spans"`
		OpenMs             float64 `json:"openMs"`
		LongestOpening     float64 `json:"longestOpening"`
		LongTasksScrolling int     `json:"longTasksScrolling"`
		LongestScrolling   float64 `json:"longestScrolling"`
	}
	s.browser.Play(t, "measure", map[string]any{"base": s.web(), "projectId": s.projectID, "runs": runs, "rounds": 5}, &figures)
	load, _ := os.ReadFile("/proc/loadavg") // absent elsewhere than on Linux
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

// sendLongRun sends a run of so many spans and waits until all are stored.
func (s *story) sendLongRun(t *testing.T, spans int) (id string) {
	t.Helper()
	id = uuid.NewString()
	header := http.Header{"Content-Type": {product.JSON}, "X-Api-Key": {s.ingestKey}}
	for _, body := range loadgen.LongRun(id, spans, time.Now().Add(-4*time.Hour), 1) {
		answer, err := product.Do(t.Context(), http.MethodPost, s.web()+"/v1/runs", header, body)
		require.NoError(t, err)
		require.Equal(t, http.StatusAccepted, answer.Status, "%s", answer.Body)
	}
	s.awaitRun(t, id, ofSpans(spans))
	return id
}
