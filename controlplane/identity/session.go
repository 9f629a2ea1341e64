package identity

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strings"
	"time"
)

const (
	// SessionLifetime is how long a session lasts at most.
	SessionLifetime = 7 * 24 * time.Hour
	// sessionIdle is how long it lasts without use.
	sessionIdle = 24 * time.Hour
	// lastUsedPrecision is how often the use of a session or key is written down.
	lastUsedPrecision = time.Minute
)

// Session is a new session. Its token is in nobody's hands but the caller's.
type Session struct {
	Token     string
	ExpiresAt time.Time
}

// SetupRequest is what the first user enters.
type SetupRequest struct {
	Email            string
	Password         string
	OrganizationName string
}

// Bootstrapped tells whether [Service.Setup] was done.
func (s *Service) Bootstrapped(ctx context.Context) (bool, error) { return s.store.bootstrapped(ctx) }

// Setup makes the first user, who owns a new organization with a workspace and a project, and logs the user
// in. It works once: then it is [ErrAlreadyBootstrapped].
func (s *Service) Setup(ctx context.Context, req SetupRequest, client Client) (Session, *Principal, error) {
	done, err := s.store.bootstrapped(ctx)
	if err != nil {
		return Session{}, nil, err
	}
	if done { // before the costly hash; the transaction below decides
		return Session{}, nil, ErrAlreadyBootstrapped
	}
	email, emailErr := cleanEmail("email", req.Email)
	organization, nameErr := cleanName("org_name", req.OrganizationName)
	if err := errors.Join(emailErr, nameErr); err != nil {
		return Session{}, nil, err
	}
	hash, err := s.hasher.hash(ctx, req.Password)
	if err != nil {
		return Session{}, nil, err
	}
	session, row := s.newSession(client)
	user := &User{ID: newID(), Email: email, CreatedAt: row.createdAt}
	if err := s.store.bootstrap(ctx, newUser{id: user.ID, email: email, passwordHash: hash}, organization, row); err != nil {
		return Session{}, nil, err
	}
	p, err := s.userPrincipal(ctx, user, row.hash)
	return session, p, err
}

// Login opens a session for the user with the email address and password. The session with the token
// replaced, if any, ends: a login never goes on under an old token. Attempts that come too fast are a
// [ThrottledError]; an unknown address and a wrong password are both [ErrWrongPassword], after the same work.
func (s *Service) Login(ctx context.Context, email, password string, client Client, replaced string) (Session, *Principal, error) {
	email = strings.TrimSpace(email)
	if err := checkPrintable("email", email); err != nil {
		return Session{}, nil, err
	}
	account, address := accountSubject(email), addressSubject(client.Address)
	if err := s.store.enterLogin(ctx, s.now(), account, address); err != nil {
		return Session{}, nil, err
	}
	user, err := s.checkPassword(ctx, email, password)
	if errors.Is(err, ErrWrongPassword) {
		return Session{}, nil, err
	}
	// From here on the attempt was no guess: also when the caller is gone, it must not slow down the next.
	settled := context.WithoutCancel(ctx)
	if err != nil {
		return Session{}, nil, errors.Join(err, s.store.takeLoginBack(settled, account), s.store.takeLoginBack(settled, address))
	}
	// The address keeps its other attempts, or a guesser could clear them by logging in to an own account.
	if err := errors.Join(s.store.forgetLogins(settled, account), s.store.takeLoginBack(settled, address)); err != nil {
		return Session{}, nil, err
	}
	session, row := s.newSession(client)
	var old []byte
	if replaced != "" {
		old = s.tokenHash(replaced)
	}
	if err := s.store.openSession(ctx, user.ID, row, old); err != nil {
		return Session{}, nil, err
	}
	p, err := s.userPrincipal(ctx, user, row.hash)
	return session, p, err
}

func (s *Service) checkPassword(ctx context.Context, email, password string) (*User, error) {
	row, err := s.store.userByEmail(ctx, email)
	known := true
	if errors.Is(err, ErrNotFound) {
		known, err = false, nil
		row.PasswordHash = s.hasher.dummy
	}
	if err != nil {
		return nil, err
	}
	ok, stale, err := s.hasher.verify(ctx, password, row.PasswordHash)
	if err != nil {
		return nil, err
	}
	if !ok || !known {
		return nil, ErrWrongPassword
	}
	if stale {
		hash, err := s.hasher.hash(ctx, password)
		if err != nil {
			return nil, err
		}
		if err := s.store.replacePasswordHash(ctx, row.ID, row.PasswordHash, hash, s.now()); err != nil {
			return nil, err
		}
	}
	return row.user(), nil
}

// Logout ends the principal's session. A key has none, and goes on.
func (s *Service) Logout(ctx context.Context, p *Principal) error {
	if p.session == nil {
		return nil
	}
	return s.store.deleteSession(ctx, p.session)
}

func (s *Service) newSession(client Client) (Session, newSession) {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // crypto/rand.Read never returns an error
	token := base64.RawURLEncoding.EncodeToString(raw)
	now := s.now()
	expires := now.Add(SessionLifetime)
	return Session{Token: token, ExpiresAt: expires},
		newSession{hash: s.tokenHash(token), createdAt: now, expiresAt: expires, client: client}
}
