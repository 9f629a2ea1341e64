package httpapi

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/looptrace/looptrace/controlplane/datasets/duplicates"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

type nearDuplicateHandlers struct{ checks *duplicates.Service }

// CheckNearDuplicates starts a check of a revision, or returns the one that there is.
func (h nearDuplicateHandlers) CheckNearDuplicates(ctx context.Context, req contract.CheckNearDuplicatesRequestObject) (contract.CheckNearDuplicatesResponseObject, error) {
	check, started, err := h.checks.Start(ctx, grantOf(ctx), req.DatasetId, req.Body.Revision, valueOf(req.Body.Threshold, duplicates.DefaultThreshold))
	if err != nil {
		return nil, err
	}
	answer, err := checkOf(&check)
	switch {
	case err != nil:
		return nil, err
	case started:
		return contract.CheckNearDuplicates202JSONResponse(answer), nil
	default:
		return contract.CheckNearDuplicates200JSONResponse(answer), nil
	}
}

// CancelNearDuplicateCheck cancels the check of a dataset.
func (h nearDuplicateHandlers) CancelNearDuplicateCheck(ctx context.Context, req contract.CancelNearDuplicateCheckRequestObject) (contract.CancelNearDuplicateCheckResponseObject, error) {
	check, err := h.checks.Cancel(ctx, grantOf(ctx), req.DatasetId)
	if err != nil {
		return nil, err
	}
	answer, err := checkOf(&check)
	return contract.CancelNearDuplicateCheck200JSONResponse(answer), err
}

// ListNearDuplicates reads a check with a page of its pairs.
func (h nearDuplicateHandlers) ListNearDuplicates(ctx context.Context, req contract.ListNearDuplicatesRequestObject) (contract.ListNearDuplicatesResponseObject, error) {
	page := pageOf(req.Params.Limit, req.Params.Offset)
	check, pairs, more, err := h.checks.Pairs(ctx, grantOf(ctx), req.DatasetId, duplicates.Query{
		Revision: req.Params.Revision, Across: req.Params.AcrossSplits, Page: page,
	})
	if err != nil {
		return nil, err
	}
	answer := contract.ListNearDuplicates200JSONResponse{
		Data: make([]contract.NearDuplicatePair, len(pairs)), Limit: page.Limit, Offset: page.Offset, HasMore: more,
	}
	if check != nil {
		found, err := checkOf(check)
		if err != nil {
			return nil, err
		}
		answer.Check = &found
	}
	for i := range pairs {
		p := &pairs[i]
		answer.Data[i] = contract.NearDuplicatePair{
			A: nearDuplicateItemOf(&p.A), B: nearDuplicateItemOf(&p.B), Similarity: p.Similarity, AcrossSplits: p.Across,
		}
	}
	return answer, nil
}

func nearDuplicateItemOf(i *duplicates.ItemPreview) contract.NearDuplicateItem {
	return contract.NearDuplicateItem{Id: i.ItemID, Key: i.Key, Split: i.Split, InputPreview: i.Preview, InputTruncated: i.Truncated}
}

func checkOf(c *duplicates.Check) (contract.NearDuplicateCheck, error) {
	answer := contract.NearDuplicateCheck{
		Id: c.ID, DatasetId: c.DatasetID, Revision: c.Revision, Threshold: c.Threshold, Status: contract.NearDuplicateCheckStatus(c.Status),
		Total: c.Total, Processed: c.Processed, ItemsWithoutText: c.WithoutText, Pairs: c.Pairs, PairsAcrossSplits: c.PairsAcross,
		ItemsPartlyCompared: c.PartlyCompared, CreatedBy: contract.Author{Email: c.AuthorEmail, Key: c.AuthorKey},
		CreatedAt: c.CreatedAt.UTC(), StartedAt: utc(c.StartedAt), FinishedAt: utc(c.FinishedAt),
	}
	if c.Phase != nil {
		answer.Phase = new(contract.NearDuplicateCheckPhase(*c.Phase))
	}
	if c.WithoutText != nil {
		answer.ItemsChecked = new(c.Processed - *c.WithoutText)
	}
	if c.Pairs != nil && c.PairsListed != nil {
		answer.PairsNotListed = new(*c.Pairs - *c.PairsListed)
	}
	if c.Shared != nil {
		if err := json.Unmarshal([]byte(*c.Shared), &answer.LeftOut); err != nil {
			return answer, fmt.Errorf("read what the check %s left out: %w", c.ID, err)
		}
	}
	if c.ErrorCode != nil {
		answer.Error = &contract.NearDuplicateCheckFailure{Code: *c.ErrorCode, Detail: valueOf(c.ErrorDetail, "")}
	}
	return answer, nil
}
