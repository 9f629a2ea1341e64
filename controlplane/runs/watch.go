package runs

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/problem"
)

// Errors of a watch.
var (
	// ErrWatchTooOld means that the time to resume from is too long ago.
	ErrWatchTooOld = errors.New("watch is too old to continue")
	// ErrWatchBehind means that the reader is too slow, or that too many runs changed at once.
	ErrWatchBehind = errors.New("watch is behind")
	// ErrWatchClosed means that the service is stopping.
	ErrWatchClosed = &problem.Error{
		Kind: problem.Unavailable, Code: problem.CodeDependency, RetryAfter: 2 * time.Second, Detail: "The service is stopping. Connect again.",
	}
)

const (
	// pollEvery is how often a watched project is polled, however many watches it has.
	pollEvery = time.Second
	// watchOverlap is how far each poll reaches back behind the last one. A row carries the time at which its insert began, and becomes
	// visible when the insert ends.
	watchOverlap = 10 * time.Second
	// maxResumeAge is how long ago the time may be from which a watch resumes.
	maxResumeAge = 10 * time.Minute
	// maxWatchedAge is how long ago a run may have started for its changes to be seen.
	maxWatchedAge = 30 * 24 * time.Hour
	// maxChanges is how many runs may change between two polls.
	maxChanges = 2000
	// maxBacklog is how many changes a resumed watch may have missed: those of the overlap, which are sent again, and of two polls.
	maxBacklog = 12 * maxChanges
	// maxBehind is how many polls a reader may be behind.
	maxBehind = 8
	// pollFailures is how many polls in a row may fail before the watches end. Each failure is logged.
	pollFailures = 20
)

// Watch reports a project's runs as they appear or change.
type Watch struct {
	// From is the time of the first change that is reported.
	From time.Time

	service  *Service
	feed     *projectFeed
	projects access.Projects
	filter   Filter
	names    []string // of scores whose summaries the runs get
	updates  chan changes
	err      error // why updates is closed; set before
	backlog  []changes
}

// Watch begins to report the runs that a filter selects, with summaries of their scores of some names, from the time that an earlier watch
// returned, or from now if it is zero. The caller must close it. A run may be reported again although it did not change.
func (s *Service) Watch(ctx context.Context, projects access.Projects, f Filter, scoreNames []string, from time.Time) (*Watch, error) {
	projects = projects.Only(f.ProjectID)
	now, err := s.storeTime(ctx, projects)
	if err != nil {
		return nil, err
	}
	resolved, err := s.resolve(ctx, projects, f)
	if err != nil {
		return nil, err
	}
	f.Prompts, f.failures = resolved.Prompts, resolved.failures // the window moves on
	w := &Watch{service: s, projects: projects, filter: f, names: scoreNames, updates: make(chan changes, maxBehind), From: from}
	if from.IsZero() {
		w.From = now
	} else if from.Before(now.Add(-maxResumeAge)) || from.After(now.Add(time.Minute)) {
		return nil, ErrWatchTooOld
	}
	if err := s.feeds.add(s, w, now); err != nil { //nolint:contextcheck // a feed outlives its first watch
		return nil, err
	}
	select {
	case <-w.feed.ready:
		if err := s.feeds.ended(w); err != nil {
			return nil, err
		}
	case <-ctx.Done():
		w.Close()
		return nil, ctx.Err()
	}
	if !from.IsZero() {
		if err := w.catchUp(ctx); err != nil {
			w.Close()
			return nil, err
		}
	}
	return w, nil
}

// catchUp reads the changes since the time from which the watch resumes.
func (w *Watch) catchUp(ctx context.Context) error {
	found, err := w.service.changes(ctx, w.projects, w.From.Add(-watchOverlap), maxBacklog)
	if err != nil {
		return err
	}
	if len(found) > maxBacklog {
		return ErrWatchTooOld
	}
	for rows := range slices.Chunk(found, maxChanges) {
		w.backlog = append(w.backlog, changes{rows: rows, at: rows[len(rows)-1].Written.UTC()})
	}
	return nil
}

// Next waits for changes. It returns the runs among them that the filter selects, which may be none, and the time up to which all changes
// have been reported.
func (w *Watch) Next(ctx context.Context) ([]Run, time.Time, error) {
	if len(w.backlog) > 0 {
		found := w.backlog[0]
		w.backlog = w.backlog[1:]
		return w.read(ctx, found)
	}
	select {
	case found, open := <-w.updates:
		if !open {
			return nil, time.Time{}, w.err
		}
		return w.read(ctx, found)
	case <-ctx.Done():
		return nil, time.Time{}, ctx.Err()
	}
}

// read returns the changed runs as they are now.
func (w *Watch) read(ctx context.Context, found changes) ([]Run, time.Time, error) {
	if len(found.rows) == 0 {
		return nil, found.at, nil
	}
	ids := make([]uuid.UUID, len(found.rows))
	first, last := found.rows[0].Hour, found.rows[0].Hour
	for i, row := range found.rows {
		ids[i] = row.RunID
		first, last = earlier(first, row.Hour), later(last, row.Hour)
	}
	f := w.filter.at(w.service.now())
	cond := inProjects()
	cond.hours(first, last)
	cond.startsIn(f.StartAfter, f.StartBefore)
	cond.add("run_id IN (?)", ids)
	f.conditions(&cond, first)
	runs, err := w.service.selectRuns(ctx, w.projects, cond, "ORDER BY start_time, run_id")
	if err != nil {
		return nil, time.Time{}, err
	}
	if err := w.service.addScores(ctx, w.projects, runs, maxListedScores); err != nil {
		return nil, time.Time{}, err
	}
	return runs, found.at, w.service.addScoreSummaries(ctx, w.projects, runs, w.names)
}

// Close ends the watch.
func (w *Watch) Close() { w.service.feeds.remove(w, ErrWatchClosed) }
