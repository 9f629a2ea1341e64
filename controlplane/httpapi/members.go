package httpapi

import (
	"context"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/identity"
)

type memberHandlers struct {
	identity  *identity.Service
	addresses Addresses
}

// ListMembers lists the members of an organization or a workspace.
func (h memberHandlers) ListMembers(ctx context.Context, req contract.ListMembersRequestObject) (contract.ListMembersResponseObject, error) {
	page := pageOf(req.Params.Limit, req.Params.Offset)
	list, more, err := h.identity.Members(ctx, grantOf(ctx), page)
	if err != nil {
		return nil, err
	}
	data := make([]contract.Member, len(list))
	for i := range list {
		data[i] = memberOf(&list[i])
	}
	return contract.ListMembers200JSONResponse{Data: data, Limit: page.Limit, Offset: page.Offset, HasMore: more}, nil
}

// SetMemberRole sets the role of a member.
func (h memberHandlers) SetMemberRole(ctx context.Context, req contract.SetMemberRoleRequestObject) (contract.SetMemberRoleResponseObject, error) {
	m, err := h.identity.SetRole(ctx, grantOf(ctx), req.MemberId, access.Role(req.Body.Role))
	if err != nil {
		return nil, err
	}
	return contract.SetMemberRole200JSONResponse(memberOf(&m)), nil
}

// ListMemberKeys lists the keys of a member that work.
func (h memberHandlers) ListMemberKeys(ctx context.Context, req contract.ListMemberKeysRequestObject) (contract.ListMemberKeysResponseObject, error) {
	page := pageOf(req.Params.Limit, req.Params.Offset)
	list, more, err := h.identity.MemberKeys(ctx, grantOf(ctx), req.MemberId, page)
	if err != nil {
		return nil, err
	}
	data := make([]contract.Key, len(list))
	for i, k := range list {
		data[i] = keyOf(k)
	}
	return contract.ListMemberKeys200JSONResponse{Data: data, Limit: page.Limit, Offset: page.Offset, HasMore: more}, nil
}

// RemoveMember removes a member from an organization or a workspace.
func (h memberHandlers) RemoveMember(ctx context.Context, req contract.RemoveMemberRequestObject) (contract.RemoveMemberResponseObject, error) {
	if err := h.identity.Remove(ctx, grantOf(ctx), req.MemberId, req.Params.RevokeKeys != nil && *req.Params.RevokeKeys); err != nil {
		return nil, err
	}
	return contract.RemoveMember204Response{}, nil
}

// Leave removes the caller from an organization or a workspace.
func (h memberHandlers) Leave(ctx context.Context, _ contract.LeaveRequestObject) (contract.LeaveResponseObject, error) {
	if err := h.identity.Leave(ctx, grantOf(ctx)); err != nil {
		return nil, err
	}
	return contract.Leave204Response{}, nil
}

// DeactivateMember deactivates an account.
func (h memberHandlers) DeactivateMember(ctx context.Context, req contract.DeactivateMemberRequestObject) (contract.DeactivateMemberResponseObject, error) {
	m, err := h.identity.Deactivate(ctx, grantOf(ctx), req.MemberId)
	if err != nil {
		return nil, err
	}
	return contract.DeactivateMember200JSONResponse(memberOf(&m)), nil
}

// ReactivateMember reactivates an account.
func (h memberHandlers) ReactivateMember(ctx context.Context, req contract.ReactivateMemberRequestObject) (contract.ReactivateMemberResponseObject, error) {
	m, err := h.identity.Reactivate(ctx, grantOf(ctx), req.MemberId)
	if err != nil {
		return nil, err
	}
	return contract.ReactivateMember200JSONResponse(memberOf(&m)), nil
}

// CreatePasswordReset creates a link to set a new password.
func (h memberHandlers) CreatePasswordReset(ctx context.Context, req contract.CreatePasswordResetRequestObject) (contract.CreatePasswordResetResponseObject, error) {
	link, err := h.identity.CreatePasswordReset(ctx, grantOf(ctx), req.MemberId)
	if err != nil {
		return nil, err
	}
	return contract.CreatePasswordReset201JSONResponse{
		UserId: req.MemberId, Url: h.addresses.of(ctx) + "/reset-password#" + link.Token, ExpiresAt: link.ExpiresAt,
	}, nil
}

func memberOf(m *identity.Member) contract.Member {
	workspaces := make([]contract.WorkspaceMembership, len(m.WorkspaceIDs))
	for i := range m.WorkspaceIDs {
		workspaces[i] = contract.WorkspaceMembership{
			WorkspaceId: m.WorkspaceIDs[i], WorkspaceName: m.WorkspaceNames[i], Role: contract.Role(m.WorkspaceRoles[i]),
		}
	}
	return contract.Member{
		UserId: m.UserID, Email: m.Email, Role: contract.Role(m.Role()), OrganizationRole: roleOf(m.OrganizationRole),
		Workspaces: workspaces, JoinedAt: m.JoinedAt.UTC(), DeactivatedAt: utc(m.DeactivatedAt),
	}
}
