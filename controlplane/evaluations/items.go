package evaluations

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/optional"
	"github.com/looptrace/looptrace/internal/postgres"
)

// Item is an item of an evaluation with its outputs.
type Item struct {
	Number  int32
	ItemID  uuid.UUID
	Key     *string
	Status  ItemStatus
	Reason  *string
	Metrics map[string]ItemMetric
	// Item is that of the dataset.
	Item    *datasets.Item
	Outputs []Output
	Votes   []Vote
	Labels  []Label
}

// Output is an output of a side. Output and Message are JSON.
type Output struct {
	Number           int32
	Side             int
	Repeat           int
	Status           string
	ErrorCode        *string
	ErrorDetail      *string
	Output           *string
	Message          *string
	RunID            *uuid.UUID
	Model            *string
	Fingerprint      *string
	FinishReason     *string
	DurationMS       *float64
	InputTokens      *int64
	OutputTokens     *int64
	CacheReadTokens  *int64
	CacheWriteTokens *int64
	ReasoningTokens  *int64
	CostNanousd      *int64
	Requests         int
	// Scores is a list of [Score] as JSON.
	Scores    string
	CreatedAt time.Time
	// OutputCut is whether Output is only its beginning, which is no JSON.
	OutputCut bool
}

// ReadScores returns what graders found.
func (o *Output) ReadScores() ([]Score, error) { return ReadScores(o.Scores) }

// ReadScores reads the scores of an output as they are stored.
func ReadScores(text string) ([]Score, error) {
	var scores []Score
	if err := json.Unmarshal([]byte(text), &scores); err != nil {
		return nil, fmt.Errorf("read the scores of an output: %w", err)
	}
	return scores, nil
}

// ItemsQuery selects items of an evaluation. Zero fields select all.
type ItemsQuery struct {
	Item   *uuid.UUID
	Status ItemStatus
	// Split is the name of a panel: only items on which its judges split.
	Split string
	// Drawn is whether they come in the order in which people label them: see drawOrder.
	Drawn   bool
	Outcome Outcome
	// Metric is that of Outcome. Empty is the primary one.
	Metric string
	// Numbers selects items by their numbers. Nil selects all.
	Numbers []int32
	// After selects items with larger numbers.
	After int32
	// Longest is how many characters of the JSON of each output are read, 0 for all. The messages are not read then.
	Longest int
}

// Items returns a page of the items of an evaluation, in the order in which they run.
func (s *Service) Items(ctx context.Context, e *Evaluation, q ItemsQuery, page postgres.Page) ([]Item, bool, error) {
	metric := q.Metric
	if metric == "" {
		metric = optional.Value(e.PrimaryMetric)
	}
	var drawnOf *uuid.UUID
	if q.Drawn {
		drawnOf = &e.DatasetID
	}
	found, more, err := postgres.List[struct {
		Number  int32
		ItemID  uuid.UUID
		Ordinal int64
		Key     *string
		Status  ItemStatus
		Reason  *string
		Metrics *string
	}](ctx, s.db, "list items", page, pgx.NamedArgs{"id": e.ID, "item": q.Item, "status": q.Status, "outcome": q.Outcome, "metric": metric, "after": q.After, "numbers": q.Numbers, "split": q.Split, "drawn_of": drawnOf})
	if err != nil || len(found) == 0 {
		return nil, false, err
	}
	items, byNumber, ordinals, numbers := make([]Item, len(found)), map[int32]*Item{}, make([]int64, len(found)), make([]int32, len(found))
	for i, f := range found {
		items[i] = Item{Number: f.Number, ItemID: f.ItemID, Key: f.Key, Status: f.Status, Reason: f.Reason}
		if f.Metrics != nil {
			if err := json.Unmarshal([]byte(*f.Metrics), &items[i].Metrics); err != nil {
				return nil, false, fmt.Errorf("read the metrics of an item: %w", err)
			}
		}
		byNumber[f.Number], ordinals[i], numbers[i] = &items[i], f.Ordinal, f.Number
	}
	contents, err := s.datasets.ItemsAt(ctx, e.DatasetID, e.Revision, ordinals)
	if err != nil {
		return nil, false, err //nolint:wrapcheck // it names the statement
	}
	byID := map[uuid.UUID]*datasets.Item{}
	for i := range contents {
		byID[contents[i].ItemID] = &contents[i]
	}
	for i := range items {
		items[i].Item = byID[items[i].ItemID]
	}
	outputs, err := postgres.Many[Output](ctx, s.db, "list outputs", pgx.NamedArgs{"id": e.ID, "numbers": numbers, "longest": q.Longest})
	if err != nil {
		return nil, false, err
	}
	for _, output := range outputs {
		byNumber[output.Number].Outputs = append(byNumber[output.Number].Outputs, output)
	}
	if err := s.addVotes(ctx, e, numbers, byNumber); err != nil {
		return nil, false, err
	}
	return items, more, s.addItemLabels(ctx, e, numbers, byNumber)
}

// exportOutputs is about how many outputs an export reads at once.
const exportOutputs = 200

// Export calls each with all items of an evaluation.
func (s *Service) Export(ctx context.Context, e *Evaluation, each func(*Item) error) error {
	var q ItemsQuery
	page := max(1, exportOutputs*e.ItemCount/e.OutputsTotal) // an item may have hundreds of outputs
	for {
		items, more, err := s.Items(ctx, e, q, postgres.Page{Limit: int(page)})
		if err != nil {
			return err
		}
		for i := range items {
			if err := each(&items[i]); err != nil {
				return err
			}
		}
		if !more {
			return nil
		}
		q.After = items[len(items)-1].Number
	}
}

// ReadAccounting returns the counts of an evaluation. Before it is summarized, they have no reasons.
func (e *Evaluation) ReadAccounting() (Accounting, error) {
	if e.Accounting != nil {
		var counted Accounting
		if err := json.Unmarshal([]byte(*e.Accounting), &counted); err != nil {
			return counted, fmt.Errorf("read the accounting of evaluation %s: %w", e.ID, err)
		}
		return counted, nil
	}
	var items map[ItemStatus]int64
	if e.ItemCounts != nil {
		if err := json.Unmarshal([]byte(*e.ItemCounts), &items); err != nil {
			return Accounting{}, fmt.Errorf("read the counts of evaluation %s: %w", e.ID, err)
		}
	}
	return Accounting{
		Items: e.ItemCount, Scored: items[ItemScored], TargetFailed: items[ItemTargetFailed], JudgeFailed: items[ItemJudgeFailed],
		Skipped: items[ItemSkipped], Pending: items[ItemPending], Reasons: []ReasonCount{},
		Outputs: e.OutputsDone - e.OutputsFailed - e.OutputsSkipped, OutputsFailed: e.OutputsFailed, OutputsSkipped: e.OutputsSkipped,
		OutputsPending: e.OutputsTotal - e.OutputsDone,
	}, nil
}

// ReadEstimate returns the newest estimate.
func (e *Evaluation) ReadEstimate() (Estimate, error) {
	var estimate Estimate
	if err := json.Unmarshal([]byte(e.Estimate), &estimate); err != nil {
		return estimate, fmt.Errorf("read the estimate of evaluation %s: %w", e.ID, err)
	}
	return estimate, nil
}

// CompleteItems decides what became of the items with these numbers by the outputs that are there. Each has a number of outputs; judged is
// whether judges have yet to score them.
func (s *Service) CompleteItems(ctx context.Context, tx pgx.Tx, e *Evaluation, numbers []int32, each int, judged bool) error {
	_, err := s.db.On(tx).Exec(ctx, "complete items", pgx.NamedArgs{"id": e.ID, "numbers": numbers, "each": each, "primary": e.PrimaryMetric, "judged": judged})
	return err
}
