package evaluations

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// TargetType is where the outputs of an eval-run come from.
type TargetType string

// The types. Side a has the rest: the configuration, or the eval-run.
const (
	TargetExternal  TargetType = "external"
	TargetConfig    TargetType = "config"
	TargetReference TargetType = "reference"
	TargetEvalRun   TargetType = "eval_run"
	TargetRuns      TargetType = "runs"
)

// Target is what an eval-run evaluates. The members after Type are for recorded runs.
type Target struct {
	Type      TargetType `json:"type"`
	RunFilter string     `json:"run_filter"`
	From      *time.Time `json:"from"`
	To        *time.Time `json:"to"`
	MaxRuns   int        `json:"max_runs"`
	// Found says what became of the runs that match.
	Found *FoundRuns `json:"found,omitempty"`
}

// sent reports whether the outputs of an eval-run are sent to it, before its job runs.
func (n *Wanted) sent() bool { return n.Config.sent(n.Kind) }

func (c *Config) sent(kind Type) bool {
	return kind == EvalRun && (c.Target.Type == TargetExternal || c.Target.Type == TargetRuns || c.Target.Type == "")
}

// sourceRun returns an eval-run of the project that has ended: its results are needed, not its summary.
func (s *Service) sourceRun(ctx context.Context, grant access.Grant, location string, id uuid.UUID) (Evaluation, error) {
	found, err := s.Get(ctx, grant, EvalRun, id)
	if project, projectErr := grant.Project(); problem.Is(err, problem.NotFound) || err == nil && (projectErr != nil || found.ProjectID != project) {
		return found, problem.InvalidField(location, "is no eval-run of the project")
	}
	if err == nil && found.unfinished() {
		return found, &problem.Error{Kind: problem.Conflict, Code: "evaluation_running", Detail: fmt.Sprintf("The eval-run %q still runs. Finish it first.", found.Name)}
	}
	return found, err
}

// labelledItems returns the items of which an output of an eval-run has a label.
func (s *Service) labelledItems(ctx context.Context, e *Evaluation) ([]uuid.UUID, error) {
	found, err := postgres.Many[struct{ ItemID uuid.UUID }](ctx, s.db, "list labelled items", pgx.NamedArgs{"project": e.ProjectID, "id": e.ID})
	ids := make([]uuid.UUID, len(found))
	for i := range found {
		ids[i] = found[i].ItemID
	}
	return ids, err
}
