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
)

//go:embed queries.sql
var queries string

// Errors that callers tell apart.
var (
	// ErrUnauthenticated is a credential that is missing, unknown or no longer a session.
	ErrUnauthenticated = &problem.Error{Kind: problem.Unauthenticated, Code: "unauthenticated", Detail: "A valid key or session is needed."}
	// ErrKeyRevoked is a genuine key that was revoked.
	ErrKeyRevoked = &problem.Error{Kind: problem.Unauthenticated, Code: "key_revoked", Detail: "The key is revoked."}
	// ErrKeyExpired is a genuine key past its expiry.
	ErrKeyExpired = &problem.Error{Kind: problem.Unauthenticated, Code: "key_expired", Detail: "The key has expired."}
	// ErrWrongPassword is a login with an unknown address or a wrong password; it does not say which.
	ErrWrongPassword = &problem.Error{Kind: problem.Unauthenticated, Code: "unauthenticated", Detail: "Email or password is wrong."}
	// ErrAlreadyBootstrapped is a second setup.
	ErrAlreadyBootstrapped = &problem.Error{Kind: problem.Conflict, Code: "already_bootstrapped", Detail: "Setup was done already. Log in instead."}
	// ErrAlreadyRevoked is a rotation of a key that is revoked.
	ErrAlreadyRevoked = &problem.Error{Kind: problem.Conflict, Code: "key_revoked", Detail: "The key is revoked already."}
	// ErrAlreadyExpired is a rotation of a key that has expired, whose successor would have expired too.
	ErrAlreadyExpired = &problem.Error{Kind: problem.Conflict, Code: "key_expired", Detail: "The key has expired already."}
)

// Service keeps users, sessions and keys.
type Service struct {
	db     postgres.DB
	hasher *hasher
	secret []byte
	now    func() time.Time
}

// New returns a service on the database. The secret keys the hashes of session tokens: whoever reads or writes
// the database alone can neither use nor forge a session. now is the clock.
func New(pool *pgxpool.Pool, sessionSecret []byte, now func() time.Time) *Service {
	return &Service{db: postgres.NewDB(pool, queries), hasher: newHasher(currentCost), secret: sessionSecret, now: postgres.Clock(now)}
}

// Ping tells whether the database answers.
func (s *Service) Ping(ctx context.Context) error { return s.db.Ping(ctx) }

// Credential is what a caller presents: a key or the token of a session.
type Credential struct {
	Key     string
	Session string
}

// Client is where a caller comes from.
type Client struct {
	Address   netip.Addr
	UserAgent string
}

func (c Client) userAgent() string {
	const longest = 500
	return strings.ToValidUTF8(c.UserAgent[:min(len(c.UserAgent), longest)], "")
}

// Resolve finds out who presents the credential. It is the only place that does.
func (s *Service) Resolve(ctx context.Context, c Credential) (*access.Principal, error) {
	switch {
	case c.Key != "":
		return s.resolveKey(ctx, c.Key)
	case c.Session != "":
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

func (s *Service) resolveSession(ctx context.Context, token string) (*access.Principal, error) {
	hash, now := s.tokenHash(token), s.now()
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

// accessRow is a workspace of a user with one of its projects, or with none.
type accessRow struct {
	WorkspaceID      uuid.UUID
	WorkspaceName    string
	OrganizationID   uuid.UUID
	OrganizationName string
	OrganizationRole access.Role
	WorkspaceRole    access.Role
	ProjectID        *uuid.UUID
	ProjectName      *string
}

func (s *Service) userPrincipal(ctx context.Context, user *access.User) (*access.Principal, error) {
	rows, err := postgres.Many[accessRow](ctx, s.db, "read access of user", pgx.NamedArgs{"user": user.ID})
	if err != nil {
		return nil, err
	}
	p := &access.Principal{User: user}
	for _, row := range rows {
		workspace := access.Workspace{
			ID: row.WorkspaceID, Name: row.WorkspaceName, OrganizationID: row.OrganizationID, OrganizationName: row.OrganizationName,
			Role: access.Strongest(row.OrganizationRole, row.WorkspaceRole),
		}
		if last := len(p.Workspaces) - 1; last < 0 || p.Workspaces[last].ID != workspace.ID {
			p.Workspaces = append(p.Workspaces, workspace)
		}
		if row.ProjectID != nil {
			p.Projects = append(p.Projects, access.Project{
				ID: *row.ProjectID, Name: *row.ProjectName, Workspace: workspace, Scopes: workspace.Role.Scopes(),
			})
		}
	}
	return p, nil
}

// tokenHash is what is stored of a session's token.
func (s *Service) tokenHash(token string) []byte {
	mac := hmac.New(sha256.New, s.secret)
	_, _ = mac.Write([]byte(token)) // a hash.Hash never returns an error
	return mac.Sum(nil)
}

// DeriveKey returns a key of its own for a purpose: the same on every replica, and known to nobody who lacks the secret.
func (s *Service) DeriveKey(purpose string) []byte { return s.tokenHash("key for " + purpose) }
