package httpapi

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/controlplane/validate"
)

// usageWindow is the default length of the window of usage.
const usageWindow = 30 * 24 * time.Hour

// GetPromptUsage reads how the runs of a prompt went, by version.
func (h promptHandlers) GetPromptUsage(ctx context.Context, req contract.GetPromptUsageRequestObject) (contract.GetPromptUsageResponseObject, error) {
	grant := grantOf(ctx)
	query := runs.PromptUsageQuery{
		StartAfter: valueOf(req.Params.StartAfter, time.Time{}).UTC(), StartBefore: valueOf(req.Params.StartBefore, time.Time{}).UTC(),
	}
	if err := errors.Join(validTime("query.start_after", req.Params.StartAfter), validTime("query.start_before", req.Params.StartBefore)); err != nil {
		return nil, err
	}
	if req.Params.StartAfter == nil {
		query.Window = usageWindow
	}
	prompt, err := h.prompts.Get(ctx, grant, req.PromptId)
	if err != nil {
		return nil, err
	}
	query.ProjectID, query.ID, query.Name = prompt.ProjectID, prompt.ID.String(), prompt.Name
	if query.TextIDs, err = h.prompts.TextIDs(ctx, grant.Projects, query.ID, "", ""); err != nil {
		return nil, err
	}
	usage, err := h.usage.PromptUsage(ctx, grant.Projects, query)
	if err != nil {
		return nil, err
	}
	answer := contract.GetPromptUsage200JSONResponse{
		Start: usage.Start.UTC(), End: usage.End.UTC(), Partial: usage.Partial, BucketSeconds: int64(usage.Bucket / time.Second),
		Total: totalsOf(&usage.Total), Versions: make([]contract.PromptVersionUsage, len(usage.Versions)),
	}
	for i := range usage.Versions {
		answer.Versions[i] = versionUsageOf(&usage.Versions[i], prompt.LatestVersion)
	}
	if usage.Other != nil {
		answer.Other = &contract.PromptUsageOther{Versions: count(usage.OtherVersions), Totals: totalsOf(usage.Other)}
	}
	return answer, nil
}

func versionUsageOf(v *runs.PromptVersionUsage, latest *int) contract.PromptVersionUsage {
	number, err := strconv.Atoi(v.Version)
	usage := contract.PromptVersionUsage{
		Version: known(v.Version), Exists: err == nil && latest != nil && number >= 1 && number <= *latest && strconv.Itoa(number) == v.Version,
		Totals: totalsOf(&v.Runs), Series: seriesOf(v.Series), LinkedByContent: count(v.LinkedByText),
		UnpricedCallCount: count(v.UnpricedCalls), UnpricedRunCount: count(v.UnpricedRuns),
		Calls: contract.PromptCallTotals{
			Count: count(v.Calls.Count), ErrorCount: count(v.Calls.ErrorCount), InputTokens: v.Calls.Input, OutputTokens: v.Calls.Output,
			NoUsageCount: count(v.Calls.NoUsage), CostUsd: roundUSD(v.Calls.CostUSD), NoCostCount: count(v.Calls.NoCost),
		},
		Scores: make([]contract.PromptScoreMean, len(v.Scores)), FirstSeen: v.First.UTC(), LastSeen: v.Last.UTC(),
	}
	if v.Calls.DurationsMs != nil {
		usage.Calls.DurationMs = &contract.MedianAndP95{P50: v.Calls.DurationsMs[0], P95: v.Calls.DurationsMs[1]}
	}
	for i, score := range v.Scores {
		usage.Scores[i] = contract.PromptScoreMean{Name: score.Name, Mean: score.Mean, Count: count(score.Count), Boolean: score.IsBoolean}
	}
	return usage
}

func validTime(location string, t *time.Time) error {
	if t == nil {
		return nil
	}
	return validate.Time(location, *t)
}
