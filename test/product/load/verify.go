package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/test/product"
)

const (
	// readers is how many runs are read by id concurrently, most how many in total.
	readers = 4
	most    = 40
	// listPause is the minimum time between two reads of the whole list.
	listPause = 500 * time.Millisecond
)

// DifferenceError describes the difference between what is read and what was acknowledged: runs that are missing or
// lack spans, that are listed twice or have too many spans, or whose other totals are wrong.
type DifferenceError struct {
	Lost, Double, Wrong int
	// Examples are the first differences.
	Examples []error
}

func (d *DifferenceError) Error() string {
	return fmt.Sprintf("%d runs are lost, %d double, %d wrong:\n%v", d.Lost, d.Double, d.Wrong, errors.Join(d.Examples...))
}

func (d *DifferenceError) note(count *int, err error) {
	const maxExamples = 10
	*count++
	if len(d.Examples) < maxExamples {
		d.Examples = append(d.Examples, err)
	}
}

func (d *DifferenceError) orNil() error {
	if d.Lost+d.Double+d.Wrong == 0 {
		return nil
	}
	return d
}

// Verify waits up to within until every run is listed once and as it was sent, and then reads runs by id, with their
// spans: a random sample of forty if there are more. Differences are returned as a DifferenceError.
func Verify(ctx context.Context, reader product.Reader, projectID string, runs []Run, within time.Duration) error {
	if err := VerifyListed(ctx, reader, projectID, runs, within); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readers)
	for _, i := range rand.Perm(len(runs))[:min(len(runs), most)] {
		run := runs[i]
		group.Go(func() error { return verifyRun(ctx, reader, run) })
	}
	return group.Wait()
}

// VerifyListed reads the list until it has each run once and as it was sent, for at most within.
func VerifyListed(ctx context.Context, reader product.Reader, projectID string, runs []Run, within time.Duration) error {
	if len(runs) == 0 {
		return nil
	}
	first := slices.MinFunc(runs, func(a, b Run) int { return a.Start.Compare(b.Start) }).Start
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	for {
		begin := time.Now()
		all, err := reader.Runs(ctx, projectID, first)
		if err == nil {
			if err = compareList(runs, all); err == nil {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; last seen: %w", context.Cause(ctx), err)
		case <-deadline.C:
			return fmt.Errorf("not readable after %s: %w", within, err)
		case <-time.After(max(listPause, time.Since(begin))):
		}
	}
}

// compareList compares the list with what was sent.
func compareList(runs []Run, all []product.Run) error {
	listed := make(map[string]product.Run, len(all))
	differences := &DifferenceError{}
	for i, run := range all {
		if _, twice := listed[run.RunID]; twice {
			differences.note(&differences.Double, fmt.Errorf("run %s is listed twice", run.RunID))
		}
		if i > 0 && run.StartTime.After(all[i-1].StartTime) {
			differences.note(&differences.Wrong, fmt.Errorf("run %s started later and is listed after %s", run.RunID, all[i-1].RunID))
		}
		listed[run.RunID] = run
	}
	for _, run := range runs {
		if found, ok := listed[run.ID.String()]; ok {
			run.compare(found, differences)
		} else {
			differences.note(&differences.Lost, fmt.Errorf("run %s by %s, acknowledged at %s, is missing",
				run.ID, run.Endpoint, run.Accepted.Format(time.StampMilli)))
		}
	}
	return differences.orNil()
}

// verifyRun checks that a run is read by id as it was sent, with each of its spans once, in the order of their
// starts.
func verifyRun(ctx context.Context, reader product.Reader, run Run) error {
	found, ok, err := reader.Run(ctx, run.ID.String())
	if err != nil {
		return err
	}
	differences := &DifferenceError{}
	if !ok {
		differences.note(&differences.Lost, fmt.Errorf("run %s by %s is listed, but not found by its id", run.ID, run.Endpoint))
		return differences
	}
	run.compare(found, differences)
	spans, err := reader.Spans(ctx, run.ID.String())
	if err != nil {
		return err
	}
	ids := make(map[string]bool, len(spans))
	for _, span := range spans {
		ids[span.SpanID] = true
	}
	problem := fmt.Errorf("run %s: %d spans are read, %d of them different, want %d", run.ID, len(spans), len(ids), run.Spans)
	switch {
	case int64(len(ids)) < run.Spans:
		differences.note(&differences.Lost, problem)
	case int64(len(spans)) > run.Spans:
		differences.note(&differences.Double, problem)
	case !slices.IsSortedFunc(spans, func(a, b product.Span) int { return a.StartTime.Compare(b.StartTime) }):
		differences.note(&differences.Wrong, fmt.Errorf("run %s: its spans are not read in the order of their starts", run.ID))
	}
	return differences.orNil()
}

// compare records how a run as read differs from what was sent.
func (r Run) compare(found product.Run, differences *DifferenceError) {
	var input, output int64
	if found.Usage != nil && found.Usage.InputTokens != nil && found.Usage.OutputTokens != nil {
		input, output = *found.Usage.InputTokens, *found.Usage.OutputTokens
	}
	var cost float64
	if found.CostUSD != nil {
		cost = *found.CostUSD
	}
	var count *int
	switch {
	case found.SpanCount < r.Spans:
		count = &differences.Lost
	case found.SpanCount > r.Spans:
		count = &differences.Double
	case found.LLMCallCount != r.LLMCalls || found.ErrorCount != r.Errors || input != r.InputTokens ||
		output != r.OutputTokens || cost != r.CostUSD || found.Status != "ok":
		count = &differences.Wrong
	default:
		return
	}
	differences.note(count, fmt.Errorf(
		"run %s by %s: %d spans, %d llm calls, %d errors, %d input and %d output tokens, %v USD, %s; want %d, %d, %d, %d, %d, %v, ok",
		r.ID, r.Endpoint, found.SpanCount, found.LLMCallCount, found.ErrorCount, input, output, cost, found.Status,
		r.Spans, r.LLMCalls, r.Errors, r.InputTokens, r.OutputTokens, r.CostUSD))
}

// Shown reports whether a run as read is complete.
func (r Run) Shown(found product.Run) bool {
	differences := &DifferenceError{}
	r.compare(found, differences)
	return differences.orNil() == nil
}
