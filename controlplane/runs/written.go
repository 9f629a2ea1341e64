package runs

import (
	"context"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// Mark is a place in the order in which rows of runs were written.
type Mark struct {
	Written          time.Time
	ProjectID, RunID uuid.UUID
}

// WrittenRun is a run whose row was written.
type WrittenRun struct {
	ProjectID uuid.UUID `ch:"project_id"`
	RunID     uuid.UUID `ch:"run_id"`
	Written   time.Time `ch:"written"`
	Name      string    `ch:"name"`
}

// Settled returns where to begin the next time, after a search from this mark to another one: not behind the time up to which no row can
// come any more.
func (m Mark) Settled(to Mark, settled time.Time) Mark {
	switch {
	case !to.Written.After(settled):
		return to
	case settled.After(m.Written):
		return Mark{Written: settled}
	}
	return Mark{Written: m.Written}
}

// WrittenEvaluations returns the runs of the source evaluation whose rows were written after a mark, in that order, without their names. It
// also returns where to go on, and the time up to which no row can come any more: a row carries the time at which its insert began. The next
// time, begin at [Mark.Settled]. So a run may be returned twice, and is not missed.
func (s *Service) WrittenEvaluations(
	ctx context.Context, projects access.Projects, after Mark, limit int,
) (found []WrittenRun, next Mark, settled time.Time, err error) {
	now, err := s.storeTime(ctx, projects)
	if err != nil {
		return nil, after, settled, err
	}
	w := inProjects()
	w.add("source = ?", runmodel.SourceEvaluation)
	w.add("written_at >= fromUnixTimestamp64Milli(?)", after.Written.UnixMilli())
	w.add("(written_at, project_id, run_id) > (fromUnixTimestamp64Milli(?), ?, ?)", after.Written.UnixMilli(), after.ProjectID, after.RunID)
	err = query(ctx, s.conn, projects, &found, `SELECT DISTINCT project_id, run_id, written_at AS written FROM runs WHERE `+w.String()+`
		ORDER BY written, project_id, run_id LIMIT ?`, append(w.args, limit)...)
	if err != nil {
		return nil, after, settled, err
	}
	settled = now.Add(-watchOverlap)
	return found, nextMark(found, after, settled, limit), settled, nil
}

// nextMark returns where to go on behind runs that were found: behind the last one if there may be more, else at until.
func nextMark(found []WrittenRun, after Mark, until time.Time, limit int) Mark {
	if len(found) == limit {
		last := found[limit-1]
		return Mark{last.Written.UTC(), last.ProjectID, last.RunID}
	}
	if until.Before(after.Written) {
		return after
	}
	return Mark{Written: until}
}

// Written is what was written to projects in a time: the hours in which its runs began.
type Written struct {
	// Until is the end of the time. Settled is that up to which no row can come any more.
	Until, Settled time.Time
	hours          map[uuid.UUID]writtenHours
}

type writtenHours struct {
	ProjectID uuid.UUID `ch:"project_id"`
	First     time.Time `ch:"first"`
	Last      time.Time `ch:"last"`
}

// In reports whether anything was written to a project.
func (w *Written) In(project uuid.UUID) bool {
	_, ok := w.hours[project]
	return ok
}

// Written looks what was written to projects between two times, to runs that began in the last 30 days.
func (s *Service) Written(ctx context.Context, projects access.Projects, after, until time.Time) (*Written, error) {
	now, err := s.storeTime(ctx, projects)
	if err != nil {
		return nil, err
	}
	written := &Written{Until: until, Settled: earlier(until, now.Add(-watchOverlap)), hours: map[uuid.UUID]writtenHours{}}
	w := inProjects()
	w.startsIn(s.now().Add(-maxWatchedAge).Truncate(time.Hour), time.Time{})
	w.add("written_at BETWEEN fromUnixTimestamp64Milli(?) AND fromUnixTimestamp64Milli(?)", after.UnixMilli(), until.UnixMilli())
	var rows []writtenHours
	err = query(ctx, s.conn, projects, &rows, `SELECT project_id, min(toStartOfHour(start_time)) AS first, max(toStartOfHour(start_time)) AS last FROM runs
		WHERE `+w.String()+` GROUP BY project_id`, w.args...)
	for _, row := range rows {
		written.hours[row.ProjectID] = row
	}
	return written, err
}

// Sample is a part of the runs that a filter selects.
type Sample struct {
	// Filter is of one project, without times.
	Filter
	// Of names the sample: the same run and name are in it with any share that is not smaller.
	Of    uuid.UUID
	Share float64
	// EndedAfter leaves out runs that ended before.
	EndedAfter time.Time
}

// add adds the condition that a run is in the sample.
func (s *Sample) add(w *where) {
	if s.Share < 1 {
		w.add("sipHash64(toUUID(?), run_id) < toUInt64(?)", s.Of, uint64(s.Share*math.MaxUint64))
	}
}

// WrittenSample returns the runs of a sample that have ended and were last written behind a mark and up to the end of a time, in that order.
// It also returns where to go on, and if there are fewer than limit, that is the end of the time.
func (s *Service) WrittenSample(ctx context.Context, in access.Projects, written *Written, after Mark, sample *Sample, limit int) (found []WrittenRun, next Mark, err error) {
	projects := in.Only(sample.ProjectID)
	hours, ok := written.hours[sample.ProjectID]
	if !ok {
		return nil, nextMark(nil, after, written.Until, limit), nil
	}
	f, err := s.resolve(ctx, projects, sample.Filter)
	if err != nil {
		return nil, after, err
	}
	candidates := inProjects()
	candidates.hours(hours.First, hours.Last)
	candidates.add("written_at BETWEEN fromUnixTimestamp64Milli(?) AND fromUnixTimestamp64Milli(?)", after.Written.UnixMilli(), written.Until.UnixMilli())
	sample.add(&candidates)
	w := inProjects()
	w.hours(hours.First, hours.Last)
	w.add("run_id IN (SELECT run_id FROM runs WHERE "+candidates.String()+")", candidates.args...)
	// Of all rows of a run, the last one counts. identity keeps the index from leaving that out.
	w.add("identity(written_at) <= fromUnixTimestamp64Milli(?)", written.Until.UnixMilli())
	w.add("(identity(written_at), run_id) > (fromUnixTimestamp64Milli(?), ?)", after.Written.UnixMilli(), after.RunID)
	w.add("status != ?", runmodel.StatusRunning)
	w.add("greatest(end_time, start_time) >= fromUnixTimestamp64Nano(?)", sample.EndedAfter.UnixNano()) // the end may be unknown
	f.conditions(&w, hours.First)
	err = query(ctx, s.conn, projects, &found, `SELECT project_id, run_id, written_at AS written, name FROM runs FINAL WHERE `+w.String()+`
		ORDER BY written, run_id LIMIT ?`, append(w.args, limit)...)
	if err != nil {
		return nil, after, err
	}
	for i := range found {
		var c cutter
		c.text("name", maxWrittenName, &found[i].Name)
	}
	return found, nextMark(found, after, written.Until, limit), nil
}

// maxWrittenName is how many bytes of the name of a run are returned.
const maxWrittenName = 800
