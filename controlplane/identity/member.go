package identity

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// Errors of changes to members.
var (
	// ErrLastOwner is returned if an organization would have no owner with an active account.
	ErrLastOwner = &problem.Error{
		Kind: problem.Conflict, Code: "last_owner", Detail: "An organization needs an owner with an active account. Make another member an owner first.",
	}
	errOwnersOnly = &problem.Error{
		Kind: problem.Forbidden, Code: "scope_missing", Detail: "Only an owner can grant the owner role or change an owner.",
	}
	errAdminsOnly = &problem.Error{
		Kind: problem.Forbidden, Code: "scope_missing", Detail: "This needs the admin role, which you no longer have here.",
	}
	errInherited = &problem.Error{
		Kind: problem.Conflict, Code: "role_of_organization", Detail: "This person has access through a role in the organization. Change it there.",
	}
	errStronger = &problem.Error{
		Kind: problem.Forbidden, Code: "scope_missing",
		Detail: "This account has a role that you do not have, here or in another organization or workspace. Ask an owner there.",
	}
	errOwnAccount = &problem.Error{
		Kind: problem.Conflict, Code: "own_account", Detail: "You cannot deactivate your own account. Ask another admin.",
	}
)

// Member is a user with roles in an organization or its workspaces.
type Member struct {
	UserID        uuid.UUID
	Email         string
	DeactivatedAt *time.Time
	// OrganizationRole is empty if the user only belongs to workspaces.
	OrganizationRole access.Role
	// JoinedAt is when the user got the first of the roles.
	JoinedAt time.Time
	// WorkspaceIDs, WorkspaceNames and WorkspaceRoles describe the roles in single workspaces.
	WorkspaceIDs   []uuid.UUID
	WorkspaceNames []string
	WorkspaceRoles []access.Role
}

// Role returns the strongest role of the member.
func (m *Member) Role() access.Role {
	role := m.OrganizationRole
	for _, other := range m.WorkspaceRoles {
		role = access.Strongest(role, other)
	}
	return role
}

// place is where a role is: an organization, or one of its workspaces.
type place struct {
	organization uuid.UUID
	// workspace is nil for the organization itself.
	workspace *uuid.UUID
}

// placeOf returns the place that the request named. It must name exactly one.
func placeOf(grant access.Grant) (place, error) {
	t := grant.Target
	switch {
	case t.Workspace != uuid.Nil && t.Organization == uuid.Nil:
		i := slices.IndexFunc(grant.Principal.Workspaces, func(w access.Workspace) bool { return w.ID == t.Workspace })
		if i < 0 {
			return place{}, problem.Missing()
		}
		return place{grant.Principal.Workspaces[i].OrganizationID, &t.Workspace}, nil
	case t.Organization != uuid.Nil && t.Workspace == uuid.Nil:
		if !slices.ContainsFunc(grant.Principal.Organizations, func(o access.Organization) bool { return o.ID == t.Organization }) {
			return place{}, problem.Missing()
		}
		return place{organization: t.Organization}, nil
	default:
		return place{}, problem.InvalidField("organization_id", "must be given, or workspace_id instead, but not both")
	}
}

func (at place) args(more pgx.NamedArgs) pgx.NamedArgs {
	more["organization"], more["workspace"] = at.organization, at.workspace
	return more
}

// Members returns one page of the members of an organization, including those who only belong to one of its workspaces,
// or of the users with access to a workspace.
func (s *Service) Members(ctx context.Context, grant access.Grant, page postgres.Page) (list []Member, more bool, err error) {
	at, err := placeOf(grant)
	if err != nil {
		return nil, false, err
	}
	return postgres.List[Member](ctx, s.db, "list members", page, at.args(pgx.NamedArgs{"user": nil}))
}

// member returns one member, or [postgres.ErrNotFound].
func member(ctx context.Context, db postgres.DB, at place, user uuid.UUID) (Member, error) {
	return postgres.One[Member](ctx, db, "list members", at.args(pgx.NamedArgs{"user": user, "limit": 1, "offset": 0}))
}

// SetRole gives a member of the organization a role in it or in one of its workspaces.
func (s *Service) SetRole(ctx context.Context, grant access.Grant, user uuid.UUID, role access.Role) (changed Member, err error) {
	at, err := placeOf(grant)
	if err != nil {
		return Member{}, err
	}
	err = s.asAdmin(ctx, grant, at, func(ctx context.Context, tx postgres.DB, mine access.Role) error {
		if _, err := member(ctx, tx, place{organization: at.organization}, user); err != nil {
			return err
		}
		present, err := roleOf(ctx, tx, at, user)
		if err != nil {
			return err
		}
		if (role == access.RoleOwner || present == access.RoleOwner) && mine != access.RoleOwner {
			return errOwnersOnly
		}
		if err := setRole(ctx, tx, at, user, role, s.now()); err != nil {
			return err
		}
		if err := s.endRoleChange(ctx, tx, at, user); err != nil {
			return err
		}
		changed, err = member(ctx, tx, at, user)
		return err
	})
	return changed, err
}

// Remove removes a member from the organization with all its workspaces, or from one workspace, and may revoke the member's keys there.
func (s *Service) Remove(ctx context.Context, grant access.Grant, user uuid.UUID, revokeKeys bool) error {
	at, err := placeOf(grant)
	if err != nil {
		return err
	}
	return s.asAdmin(ctx, grant, at, func(ctx context.Context, tx postgres.DB, mine access.Role) error {
		if _, err := member(ctx, tx, at, user); err != nil {
			return err
		}
		present, err := roleOf(ctx, tx, at, user)
		if err != nil {
			return err
		}
		if present == access.RoleOwner && mine != access.RoleOwner {
			return errOwnersOnly
		}
		err = remove(ctx, tx, at, user)
		if err == nil && revokeKeys {
			_, err = tx.Exec(ctx, "revoke keys of member", at.args(pgx.NamedArgs{"user": user, "now": s.now()}))
		}
		if err != nil {
			return err
		}
		return s.endRoleChange(ctx, tx, at, user)
	})
}

// Leave removes the caller from the organization with all its workspaces, or from one workspace.
func (s *Service) Leave(ctx context.Context, grant access.Grant) error {
	at, err := placeOf(grant)
	if err != nil {
		return err
	}
	return s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		if err := lock(ctx, tx, at); err != nil {
			return err
		}
		if err := remove(ctx, tx, at, grant.Principal.User.ID); err != nil {
			return err
		}
		return s.endRoleChange(ctx, tx, at, grant.Principal.User.ID)
	})
}

// lock locks the organization and the workspace, in this order, which prevents deadlocks. It returns
// [postgres.ErrNotFound] if one of them was deleted. The lock on the organization puts concurrent changes of its roles in
// order.
func lock(ctx context.Context, tx postgres.DB, at place) error {
	type row struct{ ID uuid.UUID }
	args := at.args(pgx.NamedArgs{})
	_, err := postgres.One[row](ctx, tx, "lock organization", args)
	if err == nil && at.workspace != nil {
		_, err = postgres.One[row](ctx, tx, "lock workspace", args)
	}
	return err
}

// asAdmin runs change in a transaction that has locked the place. The caller may have lost the role since the request was
// authorized, so it reads the role again. mine is the caller's role at the place.
func (s *Service) asAdmin(
	ctx context.Context, grant access.Grant, at place, change func(ctx context.Context, tx postgres.DB, mine access.Role) error,
) error {
	return s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		if err := lock(ctx, tx, at); err != nil {
			return err
		}
		roles, err := rolesOf(ctx, tx, grant.Principal.User.ID, true)
		if err != nil {
			return err
		}
		mine := strongestAt(roles, at)
		if access.Strongest(mine, access.RoleAdmin) != mine {
			return errAdminsOnly
		}
		return change(ctx, tx, mine)
	})
}

// endRoleChange ends a change of the user's roles. It revokes the invitations that the user could not create now. It returns
// [ErrLastOwner] if the organization would have no owner.
func (s *Service) endRoleChange(ctx context.Context, tx postgres.DB, at place, user uuid.UUID) error {
	if _, err := tx.Exec(ctx, "revoke invitations beyond role", at.args(pgx.NamedArgs{"user": user, "now": s.now()})); err != nil {
		return err
	}
	return checkOwners(ctx, tx, at.organization)
}

func checkOwners(ctx context.Context, tx postgres.DB, organization uuid.UUID) error {
	owners, err := postgres.Many[struct{ UserID uuid.UUID }](ctx, tx, "list active owners", pgx.NamedArgs{"organization": organization})
	if err == nil && len(owners) == 0 {
		return ErrLastOwner
	}
	return err
}

// roleOf returns the user's role at the place itself, empty if there is none.
func roleOf(ctx context.Context, tx postgres.DB, at place, user uuid.UUID) (access.Role, error) {
	roles, err := rolesOf(ctx, tx, user, false)
	if err != nil {
		return "", err
	}
	for _, row := range roles {
		if row.at() == at.key() {
			return row.Role, nil
		}
	}
	return "", nil
}

// rolesOf returns all roles of a user. With active it returns none for a deactivated account.
func rolesOf(ctx context.Context, db postgres.DB, user uuid.UUID, active bool) ([]roleRow, error) {
	return postgres.Many[roleRow](ctx, db, "read roles", pgx.NamedArgs{"user": user, "active": active})
}

// strongestAt returns the strongest of the roles that count at the place, empty if there is none.
func strongestAt(roles []roleRow, at place) access.Role {
	var strongest access.Role
	for _, row := range roles {
		if row.at() == at.key() || row.at() == (place{organization: at.organization}).key() {
			strongest = access.Strongest(strongest, row.Role)
		}
	}
	return strongest
}

// controls reports whether who has the roles mine may take over the account that has the roles theirs. That takes the
// role admin, and one at least as strong, wherever the account has a role.
func controls(mine, theirs []roleRow) bool {
	for _, row := range theirs {
		here := strongestAt(mine, place{row.OrganizationID, row.WorkspaceID})
		if access.Strongest(here, access.RoleAdmin) != here || access.Strongest(here, row.Role) != here {
			return false
		}
	}
	return len(theirs) > 0
}

// roleRow is a role of a user. WorkspaceID is nil for a role in the organization.
type roleRow struct {
	OrganizationID uuid.UUID
	WorkspaceID    *uuid.UUID
	Role           access.Role
}

func (r roleRow) at() [2]uuid.UUID { return place{r.OrganizationID, r.WorkspaceID}.key() }

// key returns the place as a comparable value.
func (at place) key() [2]uuid.UUID {
	if at.workspace == nil {
		return [2]uuid.UUID{at.organization}
	}
	return [2]uuid.UUID{at.organization, *at.workspace}
}

func setRole(ctx context.Context, tx postgres.DB, at place, user uuid.UUID, role access.Role, now time.Time) error {
	name := "set role in organization"
	if at.workspace != nil {
		name = "set role in workspace"
	}
	_, err := tx.Exec(ctx, name, at.args(pgx.NamedArgs{"user": user, "role": role, "now": now}))
	return err
}

// remove removes a member.
func remove(ctx context.Context, tx postgres.DB, at place, user uuid.UUID) error {
	if at.workspace == nil {
		_, err := tx.Exec(ctx, "remove from organization", at.args(pgx.NamedArgs{"user": user}))
		return err
	}
	removed, err := tx.Exec(ctx, "remove from workspace", at.args(pgx.NamedArgs{"user": user}))
	if err == nil && removed == 0 {
		return errInherited
	}
	return err
}

// Deactivate ends the sessions of an account and refuses its logins. The caller must be an admin, and at least as strong
// as the account, everywhere where the account has a role.
func (s *Service) Deactivate(ctx context.Context, grant access.Grant, user uuid.UUID) (Member, error) {
	if user == grant.Principal.User.ID {
		return Member{}, errOwnAccount
	}
	return s.changeAccount(ctx, grant, user, func(ctx context.Context, tx postgres.DB) error {
		// The reset before the user: see UsePasswordReset.
		for _, name := range []string{"remove password reset", "deactivate user", "end all sessions", "revoke invitations of user"} {
			if _, err := tx.Exec(ctx, name, pgx.NamedArgs{"user": user, "now": s.now()}); err != nil {
				return err
			}
		}
		mine, err := rolesOf(ctx, tx, user, false)
		for _, row := range mine {
			if row.WorkspaceID == nil && row.Role == access.RoleOwner && err == nil {
				err = checkOwners(ctx, tx, row.OrganizationID)
			}
		}
		return err
	})
}

// Reactivate allows the logins of an account again. See [Service.Deactivate] for what the caller needs.
func (s *Service) Reactivate(ctx context.Context, grant access.Grant, user uuid.UUID) (Member, error) {
	return s.changeAccount(ctx, grant, user, func(ctx context.Context, tx postgres.DB) error {
		_, err := tx.Exec(ctx, "reactivate user", pgx.NamedArgs{"user": user, "now": s.now()})
		return err
	})
}

// changeAccount runs change in a transaction for a member of the organization, and returns the member. An account
// belongs to all its organizations, so an admin of one of them must not take it over.
func (s *Service) changeAccount(
	ctx context.Context, grant access.Grant, user uuid.UUID, change func(ctx context.Context, tx postgres.DB) error,
) (changed Member, err error) {
	at, err := placeOf(grant)
	if err != nil {
		return Member{}, err
	}
	err = s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		if _, err := member(ctx, tx, at, user); err != nil {
			return err
		}
		// Neither the roles nor the owners may change until the end.
		if _, err := tx.Exec(ctx, "lock organizations of user", pgx.NamedArgs{"user": user}); err != nil {
			return err
		}
		theirs, err := rolesOf(ctx, tx, user, false)
		if err != nil {
			return err
		}
		mine, err := rolesOf(ctx, tx, grant.Principal.User.ID, true)
		if err != nil {
			return err
		}
		if !controls(mine, theirs) {
			return errStronger
		}
		if err := change(ctx, tx); err != nil {
			return err
		}
		changed, err = member(ctx, tx, at, user)
		return err
	})
	return changed, err
}

// CreatePasswordReset returns the token of a link with which the user sets a new password. It replaces an earlier one.
// The link works as long as the caller could create it. See [Service.Deactivate] for what the caller needs.
func (s *Service) CreatePasswordReset(ctx context.Context, grant access.Grant, user uuid.UUID) (Link, error) {
	now := s.now()
	link := Link{Token: newToken(), ExpiresAt: now.Add(passwordResetLifetime)}
	_, err := s.changeAccount(ctx, grant, user, func(ctx context.Context, tx postgres.DB) error {
		_, err := tx.Exec(ctx, "replace password reset", pgx.NamedArgs{
			"user": user, "hash": s.tokenHash(link.Token), "created_by": grant.CreatedBy(), "now": now, "expires": link.ExpiresAt,
		})
		return err
	})
	if err != nil {
		return Link{}, err
	}
	return link, nil
}
