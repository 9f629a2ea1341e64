package projects

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/validate"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/runmodel"
)

type failureRulesRow struct {
	ScoreFailures []runmodel.ScoreFailure
	SignalsOff    []string
}

// FailureRules returns which scores fail the runs of a project and which signals are off, none for a project that is gone.
func (s *Service) FailureRules(ctx context.Context, project uuid.UUID) (runmodel.FailureRules, error) {
	rows, err := postgres.Many[failureRulesRow](ctx, s.db, "read failure rules", pgx.NamedArgs{"project": project})
	if err != nil || len(rows) == 0 {
		return runmodel.FailureRules{}, err
	}
	return runmodel.FailureRules{Scores: rows[0].ScoreFailures, SignalsOff: rows[0].SignalsOff}, nil
}

// SetSignals replaces which signals the grant's project has, and returns those that are off.
func (s *Service) SetSignals(ctx context.Context, grant access.Grant, off []string) ([]string, error) {
	id, err := grant.Project()
	if err != nil {
		return nil, err
	}
	off = slices.Compact(append([]string{}, slices.Sorted(slices.Values(off))...)) // nil would be NULL
	row, err := postgres.One[failureRulesRow](ctx, s.db, "set signals", pgx.NamedArgs{"project": id, "off": off, "now": s.now()})
	return row.SignalsOff, err
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
	row, err := postgres.One[failureRulesRow](ctx, s.db, "set score failures", pgx.NamedArgs{"project": id, "list": list, "now": s.now()})
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
