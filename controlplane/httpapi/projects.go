package httpapi

import (
	"context"

	"github.com/looptrace/looptrace/controlplane/identity"
)

// ListProjects lists what the caller sees.
func (a *api) ListProjects(ctx context.Context, req ListProjectsRequestObject) (ListProjectsResponseObject, error) {
	page := pageOf(req.Params.Limit, req.Params.Offset)
	list, more, err := a.identity.Projects(ctx, callOf(ctx).principal, page)
	if err != nil {
		return nil, err
	}
	data := make([]Project, len(list))
	for i, p := range list {
		data[i] = projectOf(p)
	}
	return ListProjects200JSONResponse{Data: data, Limit: page.Limit, Offset: page.Offset, HasMore: more}, nil
}

// CreateProject makes a project in a workspace.
func (a *api) CreateProject(ctx context.Context, req CreateProjectRequestObject) (CreateProjectResponseObject, error) {
	project, err := a.identity.CreateProject(ctx, callOf(ctx).principal, req.Body.WorkspaceId, req.Body.Name)
	if err != nil {
		return nil, err
	}
	location := "/v1/projects/" + project.ID.String()
	return CreateProject201JSONResponse{
		Body:    projectOf(project),
		Headers: CreateProject201ResponseHeaders{Location: &location},
	}, nil
}

// GetProject reads a project.
func (a *api) GetProject(ctx context.Context, req GetProjectRequestObject) (GetProjectResponseObject, error) {
	project, err := a.identity.Project(ctx, callOf(ctx).principal, req.ProjectId)
	if err != nil {
		return nil, err
	}
	return GetProject200JSONResponse(projectOf(project)), nil
}

// UpdateProject changes the fields that are given.
func (a *api) UpdateProject(ctx context.Context, req UpdateProjectRequestObject) (UpdateProjectResponseObject, error) {
	project, err := a.identity.UpdateProject(ctx, callOf(ctx).principal, req.ProjectId, req.Body.Name)
	if err != nil {
		return nil, err
	}
	return UpdateProject200JSONResponse(projectOf(project)), nil
}

func projectOf(p identity.Project) Project {
	return Project{
		Id: p.ID, WorkspaceId: p.WorkspaceID, Name: p.Name,
		CreatedAt: p.CreatedAt.UTC(), UpdatedAt: p.UpdatedAt.UTC(),
	}
}

// defaultLimit is the length of a page where the request does not say.
const defaultLimit = 50

func pageOf(limit, offset *int) identity.Page {
	page := identity.Page{Limit: defaultLimit}
	if limit != nil {
		page.Limit = *limit
	}
	if offset != nil {
		page.Offset = *offset
	}
	return page
}
