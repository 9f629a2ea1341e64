package httpapi

import (
	"context"
	"net/http"

	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/identity"
)

type accountHandlers struct {
	identity *identity.Service
}

// ListSessions lists the sessions of the caller.
func (h accountHandlers) ListSessions(ctx context.Context, _ contract.ListSessionsRequestObject) (contract.ListSessionsResponseObject, error) {
	sessions, err := h.identity.Sessions(ctx, grantOf(ctx), callOf(ctx).session)
	if err != nil {
		return nil, err
	}
	data := make([]contract.Session, len(sessions))
	for i, s := range sessions {
		data[i] = contract.Session{
			Id: s.ID, Current: s.Current, CreatedAt: s.CreatedAt.UTC(), LastSeenAt: s.LastSeenAt.UTC(), ExpiresAt: s.ExpiresAt.UTC(),
			UserAgent: s.UserAgent, Ip: s.IP,
		}
	}
	return contract.ListSessions200JSONResponse{Data: data}, nil
}

// EndSession ends a session of the caller.
func (h accountHandlers) EndSession(ctx context.Context, req contract.EndSessionRequestObject) (contract.EndSessionResponseObject, error) {
	if err := h.identity.EndSession(ctx, grantOf(ctx), req.UserSessionId); err != nil {
		return nil, err
	}
	return contract.EndSession204Response{}, nil
}

// EndOtherSessions ends all other sessions of the caller.
func (h accountHandlers) EndOtherSessions(ctx context.Context, _ contract.EndOtherSessionsRequestObject) (contract.EndOtherSessionsResponseObject, error) {
	ended, err := h.identity.EndOtherSessions(ctx, grantOf(ctx), callOf(ctx).session)
	if err != nil {
		return nil, err
	}
	return contract.EndOtherSessions200JSONResponse{Ended: ended}, nil
}

// ChangePassword changes the password of the caller.
func (h accountHandlers) ChangePassword(ctx context.Context, req contract.ChangePasswordRequestObject) (contract.ChangePasswordResponseObject, error) {
	request := callOf(ctx)
	err := h.identity.ChangePassword(ctx, request.grant, req.Body.CurrentPassword, req.Body.NewPassword, request.client, request.session)
	if err != nil {
		return nil, err
	}
	return contract.ChangePassword204Response{}, nil
}

// ReadPasswordReset describes whose password a link resets.
func (h accountHandlers) ReadPasswordReset(ctx context.Context, req contract.ReadPasswordResetRequestObject) (contract.ReadPasswordResetResponseObject, error) {
	reset, err := h.identity.PasswordResetOf(ctx, req.Body.Token)
	if err != nil {
		return nil, err
	}
	return contract.ReadPasswordReset200JSONResponse{Email: reset.Email, ExpiresAt: reset.ExpiresAt.UTC()}, nil
}

// UsePasswordReset sets a new password with a link, and logs in.
func (h accountHandlers) UsePasswordReset(ctx context.Context, req contract.UsePasswordResetRequestObject) (contract.UsePasswordResetResponseObject, error) {
	session, principal, err := h.identity.UsePasswordReset(ctx, req.Body.Token, req.Body.Password, callOf(ctx).client)
	if err != nil {
		return nil, err
	}
	return newSignedIn(ctx, http.StatusOK, session, principal), nil
}
