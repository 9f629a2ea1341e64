package runs

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/clickhouse"
)

// Deletion selects the runs to delete.
type Deletion struct {
	Selection
	// DryRun only counts the runs.
	DryRun bool
	// Forget removes what others keep of runs. It is called before they are deleted, so that an interrupted deletion leaves nothing that
	// another one does not find, and after: something may have been kept meanwhile.
	Forget func(ctx context.Context, ids []uuid.UUID) error
}

// Deleted is how many runs matched at a time, and how many of them were deleted. Another call deletes more of the rest.
type Deleted struct {
	Matched, Deleted uint64
	AsOf             time.Time
}

// Delete deletes runs for good, up to clickhouse.MaxDeleted in one call. What was received before does not come back when it is delivered
// again. What is received later begins the run anew.
func (s *Service) Delete(ctx context.Context, projects access.Projects, d Deletion) (Deleted, error) {
	projects = projects.Only(d.ProjectID)
	result := Deleted{AsOf: s.now().UTC()}
	w, err := s.where(ctx, projects, d.Selection, result.AsOf)
	if err != nil {
		return Deleted{}, err
	}
	if result.Matched, err = s.countWhere(ctx, projects, w); err != nil || d.DryRun || result.Matched == 0 {
		return result, err
	}
	var found []struct {
		RunID uuid.UUID `ch:"run_id"`
	}
	// Runs of similar times are in the same parts, so delete them together.
	if err := query(ctx, s.conn, projects, &found, `SELECT run_id FROM runs FINAL WHERE `+w.String()+`
		ORDER BY start_time DESC, run_id LIMIT ?`, append(w.args, clickhouse.MaxDeleted)...); err != nil {
		return Deleted{}, err
	}
	ids := make([]uuid.UUID, len(found))
	for i := range found {
		ids[i] = found[i].RunID
	}
	if err := d.Forget(ctx, ids); err != nil {
		return Deleted{}, err
	}
	if err := clickhouse.DeleteRuns(ctx, s.conn, d.ProjectID, ids, s.now()); err != nil {
		return Deleted{}, classify(err)
	}
	result.Deleted = uint64(len(ids))
	return result, d.Forget(ctx, ids)
}

// DeleteProject deletes all runs of a deleted project.
func (s *Service) DeleteProject(ctx context.Context, project uuid.UUID) error {
	if err := clickhouse.DeleteProject(ctx, s.conn, project); err != nil {
		return classify(err)
	}
	return nil
}

// Count counts the runs of projects.
func (s *Service) Count(ctx context.Context, projects access.Projects) (uint64, error) {
	if len(projects.IDs()) == 0 {
		return 0, nil
	}
	return s.countWhere(ctx, projects, inProjects())
}
