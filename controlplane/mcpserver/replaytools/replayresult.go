package replaytools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/agentview"
	"github.com/looptrace/looptrace/controlplane/mcpserver/tool"
	"github.com/looptrace/looptrace/controlplane/replays"
	"github.com/looptrace/looptrace/controlplane/replays/engine"
	"github.com/looptrace/looptrace/internal/postgres"
)

type diffInput struct {
	ReplayID    string `json:"replay_id,omitempty"    jsonschema:"Or batch_id."`
	BatchID     string `json:"batch_id,omitempty"`
	Attempt     int    `json:"attempt,omitempty"      jsonschema:"Number of the attempt to compare with the recorded run. Default: the first with the edits."`
	WaitSeconds int    `json:"wait_seconds,omitempty" jsonschema:"How long to wait for the end."`
	tool.Budget
}

func (in diffInput) Project() string { return "" }

type diffCall struct {
	ReplayID    string `json:"replay_id,omitempty"`
	BatchID     string `json:"batch_id,omitempty"`
	Attempt     int    `json:"attempt,omitempty"`
	WaitSeconds int    `json:"wait_seconds,omitempty"`
}

// diffOutput is what came of a replay: the verdict first.
type diffOutput struct {
	Notice      string `json:"notice"`
	TokenBudget int    `json:"token_budget"`
	TokensUsed  int    `json:"tokens_used"`
	ReplayID    string `json:"replay_id,omitempty"`
	RunID       string `json:"run_id,omitempty"`
	BatchID     string `json:"batch_id,omitempty"`
	Status      string `json:"status"`
	StopReason  string `json:"stop_reason,omitempty"`
	// Error and Edits stand between marks.
	Error string `json:"error,omitempty"`
	Edits string `json:"edits,omitempty"`
	// Done of Total attempts have ended, Failed of them with an error.
	Done    int     `json:"done"`
	Total   int     `json:"total"`
	Failed  int     `json:"failed,omitempty"`
	CostUSD float64 `json:"cost_usd"`
	// Verdict says whether the edits had an effect, over all attempts. One diff proves nothing.
	Verdict  string    `json:"verdict,omitempty"`
	Sentence string    `json:"sentence,omitempty"`
	Reasons  []string  `json:"reasons,omitempty"`
	Evidence *evidence `json:"evidence,omitempty"`
	// Advice is what to do after the result of a batch, and Batch the result.
	Advice   string         `json:"advice,omitempty"`
	Batch    *shownBatch    `json:"batch,omitempty"`
	Attempts []shownAttempt `json:"attempts,omitempty"`
	// Diff compares one attempt with the recorded run.
	Diff *shownDiff `json:"diff,omitempty"`
	Next []string   `json:"next"`
}

type shownAttempt struct {
	Number  int      `json:"number"`
	Role    string   `json:"role"`
	Status  string   `json:"status"`
	Stop    string   `json:"stop,omitempty"`
	Error   string   `json:"error,omitempty"`
	Remedy  string   `json:"remedy,omitempty"`
	Outcome *float64 `json:"outcome,omitempty"`
	RunID   string   `json:"run_id,omitempty"`
}

func (t *tools) addReplayDiff(server *mcp.Server) error {
	input, err := tool.InputSchema[diffInput](map[string]func(*jsonschema.Schema){
		"replay_id": tool.Pattern(tool.UUIDPattern),
		"batch_id":  tool.Pattern(tool.UUIDPattern),
		"attempt":   func(s *jsonschema.Schema) { s.Minimum, s.Maximum = new(1.0), new(float64(2*maxAttempts)) },
		"wait_seconds": func(s *jsonschema.Schema) {
			s.Minimum, s.Maximum, s.Default = new(0.0), new(float64(maxWait)), []byte("0")
		},
	})
	if err != nil {
		return err
	}
	return tool.Add[diffInput, diffOutput](t.Shared, server, "diffReplay", mcp.Tool{
		Name: tool.ReplayDiff, Title: "See what an edit did",
		Description: "Says whether the edits of a replay or a batch had an effect, with the evidence, and how one attempt differs from the recorded run. While it " +
			"runs, says how far it is. The verdict can be that it cannot tell.",
	}, input, t.diff)
}

// diff waits for a replay, and shows what came of it.
func (t *tools) diff(ctx context.Context, grant access.Grant, in diffInput) ([]byte, error) {
	in.SetDefaults()
	if (in.ReplayID == "") == (in.BatchID == "") {
		return nil, tool.Error("Give one of replay_id and batch_id.")
	}
	if in.BatchID != "" {
		return t.diffBatch(ctx, grant, &in)
	}
	id, err := uuid.Parse(in.ReplayID)
	if err != nil {
		return nil, tool.Error("replay_id must be a UUID.") // the schema only allows ids
	}
	r, err := waitFor(ctx, time.Duration(in.WaitSeconds)*time.Second, func() (replays.Replay, error) { return t.replays.Get(ctx, grant, id) },
		func(r *replays.Replay) bool { return r.Verdict != nil || r.Status == replays.StatusFailed })
	if errors.Is(err, postgres.ErrNotFound) {
		return nil, tool.Error("There is no such replay. Use the replay_id that " + t.Name(tool.ReplayEdit) + " returned.")
	}
	if err != nil {
		return nil, err
	}
	attempts, err := t.replays.Attempts(ctx, &r)
	if err != nil {
		return nil, err
	}
	out, err := t.diffOf(&r, attempts)
	if err != nil {
		return nil, err
	}
	out.TokenBudget = in.TokenBudget
	if shown := shownOf(attempts, in.Attempt); shown != nil {
		if out.Diff, err = t.attemptDiff(ctx, grant, &r, shown); err != nil {
			return nil, err
		}
	} else if in.Attempt != 0 {
		return nil, tool.Error(fmt.Sprintf("Attempt %d has not ended. Omit attempt, or wait with wait_seconds.", in.Attempt))
	}
	return out.fit()
}

// fit leaves out what the budget has no room for: first steps of the diff, then attempts, then the evidence.
func (out *diffOutput) fit() ([]byte, error) {
	for {
		out.TokensUsed = 0
		body := tool.EncodeCounted(out, &out.TokensUsed)
		if out.TokensUsed <= out.TokenBudget {
			return body, nil
		}
		switch {
		case out.Diff != nil && len(out.Diff.Steps) > 0:
			keep := max(0, min(len(out.Diff.Steps)-1, len(out.Diff.Steps)*out.TokenBudget/out.TokensUsed))
			out.Diff.LeftOut += len(out.Diff.Steps) - keep
			out.Diff.Steps = out.Diff.Steps[:keep]
		case len(out.Attempts) > 0:
			out.Attempts = nil
		case out.Batch != nil && out.Batch.trim():
		case out.Evidence != nil:
			out.Evidence = nil
		case out.Edits != "":
			out.Edits = ""
		case len(out.Reasons) > 0:
			out.Reasons = out.Reasons[:len(out.Reasons)-1]
		default:
			return nil, tool.Error("token_budget is too small. Call again with a larger one.")
		}
	}
}

// waitFor reads something until it has ended, or some time has passed.
func waitFor[T any](ctx context.Context, wait time.Duration, read func() (T, error), ended func(*T) bool) (T, error) {
	for until := time.Now().Add(wait); ; {
		found, err := read()
		if err != nil || ended(&found) || time.Now().After(until) {
			return found, err
		}
		select {
		case <-time.After(waitPoll):
		case <-ctx.Done():
			return found, context.Cause(ctx)
		}
	}
}

// diffOf returns what is known of a replay without its diff.
func (t *tools) diffOf(r *replays.Replay, attempts []replays.Attempt) (*diffOutput, error) {
	config, err := r.ReadConfig()
	if err != nil {
		return nil, err
	}
	out := &diffOutput{
		Notice: agentview.Notice, ReplayID: r.ID.String(), RunID: r.RunID.String(), Status: string(r.Status), Done: r.Done, Total: r.Total, Failed: r.Failed,
		Next: []string{},
	}
	if r.StopReason != nil {
		out.StopReason = *r.StopReason
	}
	out.Edits = t.Fence(r.RunID, "edit", editTokens, config.Texts...)
	if r.ErrorDetail != nil {
		out.Error = t.Fence(r.RunID, "error", errorTokens, *r.ErrorDetail)
	}
	for i := range attempts {
		shown, cost, err := t.shownAttemptOf(&attempts[i])
		if err != nil {
			return nil, err
		}
		out.Attempts = append(out.Attempts, shown)
		out.CostUSD += cost
	}
	if r.Verdict == nil {
		if r.Status == replays.StatusQueued || r.Status == replays.StatusRunning || r.Status == replays.StatusSucceeded {
			out.Next = append(out.Next, t.Call(tool.ReplayDiff, diffCall{ReplayID: r.ID.String(), WaitSeconds: maxWait}))
		}
		return out, nil
	}
	verdict, err := readVerdict([]byte(*r.Verdict))
	if err != nil {
		return nil, fmt.Errorf("replay %s: %w", r.ID, err)
	}
	out.Verdict, out.Sentence, out.Evidence = verdict.Verdict, safeQuotes(verdict.Sentence), verdict.evidence()
	for _, reason := range verdict.Reasons {
		out.Reasons = append(out.Reasons, safeQuotes(reason.Text))
	}
	if verdict.First != nil && verdict.First.ID != "" {
		out.Next = append(out.Next, t.CallRead(r.RunID, "", verdict.First.ID))
	}
	if i := slices.IndexFunc(attempts, func(a replays.Attempt) bool { return a.Role == replays.Treatment && a.Result != nil }); i >= 0 {
		out.Next = append(out.Next, t.CallRead(attempts[i].RunID, "", ""))
	}
	return out, nil
}

// shownAttemptOf returns what is shown of an attempt, and the known cost of its calls.
func (t *tools) shownAttemptOf(a *replays.Attempt) (shown shownAttempt, cost float64, err error) {
	shown = shownAttempt{Number: a.Number, Role: string(a.Role), Status: string(a.Status)}
	if a.StopReason != nil && *a.StopReason != engine.StopCompleted {
		shown.Stop = string(*a.StopReason)
	}
	if a.Detail != nil {
		shown.Error = t.Fence(a.RunID, "error", errorTokens, *a.Detail)
	}
	if a.Remedy != nil {
		shown.Remedy = *a.Remedy
	}
	result, err := a.ReadResult()
	if err != nil || result == nil {
		return shown, 0, err
	}
	shown.Outcome, shown.RunID = result.Outcome, a.RunID.String()
	if !a.Reused {
		cost = result.Spent.CostUSD
	}
	return shown, cost, nil
}

// shownOf returns the attempt with a number, or else the first treatment that ended, or else the first control. It is nil if there is none.
func shownOf(attempts []replays.Attempt, number int) (shown *replays.Attempt) {
	for i := range attempts {
		a := &attempts[i]
		if a.Result == nil || number != 0 && a.Number != number {
			continue
		}
		if shown == nil || shown.Role == replays.Control && a.Role == replays.Treatment {
			shown = a
		}
	}
	return shown
}
