package replaytools

import (
	"context"
	"fmt"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/agentview"
	"github.com/looptrace/looptrace/controlplane/mcpserver/tool"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/recorded/edit"
	"github.com/looptrace/looptrace/controlplane/replays"
	"github.com/looptrace/looptrace/controlplane/replays/batches"
	"github.com/looptrace/looptrace/controlplane/replays/engine"
	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/postgres"
)

// Replays replays runs.
type Replays interface {
	Plan(ctx context.Context, grant access.Grant, n *replays.Wanted, look bool) (*replays.Plan, error)
	Create(ctx context.Context, grant access.Grant, n *replays.Wanted) (replays.Replay, error)
	Get(ctx context.Context, grant access.Grant, id uuid.UUID) (replays.Replay, error)
	Attempts(ctx context.Context, r *replays.Replay) ([]replays.Attempt, error)
	Details(ctx context.Context, r *replays.Replay, number int) (replays.Details, error)
	AwaitRun(ctx context.Context, grant access.Grant, r *replays.Replay, a *replays.Attempt) error
}

// ReplayBatches replays many runs.
type ReplayBatches interface {
	Plan(ctx context.Context, grant access.Grant, n *batches.Wanted) (*batches.Plan, error)
	Create(ctx context.Context, grant access.Grant, n *batches.Wanted) (batches.Batch, error)
	Get(ctx context.Context, grant access.Grant, id uuid.UUID) (batches.Batch, error)
	CostOf(ctx context.Context, b *batches.Batch) (providers.EvaluationCost, error)
	RunsOf(ctx context.Context, b *batches.Batch, outcome batches.RunOutcome, page postgres.Page) ([]batches.Run, bool, error)
}

// The design of a replay whose call does not say.
const (
	defaultControls   = 5
	defaultTreatments = 4
	maxAttempts       = 100
	maxEdits          = 20
)

type editInput struct {
	RunID      string                    `json:"run_id,omitempty"       jsonschema:"The run to replay. Or many: run_filter or run_ids."`
	RunFilter  string                    `json:"run_filter,omitempty"   jsonschema:"Filters of runs as a query: fingerprint=… is a group of failures. Of more than 50 runs, 50 are drawn."`
	RunIDs     []string                  `json:"run_ids,omitempty"`
	GoodRuns   int                       `json:"good_runs,omitempty"    jsonschema:"Beside them, how many that ended well are drawn, to see what the edits break."`
	ProjectID  string                    `json:"project_id,omitempty"`
	Edits      []map[string]any          `json:"edits"                  jsonschema:"What to change. Each is {\"target\": T, \"set\": {one member}}. T is {\"span_id\": …}, {\"kind\": \"model\" or \"tool\", \"name\": …} or \"all\", which is all model calls. For model calls set one of model, params, system_prompt, messages, response, tool_schema. For tool calls tool_result, tool_error {type, message}. For either timeout_ms, retries. For the run, with the target \"all\", input. An empty list changes nothing and shows how much the agent varies."`
	Plan       bool                      `json:"plan,omitempty"         jsonschema:"true: only say what would happen and what it would cost."`
	Executor   string                    `json:"executor,omitempty"     jsonschema:"server: call models again. cassette: call nothing; enough for timeouts and retries. Omit it to take what the edits need."`
	Tools      map[string]map[string]any `json:"tools,omitempty" jsonschema:"What holds for calls of a tool, by its name, or * for all others: side_effects (read or write), on_miss for calls that are not in the recording (stop, nearest, or fixed with result, a text), drop (arguments that do not count)."`
	ProviderID string                    `json:"provider_id,omitempty"  jsonschema:"The connection that calls models. May be omitted if the project has only one."`
	Outcome    map[string]any            `json:"outcome,omitempty"      jsonschema:"A grader that says whether a final answer is good, such as {\"name\": \"refund\", \"type\": \"string_check\", \"operation\": \"ilike\", \"reference\": \"refunded\"}. Without it nobody knows."`
	Controls   *int                      `json:"controls,omitempty"     jsonschema:"How many replays without the edits: 5, or 2 of each of many runs."`
	Treatments *int                      `json:"treatments,omitempty"   jsonschema:"With them: 4, or 2 of each."`
	MaxCostUSD *float64                  `json:"max_cost_usd,omitempty" jsonschema:"The most that all calls may cost."`
	Unpriced   bool                      `json:"allow_unpriced,omitempty" jsonschema:"true: allow models without a known price in spite of max_cost_usd."`
	tool.Budget
}

func (in editInput) Project() string { return in.ProjectID }

// editOutput is a plan, or a replay that was queued.
type editOutput struct {
	Notice      string `json:"notice"`
	TokenBudget int    `json:"token_budget"`
	TokensUsed  int    `json:"tokens_used"`
	ReplayID    string `json:"replay_id,omitempty"`
	BatchID     string `json:"batch_id,omitempty"`
	Status      string `json:"status"`
	// Edits says what is changed, between marks.
	Edits    string `json:"edits,omitempty"`
	Executor string `json:"executor"`
	// Batch is what a batch replays, absent for one run.
	Batch *plannedBatch `json:"batch,omitempty"`
	// Controls and Treatments are the replays that are made, of each run.
	Controls   int   `json:"controls"`
	Treatments int   `json:"treatments"`
	Calls      int64 `json:"calls"`
	// CostLowUSD and CostHighUSD are absent if they are unknown.
	CostLowUSD  *float64 `json:"cost_low_usd,omitempty"`
	CostHighUSD *float64 `json:"cost_high_usd,omitempty"`
	// AttainableP above 0.04 means that the design can never tell.
	AttainableP *float64       `json:"attainable_p,omitempty"`
	Decided     string         `json:"decided,omitempty"`
	Counts      map[string]int `json:"counts,omitempty"`
	Steps       []plannedStep  `json:"steps,omitempty"`
	LeftOut     int            `json:"left_out,omitempty"`
	Missing     []string       `json:"missing,omitempty"`
	Warnings    []string       `json:"warnings,omitempty"`
	// ToStart says how to make what is planned: the call is not repeated, since it has the edits.
	ToStart string   `json:"to_start,omitempty"`
	Next    []string `json:"next"`
}

type plannedStep struct {
	N      int    `json:"n"`
	SpanID string `json:"span_id"`
	Name   string `json:"name"`
	Action string `json:"action"`
	Edited bool   `json:"edited,omitempty"`
	OnMiss string `json:"on_miss,omitempty"`
	Why    string `json:"why,omitempty"`
}

func (t *tools) addReplay(server *mcp.Server) error {
	count := func(least int) func(*jsonschema.Schema) {
		return func(s *jsonschema.Schema) {
			s.Type, s.Types = "integer", nil
			s.Minimum, s.Maximum = new(float64(least)), new(float64(maxAttempts))
		}
	}
	input, err := tool.InputSchema[editInput](map[string]func(*jsonschema.Schema){
		"run_id": tool.Pattern(tool.UUIDPattern), "project_id": tool.Pattern(tool.UUIDPattern), "provider_id": tool.Pattern(tool.UUIDPattern),
		"edits": func(s *jsonschema.Schema) { s.MaxItems = new(maxEdits) },
		"executor": func(s *jsonschema.Schema) {
			s.Enum = []any{string(engine.ExecutorServer), string(engine.ExecutorCassette)}
		},
		"run_filter": func(s *jsonschema.Schema) { s.MaxLength = new(maxFilter) },
		"run_ids":    func(s *jsonschema.Schema) { s.MaxItems = new(maxBatchRuns) },
		"good_runs":  func(s *jsonschema.Schema) { s.Minimum, s.Maximum = new(0.0), new(float64(maxBatchRuns)) },
		"controls":   count(0),
		"treatments": count(1),
		"max_cost_usd": func(s *jsonschema.Schema) {
			s.Type, s.Types, s.ExclusiveMinimum = "number", nil, new(0.0)
		},
	})
	if err != nil {
		return err
	}
	return tool.Add[editInput, editOutput](t.Shared, server, "createReplay", mcp.Tool{
		Name: tool.ReplayEdit, Title: "Replay runs with an edit",
		Description: "Replays recorded runs with and without edits, to find out whether the edits change what the agent does. Model calls are made " +
			"again and cost money; tools are answered from the recording and never executed. Call it with plan first, then without.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: false, IdempotentHint: false, DestructiveHint: new(false), OpenWorldHint: new(true)},
	}, input, t.edit)
}

// edit plans or queues a replay.
func (t *tools) edit(ctx context.Context, grant access.Grant, in editInput) ([]byte, error) {
	in.SetDefaults()
	if (in.RunID != "") == in.ofBatch() || in.RunFilter != "" && len(in.RunIDs) > 0 {
		return nil, tool.Error("Give one of run_id, run_filter and run_ids.")
	}
	if in.ofBatch() {
		return t.editBatch(ctx, grant, &in)
	}
	if in.GoodRuns > 0 {
		return nil, tool.Error("good_runs stands beside run_filter or run_ids.")
	}
	wanted, err := in.wanted(defaultControls, defaultTreatments)
	if err != nil {
		return nil, err
	}
	if wanted.Run, err = uuid.Parse(in.RunID); err != nil {
		return nil, tool.Error("run_id must be a UUID.") // the schema only allows ids
	}
	out := editOutput{Notice: agentview.Notice, TokenBudget: in.TokenBudget, Status: "planned", Next: []string{}}
	var texts []string
	if in.Plan {
		p, err := t.replays.Plan(ctx, grant, wanted, true)
		if err != nil {
			return nil, t.editRemedy(err, &in)
		}
		t.addPlan(&out, p)
		texts = p.Texts
	} else {
		created, err := t.replays.Create(ctx, grant, wanted)
		if err != nil {
			return nil, t.editRemedy(err, &in)
		}
		if texts, err = t.addCreated(&out, &created); err != nil {
			return nil, err
		}
	}
	out.Edits = t.Fence(wanted.Run, "edit", editTokens, texts...)
	return out.fit()
}

// fit leaves out what the budget has no room for: first steps, then what edits say, then warnings.
func (out *editOutput) fit() ([]byte, error) {
	for {
		out.TokensUsed = 0
		body := tool.EncodeCounted(out, &out.TokensUsed)
		if out.TokensUsed <= out.TokenBudget {
			return body, nil
		}
		switch {
		case len(out.Steps) > 0:
			keep := max(0, min(len(out.Steps)-1, len(out.Steps)*out.TokenBudget/out.TokensUsed))
			out.LeftOut += len(out.Steps) - keep
			out.Steps = out.Steps[:keep]
		case out.Edits != "":
			out.Edits = ""
		case out.Batch != nil && len(out.Batch.NotReplayable) > 0:
			out.Batch.NotReplayable = out.Batch.NotReplayable[:len(out.Batch.NotReplayable)-1]
		case len(out.Missing) > 0:
			out.Missing = out.Missing[:len(out.Missing)-1]
		case len(out.Warnings) > 0:
			out.Warnings = out.Warnings[:len(out.Warnings)-1]
		default:
			return nil, tool.Error("token_budget is too small. Call again with a larger one.")
		}
	}
}

// wanted reads the arguments, but for the runs.
func (in *editInput) wanted(controls, treatments int) (*replays.Wanted, error) {
	n := &replays.Wanted{
		Executor: engine.Executor(in.Executor), Controls: controls, Treatments: treatments, AllowUnpriced: in.Unpriced,
		Tools: map[string]engine.ToolPolicy{}, Edits: make([]edit.Edit, len(in.Edits)),
	}
	if in.Controls != nil {
		n.Controls = *in.Controls
	}
	if in.Treatments != nil {
		n.Treatments = *in.Treatments
	}
	if in.MaxCostUSD != nil {
		n.MaxCost = new(providers.MoneyOf(*in.MaxCostUSD))
	}
	if len(in.Outcome) > 0 {
		n.Outcome = jsontext.MustEncode(in.Outcome)
	}
	if in.ProviderID != "" {
		provider, err := uuid.Parse(in.ProviderID)
		if err != nil {
			return nil, tool.Error("provider_id must be a UUID.") // the schema only allows ids
		}
		n.Provider = &provider
	}
	for name, policy := range in.Tools {
		var read engine.ToolPolicy
		if err := decodeStrictly(policy, &read); err != nil {
			return nil, tool.Error(fmt.Sprintf(`tools.%s is not valid: %s. Example: {"side_effects":"read","on_miss":"fixed","result":"none"}.`, name, err))
		}
		n.Tools[name] = read
	}
	for i, change := range in.Edits {
		set, ok := change["set"].(map[string]any)
		if ok && set["prompt"] != nil {
			return nil, tool.Error(fmt.Sprintf("edits[%d]: set system_prompt or messages to the text of the prompt instead of prompt.", i))
		}
		if err := decodeStrictly(change, &n.Edits[i]); err != nil {
			return nil, tool.Error(fmt.Sprintf("edits[%d] is not valid: %s. Example: %s.", i, err, editExample(change)))
		}
	}
	return n, nil
}

// addPlan adds what a replay would do. Steps that are copied are only counted.
func (t *tools) addPlan(out *editOutput, p *replays.Plan) {
	out.Executor, out.Controls, out.Treatments = string(p.Executor), p.Controls, p.Treatments
	out.Calls, out.AttainableP, out.Decided = p.Estimate.Calls, tool.Rounded(p.AttainableP()), safeQuotes(p.Decided())
	for _, warning := range p.Warnings {
		out.Warnings = append(out.Warnings, safeQuotes(warning.Detail+" "+warning.Remedy))
	}
	out.CostLowUSD, out.CostHighUSD = dollars(p.Estimate.Low), dollars(p.Estimate.High)
	out.Counts = map[string]int{}
	for fate, steps := range p.Steps.Counts {
		out.Counts[string(fate)] = steps
	}
	for _, missing := range p.Steps.Missing {
		out.Missing = append(out.Missing, missing.Detail+" "+missing.Remedy)
	}
	for i := range p.Steps.Steps {
		step := &p.Steps.Steps[i]
		if step.Fate == engine.FateCopied && len(step.Edits) == 0 || step.Kind == recorded.KindFrame {
			continue
		}
		out.Steps = append(out.Steps, plannedStep{
			N: step.Recorded + 1, SpanID: step.SpanID, Name: agentview.SafeName(step.Name), Action: string(step.Fate), Edited: len(step.Edits) > 0,
			OnMiss: string(step.OnMiss), Why: step.Note,
		})
	}
	out.ToStart = t.toStart()
}

func (t *tools) toStart() string {
	return "Call " + t.Name(tool.ReplayEdit) + " with the same arguments, but without plan."
}

func dollars(amount *providers.Money) *float64 {
	if amount == nil {
		return nil
	}
	return new(amount.Dollars())
}

// addCreated adds a replay that was queued, and returns what its edits change.
func (t *tools) addCreated(out *editOutput, r *replays.Replay) ([]string, error) {
	config, err := r.ReadConfig()
	if err != nil {
		return nil, err
	}
	estimate, err := r.ReadEstimate()
	if err != nil {
		return nil, err
	}
	out.ReplayID, out.Status, out.Executor = r.ID.String(), string(r.Status), string(config.Executor)
	out.Controls, out.Treatments, out.Calls = r.Controls, r.Treatments, estimate.Calls
	out.CostLowUSD, out.CostHighUSD = dollars(estimate.Low), dollars(estimate.High)
	out.Next = []string{t.Call(tool.ReplayDiff, diffCall{ReplayID: r.ID.String(), WaitSeconds: defaultWait})}
	return config.Texts, nil
}

const (
	// defaultWait and maxWait are how long a diff waits for its replay, in seconds.
	defaultWait = 30
	maxWait     = 40
	waitPoll    = 250 * time.Millisecond
)
