package execute

import (
	"bytes"
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// sourceOutput is an output of an eval-run, with the content that its item had.
type sourceOutput struct {
	ItemID      uuid.UUID
	ContentHash []byte
	RunLookup   *evaluations.RunLookup
	RunFailed   bool
	evaluations.Output
}

type sourceKey struct {
	item   uuid.UUID
	repeat int
}

// sources returns the outputs for items of the sides that are eval-runs.
func (a *attempt) sources(ctx context.Context, items map[int64]*datasets.Item) (found [2]map[sourceKey]*sourceOutput, err error) {
	ids := make([]uuid.UUID, 0, len(items))
	for _, item := range items {
		ids = append(ids, item.ItemID)
	}
	for i := range a.config.Sides {
		side := &a.config.Sides[i]
		if side.EvalRunID == nil || len(ids) == 0 {
			continue
		}
		outputs, err := postgres.Many[sourceOutput](ctx, a.db, "list source outputs", pgx.NamedArgs{"id": side.EvalRunID, "items": ids})
		if err != nil {
			return found, err
		}
		found[i] = make(map[sourceKey]*sourceOutput, len(outputs))
		for j := range outputs {
			found[i][sourceKey{outputs[j].ItemID, outputs[j].Repeat}] = &outputs[j]
		}
	}
	return found, nil
}

// codeNoReference is why an item has no reference output to judge.
const codeNoReference = "no_reference"

// reference takes the reference output of an item, and grades it.
func (a *attempt) reference(ctx context.Context, made *OutputRow, t task) error {
	made.CreatedAt = a.now()
	if t.item.ReferenceOutput == "" || t.item.ReferenceOutput == "null" {
		made.Status, made.ErrorCode, made.ErrorDetail = evaluations.OutputFailed, new(codeNoReference), new("The item has no reference output.")
		return nil
	}
	made.Output = &t.item.ReferenceOutput
	_, err := made.Grade(ctx, a.graders, t.item, Known{})
	return err
}

// copy takes over an output of an eval-run, and grades it.
func (a *attempt) copy(ctx context.Context, made *OutputRow, t task) error {
	made.CreatedAt = a.now()
	switch {
	case t.from == nil:
		made.Status, made.ErrorCode, made.ErrorDetail = evaluations.OutputFailed, new(evaluations.CodeNoResult), new("The eval-run has no result for this item and repeat.")
		return nil
	case !bytes.Equal(t.from.ContentHash, t.item.ContentHash):
		made.Status, made.ErrorCode, made.ErrorDetail = evaluations.OutputFailed, new(evaluations.CodeItemChanged), new("The item had another input or reference output in the eval-run.")
		return nil
	}
	o := &t.from.Output
	*made = OutputRow{
		Number: made.Number, Side: made.Side, Repeat: made.Repeat, Status: o.Status, ErrorCode: o.ErrorCode, ErrorDetail: o.ErrorDetail, Output: o.Output,
		Message: o.Message, Model: o.Model, Fingerprint: o.Fingerprint, FinishReason: o.FinishReason, DurationMS: o.DurationMS, Input: o.InputTokens,
		OutputTokens: o.OutputTokens, CacheRead: o.CacheReadTokens, CacheWrite: o.CacheWriteTokens, Reasoning: o.ReasoningTokens, Cost: o.CostNanousd,
		Requests: o.Requests, Scores: o.Scores, CreatedAt: o.CreatedAt, RunFailed: t.from.RunFailed,
	}
	if o.RunID != nil {
		made.RunID = *o.RunID
	}
	if made.Status != evaluations.OutputOK {
		return nil
	}
	scores, err := o.ReadScores()
	if err != nil {
		return err
	}
	readable := a.config.ReadsRuns && t.from.RunLookup != nil && *t.from.RunLookup == evaluations.RunRead
	left, err := made.Grade(ctx, a.graders, t.item, Known{Scores: scores, Later: readable})
	if err != nil || !left {
		return err
	}
	calls, err := a.toolCalls(ctx, []uuid.UUID{made.RunID})
	if err != nil && !problem.Is(err, problem.TooExpensive) { // those of such a run are not known
		return err
	}
	if scores, err = evaluations.ReadScores(made.Scores); err != nil {
		return err
	}
	_, err = made.Grade(ctx, a.graders, t.item, Known{Scores: scores, calls: calls[made.RunID]})
	return err
}
