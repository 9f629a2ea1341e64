package replays

import (
	"context"
	"errors"
	"time"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/problem"
)

const (
	// storedWait is how long a comparison waits for the run of an attempt, which takes the way of all runs to the store, and storedReserve how
	// much of its time stays for the comparison.
	storedWait    = 10 * time.Second
	storedReserve = 5 * time.Second
	storedPoll    = 100 * time.Millisecond
)

var (
	errAttemptDeleted = &problem.Error{
		Kind: problem.Conflict, Code: ErrRunDeleted.Code, Detail: "The run of the attempt was deleted: there is nothing to compare.",
	}
	errNotStored = &problem.Error{
		Kind: problem.Conflict, Code: "run_not_stored", RetryAfter: storedReserve,
		Detail: "The run of the attempt is not stored yet. It may wait behind other data: try again in a few seconds.",
	}
)

// AwaitRun waits until the run of an attempt that ended is stored with all its steps, for some time. Of a run that stays incomplete, what is
// there counts.
func (s *Service) AwaitRun(ctx context.Context, grant access.Grant, r *Replay, a *Attempt) error {
	details, err := s.Details(ctx, r, a.Number)
	if err != nil {
		return err
	}
	steps := uint64(0)
	for i := range details.Steps {
		if details.Steps[i].SpanID != "" {
			steps++
		}
	}
	until := time.Now().Add(storedWait)
	if deadline, ok := ctx.Deadline(); ok && deadline.Add(-storedReserve).Before(until) {
		until = deadline.Add(-storedReserve)
	}
	in := grant.Only(r.ProjectID)
	for {
		run, err := s.runs.Get(ctx, in, a.RunID)
		missing := errors.Is(err, runs.ErrNotFound)
		if err != nil && !missing {
			return err //nolint:wrapcheck // it is for the client
		}
		if !missing && run.SpanCount >= steps {
			return nil
		}
		if missing {
			deleted, err := s.runs.WasDeleted(ctx, in, a.RunID)
			if err != nil {
				return err //nolint:wrapcheck // it is for the client
			}
			if deleted {
				return errAttemptDeleted
			}
		}
		if time.Now().After(until) {
			if missing {
				return errNotStored
			}
			return nil
		}
		select {
		case <-time.After(storedPoll):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
