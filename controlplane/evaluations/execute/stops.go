package execute

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// stopJudge keeps why a judge is stopped: what summarizes may be another job, after a cancellation or a change of labels.
func (a *attempt) stopJudge(ctx context.Context, p, j int, failure *problem.Error) error {
	if a.stoppedJudges.allStopped(a.panels) {
		a.stopping.set("", failure)
	}
	ctx = context.WithoutCancel(ctx) // as what was answered is stored
	return work.Retry(ctx, func() error {
		_, err := a.db.Exec(ctx, "stop judge", pgx.NamedArgs{
			"id": a.e.ID, "attempt": a.id, "panel": p, "judge": j, "error_code": failure.Code, "error_detail": utf8text.Storable(failure.Error()),
		})
		return err
	})
}

// forgetStops forgets the stops of attempts before this one, which asks all judges again.
func (a *attempt) forgetStops(ctx context.Context) error {
	if len(a.panels) == 0 {
		return nil
	}
	_, err := a.db.Exec(ctx, "forget stopped judges", pgx.NamedArgs{"id": a.e.ID})
	return err
}
