// Package agents compares the releases of an agent, which are derived from its runs (runmodel.Run.AgentRelease).
package agents

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// Store reads runs.
type Store interface {
	AgentRuns(ctx context.Context, projects access.Projects, f runs.Filter, agent string, limit int) ([]runs.AgentRun, error)
	AgentParts(ctx context.Context, projects access.Projects, f runs.Filter, agent string, releases []string) ([]runs.AgentParts, error)
	AgentScores(ctx context.Context, projects access.Projects, f runs.Filter, agent string, limit, maxScores int) ([]runs.AgentScore, error)
}

// Limits of an answer.
const (
	maxRuns     = 20_000
	maxScores   = 200_000
	maxReleases = 50
	// maxParts is how many releases are read with their parts.
	maxParts = 2000
	// maxScoreNames is how many names of scores a release has.
	maxScoreNames = 20
)

// Instructions says whether the instructions make a release.
type Instructions string

// Values of Instructions.
const (
	Compared Instructions = "compared"
	Ignored  Instructions = "ignored"
)

// Window is the time before now that is read unless a query says otherwise.
const Window = 90 * 24 * time.Hour

// Query selects the runs of an agent.
type Query struct {
	Filter runs.Filter
	Agent  string
	// Instructions is empty for Compared unless the instructions change from run to run.
	Instructions Instructions
}

// Releases are the releases of an agent.
type Releases struct {
	Start, End time.Time
	// Partial reports that older runs of the window are left out.
	Partial bool
	Runs    int
	// WithoutRelease counts the runs whose release is not known.
	WithoutRelease int
	Instructions   Instructions
	// InstructionsCount is how many different instructions there are.
	InstructionsCount int
	// Count is how many releases there are. Releases are the newest of them, the newest first.
	Count    int
	Releases []Release
}

// Release is how the runs of a release did.
type Release struct {
	// Releases are the hashes that it stands for: several only if the instructions are ignored.
	Releases []string
	Parts    map[string]string
	Runs     int
	First    runs.AgentRun
	Last     runs.AgentRun
	Changes  []Change
	Figures
	// Difference is to the release before, nil for the first one.
	Difference *Difference
}

// Change is a part that two releases do not have alike. Before is empty if it is new, After if it is gone.
type Change struct{ Part, Before, After string }

// Service compares releases.
type Service struct {
	store Store
	now   func() time.Time
}

// New returns a service that reads runs from store. now is the clock.
func New(store Store, now func() time.Time) *Service { return &Service{store, now} }

// Releases compares the releases of an agent. It is empty for an agent without runs.
func (s *Service) Releases(ctx context.Context, projects access.Projects, q Query) (Releases, error) {
	// All statements must read the same window.
	filter, now := q.Filter, s.now().UTC()
	if filter.Window > 0 {
		filter.StartAfter, filter.Window = now.Add(-filter.Window), 0
	}
	if filter.StartBefore.IsZero() {
		filter.StartBefore = now
	}
	answer := Releases{Start: filter.StartAfter, End: filter.StartBefore, Instructions: cmp.Or(q.Instructions, Compared), Releases: []Release{}}
	found, err := s.store.AgentRuns(ctx, projects, filter, q.Agent, maxRuns+1)
	if err != nil {
		return Releases{}, err
	}
	answer.Partial = len(found) > maxRuns
	found = found[:min(len(found), maxRuns)]
	answer.Runs = len(found)
	byHash := map[string][]runs.AgentRun{} // of each the newest first
	var hashes []string
	for _, run := range found {
		if run.AgentRelease == "" {
			answer.WithoutRelease++
			continue
		}
		if byHash[run.AgentRelease] == nil {
			hashes = append(hashes, run.AgentRelease)
		}
		byHash[run.AgentRelease] = append(byHash[run.AgentRelease], run)
	}
	if len(hashes) == 0 {
		return answer, nil
	}
	read, err := s.store.AgentParts(ctx, projects, filter, q.Agent, hashes[:min(len(hashes), maxParts)])
	if err != nil {
		return Releases{}, err
	}
	parts := make(map[string]map[string]string, len(read))
	texts := map[string]bool{}
	for _, p := range read {
		parts[p.AgentRelease] = p.Parts
		texts[p.Parts[runmodel.PartInstructions]] = true
	}
	answer.InstructionsCount = len(texts)
	if q.Instructions == "" && changeFromRunToRun(len(texts), answer.Runs-answer.WithoutRelease) {
		answer.Instructions = Ignored
	}
	releases := group(hashes, byHash, parts, answer.Instructions)
	answer.Count = len(releases)
	releases = releases[max(len(releases)-maxReleases, 0):]
	scores, err := s.store.AgentScores(ctx, projects, filter, q.Agent, maxRuns, maxScores)
	if err != nil {
		return Releases{}, err
	}
	compare(releases, scores)
	for _, r := range slices.Backward(releases) {
		answer.Releases = append(answer.Releases, r.Release)
	}
	return answer, nil
}

// changeFromRunToRun reports whether so many instructions of so many runs are no releases that a person made: each has three runs at most on
// average.
func changeFromRunToRun(instructions, runs int) bool {
	const least, each = 5, 3
	return instructions >= least && runs <= each*instructions
}

// release is a release with its runs, the newest first.
type release struct {
	Release
	runs []runs.AgentRun
}

// group returns releases in the order of their first runs.
func group(hashes []string, byHash map[string][]runs.AgentRun, parts map[string]map[string]string, instructions Instructions) []release {
	at := map[string]int{}
	var releases []release
	for _, hash := range hashes {
		key, own := hash, parts[hash]
		if own != nil && instructions == Ignored {
			own = maps.Clone(own)
			delete(own, runmodel.PartInstructions)
			key = runmodel.ReleaseOf(own)
		}
		i, ok := at[key]
		if !ok {
			i = len(releases)
			at[key] = i
			releases = append(releases, release{Release: Release{Parts: own}})
		}
		r := &releases[i]
		r.Releases = append(r.Releases, hash)
		r.runs = append(r.runs, byHash[hash]...)
	}
	for i := range releases {
		r := &releases[i]
		slices.SortStableFunc(r.runs, func(a, b runs.AgentRun) int { return b.StartTime.Compare(a.StartTime) })
		r.Runs, r.Last, r.First = len(r.runs), r.runs[0], r.runs[len(r.runs)-1]
	}
	slices.SortStableFunc(releases, func(a, b release) int { return a.First.StartTime.Compare(b.First.StartTime) })
	for i := range releases[1:] {
		releases[i+1].Changes = changes(releases[i].Parts, releases[i+1].Parts)
	}
	return releases
}

// changes returns the parts that differ, by their keys.
func changes(before, after map[string]string) []Change {
	keys := maps.Clone(before)
	if keys == nil {
		keys = map[string]string{}
	}
	maps.Copy(keys, after)
	var list []Change
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if old, was := before[key]; old != after[key] || was != has(after, key) {
			list = append(list, Change{key, old, after[key]})
		}
	}
	return list
}

func has(parts map[string]string, key string) bool {
	_, ok := parts[key]
	return ok
}
