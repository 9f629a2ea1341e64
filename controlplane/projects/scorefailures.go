package projects

import (
	"context"
	"fmt"
	"math"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/validate"
)

type scoreFailuresRow struct {
	ScoreFailures []runmodel.ScoreFailure
}

// ScoreFailures returns which scores fail the runs of a project, none for a project that is gone.
func (s *Service) ScoreFailures(ctx context.Context, project uuid.UUID) ([]runmodel.ScoreFailure, error) {
	rows, err := postgres.Many[scoreFailuresRow](ctx, s.db, "read score failures", pgx.NamedArgs{"project": project})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0].ScoreFailures, nil
}

// SetScoreFailures replaces which scores fail the runs of the grant's project, and returns it.
func (s *Service) SetScoreFailures(ctx context.Context, grant access.Grant, list []runmodel.ScoreFailure) ([]runmodel.ScoreFailure, error) {
	id, err := grant.Project()
	if err != nil {
		return nil, err
	}
	if err := checkScoreFailures(list); err != nil {
		return nil, err
	}
	row, err := postgres.One[scoreFailuresRow](ctx, s.db, "set score failures", pgx.NamedArgs{"project": id, "list": list, "now": s.now()})
	return row.ScoreFailures, err
}

// checkScoreFailures returns an error for each member that its `when` needs, or does not take.
func checkScoreFailures(list []runmodel.ScoreFailure) error {
	var wrong []problem.Field
	names := map[string]bool{}
	for i := range list {
		one := &list[i]
		at := fmt.Sprintf("body.scores[%d].", i)
		if names[one.Name] {
			wrong = append(wrong, problem.Field{Location: at + "name", Message: "is in the list twice"})
		}
		names[one.Name] = true
		for j, text := range append([]string{one.Name}, one.Categories...) {
			location := at + "name"
			if j > 0 {
				location = fmt.Sprintf("%scategories[%d]", at, j-1)
			}
			if err := validate.Printable(location, text); err != nil {
				return err //nolint:wrapcheck // it is for the client
			}
		}
		bounded := one.When == runmodel.ScoreBelow || one.When == runmodel.ScoreAbove
		switch {
		case bounded && one.Bound == nil:
			wrong = append(wrong, problem.Field{Location: at + "bound", Message: "is required with " + string(one.When)})
		case bounded && (math.IsNaN(*one.Bound) || math.IsInf(*one.Bound, 0)):
			wrong = append(wrong, problem.Field{Location: at + "bound", Message: "must be finite"})
		case !bounded && one.Bound != nil:
			wrong = append(wrong, problem.Field{Location: at + "bound", Message: "is only for below and above"})
		}
		switch listed := one.When == runmodel.ScoreInCategories; {
		case listed && len(one.Categories) == 0:
			wrong = append(wrong, problem.Field{Location: at + "categories", Message: "is required with categories"})
		case !listed && len(one.Categories) > 0:
			wrong = append(wrong, problem.Field{Location: at + "categories", Message: "is only for categories"})
		}
	}
	if len(wrong) > 0 {
		return problem.InvalidFields(wrong...)
	}
	return nil
}
