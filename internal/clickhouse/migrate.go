package clickhouse

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrate brings the schema of the database at url up to date. Steps run forward only, and each is safe to
// repeat after a kill, since ClickHouse has no transactions for DDL.
func Migrate(ctx context.Context, url string) error {
	opts, err := ch.ParseDSN(url)
	if err != nil {
		return fmt.Errorf("parse ClickHouse URL: %w", err)
	}
	if err := createDatabase(ctx, *opts); err != nil {
		return err
	}
	db := ch.OpenDB(opts)
	defer func() { _ = db.Close() }() // nothing is buffered in a connection pool
	if err := migrate(ctx, db); err != nil {
		return err
	}
	return completeTextIndexes(ctx, db)
}

func createDatabase(ctx context.Context, opts ch.Options) error {
	name := opts.Auth.Database
	opts.Auth.Database = "default"
	db := ch.OpenDB(&opts)
	defer func() { _ = db.Close() }() // nothing is buffered in a connection pool
	if _, err := db.ExecContext(ctx, "CREATE DATABASE IF NOT EXISTS "+quoteIdentifier(name)+" ENGINE = Atomic"); err != nil {
		return fmt.Errorf("create ClickHouse database %s: %w", name, err)
	}
	return nil
}

func migrate(ctx context.Context, db *sql.DB) error {
	steps, err := newProvider(db)
	if err != nil {
		return err
	}
	if _, err := steps.Up(ctx); err != nil {
		return fmt.Errorf("apply ClickHouse migrations: %w", err)
	}
	return nil
}

func newProvider(db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("open embedded ClickHouse migrations: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectClickHouse, db, files, goose.WithGoMigrations(spansInStartOrder))
	if err != nil {
		return nil, fmt.Errorf("read ClickHouse migrations: %w", err)
	}
	return provider, nil
}
