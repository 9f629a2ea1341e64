package identity

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/apikey"
)

// Key describes a key of a project. It does not hold the secret.
type Key struct {
	ID         uuid.UUID
	ProjectID  uuid.UUID
	Name       string
	PublicID   string
	Scopes     []string
	CreatedAt  time.Time
	LastUsedAt *time.Time
	ExpiresAt  *time.Time
	RevokedAt  *time.Time
}

// NewKey is what a new key is to be.
type NewKey struct {
	ProjectID uuid.UUID
	Name      string
	Scopes    []string
	ExpiresAt *time.Time
}

// resolveKey checks a key against the database each time, so that a revoked one ends at once.
func (s *Service) resolveKey(ctx context.Context, text string) (*Principal, error) {
	presented, err := apikey.Parse(text)
	if err != nil {
		return nil, ErrUnauthenticated
	}
	row, err := s.store.keyByPublicID(ctx, presented.PublicID())
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	if !presented.Matches(row.SecretSHA256) { // of an unknown key nothing is stored, and nothing matches
		return nil, ErrUnauthenticated
	}
	now := s.now()
	if row.RevokedAt != nil {
		return nil, ErrKeyRevoked
	}
	if row.expired(now) {
		return nil, ErrKeyExpired
	}
	access, err := s.store.accessOfKey(ctx, row.ProjectID)
	if err != nil {
		return nil, err
	}
	if row.LastUsedAt == nil || now.Sub(*row.LastUsedAt) >= lastUsedPrecision {
		if err := s.store.touchKey(ctx, row.ID, now); err != nil {
			return nil, err
		}
	}
	p := &Principal{Key: &row.Key}
	for _, a := range access {
		p.Projects = append(p.Projects, a.access("", row.Scopes))
	}
	return p, nil
}

func (k Key) expired(now time.Time) bool { return k.ExpiresAt != nil && !k.ExpiresAt.After(now) }

// Keys lists a project's keys, newest first, revoked ones included.
func (s *Service) Keys(ctx context.Context, p *Principal, project uuid.UUID, page Page) (list []Key, more bool, err error) {
	if err := p.Authorize(project, apikey.ScopeAdmin); err != nil {
		return nil, false, err
	}
	rows, err := s.store.keys(ctx, project, page)
	if err != nil {
		return nil, false, err
	}
	list, more = cut(rows, page)
	return list, more, nil
}

// Key reads the description of one key.
func (s *Service) Key(ctx context.Context, p *Principal, id uuid.UUID) (Key, error) {
	key, err := s.store.key(ctx, p.projectIDs(), id)
	if err != nil {
		return Key{}, err
	}
	if err := p.Authorize(key.ProjectID, apikey.ScopeAdmin); err != nil {
		return Key{}, err
	}
	return key, nil
}

// CreateKey mints a key. Nobody can give a key a scope that they lack themselves.
func (s *Service) CreateKey(ctx context.Context, p *Principal, req NewKey) (Key, apikey.Key, error) {
	if err := p.Authorize(req.ProjectID, apikey.ScopeAdmin); err != nil {
		return Key{}, apikey.Key{}, err
	}
	for _, scope := range req.Scopes {
		if !apikey.ValidScope(scope) {
			return Key{}, apikey.Key{}, &InvalidError{Field: "scopes", Message: "must be scopes that keys can have"}
		}
		if err := p.Authorize(req.ProjectID, scope); err != nil {
			return Key{}, apikey.Key{}, err
		}
	}
	name, err := cleanName("name", req.Name)
	if err != nil {
		return Key{}, apikey.Key{}, err
	}
	now := s.now()
	if req.ExpiresAt != nil && !req.ExpiresAt.After(now) {
		return Key{}, apikey.Key{}, &InvalidError{Field: "expires_at", Message: "must be in the future"}
	}
	if req.ExpiresAt != nil && req.ExpiresAt.UTC().Year() > latestYear {
		return Key{}, apikey.Key{}, &InvalidError{Field: "expires_at", Message: "must be in 2261 at the latest"}
	}
	minted := apikey.Mint()
	row := mintedRow(minted, Key{ProjectID: req.ProjectID, Name: name, Scopes: inOrder(req.Scopes), ExpiresAt: stored(req.ExpiresAt)}, now)
	if err := s.store.createKey(ctx, row, p.createdBy()); err != nil {
		return Key{}, apikey.Key{}, err
	}
	return row.Key, minted, nil
}

// latestYear is as far as runs' times go too, and as JSON can say in every zone.
const latestYear = 2261

// RevokeKey ends a key. One that is revoked already stays as it is.
func (s *Service) RevokeKey(ctx context.Context, p *Principal, id uuid.UUID) error {
	key, err := s.Key(ctx, p, id)
	if err != nil {
		return err
	}
	return s.store.revokeKey(ctx, key.ID, s.now())
}

// RotateKey revokes a key and mints another with its name, scopes and expiry.
func (s *Service) RotateKey(ctx context.Context, p *Principal, id uuid.UUID) (Key, apikey.Key, error) {
	key, err := s.Key(ctx, p, id)
	if err != nil {
		return Key{}, apikey.Key{}, err
	}
	now := s.now()
	if key.RevokedAt != nil {
		return Key{}, apikey.Key{}, ErrAlreadyRevoked
	}
	if key.expired(now) {
		return Key{}, apikey.Key{}, ErrAlreadyExpired
	}
	minted := apikey.Mint()
	row := mintedRow(minted, key, now)
	if err := s.store.rotateKey(ctx, key.ID, row, p.createdBy()); err != nil {
		return Key{}, apikey.Key{}, err
	}
	return row.Key, minted, nil
}

// mintedRow is the row of a new key that is like another.
func mintedRow(minted apikey.Key, like Key, now time.Time) keyRow {
	hash := minted.Hash()
	return keyRow{
		Key: Key{
			ID: newID(), ProjectID: like.ProjectID, Name: like.Name, PublicID: minted.PublicID(),
			Scopes: like.Scopes, CreatedAt: now, ExpiresAt: like.ExpiresAt,
		},
		SecretSHA256: hash[:],
	}
}

// inOrder returns the scopes each once, in the order in which they are shown.
func inOrder(scopes []string) []string {
	return slices.DeleteFunc(apikey.Scopes(), func(s string) bool { return !slices.Contains(scopes, s) })
}

// stored is a time as PostgreSQL keeps it.
func stored(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	kept := t.UTC().Truncate(time.Microsecond)
	return &kept
}
