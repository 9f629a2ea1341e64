package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// migrations is the schema: first a file for each table, then a file for each later change. Files are applied once, in the order of their
// numbers, so a released file is never edited: a change is a new file with the next number.
//
//go:embed migrations/*.sql
var migrations embed.FS

// versionTable records which migrations were applied.
const versionTable = "schema_migrations"

// ErrOlderBuild means that a database has tables of a build from before the first release. Migrate does not change such a database.
var ErrOlderBuild = errors.New("made by an older build of Looptrace, which cannot be upgraded; use a fresh database")

// How long a migrator waits for another one that holds the lock.
const (
	lockRetrySeconds = 1
	lockRetries      = 300
)

// Migrate brings the schema of the database at url up to date. Migrators that run
// at once wait for each other on an advisory lock, which PostgreSQL frees when
// its session ends. A migration and its record are one transaction, so Migrate
// may be killed at any moment and run again.
func Migrate(ctx context.Context, url string) (err error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("parse the PostgreSQL address: %w", err)
	}
	config.ConnectTimeout = connectTimeout
	db := stdlib.OpenDB(*config)
	defer func() { err = errors.Join(err, db.Close()) }()

	if err := refuseOlderBuild(ctx, db); err != nil {
		return err
	}
	provider, err := newProvider(db)
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate PostgreSQL: %w", err)
	}
	return nil
}

// refuseOlderBuild returns ErrOlderBuild for a database whose tables are not those of the files in migrations: older builds recorded
// their migrations in another table.
func refuseOlderBuild(ctx context.Context, db *sql.DB) error {
	var (
		database string
		older    bool
	)
	if err := db.QueryRowContext(ctx, `SELECT current_database(), to_regclass('goose_db_version') IS NOT NULL
		OR to_regclass('projects') IS NOT NULL AND to_regclass($1) IS NULL`, versionTable).Scan(&database, &older); err != nil {
		return fmt.Errorf("read the tables of PostgreSQL: %w", err)
	}
	if older {
		return fmt.Errorf("the PostgreSQL database %s was %w", database, ErrOlderBuild)
	}
	return nil
}

func newProvider(db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(lockRetrySeconds, lockRetries))
	if err != nil {
		return nil, fmt.Errorf("prepare the migration lock: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithSessionLocker(locker), goose.WithTableName(versionTable))
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	return provider, nil
}
