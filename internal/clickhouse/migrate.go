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

//go:embed migrations/*.sql
var migrations embed.FS

// stepTimeout bounds one statement of a step, in place of the driver's five minutes: it may copy a day of spans.
const stepTimeout = 24 * time.Hour

// Migrate brings the schema of the database at url up to date. Steps run forward only, and each is safe to
// repeat after a kill, since ClickHouse has no transactions for DDL. Where another one does the same, it waits for that.
func Migrate(ctx context.Context, url string) error {
	opts, err := ch.ParseDSN(url)
	if err != nil {
		return fmt.Errorf("parse ClickHouse URL: %w", err)
	}
	opts.ReadTimeout = stepTimeout
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
	if err := migrate(ctx, db); err != nil {
		return err
	}
	return completeTextIndexes(ctx, db)
}

// lock waits until no other migrator is at work in the database. ClickHouse has no locks, but takes no second query of one id: a
// query that does nothing runs until unlock, or until its connection ends with the process.
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
	const pause = 100 * time.Millisecond // as long as the query takes to see that its client is gone
	for waiting := false; ; waiting = true {
		_, err = conn.Query(query, "SELECT number FROM system.numbers WHERE sleepEachRow(0.1) = 1") // which is never so
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
