package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/test/product"
)

const (
	// readers is how many runs are read back by their ids at once, and most how many in all.
	readers = 4
	most    = 300
	// listPause is the time between two readings of the whole list.
	listPause = 500 * time.Millisecond
)

// Verify waits until every run is listed once and as it was sent, at most as long as given, and then reads
// runs back by their ids, with their spans: a random few hundred where there are more. It tells what is
// missing, double or wrong.
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
	return group.Wait() //nolint:wrapcheck // each names its run
}

// VerifyListed reads the list until it holds each run once and as it was sent, at most as long as given.
func VerifyListed(ctx context.Context, reader product.Reader, projectID string, runs []Run, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	pause := time.NewTicker(listPause)
	defer pause.Stop()
	for {
		all, err := reader.Runs(ctx, projectID)
		if err == nil {
			if err = compareList(runs, all); err == nil {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not readable after %s: %w", within, err)
		case <-pause.C:
		}
	}
}

// compareList tells how the list differs from what was sent.
func compareList(runs []Run, all []product.Run) error {
	const told = 10 // one by one
	listed := make(map[string]product.Run, len(all))
	var problems []error
	for _, run := range all {
		if _, twice := listed[run.RunID]; twice {
			problems = append(problems, fmt.Errorf("run %s is listed twice", run.RunID))
		}
		listed[run.RunID] = run
	}
	for _, run := range runs {
		found, ok := listed[run.ID.String()]
		switch {
		case !ok:
			problems = append(problems, fmt.Errorf("run %s by %s, acknowledged at %s, is missing",
				run.ID, run.Door, run.Accepted.Format(time.StampMilli)))
		case !run.Shown(found):
			problems = append(problems, run.compare(found))
		}
	}
	if count := len(problems); count > told {
		problems = append(problems[:told], fmt.Errorf("and %d more of %d runs", count-told, len(runs)))
	}
	return errors.Join(problems...)
}

// verifyRun proves that a run is read by its id as it was sent, with each of its spans once.
func verifyRun(ctx context.Context, reader product.Reader, run Run) error {
	found, ok, err := reader.Run(ctx, run.ID.String())
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("run %s by %s is listed, but not found by its id", run.ID, run.Door)
	}
	if err := run.compare(found); err != nil {
		return err
	}
	var page struct {
		Data []struct {
			SpanID string `json:"span_id"`
		} `json:"data"`
	}
	status, err := reader.Get(ctx, "/v1/runs/"+run.ID.String()+"/spans", &page)
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
