package identity

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	_ "embed"
	"errors"
	"net/netip"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/utf8text"
)

//go:embed queries.sql
var queries string

// Errors that callers distinguish.
var (
	// ErrUnauthenticated is returned for a missing or unknown credential or an ended session.
	ErrUnauthenticated = &problem.Error{Kind: problem.Unauthenticated, Code: "unauthenticated", Detail: "A valid key or session is needed."}
	// ErrKeyRevoked is returned for a valid secret of a revoked key.
	ErrKeyRevoked = &problem.Error{Kind: problem.Unauthenticated, Code: "key_revoked", Detail: "The key is revoked."}
	// ErrKeyExpired is returned for a valid secret of an expired key.
	ErrKeyExpired = &problem.Error{Kind: problem.Unauthenticated, Code: "key_expired", Detail: "The key has expired."}
	// ErrWrongPassword is returned for a login with an unknown email address or a wrong password.
	ErrWrongPassword = &problem.Error{Kind: problem.Unauthenticated, Code: "unauthenticated", Detail: "Email or password is wrong."}
	// ErrDeactivated is returned for the right password of a deactivated account.
	ErrDeactivated = &problem.Error{
		Kind: problem.Forbidden, Code: "account_deactivated", Detail: "This account is deactivated. An admin of your organization can reactivate it.",
	}
	// ErrAlreadyBootstrapped is returned for a second setup.
	ErrAlreadyBootstrapped = &problem.Error{Kind: problem.Conflict, Code: "already_bootstrapped", Detail: "Looptrace is already set up. Log in instead."}
	// ErrAlreadyRevoked is returned for the rotation of a revoked key.
	ErrAlreadyRevoked = &problem.Error{Kind: problem.Conflict, Code: "key_revoked", Detail: "This key is already revoked."}
	// ErrAlreadyExpired is returned for the rotation of an expired key. The new key would have the same expiry.
	ErrAlreadyExpired = &problem.Error{Kind: problem.Conflict, Code: "key_expired", Detail: "This key has already expired."}
)

// Service manages users with their roles, sessions and keys.
type Service struct {
	db         postgres.DB
	hasher     *hasher
	secret     []byte
	setupToken string
	now        func() time.Time
}

// Config configures a service.
type Config struct {
	// SessionSecret is the key of the HMACs as which session tokens are stored, so access to the database alone is not enough to use or
	// forge a session.
	SessionSecret []byte
	// SetupToken is what setup asks for, nothing if empty.
	SetupToken string
	// Passwords is the cost at which new passwords are hashed: PasswordCost, or less in tests.
	Passwords Cost
}

// New returns a service on the database. now is the clock.
func New(pool *pgxpool.Pool, c Config, now func() time.Time) *Service {
	return &Service{postgres.NewDB(pool, queries), newHasher(c.Passwords), c.SessionSecret, c.SetupToken, postgres.Clock(now)}
}

// Ping returns an error if the database does not respond.
func (s *Service) Ping(ctx context.Context) error { return s.db.Ping(ctx) }

// Credential is the credential of a request: a key or a session.
type Credential struct {
	Key     string
	Session Presented
	// Address is where it was presented.
	Address netip.Addr
}

// Presented is what a request presents of a session. Cookies know no port: any server of the same host receives the
// token and can set one. So a session can be bound to a secret that only the pages of one origin hold. A request that
// presents a secret has no other session than one bound to it.
type Presented struct {
	Token string
	// Secret is empty for a session that is not bound.
	Secret string
}

// Client describes the client of a request.
type Client struct {
	Address   netip.Addr
	UserAgent string
	// Secret is what a new session is bound to, empty for none.
	Secret string
	// Device is the token of a browser that has logged in before, empty or invalid for others.
	Device string
}

// stored returns the address for a column, nil if it is unknown.
func stored(address netip.Addr) *netip.Addr {
	if !address.IsValid() {
		return nil
	}
	address = address.Unmap().WithZone("")
	return &address
}

func (c Client) userAgent() string {
	const maxBytes = 500
	return utf8text.Bytes(strings.ToValidUTF8(c.UserAgent, ""), maxBytes)
}

// Resolve authenticates the credential and returns its principal. It returns [ErrUnauthenticated], [ErrKeyRevoked]
// or [ErrKeyExpired] if the credential is not valid.
func (s *Service) Resolve(ctx context.Context, c Credential) (*access.Principal, error) {
	switch {
	case c.Key != "":
		return s.resolveKey(ctx, c.Key, c.Address)
	case c.Session.Token != "":
		return s.resolveSession(ctx, c.Session)
	default:
		return nil, ErrUnauthenticated
	}
}

type sessionRow struct {
	UserID     uuid.UUID
	Email      string
	CreatedAt  time.Time
	LastSeenAt time.Time
}

func (s *Service) resolveSession(ctx context.Context, session Presented) (*access.Principal, error) {
	hash, now := s.sessionHash(session), s.now()
	row, err := postgres.One[sessionRow](ctx, s.db, "read session", pgx.NamedArgs{"hash": hash, "now": now, "idle": now.Add(-sessionIdle)})
	if errors.Is(err, postgres.ErrNotFound) {
		return nil, ErrUnauthenticated
	}
	if err != nil {
		return nil, err
	}
	if now.Sub(row.LastSeenAt) >= lastUsedPrecision {
		if _, err := s.db.Exec(ctx, "note use of session", pgx.NamedArgs{"hash": hash, "now": now}); err != nil {
			return nil, err
		}
	}
	return s.userPrincipal(ctx, &access.User{ID: row.UserID, Email: row.Email, CreatedAt: row.CreatedAt})
}

// accessRow is an organization of a user with one of its workspaces and one of that workspace's projects. The workspace
// or the project is nil if there is none.
type accessRow struct {
	OrganizationID   uuid.UUID
	OrganizationName string
	OrganizationRole access.Role
	WorkspaceID      *uuid.UUID
	WorkspaceName    *string
	WorkspaceRole    access.Role
	ProjectID        *uuid.UUID
	ProjectName      *string
	Sample           *bool
}

func (s *Service) userPrincipal(ctx context.Context, user *access.User) (*access.Principal, error) {
	rows, err := postgres.Many[accessRow](ctx, s.db, "read access of user", pgx.NamedArgs{"user": user.ID})
	if err != nil {
		return nil, err
	}
	p := &access.Principal{User: user}
	for _, row := range rows {
		organization := access.Organization{ID: row.OrganizationID, Name: row.OrganizationName, Role: row.OrganizationRole}
		if last := len(p.Organizations) - 1; last < 0 || p.Organizations[last].ID != organization.ID {
			p.Organizations = append(p.Organizations, organization)
		}
		if row.WorkspaceID == nil {
			continue
		}
		workspace := access.Workspace{
			ID: *row.WorkspaceID, Name: *row.WorkspaceName, OrganizationID: row.OrganizationID, OrganizationName: row.OrganizationName,
			Role: access.Strongest(row.OrganizationRole, row.WorkspaceRole),
		}
		if last := len(p.Workspaces) - 1; last < 0 || p.Workspaces[last].ID != workspace.ID {
			p.Workspaces = append(p.Workspaces, workspace)
		}
		if row.ProjectID != nil {
			p.Projects = append(p.Projects, access.Project{
				ID: *row.ProjectID, Name: *row.ProjectName, Sample: *row.Sample, Workspace: workspace, Scopes: workspace.Role.Scopes(),
			})
		}
	}
	return p, nil
}

// sessionHash returns the HMAC under which a session is stored. That of a bound session is of both its secrets, so that
// neither finds it without the other.
func (s *Service) sessionHash(session Presented) []byte {
	if session.Secret == "" {
		return s.tokenHash(session.Token)
	}
	return s.tokenHash("session " + session.Token + " bound to " + session.Secret)
}

// tokenHash returns the HMAC under which the token of a link is stored.
func (s *Service) tokenHash(token string) []byte {
	mac := hmac.New(sha256.New, s.secret)
	_, _ = mac.Write([]byte(token)) // a hash.Hash never returns an error
	return mac.Sum(nil)
}

// DeriveKey derives a secret key for the purpose from the session secret. All replicas derive the same key.
func (s *Service) DeriveKey(purpose string) []byte { return s.tokenHash("key for " + purpose) }
