package runs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
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

// location is where a run's spans are in the tables.
type location struct {
	ProjectID  uuid.UUID `ch:"project_id"`
	FirstStart time.Time `ch:"first_start"`
	LastStart  time.Time `ch:"last_start"`
	// DeletedAt is the version up to which the run is deleted, 0 if it is not.
	DeletedAt uint64 `ch:"deleted_at"`
	// Absent are the columns that all of its spans leave empty, for clickhouse.IsAbsent.
	Absent uint64 `ch:"absent"`

	projects access.Projects // only ProjectID
}

// find looks up a run by its id. If several projects have a run of that id, it returns the one that started last.
func (s *Service) find(ctx context.Context, projects access.Projects, runID uuid.UUID) (location, error) {
	// There are few rows until ClickHouse merges them. Planning an aggregation would take longer than reading them.
	var rows []location
	err := query(ctx, s.conn.with(options{oldAnalyzer: true}), projects, &rows, `
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

// WasDeleted reports whether a run was deleted. One that was not may still be on its way to the store.
func (s *Service) WasDeleted(ctx context.Context, projects access.Projects, runID uuid.UUID) (bool, error) {
	loc, err := s.find(ctx, projects, runID)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return loc.DeletedAt > 0, err
}

// maxCachedLocations is of little more than a hundred bytes each.
const maxCachedLocations = 10_000

// located reads a run at its location. If the location is cached, the run is read there while it is looked up, and read again if the
// lookup finds another location.
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

// locationKey includes the projects, so that a caller learns nothing of what others have read, not even from the duration of a request.
func locationKey(projects access.Projects, runID uuid.UUID) string {
	key := make([]byte, 0, len(runID)*(len(projects.IDs())+1))
	for _, id := range projects.IDs() {
		key = append(key, id[:]...)
	}
	return string(append(key, runID[:]...))
}

// equal reports whether the same rows are read at both.
func (loc location) equal(other location) bool {
	return loc.ProjectID == other.ProjectID && loc.DeletedAt == other.DeletedAt && loc.Absent == other.Absent &&
		loc.FirstStart.Truncate(time.Hour).Equal(other.FirstStart.Truncate(time.Hour)) &&
		loc.LastStart.Truncate(time.Hour).Equal(other.LastStart.Truncate(time.Hour))
}

// locationsOf returns the locations of some of a project's runs.
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

// areaOf returns a location that has all of them.
func areaOf(projects access.Projects, locations map[uuid.UUID]location) location {
	var area location
	for _, loc := range locations {
		if area.ProjectID == uuid.Nil {
			area = loc
		}
		area.FirstStart, area.LastStart = earlier(area.FirstStart, loc.FirstStart), later(area.LastStart, loc.LastStart)
	}
	area.projects, area.DeletedAt = projects, 0
	return area
}

func idsOf(rows []runmodel.Run) []uuid.UUID {
	ids := make([]uuid.UUID, len(rows))
	for i := range rows {
		ids[i] = rows[i].RunID
	}
	return ids
}

// dropDeleted drops versions of spans that are deleted. ClickHouse masks them some time after the deletion.
func (loc location) dropDeleted(versions []runmodel.Span) []runmodel.Span {
	return slices.DeleteFunc(versions, func(v runmodel.Span) bool { return v.Version <= loc.DeletedAt })
}

// withoutAbsent returns a list of columns without those that all spans of the run leave empty.
func (loc location) withoutAbsent(columns []string) string {
	var present []string
	for _, column := range columns {
		if name := column[strings.LastIndexByte(column, ' ')+1:]; !clickhouse.IsAbsent(loc.Absent, name) {
			present = append(present, column)
		}
	}
	return strings.Join(present, ", ")
}

// where selects the rows of the run, within its hours.
func (loc location) where(runID uuid.UUID) where {
	w := inProjects()
	w.hours(loc.FirstStart, loc.LastStart)
	w.add("run_id = ?", runID)
	if loc.DeletedAt > 0 {
		w.add("version > ?", loc.DeletedAt)
	}
	return w
}
