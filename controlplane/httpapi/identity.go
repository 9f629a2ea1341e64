package httpapi

import (
	"context"
	"net/http"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/identity"
)

type identityHandlers struct {
	identity *identity.Service
}

// Login opens a session.
func (h identityHandlers) Login(ctx context.Context, req contract.LoginRequestObject) (contract.LoginResponseObject, error) {
	request := callOf(ctx)
	session, principal, err := h.identity.Login(ctx, req.Body.Email, req.Body.Password, request.client, request.session)
	if err != nil {
		return nil, err
	}
	return newSignedIn(ctx, http.StatusOK, session, principal), nil
}

// Logout ends the session.
func (h identityHandlers) Logout(ctx context.Context, _ contract.LogoutRequestObject) (contract.LogoutResponseObject, error) {
	request := callOf(ctx)
	if request.principal.User != nil { // a key has no session and stays valid
		if err := h.identity.Logout(ctx, request.session); err != nil {
			return nil, err
		}
	}
	cleared := request.cookie(sessionCookieName, "", 0).String()
	return contract.Logout204Response{Headers: contract.Logout204ResponseHeaders{SetCookie: &cleared}}, nil
}

// GetMe describes the caller.
func (h identityHandlers) GetMe(ctx context.Context, _ contract.GetMeRequestObject) (contract.GetMeResponseObject, error) {
	return contract.GetMe200JSONResponse(me(callOf(ctx).principal)), nil
}

func me(p *access.Principal) contract.Me {
	m := contract.Me{Organizations: make([]contract.OrganizationAccess, len(p.Organizations)), Projects: make([]contract.ProjectAccess, len(p.Projects))}
	if p.User != nil {
		m.User = &contract.User{Id: p.User.ID, Email: p.User.Email, CreatedAt: p.User.CreatedAt.UTC()}
	}
	if p.Key != nil {
		key := keyOf(*p.Key)
		m.Key = &key
	}
	for i, o := range p.Organizations {
		m.Organizations[i] = contract.OrganizationAccess{Id: o.ID, Name: o.Name, Role: roleOf(o.Role), Workspaces: []contract.WorkspaceAccess{}}
		for _, w := range p.Workspaces {
			if w.OrganizationID == o.ID {
				m.Organizations[i].Workspaces = append(m.Organizations[i].Workspaces, contract.WorkspaceAccess{Id: w.ID, Name: w.Name, Role: roleOf(w.Role)})
			}
		}
	}
	for i := range p.Projects {
		project, workspace := &p.Projects[i], &p.Projects[i].Workspace
		m.Projects[i] = contract.ProjectAccess{
			Id: project.ID, Name: project.Name, Sample: project.Sample, WorkspaceId: workspace.ID, WorkspaceName: workspace.Name,
			OrganizationId: workspace.OrganizationID, OrganizationName: workspace.OrganizationName, Scopes: scopesOf(project.Scopes),
			Role: roleOf(workspace.Role),
		}
	}
	return m
}

// GetSetup reports whether the first user exists.
func (h identityHandlers) GetSetup(ctx context.Context, _ contract.GetSetupRequestObject) (contract.GetSetupResponseObject, error) {
	done, err := h.identity.Bootstrapped(ctx)
	if err != nil {
		return nil, err
	}
	return contract.GetSetup200JSONResponse{Bootstrapped: done, TokenRequired: new(!done && h.identity.NeedsSetupToken())}, nil
}

// Setup creates the first user and logs in.
func (h identityHandlers) Setup(ctx context.Context, req contract.SetupRequestObject) (contract.SetupResponseObject, error) {
	session, principal, err := h.identity.Setup(ctx, identity.SetupRequest{
		Email: req.Body.Email, Password: req.Body.Password, OrganizationName: req.Body.OrgName, Token: valueOf(req.Body.SetupToken, ""),
	}, callOf(ctx).client)
	if err != nil {
		return nil, err
	}
	created := newSignedIn(ctx, http.StatusCreated, session, principal)
	created.location = "/v1/me"
	return created, nil
}
