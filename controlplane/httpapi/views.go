package httpapi

import (
	"context"

	"github.com/looptrace/looptrace/controlplane/identity"
)

// ListViews lists the views that people of a project keep.
func (a *api) ListViews(ctx context.Context, req ListViewsRequestObject) (ListViewsResponseObject, error) {
	views, err := a.identity.Views(ctx, callOf(ctx).principal, req.ProjectId)
	if err != nil {
		return nil, err
	}
	list := make([]View, len(views))
	for i := range views {
		list[i] = viewOf(&views[i])
	}
	return ListViews200JSONResponse{Data: list}, nil
}

// CreateView keeps a view.
func (a *api) CreateView(ctx context.Context, req CreateViewRequestObject) (CreateViewResponseObject, error) {
	view, err := a.identity.CreateView(ctx, callOf(ctx).principal, req.ProjectId, string(req.Body.Page), req.Body.Name, req.Body.Query)
	if err != nil {
		return nil, err
	}
	location := "/v1/projects/" + req.ProjectId.String() + "/views/" + view.ID.String()
	return CreateView201JSONResponse{Body: viewOf(&view), Headers: CreateView201ResponseHeaders{Location: &location}}, nil
}

// UpdateView renames a view, or makes it lead to something else.
func (a *api) UpdateView(ctx context.Context, req UpdateViewRequestObject) (UpdateViewResponseObject, error) {
	view, err := a.identity.UpdateView(ctx, callOf(ctx).principal, req.ProjectId, req.ViewId,
		identity.ViewChange{Name: req.Body.Name, Query: req.Body.Query})
	if err != nil {
		return nil, err
	}
	return UpdateView200JSONResponse(viewOf(&view)), nil
}

// DeleteView takes a view away.
func (a *api) DeleteView(ctx context.Context, req DeleteViewRequestObject) (DeleteViewResponseObject, error) {
	if err := a.identity.DeleteView(ctx, callOf(ctx).principal, req.ProjectId, req.ViewId); err != nil {
		return nil, err
	}
	return DeleteView204Response{}, nil
}

func viewOf(v *identity.View) View {
	return View{
		Id: v.ID, Page: ViewPage(v.Page), Name: v.Name, Query: v.Query, CreatedBy: v.CreatedBy,
		CreatedAt: v.CreatedAt.UTC(), UpdatedAt: v.UpdatedAt.UTC(),
	}
}
