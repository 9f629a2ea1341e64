package runs

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
)

// feeds are the projectFeeds of a service.
type feeds struct {
	mu       sync.Mutex
	projects map[uuid.UUID]*projectFeed
	closed   bool
	running  sync.WaitGroup
}

// projectFeed polls one project for all its watches.
type projectFeed struct {
	project uuid.UUID
	cancel  context.CancelFunc
	watches map[*Watch]struct{}
	// ready is closed after the first poll, or when that failed and the watches have ended.
	ready chan struct{}
}

// changes are what one poll found. All watches share them.
type changes struct {
	rows []change
	at   time.Time // everything written before, except in the overlap, has been sent
}

// change is a version of a row of the table runs.
type change struct {
	RunID   uuid.UUID `ch:"run_id"`
	Hour    time.Time `ch:"hour"`
	Version uint64    `ch:"version"`
	Written time.Time `ch:"written"`
}

// changedRow identifies a row of the table runs, whatever its version.
type changedRow struct {
	id   uuid.UUID
	hour int64
}

// add adds a watch to its project's feed. It starts the feed for the first one.
func (f *feeds) add(s *Service, w *Watch, now time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return ErrWatchClosed
	}
	feed := f.projects[w.filter.ProjectID]
	if feed == nil {
		ctx, cancel := context.WithCancel(context.Background())
		feed = &projectFeed{project: w.filter.ProjectID, cancel: cancel, watches: map[*Watch]struct{}{}, ready: make(chan struct{})}
		if f.projects == nil {
			f.projects = map[uuid.UUID]*projectFeed{}
		}
		f.projects[w.filter.ProjectID] = feed
		f.running.Go(func() { s.follow(ctx, feed, w.projects, now) })
	}
	w.feed = feed
	feed.watches[w] = struct{}{}
	return nil
}

// ended returns why a watch has ended, nil if it has not.
func (f *feeds) ended(w *Watch) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return w.err
}

// remove ends a watch. The last one ends the feed.
func (f *feeds) remove(w *Watch, why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end(w, why)
}

// end ends a watch unless it has ended. The caller holds the lock.
func (f *feeds) end(w *Watch, why error) {
	if _, ok := w.feed.watches[w]; !ok {
		return
	}
	delete(w.feed.watches, w)
	w.err = why
	close(w.updates)
	if len(w.feed.watches) == 0 {
		w.feed.cancel()
		if f.projects[w.feed.project] == w.feed {
			delete(f.projects, w.feed.project)
		}
	}
}

// endAll ends the watches of a feed.
func (f *feeds) endAll(feed *projectFeed, why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range feed.watches {
		f.end(w, why)
	}
}

// send passes updates on to all watches. A watch whose reader has not taken the earlier ones ends: nothing waits for a slow reader.
func (f *feeds) send(feed *projectFeed, updates changes) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range feed.watches {
		select {
		case w.updates <- updates:
		default:
			f.end(w, ErrWatchBehind)
		}
	}
}

// Close ends all watches and their feeds.
func (s *Service) Close() {
	s.feeds.mu.Lock()
	s.feeds.closed = true
	for _, feed := range s.feeds.projects {
		for w := range feed.watches {
			s.feeds.end(w, ErrWatchClosed)
		}
	}
	s.feeds.mu.Unlock()
	s.feeds.running.Wait()
}

// follow polls a project until its last watch ends.
func (s *Service) follow(ctx context.Context, feed *projectFeed, projects access.Projects, at time.Time) {
	sent := map[changedRow]change{} // within the overlap
	ready := false
	defer func() {
		if !ready {
			close(feed.ready)
		}
	}()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for failures := 0; ; {
		// The first poll finds what every new watch knows already.
		limit := maxBacklog
		if ready {
			limit = len(sent) + maxChanges
		}
		found, err := s.with(options{timeout: queryTimeout / 2}).changes(ctx, projects, at.Add(-watchOverlap), limit)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			if !ready { // Watch returns the error
				s.feeds.endAll(feed, err)
				return
			}
			failures++
			s.log.WarnContext(ctx, "poll for changed runs failed", "project_id", feed.project, "failures_in_a_row", failures, "error", err)
			if failures >= pollFailures {
				s.feeds.endAll(feed, err)
				return
			}
		} else {
			failures = 0
			updates := updatesIn(found, sent)
			if len(found) > limit || ready && len(updates) > maxChanges {
				s.feeds.endAll(feed, ErrWatchBehind)
				return
			}
			for _, c := range found {
				at = later(at, c.Written)
			}
			for key, c := range sent {
				if c.Written.Before(at.Add(-watchOverlap)) {
					delete(sent, key)
				}
			}
			if !ready {
				ready = true
				close(feed.ready)
			} else if len(updates) > 0 {
				s.feeds.send(feed, changes{rows: updates, at: at.UTC()})
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// updatesIn returns the rows that were not sent before, and notes them in sent.
func updatesIn(found []change, sent map[changedRow]change) []change {
	var updates []change
	for _, c := range found {
		key := changedRow{c.RunID, c.Hour.Unix()}
		if before, ok := sent[key]; !ok || before.Version != c.Version || !before.Written.Equal(c.Written) {
			updates = append(updates, c)
			sent[key] = c
		}
	}
	return updates
}

// changes returns the rows written since a time, oldest first, and one more than limit at most.
func (s *Service) changes(ctx context.Context, projects access.Projects, since time.Time, limit int) ([]change, error) {
	w := inProjects()
	w.startsIn(s.now().Add(-maxWatchedAge).Truncate(time.Hour), time.Time{})
	w.add("written_at >= fromUnixTimestamp64Milli(?)", since.UnixMilli())
	var rows []change
	err := query(ctx, s.conn, projects, &rows, `
		SELECT run_id, toStartOfHour(start_time) AS hour, max(version) AS version, max(written_at) AS written
		FROM runs WHERE `+w.String()+` GROUP BY run_id, hour ORDER BY written LIMIT ?`, append(w.args, limit+1)...)
	return rows, err
}

// storeTime returns ClickHouse's time.
func (s *Service) storeTime(ctx context.Context, projects access.Projects) (time.Time, error) {
	var rows []struct {
		Now time.Time `ch:"now"`
	}
	// The statement names the projects, and reads no row of them.
	err := query(ctx, s.conn, projects, &rows, "SELECT now64(3, 'UTC') AS now FROM (SELECT count() FROM runs WHERE {projects} AND toStartOfHour(start_time) < toDateTime(1))")
	if err != nil {
		return time.Time{}, err
	}
	return rows[0].Now.UTC(), nil
}
