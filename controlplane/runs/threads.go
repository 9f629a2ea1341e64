package runs

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// maxThreadIDLength is how many characters the id of a thread may have. A longer one does not fit the path of its thread.
const maxThreadIDLength = 1000

// threadID is what the runs of a thread share: their session, or their conversation if they name no session. Some programs use the
// session for the process that holds conversations, so both are stored as sent.
const threadID = "if(session_id != '', session_id, conversation_id)"

// ofThreads selects the runs of threads. The condition is on columns, as the index runs_thread is, and names the ids once: they may be long.
func (w *where) ofThreads(ids ...string) {
	w.add("(session_id IN (? AS thread_ids) OR session_id = '' AND conversation_id IN thread_ids)", ids)
}

// Thread is a conversation: the runs of a project that share a session, or a conversation if they name no session.
type Thread struct {
	ThreadID string `ch:"thread_id"`
	// BySession is true if the runs name a session.
	BySession bool `ch:"by_session"`
	// FirstTime and LastTime are when the first and the last run started.
	FirstTime time.Time `ch:"first_time"`
	LastTime  time.Time `ch:"last_time"`
	// Matched is when the last run that the filter selects started.
	Matched    time.Time `ch:"matched"`
	RunCount   uint64    `ch:"run_count"`
	ErrorCount uint64    `ch:"errors"`
	// Users and Agents are up to ten of the UserCount and AgentCount that took part.
	Users      []string `ch:"users"`
	UserCount  uint64   `ch:"user_count"`
	Agents     []string `ch:"agents"`
	AgentCount uint64   `ch:"agent_count"`
	// Sums are nil if no run knows the figure.
	Input       *int64   `ch:"input"`
	Output      *int64   `ch:"output"`
	CacheRead   *int64   `ch:"cache_read"`
	CacheWrite  *int64   `ch:"cache_write"`
	Reasoning   *int64   `ch:"reasoning"`
	OtherTokens *int64   `ch:"other_sum"`
	CostUSD     *float64 `ch:"cost"`
	Sampled     uint64   `ch:"sampled"` // runs that samplers kept for a share of all
	SampleShare *float64 `ch:"share"`   // the least such share, nil if there are none
	FirstInput  string   `ch:"first_input"`
	LastOutput  string   `ch:"last_output"`
	LastRunning bool     `ch:"last_running"`
	// Cut names the members, as the API does, that a list has cut.
	Cut []string
}

// threadColumns add up the runs of a thread.
const threadColumns = threadID + ` AS thread_id, max(session_id != '') AS by_session,
	min(start_time) AS first_time, max(start_time) AS last_time, last_time AS matched,
	count() AS run_count, countIf(` + failedItself + `) AS errors,
	groupUniqArrayIf(10)(substring(user_id, 1, 1025), user_id != '') AS users, uniqIf(user_id, user_id != '') AS user_count,
	groupUniqArrayIf(10)(toString(substring(agent_name, 1, 1025)), agent_name != '') AS agents, uniqIf(agent_name, agent_name != '') AS agent_count,
	sum(input_tokens) AS input, sum(output_tokens) AS output, sum(cache_read_tokens) AS cache_read,
	sum(cache_write_tokens) AS cache_write, sum(reasoning_tokens) AS reasoning, sum(other_tokens) AS other_sum, sum(cost_usd) AS cost,
	countIf(sample_share IS NOT NULL) AS sampled, min(sample_share) AS share,
	argMinIf(input_preview, start_time, input_preview != '') AS first_input,
	argMaxIf(output_preview, start_time, output_preview != '') AS last_output,
	argMax(status = 'running', start_time) AS last_running`

// ThreadsQuery selects threads with a run that the filter selects, the one with the newest such run first.
type ThreadsQuery struct {
	Filter
	Limit  int
	Cursor string
}

// ThreadPage is a page of threads with the totals of all their runs. NextCursor is empty on the last page.
type ThreadPage struct {
	Threads    []Thread
	HasMore    bool
	NextCursor string
}

// Threads returns a page of a project's threads.
func (s *Service) Threads(ctx context.Context, projects access.Projects, q ThreadsQuery) (ThreadPage, error) {
	projects = projects.Only(q.ProjectID)
	digest := q.Digest()
	after, err := readCursor(q.Cursor, listThreads, digest)
	if err != nil {
		return ThreadPage{}, err
	}
	if q.Filter, err = s.resolve(ctx, projects, q.Filter); err != nil {
		return ThreadPage{}, err
	}
	found, err := s.matchingThreads(ctx, projects, q, after)
	if err != nil {
		return ThreadPage{}, err
	}
	page := ThreadPage{HasMore: len(found) > q.Limit}
	found = found[:min(len(found), q.Limit)]
	if len(found) == 0 {
		return page, nil
	}
	if page.HasMore {
		last := found[len(found)-1]
		page.NextCursor = cursor{List: listThreads, Filter: digest, Time: last.Matched.UnixNano(), ID: strconv.FormatUint(last.Hash, 10)}.String()
	}
	page.Threads, err = s.threadTotals(ctx, projects, found, q.Filter)
	return page, err
}

type matchedThread struct {
	ThreadID string    `ch:"thread_id"`
	Matched  time.Time `ch:"matched"`
	// Hash is of the id, so that cursors have one length.
	Hash uint64 `ch:"hash"`
}

// matchingThreads reads one thread more than the page takes. Each window ends now, because a thread is listed where its newest run is.
func (s *Service) matchingThreads(ctx context.Context, projects access.Projects, q ThreadsQuery, after *cursor) ([]matchedThread, error) {
	newest := s.now()
	if after != nil {
		newest = time.Unix(0, after.Time).UTC()
	} else if !q.StartBefore.IsZero() {
		newest = q.StartBefore
	}
	for _, lower := range append(windowEnds(newest, listWindows, false), q.StartAfter) {
		if lower.Before(q.StartAfter) {
			lower = q.StartAfter
		}
		w := inProjects()
		w.startsIn(lower, q.StartBefore)
		w.add(threadID+" != '' AND lengthUTF8("+threadID+") <= ?", maxThreadIDLength)
		q.conditions(&w, lower)
		having := where{conditions: []string{"true"}}
		if after != nil {
			having.add("(matched, hash) < (fromUnixTimestamp64Nano(?), toUInt64(?))", after.Time, after.ID)
		}
		var rows []matchedThread
		err := query(ctx, s.conn, projects, &rows, `SELECT `+threadID+` AS thread_id, max(start_time) AS matched, sipHash64(thread_id) AS hash FROM runs FINAL WHERE `+w.String()+`
			GROUP BY thread_id HAVING `+having.String()+` ORDER BY matched DESC, hash DESC LIMIT ?`,
			slices.Concat(w.args, having.args, []any{q.Limit + 1})...)
		if err != nil || len(rows) > q.Limit || !lower.After(q.StartAfter) {
			return rows, err
		}
	}
	return nil, nil
}

// threadTotals adds up all runs of threads that Traces and Source of the filter select, and keeps the order of the threads. It has no bound
// of time, because a thread may be old; the index runs_thread keeps what it reads small (docs/measurements/reading.md).
func (s *Service) threadTotals(ctx context.Context, projects access.Projects, found []matchedThread, f Filter) ([]Thread, error) {
	ids := make([]string, len(found))
	order := make(map[string]int, len(found))
	for i, thread := range found {
		ids[i], order[thread.ThreadID] = thread.ThreadID, i
	}
	w := inProjects()
	f.shown(&w)
	w.ofThreads(ids...)
	var threads []Thread
	err := query(ctx, s.conn, projects, &threads, `SELECT `+threadColumns+` FROM runs FINAL
		WHERE `+w.String()+` GROUP BY thread_id`, w.args...)
	if err != nil || len(threads) == 0 {
		return nil, err
	}
	if err := s.addScoredErrors(ctx, projects, threads, w, f.failures); err != nil {
		return nil, err
	}
	for i := range threads {
		threads[i].Matched = found[order[threads[i].ThreadID]].Matched
		slices.Sort(threads[i].Users)
		slices.Sort(threads[i].Agents)
		threads[i].cut()
	}
	slices.SortFunc(threads, func(a, b Thread) int { return cmp.Compare(order[a.ThreadID], order[b.ThreadID]) })
	return threads, nil
}

// addScoredErrors counts the runs of threads that failed by a score alone. w selects the runs of all of them.
func (s *Service) addScoredErrors(ctx context.Context, projects access.Projects, threads []Thread, w where, d definition) error {
	first := threads[0].FirstTime
	for i := range threads {
		first = earlier(first, threads[i].FirstTime)
	}
	d.scoredAsFailed(&w, first)
	var scored []struct {
		ThreadID string `ch:"thread_id"`
		Errors   uint64 `ch:"errors"`
	}
	err := query(ctx, s.conn, projects, &scored, `SELECT `+threadID+` AS thread_id, count() AS errors FROM runs FINAL
		WHERE `+w.String()+` GROUP BY thread_id`, w.args...)
	for _, of := range scored {
		for i := range threads {
			if threads[i].ThreadID == of.ThreadID {
				threads[i].ErrorCount += of.Errors
			}
		}
	}
	return err
}

// cut cuts the names of users and agents.
func (t *Thread) cut() {
	var c cutter
	for i := range t.Users {
		c.text("users", MaxListedText, &t.Users[i])
	}
	for i := range t.Agents {
		c.text("agents", MaxListedText, &t.Agents[i])
	}
	t.Cut = c.members
}

// ThreadQuery selects a page of a thread's runs.
type ThreadQuery struct {
	ProjectID uuid.UUID
	ThreadID  string
	Traces    string // as Filter.Traces
	Source    string // as Filter.Source
	Limit     int
	Cursor    string
}

// ThreadRuns is a thread with a page of its runs in start order. Each run has its root's inputs and outputs, cut at MaxExcerpt.
type ThreadRuns struct {
	Thread
	Page
}

// Thread returns a thread with a page of its runs.
func (s *Service) Thread(ctx context.Context, projects access.Projects, q ThreadQuery) (ThreadRuns, error) {
	projects = projects.Only(q.ProjectID)
	after, err := readCursor(q.Cursor, listThreadRuns, "")
	if err != nil {
		return ThreadRuns{}, err
	}
	if q.ThreadID == "" {
		return ThreadRuns{}, ErrNotFound
	}
	filter, err := s.resolve(ctx, projects, Filter{ProjectID: q.ProjectID, Traces: q.Traces, Source: q.Source})
	if err != nil {
		return ThreadRuns{}, err
	}
	threads, err := s.threadTotals(ctx, projects, []matchedThread{{ThreadID: q.ThreadID}}, filter)
	if err != nil {
		return ThreadRuns{}, err
	}
	if len(threads) == 0 {
		return ThreadRuns{}, ErrNotFound
	}
	turns := ThreadRuns{Thread: threads[0]}
	turns.Matched = turns.LastTime
	w := inProjects()
	w.startsIn(turns.FirstTime, turns.LastTime.Add(1))
	filter.shown(&w)
	w.ofThreads(q.ThreadID)
	if after != nil {
		w.add("(start_time, run_id) > (fromUnixTimestamp64Nano(?), toUUID(?))", after.Time, after.ID)
	}
	var rows []runmodel.Run
	err = readListed(ctx, s, projects, &rows, "", w, "ORDER BY start_time, run_id LIMIT ?", Filter{}.settings, q.Limit+1)
	if err != nil {
		return ThreadRuns{}, err
	}
	turns.HasMore = len(rows) > q.Limit
	rows = rows[:min(len(rows), q.Limit)]
	if turns.HasMore {
		last := rows[len(rows)-1]
		turns.NextCursor = cursor{List: listThreadRuns, Time: last.StartTime.UnixNano(), ID: last.RunID.String()}.String()
	}
	if err := s.addFailedScores(ctx, projects, 0, pointers(rows)); err != nil {
		return ThreadRuns{}, err
	}
	if turns.Runs, err = s.withRoots(ctx, projects, rows); err != nil {
		return ThreadRuns{}, err
	}
	return turns, s.addScores(ctx, projects, turns.Runs, maxListedScores)
}

// withRoots gives runs the inputs and outputs of their roots, cut.
func (s *Service) withRoots(ctx context.Context, projects access.Projects, rows []runmodel.Run) ([]Run, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	first, last := rows[0].StartTime, rows[0].StartTime
	runIDs, rootIDs := idsOf(rows), make([]uint64, len(rows))
	for i := range rows {
		rootIDs[i] = rows[i].RootSpanID
		last = later(last, rows[i].StartTime)
	}
	// A root may start later than its run, which starts with its first span.
	w := inProjects()
	w.startsIn(first.Add(-24*time.Hour), last.Add(24*time.Hour))
	w.add("run_id IN (?)", runIDs)
	w.add("span_id IN (?)", rootIDs)
	var versions []runmodel.Span
	if err := query(ctx, s.conn, projects, &versions, `SELECT `+excerptColumns+` FROM spans WHERE `+w.String(), w.args...); err != nil {
		return nil, err
	}
	locations, err := s.locationsOf(ctx, projects, runIDs)
	if err != nil {
		return nil, err
	}
	byRun := runmodel.ByRun(versions)
	list := make([]Run, len(rows))
	for i, row := range rows {
		list[i] = listed(row)
		list[i].Cut = cutRun(&list[i].Run)
		versions := locations[row.RunID].dropDeleted(byRun[runmodel.RunKey{ProjectID: row.ProjectID, RunID: row.RunID}])
		for _, root := range runmodel.Fold(versions) {
			if root.SpanID != row.RootSpanID {
				continue
			}
			if err := s.setExcerpts(ctx, projects, &list[i], &root); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// setExcerpts gives a run the inputs and outputs of its root. If the root lacks one of them, the preview stays.
func (s *Service) setExcerpts(ctx context.Context, projects access.Projects, run *Run, root *runmodel.Span) error {
	loc := location{projects: projects.Only(run.ProjectID), ProjectID: run.ProjectID, FirstStart: root.StartTime, LastStart: root.StartTime}
	inputs, outputs, err := s.inputsAndOutputs(ctx, loc, run.RunID, root, cutContent)
	if err != nil {
		return err
	}
	run.Truncated = false
	for _, side := range []struct {
		text    string
		preview string
		to      **string
	}{{inputs, run.InputPreview, &run.Inputs}, {outputs, run.OutputPreview, &run.Outputs}} {
		text := side.text
		if len(text) > MaxExcerpt {
			text, run.Truncated = utf8text.Bytes(text, MaxExcerpt), true
		}
		if text == "" && side.preview != "" {
			text, run.Truncated = side.preview, true
		}
		*side.to = nonEmpty(text)
	}
	return nil
}
