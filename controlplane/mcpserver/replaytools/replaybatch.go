package replaytools

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/agentview"
	"github.com/looptrace/looptrace/controlplane/mcpserver/tool"
	"github.com/looptrace/looptrace/controlplane/replays/batches"
)

// What a batch has whose call does not say.
const (
	defaultBatchAttempts = 2 // of each role and run
	batchRuns            = 50
	maxBatchRuns         = 200
	maxBatchAttempts     = 20
	maxFilter            = 4000
)

// plannedBatch is what a batch would replay.
type plannedBatch struct {
	// MatchedRuns is how many runs the filter finds. Of more than ChosenRuns, these are a random sample.
	MatchedRuns uint64 `json:"matched_runs"`
	ChosenRuns  int    `json:"chosen_runs"`
	GoodRuns    int    `json:"good_runs"`
	// NotReplayable are those of both that cannot be replayed, by the reason.
	NotReplayable []notReplayable `json:"not_replayable,omitempty"`
	// DurationMS is about how long the calls take.
	DurationMS *float64 `json:"duration_ms,omitempty"`
	// Detectable is the difference of the shares of attempts that end well which is found in 80% of cases.
	Detectable *float64 `json:"detectable,omitempty"`
}

type notReplayable struct {
	Code string `json:"code"`
	Runs int    `json:"runs"`
	// RunID and Why are of the first of them.
	RunID string `json:"run_id"`
	Why   string `json:"why"`
}

// ofBatch reports whether several runs are replayed.
func (in *editInput) ofBatch() bool { return in.RunFilter != "" || len(in.RunIDs) > 0 }

// editBatch plans or queues a batch.
func (t *tools) editBatch(ctx context.Context, grant access.Grant, in *editInput) ([]byte, error) {
	project, err := tool.OneProject(grant)
	if err != nil {
		return nil, err
	}
	wanted, err := in.wantedBatch(project)
	if err != nil {
		return nil, err
	}
	if in.RunFilter != "" {
		if wanted.Filter, err = t.readFilter(project, in.RunFilter); err != nil {
			return nil, t.editRemedy(err, in)
		}
	}
	out := editOutput{Notice: agentview.Notice, TokenBudget: in.TokenBudget, Status: "planned", Next: []string{}}
	var texts []string
	if in.Plan {
		p, err := t.batches.Plan(ctx, grant, wanted)
		if err != nil {
			return nil, t.editRemedy(err, in)
		}
		t.addBatchPlan(&out, wanted, p)
		texts = p.Texts
	} else {
		created, err := t.batches.Create(ctx, grant, wanted)
		if err != nil {
			return nil, t.editRemedy(err, in)
		}
		if texts, err = t.addBatch(&out, &created); err != nil {
			return nil, err
		}
	}
	out.Edits = t.Fence(project, "edit", editTokens, texts...)
	return out.fit()
}

// wantedBatch reads the arguments, but for the filter.
func (in *editInput) wantedBatch(project uuid.UUID) (*batches.Wanted, error) {
	n := &batches.Wanted{Project: project, FilterText: in.RunFilter, MaxRuns: batchRuns, GoodRuns: in.GoodRuns}
	for _, id := range in.RunIDs {
		run, err := uuid.Parse(id)
		if err != nil {
			return nil, tool.Error("run_ids must be UUIDs.") // the schema only allows ids
		}
		if !slices.Contains(n.RunIDs, run) {
			n.RunIDs = append(n.RunIDs, run)
		}
	}
	common, err := in.wanted(defaultBatchAttempts, defaultBatchAttempts)
	if err != nil {
		return nil, err
	}
	if max(common.Controls, common.Treatments) > maxBatchAttempts {
		return nil, tool.Error(fmt.Sprintf("At most %d controls and treatments of each run can be made.", maxBatchAttempts))
	}
	n.Replay = *common
	return n, nil
}

// addBatchPlan adds what a batch would do.
func (t *tools) addBatchPlan(out *editOutput, n *batches.Wanted, p *batches.Plan) {
	out.Executor, out.Controls, out.Treatments = string(p.Executor()), n.Replay.Controls, n.Replay.Treatments
	out.Calls, out.AttainableP = p.Estimate.Calls, tool.Rounded(p.AttainableP)
	out.CostLowUSD, out.CostHighUSD = dollars(p.Estimate.Low), dollars(p.Estimate.High)
	for _, warning := range p.Warnings {
		out.Warnings = append(out.Warnings, safeQuotes(warning.Detail+" "+warning.Remedy))
	}
	b := &plannedBatch{MatchedRuns: p.Matched, Detectable: tool.Rounded(p.Detectable)}
	if p.Duration != nil {
		b.DurationMS = new(float64(p.Duration.Milliseconds()))
	}
	for i := range p.Runs {
		run := &p.Runs[i]
		if run.Part == batches.Good {
			b.GoodRuns++
		} else {
			b.ChosenRuns++
		}
		if run.Code == "" {
			continue
		}
		at := slices.IndexFunc(b.NotReplayable, func(known notReplayable) bool { return known.Code == run.Code })
		if at < 0 {
			at = len(b.NotReplayable)
			b.NotReplayable = append(b.NotReplayable, notReplayable{Code: run.Code, RunID: run.RunID.String(), Why: withoutBody(safeQuotes(run.Detail))})
		}
		b.NotReplayable[at].Runs++
	}
	out.Batch = b
	out.ToStart = t.toStart()
}

// addBatch adds a batch that was queued, and returns what its edits change.
func (t *tools) addBatch(out *editOutput, b *batches.Batch) ([]string, error) {
	config, err := b.ReadConfig()
	if err != nil {
		return nil, err
	}
	out.BatchID, out.Status, out.Executor = b.ID.String(), string(b.Status), string(config.Executor)
	out.Controls, out.Treatments, out.Calls = b.Controls, b.Treatments, config.Estimate.Calls
	out.CostLowUSD, out.CostHighUSD = dollars(config.Estimate.Low), dollars(config.Estimate.High)
	out.Batch = &plannedBatch{MatchedRuns: config.Matched, ChosenRuns: b.Chosen, GoodRuns: b.Good}
	out.Next = []string{t.Call(tool.ReplayDiff, diffCall{BatchID: b.ID.String(), WaitSeconds: defaultWait})}
	return config.Texts, nil
}
