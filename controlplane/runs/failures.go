package runs

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// FailureWindow selects the runs in which failures are looked for: those that the filter selects and that started in [From, Now). The
// filter's own time does not count.
type FailureWindow struct {
	Filter    Filter
	From, Now time.Time
	// Kind selects groups. Empty is AnyFailure.
	Kind FailureKind
}

// Windows in which the runs of a group are counted.
const (
	SpikeNow    = 6 * time.Hour
	SpikeBefore = 7 * 24 * time.Hour
	// failureHistory is how far back the first run of a group is looked for.
	failureHistory = 90 * 24 * time.Hour
)

// maxFailureGroups is how many groups are read, those with the most runs first.
const maxFailureGroups = 1000

// agentPrefix cuts the names of agents, which clients choose. All statements about failures cut them alike.
const agentPrefix = "substring(agent_name, 1, 1025)"

// peers names the runs that a failed run is compared with: those of its agent, or those of its name if it has no agent.
const peers = "if(agent_name != '', concat('agent ', " + agentPrefix + "), concat('run ', substring(name, 1, 1025)))"

// FailureGroup are the failed runs that have one fingerprint. Names and errors are those of the newest run.
type FailureGroup struct {
	Fingerprint string `ch:"failed_as"`
	Class       string `ch:"class"`
	AgentName   string `ch:"agent"`
	// Peers is the key of FailureTotals and of the peers in FailureAttributes.
	Peers    string `ch:"peers"`
	StepKind string `ch:"step_kind"`
	StepName string `ch:"step_name"`
	// StepEffects is runmodel.EffectsRead or EffectsWrite, empty if unknown.
	StepEffects string    `ch:"step_effects"`
	ErrorType   string    `ch:"type"`
	Template    string    `ch:"template"`
	Runs        uint64    `ch:"runs"`
	First       time.Time `ch:"first"`
	Last        time.Time `ch:"last"`
	Users       uint64    `ch:"users"`
	CostUSD     *float64  `ch:"cost"`
	// Releases are up to ten of the releases of its runs.
	Releases []string `ch:"releases"`
	// Now and Before count its runs in the last SpikeNow, and in SpikeBefore before that.
	Now    uint64 `ch:"n_now"`
	Before uint64 `ch:"n_before"`
	Total  uint64 `ch:"groups"` // groups in the window
	// Cut names the members, as the API does, that are cut.
	Cut []string
}

// where selects runs that started in the window from a time on.
func (f FailureWindow) where(from time.Time) where {
	w := inProjects()
	w.startsIn(from, f.Now)
	f.Filter.conditions(&w, from)
	return w
}

// from returns the rest of a statement from FROM on, with the conditions w and further clauses.
func (f FailureWindow) from(w *where, clauses string) string {
	return " FROM runs FINAL WHERE " + w.String() + " " + clauses + f.Filter.settings()
}

// failedAs is the fingerprint of a run, also of one that a score alone fails, in a statement of grouped. It is empty if the run did not fail.
const failedAs = `multiIf(` + failedItself + `, toString(fingerprint), score != '' AND ` + failedOtherwise + `,
	concat('` + runmodel.ScoreFingerprint + `', ` + runmodel.ScoreHashSQL + `, ` + runmodel.PeersHashSQL + `), '')`

// scored is where, and the rest of a statement up to WHERE, for statements with failedAs. The column score is the first name of the scores
// that fail the run.
func (f FailureWindow) scored(from time.Time) (w where, rest string) {
	failing, args := f.Filter.failures.failingSince(from)
	w = f.where(from)
	w.args = append(args, w.args...)
	return w, " FROM runs FINAL LEFT JOIN (SELECT run_id, min(score) AS score FROM (" + failing + ") GROUP BY run_id) AS scored USING (run_id) WHERE "
}

// grouped is scored with a row for each group that a run is in: the tuple member.
func (f FailureWindow) grouped(from time.Time) (w where, rest string) {
	members, args := f.Filter.failures.members(cmp.Or(f.Kind, AnyFailure))
	failing, failingArgs := f.Filter.failures.failingSince(from)
	w = f.where(from)
	w.args = slices.Concat(failingArgs, args, w.args)
	return w, " FROM runs FINAL LEFT JOIN (SELECT run_id, min(score) AS score FROM (" + failing + ") GROUP BY run_id) AS scored USING (run_id) ARRAY JOIN " + members + " AS member WHERE "
}

// memberOf is the fingerprint of a group in a statement of grouped.
const memberOf = "member.1"

// define gives the filter of a window the scores that fail the runs of its project.
func (s *Service) define(ctx context.Context, f FailureWindow) (FailureWindow, error) {
	var err error
	f.Filter.failures, err = s.failuresOf(ctx, f.Filter.ProjectID)
	return f, err
}

// FailureGroups lists the groups of failed runs of a window, or only that of a fingerprint.
func (s *Service) FailureGroups(ctx context.Context, projects access.Projects, f FailureWindow, fingerprint string) ([]FailureGroup, error) {
	projects = projects.Only(f.Filter.ProjectID)
	from := f.Now.Add(-SpikeNow - SpikeBefore)
	if f.From.Before(from) {
		from = f.From
	}
	f, err := s.define(ctx, f)
	if err != nil {
		return nil, err
	}
	w, joined := f.grouped(from)
	if fingerprint != "" {
		w.add(memberOf+" = ?", fingerprint)
	}
	window, now, before := f.From.UnixNano(), f.Now.Add(-SpikeNow).UnixNano(), f.Now.Add(-SpikeNow-SpikeBefore).UnixNano()
	args := []any{window, now, before, now}
	var groups []FailureGroup
	err = query(ctx, s.conn, projects, &groups, `
		WITH toUnixTimestamp64Nano(start_time) AS started, started >= ? AS inside, (start_time, run_id) AS newest
		SELECT `+memberOf+` AS failed_as, argMax(member.2, newest) AS class, argMax(`+agentPrefix+`, newest) AS agent, argMax(`+peers+`, newest) AS peers,
			argMax(member.3, newest) AS step_kind, argMax(substring(member.4, 1, 1025), newest) AS step_name,
			argMax(member.5, newest) AS step_effects, argMax(substring(member.6, 1, 1025), newest) AS type, argMax(member.7, newest) AS template,
			countIf(inside) AS runs, minIf(start_time, inside) AS first, maxIf(start_time, inside) AS last,
			uniqExactIf(user_id, inside AND user_id != '') AS users, sumIf(cost_usd, inside) AS cost,
			arraySort(groupUniqArrayIf(10)(toString(substring(release, 1, 1025)), inside)) AS releases,
			countIf(started >= ?) AS n_now, countIf(started >= ? AND started < ?) AS n_before,
			count() OVER () AS groups`+joined+w.String()+`
		GROUP BY failed_as HAVING runs > 0 ORDER BY runs DESC, failed_as LIMIT ?`+f.Filter.settings(), append(append(args, w.args...), maxFailureGroups)...)
	for i := range groups {
		groups[i].cut()
	}
	return groups, err
}

// cut cuts the names. The agent's name stays as FailureTotals has it, at most one byte longer.
func (g *FailureGroup) cut() {
	var c cutter
	if len(g.AgentName) > MaxListedText {
		c.note("agent_name")
	}
	c.text("step", MaxListedText, &g.StepName, &g.ErrorType)
	g.Cut = c.members
}

// FailureTotals counts the runs of an agent, or those of a name without an agent, in a window.
type FailureTotals struct {
	Peers  string `ch:"peers"`
	Runs   uint64 `ch:"runs"`
	Failed uint64 `ch:"failed"`
	// Signalled counts the runs with a signal.
	Signalled uint64   `ch:"signalled"`
	CostUSD   *float64 `ch:"cost"`
	// WithUser counts the runs that name a user.
	WithUser uint64 `ch:"with_user"`
	// Sampled counts the runs that samplers kept for a share of all, and SampleShare is the least such share, nil if there are none.
	Sampled     uint64   `ch:"sampled"`
	SampleShare *float64 `ch:"share"`
}

// FailureTotals lists the agents and the names of a window, those with the most runs first.
func (s *Service) FailureTotals(ctx context.Context, projects access.Projects, f FailureWindow) ([]FailureTotals, error) {
	projects = projects.Only(f.Filter.ProjectID)
	f, err := s.define(ctx, f)
	if err != nil {
		return nil, err
	}
	w, joined := f.scored(f.From)
	on, args := f.Filter.failures.signals("signals")
	var totals []FailureTotals
	err = query(ctx, s.conn, projects, &totals, `
		SELECT `+peers+` AS peers, count() AS runs, countIf(`+failedAs+` != '') AS failed, countIf(notEmpty(`+on+`)) AS signalled, sum(cost_usd) AS cost, countIf(user_id != '') AS with_user,
			countIf(sample_share IS NOT NULL) AS sampled, min(sample_share) AS share`+joined+w.String()+`
		GROUP BY peers ORDER BY runs DESC, peers LIMIT 10000`+f.Filter.settings(), append(args, w.args...)...)
	return totals, err
}

// FirstSeen is when a value was first seen: in a run, and the release of its agent, which may be empty.
type FirstSeen struct {
	Value        string    `ch:"value"`
	First        time.Time `ch:"first"`
	FirstRun     uuid.UUID `ch:"first_run"`
	AgentRelease string    `ch:"first_release"`
}

// FailuresFirstSeen returns when the first run of each group started, up to 90 days back.
func (s *Service) FailuresFirstSeen(ctx context.Context, projects access.Projects, f FailureWindow) ([]FirstSeen, error) {
	projects = projects.Only(f.Filter.ProjectID)
	f, err := s.define(ctx, f)
	if err != nil {
		return nil, err
	}
	w, joined := f.grouped(f.Now.Add(-failureHistory))
	return s.firstSeen(ctx, projects, w, joined, memberOf, f.Filter.settings())
}

// ReleasesFirstSeen returns when each release was first seen, up to 90 days back.
func (s *Service) ReleasesFirstSeen(ctx context.Context, projects access.Projects, f FailureWindow) ([]FirstSeen, error) {
	projects = projects.Only(f.Filter.ProjectID)
	w := f.where(f.Now.Add(-failureHistory))
	return s.firstSeen(ctx, projects, w, " FROM runs FINAL WHERE ", "toString(substring(release, 1, 1025))", f.Filter.settings())
}

// firstSeen returns when each value of an expression was first seen. from is the statement from FROM to WHERE.
func (s *Service) firstSeen(ctx context.Context, projects access.Projects, w where, from, expression, settings string) ([]FirstSeen, error) {
	w.add(expression + " != ''")
	var seen []FirstSeen
	err := query(ctx, s.conn, projects, &seen, `SELECT `+expression+` AS value, min(start_time) AS first,
		argMin(run_id, (start_time, run_id)) AS first_run, argMin(agent_release, (start_time, run_id)) AS first_release`+from+w.String()+`
		GROUP BY value ORDER BY first DESC, value LIMIT 10000`+settings, w.args...)
	return seen, err
}

// FailureSince are the runs of a group since a time. First and FirstRun are of the first, if there are any.
type FailureSince struct {
	Fingerprint string    `ch:"failed_as"`
	Runs        uint64    `ch:"runs"`
	First       time.Time `ch:"first"`
	FirstRun    uuid.UUID `ch:"first_run"`
}

// FailuresSince counts the runs of the user's programs that started after a time for each group, up to 90 days back, whatever the filter of a
// list. A group is missing if no run at all, such as a replay, started since.
func (s *Service) FailuresSince(ctx context.Context, projects access.Projects, project uuid.UUID, now time.Time, since map[string]time.Time) ([]FailureSince, error) {
	projects = projects.Only(project)
	if len(since) == 0 {
		return nil, nil
	}
	fingerprints := slices.Sorted(maps.Keys(since))
	earliest, oldest := now, now.Add(-failureHistory)
	after := make([]int64, len(fingerprints))
	for i, fingerprint := range fingerprints {
		after[i] = since[fingerprint].UnixNano()
		earliest = earlier(earliest, since[fingerprint])
	}
	f, err := s.define(ctx, FailureWindow{Filter: Filter{ProjectID: project, Traces: TracesAll, Source: SourceAll}, Now: now})
	if err != nil {
		return nil, err
	}
	w, joined := f.grouped(later(earliest, oldest))
	w.add(memberOf+" IN (?)", fingerprints)
	w.add("toUnixTimestamp64Nano(start_time) > transform("+memberOf+", ?, ?, toInt64(0))", fingerprints, after)
	var found []FailureSince
	err = query(ctx, s.conn, projects, &found, `
		WITH source = '`+runmodel.SourceUser+`' AS own
		SELECT `+memberOf+` AS failed_as, countIf(own) AS runs, minIf(start_time, own) AS first, argMinIf(run_id, (start_time, run_id), own) AS first_run`+
		joined+w.String()+` GROUP BY failed_as ORDER BY failed_as`, w.args...)
	return found, err
}

// FailureCount counts the runs of a group in one of the equal parts of a window, which are numbered from 0.
type FailureCount struct {
	Fingerprint string `ch:"failed_as"`
	Part        int64  `ch:"part"`
	Runs        uint64 `ch:"runs"`
}

// FailureCounts counts the runs of groups over time, in equal parts of the window.
func (s *Service) FailureCounts(ctx context.Context, projects access.Projects, f FailureWindow, fingerprints []string, parts int) ([]FailureCount, error) {
	projects = projects.Only(f.Filter.ProjectID)
	if len(fingerprints) == 0 {
		return nil, nil
	}
	f, err := s.define(ctx, f)
	if err != nil {
		return nil, err
	}
	w, joined := f.grouped(f.From)
	w.add(memberOf+" IN (?)", fingerprints)
	length := max(int64(f.Now.Sub(f.From))/int64(parts), 1)
	var counts []FailureCount
	err = query(ctx, s.conn, projects, &counts, `
		SELECT `+memberOf+` AS failed_as, least(intDiv(toUnixTimestamp64Nano(start_time) - ?, ?), ?) AS part, count() AS runs`+
		joined+w.String()+` GROUP BY failed_as, part ORDER BY failed_as, part`+f.Filter.settings(),
		append([]any{f.From.UnixNano(), length, parts - 1}, w.args...)...)
	return counts, err
}

// runAttributes are the attributes that runs are compared by, as pairs of name and value. Those that make up the fingerprint are not
// among them.
const runAttributes = `arrayFilter(a -> a.2 != '' AND length(a.1) <= 300 AND length(a.2) <= 200, arrayConcat(
	[('release', toString(release)), ('agent_release', toString(agent_release)), ('environment', toString(environment)), ('name', name)],
	arrayMap(p -> ('prompt_version', p), arrayDistinct(arrayMap((n, v) -> if(v = '', '', if(n = '', v, concat(n, ' ', v))),
		CAST(prompt_names AS Array(String)), CAST(prompt_versions AS Array(String))))),
	arrayMap(m -> ('model', toString(m)), models), arrayMap(t -> ('tool', toString(t)), tools), arrayMap(t -> ('tag', toString(t)), tags),
	arrayMap((k, v) -> (concat('metadata.', k), v), mapKeys(metadata), mapValues(metadata))))`

// AttributeCount counts the runs of a group, or of an agent, that have an attribute.
type AttributeCount struct {
	Of    string `ch:"of"`
	Name  string `ch:"name"`
	Value string `ch:"value"`
	Runs  uint64 `ch:"runs"`
}

// Limits of the attributes that are counted.
const (
	maxAttributeValues = 3  // of a name and group
	maxAttributes      = 60 // of a group
	maxAttributeBytes  = 100 << 10
)

// FailureAttributes counts the attributes that runs of groups share, where Of is the fingerprint, and for each of these the runs of every
// agent that have it, where Of is the agent's name. cut has the groups that lost attributes because all groups together have too many.
func (s *Service) FailureAttributes(
	ctx context.Context, projects access.Projects, f FailureWindow, fingerprints []string,
) (groups, agents []AttributeCount, cut map[string]bool, err error) {
	projects = projects.Only(f.Filter.ProjectID)
	if len(fingerprints) == 0 {
		return nil, nil, nil, nil
	}
	if f, err = s.define(ctx, f); err != nil {
		return nil, nil, nil, err
	}
	w, joined := f.grouped(f.From)
	w.add(memberOf+" IN (?)", fingerprints)
	err = query(ctx, s.conn, projects, &groups, `
		SELECT * FROM (SELECT failed_as AS of, attribute.1 AS name, attribute.2 AS value, count() AS runs
		FROM (SELECT `+memberOf+` AS failed_as, arrayJoin(`+runAttributes+`) AS attribute`+joined+w.String()+f.Filter.settings()+`)
		GROUP BY of, name, value HAVING runs > 1
		ORDER BY runs DESC, of, name, value LIMIT ? BY of, name)
		ORDER BY runs DESC, of, name, value LIMIT ? BY of`, append(w.args, maxAttributeValues, maxAttributes)...)
	if err != nil || len(groups) == 0 {
		return nil, nil, nil, err
	}
	cut = map[string]bool{}
	seen := map[[2]string]bool{}
	var marks []string
	var pairs []any
	size := 0
	kept := groups[:0]
	for _, g := range groups {
		key := [2]string{g.Name, g.Value}
		if !seen[key] {
			if size += len(g.Name) + len(g.Value); size > maxAttributeBytes {
				cut[g.Of] = true
				continue
			}
			seen[key] = true
			marks = append(marks, "(?, ?)")
			pairs = append(pairs, g.Name, g.Value)
		}
		kept = append(kept, g)
	}
	all := f.where(f.From)
	err = query(ctx, s.conn, projects, &agents, `
		SELECT peers AS of, attribute.1 AS name, attribute.2 AS value, count() AS runs
		FROM (SELECT `+peers+` AS peers, arrayJoin(`+runAttributes+`) AS attribute`+f.from(&all, "")+`)
		WHERE (attribute.1, attribute.2) IN (`+strings.Join(marks, ", ")+`)
		GROUP BY of, name, value ORDER BY of, name, value`, append(all.args, pairs...)...)
	return kept, agents, cut, err
}
