package httpapi

import (
	"context"
	"net/http"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/identity"
)

type invitationHandlers struct {
	identity  *identity.Service
	addresses Addresses
}

// ListInvitations lists the invitations to an organization or a workspace.
func (h invitationHandlers) ListInvitations(ctx context.Context, req contract.ListInvitationsRequestObject) (contract.ListInvitationsResponseObject, error) {
	page := pageOf(req.Params.Limit, req.Params.Offset)
	list, more, err := h.identity.Invitations(ctx, grantOf(ctx), page)
	if err != nil {
		return nil, err
	}
	data := make([]contract.Invitation, len(list))
	for i := range list {
		data[i] = invitationOf(&list[i])
	}
	return contract.ListInvitations200JSONResponse{Data: data, Limit: page.Limit, Offset: page.Offset, HasMore: more}, nil
}

// CreateInvitation creates an invitation.
func (h invitationHandlers) CreateInvitation(ctx context.Context, req contract.CreateInvitationRequestObject) (contract.CreateInvitationResponseObject, error) {
	created, link, err := h.identity.Invite(ctx, grantOf(ctx), identity.NewInvitation{
		Role: access.Role(req.Body.Role), Email: req.Body.Email, ExpiresAt: req.Body.ExpiresAt,
	})
	if err != nil {
		return nil, err
	}
	i, location := invitationOf(&created), "/v1/invitations/"+created.ID.String()
	return contract.CreateInvitation201JSONResponse{
		Body: contract.InvitationWithLink{
			Id: i.Id, OrganizationId: i.OrganizationId, OrganizationName: i.OrganizationName, WorkspaceId: i.WorkspaceId,
			WorkspaceName: i.WorkspaceName, Role: i.Role, Email: i.Email, State: contract.InvitationWithLinkState(i.State),
			CreatedAt: i.CreatedAt, CreatedBy: i.CreatedBy, ExpiresAt: i.ExpiresAt, AcceptedAt: i.AcceptedAt, AcceptedBy: i.AcceptedBy,
			Url: h.addresses.of(ctx) + "/invite#" + link.Token,
		},
		Headers: contract.CreateInvitation201ResponseHeaders{Location: &location},
	}, nil
}

// GetInvitation reads an invitation without its link.
func (h invitationHandlers) GetInvitation(ctx context.Context, req contract.GetInvitationRequestObject) (contract.GetInvitationResponseObject, error) {
	i, err := h.identity.Invitation(ctx, grantOf(ctx), req.InvitationId)
	if err != nil {
		return nil, err
	}
	return contract.GetInvitation200JSONResponse(invitationOf(&i)), nil
}

// RevokeInvitation revokes an invitation.
func (h invitationHandlers) RevokeInvitation(ctx context.Context, req contract.RevokeInvitationRequestObject) (contract.RevokeInvitationResponseObject, error) {
	if err := h.identity.RevokeInvitation(ctx, grantOf(ctx), req.InvitationId); err != nil {
		return nil, err
	}
	return contract.RevokeInvitation204Response{}, nil
}

// ReadInvitation describes the invitation of a link.
func (h invitationHandlers) ReadInvitation(ctx context.Context, req contract.ReadInvitationRequestObject) (contract.ReadInvitationResponseObject, error) {
	i, err := h.identity.InvitationOf(ctx, req.Body.Token)
	if err != nil {
		return nil, err
	}
	return contract.ReadInvitation200JSONResponse{
		OrganizationName: i.OrganizationName, WorkspaceName: i.WorkspaceName, Role: contract.Role(i.Role), Email: i.Email,
		CreatedBy: i.CreatedBy, ExpiresAt: i.ExpiresAt.UTC(),
	}, nil
}

// AcceptInvitation accepts an invitation with an email address and a password, and logs in.
func (h invitationHandlers) AcceptInvitation(ctx context.Context, req contract.AcceptInvitationRequestObject) (contract.AcceptInvitationResponseObject, error) {
	session, principal, err := h.identity.AcceptInvitation(ctx, req.Body.Token, req.Body.Email, req.Body.Password, callOf(ctx).client)
	if err != nil {
		return nil, err
	}
	return newSignedIn(ctx, http.StatusOK, session, principal), nil
}

// JoinByInvitation accepts an invitation for the caller.
func (h invitationHandlers) JoinByInvitation(ctx context.Context, req contract.JoinByInvitationRequestObject) (contract.JoinByInvitationResponseObject, error) {
	principal, err := h.identity.Join(ctx, grantOf(ctx), req.Body.Token)
	if err != nil {
		return nil, err
	}
	return contract.JoinByInvitation200JSONResponse(me(principal)), nil
}

func invitationOf(i *identity.Invitation) contract.Invitation {
	return contract.Invitation{
		Id: i.ID, OrganizationId: i.OrganizationID, OrganizationName: i.OrganizationName, WorkspaceId: i.WorkspaceID,
		WorkspaceName: i.WorkspaceName, Role: contract.Role(i.Role), Email: i.Email, State: contract.InvitationState(i.State),
		CreatedAt: i.CreatedAt.UTC(), CreatedBy: i.CreatedBy, ExpiresAt: i.ExpiresAt.UTC(), AcceptedAt: utc(i.AcceptedAt), AcceptedBy: i.AcceptedBy,
	}
}
