package postgres

import (
	"context"
	"database/sql"
)

// MigrateTo brings a database to an earlier schema than the newest.
func MigrateTo(ctx context.Context, db *sql.DB, version int64) error {
	provider, err := newProvider(db)
	if err != nil {
		return err
	}
	_, err = provider.UpTo(ctx, version)
	return err
}
