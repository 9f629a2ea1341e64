package runs

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/clickhouse"
)

// Deletion selects what is deleted: the runs of one project that are named, or those that a filter selects.
type Deletion struct {
	// Filter names the project; with RunIDs it does nothing else.
	Filter
	RunIDs []uuid.UUID
	// ReceivedBefore leaves out runs that were first received later; zero does not.
	ReceivedBefore time.Time
	// DryRun only counts.
	DryRun bool
}

// Deleted says how many runs matched, as of a time, and how many of them were deleted. What is left takes another call.
type Deleted struct {
	Matched, Deleted uint64
	AsOf             time.Time
}

// Delete deletes runs for good, at most clickhouse.MaxDeleted in one call. What was received up to now does not come back
// when it is delivered again; what is received later does, as a run that begins anew.
func (s *Service) Delete(ctx context.Context, projects access.Projects, d Deletion) (Deleted, error) {
	projects = projects.Only(d.ProjectID)
	result := Deleted{AsOf: s.now().UTC()}
	w := inProjects()
	if len(d.RunIDs) > 0 {
		w.add("run_id IN (?)", d.RunIDs)
	} else {
		f := d.at(result.AsOf)
		w.startsIn(f.StartAfter, f.StartBefore)
		f.conditions(&w, f.StartAfter)
	}
	if !d.ReceivedBefore.IsZero() {
		w.add("first_received < fromUnixTimestamp64Nano(?)", d.ReceivedBefore.UnixNano())
	}
	var counts []struct {
		Runs uint64 `ch:"runs"`
	}
	if err := query(ctx, s.conn, projects, &counts, `SELECT count() AS runs FROM runs FINAL WHERE `+w.String(), w.args...); err != nil {
		return Deleted{}, err
	}
	result.Matched = counts[0].Runs
	if d.DryRun || result.Matched == 0 {
		return result, nil
	}
	var found []struct {
		RunID uuid.UUID `ch:"run_id"`
	}
	// Runs of one time lie together, so that fewer parts are touched at once.
	if err := query(ctx, s.conn, projects, &found, `SELECT run_id FROM runs FINAL WHERE `+w.String()+`
		ORDER BY start_time DESC, run_id LIMIT ?`, append(w.args, clickhouse.MaxDeleted)...); err != nil {
		return Deleted{}, err
	}
	ids := make([]uuid.UUID, len(found))
	for i := range found {
		ids[i] = found[i].RunID
	}
	if err := clickhouse.DeleteRuns(ctx, s.conn, d.ProjectID, ids, s.now()); err != nil {
		return Deleted{}, classify(err)
	}
	result.Deleted = uint64(len(ids))
	return result, nil
}
