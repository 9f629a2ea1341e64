package runtools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/agentview"
	"github.com/looptrace/looptrace/controlplane/failures"
	"github.com/looptrace/looptrace/controlplane/mcpserver/tool"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// Failures groups failed runs.
type Failures interface {
	List(ctx context.Context, in access.Projects, q failures.Query) (failures.Page, error)
	Get(ctx context.Context, in access.Projects, filter runs.Filter, window time.Duration, fingerprint string) (failures.Page, error)
}

// Limits of the groups of a result.
const (
	defaultGroups = 5
	maxGroups     = 20
	defaultWindow = 7 * 24 * time.Hour
	maxWindow     = 90 * 24 * time.Hour
	// maxExamples is how many runs of a group are named, the representative one first.
	maxExamples = 3
)

// groupDetail is how much is shown of a group: tokens of its error, attributes that set its runs apart, runs, and candidates for its cause.
type groupDetail struct{ tokens, contrasts, examples, candidates int }

// groupDetails are tried in order. The first with which all groups fit is used. leastDetail is for a group that fits with none of them.
var (
	groupDetails = []groupDetail{
		{80, 20, maxExamples, maxShownCandidates}, {60, 5, maxExamples, maxShownCandidates}, {40, 3, maxExamples, 3}, {20, 1, maxExamples, 1}, {10, 0, maxExamples, 0},
	}
	leastDetail = groupDetail{10, 0, 1, 0}
)

// failuresInput has the filters of a search that tell groups apart. Those without a description are described there.
type failuresInput struct {
	ProjectID     string            `json:"project_id,omitempty"`
	Fingerprint   string            `json:"fingerprint,omitempty" jsonschema:"Only this group, with candidates for its cause."`
	WindowSeconds int               `json:"window_seconds,omitempty"`
	Search        string            `json:"search,omitempty"`
	Name          string            `json:"name,omitempty"`
	AgentName     string            `json:"agent_name,omitempty"`
	Model         string            `json:"model,omitempty"`
	SessionID     string            `json:"session_id,omitempty"`
	UserID        string            `json:"user_id,omitempty"`
	Tag           string            `json:"tag,omitempty"`
	Environment   string            `json:"environment,omitempty"`
	Release       string            `json:"release,omitempty"`
	ErrorType     string            `json:"error_type,omitempty"`
	Metadata      map[string]string `json:"metadata,omitempty"`
	Limit         int               `json:"limit,omitempty"`
	Cursor        string            `json:"cursor,omitempty"      jsonschema:"That of next_page."`
	tool.Budget
}

func (in failuresInput) Project() string { return in.ProjectID }

func (in *failuresInput) filter() runs.Filter {
	return runs.Filter{
		Search: in.Search, Name: in.Name, AgentName: in.AgentName, Model: in.Model, SessionID: in.SessionID, UserID: in.UserID, Tag: in.Tag,
		Environment: in.Environment, Release: in.Release, ErrorType: in.ErrorType, Metadata: in.Metadata,
	}
}

// failuresOutput is a page of groups. Runs counts all runs since From, FailedRuns those that failed, SignalRuns those with a signal, GroupCount the groups. Resolved and
// Muted are how many of these are left out because people resolved or muted them.
type failuresOutput struct {
	Notice      string `json:"notice"`
	TokenBudget int    `json:"token_budget"`
	TokensUsed  int    `json:"tokens_used"`
	ProjectID   string `json:"project_id"`
	From        string `json:"from"`
	Runs        uint64 `json:"runs"`
	FailedRuns  uint64 `json:"failed_runs"`
	SignalRuns  uint64 `json:"signal_runs,omitempty"`
	GroupCount  int    `json:"group_count"`
	Resolved    int    `json:"resolved_left_out,omitempty"`
	Muted       int    `json:"muted_left_out,omitempty"`
	// Partial reports that there are more groups than can be ranked.
	Partial  bool          `json:"partial,omitempty"`
	Groups   []failedGroup `json:"groups"`
	Next     []string      `json:"next"`
	NextPage string        `json:"next_page,omitempty"`
}

// failedGroup are runs that failed in the same way.
type failedGroup struct {
	Fingerprint string `json:"fingerprint"`
	// State is what people decided, unless the group is open. RegressedBy is the first run since it was resolved.
	State       string `json:"state,omitempty"`
	RegressedBy string `json:"regressed_by,omitempty"`
	Class       string `json:"class"`
	Step        string `json:"step"`
	Runs        uint64 `json:"runs"`
	// AgentRuns counts all runs of the agent.
	AgentRuns uint64   `json:"agent_runs"`
	Agent     string   `json:"agent,omitempty"`
	Users     *uint64  `json:"users,omitempty"`
	CostUSD   *float64 `json:"cost_usd,omitempty"`
	FirstSeen string   `json:"first_seen"`
	LastSeen  string   `json:"last_seen"`
	// Apart is what the runs have more often than others of the agent, the most telling first.
	Apart        []string `json:"apart,omitempty"`
	ApartLeftOut int      `json:"apart_left_out,omitempty"`
	RunIDs       []string `json:"run_ids"`
	// Candidates for the cause are shown of one group, the best first.
	Candidates []shownCandidate `json:"candidates,omitempty"`
	// Recorded has the error of the first run between marks.
	Recorded string `json:"recorded,omitempty"`
}

func (t *tools) addFailures(server *mcp.Server) error {
	short := func(s *jsonschema.Schema) { s.MaxLength = new(200) }
	input, err := tool.InputSchema[failuresInput](map[string]func(*jsonschema.Schema){
		"project_id": tool.Pattern(tool.UUIDPattern), "fingerprint": short, "search": short, "name": short, "agent_name": short, "model": short,
		"session_id": short, "user_id": short, "tag": short, "environment": short, "release": short, "error_type": short,
		"metadata": func(s *jsonschema.Schema) {
			s.MaxProperties = new(10)
			short(s.AdditionalProperties)
		},
		"window_seconds": func(s *jsonschema.Schema) {
			s.Minimum, s.Maximum, s.Default = new(1.0), new(maxWindow.Seconds()), []byte(strconv.Itoa(int(defaultWindow.Seconds())))
		},
		"limit": func(s *jsonschema.Schema) {
			s.Minimum, s.Maximum, s.Default = new(1.0), new(float64(maxGroups)), []byte(strconv.Itoa(defaultGroups))
		},
		"cursor": func(s *jsonschema.Schema) { s.MaxLength = new(500) },
	})
	if err != nil {
		return err
	}
	return tool.Add[failuresInput, failuresOutput](t.Shared, server, "listFailedRuns", mcp.Tool{
		Name: tool.RunsFailures, Title: "Group failed runs",
		Description: "Groups runs that failed in the same way, or have the same signal, the most worth a look first: count, " +
			"first and last time, step, error, example runs, and apart: what these runs have more often than others of the agent. Filters as in " +
			t.Name(tool.RunsSearch) + ". next has a failing run, and its comparison with one that ended well.",
	}, input, t.failedRuns)
}

// failedRuns returns a page of groups. The budget covers both forms of the result. What sets groups apart is shortened before groups are
// left out.
func (t *tools) failedRuns(ctx context.Context, grant access.Grant, in failuresInput) ([]byte, error) {
	asked := in
	in.SetDefaults()
	project, err := tool.OneProject(grant)
	if err != nil {
		return nil, err
	}
	window := time.Duration(in.WindowSeconds) * time.Second
	if window == 0 {
		window = defaultWindow
	}
	query := failures.Query{Filter: in.filter(), Window: window, Limit: in.Limit, Cursor: in.Cursor}
	query.Filter.ProjectID = project
	if query.Limit == 0 {
		query.Limit = defaultGroups
	}
	var candidates []shownCandidate
	if in.Fingerprint != "" {
		if candidates, err = t.candidates(ctx, grant.Projects, &in, query.Filter, window); err != nil {
			return nil, err
		}
	}
	for {
		page, err := t.failurePage(ctx, grant, &in, query)
		if err != nil {
			return nil, err
		}
		out := failuresOutput{
			Notice: agentview.Notice, TokenBudget: in.TokenBudget, ProjectID: project.String(), From: page.From.Format(time.RFC3339),
			Runs: page.Runs, FailedRuns: page.Failed, SignalRuns: page.Signalled, GroupCount: page.GroupCount, Partial: page.Partial, Groups: make([]failedGroup, len(page.Groups)),
		}
		if in.Fingerprint == "" {
			out.Resolved, out.Muted = page.StateCounts[failures.Resolved], page.StateCounts[failures.Muted]
		}
		if page.NextCursor != "" {
			next := asked // without the defaults, which cost tokens
			next.Cursor = page.NextCursor
			out.NextPage = t.Call(tool.RunsFailures, next)
		}
		if out.Next, err = t.afterFailures(ctx, grant, &in, query.Filter, window, page.Groups); err != nil {
			return nil, err
		}
		details := groupDetails
		if len(page.Groups) == 1 {
			details = append(slices.Clip(details), leastDetail)
		}
		for _, detail := range details {
			for i := range page.Groups {
				out.Groups[i] = t.failedGroup(&page.Groups[i], detail)
				out.Groups[i].Candidates = candidates[:min(detail.candidates, len(candidates))]
			}
			out.TokensUsed = 0
			body := tool.EncodeCounted(&out, &out.TokensUsed)
			if out.TokensUsed <= in.TokenBudget {
				return body, nil
			}
		}
		if query.Limit == 1 || len(page.Groups) <= 1 {
			return nil, tool.Error("token_budget is too small for one group. Call again with a larger one.")
		}
		// The cursor must be after the last group that is shown.
		query.Limit = max(1, min(query.Limit-1, len(page.Groups)*in.TokenBudget/out.TokensUsed))
	}
}

// failurePage reads the groups, or the one with the fingerprint.
func (t *tools) failurePage(ctx context.Context, grant access.Grant, in *failuresInput, query failures.Query) (failures.Page, error) {
	if in.Fingerprint == "" {
		return t.failures.List(ctx, grant.Projects, query)
	}
	page, err := t.failures.Get(ctx, grant.Projects, query.Filter, query.Window, in.Fingerprint)
	if errors.Is(err, runs.ErrNotFound) {
		return page, tool.Error("No run failed with this fingerprint in the window. Omit fingerprint to list the groups, or use a longer window_seconds.")
	}
	return page, err
}

// failedGroup returns what is shown of a group.
func (t *tools) failedGroup(g *failures.Group, detail groupDetail) failedGroup {
	shown := failedGroup{
		Fingerprint: agentview.SafeName(g.Fingerprint), Class: agentview.SafeName(g.Class), Step: agentview.SafeName(g.StepKind) + " " + agentview.SafeName(g.StepName),
		Runs: g.Runs, AgentRuns: g.AgentRuns, Agent: agentview.SafeName(g.AgentName), CostUSD: tool.Rounded(g.CostUSD),
		FirstSeen: g.FirstSeen.UTC().Format(time.RFC3339), LastSeen: g.Last.UTC().Format(time.RFC3339), RunIDs: []string{},
	}
	if g.State.State != failures.Open {
		shown.State = string(g.State.State)
	}
	if g.State.Regression != nil {
		shown.RegressedBy = g.State.Regression.RunID.String()
	}
	if g.NamesUsers {
		shown.Users = &g.Users
	}
	for _, c := range g.Contrasts[:min(detail.contrasts, len(g.Contrasts))] {
		shown.Apart = append(shown.Apart, fmt.Sprintf("%s=%s: %d of %d, others %d of %d",
			agentview.SafeName(c.Name), agentview.SafeName(c.Value), c.With, c.Runs, c.OthersWith, c.OthersRuns))
	}
	shown.ApartLeftOut = len(g.Contrasts) - len(shown.Apart)
	for i := range g.Sample[:min(detail.examples, len(g.Sample))] {
		shown.RunIDs = append(shown.RunIDs, g.Sample[i].RunID.String())
	}
	if len(g.Sample) == 0 {
		return shown
	}
	first := &g.Sample[0]
	errorType, message := first.ErrorType, first.ErrorMessage
	if first.Step != nil {
		errorType, message = first.Step.ErrorType, first.Step.ErrorMessage
		shown.Step = agentview.SafeName(g.StepKind) + " " + agentview.SafeName(cmp.Or(first.Step.ToolName, g.StepName))
	}
	if first.Class == runmodel.FailureScored {
		errorType, message = "", first.ScoredAsFailedBy()
	}
	shown.Recorded = t.Fence(first.RunID, "error", detail.tokens, strings.Trim(errorType+": "+message, ": "))
	return shown
}

// maxPeers is how many runs that ended well are searched for one with the same input.
const maxPeers = 50

// afterFailures returns what to call next: the first group's representative run at the step with its error, and its comparison with the newest
// run of the same agent that ended well, if possible one that had the same input.
func (t *tools) afterFailures(ctx context.Context, grant access.Grant, in *failuresInput, filter runs.Filter, window time.Duration, groups []failures.Group) ([]string, error) {
	at := slices.IndexFunc(groups, func(g failures.Group) bool { return len(g.Sample) > 0 })
	if at < 0 {
		return []string{}, nil
	}
	failed := &groups[at].Sample[0]
	next := []string{t.CallRead(failed.RunID, in.ProjectID, runmodel.FormatSpanID(failed.FailingSpanID))}
	filter.Window, filter.Outcomes, filter.AgentName = window, []string{runmodel.OutcomeSucceeded, runmodel.OutcomeRecovered}, failed.AgentName
	filter.ErrorType, filter.Search = "", "" // which those that ended well need not have
	if failed.AgentName == "" {
		filter.Name = failed.Name
	}
	page, err := t.Runs.List(ctx, grant.Projects, runs.ListQuery{Filter: filter, Order: runs.NewestFirst, Limit: maxPeers})
	if err != nil || len(page.Runs) == 0 {
		return next, err
	}
	peer := max(0, slices.IndexFunc(page.Runs, func(r runs.Run) bool { return r.InputPreview != "" && r.InputPreview == failed.InputPreview }))
	next = append(next, t.Call(tool.RunsDiff, compareCall{RunID: page.Runs[peer].RunID, OtherRunID: failed.RunID, ProjectID: in.ProjectID}))
	return next, nil
}
