package bench

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/looptrace/looptrace/test/product"
	"github.com/looptrace/looptrace/test/product/load"
)

// watch reads the newest runs in a loop, and records when each acknowledged run is first complete. Its delays are too
// long by one interval at most.
type watch struct {
	reader    product.Reader
	projectID string
	ledger    *load.Ledger

	delays    []time.Duration
	intervals []time.Duration
}

const (
	// watchEvery is the shortest interval. A slower answer makes it longer.
	watchEvery = 15 * time.Millisecond
	// ahead is how many runs are listed beyond the awaited ones: runs whose answer is not received yet, or that started
	// earlier.
	ahead = 20
	// longest is the maximum length of a list in the API.
	longest = 500
)

// run watches until sent is closed and all acknowledged runs were seen.
func (w *watch) run(ctx context.Context, sent <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, visibleWithin)
	defer cancel()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	pending := map[string]load.Run{}
	known := 0
	last := time.Now()
	for over := false; ; {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d runs are not visible: %w", len(pending), context.Cause(ctx))
		case <-sent:
			over, sent = true, nil // everything acknowledged so far is in the ledger
		case <-tick.C:
		}
		// The list is requested before the ledger is read: a run may be seen before its answer, and then its delay is
		// measured by a later read, never too short.
		begin := time.Now()
		var page struct {
			Data []product.Run `json:"data"`
		}
		query := url.Values{"project_id": {w.projectID}, "limit": {fmt.Sprint(min(len(pending)+ahead, longest))}}
		status, err := w.reader.Get(ctx, "/v1/runs?"+query.Encode(), &page)
		if err != nil {
			return err
		}
		if status != 200 {
			return fmt.Errorf("list the runs: the API answers %d", status)
		}
		seen := time.Now()
		w.intervals = append(w.intervals, begin.Sub(last))
		last = begin
		for _, run := range w.ledger.Runs(known) {
			known++
			pending[run.ID.String()] = run
		}
		for _, found := range page.Data {
			if run, ok := pending[found.RunID]; ok && run.Shown(found) {
				w.delays = append(w.delays, max(seen.Sub(run.Accepted), 0))
				delete(pending, found.RunID)
			}
		}
		if over && len(pending) == 0 {
			return nil
		}
	}
}

// awaitVisible waits until a flood is stored: until a sample of its runs, including the last ones, is readable.
func awaitVisible(ctx context.Context, reader product.Reader, runs []load.Run) error {
	ctx, cancel := context.WithTimeout(ctx, visibleWithin)
	defer cancel()
	const samples, last = 200, 50
	for i := len(runs) - 1; i >= 0; i -= step(len(runs)-i, len(runs)/samples, last) {
		run := runs[i]
		err := product.Wait(ctx, func(ctx context.Context) error {
			found, _, err := reader.Run(ctx, run.ID.String())
			if err == nil && !run.Shown(found) {
				err = fmt.Errorf("run %s is not visible", run.ID)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// step is 1 for the last runs and larger before them.
func step(fromEnd, wide, last int) int {
	if fromEnd < last {
		return 1
	}
	return max(wide, 1)
}
