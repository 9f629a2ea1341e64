package runs

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// place says where a run's spans lie.
type location struct {
	ProjectID  uuid.UUID `ch:"project_id"`
	FirstStart time.Time `ch:"first_start"`
	LastStart  time.Time `ch:"last_start"`
	// DeletedAt is up to which version the run is deleted, 0 where it is not.
	DeletedAt uint64 `ch:"deleted_at"`
	// Absent is which columns all of its spans leave empty, as clickhouse.IsAbsent reads it.
	Absent uint64 `ch:"absent"`

	projects access.Projects // of the project
}

// find looks a run up by its id. Where several projects of the projects have a run of that id, the one that
// started last is meant.
func (s *Service) find(ctx context.Context, projects access.Projects, runID uuid.UUID) (location, error) {
	// A few rows, until they are merged: ClickHouse takes longer to plan an aggregation than to read them.
	var rows []location
	err := query(withOldAnalyzer(ctx), s.conn, projects, &rows, `
		SELECT project_id, first_start, last_start, deleted_at, absent FROM run_bounds WHERE {projects} AND run_id = ?`, runID)
	if err != nil {
		return location{}, err
	}
	if len(rows) == 0 {
		return location{}, ErrNotFound
	}
	byProject := map[uuid.UUID]location{}
	for _, row := range rows {
		loc, ok := byProject[row.ProjectID]
		if !ok {
			loc = row
		}
		loc.FirstStart, loc.LastStart = earlier(loc.FirstStart, row.FirstStart), later(loc.LastStart, row.LastStart)
		loc.DeletedAt = max(loc.DeletedAt, row.DeletedAt)
		loc.Absent &= row.Absent
		byProject[row.ProjectID] = loc
	}
	loc := slices.MinFunc(slices.Collect(maps.Values(byProject)), func(a, b location) int {
		if (a.DeletedAt > 0) != (b.DeletedAt > 0) {
			return cmp.Compare(a.DeletedAt, b.DeletedAt)
		}
		return cmp.Or(b.LastStart.Compare(a.LastStart), bytes.Compare(a.ProjectID[:], b.ProjectID[:]))
	})
	loc.projects = projects.Only(loc.ProjectID)
	return loc, nil
}

// maxCachedLocations of a hundred bytes and some.
const maxCachedLocations = 10_000

// located reads a run where it lies. Where it lay when it was last read is a good guess: it is read there while it is looked up, and
// what was read counts only where the guess was right.
func located[T any](
	ctx context.Context, s *Service, projects access.Projects, runID uuid.UUID, read func(context.Context, location, uuid.UUID) (T, error),
) (T, error) {
	var none T
	key := locationKey(projects, runID)
	cached, ok := s.locations.Get(key)
	if !ok {
		loc, err := s.find(ctx, projects, runID)
		if err != nil {
			return none, err
		}
		s.locations.Add(key, loc)
		return read(ctx, loc, runID)
	}
	readContext, wrong := context.WithCancel(ctx)
	defer wrong()
	var loc location
	var group errgroup.Group
	group.Go(func() (err error) {
		if loc, err = s.find(ctx, projects, runID); err != nil || !loc.equal(cached) {
			wrong()
		}
		return err
	})
	got, readErr := read(readContext, cached, runID)
	if err := group.Wait(); err != nil {
		return none, err
	}
	if loc.equal(cached) {
		return got, readErr
	}
	s.locations.Add(key, loc)
	return read(ctx, loc, runID)
}

// locationKey is of the projects, too: what one caller has read tells another nothing, not even by the time that an answer takes.
func locationKey(projects access.Projects, runID uuid.UUID) string {
	key := make([]byte, 0, len(runID)*(len(projects.IDs())+1))
	for _, id := range projects.IDs() {
		key = append(key, id[:]...)
	}
	return string(append(key, runID[:]...))
}

// same tells whether the same rows are read at both.
func (loc location) equal(other location) bool {
	return loc.ProjectID == other.ProjectID && loc.DeletedAt == other.DeletedAt && loc.Absent == other.Absent &&
		loc.FirstStart.Truncate(time.Hour).Equal(other.FirstStart.Truncate(time.Hour)) &&
		loc.LastStart.Truncate(time.Hour).Equal(other.LastStart.Truncate(time.Hour))
}

// locationsOf says where the spans of some of a project's runs lie.
func (s *Service) locationsOf(ctx context.Context, projects access.Projects, runIDs []uuid.UUID) (map[uuid.UUID]location, error) {
	var rows []struct {
		location
		RunID uuid.UUID `ch:"run_id"`
	}
	err := query(ctx, s.conn, projects, &rows, `
		SELECT project_id, run_id, min(first_start) AS first_start, max(last_start) AS last_start, max(deleted_at) AS deleted_at
		FROM run_bounds WHERE {projects} AND run_id IN (?) GROUP BY project_id, run_id`, runIDs)
	if err != nil {
		return nil, err
	}
	locations := make(map[uuid.UUID]location, len(rows))
	for i := range rows {
		rows[i].projects = projects.Only(rows[i].ProjectID)
		locations[rows[i].RunID] = rows[i].location
	}
	return locations, nil
}

func idsOf(rows []runmodel.Run) []uuid.UUID {
	ids := make([]uuid.UUID, len(rows))
	for i := range rows {
		ids[i] = rows[i].RunID
	}
	return ids
}

// living drops versions of spans that are deleted. ClickHouse masks them some time after.
func (loc location) dropDeleted(versions []runmodel.Span) []runmodel.Span {
	return slices.DeleteFunc(versions, func(v runmodel.Span) bool { return v.Version <= loc.DeletedAt })
}

// present is columns of spans for a statement, without those that the whole run leaves empty.
func (loc location) withoutAbsent(columns []string) string {
	var present []string
	for _, column := range columns {
		if name := column[strings.LastIndexByte(column, ' ')+1:]; !clickhouse.IsAbsent(loc.Absent, name) {
			present = append(present, column)
		}
	}
	return strings.Join(present, ", ")
}

// where restricts to the rows of one run in its hours.
func (loc location) where(runID uuid.UUID) where {
	w := inProjects()
	w.hours(loc.FirstStart, loc.LastStart)
	w.add("run_id = ?", runID)
	if loc.DeletedAt > 0 {
		w.add("version > ?", loc.DeletedAt)
	}
	return w
}
