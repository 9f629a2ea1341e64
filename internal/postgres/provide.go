package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// provideLock is the advisory lock of those that provide a database at once.
const provideLock = 7087_0001

// Provide makes the database at url and the role that it names, with its password. The role owns the database and what is in it, so that it can
// migrate it, and is no superuser: whoever makes it run SQL gets nothing of the machine. adminURL is a superuser's. What a superuser made
// before, as older versions did, is handed over. It may be killed at any moment and run again.
func Provide(ctx context.Context, adminURL, url string) (err error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("parse the PostgreSQL address: %w", err)
	}
	admin, err := pgx.Connect(ctx, adminURL)
	if err != nil {
		return fmt.Errorf("connect to PostgreSQL as its superuser: %w", err)
	}
	defer func() { err = errors.Join(err, admin.Close(ctx)) }()
	if admin.Config().User == config.User {
		return fmt.Errorf("the superuser and the role of the database are both %q and must be two", config.User)
	}
	if _, err := admin.Exec(ctx, "SELECT pg_advisory_lock($1)", provideLock); err != nil {
		return fmt.Errorf("wait for others that create the database: %w", err)
	}
	if isDone, err := provided(ctx, admin, config); err != nil || isDone {
		return err
	}
	for _, step := range []struct {
		what, unless, statement string
		args                    []any
	}{
		{"create the role", "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)", "SELECT format('CREATE ROLE %I', $1::text)", []any{config.User}},
		{"set the role's password", "", "SELECT format('ALTER ROLE %I LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD %L', $1::text, $2::text)", []any{config.User, config.Password}},
		{"create the database", "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", "SELECT format('CREATE DATABASE %I', $1::text)", []any{config.Database}},
	} {
		if step.unless != "" {
			var isThere bool
			if err := admin.QueryRow(ctx, step.unless, step.args...).Scan(&isThere); err != nil {
				return fmt.Errorf("%s: %w", step.what, err)
			}
			if isThere {
				continue
			}
		}
		var statement string
		if err := admin.QueryRow(ctx, step.statement, step.args...).Scan(&statement); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
		if _, err := admin.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return handOver(ctx, admin, config)
}

// provided reports whether the role owns the database and can log in. It tries that last, because PostgreSQL logs a failure.
func provided(ctx context.Context, admin *pgx.Conn, config *pgx.ConnConfig) (bool, error) {
	var owns bool
	err := admin.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_roles r JOIN pg_database d ON d.datdba = r.oid
		WHERE r.rolname = $1 AND d.datname = $2 AND NOT r.rolsuper)`, config.User, config.Database).Scan(&owns)
	if err != nil {
		return false, fmt.Errorf("look for the database: %w", err)
	}
	if !owns {
		return false, nil
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return false, nil //nolint:nilerr // it gets its password anew
	}
	return true, conn.Close(ctx)
}

// owners says for each object of the database that has an owner of its own how it gets another one. Sequences of columns go with their
// tables, and the members of extensions stay with them.
const owners = `
SELECT format('ALTER TABLE %s OWNER TO %I', c.oid::regclass, $1::text)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
	AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype IN ('a', 'i', 'e'))
UNION ALL
SELECT format('ALTER ROUTINE %s OWNER TO %I', p.oid::regprocedure, $1::text)
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname = 'public' AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
UNION ALL
SELECT format('ALTER TYPE %s OWNER TO %I', t.oid::regtype, $1::text)
FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
WHERE n.nspname = 'public' AND t.typtype IN ('e', 'd', 'r') AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_type'::regclass AND d.objid = t.oid AND d.deptype = 'e')
UNION ALL
SELECT format('ALTER DATABASE %I OWNER TO %I', current_database(), $1::text)`

// handOver makes the role the owner of the database and of all that is in it.
func handOver(ctx context.Context, admin *pgx.Conn, to *pgx.ConnConfig) (err error) {
	within := admin.Config()
	within.Database = to.Database
	conn, err := pgx.ConnectConfig(ctx, within)
	if err != nil {
		return fmt.Errorf("connect to the database as the superuser: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, owners, to.User) // CollectRows returns the error
		statements, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		for _, statement := range statements {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("hand the database over to %s: %w", to.User, err)
	}
	return nil
}
