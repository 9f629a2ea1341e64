package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/looptrace/looptrace/internal/problem"
)

// statementTimeout bounds a statement or transaction, the wait for a connection included.
const statementTimeout = 5 * time.Second

// Errors that callers tell apart.
var (
	// ErrNotFound is a row that does not exist, or not in the caller's projects.
	ErrNotFound = problem.Missing()
	// ErrUnavailable is a database that does not answer.
	ErrUnavailable = problem.DependencyDown("PostgreSQL")
)

// DB runs the statements of one subject, outside of a transaction or in one.
type DB struct {
	pool       *pgxpool.Pool
	statements map[string]string
	tx         pgx.Tx // nil outside of one
}

// NewDB returns a DB with the statements of a file: each follows a line "-- name: what it does". Its name finds it and describes
// it in errors.
func NewDB(pool *pgxpool.Pool, file string) DB {
	db := DB{pool: pool, statements: map[string]string{}}
	for _, part := range strings.Split(file, "-- name: ")[1:] {
		name, statement, _ := strings.Cut(part, "\n")
		db.statements[name] = statement
	}
	return db
}

// Page is a part of a list.
type Page struct {
	Limit  int
	Offset int
}

// One reads a single row into the fields of T, by name; none is [ErrNotFound].
func One[T any](ctx context.Context, db DB, name string, args pgx.NamedArgs) (T, error) {
	rows, err := Many[T](ctx, db, name, args)
	if err != nil {
		return *new(T), err
	}
	if len(rows) == 0 {
		return *new(T), ErrNotFound
	}
	return rows[0], nil
}

// Many reads rows into the fields of T, by name.
func Many[T any](ctx context.Context, db DB, name string, args pgx.NamedArgs) ([]T, error) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	var rows pgx.Rows // CollectRows returns the error of Query
	if db.tx != nil {
		rows, _ = db.tx.Query(ctx, db.statement(name), args)
	} else {
		rows, _ = db.pool.Query(ctx, db.statement(name), args)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, available(err))
	}
	return list, nil
}

// List reads a page of rows. The statement ends with LIMIT @limit OFFSET @offset.
func List[T any](ctx context.Context, db DB, name string, page Page, args pgx.NamedArgs) (list []T, more bool, err error) {
	args = maps.Clone(args)
	args["limit"], args["offset"] = page.Limit+1, page.Offset // one more shows whether there are more
	list, err = Many[T](ctx, db, name, args)
	if len(list) > page.Limit {
		return list[:page.Limit], true, err
	}
	return list, false, err
}

// Exec runs a statement and returns how many rows it changed.
func (db DB) Exec(ctx context.Context, name string, args pgx.NamedArgs) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	var (
		done pgconn.CommandTag
		err  error
	)
	if db.tx != nil {
		done, err = db.tx.Exec(ctx, db.statement(name), args)
	} else {
		done, err = db.pool.Exec(ctx, db.statement(name), args)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, available(err))
	}
	return done.RowsAffected(), nil
}

// Delete runs a statement that is [ErrNotFound] where it changes no row.
func (db DB) Delete(ctx context.Context, name string, args pgx.NamedArgs) error {
	changed, err := db.Exec(ctx, name, args)
	if err == nil && changed == 0 {
		return ErrNotFound
	}
	return err
}

// Tx runs fn in one transaction: all of its statements take effect, or none.
func (db DB) Tx(ctx context.Context, fn func(ctx context.Context, tx DB) error) error {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	return available(pgx.BeginFunc(ctx, db.pool, func(tx pgx.Tx) error {
		return fn(ctx, DB{statements: db.statements, tx: tx})
	}))
}

// LongTx is [DB.Tx] without a limit of time, for jobs. fn gets the transaction itself. A statement of a [DB] still has its limit.
func (db DB) LongTx(ctx context.Context, fn func(ctx context.Context, tx pgx.Tx) error) error {
	return available(pgx.BeginFunc(ctx, db.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL statement_timeout = 0"); err != nil {
			return fmt.Errorf("lift the limit of statements: %w", err)
		}
		return fn(ctx, tx)
	}))
}

// LongDelete is [DB.Delete] without a limit of time: what belongs to the row goes with it, which may be millions of rows. A [DB] in a
// transaction must be that of a [DB.LongTx].
func (db DB) LongDelete(ctx context.Context, name string, args pgx.NamedArgs) error {
	if db.tx == nil {
		return db.LongTx(ctx, func(ctx context.Context, tx pgx.Tx) error { return db.On(tx).LongDelete(ctx, name, args) })
	}
	done, err := db.tx.Exec(ctx, db.statement(name), args)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", name, available(err))
	case done.RowsAffected() == 0:
		return ErrNotFound
	}
	return nil
}

// On returns the DB in the transaction of a [DB.LongTx].
func (db DB) On(tx pgx.Tx) DB { return DB{statements: db.statements, tx: tx} }

// Statement returns the text of a statement, for [DB.LongTx].
func (db DB) Statement(name string) string { return db.statement(name) }

// PGX returns the transaction, for a library that takes part in it.
func (db DB) PGX() pgx.Tx { return db.tx }

// Ping is [ErrUnavailable] where the database does not answer.
func (db DB) Ping(ctx context.Context) error {
	if err := db.pool.Ping(ctx); err != nil {
		return fmt.Errorf("ping PostgreSQL: %w", available(err))
	}
	return nil
}

func (db DB) statement(name string) string {
	statement, ok := db.statements[name]
	if !ok {
		panic("no statement is named " + name)
	}
	return statement
}

// Containing returns the pattern of LIKE that finds a text anywhere, or "" for no text.
func Containing(search string) string {
	if search == "" {
		return ""
	}
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(search) + "%"
}

// Violates reports whether the error violates the named constraint.
func Violates(err error, constraint string) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.ConstraintName == constraint
}

// Locked reports whether a statement gave up waiting for a lock.
func Locked(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == "55P03" // lock_not_available
}

// available adds [ErrUnavailable] to an error that says that the database does not answer, and [ErrNotFound] to one that says
// that a referenced row was deleted in the meantime.
func available(err error) error {
	var (
		refused *pgconn.PgError
		dial    *pgconn.ConnectError
		network net.Error
	)
	switch {
	case err == nil, errors.Is(err, ErrUnavailable):
		return err
	case errors.Is(err, context.Canceled): // the client went away; nothing is wrong with the database
		return err
	case errors.As(err, &refused):
		if refused.Code == "23503" { // foreign_key_violation
			return fmt.Errorf("%w: %w", ErrNotFound, err)
		}
		switch refused.Code[:2] {
		case "08", "53", "57": // connection lost, out of resources, shutting down or cancelled
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		return err
	case errors.As(err, &dial), errors.As(err, &network), pgconn.SafeToRetry(err),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	default:
		return err
	}
}

// Clock returns the time of now as PostgreSQL keeps it, in microseconds: what is answered at once is what is read later.
func Clock(now func() time.Time) func() time.Time {
	return func() time.Time { return now().UTC().Truncate(time.Microsecond) }
}

// NewID makes the id of a row.
func NewID() uuid.UUID {
	return uuid.Must(uuid.NewV7()) // fails only where the system has no randomness
}
