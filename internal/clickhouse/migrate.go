package clickhouse

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/ClickHouse/ch-go/proto"
	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/pressly/goose/v3"
)

// migrations is the schema: first a file for each table, then a file for each later change. Files are applied once, in the order of their
// numbers, so a released file is never edited: a change is a new file with the next number. ClickHouse has no transactions for DDL, so
// a killed migration is applied again, and each file has to be safe to repeat.
//
//go:embed migrations/*.sql
var migrations embed.FS

// versionTable records which migrations were applied.
const versionTable = "schema_migrations"

// ErrOlderBuild means that a database has tables of a build from before the first release. Migrate does not change such a database.
var ErrOlderBuild = errors.New("made by an older build of Looptrace, which cannot be upgraded; use a fresh database")

// Migrate brings the schema of the database at url up to date. It may be killed at any moment and run again. Migrators that run at once
// wait for each other.
func Migrate(ctx context.Context, url string) error {
	opts, err := ch.ParseDSN(url)
	if err != nil {
		return fmt.Errorf("parse ClickHouse URL: %w", err)
	}
	if err := createDatabase(ctx, *opts); err != nil {
		return err
	}
	unlock, err := lock(ctx, opts)
	if err != nil {
		return err
	}
	defer unlock()
	db := ch.OpenDB(opts)
	defer func() { _ = db.Close() }() // nothing is buffered in a connection pool
	if err := refuseOlderBuild(ctx, db, opts.Auth.Database); err != nil {
		return err
	}
	return migrate(ctx, db)
}

// lock waits until no other migrator works on the database. ClickHouse has no locks, but it refuses a second query with the id of one that
// runs: a query that does nothing runs until unlock, or until its connection ends with the process.
func lock(ctx context.Context, opts *ch.Options) (unlock func(), err error) {
	conn, err := ch.Open(opts)
	if err != nil {
		return nil, fmt.Errorf("open ClickHouse: %w", err)
	}
	held, end := context.WithCancel(ctx)
	unlock = func() {
		end()
		_ = conn.Close() // nothing is buffered in a connection pool
	}
	query := ch.Context(held, ch.WithQueryID("looptrace migrate "+opts.Auth.Database),
		ch.WithSettings(ch.Settings{"max_execution_time": 0, "max_block_size": 1}))
	const pause = 100 * time.Millisecond // the query notices within this time that its client is gone
	for waiting := false; ; waiting = true {
		_, err = conn.Query(query, "SELECT number FROM system.numbers WHERE sleepEachRow(0.1) = 1") // never true
		var refused *ch.Exception
		if err == nil {
			return unlock, nil
		}
		if !errors.As(err, &refused) || refused.Code != int32(proto.ErrQueryWithSameIDIsAlreadyRunning) {
			break
		}
		if !waiting {
			slog.InfoContext(ctx, "waiting for another migration of the same database")
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	unlock()
	return nil, fmt.Errorf("lock the schema: %w", err)
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

// refuseOlderBuild returns ErrOlderBuild for a database whose tables are not those of the files in migrations: older builds recorded
// their migrations in another table.
func refuseOlderBuild(ctx context.Context, db *sql.DB, database string) error {
	var older bool
	if err := db.QueryRowContext(ctx, `SELECT countIf(name = 'goose_db_version') > 0 OR countIf(name = 'spans') > 0 AND countIf(name = ?) = 0
		FROM system.tables WHERE database = currentDatabase()`, versionTable).Scan(&older); err != nil {
		return fmt.Errorf("read the tables of the ClickHouse database %s: %w", database, err)
	}
	if older {
		return fmt.Errorf("the ClickHouse database %s was %w", database, ErrOlderBuild)
	}
	return nil
}

func migrate(ctx context.Context, db *sql.DB) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fmt.Errorf("open embedded ClickHouse migrations: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectClickHouse, db, files, goose.WithTableName(versionTable))
	if err != nil {
		return fmt.Errorf("read ClickHouse migrations: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("apply ClickHouse migrations: %w", err)
	}
	return nil
}
