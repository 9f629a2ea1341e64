package apikeyauthextension

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed sql/find_keys.sql
var findKeysSQL string

//go:embed sql/note_use.sql
var noteUseSQL string

// store reads and writes keys in PostgreSQL.
type store struct {
	pool *pgxpool.Pool
}

// find returns the records of the public ids that are stored.
func (s *store) find(ctx context.Context, publicIDs []string) (map[string]*record, error) {
	rows, err := s.pool.Query(ctx, findKeysSQL, pgx.NamedArgs{"public_ids": publicIDs})
	if err != nil {
		return nil, fmt.Errorf("find keys: %w", err)
	}
	found := make(map[string]*record, len(publicIDs))
	var (
		publicID              string
		r                     record
		expiresAt, lastUsedAt *time.Time
		limits                map[string]float64
	)
	_, err = pgx.ForEachRow(rows, []any{&publicID, &r.id, &r.projectID, &r.hash, &r.scopes, &expiresAt, &lastUsedAt, &r.revoked, &limits}, func() error {
		one := record{id: r.id, projectID: r.projectID, hash: r.hash, scopes: r.scopes, revoked: r.revoked}
		if expiresAt != nil {
			one.expiresAt = *expiresAt
		}
		if lastUsedAt != nil {
			one.lastUsedAt = *lastUsedAt
		}
		one.auth = &authData{state: stateOK, projectID: one.projectID, keyID: one.id, scopes: one.scopes, limits: limits}
		found[publicID] = &one
		// The next row must get slices and a map of its own.
		r.hash, r.scopes, limits = nil, nil, nil
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find keys: %w", err)
	}
	return found, nil
}

// noteUse stores when keys were last used, unless a later or almost equal time is stored already.
func (s *store) noteUse(ctx context.Context, usedAt map[string]time.Time) error {
	ids := make([]string, 0, len(usedAt))
	times := make([]time.Time, 0, len(usedAt))
	for id, at := range usedAt {
		ids = append(ids, id)
		times = append(times, at)
	}
	if _, err := s.pool.Exec(ctx, noteUseSQL, pgx.NamedArgs{"ids": ids, "times": times}); err != nil {
		return fmt.Errorf("store the last use of keys: %w", err)
	}
	return nil
}
