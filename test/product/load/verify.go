package load

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/test/product"
)

// readers is how many runs are read back at once.
const readers = 4

// Verify reads every acknowledged run back, waiting until ctx ends for those that are not visible yet, and
// tells what is missing, double or wrong: each run by its id, each span of it, and each once in the list.
func Verify(ctx context.Context, reader product.Reader, projectID string, runs []Run) error {
	listed := make(map[string]int)
	group, reading := errgroup.WithContext(ctx)
	group.SetLimit(readers)
	for _, run := range runs {
		group.Go(func() error { return verifyRun(reading, reader, run) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	all, err := reader.Runs(ctx, projectID)
	if err != nil {
		return err
	}
	byID := make(map[string]product.Run, len(all))
	for _, run := range all {
		listed[run.RunID]++
		byID[run.RunID] = run
	}
	var problems []error
	for id, times := range listed {
		if times > 1 {
			problems = append(problems, fmt.Errorf("run %s is listed %d times", id, times))
		}
	}
	for _, run := range runs {
		switch found, ok := byID[run.ID.String()]; {
		case !ok:
			problems = append(problems, fmt.Errorf("run %s is not listed", run.ID))
		default:
			problems = append(problems, run.compare(found))
		}
	}
	return errors.Join(problems...)
}

// verifyRun waits until a run is whole, and proves that it has each span once. What is seen meanwhile may be
// less than the run, but never more.
func verifyRun(ctx context.Context, reader product.Reader, run Run) error {
	err := product.Wait(ctx, func(ctx context.Context) error {
		found, ok, err := reader.Run(ctx, run.ID.String())
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("run %s by %s, acknowledged at %s, is missing", run.ID, run.Door, run.Accepted.Format(time.StampMilli))
		}
		if found.SpanCount > run.Spans {
			return product.Permanent(run.compare(found))
		}
		return run.compare(found)
	})
	if err != nil {
		return err
	}
	var page struct {
		Data []struct {
			SpanID string `json:"span_id"`
		} `json:"data"`
	}
	status, err := reader.Get(ctx, "/v1/runs/"+url.PathEscape(run.ID.String())+"/spans", &page)
	if err != nil {
		return err
	}
	ids := make(map[string]bool, len(page.Data))
	for _, span := range page.Data {
		ids[span.SpanID] = true
	}
	if int64(len(page.Data)) != run.Spans || int64(len(ids)) != run.Spans {
		return fmt.Errorf("run %s: %d spans are read (status %d), %d of them different, want %d",
			run.ID, len(page.Data), status, len(ids), run.Spans)
	}
	return nil
}

// compare tells how a run as read differs from what was sent.
func (r Run) compare(found product.Run) error {
	var input, output int64
	if found.Usage != nil && found.Usage.InputTokens != nil && found.Usage.OutputTokens != nil {
		input, output = *found.Usage.InputTokens, *found.Usage.OutputTokens
	}
	if found.SpanCount != r.Spans || found.LLMCallCount != r.LLMCalls ||
		input != r.InputTokens || output != r.OutputTokens || found.Status != "ok" {
		return fmt.Errorf("run %s by %s: %d spans, %d llm calls, %d input and %d output tokens, %s; want %d, %d, %d, %d, ok",
			r.ID, r.Door, found.SpanCount, found.LLMCallCount, input, output, found.Status,
			r.Spans, r.LLMCalls, r.InputTokens, r.OutputTokens)
	}
	return nil
}

// Shown tells whether a run as read is all that was sent.
func (r Run) Shown(found product.Run) bool { return r.compare(found) == nil }
