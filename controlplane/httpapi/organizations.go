package httpapi

import (
	"context"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/organizations"
	"github.com/looptrace/looptrace/controlplane/runs"
)

type organizationHandlers struct {
	organizations *organizations.Service
	runs          *runs.Service
}

// ListOrganizations lists the organizations that the caller belongs to.
func (h organizationHandlers) ListOrganizations(ctx context.Context, req contract.ListOrganizationsRequestObject) (contract.ListOrganizationsResponseObject, error) {
	grant, page := grantOf(ctx), pageOf(req.Params.Limit, req.Params.Offset)
	list, more, err := h.organizations.List(ctx, grant, page)
	if err != nil {
		return nil, err
	}
	data := make([]contract.Organization, len(list))
	for i, o := range list {
		data[i] = organizationOf(grant.Principal, o)
	}
	return contract.ListOrganizations200JSONResponse{Data: data, Limit: page.Limit, Offset: page.Offset, HasMore: more}, nil
}

// CreateOrganization creates an organization that the caller owns.
func (h organizationHandlers) CreateOrganization(ctx context.Context, req contract.CreateOrganizationRequestObject) (contract.CreateOrganizationResponseObject, error) {
	created, err := h.organizations.Create(ctx, grantOf(ctx), req.Body.Name)
	if err != nil {
		return nil, err
	}
	answer := organizationOf(grantOf(ctx).Principal, created)
	answer.Role = roleOf(access.RoleOwner)
	location := "/v1/organizations/" + created.ID.String()
	return contract.CreateOrganization201JSONResponse{
		Body: answer, Headers: contract.CreateOrganization201ResponseHeaders{Location: &location},
	}, nil
}

// GetOrganization reads an organization.
func (h organizationHandlers) GetOrganization(ctx context.Context, _ contract.GetOrganizationRequestObject) (contract.GetOrganizationResponseObject, error) {
	o, err := h.organizations.Get(ctx, grantOf(ctx))
	if err != nil {
		return nil, err
	}
	return contract.GetOrganization200JSONResponse(organizationOf(grantOf(ctx).Principal, o)), nil
}

// UpdateOrganization renames an organization.
func (h organizationHandlers) UpdateOrganization(ctx context.Context, req contract.UpdateOrganizationRequestObject) (contract.UpdateOrganizationResponseObject, error) {
	o, err := h.organizations.Rename(ctx, grantOf(ctx), req.Body.Name)
	if err != nil {
		return nil, err
	}
	return contract.UpdateOrganization200JSONResponse(organizationOf(grantOf(ctx).Principal, o)), nil
}

// DeleteOrganization deletes an organization with everything in it.
func (h organizationHandlers) DeleteOrganization(ctx context.Context, req contract.DeleteOrganizationRequestObject) (contract.DeleteOrganizationResponseObject, error) {
	if err := h.organizations.Delete(ctx, grantOf(ctx), valueOf(req.Params.Confirm, "")); err != nil {
		return nil, err
	}
	return contract.DeleteOrganization204Response{}, nil
}

// ListWorkspaces lists the workspaces that the caller belongs to.
func (h organizationHandlers) ListWorkspaces(ctx context.Context, req contract.ListWorkspacesRequestObject) (contract.ListWorkspacesResponseObject, error) {
	grant, page := grantOf(ctx), pageOf(req.Params.Limit, req.Params.Offset)
	list, more, err := h.organizations.Workspaces(ctx, grant, page)
	if err != nil {
		return nil, err
	}
	data := make([]contract.Workspace, len(list))
	for i, w := range list {
		data[i] = workspaceOf(grant.Principal, w)
	}
	return contract.ListWorkspaces200JSONResponse{Data: data, Limit: page.Limit, Offset: page.Offset, HasMore: more}, nil
}

// CreateWorkspace creates a workspace in an organization.
func (h organizationHandlers) CreateWorkspace(ctx context.Context, req contract.CreateWorkspaceRequestObject) (contract.CreateWorkspaceResponseObject, error) {
	created, err := h.organizations.CreateWorkspace(ctx, grantOf(ctx), req.Body.Name)
	if err != nil {
		return nil, err
	}
	location := "/v1/workspaces/" + created.ID.String()
	return contract.CreateWorkspace201JSONResponse{
		Body: workspaceOf(grantOf(ctx).Principal, created), Headers: contract.CreateWorkspace201ResponseHeaders{Location: &location},
	}, nil
}

// GetWorkspace reads a workspace.
func (h organizationHandlers) GetWorkspace(ctx context.Context, _ contract.GetWorkspaceRequestObject) (contract.GetWorkspaceResponseObject, error) {
	w, err := h.organizations.Workspace(ctx, grantOf(ctx))
	if err != nil {
		return nil, err
	}
	return contract.GetWorkspace200JSONResponse(workspaceOf(grantOf(ctx).Principal, w)), nil
}

// UpdateWorkspace renames a workspace.
func (h organizationHandlers) UpdateWorkspace(ctx context.Context, req contract.UpdateWorkspaceRequestObject) (contract.UpdateWorkspaceResponseObject, error) {
	w, err := h.organizations.RenameWorkspace(ctx, grantOf(ctx), req.Body.Name)
	if err != nil {
		return nil, err
	}
	return contract.UpdateWorkspace200JSONResponse(workspaceOf(grantOf(ctx).Principal, w)), nil
}

// DeleteWorkspace deletes a workspace with everything in it.
func (h organizationHandlers) DeleteWorkspace(ctx context.Context, req contract.DeleteWorkspaceRequestObject) (contract.DeleteWorkspaceResponseObject, error) {
	if err := h.organizations.DeleteWorkspace(ctx, grantOf(ctx), valueOf(req.Params.Confirm, "")); err != nil {
		return nil, err
	}
	return contract.DeleteWorkspace204Response{}, nil
}

// GetOrganizationContents counts what goes with an organization.
func (h organizationHandlers) GetOrganizationContents(ctx context.Context, _ contract.GetOrganizationContentsRequestObject) (contract.GetOrganizationContentsResponseObject, error) {
	contents, err := h.contents(ctx)
	return contract.GetOrganizationContents200JSONResponse(contents), err
}

// GetWorkspaceContents counts what goes with a workspace.
func (h organizationHandlers) GetWorkspaceContents(ctx context.Context, _ contract.GetWorkspaceContentsRequestObject) (contract.GetWorkspaceContentsResponseObject, error) {
	contents, err := h.contents(ctx)
	return contract.GetWorkspaceContents200JSONResponse(contents), err
}

// GetProjectContents counts what goes with a project.
func (h organizationHandlers) GetProjectContents(ctx context.Context, _ contract.GetProjectContentsRequestObject) (contract.GetProjectContentsResponseObject, error) {
	contents, err := h.contents(ctx)
	return contract.GetProjectContents200JSONResponse(contents), err
}

func (h organizationHandlers) contents(ctx context.Context) (contract.Contents, error) {
	grant := grantOf(ctx)
	c, err := h.organizations.Contents(ctx, grant)
	if err != nil {
		return contract.Contents{}, err
	}
	stored, err := h.runs.Count(ctx, grant.Projects)
	if err != nil {
		return contract.Contents{}, err
	}
	return contract.Contents{
		Name: c.Name, Workspaces: c.Workspaces, Projects: int64(len(grant.IDs())), Keys: c.Keys, Members: c.Members, Runs: count(stored),
	}, nil
}

func organizationOf(p *access.Principal, o organizations.Organization) contract.Organization {
	return contract.Organization{
		Id: o.ID, Name: o.Name, Role: roleOf(p.OrganizationRole(o.ID)), CreatedAt: o.CreatedAt.UTC(), UpdatedAt: o.UpdatedAt.UTC(),
	}
}

func workspaceOf(p *access.Principal, w organizations.Workspace) contract.Workspace {
	role := p.WorkspaceRole(w.ID)
	if role == "" { // it is new
		role = p.OrganizationRole(w.OrganizationID)
	}
	return contract.Workspace{
		Id: w.ID, OrganizationId: w.OrganizationID, Name: w.Name, Role: roleOf(role), CreatedAt: w.CreatedAt.UTC(), UpdatedAt: w.UpdatedAt.UTC(),
	}
}

// roleOf returns nil for the empty role.
func roleOf(role access.Role) *contract.Role {
	if role == "" {
		return nil
	}
	r := contract.Role(role)
	return &r
}
