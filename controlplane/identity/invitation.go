package identity

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// Errors of invitations.
var (
	// ErrInvitationAccepted is returned for an invitation that someone has accepted.
	ErrInvitationAccepted = &problem.Error{
		Kind: problem.Conflict, Code: "invitation_accepted", Detail: "This invitation was already accepted. If you accepted it, log in. Otherwise ask for a new one.",
	}
	errInvitationRevoked = &problem.Error{
		Kind: problem.Conflict, Code: "invitation_revoked", Detail: "This invitation was revoked. Ask for a new one.",
	}
	errInvitationExpired = &problem.Error{
		Kind: problem.Conflict, Code: "invitation_expired", Detail: "This invitation has expired. Ask for a new one.",
	}
	errInvitationForOther = &problem.Error{
		Kind: problem.Conflict, Code: "invitation_for_other", Detail: "This invitation is for another email address.",
	}
	errAccountExists = &problem.Error{
		Kind: problem.Conflict, Code: "account_exists", Detail: "This email address has an account now. Try again with its password.",
	}
)

const (
	invitationLifetime    = 7 * 24 * time.Hour
	maxInvitationLifetime = 30 * 24 * time.Hour
	// invitationMemory is how long an ended invitation is listed.
	invitationMemory = 90 * 24 * time.Hour
)

// InvitationState is what became of an invitation.
type InvitationState string

// The states of invitations.
const (
	InvitationPending  InvitationState = "pending"
	InvitationAccepted InvitationState = "accepted"
	InvitationRevoked  InvitationState = "revoked"
	InvitationExpired  InvitationState = "expired"
)

// Invitation describes an invitation without its token.
type Invitation struct {
	ID               uuid.UUID
	OrganizationID   uuid.UUID
	OrganizationName string
	// WorkspaceID and WorkspaceName are nil for a role in the organization.
	WorkspaceID   *uuid.UUID
	WorkspaceName *string
	Role          access.Role
	State         InvitationState
	// Email is the only address that can accept the invitation, if not nil.
	Email     *string
	CreatedAt time.Time
	// CreatedBy and AcceptedBy are email addresses, nil if the account was deleted.
	CreatedBy  *string
	ExpiresAt  time.Time
	AcceptedAt *time.Time
	AcceptedBy *string
}

// NewInvitation describes an invitation to create. Email and ExpiresAt may be nil.
type NewInvitation struct {
	Role      access.Role
	Email     *string
	ExpiresAt *time.Time
}

// Invitations returns one page of the invitations to an organization with its workspaces, or to a workspace, newest
// first.
func (s *Service) Invitations(ctx context.Context, grant access.Grant, page postgres.Page) (list []Invitation, more bool, err error) {
	at, err := placeOf(grant)
	if err != nil {
		return nil, false, err
	}
	now := s.now()
	args := pgx.NamedArgs{
		"organizations": []uuid.UUID{at.organization}, "workspaces": nil, "id": nil, "now": now, "since": now.Add(-invitationMemory),
	}
	if at.workspace != nil {
		args["organizations"], args["workspaces"] = nil, []uuid.UUID{*at.workspace}
	}
	return postgres.List[Invitation](ctx, s.db, "list invitations", page, args)
}

// Invitation returns one invitation, or [postgres.ErrNotFound].
func (s *Service) Invitation(ctx context.Context, grant access.Grant, id uuid.UUID) (Invitation, error) {
	now := s.now()
	return postgres.One[Invitation](ctx, s.db, "list invitations", pgx.NamedArgs{
		"organizations": grant.Organizations(), "workspaces": grant.Workspaces(), "id": id, "now": now, "since": now.Add(-invitationMemory),
		"limit": 1, "offset": 0,
	})
}

// Invite creates an invitation and returns it with the token of its link.
func (s *Service) Invite(ctx context.Context, grant access.Grant, req NewInvitation) (Invitation, Link, error) {
	at, err := placeOf(grant)
	if err != nil {
		return Invitation{}, Link{}, err
	}
	now := s.now()
	link := Link{Token: newToken(), ExpiresAt: now.Add(invitationLifetime)}
	if req.ExpiresAt != nil {
		link.ExpiresAt = req.ExpiresAt.UTC().Truncate(time.Microsecond)
		if !link.ExpiresAt.After(now) || link.ExpiresAt.After(now.Add(maxInvitationLifetime)) {
			return Invitation{}, Link{}, problem.InvalidField("body.expires_at", "must be in the next 30 days")
		}
	}
	if req.Email != nil {
		email, err := validate.Email("body.email", *req.Email)
		if err != nil {
			return Invitation{}, Link{}, err
		}
		req.Email = &email
	}
	id := postgres.NewID()
	var created Invitation
	err = s.asAdmin(ctx, grant, at, func(ctx context.Context, tx postgres.DB, mine access.Role) error {
		if req.Role == access.RoleOwner && mine != access.RoleOwner {
			return errOwnersOnly
		}
		args := at.args(pgx.NamedArgs{
			"id": id, "role": req.Role, "email": req.Email, "hash": s.tokenHash(link.Token), "created_by": grant.CreatedBy(),
			"now": now, "expires": link.ExpiresAt, "since": now.Add(-invitationMemory),
		})
		for _, name := range []string{"remove old invitations", "create invitation"} {
			if _, err := tx.Exec(ctx, name, args); err != nil {
				return err
			}
		}
		created, err = postgres.One[Invitation](ctx, tx, "read invitation by token", args)
		return err
	})
	if err != nil {
		return Invitation{}, Link{}, err
	}
	return created, link, nil
}

// RevokeInvitation revokes an invitation. It returns [ErrInvitationAccepted] if the invitation was accepted.
func (s *Service) RevokeInvitation(ctx context.Context, grant access.Grant, id uuid.UUID) error {
	if _, err := s.Invitation(ctx, grant, id); err != nil {
		return err
	}
	revoked, err := s.db.Exec(ctx, "revoke invitation", pgx.NamedArgs{"id": id, "now": s.now()})
	if err != nil || revoked > 0 {
		return err
	}
	now, err := s.Invitation(ctx, grant, id)
	if err == nil && now.AcceptedAt != nil {
		return ErrInvitationAccepted
	}
	return err
}

// InvitationOf returns the pending invitation of a link. It returns [postgres.ErrNotFound] for an unknown token, and an
// error that says why an ended invitation no longer works.
func (s *Service) InvitationOf(ctx context.Context, token string) (Invitation, error) {
	i, err := postgres.One[Invitation](ctx, s.db, "read invitation by token", pgx.NamedArgs{"hash": s.tokenHash(token), "now": s.now()})
	if err != nil {
		return Invitation{}, err
	}
	switch i.State {
	case InvitationAccepted:
		return Invitation{}, ErrInvitationAccepted
	case InvitationRevoked:
		return Invitation{}, errInvitationRevoked
	case InvitationExpired:
		return Invitation{}, errInvitationExpired
	default:
		return i, nil
	}
}

// AcceptInvitation gives the invitation's role to the account with the email address and opens a session. It creates
// the account if there is none. Otherwise the password must be that of the account.
func (s *Service) AcceptInvitation(ctx context.Context, token, email, password string, client Client) (Session, *access.Principal, error) {
	invitation, err := s.InvitationOf(ctx, token)
	if err != nil {
		return Session{}, nil, err
	}
	if email, err = validate.Email("body.email", email); err != nil {
		return Session{}, nil, err
	}
	if !invitation.isFor(email) {
		return Session{}, nil, errInvitationForOther
	}
	session, row := s.newSession(email, client)
	var (
		user account
		hash string // of a new account
	)
	switch _, err := s.userByEmail(ctx, email); {
	case errors.Is(err, postgres.ErrNotFound):
		user.User = access.User{ID: postgres.NewID(), Email: email, CreatedAt: row.createdAt}
		if err := checkPassword("body.password", password, email); err != nil {
			return Session{}, nil, err
		}
		if hash, err = s.hasher.hash(ctx, password); err != nil {
			return Session{}, nil, err
		}
	case err != nil:
		return Session{}, nil, err
	default:
		if user, err = s.authenticate(ctx, email, password, client); err != nil {
			return Session{}, nil, err
		}
	}
	err = s.accept(ctx, token, invitation, func(ctx context.Context, tx postgres.DB) (*access.User, error) {
		if hash != "" {
			args := pgx.NamedArgs{"user": user.ID, "email": email, "password_hash": hash, "now": row.createdAt}
			if _, err := tx.Exec(ctx, "create user", args); err != nil {
				return nil, err
			}
		} else if err := user.lock(ctx, tx); err != nil {
			return nil, err
		}
		return &user.User, open(ctx, tx, user.ID, row)
	})
	if postgres.Violates(err, "users_email_key") {
		return Session{}, nil, errAccountExists
	}
	if err != nil {
		return Session{}, nil, err
	}
	p, err := s.userPrincipal(ctx, &user.User)
	return session, p, err
}

// Join gives the invitation's role to the caller.
func (s *Service) Join(ctx context.Context, grant access.Grant, token string) (*access.Principal, error) {
	invitation, err := s.InvitationOf(ctx, token)
	if err != nil {
		return nil, err
	}
	user := grant.Principal.User
	if !invitation.isFor(user.Email) {
		return nil, errInvitationForOther
	}
	if err := s.accept(ctx, token, invitation, func(context.Context, postgres.DB) (*access.User, error) { return user, nil }); err != nil {
		return nil, err
	}
	return s.userPrincipal(ctx, user)
}

func (i *Invitation) isFor(email string) bool {
	return i.Email == nil || strings.EqualFold(*i.Email, email)
}

// accept uses up an invitation and gives its role to the user that enter returns, in one transaction. Of concurrent uses
// one succeeds. A stronger role that the user has stays.
func (s *Service) accept(
	ctx context.Context, token string, invitation Invitation, enter func(ctx context.Context, tx postgres.DB) (*access.User, error),
) error {
	at, now := place{invitation.OrganizationID, invitation.WorkspaceID}, s.now()
	var used int64
	err := s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		args := pgx.NamedArgs{"hash": s.tokenHash(token), "now": now}
		if err := lock(ctx, tx, at); err != nil {
			return err
		}
		var err error
		if used, err = tx.Exec(ctx, "accept invitation", args); err != nil || used == 0 {
			return err
		}
		user, err := enter(ctx, tx)
		if err != nil {
			return err
		}
		present, err := roleOf(ctx, tx, at, user.ID)
		if err != nil {
			return err
		}
		if err := setRole(ctx, tx, at, user.ID, access.Strongest(present, invitation.Role), now); err != nil {
			return err
		}
		args["user"] = user.ID
		_, err = tx.Exec(ctx, "note who accepted invitation", args)
		return err
	})
	if err != nil || used > 0 {
		return err
	}
	if _, err := s.InvitationOf(ctx, token); err != nil {
		return err // says what became of it
	}
	return ErrInvitationAccepted
}
