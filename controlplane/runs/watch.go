package runs

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/problem"
)

// Errors of a watch.
var (
	// ErrTooManyWatches means that the project, or the service, has as many watches as it may.
	ErrTooManyWatches = &problem.Error{
		Kind: problem.RateLimited, Code: problem.CodeRateLimited, RetryAfter: 10 * time.Second,
		Detail: "The project has as many streams as it may. Close one.",
	}
	// ErrWatchTooOld means that what is to be continued is too long ago.
	ErrWatchTooOld = errors.New("watch is too old to continue")
	// ErrWatchBehind means that the reader took what it was told too slowly, or more changed than can be told.
	ErrWatchBehind = errors.New("watch is behind")
	// ErrWatchClosed means that the service ends.
	ErrWatchClosed = &problem.Error{
		Kind: problem.Unavailable, Code: problem.CodeDependency, RetryAfter: 2 * time.Second, Detail: "The service is stopping. Connect again.",
	}
)

const (
	// MaxWatches is how many watches a project may have at a time.
	MaxWatches = 30
	// maxAllWatches is how many the service may have.
	maxAllWatches = 500
	// pollEvery is how often a project that is watched is looked at, however many watch it.
	pollEvery = time.Second
	// watchOverlap is how far back each look goes behind the last one: a row bears the time at which its insert began,
	// and is seen when it ends.
	watchOverlap = 10 * time.Second
	// watchMemory is how old a place may be from which a watch is continued.
	watchMemory = 10 * time.Minute
	// watchedStarts is how long ago a run may have started of which changes are seen.
	watchedStarts = 30 * 24 * time.Hour
	// maxChanges is how many runs may change between two looks.
	maxChanges = 2000
	// maxMissed is how many a watch that is continued is told at first: as many as the overlap may hold, which is told again,
	// and two looks.
	maxMissed = 12 * maxChanges
	// maxBehind is how many looks a reader may be behind.
	maxBehind = 8
	// pollFailures is how many looks in a row may fail before the watches end. Each failure is logged.
	pollFailures = 20
)

// change is a run's row that was written.
type change struct {
	RunID   uuid.UUID `ch:"run_id"`
	Hour    time.Time `ch:"hour"`
	Version uint64    `ch:"version"`
	Written time.Time `ch:"written"`
}

// changes are what one look found. Readers share them.
type changes struct {
	rows []change
	at   time.Time // all that was written before, but for the overlap, was told
}

// Watch tells of a project's runs as they appear or change.
type Watch struct {
	// From is the place from which on it tells.
	From time.Time

	service  *Service
	feed     *feed
	projects access.Projects
	filter   Filter
	news     chan changes
	err      error // why news is closed; set before that
	backlog  []changes
}

// feed looks at one project for all who watch it.
type feed struct {
	project uuid.UUID
	cancel  context.CancelFunc
	watches map[*Watch]struct{}
	// began is closed when it is known what there is, and the feed tells of all that comes then; or when that cannot be known, and
	// the watches have ended.
	began chan struct{}
}

// feeds are those of a service.
type feeds struct {
	mu       sync.Mutex
	projects map[uuid.UUID]*feed
	watches  int
	closed   bool
	running  sync.WaitGroup
}

// Watch begins to tell of the runs that a filter selects, from a place on that an earlier watch gave, or from now where
// it is zero. The caller closes it. A run may be told of again without having changed.
func (s *Service) Watch(ctx context.Context, projects access.Projects, f Filter, from time.Time) (*Watch, error) {
	projects = projects.Only(f.ProjectID)
	now, err := s.storeTime(ctx, projects)
	if err != nil {
		return nil, err
	}
	w := &Watch{service: s, projects: projects, filter: f, news: make(chan changes, maxBehind), From: from}
	if from.IsZero() {
		w.From = now
	} else if from.Before(now.Add(-watchMemory)) || from.After(now.Add(time.Minute)) {
		return nil, ErrWatchTooOld
	}
	if err := s.feeds.add(s, w, now); err != nil { //nolint:contextcheck // a feed outlives the watch that began it
		return nil, err
	}
	select {
	case <-w.feed.began:
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

// catchUp reads what was written since the place from which a watch is continued, to be told in portions.
func (w *Watch) catchUp(ctx context.Context) error {
	found, err := w.service.changes(ctx, w.projects, w.From.Add(-watchOverlap), maxMissed)
	if err != nil {
		return err
	}
	if len(found) > maxMissed {
		return ErrWatchTooOld
	}
	for rows := range slices.Chunk(found, maxChanges) {
		w.backlog = append(w.backlog, changes{rows: rows, at: rows[len(rows)-1].Written.UTC()})
	}
	return nil
}

// Next waits for news and returns the runs that the filter selects, and the place up to which the watch has told. It
// may return none.
func (w *Watch) Next(ctx context.Context) ([]Run, time.Time, error) {
	if len(w.backlog) > 0 {
		found := w.backlog[0]
		w.backlog = w.backlog[1:]
		return w.read(ctx, found)
	}
	select {
	case found, open := <-w.news:
		if !open {
			return nil, time.Time{}, w.err
		}
		return w.read(ctx, found)
	case <-ctx.Done():
		return nil, time.Time{}, ctx.Err()
	}
}

// read returns the rows that changed, as they are now.
func (w *Watch) read(ctx context.Context, found changes) ([]Run, time.Time, error) {
	if len(found.rows) == 0 {
		return nil, found.at, nil
	}
	ids := make([]uuid.UUID, len(found.rows))
	first, last := found.rows[0].Hour, found.rows[0].Hour
	for i, row := range found.rows {
		ids[i] = row.RunID
		if row.Hour.Before(first) {
			first = row.Hour
		}
		if row.Hour.After(last) {
			last = row.Hour
		}
	}
	f := w.filter.at(w.service.now())
	var cond where
	cond.add(projectsMark)
	cond.period("start_time", first, last.Add(time.Hour))
	cond.period("start_time", f.StartAfter, f.StartBefore)
	cond.add("run_id IN (?)", ids)
	f.conditions(&cond, first)
	runs, err := w.service.selectRuns(ctx, w.projects, cond, "ORDER BY start_time, run_id")
	if err != nil {
		return nil, time.Time{}, err
	}
	return runs, found.at, w.service.addScores(ctx, w.projects, runs, mostScoresListed)
}

// Close ends the watch.
func (w *Watch) Close() { w.service.feeds.remove(w, ErrWatchClosed) }

// storeTime is ClickHouse's time.
func (s *Service) storeTime(ctx context.Context, projects access.Projects) (time.Time, error) {
	var rows []struct {
		Now time.Time `ch:"now"`
	}
	// No row of the project is read.
	err := query(ctx, s.conn, projects, &rows, "SELECT now64(3, 'UTC') AS now FROM (SELECT count() FROM runs WHERE {projects} AND toStartOfHour(start_time) < toDateTime(1))")
	if err != nil {
		return time.Time{}, err
	}
	return rows[0].Now.UTC(), nil
}

// changes are the rows that were written since, oldest first, one more than most at most.
func (s *Service) changes(ctx context.Context, projects access.Projects, since time.Time, most int) ([]change, error) {
	var w where
	w.add(projectsMark)
	w.period("start_time", s.now().Add(-watchedStarts).Truncate(time.Hour), time.Time{})
	w.add("written_at >= fromUnixTimestamp64Milli(?)", since.UnixMilli())
	var rows []change
	err := query(ctx, s.conn, projects, &rows, `
		SELECT run_id, toStartOfHour(start_time) AS hour, max(version) AS version, max(written_at) AS written
		FROM runs WHERE `+w.String()+` GROUP BY run_id, hour ORDER BY written LIMIT ?`, append(w.args, most+1)...)
	return rows, err
}

// add lets a watch take part in its project's feed, which it begins if there is none.
func (f *feeds) add(s *Service, w *Watch, now time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return ErrWatchClosed
	}
	of := f.projects[w.filter.ProjectID]
	if f.watches >= maxAllWatches || of != nil && len(of.watches) >= MaxWatches {
		return ErrTooManyWatches
	}
	if of == nil {
		ctx, cancel := context.WithCancel(context.Background())
		of = &feed{project: w.filter.ProjectID, cancel: cancel, watches: map[*Watch]struct{}{}, began: make(chan struct{})}
		if f.projects == nil {
			f.projects = map[uuid.UUID]*feed{}
		}
		f.projects[w.filter.ProjectID] = of
		f.running.Go(func() { s.follow(ctx, of, w.projects, now) })
	}
	w.feed = of
	of.watches[w] = struct{}{}
	f.watches++
	return nil
}

// ended is why a watch has ended; nil where it has not.
func (f *feeds) ended(w *Watch) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return w.err
}

// remove ends a watch; the last one ends the feed.
func (f *feeds) remove(w *Watch, why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end(w, why)
}

// end ends a watch, if it has not ended. The caller holds the lock.
func (f *feeds) end(w *Watch, why error) {
	if _, ok := w.feed.watches[w]; !ok {
		return
	}
	delete(w.feed.watches, w)
	f.watches--
	w.err = why
	close(w.news)
	if len(w.feed.watches) == 0 {
		w.feed.cancel()
		if f.projects[w.feed.project] == w.feed {
			delete(f.projects, w.feed.project)
		}
	}
}

// endAll ends the watches of a feed.
func (f *feeds) endAll(of *feed, why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range of.watches {
		f.end(w, why)
	}
}

// tell passes news on to all who watch. Who has not taken the earlier ones is left behind: nothing waits, and nothing
// is kept, for a slow reader.
func (f *feeds) tell(of *feed, news changes) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range of.watches {
		select {
		case w.news <- news:
		default:
			f.end(w, ErrWatchBehind)
		}
	}
}

// Close ends all watches, and what serves them.
func (s *Service) Close() {
	s.feeds.mu.Lock()
	s.feeds.closed = true
	for _, of := range s.feeds.projects {
		for w := range of.watches {
			s.feeds.end(w, ErrWatchClosed)
		}
	}
	s.feeds.mu.Unlock()
	s.feeds.running.Wait()
}

// follow looks at a project again and again until its last watch ends.
func (s *Service) follow(ctx context.Context, of *feed, projects access.Projects, at time.Time) {
	told := map[changedRow]change{} // in the overlap
	began := false
	defer func() {
		if !began {
			close(of.began) // its watches have ended
		}
	}()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for failures := 0; ; {
		// What was there at first is known to all who begin to watch, and those who go on are told of it.
		most := maxMissed
		if began {
			most = len(told) + maxChanges
		}
		found, err := s.changes(bounded(ctx, queryTimeout/2), projects, at.Add(-watchOverlap), most)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			if !began { // Watch returns the error
				s.feeds.endAll(of, err)
				return
			}
			failures++
			s.log.WarnContext(ctx, "poll for changed runs failed", "project_id", of.project, "failures_in_a_row", failures, "error", err)
			if failures >= pollFailures {
				s.feeds.endAll(of, err)
				return
			}
		} else {
			failures = 0
			news := untold(found, told)
			if len(found) > most || began && len(news) > maxChanges {
				s.feeds.endAll(of, ErrWatchBehind)
				return
			}
			for _, c := range found {
				if c.Written.After(at) {
					at = c.Written
				}
			}
			for key, c := range told {
				if c.Written.Before(at.Add(-watchOverlap)) {
					delete(told, key)
				}
			}
			if !began {
				began = true
				close(of.began)
			} else if len(news) > 0 {
				s.feeds.tell(of, changes{rows: news, at: at.UTC()})
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// changedRow is a row whatever its version.
type changedRow struct {
	id   uuid.UUID
	hour int64
}

// untold are those of the rows found that were not told of, and notes that they are.
func untold(found []change, told map[changedRow]change) []change {
	var news []change
	for _, c := range found {
		key := changedRow{c.RunID, c.Hour.Unix()}
		if before, ok := told[key]; !ok || before.Version != c.Version || !before.Written.Equal(c.Written) {
			news = append(news, c)
			told[key] = c
		}
	}
	return news
}
