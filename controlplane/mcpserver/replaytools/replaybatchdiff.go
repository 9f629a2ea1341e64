package replaytools

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/agentview"
	"github.com/looptrace/looptrace/controlplane/mcpserver/tool"
	"github.com/looptrace/looptrace/controlplane/replays"
	"github.com/looptrace/looptrace/controlplane/replays/batches"
	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/postgres"
)

// shownBatch is what a batch shows: whether the edits repair the chosen runs, and what they do to good ones.
type shownBatch struct {
	Chosen shownPart  `json:"chosen"`
	Good   *shownPart `json:"good,omitempty"`
	// Runs are some of each outcome, those first that say most.
	Runs []shownRun `json:"runs,omitempty"`
}

// shownPart is what the runs of a part show. Edited and Unedited are the attempts whose end is known, and the sum of their outcomes.
type shownPart struct {
	Verdict    string     `json:"verdict"`
	Edited     shownEnds  `json:"edited"`
	Unedited   shownEnds  `json:"unedited"`
	Difference *float64   `json:"difference,omitempty"`
	CI         []*float64 `json:"ci,omitempty"`
	// Runs counts them by what became of them.
	Runs     map[string]int `json:"runs"`
	Evidence *evidence      `json:"evidence,omitempty"`
}

type shownEnds struct {
	Attempts int     `json:"attempts"`
	Sum      float64 `json:"sum"`
}

type shownRun struct {
	RunID    string `json:"run_id"`
	Outcome  string `json:"outcome"`
	ReplayID string `json:"replay_id,omitempty"`
}

// shownOutcomes are the outcomes in the order in which runs are shown, and runsOfOutcome is how many are shown of each.
var shownOutcomes = []batches.RunOutcome{
	batches.Broken, batches.StillFailing, batches.Mixed, batches.FailsUnedited, batches.RecoversUnedited, batches.Repaired, batches.Kept,
	batches.OutcomeUnknown, batches.NotReplayable,
}

const runsOfOutcome = 2

// diffBatch waits for a batch, and shows what came of it.
func (t *tools) diffBatch(ctx context.Context, grant access.Grant, in *diffInput) ([]byte, error) {
	id, err := uuid.Parse(in.BatchID)
	if err != nil {
		return nil, tool.Error("batch_id must be a UUID.") // the schema only allows ids
	}
	b, err := waitFor(ctx, time.Duration(in.WaitSeconds)*time.Second, func() (batches.Batch, error) { return t.batches.Get(ctx, grant, id) },
		func(b *batches.Batch) bool { return b.Result != nil || b.Status == replays.StatusFailed })
	if errors.Is(err, postgres.ErrNotFound) {
		return nil, tool.Error("There is no such batch. Use the batch_id that " + t.Name(tool.ReplayEdit) + " returned.")
	}
	if err != nil {
		return nil, err
	}
	out, err := t.diffOfBatch(ctx, &b)
	if err != nil {
		return nil, err
	}
	out.TokenBudget = in.TokenBudget
	return out.fit()
}

// diffOfBatch returns what is known of a batch.
func (t *tools) diffOfBatch(ctx context.Context, b *batches.Batch) (*diffOutput, error) {
	config, err := b.ReadConfig()
	if err != nil {
		return nil, err
	}
	cost, err := t.batches.CostOf(ctx, b)
	if err != nil {
		return nil, err
	}
	out := &diffOutput{
		Notice: agentview.Notice, BatchID: b.ID.String(), Status: string(b.Status), Done: b.Done, Failed: b.Failed, CostUSD: cost.Cost.Dollars(), Next: []string{},
		Total: b.Total + (b.Chosen+b.Good-b.Planned)*(b.Controls+b.Treatments),
	}
	if b.StopReason != nil {
		out.StopReason = *b.StopReason
	}
	out.Edits = t.Fence(b.ID, "edit", editTokens, config.Texts...)
	if b.ErrorDetail != nil {
		out.Error = t.Fence(b.ID, "error", errorTokens, *b.ErrorDetail)
	}
	result, err := b.ReadResult()
	if err != nil {
		return nil, err
	}
	if result == nil {
		if b.Status != replays.StatusFailed {
			out.Next = append(out.Next, t.Call(tool.ReplayDiff, diffCall{BatchID: b.ID.String(), WaitSeconds: maxWait}))
		}
		return out, nil
	}
	out.Verdict, out.Sentence, out.Advice = string(result.Chosen.Verdict), safeQuotes(result.Sentence), adviceOn(result, config.Graded())
	out.Batch = &shownBatch{}
	if out.Batch.Chosen, err = shownPartOf(&result.Chosen); err != nil {
		return nil, err
	}
	if result.Good != nil {
		good, err := shownPartOf(result.Good)
		if err != nil {
			return nil, err
		}
		out.Batch.Good = &good
	}
	return out, t.addRuns(ctx, out, b, result)
}

// addRuns adds runs of each outcome, and the call that shows the replay of the first.
func (t *tools) addRuns(ctx context.Context, out *diffOutput, b *batches.Batch, result *batches.Result) error {
	for _, outcome := range shownOutcomes {
		if result.Chosen.Runs[outcome] == 0 && (result.Good == nil || result.Good.Runs[outcome] == 0) {
			continue
		}
		list, _, err := t.batches.RunsOf(ctx, b, outcome, postgres.Page{Limit: runsOfOutcome})
		if err != nil {
			return err
		}
		for i := range list {
			shown := shownRun{RunID: list[i].RunID.String(), Outcome: string(outcome)}
			if list[i].ReplayID != nil {
				shown.ReplayID = list[i].ReplayID.String()
				if len(out.Next) == 0 {
					out.Next = append(out.Next, t.Call(tool.ReplayDiff, diffCall{ReplayID: shown.ReplayID}))
				}
			}
			out.Batch.Runs = append(out.Batch.Runs, shown)
		}
	}
	return nil
}

func shownPartOf(p *batches.PartResult) (shownPart, error) {
	shown := shownPart{
		Verdict: string(p.Verdict), Edited: shownEnds(p.Edited), Unedited: shownEnds(p.Unedited), Difference: tool.Rounded(p.Difference), Runs: map[string]int{},
	}
	if p.CI != nil {
		shown.CI = []*float64{tool.Rounded(&p.CI[0]), tool.Rounded(&p.CI[1])}
	}
	for outcome, runs := range p.Runs {
		shown.Runs[string(outcome)] = runs
	}
	effect, err := readVerdict(jsontext.MustEncode(p.Effect))
	if err == nil {
		shown.Evidence = effect.evidence()
	}
	return shown, err
}

// adviceOn says what to do after a result.
func adviceOn(r *batches.Result, graded bool) string {
	switch r.Chosen.Verdict {
	case batches.Unknown:
		if !graded {
			return "Nobody knows which answers are good. Call it again with outcome."
		}
		return "See in the runs why their attempts did not come to an answer."
	case batches.CannotTell:
		return "This is not the same as no effect. Test more runs, or more controls and treatments of each."
	case batches.Worse:
		return "This is not the cause. Test another one."
	case batches.Better:
	}
	switch {
	case r.Good == nil:
		return "What it breaks is unknown. Test it again with good_runs."
	case r.Good.Verdict == batches.Worse:
		return "See in the runs that it broke what is to be changed in the edit."
	case r.Good.Verdict == batches.Unknown:
		return "See in the good runs why their attempts did not come to an answer."
	case r.Chosen.Runs[batches.StillFailing]+r.Chosen.Runs[batches.Mixed] > 0:
		return "See in the runs that still fail what else is wrong."
	}
	return "To bound what it breaks more closely, test it with more good_runs."
}

// trim leaves out what says least, and reports whether there was something left: first runs, then evidence.
func (b *shownBatch) trim() bool {
	switch {
	case len(b.Runs) > 0:
		b.Runs = b.Runs[:len(b.Runs)-1]
	case b.Good != nil && b.Good.Evidence != nil:
		b.Good.Evidence = nil
	case b.Chosen.Evidence != nil:
		b.Chosen.Evidence = nil
	default:
		return false
	}
	return true
}
