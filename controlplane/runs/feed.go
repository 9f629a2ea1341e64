package runs

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
)

// changedRow is a row whatever its version.
type changedRow struct {
	id   uuid.UUID
	hour int64
}

// change is a run's row that was written.
type change struct {
	RunID   uuid.UUID `ch:"run_id"`
	Hour    time.Time `ch:"hour"`
	Version uint64    `ch:"version"`
	Written time.Time `ch:"written"`
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
				at = later(at, c.Written)
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

// changes are the rows that were written since, oldest first, one more than most at most.
func (s *Service) changes(ctx context.Context, projects access.Projects, since time.Time, most int) ([]change, error) {
	w := inProjects()
	w.period("start_time", s.now().Add(-watchedStarts).Truncate(time.Hour), time.Time{})
	w.add("written_at >= fromUnixTimestamp64Milli(?)", since.UnixMilli())
	var rows []change
	err := query(ctx, s.conn, projects, &rows, `
		SELECT run_id, toStartOfHour(start_time) AS hour, max(version) AS version, max(written_at) AS written
		FROM runs WHERE `+w.String()+` GROUP BY run_id, hour ORDER BY written LIMIT ?`, append(w.args, most+1)...)
	return rows, err
}

// changes are what one look found. Readers share them.
type changes struct {
	rows []change
	at   time.Time // all that was written before, but for the overlap, was told
}

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
