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
type place struct {
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
func (s *Service) find(ctx context.Context, projects access.Projects, runID uuid.UUID) (place, error) {
	// A few rows, until they are merged: ClickHouse takes longer to plan an aggregation than to read them.
	var rows []place
	err := query(plain(ctx), s.conn, projects, &rows, `
		SELECT project_id, first_start, last_start, deleted_at, absent FROM run_bounds WHERE {projects} AND run_id = ?`, runID)
	if err != nil {
		return place{}, err
	}
	if len(rows) == 0 {
		return place{}, ErrNotFound
	}
	byProject := map[uuid.UUID]place{}
	for _, row := range rows {
		p, ok := byProject[row.ProjectID]
		if !ok {
			p = row
		}
		p.FirstStart, p.LastStart = earlier(p.FirstStart, row.FirstStart), later(p.LastStart, row.LastStart)
		p.DeletedAt = max(p.DeletedAt, row.DeletedAt)
		p.Absent &= row.Absent
		byProject[row.ProjectID] = p
	}
	p := slices.MinFunc(slices.Collect(maps.Values(byProject)), func(a, b place) int {
		if (a.DeletedAt > 0) != (b.DeletedAt > 0) {
			return cmp.Compare(a.DeletedAt, b.DeletedAt)
		}
		return cmp.Or(b.LastStart.Compare(a.LastStart), bytes.Compare(a.ProjectID[:], b.ProjectID[:]))
	})
	p.projects = projects.Only(p.ProjectID)
	return p, nil
}

// mostGuesses of a hundred bytes and some.
const mostGuesses = 10_000

// located reads a run where it lies. Where it lay when it was last read is a good guess: it is read there while it is looked up, and
// what was read counts only where the guess was right.
func located[T any](
	ctx context.Context, s *Service, projects access.Projects, runID uuid.UUID, read func(context.Context, place, uuid.UUID) (T, error),
) (T, error) {
	var none T
	key := guessKey(projects, runID)
	guess, guessed := s.guesses.Get(key)
	if !guessed {
		p, err := s.find(ctx, projects, runID)
		if err != nil {
			return none, err
		}
		s.guesses.Add(key, p)
		return read(ctx, p, runID)
	}
	readContext, wrong := context.WithCancel(ctx)
	defer wrong()
	var p place
	var group errgroup.Group
	group.Go(func() (err error) {
		if p, err = s.find(ctx, projects, runID); err != nil || !p.same(guess) {
			wrong()
		}
		return err
	})
	got, readErr := read(readContext, guess, runID)
	if err := group.Wait(); err != nil {
		return none, err
	}
	if p.same(guess) {
		return got, readErr
	}
	s.guesses.Add(key, p)
	return read(ctx, p, runID)
}

// guessKey is of the projects, too: what one caller has read tells another nothing, not even by the time that an answer takes.
func guessKey(projects access.Projects, runID uuid.UUID) string {
	key := make([]byte, 0, len(runID)*(len(projects.IDs())+1))
	for _, id := range projects.IDs() {
		key = append(key, id[:]...)
	}
	return string(append(key, runID[:]...))
}

// same tells whether the same rows are read at both.
func (p place) same(other place) bool {
	return p.ProjectID == other.ProjectID && p.DeletedAt == other.DeletedAt && p.Absent == other.Absent &&
		p.FirstStart.Truncate(time.Hour).Equal(other.FirstStart.Truncate(time.Hour)) &&
		p.LastStart.Truncate(time.Hour).Equal(other.LastStart.Truncate(time.Hour))
}

// placesOf says where the spans of some of a project's runs lie.
func (s *Service) placesOf(ctx context.Context, projects access.Projects, runIDs []uuid.UUID) (map[uuid.UUID]place, error) {
	var rows []struct {
		place
		RunID uuid.UUID `ch:"run_id"`
	}
	err := query(ctx, s.conn, projects, &rows, `
		SELECT project_id, run_id, min(first_start) AS first_start, max(last_start) AS last_start, max(deleted_at) AS deleted_at
		FROM run_bounds WHERE {projects} AND run_id IN (?) GROUP BY project_id, run_id`, runIDs)
	if err != nil {
		return nil, err
	}
	places := make(map[uuid.UUID]place, len(rows))
	for i := range rows {
		rows[i].projects = projects.Only(rows[i].ProjectID)
		places[rows[i].RunID] = rows[i].place
	}
	return places, nil
}

func idsOf(rows []runmodel.Run) []uuid.UUID {
	ids := make([]uuid.UUID, len(rows))
	for i := range rows {
		ids[i] = rows[i].RunID
	}
	return ids
}

// living drops versions of spans that are deleted. ClickHouse masks them some time after.
func (p place) living(versions []runmodel.Span) []runmodel.Span {
	return slices.DeleteFunc(versions, func(v runmodel.Span) bool { return v.Version <= p.DeletedAt })
}

// present is columns of spans for a statement, without those that the whole run leaves empty.
func (p place) present(columns []string) string {
	var kept []string
	for _, column := range columns {
		if name := column[strings.LastIndexByte(column, ' ')+1:]; !clickhouse.IsAbsent(p.Absent, name) {
			kept = append(kept, column)
		}
	}
	return strings.Join(kept, ", ")
}

// where restricts to the rows of one run in its hours.
func (p place) where(runID uuid.UUID) where {
	w := inProjects()
	w.hours(p.FirstStart, p.LastStart)
	w.add("run_id = ?", runID)
	if p.DeletedAt > 0 {
		w.add("version > ?", p.DeletedAt)
	}
	return w
}
