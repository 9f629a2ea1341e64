package httpapi

import (
	"context"

	"github.com/looptrace/looptrace/controlplane/runs"
)

// DeleteRuns deletes runs, or counts what it would delete.
func (a *api) DeleteRuns(ctx context.Context, req DeleteRunsRequestObject) (DeleteRunsResponseObject, error) {
	d, err := deletionOf(req.Body)
	if err != nil {
		return nil, err
	}
	scope, err := writable(ctx, &d.ProjectID)
	if err != nil {
		return nil, err
	}
	result, err := a.runs.Delete(ctx, scope, d)
	if err != nil {
		return nil, err
	}
	return DeleteRuns200JSONResponse{
		DryRun: d.DryRun, Matched: count(result.Matched), Deleted: count(result.Deleted),
		HasMore: !d.DryRun && result.Deleted < result.Matched, AsOf: result.AsOf,
	}, nil
}

func deletionOf(body *RunDelete) (runs.Deletion, error) {
	d := runs.Deletion{DryRun: valueOf(body.DryRun, false)}
	if body.ReceivedBefore != nil {
		if body.ReceivedBefore.Before(earliestStart) || body.ReceivedBefore.After(latestStart) {
			return d, requestErrors{{Location: "body.received_before", Message: "must be between 1970 and 2261"}}
		}
		d.ReceivedBefore = body.ReceivedBefore.UTC()
	}
	switch {
	case body.Filter != nil && body.RunIds != nil:
		return d, requestErrors{{Location: "body.filter", Message: "must not be given together with run_ids"}}
	case body.Filter != nil && body.ProjectId != nil:
		return d, requestErrors{{Location: "body.project_id", Message: "stands in the filter"}}
	case body.Filter != nil:
		filter, err := filterOf(body.Filter, "body.filter")
		d.Filter = filter
		return d, err
	case body.RunIds == nil:
		return d, requestErrors{{Location: "body.run_ids", Message: "is required, or filter"}}
	case body.ProjectId == nil:
		return d, requestErrors{{Location: "body.project_id", Message: "is required with run_ids"}}
	}
	d.ProjectID, d.RunIDs = *body.ProjectId, *body.RunIds
	return d, nil
}
