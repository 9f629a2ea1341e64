package httpapi

import (
	"context"
	"net/http"

	"github.com/looptrace/looptrace/controlplane/identity"
)

// Login opens a session.
func (a *api) Login(ctx context.Context, req LoginRequestObject) (LoginResponseObject, error) {
	request := callOf(ctx)
	session, principal, err := a.identity.Login(ctx, req.Body.Email, req.Body.Password, request.client, request.session)
	if err != nil {
		return nil, err
	}
	return Login200JSONResponse{
		Body:    me(principal),
		Headers: Login200ResponseHeaders{SetCookie: sessionCookie(ctx, session)},
	}, nil
}

// Logout ends the session.
func (a *api) Logout(ctx context.Context, _ LogoutRequestObject) (LogoutResponseObject, error) {
	if err := a.identity.Logout(ctx, callOf(ctx).principal); err != nil {
		return nil, err
	}
	return Logout204Response{Headers: Logout204ResponseHeaders{SetCookie: clearedCookie(ctx)}}, nil
}

// GetMe describes the caller.
func (a *api) GetMe(ctx context.Context, _ GetMeRequestObject) (GetMeResponseObject, error) {
	return GetMe200JSONResponse(me(callOf(ctx).principal)), nil
}

func me(p *identity.Principal) Me {
	m := Me{Projects: make([]ProjectAccess, len(p.Projects))}
	if p.User != nil {
		m.User = &User{Id: p.User.ID, Email: p.User.Email, CreatedAt: p.User.CreatedAt.UTC()}
	}
	if p.Key != nil {
		key := keyOf(*p.Key)
		m.Key = &key
	}
	for i, access := range p.Projects {
		m.Projects[i] = ProjectAccess{
			Id: access.ProjectID, Name: access.ProjectName,
			WorkspaceId: access.WorkspaceID, WorkspaceName: access.WorkspaceName,
			OrganizationId: access.OrganizationID, OrganizationName: access.OrganizationName,
			Scopes: scopesOf(access.Scopes),
		}
		if access.Role != "" {
			role := Role(access.Role)
			m.Projects[i].Role = &role
		}
	}
	return m
}

func sessionCookie(ctx context.Context, session identity.Session) *string {
	return setCookie(ctx, session.Token, int(identity.SessionLifetime.Seconds()))
}

func clearedCookie(ctx context.Context) *string { return setCookie(ctx, "", -1) }

func setCookie(ctx context.Context, value string, maxAge int) *string {
	https := callOf(ctx).https
	header := (&http.Cookie{ //nolint:gosec // Secure wherever the browser would keep it
		Name: cookieName(https), Value: value, MaxAge: maxAge, Path: "/",
		Secure: https, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}).String()
	return &header
}
