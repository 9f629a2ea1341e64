package httpapi

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/start"
	"github.com/looptrace/looptrace/controlplane/samples"
)

// fillEvaluation stores a dataset, an eval-run of each version and their comparison. Jobs summarize them, also after a restart: nothing waits
// for them here.
func (h sampleHandlers) fillEvaluation(ctx context.Context, target access.Target, e *samples.Evaluation) error {
	grant, err := callOf(ctx).grantFor(ctx, "addDatasetItems", target)
	if err != nil {
		return err
	}
	created, err := h.datasets.Create(ctx, grant, datasets.Change{Name: &e.Name, Description: &e.Description})
	if err != nil {
		return err
	}
	write := datasets.Write{Mode: datasets.ModeUpsert}
	for i := range e.Items {
		item := &e.Items[i]
		write.Items = append(write.Items, datasets.NewItem{
			Key: &item.Key, Input: item.Input, ReferenceOutput: item.ReferenceOutput, Tags: item.Tags, SourceRunID: item.SourceRunID,
		})
	}
	written, err := h.datasets.Write(ctx, grant, created.ID, write)
	if err != nil {
		return err
	}
	if grant, err = callOf(ctx).grantFor(ctx, "createEvalRun", target); err != nil {
		return err
	}
	comparison := start.Wanted{
		Kind: evaluations.Comparison, Name: "Release " + e.B.Release + " against " + e.A.Release, Dataset: created.ID, Revision: &written.Revision, Repeats: 1,
		Config: evaluations.Config{Graders: e.Graders},
	}
	for i, version := range []*samples.Version{&e.A, &e.B} {
		id, err := h.fillEvalRun(ctx, grant, e, version, i == 0, created.ID, written.ItemIDs)
		if err != nil {
			return fmt.Errorf("create the eval-run of %s: %w", version.Release, err)
		}
		comparison.Config.Sides[i] = evaluations.Side{Name: "Release " + version.Release, EvalRunID: &id}
	}
	if grant, err = callOf(ctx).grantFor(ctx, "createComparison", target); err != nil {
		return err
	}
	_, err = h.evaluations.Create(ctx, grant, &comparison)
	return err
}

// fillEvalRun stores what a version answered: it is a or b.
func (h sampleHandlers) fillEvalRun(
	ctx context.Context, grant access.Grant, e *samples.Evaluation, version *samples.Version, isA bool, dataset uuid.UUID, items []uuid.UUID,
) (uuid.UUID, error) {
	begun, err := h.evaluations.Create(ctx, grant, &start.Wanted{
		Kind: evaluations.EvalRun, Name: e.EvalRun, Dataset: dataset, Repeats: 1, Branch: "main", Commit: version.Commit,
		Metadata: map[string]string{"release": version.Release, "sample": "true"},
		Config:   evaluations.Config{Target: evaluations.Target{Type: evaluations.TargetExternal}, Graders: e.Graders},
	})
	if err != nil {
		return uuid.Nil, err
	}
	usages := version.Usages(len(e.Items))
	results := make([]start.Result, len(e.Items))
	for i := range e.Items {
		answer, usage := &e.Items[i].B, &usages[i]
		if isA {
			answer = &e.Items[i].A
		}
		results[i] = start.Result{
			ItemID: items[i], Repeat: 1, Output: answer.Output, RunID: answer.RunID, DurationMS: &usage.DurationMS, CostUSD: &usage.CostUSD,
			InputTokens: &usage.InputTokens, OutputTokens: &usage.OutputTokens,
		}
		if answer.Error != nil {
			results[i].ErrorCode, results[i].ErrorDetail, results[i].OutputTokens = answer.Error.Code, answer.Error.Detail, nil
		}
	}
	if _, _, err := h.evaluations.AddResults(ctx, grant, begun.ID, results, false); err != nil {
		return uuid.Nil, err
	}
	_, _, err = h.evaluations.Finish(ctx, grant, begun.ID)
	return begun.ID, err
}
