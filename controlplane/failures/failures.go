// Package failures groups a project's failed runs by their fingerprints, ranks the groups, and keeps what people decided about them.
// docs/failed-runs.md has the rules.
package failures

import (
	"cmp"
	"context"
	_ "embed"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/runmodel"
)

//go:embed queries.sql
var queries string

// Store reads failed runs.
type Store interface {
	FailureGroups(ctx context.Context, projects access.Projects, f runs.FailureWindow, fingerprint string) ([]runs.FailureGroup, error)
	FailureTotals(ctx context.Context, projects access.Projects, f runs.FailureWindow) ([]runs.FailureTotals, error)
	FailuresSince(ctx context.Context, projects access.Projects, project uuid.UUID, now time.Time, since map[string]time.Time) ([]runs.FailureSince, error)
	FailuresFirstSeen(ctx context.Context, projects access.Projects, f runs.FailureWindow) ([]runs.FirstSeen, error)
	ReleasesFirstSeen(ctx context.Context, projects access.Projects, f runs.FailureWindow) ([]runs.FirstSeen, error)
	FailureCounts(ctx context.Context, projects access.Projects, f runs.FailureWindow, fingerprints []string, parts int) ([]runs.FailureCount, error)
	FailureAttributes(ctx context.Context, projects access.Projects, f runs.FailureWindow, fingerprints []string) (groups, agents []runs.AttributeCount, cut map[string]bool, err error)
	FailureSample(ctx context.Context, projects access.Projects, f runs.FailureWindow, fingerprints []string, each, maxSpans int) ([]runs.Outline, error)
}

const (
	// Parts is how many counts over time a group has.
	Parts = 24
	// maxRanked is how many groups are ranked with all parts: those that rank best without lift.
	maxRanked = 200
	// sampleRuns is how many runs the samples of an answer have, sampleEach how many that of a group has. A group has at least one.
	sampleRuns, sampleEach = 120, 6
	// maxSampleSpans is how many spans a run may have to be compared with others of its group.
	maxSampleSpans = 300
	// maxListedContrasts and maxContrasts are how many attributes a group shows in a list and by itself.
	maxListedContrasts, maxContrasts = 5, 20
)

// maxWindow is the maximum length of a window.
const maxWindow = 90 * 24 * time.Hour

// Query selects a page of groups.
type Query struct {
	// Filter selects runs of Window, which ends now. Its own time does not count.
	Filter runs.Filter
	Window time.Duration
	// Kind selects groups by what they are of. Empty is all.
	Kind runs.FailureKind
	// State selects groups by their state. Empty is Open.
	State  State
	Limit  int
	Cursor string
}

// Page is a page of groups, the best first.
type Page struct {
	Groups []Group
	// Now is the end of the window that the whole list is about, From its start.
	Now, From time.Time
	// GroupCount counts all groups of the window, StateCounts those of each state among the 1,000 with the most runs.
	GroupCount  int
	StateCounts map[State]int
	// Partial reports that some groups of the wanted state are not ranked.
	Partial bool
	// Runs, Failed and Signalled count the window's runs: all, those that failed, and those with a signal.
	Runs, Failed, Signalled uint64
	// Sampled counts the runs that samplers kept for a share of all, and SampleShare is the least such share, nil if there are none.
	Sampled     uint64
	SampleShare *float64
	NextCursor  string
}

// Group is a group of runs that failed in the same way.
type Group struct {
	runs.FailureGroup
	State GroupState
	// Rank is from 0 to 1. The group with the highest rank is the first to look at.
	Rank float64
	// Parts of the rank. Unknown ones are missing.
	Parts     map[Part]float64
	FirstSeen time.Time
	// BeganIn is the first run, if the release of its agent is known: the group began in that release.
	BeganIn   *runs.FirstSeen
	AgentRuns uint64
	// NamesUsers reports that the project's runs name users. Otherwise the number of affected users is unknown.
	NamesUsers bool
	Counts     [Parts]uint64
	Contrasts  []Contrast
	// Sample are some of its runs: the representative one, then the newest.
	Sample []Run
}

// Run is a run of a group, with the step at which it failed if that was read.
type Run struct {
	runmodel.Run
	Step *runmodel.Span
}

// Service ranks failed runs.
type Service struct {
	store Store
	db    postgres.DB
	now   func() time.Time
}

// New returns a service that reads runs from store and keeps states in the database. now is the clock.
func New(store Store, pool *pgxpool.Pool, now func() time.Time) *Service {
	return &Service{store, postgres.NewDB(pool, queries), postgres.Clock(now)}
}

// List ranks the groups of a project's failed runs. The same stored runs and the same time give the same list, and a cursor carries the
// time.
func (s *Service) List(ctx context.Context, projects access.Projects, q Query) (Page, error) {
	state := cmp.Or(q.State, Open)
	at := cursor{Now: s.now().Unix(), Window: int64(q.Window / time.Second), List: digestOfList(state, q.Kind, q.Filter)}
	if q.Cursor != "" {
		var err error
		if at, err = parseCursor(q.Cursor, at, s.now()); err != nil {
			return Page{}, err
		}
	}
	now := time.Unix(at.Now, 0).UTC()
	w := runs.FailureWindow{Filter: q.Filter, Kind: q.Kind, Now: now, From: now.Add(-time.Duration(at.Window) * time.Second)}
	page, err := s.groups(ctx, projects, w, "", state)
	if err != nil {
		return Page{}, err
	}
	from := 0
	if q.Cursor != "" {
		last := Group{FailureGroup: runs.FailureGroup{Fingerprint: at.Last}, Rank: float64(at.Rank) / rankUnits}
		from, _ = slices.BinarySearchFunc(page.Groups, last, func(g, last Group) int { return cmp.Or(inOrder(g, last), -1) })
	}
	to := min(from+q.Limit, len(page.Groups))
	if to < len(page.Groups) {
		last := &page.Groups[to-1]
		at.Rank, at.Last = int64(math.Round(last.Rank*rankUnits)), digestOf(last.Fingerprint)
		page.NextCursor = at.String()
	}
	page.Groups = page.Groups[from:to]
	for i := range page.Groups {
		page.Groups[i].Contrasts = page.Groups[i].Contrasts[:min(maxListedContrasts, len(page.Groups[i].Contrasts))]
	}
	return page, s.describe(ctx, projects, w, page.Groups)
}

// Get returns one group of the failed runs that a filter selects.
func (s *Service) Get(ctx context.Context, projects access.Projects, filter runs.Filter, window time.Duration, fingerprint string) (Page, error) {
	now := s.now().Truncate(time.Second).UTC()
	w := runs.FailureWindow{Filter: filter, Now: now, From: now.Add(-window)}
	page, err := s.groups(ctx, projects, w, fingerprint, AnyState)
	if err != nil {
		return Page{}, err
	}
	if len(page.Groups) == 0 {
		return Page{}, runs.ErrNotFound
	}
	g := &page.Groups[0]
	g.Contrasts = g.Contrasts[:min(maxContrasts, len(g.Contrasts))]
	return page, s.describe(ctx, projects, w, page.Groups)
}

// groups reads the groups and their parts, and ranks those of the state.
func (s *Service) groups(ctx context.Context, projects access.Projects, w runs.FailureWindow, fingerprint string, state State) (Page, error) {
	page := Page{Now: w.Now, From: w.From, Groups: []Group{}, StateCounts: map[State]int{}}
	rows, err := s.store.FailureGroups(ctx, projects, w, fingerprint)
	if err != nil {
		return Page{}, err
	}
	totals, err := s.store.FailureTotals(ctx, projects, w)
	if err != nil {
		return Page{}, err
	}
	agentRuns := map[string]uint64{}
	var cost *float64
	namesUsers := false
	for _, t := range totals {
		agentRuns[t.Peers] = t.Runs
		page.Runs, page.Failed = page.Runs+t.Runs, page.Failed+t.Failed
		page.Signalled += t.Signalled
		page.Sampled += t.Sampled
		if t.SampleShare != nil && (page.SampleShare == nil || *t.SampleShare < *page.SampleShare) {
			page.SampleShare = t.SampleShare
		}
		namesUsers = namesUsers || t.WithUser > 0
		if t.CostUSD != nil {
			sum := *t.CostUSD
			if cost != nil {
				sum += *cost
			}
			cost = &sum
		}
	}
	if len(rows) == 0 {
		return page, nil
	}
	page.GroupCount = int(rows[0].Total)
	states, err := s.states(ctx, projects, w.Filter.ProjectID, w.Now, fingerprintsOfRows(rows))
	if err != nil {
		return Page{}, err
	}
	page.Partial = page.GroupCount > len(rows)
	rows = slices.DeleteFunc(rows, func(row runs.FailureGroup) bool {
		is := stateIn(states, row.Fingerprint).State
		page.StateCounts[is]++
		return state != AnyState && is != state
	})
	if len(rows) == 0 {
		return page, nil
	}
	firstSeen, newest, newestSince, err := s.history(ctx, projects, w)
	if err != nil {
		return Page{}, err
	}
	for i := range rows {
		f := facts{
			group: &rows[i], now: w.Now, firstSeen: rows[i].First, agentRuns: max(agentRuns[rows[i].Peers], rows[i].Runs),
			namesUsers: namesUsers, projectCost: cost,
		}
		first := firstSeen[rows[i].Fingerprint]
		if first != nil && first.First.Before(f.firstSeen) {
			f.firstSeen = first.First
		}
		if first != nil && (first.AgentRelease == "" || w.Filter.AgentRelease != "") { // a filter would make any release the first one
			first = nil
		}
		f.isNew = newest != "" && slices.Equal(rows[i].Releases, []string{newest}) && !f.firstSeen.Before(newestSince)
		parts := f.parts()
		page.Groups = append(page.Groups, Group{
			FailureGroup: rows[i], State: stateIn(states, rows[i].Fingerprint), Parts: parts, Rank: rankOf(parts), FirstSeen: f.firstSeen, BeganIn: first, AgentRuns: f.agentRuns, NamesUsers: namesUsers,
		})
	}
	sortGroups(page.Groups)
	page.Partial = page.Partial || len(page.Groups) > maxRanked
	page.Groups = page.Groups[:min(maxRanked, len(page.Groups))]
	if err := s.lift(ctx, projects, w, page.Groups); err != nil {
		return Page{}, err
	}
	sortGroups(page.Groups)
	return page, nil
}

// history returns where groups were first seen, and the newest of several releases with the time since when it exists.
func (s *Service) history(ctx context.Context, projects access.Projects, w runs.FailureWindow) (firstSeen map[string]*runs.FirstSeen, newest string, since time.Time, err error) {
	seen, err := s.store.FailuresFirstSeen(ctx, projects, w)
	if err != nil {
		return nil, "", since, err
	}
	firstSeen = make(map[string]*runs.FirstSeen, len(seen))
	for i := range seen {
		firstSeen[seen[i].Value] = &seen[i]
	}
	releases, err := s.store.ReleasesFirstSeen(ctx, projects, w)
	if err != nil || len(releases) < 2 {
		return firstSeen, "", since, err
	}
	return firstSeen, releases[0].Value, releases[0].First, nil
}

// lift adds the contrasts of groups, and the part of the rank that comes from the best contrast.
func (s *Service) lift(ctx context.Context, projects access.Projects, w runs.FailureWindow, groups []Group) error {
	own, agents, cut, err := s.store.FailureAttributes(ctx, projects, w, fingerprintsOf(groups))
	if err != nil {
		return err
	}
	byGroup := map[string][]runs.AttributeCount{}
	for _, a := range own {
		byGroup[a.Of] = append(byGroup[a.Of], a)
	}
	byAgent := make(map[runs.AttributeCount]uint64, len(agents))
	for _, a := range agents {
		byAgent[runs.AttributeCount{Of: a.Of, Name: a.Name, Value: a.Value}] = a.Runs
	}
	for i := range groups {
		g := &groups[i]
		g.Contrasts = contrasts(&g.FailureGroup, g.AgentRuns, byGroup[g.Fingerprint], byAgent)
		if g.AgentRuns > g.Runs && g.Runs > 1 && !cut[g.Fingerprint] {
			g.Parts[Lift] = 0
			if len(g.Contrasts) > 0 {
				g.Parts[Lift] = g.Contrasts[0].Ochiai
			}
		}
		g.Rank = rankOf(g.Parts)
	}
	return nil
}

func fingerprintsOfRows(rows []runs.FailureGroup) []string {
	list := make([]string, len(rows))
	for i := range rows {
		list[i] = rows[i].Fingerprint
	}
	return list
}

func fingerprintsOf(groups []Group) []string {
	list := make([]string, len(groups))
	for i := range groups {
		list[i] = groups[i].Fingerprint
	}
	return list
}

func sortGroups(groups []Group) { slices.SortFunc(groups, inOrder) }

func inOrder(a, b Group) int {
	return cmp.Or(cmp.Compare(b.Rank, a.Rank), strings.Compare(digestOf(a.Fingerprint), digestOf(b.Fingerprint)))
}
