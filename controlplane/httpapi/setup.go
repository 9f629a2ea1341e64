package httpapi

import (
	"context"

	"github.com/looptrace/looptrace/controlplane/identity"
)

// GetSetup tells whether the first user exists.
func (a *api) GetSetup(ctx context.Context, _ GetSetupRequestObject) (GetSetupResponseObject, error) {
	done, err := a.identity.Bootstrapped(ctx)
	if err != nil {
		return nil, err
	}
	return GetSetup200JSONResponse{Bootstrapped: done}, nil
}

// Setup makes the first user and logs in.
func (a *api) Setup(ctx context.Context, req SetupRequestObject) (SetupResponseObject, error) {
	session, principal, err := a.identity.Setup(ctx, identity.SetupRequest{
		Email: req.Body.Email, Password: req.Body.Password, OrganizationName: req.Body.OrgName,
	}, callOf(ctx).client)
	if err != nil {
		return nil, err
	}
	location := "/v1/me"
	return Setup201JSONResponse{
		Body:    me(principal),
		Headers: Setup201ResponseHeaders{Location: &location, SetCookie: sessionCookie(ctx, session)},
	}, nil
}
