package runtools

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/agentview"
	"github.com/looptrace/looptrace/controlplane/diff"
	"github.com/looptrace/looptrace/controlplane/mcpserver/tool"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// compareTime is the time limit of a comparison, including the reading of both runs.
const compareTime = 30 * time.Second

// compareDetails are how much is shown of a step: tokens of each field, and bytes of each part that differs. The first step gets more. The
// first with which all steps fit is used, else the last with as many steps as fit.
var compareDetails = []struct{ tokens, hunk int }{{400, 600}, {200, 300}, {100, 160}, {50, 90}}

type compareInput struct {
	RunID      string `json:"run_id"               jsonschema:"The run to compare with, such as one that ended well."`
	OtherRunID string `json:"other_run_id"         jsonschema:"The run in question, such as one that failed."`
	ProjectID  string `json:"project_id,omitempty"`
	Skip       int    `json:"skip,omitempty"       jsonschema:"Differing steps to skip, from next_page."`
	tool.Budget
}

func (in compareInput) Project() string { return in.ProjectID }

type compareCall struct {
	RunID      uuid.UUID `json:"run_id"`
	OtherRunID uuid.UUID `json:"other_run_id"`
	ProjectID  string    `json:"project_id,omitempty"`
	Skip       int       `json:"skip,omitempty"`
}

// compareOutput is how the other run differs from the first.
type compareOutput struct {
	Notice      string `json:"notice"`
	TokenBudget int    `json:"token_budget"`
	TokensUsed  int    `json:"tokens_used"`
	// Run is the first one, Other the second.
	Run   comparedRun `json:"run"`
	Other comparedRun `json:"other"`
	// Attributes has between marks what the program says of only one of the runs: - of the first, + of the other.
	Attributes string `json:"attributes,omitempty"`
	// Distance is from 0, the same, to 1.
	Distance float64 `json:"distance"`
	Same     int     `json:"same"`
	Changed  int     `json:"changed"`
	Added    int     `json:"added"`
	Removed  int     `json:"removed"`
	Moved    int     `json:"moved,omitempty"`
	// Partial are the limits that the comparison ran into.
	Partial []string `json:"partial,omitempty"`
	// Steps are those that differ, the first divergence first.
	Steps    []comparedStep `json:"steps"`
	LeftOut  int            `json:"left_out,omitempty"`
	Next     []string       `json:"next"`
	NextPage string         `json:"next_page,omitempty"`
}

type comparedRun struct {
	RunID      string   `json:"run_id"`
	Name       string   `json:"name"`
	Outcome    string   `json:"outcome"`
	StartTime  string   `json:"start_time"`
	DurationMS *float64 `json:"duration_ms,omitempty"`
	Steps      int      `json:"steps"`
	CostUSD    *float64 `json:"cost_usd,omitempty"`
}

func (t *tools) addCompare(server *mcp.Server) error {
	input, err := tool.InputSchema[compareInput](map[string]func(*jsonschema.Schema){
		"run_id": tool.Pattern(tool.UUIDPattern), "other_run_id": tool.Pattern(tool.UUIDPattern), "project_id": tool.Pattern(tool.UUIDPattern),
		"skip": func(s *jsonschema.Schema) { s.Minimum, s.Maximum = new(0.0), new(float64(2*diff.MaxSteps)) },
	})
	if err != nil {
		return err
	}
	return tool.Add[compareInput, compareOutput](t.Shared, server, "diffRuns", mcp.Tool{
		Name: tool.RunsDiff, Title: "Compare two runs",
		Description: "Aligns the steps of two runs and shows those that differ, the first divergence first, cut around the difference: - is the first " +
			"run, + the other. Equal steps are only counted. Two runs of the same program differ by chance, too: " +
			"see " + t.Name(tool.ReplayEdit) + " for what an edit does.",
	}, input, t.compare)
}

// compare compares two runs. The budget covers both forms of the result.
func (t *tools) compare(ctx context.Context, grant access.Grant, in compareInput) ([]byte, error) {
	in.SetDefaults()
	ctx, cancel := context.WithTimeout(ctx, compareTime)
	defer cancel()
	var compared [2]diff.Run
	for i, given := range []string{in.RunID, in.OtherRunID} {
		id, err := uuid.Parse(given)
		if err != nil {
			return nil, runs.ErrNotFound // the schema only allows ids
		}
		if compared[i], err = diff.Read(ctx, t.Runs, grant.Projects, id); err != nil {
			return nil, err
		}
	}
	base, other := compared[0], compared[1]
	d, err := diff.Compare(ctx, base, other)
	if err != nil {
		return nil, err
	}
	differing := differingSteps(d)
	skip := min(in.Skip, len(differing))
	out := compareOutput{
		Notice: agentview.Notice, TokenBudget: in.TokenBudget, Run: comparedRunOf(base), Other: comparedRunOf(other), Distance: *tool.Rounded(&d.Distance),
		Same: d.Counts[diff.Same], Changed: d.Counts[diff.Changed], Added: d.Counts[diff.Added], Removed: d.Counts[diff.Removed], Moved: d.Counts[diff.Moved],
		Next: []string{},
	}
	for _, limit := range d.Limits {
		out.Partial = append(out.Partial, string(limit))
	}
	if len(differing) > 0 {
		out.Next = t.afterComparison(&in, base, other, &d.Steps[differing[0]])
	}
	out.Attributes = t.Fence(base.Outline.Run.RunID, "attributes", min(shownAttributes, in.TokenBudget/attributesShare), strings.Join(attributeDiff(base, other), "\n"))
	w := &stepWriter{t: t, base: base, other: other, d: d, hunks: map[*diff.Change]tool.ChangeHunks{}}
	n := min(len(differing)-skip, in.TokenBudget/tool.Forms/leastStep)
	for _, detail := range compareDetails {
		if body, fits := t.comparison(&out, &in, w, differing, skip, n, detail.tokens, detail.hunk); fits {
			return body, nil
		}
	}
	last := compareDetails[len(compareDetails)-1]
	for _, leaveOut := range []func(){func() {}, func() { out.Attributes = "" }, func() { out.Next = out.Next[:min(1, len(out.Next))] }} {
		leaveOut()
		for n := n; n > 0; n = min(n-1, n*in.TokenBudget/out.TokensUsed) {
			if body, fits := t.comparison(&out, &in, w, differing, skip, n, last.tokens, last.hunk); fits {
				return body, nil
			}
		}
	}
	return nil, tool.Error("token_budget is too small for one step. Call again with a larger one.")
}

const (
	// shownAttributes is about how many tokens are shown of attributes that differ, attributesShare the part of the budget that they may have.
	shownAttributes, attributesShare = 200, 16
	// leastStep is about how many tokens a step takes at least.
	leastStep = 25
)

// comparison writes n of the differing steps after those to skip, and reports whether all fits the budget.
func (t *tools) comparison(
	out *compareOutput, in *compareInput, w *stepWriter, differing []int, skip, n, tokens, hunk int,
) (body []byte, fits bool) {
	w.seen = map[string]bool{}
	out.Steps = make([]comparedStep, n)
	for i, at := range differing[skip : skip+n] {
		most, part := tokens, hunk
		if skip+i == 0 { // the first divergence
			most, part = 2*tokens, 2*hunk
		}
		out.Steps[i] = w.write(at, most, part)
	}
	out.LeftOut, out.NextPage = len(differing)-skip-n, ""
	if out.LeftOut > 0 {
		out.NextPage = t.Call(tool.RunsDiff, compareCall{w.base.Outline.Run.RunID, w.other.Outline.Run.RunID, in.ProjectID, skip + n})
	}
	out.TokensUsed = 0
	body = tool.EncodeCounted(out, &out.TokensUsed)
	return body, out.TokensUsed <= in.TokenBudget
}

func comparedRunOf(r diff.Run) comparedRun {
	run := &r.Outline.Run
	shown := comparedRun{
		RunID: run.RunID.String(), Name: agentview.SafeName(run.Name), Outcome: run.Outcome(), StartTime: run.StartTime.UTC().Format(time.RFC3339),
		Steps: len(r.Spans), CostUSD: tool.Rounded(run.CostUSD),
	}
	if !runmodel.IsAbsent(run.EndTime) {
		ms := float64(run.EndTime.Sub(run.StartTime).Round(time.Millisecond)) / float64(time.Millisecond)
		shown.DurationMS = &ms
	}
	return shown
}

// attributeDiff returns the attributes that only one of the runs has. Models are among them.
func attributeDiff(base, other diff.Run) []string {
	of := func(r diff.Run) []string {
		return append(agentview.Attributes(&r.Outline.Run), "models: "+strings.Join(r.Outline.Run.Models, ", "))
	}
	a, b := of(base), of(other)
	var lines []string
	for _, line := range a {
		if !slices.Contains(b, line) {
			lines = append(lines, "- "+line)
		}
	}
	for _, line := range b {
		if !slices.Contains(a, line) {
			lines = append(lines, "+ "+line)
		}
	}
	return lines
}

// afterComparison returns the calls that show the first step that differs in each run.
func (t *tools) afterComparison(in *compareInput, base, other diff.Run, first *diff.Step) []string {
	var next []string
	if first.Other >= 0 {
		next = append(next, t.CallRead(other.Outline.Run.RunID, in.ProjectID, runmodel.FormatSpanID(other.Spans[first.Other].SpanID)))
	}
	if first.Base >= 0 {
		next = append(next, t.CallRead(base.Outline.Run.RunID, in.ProjectID, runmodel.FormatSpanID(base.Spans[first.Base].SpanID)))
	}
	return next
}
