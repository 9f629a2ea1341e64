package identity

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// NewKey describes a key to create. ExpiresAt is nil for a key that does not expire.
type NewKey struct {
	Name      string
	Scopes    []string
	ExpiresAt *time.Time
}

// keyRow is a stored key.
type keyRow struct {
	access.Key
	SecretSHA256 []byte `db:"secret_sha256"`
}

// presentedRow is a stored key with its project, workspace and organization.
type presentedRow struct {
	keyRow
	ProjectName      string
	Sample           bool
	WorkspaceID      uuid.UUID
	WorkspaceName    string
	OrganizationID   uuid.UUID
	OrganizationName string
}

// resolveKey reads the key from the database on every call, so that a revocation takes effect at once.
func (s *Service) resolveKey(ctx context.Context, text string, from netip.Addr) (*access.Principal, error) {
	presented, err := apikey.Parse(text)
	if err != nil {
		return nil, ErrUnauthenticated
	}
	row, err := postgres.One[presentedRow](ctx, s.db, "read key by public id", pgx.NamedArgs{"public_id": presented.PublicID()})
	if err != nil && !errors.Is(err, postgres.ErrNotFound) {
		return nil, err
	}
	if !presented.Matches(row.SecretSHA256) { // for an unknown key the hash is empty and never matches
		return nil, ErrUnauthenticated
	}
	now := s.now()
	if row.RevokedAt != nil {
		return nil, ErrKeyRevoked
	}
	if expired(row.Key, now) {
		return nil, ErrKeyExpired
	}
	if row.LastUsedAt == nil || now.Sub(*row.LastUsedAt) >= lastUsedPrecision {
		if _, err := s.db.Exec(ctx, "note use of key", pgx.NamedArgs{
			"id": row.ID, "now": now, "ip": stored(from), "before": now.Add(-lastUsedPrecision),
		}); err != nil {
			return nil, err
		}
	}
	workspace := access.Workspace{
		ID: row.WorkspaceID, Name: row.WorkspaceName, OrganizationID: row.OrganizationID, OrganizationName: row.OrganizationName,
	}
	return &access.Principal{
		Key: &row.Key, Organizations: []access.Organization{{ID: row.OrganizationID, Name: row.OrganizationName}},
		Workspaces: []access.Workspace{workspace},
		Projects:   []access.Project{{ID: row.ProjectID, Name: row.ProjectName, Sample: row.Sample, Workspace: workspace, Scopes: row.Scopes}},
	}, nil
}

func expired(k access.Key, now time.Time) bool { return k.ExpiresAt != nil && !k.ExpiresAt.After(now) }

// Keys returns one page of a project's keys, newest first, including revoked keys.
func (s *Service) Keys(ctx context.Context, grant access.Grant, page postgres.Page) (list []access.Key, more bool, err error) {
	project, err := grant.Project()
	if err != nil {
		return nil, false, err
	}
	return postgres.List[access.Key](ctx, s.db, "list keys", page, pgx.NamedArgs{"project": project})
}

// MemberKeys returns one page of the keys that a member created and that work, in the projects of the organization or the
// workspace, newest first.
func (s *Service) MemberKeys(ctx context.Context, grant access.Grant, user uuid.UUID, page postgres.Page) (list []access.Key, more bool, err error) {
	at, err := placeOf(grant)
	if err != nil {
		return nil, false, err
	}
	if _, err := member(ctx, s.db, at, user); err != nil {
		return nil, false, err
	}
	return postgres.List[access.Key](ctx, s.db, "list keys of member", page, at.args(pgx.NamedArgs{"user": user, "now": s.now()}))
}

// Key returns the description of one key, or [postgres.ErrNotFound].
func (s *Service) Key(ctx context.Context, grant access.Grant, id uuid.UUID) (access.Key, error) {
	return postgres.One[access.Key](ctx, s.db, "read key", pgx.NamedArgs{"id": id, "projects": grant.IDs()})
}

// CreateKey creates a key. The caller must have every scope that the key gets.
func (s *Service) CreateKey(ctx context.Context, grant access.Grant, req NewKey) (access.Key, apikey.Key, error) {
	project, err := grant.Project()
	if err != nil {
		return access.Key{}, apikey.Key{}, err
	}
	for _, scope := range req.Scopes {
		if !apikey.ValidScope(scope) {
			return access.Key{}, apikey.Key{}, problem.InvalidField("body.scopes", "must be scopes that keys can have")
		}
	}
	if _, err := grant.Principal.In(project, req.Scopes...); err != nil {
		return access.Key{}, apikey.Key{}, err
	}
	name, err := validate.Name("body.name", req.Name)
	if err != nil {
		return access.Key{}, apikey.Key{}, err
	}
	now := s.now()
	if req.ExpiresAt != nil {
		if !req.ExpiresAt.After(now) {
			return access.Key{}, apikey.Key{}, problem.InvalidField("body.expires_at", "must be in the future")
		}
		if err := validate.Time("body.expires_at", *req.ExpiresAt); err != nil {
			return access.Key{}, apikey.Key{}, err
		}
		expiresAt := req.ExpiresAt.UTC().Truncate(time.Microsecond)
		req.ExpiresAt = &expiresAt
	}
	return s.mint(ctx, s.db, grant, access.Key{ProjectID: project, Name: name, Scopes: inOrder(req.Scopes), ExpiresAt: req.ExpiresAt}, now)
}

// mint stores a new key with the project, name, scopes and expiry of like.
func (s *Service) mint(ctx context.Context, db postgres.DB, grant access.Grant, like access.Key, now time.Time) (access.Key, apikey.Key, error) {
	minted := apikey.Mint()
	hash := minted.Hash()
	key := access.Key{
		ID: postgres.NewID(), ProjectID: like.ProjectID, Name: like.Name, PublicID: minted.PublicID(),
		Scopes: like.Scopes, CreatedAt: now, ExpiresAt: like.ExpiresAt,
	}
	if user := grant.Principal.User; user != nil {
		key.CreatedBy = &user.Email
	}
	_, err := db.Exec(ctx, "create key", pgx.NamedArgs{
		"id": key.ID, "project": key.ProjectID, "name": key.Name, "public_id": key.PublicID, "secret_sha256": hash[:],
		"scopes": key.Scopes, "created_by": grant.CreatedBy(), "created_at": now, "expires_at": key.ExpiresAt,
	})
	return key, minted, err
}

// RevokeKey revokes a key. It does nothing if the key is already revoked.
func (s *Service) RevokeKey(ctx context.Context, grant access.Grant, id uuid.UUID) error {
	key, err := s.Key(ctx, grant, id)
	if err != nil {
		return err
	}
	_, err = s.db.Exec(ctx, "revoke key", pgx.NamedArgs{"id": key.ID, "now": s.now()})
	return err
}

// RotateKey revokes a key and creates a new one with its name, scopes and expiry, in one transaction.
// It returns [ErrAlreadyRevoked] or [ErrAlreadyExpired] if the key is no longer valid.
func (s *Service) RotateKey(ctx context.Context, grant access.Grant, id uuid.UUID) (successor access.Key, minted apikey.Key, err error) {
	key, err := s.Key(ctx, grant, id)
	if err != nil {
		return access.Key{}, apikey.Key{}, err
	}
	now := s.now()
	if key.RevokedAt != nil {
		return access.Key{}, apikey.Key{}, ErrAlreadyRevoked
	}
	if expired(key, now) {
		return access.Key{}, apikey.Key{}, ErrAlreadyExpired
	}
	err = s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		revoked, err := tx.Exec(ctx, "revoke key", pgx.NamedArgs{"id": id, "now": now})
		if err != nil {
			return err
		}
		if revoked == 0 {
			return ErrAlreadyRevoked
		}
		successor, minted, err = s.mint(ctx, tx, grant, key, now)
		return err
	})
	return successor, minted, err
}

// inOrder removes duplicates and sorts the scopes in the order of [apikey.Scopes].
func inOrder(scopes []string) []string {
	return slices.DeleteFunc(apikey.Scopes(), func(s string) bool { return !slices.Contains(scopes, s) })
}
