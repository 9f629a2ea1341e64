package httpapi

import (
	"context"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/work"
)

type workHandlers struct{ work *work.Queue }

// ListWork lists the work of projects that takes long.
func (h workHandlers) ListWork(ctx context.Context, req contract.ListWorkRequestObject) (contract.ListWorkResponseObject, error) {
	page := pageOf(req.Params.Limit, req.Params.Offset)
	filter := work.Filter{State: string(valueOf(req.Params.State, "")), Kind: string(valueOf(req.Params.Kind, ""))}
	found, more, err := h.work.List(ctx, grantOf(ctx), filter, page)
	if err != nil {
		return nil, err
	}
	answer := contract.ListWork200JSONResponse{Data: make([]contract.Work, len(found)), Limit: page.Limit, Offset: page.Offset, HasMore: more}
	for i := range found {
		answer.Data[i] = workOf(&found[i])
	}
	return answer, nil
}

func workOf(w *work.Listed) contract.Work {
	answer := contract.Work{
		Id: w.ID, Kind: contract.WorkKind(w.Kind), ProjectId: w.ProjectID, DatasetId: w.DatasetID, Name: w.Name, Status: contract.WorkStatus(w.Status),
		Progress:  contract.WorkProgress{Unit: contract.WorkProgressUnit(w.Unit), Done: w.Done, Total: w.Total},
		CreatedBy: contract.Author{Email: w.AuthorEmail, Key: w.AuthorKey}, CreatedAt: w.CreatedAt.UTC(), StartedAt: utc(w.StartedAt), FinishedAt: utc(w.FinishedAt),
	}
	if w.WaitsFor != nil {
		answer.Waits = &contract.WorkWait{For: contract.WorkWaitFor(*w.WaitsFor), Until: utc(w.WaitsUntil), Running: w.Running, Ahead: w.Ahead}
	}
	if w.ErrorCode != nil {
		answer.Error = &contract.WorkFailure{Code: *w.ErrorCode, Detail: valueOf(w.ErrorDetail, "")}
	}
	return answer
}
