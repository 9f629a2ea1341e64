package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/internal/prices"
)

// Querier is a connection or a pool.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// PriceOverrides reads the prices of projects' own, by the project's id, in an order that only a change changes.
func PriceOverrides(ctx context.Context, q Querier) (map[string][]prices.Override, error) {
	rows, err := q.Query(ctx, `
		SELECT project_id::text, provider, model, valid_from, input, output, cache_read, cache_write, cache_write_1h, reasoning, revision
		FROM price_overrides
		ORDER BY project_id, revision`)
	if err != nil {
		return nil, fmt.Errorf("read projects' own prices: %w", err)
	}
	read := map[string][]prices.Override{}
	var (
		projectID string
		from      *time.Time
		one       prices.Override
	)
	_, err = pgx.ForEachRow(rows, []any{
		&projectID, &one.Provider, &one.Model, &from, &one.Input, &one.Output,
		&one.CacheRead, &one.CacheWrite, &one.CacheWrite1h, &one.Reasoning, &one.Revision,
	}, func() error {
		override := one
		if from != nil {
			override.From = *from
		}
		read[projectID] = append(read[projectID], override)
		// The next row gets numbers of its own.
		one.CacheRead, one.CacheWrite, one.CacheWrite1h, one.Reasoning = nil, nil, nil, nil
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read projects' own prices: %w", err)
	}
	return read, nil
}
