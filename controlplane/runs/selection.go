package runs

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
)

// Selection selects runs of a project: those of RunIDs, or else those of the filter.
type Selection struct {
	// Filter has the project. Its other fields are ignored if there are RunIDs.
	Filter
	RunIDs []uuid.UUID
	// ReceivedBefore leaves out runs that were first received at that time or later. Zero leaves out none.
	ReceivedBefore time.Time
}

// where returns the conditions of a selection at a time on the table runs.
func (s *Service) where(ctx context.Context, projects access.Projects, selected Selection, now time.Time) (where, error) {
	w := inProjects()
	if len(selected.RunIDs) > 0 {
		w.add("run_id IN (?)", selected.RunIDs)
	} else {
		f, err := s.settleAt(ctx, projects, selected.Filter, now)
		if err != nil {
			return where{}, err
		}
		w.startsIn(f.StartAfter, f.StartBefore)
		f.conditions(&w, f.StartAfter)
	}
	if !selected.ReceivedBefore.IsZero() {
		w.add("first_received < fromUnixTimestamp64Nano(?)", selected.ReceivedBefore.UnixNano())
	}
	return w, nil
}

// countWhere counts the runs that conditions select.
func (s *Service) countWhere(ctx context.Context, projects access.Projects, w where) (uint64, error) {
	var counts []struct {
		Runs uint64 `ch:"runs"`
	}
	if err := query(ctx, s.conn, projects, &counts, `SELECT count() AS runs FROM runs FINAL WHERE `+w.String(), w.args...); err != nil {
		return 0, err
	}
	return counts[0].Runs, nil
}

// Selected are the runs of a selection at a time.
type Selected struct {
	// Matched is how many there are. Runs is empty if there are more than the caller's limit.
	Matched uint64
	// Runs are in the order of the list, the newest first. Those of many ids are in this order in parts.
	Runs []SelectedRun
	AsOf time.Time
}

// SelectedRun is a run of a selection.
type SelectedRun struct {
	RunID     uuid.UUID `ch:"run_id"`
	SpanCount uint64    `ch:"span_count"`
}

// selectedAtOnce is how many ids one statement has: ClickHouse limits its length.
const selectedAtOnce = 2000

// Select finds the runs of a selection, if there are not more than limit.
func (s *Service) Select(ctx context.Context, projects access.Projects, selection Selection, limit int) (Selected, error) {
	projects = projects.Only(selection.ProjectID)
	selected := Selected{AsOf: s.now().UTC()}
	if len(selection.RunIDs) > 0 {
		for ids := range slices.Chunk(selection.RunIDs, selectedAtOnce) {
			selection.RunIDs = ids
			found, err := s.selectAt(ctx, projects, selection, selected.AsOf, len(ids))
			if err != nil {
				return Selected{}, err
			}
			selected.Runs = append(selected.Runs, found...)
		}
		selected.Matched = uint64(len(selected.Runs))
		return selected, nil
	}
	w, err := s.where(ctx, projects, selection, selected.AsOf)
	if err != nil {
		return Selected{}, err
	}
	if selected.Matched, err = s.countWhere(ctx, projects, w); err != nil || selected.Matched > uint64(limit) {
		return selected, err
	}
	selected.Runs, err = s.selectAt(ctx, projects, selection, selected.AsOf, limit)
	selected.Matched = uint64(len(selected.Runs)) // one may be gone or come in the meantime
	return selected, err
}

// Sample is [Service.Select] for a filter, with at most limit runs: where there are more, those that the seed draws. Matched counts all.
func (s *Service) Sample(ctx context.Context, projects access.Projects, filter Filter, limit int, seed int64) (Selected, error) {
	projects = projects.Only(filter.ProjectID)
	sampled := Selected{AsOf: s.now().UTC()}
	w, err := s.where(ctx, projects, Selection{Filter: filter}, sampled.AsOf)
	if err != nil {
		return Selected{}, err
	}
	if sampled.Matched, err = s.countWhere(ctx, projects, w); err != nil {
		return Selected{}, err
	}
	err = query(ctx, s.conn, projects, &sampled.Runs, `SELECT run_id, span_count FROM (
			SELECT run_id, span_count, start_time FROM runs FINAL WHERE `+w.String()+` ORDER BY sipHash64(run_id, toInt64(?)), run_id LIMIT ?)
		ORDER BY start_time DESC, run_id DESC`, append(w.args, seed, limit)...)
	sampled.Matched = max(sampled.Matched, uint64(len(sampled.Runs))) // one may have come in the meantime
	return sampled, err
}

// Newest is [Service.Select] with the newest runs where there are more than limit. Matched counts all, and first is when the first of them
// began, zero without any.
func (s *Service) Newest(ctx context.Context, projects access.Projects, filter Filter, limit int) (newest Selected, first time.Time, err error) {
	projects = projects.Only(filter.ProjectID)
	newest.AsOf = s.now().UTC()
	w, err := s.where(ctx, projects, Selection{Filter: filter}, newest.AsOf)
	if err != nil {
		return newest, first, err
	}
	var counts []struct {
		Runs  uint64    `ch:"runs"`
		First time.Time `ch:"first"`
	}
	if err := query(ctx, s.conn, projects, &counts, `SELECT count() AS runs, min(start_time) AS first FROM runs FINAL WHERE `+w.String(), w.args...); err != nil {
		return newest, first, err
	}
	if newest.Matched = counts[0].Runs; newest.Matched == 0 {
		return newest, first, nil
	}
	newest.Runs, err = s.selectAt(ctx, projects, Selection{Filter: filter}, newest.AsOf, limit)
	return newest, counts[0].First.UTC(), err
}

func (s *Service) selectAt(ctx context.Context, projects access.Projects, selection Selection, now time.Time, limit int) ([]SelectedRun, error) {
	w, err := s.where(ctx, projects, selection, now)
	if err != nil {
		return nil, err
	}
	var found []SelectedRun
	err = query(ctx, s.conn, projects, &found, `SELECT run_id, span_count FROM runs FINAL WHERE `+w.String()+`
		ORDER BY start_time DESC, run_id DESC LIMIT ?`, append(w.args, limit)...)
	return found, err
}

// NameCount is how many runs have a name.
type NameCount struct {
	Name string `ch:"name"`
	Runs uint64 `ch:"runs"`
}

// maxNames is how many names of runs are counted.
const maxNames = 50

// Names counts runs by name, the names of most runs first.
func (s *Service) Names(ctx context.Context, projects access.Projects, project uuid.UUID, ids []uuid.UUID) (names []NameCount, err error) {
	w := inProjects()
	w.add("run_id IN (?)", ids)
	err = query(ctx, s.conn, projects.Only(project), &names, `SELECT name, count() AS runs FROM runs FINAL WHERE `+w.String()+`
		GROUP BY name ORDER BY runs DESC, name LIMIT ?`, append(w.args, maxNames)...)
	return names, err
}
