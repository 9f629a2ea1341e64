package identity

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/mail"
	"net/netip"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Service answers who calls, and keeps users, projects and keys.
type Service struct {
	store  *store
	hasher *hasher
	secret []byte
	now    func() time.Time
}

// New returns a service on the database. The secret keys the hashes of session tokens: whoever reads or writes
// the database alone can neither use nor forge a session. now is the clock.
func New(pool *pgxpool.Pool, sessionSecret []byte, now func() time.Time) *Service {
	return &Service{
		store:  &store{pool: pool},
		hasher: newHasher(currentCost),
		secret: sessionSecret,
		// PostgreSQL keeps microseconds; what is answered at once must be what is read later.
		now: func() time.Time { return now().UTC().Truncate(time.Microsecond) },
	}
}

// Ping tells whether the database answers.
func (s *Service) Ping(ctx context.Context) error { return s.store.ping(ctx) }

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
func (s *Service) Resolve(ctx context.Context, c Credential) (*Principal, error) {
	switch {
	case c.Key != "":
		return s.resolveKey(ctx, c.Key)
	case c.Session != "":
		return s.resolveSession(ctx, c.Session)
	default:
		return nil, ErrUnauthenticated
	}
}

func (s *Service) resolveSession(ctx context.Context, token string) (*Principal, error) {
	hash, now := s.tokenHash(token), s.now()
	row, err := s.store.session(ctx, hash, now)
	if errors.Is(err, ErrNotFound) {
		return nil, ErrUnauthenticated
	}
	if err != nil {
		return nil, err
	}
	if now.Sub(row.LastSeenAt) >= lastUsedPrecision {
		if err := s.store.touchSession(ctx, hash, now); err != nil {
			return nil, err
		}
	}
	return s.userPrincipal(ctx, &User{ID: row.UserID, Email: row.Email, CreatedAt: row.CreatedAt}, hash)
}

func (s *Service) userPrincipal(ctx context.Context, user *User, session []byte) (*Principal, error) {
	rows, err := s.store.accessOfUser(ctx, user.ID)
	if err != nil {
		return nil, err
	}
	p := &Principal{User: user, session: session, Projects: make([]Access, len(rows))}
	for i, row := range rows {
		role := strongest(row.OrganizationRole, row.WorkspaceRole)
		p.Projects[i] = row.access(role, role.scopes())
	}
	return p, nil
}

func (r accessRow) access(role Role, scopes []string) Access {
	return Access{
		ProjectID: r.ProjectID, ProjectName: r.ProjectName,
		WorkspaceID: r.WorkspaceID, WorkspaceName: r.WorkspaceName,
		OrganizationID: r.OrganizationID, OrganizationName: r.OrganizationName,
		Role: role, Scopes: scopes,
	}
}

// tokenHash is what is stored of a session's token.
func (s *Service) tokenHash(token string) []byte {
	mac := hmac.New(sha256.New, s.secret)
	_, _ = mac.Write([]byte(token)) // a hash.Hash never returns an error
	return mac.Sum(nil)
}

// DeriveKey returns a key of its own for a purpose: the same on every replica, and known to nobody who lacks the secret.
func (s *Service) DeriveKey(purpose string) []byte {
	mac := hmac.New(sha256.New, s.secret)
	_, _ = mac.Write([]byte("key for " + purpose)) // a hash.Hash never returns an error
	return mac.Sum(nil)
}

// Page is a part of a list.
type Page struct {
	Limit  int
	Offset int
}

// cut takes the one row off that was read to see whether there are more.
func cut[T any](rows []T, page Page) (list []T, more bool) {
	if len(rows) > page.Limit {
		return rows[:page.Limit], true
	}
	return rows, false
}

func newID() uuid.UUID {
	return uuid.Must(uuid.NewV7()) // fails only when the system has no randomness
}

// cleanName returns a name without space around it, and an [InvalidError] for one that cannot be shown.
func cleanName(field, name string) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" {
		return "", &InvalidError{Field: field, Message: "must not be blank"}
	}
	return name, checkPrintable(field, name)
}

// cleanEmail returns a bare address without space around it.
func cleanEmail(field, email string) (string, error) {
	email = strings.TrimSpace(email)
	if err := checkPrintable(field, email); err != nil {
		return "", err
	}
	parsed, err := mail.ParseAddress(email)
	if err != nil || parsed.Address != email {
		return "", &InvalidError{Field: field, Message: "must be an email address"}
	}
	return email, nil
}

func checkPrintable(field, text string) error {
	if i := strings.IndexFunc(text, unicode.IsControl); i >= 0 {
		return &InvalidError{Field: field, Message: fmt.Sprintf("must not contain control characters (at byte %d)", i)}
	}
	return nil
}
