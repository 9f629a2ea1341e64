package work

import (
	"context"
	"errors"
	"maps"

	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// ErrFenced ends an attempt that another one replaced, or whose work was cancelled or deleted. Statements of an attempt name its id, the
// fencing token, so that they change nothing then.
var ErrFenced = errors.New("the work belongs to another attempt")

// Change runs a statement of an attempt that changes a row. It returns [ErrFenced] if the statement changed none.
func Change(ctx context.Context, db postgres.DB, statement string, args ...pgx.NamedArgs) error {
	all := pgx.NamedArgs{}
	for _, some := range args {
		maps.Copy(all, some)
	}
	changed, err := db.Exec(ctx, statement, all)
	if err == nil && changed == 0 {
		return ErrFenced
	}
	return err //nolint:wrapcheck // it names the statement
}

// place is what a job has while it is worked on.
type place struct {
	job       *int64
	attempt   *int
	preempted chan struct{}
}

type placeKey struct{}

func placeOf(ctx context.Context) place {
	p, _ := ctx.Value(placeKey{}).(place) // the zero value outside of a job
	return p
}

// JobOf returns the job that the context is of, and which attempt at it, nil outside of a job. It is the fencing token of all that costs
// money, and that begins work: another process that takes the job over has a higher attempt.
func JobOf(ctx context.Context) (id *int64, attempt *int) {
	p := placeOf(ctx)
	return p.job, p.attempt
}

// Attempt does the work of a job, and decides by its error what becomes of the job. An attempt that was replaced has nothing more to do. One
// whose context ended, and one that did not fail, comes again. When the last one fails, fail ends the work for good; what names the work.
func Attempt(ctx context.Context, what string, last bool, do func(context.Context) error, fail func(context.Context, *problem.Error) error) error {
	err := do(ctx)
	_, again := errors.AsType[*RetryLaterError](err)
	switch {
	case errors.Is(err, ErrFenced): // a retry would take the work from the attempt that has it
		return nil
	case err == nil, ctx.Err() != nil, again, !last:
		return err
	}
	failed := fail(context.WithoutCancel(ctx), &problem.Error{
		Code: "internal", Detail: "The " + what + " was tried several times and could not go on: " + err.Error(),
	})
	if errors.Is(failed, ErrFenced) {
		failed = nil
	}
	return errors.Join(err, failed)
}
