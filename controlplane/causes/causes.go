package causes

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// Store reads runs.
type Store interface {
	Newest(ctx context.Context, projects access.Projects, filter runs.Filter, limit int) (newest runs.Selected, first time.Time, err error)
	Attributes(ctx context.Context, projects access.Projects, project uuid.UUID, ids []uuid.UUID, from, until time.Time) ([]runs.AttributedRun, error)
	Recorded(ctx context.Context, projects access.Projects, runID uuid.UUID, maxSpans, maxBytes int) (runs.Recorded, error)
}

const (
	// sampleRuns is how many failed and how many good runs are read. Of the good ones, half began before the first failed run if there are so
	// many.
	sampleRuns = 100
	// maxSpans and maxBytes are those of a run that is read.
	maxSpans, maxBytes = 1000, 4 << 20
	// readAtOnce is how many runs are read at once, each of which is held in memory meanwhile.
	readAtOnce = 4
)

// Found are the candidates of a group.
type Found struct {
	Ranking
	// Now is the end of the window, From its start.
	Now, From    time.Time
	Failed, Good Read
	// FirstFailed is the first failed run of the window, and LastGood the last good one before it, nil if there is none. Differences are
	// between these two.
	FirstFailed RunRef
	LastGood    *RunRef
	Differences []Difference
}

// Read says how many runs were read of those that match, and how many were too large for it.
type Read struct {
	Runs, TooLarge int
	Matched        uint64
}

// RunRef names a run.
type RunRef struct {
	ID    uuid.UUID
	Start time.Time
}

// Service finds candidates.
type Service struct {
	store Store
	now   func() time.Time
}

// New returns a service that reads runs from store. now is the clock.
func New(store Store, now func() time.Time) *Service { return &Service{store, now} }

// Find returns the candidates of a group, of the runs that the filter selects and that started in a window until now. The filter's own time
// does not count. It returns [runs.ErrNotFound] if no run of the window has the fingerprint.
func (s *Service) Find(ctx context.Context, projects access.Projects, filter runs.Filter, window time.Duration, fingerprint string) (Found, error) {
	now := s.now().UTC()
	found := Found{Now: now, From: now.Add(-window)}
	filter.Window, filter.StartAfter, filter.StartBefore = 0, found.From, now
	of := filter
	of.Fingerprint = fingerprint
	failed, first, err := s.store.Newest(ctx, projects, of, sampleRuns)
	if err != nil {
		return Found{}, err //nolint:wrapcheck // it says what it does
	}
	if failed.Matched == 0 {
		return Found{}, runs.ErrNotFound
	}
	rows, err := s.store.Attributes(ctx, projects, filter.ProjectID, idsOf(failed.Runs), found.From, now)
	if err != nil {
		return Found{}, err //nolint:wrapcheck // it says what it does
	}
	if len(rows) == 0 {
		return Found{}, runs.ErrNotFound
	}
	of.StartBefore = first.Add(1)
	earliest, _, err := s.store.Newest(ctx, projects, of, 1)
	if err != nil {
		return Found{}, err //nolint:wrapcheck // it says what it does
	}
	good, before, err := s.goodRuns(ctx, projects, filter, &rows[0], first, window)
	if err != nil {
		return Found{}, err
	}
	reader := reader{store: s.store, projects: projects, project: filter.ProjectID, from: first.Add(-window), until: now}
	if reader.place, err = s.placeOf(ctx, projects, &rows[0]); err != nil {
		return Found{}, err
	}
	failedRuns, err := reader.read(ctx, idsOf(failed.Runs), &found.Failed)
	if err != nil {
		return Found{}, err
	}
	goodRuns, err := reader.read(ctx, good.ids, &found.Good)
	if err != nil {
		return Found{}, err
	}
	found.Failed.Matched, found.Good.Matched = failed.Matched, good.matched
	found.Ranking = Rank(failedRuns, goodRuns, reader.place)
	if len(earliest.Runs) == 0 {
		return found, nil // it was deleted meanwhile
	}
	return found, found.between(ctx, &reader, earliest.Runs[0].RunID, before, first, slices.Concat(failedRuns, goodRuns))
}

// goodSample are the good runs to read, the newest first.
type goodSample struct {
	ids     []uuid.UUID
	matched uint64
}

// goodRuns returns good runs of the agent of a failed run, or of its name if it has no agent, as far back as the window is long before the
// first failed run. last is the last one before that, nil if there is none.
func (s *Service) goodRuns(
	ctx context.Context, projects access.Projects, filter runs.Filter, failed *runs.AttributedRun, first time.Time, window time.Duration,
) (sample goodSample, last *uuid.UUID, err error) {
	filter.Outcomes, filter.Statuses = []string{runmodel.OutcomeSucceeded, runmodel.OutcomeRecovered}, nil
	filter.ErrorType, filter.Search, filter.HasScore = "", "", nil // which good runs need not have
	if filter.AgentName = failed.AgentName; failed.AgentName == "" {
		filter.Name = failed.Name
	}
	since, until := filter, filter
	since.StartAfter = first
	until.StartAfter, until.StartBefore = first.Add(-window), first
	after, _, err := s.store.Newest(ctx, projects, since, sampleRuns)
	if err != nil {
		return sample, nil, err //nolint:wrapcheck // it says what it does
	}
	before, _, err := s.store.Newest(ctx, projects, until, sampleRuns)
	if err != nil {
		return sample, nil, err //nolint:wrapcheck // it says what it does
	}
	if len(before.Runs) > 0 {
		last = &before.Runs[0].RunID
	}
	ofBefore := min(len(before.Runs), max(sampleRuns/2, sampleRuns-len(after.Runs)))
	ofAfter := min(len(after.Runs), sampleRuns-ofBefore)
	return goodSample{idsOf(slices.Concat(after.Runs[:ofAfter], before.Runs[:ofBefore])), after.Matched + before.Matched}, last, nil
}

func idsOf(selected []runs.SelectedRun) []uuid.UUID {
	ids := make([]uuid.UUID, len(selected))
	for i := range selected {
		ids[i] = selected[i].RunID
	}
	return ids
}

// placeOf returns the step at which a run failed.
func (s *Service) placeOf(ctx context.Context, projects access.Projects, failed *runs.AttributedRun) (Place, error) {
	full, err := s.store.Recorded(ctx, projects, failed.RunID, maxSpans, maxBytes)
	if err != nil {
		return Place{}, err //nolint:wrapcheck // it says what it does
	}
	recording := recorded.Read(full.Replayed())
	for i := range recording.Steps {
		if step := &recording.Steps[i]; step.SpanID == runmodel.FormatSpanID(failed.FailingSpanID) && step.Kind == recorded.KindTool {
			return Place{Tool: step.Tool.Name}, nil
		}
	}
	return Place{}, nil
}

// reader reads runs to compare.
type reader struct {
	store    Store
	projects access.Projects
	project  uuid.UUID
	place    Place
	// Runs start between these times.
	from, until time.Time
}

// read describes runs, in their order. Those that are gone or too large are left out.
func (r *reader) read(ctx context.Context, ids []uuid.UUID, count *Read) ([]Run, error) {
	rows, err := r.store.Attributes(ctx, r.projects, r.project, ids, r.from, r.until)
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what it does
	}
	described := make([]*Run, len(rows))
	tooLarge := make([]bool, len(rows))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readAtOnce)
	for i := range rows {
		group.Go(func() error {
			full, err := r.store.Recorded(ctx, r.projects, rows[i].RunID, maxSpans, maxBytes)
			if errors.Is(err, runs.ErrNotFound) {
				return nil
			}
			if err != nil {
				return err //nolint:wrapcheck // it says what it does
			}
			if tooLarge[i] = full.TooLarge; full.TooLarge {
				return nil
			}
			described[i] = new(Describe(&Recorded{
				ID: rows[i].RunID, Start: rows[i].StartTime.UTC(), FailingSpanID: rows[i].FailingSpanID, Names: rows[i].Names, Values: rows[i].Values,
				Spans: full.Replayed(),
			}, r.place))
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err //nolint:wrapcheck // by those who do the work
	}
	list := make([]Run, 0, len(rows))
	for i, run := range described {
		if run != nil {
			list = append(list, *run)
		}
		if tooLarge[i] {
			count.TooLarge++
		}
	}
	count.Runs = len(list)
	return list, nil
}
