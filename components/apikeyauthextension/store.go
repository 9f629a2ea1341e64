package apikeyauthextension

import (
	"context"
	_ "embed"
	"fmt"
	"net/netip"
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

// use is a use of a key.
type use struct {
	at time.Time
	// from is the client's address, or the zero address.
	from netip.Addr
}

// noteUse stores the last uses of keys by key id, unless a later or almost equal time is stored already.
func (s *store) noteUse(ctx context.Context, uses map[string]use) error {
	ids := make([]string, 0, len(uses))
	times := make([]time.Time, 0, len(uses))
	addresses := make([]*string, 0, len(uses))
	for id, u := range uses {
		var address *string
		if u.from.IsValid() {
			text := u.from.Unmap().WithZone("").String()
			address = &text
		}
		ids, times, addresses = append(ids, id), append(times, u.at), append(addresses, address)
	}
	if _, err := s.pool.Exec(ctx, noteUseSQL, pgx.NamedArgs{"ids": ids, "times": times, "addresses": addresses}); err != nil {
		return fmt.Errorf("store the last use of keys: %w", err)
	}
	return nil
}
