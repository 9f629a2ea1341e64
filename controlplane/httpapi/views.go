package httpapi

import (
	"context"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/views"
)

type viewHandlers struct {
	views *views.Service
}

// ListViews lists the saved views of a project.
func (h viewHandlers) ListViews(ctx context.Context, req contract.ListViewsRequestObject) (contract.ListViewsResponseObject, error) {
	saved, err := h.views.List(ctx, grantOf(ctx))
	if err != nil {
		return nil, err
	}
	list := make([]contract.View, len(saved))
	for i := range saved {
		list[i] = viewOf(&saved[i])
	}
	return contract.ListViews200JSONResponse{Data: list}, nil
}

// CreateView saves a view.
func (h viewHandlers) CreateView(ctx context.Context, req contract.CreateViewRequestObject) (contract.CreateViewResponseObject, error) {
	view, err := h.views.Create(ctx, grantOf(ctx), string(req.Body.Page), req.Body.Name, req.Body.Query)
	if err != nil {
		return nil, err
	}
	location := "/v1/projects/" + req.ProjectId.String() + "/views/" + view.ID.String()
	return contract.CreateView201JSONResponse{Body: viewOf(&view), Headers: contract.CreateView201ResponseHeaders{Location: &location}}, nil
}

// UpdateView renames a view or changes its query.
func (h viewHandlers) UpdateView(ctx context.Context, req contract.UpdateViewRequestObject) (contract.UpdateViewResponseObject, error) {
	view, err := h.views.Update(ctx, grantOf(ctx), req.ViewId,
		views.Change{Name: req.Body.Name, Query: req.Body.Query})
	if err != nil {
		return nil, err
	}
	return contract.UpdateView200JSONResponse(viewOf(&view)), nil
}

// DeleteView deletes a view.
func (h viewHandlers) DeleteView(ctx context.Context, req contract.DeleteViewRequestObject) (contract.DeleteViewResponseObject, error) {
	if err := h.views.Delete(ctx, grantOf(ctx), req.ViewId); err != nil {
		return nil, err
	}
	return contract.DeleteView204Response{}, nil
}

func viewOf(v *views.View) contract.View {
	return contract.View{
		Id: v.ID, Page: contract.ViewPage(v.Page), Name: v.Name, Query: v.Query, CreatedBy: v.CreatedBy,
		CreatedAt: v.CreatedAt.UTC(), UpdatedAt: v.UpdatedAt.UTC(),
	}
}
