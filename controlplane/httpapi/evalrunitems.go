package httpapi

import (
	"context"

	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

// ListEvalRunItems lists the items of an eval-run.
func (h evalRunHandlers) ListEvalRunItems(ctx context.Context, req contract.ListEvalRunItemsRequestObject) (contract.ListEvalRunItemsResponseObject, error) {
	page := pageOf(req.Params.Limit, req.Params.Offset)
	list, more, err := listItems(ctx, h.evaluations, evaluations.EvalRun, req.EvalRunId, evaluations.ItemsQuery{
		Status: evaluations.ItemStatus(valueOf(req.Params.Status, "")), Split: valueOf(req.Params.Split, ""), Longest: listedJSON,
		Drawn: valueOf(req.Params.Order, "") == contract.ListEvalRunItemsParamsOrderRandom,
	}, page, (*shownItems).evalRunItem)
	return contract.ListEvalRunItems200JSONResponse{Data: list, Limit: page.Limit, Offset: page.Offset, HasMore: more}, err
}

// GetEvalRunItem reads an item of an eval-run.
func (h evalRunHandlers) GetEvalRunItem(ctx context.Context, req contract.GetEvalRunItemRequestObject) (contract.GetEvalRunItemResponseObject, error) {
	item, err := readItem(ctx, h.evaluations, evaluations.EvalRun, req.EvalRunId, req.DatasetItemId, (*shownItems).evalRunItem)
	return contract.GetEvalRunItem200JSONResponse(item), err
}

// evalRunItem writes an item of an eval-run.
func (s *shownItems) evalRunItem(i *evaluations.Item) (contract.EvalRunItem, error) {
	item, err := s.item(i)
	if err != nil {
		return contract.EvalRunItem{}, err
	}
	one := contract.EvalRunItem{
		Number: item.Number, ItemId: item.ItemId, Key: item.Key, Status: item.Status, Reason: item.Reason, Input: item.Input, ReferenceOutput: item.ReferenceOutput,
		Metadata: item.Metadata, InputTruncated: item.InputTruncated, Repeats: make([]contract.EvalRunRepeat, len(item.Repeats)),
	}
	for j, repeat := range item.Repeats {
		one.Repeats[j] = contract.EvalRunRepeat{Repeat: repeat.Repeat, Result: *repeat.A, Labels: repeat.Labels.A}
	}
	return one, nil
}

// PutEvalRunLabel labels an output.
func (h evalRunHandlers) PutEvalRunLabel(ctx context.Context, req contract.PutEvalRunLabelRequestObject) (contract.PutEvalRunLabelResponseObject, error) {
	label, err := putLabel(ctx, h.evaluations.Service, evaluations.LabelTarget{
		Kind: evaluations.EvalRun, Evaluation: req.EvalRunId, Item: req.DatasetItemId, Panel: req.Body.Panel, Repeat: req.Body.Repeat,
	}, req.Body.Value, req.Body.Note)
	return contract.PutEvalRunLabel200JSONResponse(label), err
}

// DeleteEvalRunLabel removes a label.
func (h evalRunHandlers) DeleteEvalRunLabel(ctx context.Context, req contract.DeleteEvalRunLabelRequestObject) (contract.DeleteEvalRunLabelResponseObject, error) {
	return contract.DeleteEvalRunLabel204Response{}, h.evaluations.DeleteLabel(ctx, grantOf(ctx), &evaluations.LabelTarget{
		Kind: evaluations.EvalRun, Evaluation: req.EvalRunId, Item: req.DatasetItemId, Panel: req.Params.Panel, Repeat: req.Params.Repeat,
	})
}
