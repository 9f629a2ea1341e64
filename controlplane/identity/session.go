package identity

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
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

const (
	// SessionLifetime is the maximum duration of a session.
	SessionLifetime = 7 * 24 * time.Hour
	// sessionIdle is the time without use after which a session ends.
	sessionIdle = 24 * time.Hour
	// lastUsedPrecision is the minimum interval between updates of the time of last use of a session or key.
	lastUsedPrecision = time.Minute
)

// Session is a new session. Only a hash of Token is stored.
type Session struct {
	Token     string
	ExpiresAt time.Time
	// Device marks a browser for its next login. It is empty for a session that is not bound to a page.
	Device string
}

var errSetupToken = problem.InvalidField("body.setup_token", "is not the control plane's setting SETUP_TOKEN: whoever started Looptrace knows it")

// SetupRequest is the input of [Service.Setup].
type SetupRequest struct {
	Email            string
	Password         string
	OrganizationName string
	// Token is compared with that of the service.
	Token string
}

// NeedsSetupToken reports whether setup asks for a token.
func (s *Service) NeedsSetupToken() bool { return s.setupToken != "" }

// Bootstrapped reports whether [Service.Setup] was done.
func (s *Service) Bootstrapped(ctx context.Context) (bool, error) {
	row, err := postgres.One[struct{ Done bool }](ctx, s.db, "read whether setup was done", nil)
	return row.Done, err
}

// Setup creates the first user, an organization that the user owns, a workspace and a project, and logs the user
// in. It returns [ErrAlreadyBootstrapped] if setup was already done.
func (s *Service) Setup(ctx context.Context, req SetupRequest, client Client) (Session, *access.Principal, error) {
	done, err := s.Bootstrapped(ctx)
	if err != nil {
		return Session{}, nil, err
	}
	if done { // avoids the expensive hash; the transaction below is authoritative
		return Session{}, nil, ErrAlreadyBootstrapped
	}
	if s.setupToken != "" && subtle.ConstantTimeCompare([]byte(req.Token), []byte(s.setupToken)) == 0 {
		return Session{}, nil, errSetupToken
	}
	email, emailErr := validate.Email("body.email", req.Email)
	organization, nameErr := validate.Name("body.org_name", req.OrganizationName)
	if err := errors.Join(emailErr, nameErr); err != nil {
		return Session{}, nil, err
	}
	if err := checkPassword("body.password", req.Password, email); err != nil {
		return Session{}, nil, err
	}
	hash, err := s.hasher.hash(ctx, req.Password)
	if err != nil {
		return Session{}, nil, err
	}
	session, row := s.newSession(email, client)
	user := &access.User{ID: postgres.NewID(), Email: email, CreatedAt: row.createdAt}
	if err := s.bootstrap(ctx, user, hash, organization, row); err != nil {
		return Session{}, nil, err
	}
	p, err := s.userPrincipal(ctx, user)
	return session, p, err
}

// bootstrap stores the first user with an organization, a workspace, a project and a session in one transaction.
// The primary key of the bootstrap table makes a concurrent setup wait and then fail.
func (s *Service) bootstrap(ctx context.Context, user *access.User, passwordHash, organization string, session newSession) error {
	err := s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		args := pgx.NamedArgs{
			"user": user.ID, "email": user.Email, "password_hash": passwordHash, "now": user.CreatedAt,
			"organization": postgres.NewID(), "organization_name": organization, "workspace": postgres.NewID(), "project": postgres.NewID(),
		}
		for _, name := range []string{
			"note that setup was done", "create user", "create organization", "make user the owner of the organization",
			"create workspace", "create project",
		} {
			if _, err := tx.Exec(ctx, name, args); err != nil {
				return err
			}
		}
		return open(ctx, tx, user.ID, session)
	})
	if postgres.Violates(err, "bootstrap_pkey") {
		return ErrAlreadyBootstrapped
	}
	return err
}

// Login opens a session for the user with the email address and password. It ends the session replaced, if any, to
// prevent session fixation. It returns a [problem.RateLimited] error for too many attempts.
// It returns [ErrWrongPassword] for an unknown address and for a wrong password, and takes the same time for both.
func (s *Service) Login(ctx context.Context, email, password string, client Client, replaced Presented) (Session, *access.Principal, error) {
	user, err := s.authenticate(ctx, email, password, client)
	if err != nil {
		return Session{}, nil, err
	}
	session, row := s.newSession(user.Email, client)
	var old []byte
	if replaced.Token != "" {
		old = s.sessionHash(replaced)
	}
	if err := s.openSession(ctx, user, row, old); err != nil {
		return Session{}, nil, err
	}
	p, err := s.userPrincipal(ctx, &user.User)
	return session, p, err
}

// authenticate returns the user with the email address and password. Attempts are throttled. It returns
// [ErrDeactivated] only for the right password.
func (s *Service) authenticate(ctx context.Context, email, password string, client Client) (account, error) {
	email = strings.TrimSpace(email)
	if err := validate.Printable("body.email", email); err != nil {
		return account{}, err
	}
	subjects, err := s.admit(ctx, email, client)
	if err != nil {
		return account{}, err
	}
	user, err := s.checkPassword(ctx, email, password)
	if errors.Is(err, ErrWrongPassword) {
		return account{}, err
	}
	// The attempt was not a wrong guess, so it must not count, even if the client has disconnected.
	settled := context.WithoutCancel(ctx)
	settle := s.forgetLogins // who logs in is no guesser, and neither is the address
	if err != nil {
		settle = s.takeLoginBack
	}
	for _, sub := range subjects {
		err = errors.Join(err, settle(settled, sub))
	}
	if err != nil {
		return account{}, err
	}
	return user, nil
}

// account is a user with the password hash that the password was checked against.
type account struct {
	access.User
	PasswordHash  string
	DeactivatedAt *time.Time
}

func (s *Service) userByEmail(ctx context.Context, email string) (account, error) {
	return postgres.One[account](ctx, s.db, "read user", pgx.NamedArgs{"email": email})
}

// lock keeps the password and the activity of the account until the transaction ends. It returns [ErrWrongPassword] if
// they have changed since the password was checked.
func (a account) lock(ctx context.Context, tx postgres.DB) error {
	_, err := postgres.One[struct{ ID uuid.UUID }](ctx, tx, "lock user with password", pgx.NamedArgs{
		"user": a.ID, "password_hash": a.PasswordHash,
	})
	if errors.Is(err, postgres.ErrNotFound) {
		return ErrWrongPassword
	}
	return err
}

func (s *Service) checkPassword(ctx context.Context, email, password string) (account, error) {
	row, err := s.userByEmail(ctx, email)
	known := true
	if errors.Is(err, postgres.ErrNotFound) {
		known, err = false, nil
		row.PasswordHash = s.hasher.dummy
	}
	if err != nil {
		return account{}, err
	}
	ok, stale, err := s.hasher.verify(ctx, password, row.PasswordHash)
	if err != nil {
		return account{}, err
	}
	if !ok || !known {
		return account{}, ErrWrongPassword
	}
	if row.DeactivatedAt != nil {
		return account{}, ErrDeactivated
	}
	if stale {
		hash, err := s.hasher.hash(ctx, password)
		if err != nil {
			return account{}, err
		}
		// The condition on the old hash keeps a password that was changed in the meantime.
		replaced, err := s.db.Exec(ctx, "replace password hash", pgx.NamedArgs{
			"user": row.ID, "old": row.PasswordHash, "new": hash, "now": s.now(),
		})
		if err != nil {
			return account{}, err
		}
		if replaced == 0 { // changed, or replaced by a concurrent login
			return s.checkPassword(ctx, email, password)
		}
		row.PasswordHash = hash
	}
	return row, nil
}

// Logout ends the session.
func (s *Service) Logout(ctx context.Context, session Presented) error {
	_, err := s.db.Exec(ctx, "end session", pgx.NamedArgs{"hash": s.sessionHash(session)})
	return err
}

// newSession is a session to store.
type newSession struct {
	hash      []byte
	createdAt time.Time
	expiresAt time.Time
	client    Client
}

// openSession stores a session. It removes the session with the hash replaced, if any, and expired sessions.
func (s *Service) openSession(ctx context.Context, user account, session newSession, replaced []byte) error {
	return s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		if err := user.lock(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "remove ended sessions", pgx.NamedArgs{
			"replaced": replaced, "user": user.ID, "now": session.createdAt, "idle": session.createdAt.Add(-sessionIdle),
		}); err != nil {
			return err
		}
		return open(ctx, tx, user.ID, session)
	})
}

func open(ctx context.Context, tx postgres.DB, user uuid.UUID, session newSession) error {
	_, err := tx.Exec(ctx, "open session", pgx.NamedArgs{
		"hash": session.hash, "user": user, "now": session.createdAt, "expires": session.expiresAt,
		"user_agent": session.client.userAgent(), "ip": stored(session.client.Address),
	})
	return err
}

func (s *Service) newSession(email string, client Client) (Session, newSession) {
	token, now := newToken(), s.now()
	session := Session{Token: token, ExpiresAt: now.Add(SessionLifetime)}
	if client.Secret != "" {
		session.Device = s.newDevice(email)
	}
	return session,
		newSession{hash: s.sessionHash(Presented{token, client.Secret}), createdAt: now, expiresAt: session.ExpiresAt, client: client}
}

// newToken returns a secret of 256 random bits for a cookie or a link.
func newToken() string {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // crypto/rand.Read never returns an error
	return base64.RawURLEncoding.EncodeToString(raw)
}
