package identity

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// passwordResetLifetime is how long the link to set a new password works.
const passwordResetLifetime = 24 * time.Hour

// Link is a new link. Only a hash of Token is stored.
type Link struct {
	Token     string
	ExpiresAt time.Time
}

// OpenSession describes a session of a user.
type OpenSession struct {
	ID uuid.UUID
	// Current is whether it is the session of the request.
	Current    bool
	CreatedAt  time.Time
	LastSeenAt time.Time
	ExpiresAt  time.Time
	UserAgent  string
	IP         *string
}

// Sessions returns the sessions of the caller, last used first. current is that of the request.
func (s *Service) Sessions(ctx context.Context, grant access.Grant, current Presented) ([]OpenSession, error) {
	now := s.now()
	return postgres.Many[OpenSession](ctx, s.db, "list sessions", pgx.NamedArgs{
		"user": grant.Principal.User.ID, "hash": s.sessionHash(current), "now": now, "idle": now.Add(-sessionIdle),
	})
}

// EndSession ends a session of the caller.
func (s *Service) EndSession(ctx context.Context, grant access.Grant, id uuid.UUID) error {
	return s.db.Delete(ctx, "end session of user", pgx.NamedArgs{"user": grant.Principal.User.ID, "id": id})
}

// EndOtherSessions ends all sessions of the caller but the current one, and returns their number.
func (s *Service) EndOtherSessions(ctx context.Context, grant access.Grant, current Presented) (int64, error) {
	return s.db.Exec(ctx, "end other sessions", pgx.NamedArgs{"user": grant.Principal.User.ID, "hash": s.sessionHash(current)})
}

// ChangePassword replaces the password of the caller and ends all sessions but the one of the request. A wrong current
// password is [problem.Invalid]; attempts are throttled like logins.
func (s *Service) ChangePassword(ctx context.Context, grant access.Grant, current, replacement string, client Client, session Presented) error {
	user := grant.Principal.User
	wrong := func(err error) error {
		if errors.Is(err, ErrWrongPassword) {
			return problem.InvalidField("body.current_password", "is wrong")
		}
		return err
	}
	checked, err := s.authenticate(ctx, user.Email, current, client)
	if err != nil {
		return wrong(err)
	}
	if err := checkPassword("body.new_password", replacement, user.Email); err != nil {
		return err
	}
	hash, err := s.hasher.hash(ctx, replacement)
	if err != nil {
		return err
	}
	return s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		args := pgx.NamedArgs{"user": user.ID, "old": checked.PasswordHash, "new": hash, "now": s.now(), "hash": s.sessionHash(session)}
		if _, err := tx.Exec(ctx, "remove password reset", args); err != nil { // before the user: see UsePasswordReset
			return err
		}
		replaced, err := tx.Exec(ctx, "replace password hash", args)
		if err != nil {
			return err
		}
		if replaced == 0 { // another request changed it
			return wrong(ErrWrongPassword)
		}
		_, err = tx.Exec(ctx, "end other sessions", args)
		return err
	})
}

// PasswordReset describes whose password a link resets.
type PasswordReset struct {
	UserID        uuid.UUID
	Email         string
	CreatedAt     time.Time
	DeactivatedAt *time.Time
	CreatedBy     uuid.UUID
	ExpiresAt     time.Time
}

// PasswordResetOf returns what the link of the token resets. It returns [postgres.ErrNotFound] for a link that does not
// work (any more), also if its creator could not create it now: roles may have changed since.
func (s *Service) PasswordResetOf(ctx context.Context, token string) (PasswordReset, error) {
	reset, err := postgres.One[PasswordReset](ctx, s.db, "read password reset", pgx.NamedArgs{"hash": s.tokenHash(token), "now": s.now()})
	if err != nil {
		return PasswordReset{}, err
	}
	creator, err := rolesOf(ctx, s.db, reset.CreatedBy, true)
	if err != nil {
		return PasswordReset{}, err
	}
	theirs, err := rolesOf(ctx, s.db, reset.UserID, false)
	if err != nil {
		return PasswordReset{}, err
	}
	if !controls(creator, theirs) {
		return PasswordReset{}, postgres.ErrNotFound
	}
	return reset, nil
}

// UsePasswordReset sets the password of the account of a link, ends all its sessions and opens a new one. It returns
// [postgres.ErrNotFound] for a link that does not work (any more), and [ErrDeactivated] for a deactivated account.
func (s *Service) UsePasswordReset(ctx context.Context, token, password string, client Client) (Session, *access.Principal, error) {
	reset, err := s.PasswordResetOf(ctx, token)
	if err != nil {
		return Session{}, nil, err
	}
	if reset.DeactivatedAt != nil {
		return Session{}, nil, ErrDeactivated
	}
	if err := checkPassword("body.password", password, reset.Email); err != nil {
		return Session{}, nil, err
	}
	hash, err := s.hasher.hash(ctx, password)
	if err != nil {
		return Session{}, nil, err
	}
	session, row := s.newSession(reset.Email, client)
	err = s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		args := pgx.NamedArgs{"hash": s.tokenHash(token), "user": reset.UserID, "password_hash": hash, "now": row.createdAt}
		// The reset before the user, as everywhere, which prevents deadlocks.
		if err := tx.Delete(ctx, "use password reset", args); err != nil {
			return err // another request used it
		}
		for _, name := range []string{"set password", "end all sessions"} {
			if _, err := tx.Exec(ctx, name, args); err != nil {
				return err
			}
		}
		return open(ctx, tx, reset.UserID, row)
	})
	if err != nil {
		return Session{}, nil, err
	}
	// The waits of failed guesses end with the old password.
	if err := s.forgetLogins(ctx, accountSubject(reset.Email)); err != nil {
		return Session{}, nil, err
	}
	p, err := s.userPrincipal(ctx, &access.User{ID: reset.UserID, Email: reset.Email, CreatedAt: reset.CreatedAt})
	return session, p, err
}
