package runs

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
)

// AttributedRun is a run with the attributes by which failed runs are compared with others. Names and Values belong together.
type AttributedRun struct {
	RunID         uuid.UUID `ch:"run_id"`
	StartTime     time.Time `ch:"start_time"`
	Name          string    `ch:"name"`
	AgentName     string    `ch:"agent_name"`
	FailingSpanID uint64    `ch:"failing_span_id"`
	Names         []string  `ch:"names"`
	Values        []string  `ch:"values"`
}

// Attributes returns the attributes of runs that start between two times, the newest run first. Runs that are gone are left out.
func (s *Service) Attributes(ctx context.Context, projects access.Projects, project uuid.UUID, ids []uuid.UUID, from, until time.Time) ([]AttributedRun, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	w := inProjects()
	w.hours(from, until)
	w.add("run_id IN (?)", ids)
	var found []AttributedRun
	err := query(ctx, s.conn, projects.Only(project), &found, `
		WITH `+runAttributes+` AS attributes
		SELECT run_id, start_time, name, `+agentPrefix+` AS agent_name, failing_span_id,
			arrayMap(a -> a.1, attributes) AS names, arrayMap(a -> a.2, attributes) AS values
		FROM runs FINAL WHERE `+w.String()+` ORDER BY start_time DESC, run_id DESC`, w.args...)
	return found, err
}
