package evaluations

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/internal/postgres"
)

// ItemStatus is what became of an item.
type ItemStatus string

// The statuses of items.
const (
	ItemPending      ItemStatus = "pending"
	ItemScored       ItemStatus = "scored"
	ItemTargetFailed ItemStatus = "target_failed"
	ItemJudgeFailed  ItemStatus = "judge_failed"
	ItemSkipped      ItemStatus = "skipped"
)

// Outcome is what became of an item by one metric.
type Outcome string

// The outcomes.
const (
	OutcomeImproved  Outcome = "improved"
	OutcomeRegressed Outcome = "regressed"
	OutcomeUnchanged Outcome = "unchanged"
	OutcomeFailed    Outcome = "failed"
)

// Accounting counts items and outputs. Items is the sum of the five counts after it.
type Accounting struct {
	Items        int64         `json:"items"`
	Scored       int64         `json:"scored"`
	TargetFailed int64         `json:"target_failed"`
	JudgeFailed  int64         `json:"judge_failed"`
	Skipped      int64         `json:"skipped"`
	Pending      int64         `json:"pending"`
	Reasons      []ReasonCount `json:"reasons"`
	// OtherReasons counts those that are not listed.
	OtherReasons int64 `json:"other_reasons"`
	// Outputs are those that are there.
	Outputs        int64 `json:"outputs"`
	OutputsFailed  int64 `json:"outputs_failed"`
	OutputsSkipped int64 `json:"outputs_skipped"`
	OutputsPending int64 `json:"outputs_pending"`
}

// ReasonCount counts outputs that failed or were skipped, or whose grader failed, for a reason.
type ReasonCount struct {
	// Side is nil for what concerns both.
	Side  *string `json:"side"`
	Code  string  `json:"code"`
	Count int64   `json:"count"`
}

// ItemMetric is a metric of an item. The means are over the repeats, nil without any.
type ItemMetric struct {
	A       *float64 `json:"a"`
	B       *float64 `json:"b"`
	Outcome Outcome  `json:"outcome"`
}

// results are what the outputs tell.
type results struct {
	accounting Accounting
	summary    Summary
	// metrics are the scores of graders, then those that came from outside, then the operational ones. places are their places in values.
	metrics []metric
	places  map[string]int
	// valued has the metrics of which an output has a value.
	valued map[string]bool
	items  []itemResult
	// runsUnknown counts results whose run is not known.
	runsUnknown int64
}

// itemResult is an item, whose number is its place from 1.
type itemResult struct {
	id      uuid.UUID
	hash    []byte
	status  ItemStatus
	metrics map[string]ItemMetric
	// values are the values of each metric by side, in the order of repeats.
	values [2][][]float64
	ok     [2]int
	failed [2]int
	// absent counts the outputs that an eval-run does not have, or for other contents. They are no failures.
	absent [2]int
	// passes and judged count outputs of side a by metric: those that passed, of those that a grader passed or failed.
	passes, judged map[string]int
	// graderErrors counts outputs of side a by the grader that failed.
	graderErrors map[string]int
}

// valuesOf returns the values of a metric on a side.
func (i *itemResult) valuesOf(side, place int) []float64 {
	if place >= len(i.values[side]) {
		return nil
	}
	return i.values[side][place]
}

// resultRow is what is read of an output.
type resultRow struct {
	Number       int32
	Side         int
	Repeat       int
	Status       string
	ErrorCode    *string
	Scores       string
	CostNanousd  *int64
	DurationMS   *float64
	OutputTokens *int64
	Model        *string
	Fingerprint  *string
	// RunLookup is the [lookup] of a result from outside, nil if there was nothing to look for.
	RunLookup *lookup
}

// maxMetrics is how many metrics an evaluation has. Scores from outside with further names are counted, and not used.
const maxMetrics = 200

// maxListed is how many models and reasons are listed.
const maxListed = 50

// read reads the results of the items of an evaluation up to a number, and counts.
func (s *Service) read(ctx context.Context, e *Evaluation, config *Config, last int32) (*results, error) {
	r := &results{items: make([]itemResult, last), places: map[string]int{}, valued: map[string]bool{}}
	for _, name := range e.GraderNames() {
		r.places[name] = len(r.places)
	}
	for i := range operational {
		r.places[operational[i].name] = len(r.places)
	}
	reasons := map[ReasonCount]int64{} // by side and code; Side points into SideNames
	models := map[modelKey]int64{}
	err := s.rows(ctx, e, last, func(row *resultRow) error {
		return r.add(row, reasons, models)
	})
	if err != nil {
		return nil, err
	}
	r.order(e)
	if err := s.statuses(ctx, e, config, r, reasons); err != nil {
		return nil, err
	}
	for _, key := range slices.SortedFunc(maps.Keys(reasons), func(x, y ReasonCount) int {
		return cmp.Or(cmp.Compare(reasons[y], reasons[x]), cmp.Compare(x.Code, y.Code), cmp.Compare(text(x.Side), text(y.Side)))
	}) {
		key.Count = reasons[key]
		if len(r.accounting.Reasons) < maxListed {
			r.accounting.Reasons = append(r.accounting.Reasons, key)
		} else {
			r.accounting.OtherReasons += key.Count
		}
	}
	r.summary.Models = make([]Model, 0, len(models))
	for _, key := range slices.SortedFunc(maps.Keys(models), func(x, y modelKey) int {
		return cmp.Or(cmp.Compare(x.side, y.side), cmp.Compare(models[y], models[x]), cmp.Compare(x.model+x.fingerprint, y.model+y.fingerprint))
	}) {
		if len(r.summary.Models) < maxListed {
			r.summary.Models = append(r.summary.Models, Model{key.side, key.model, orNull(key.fingerprint), models[key]})
		} else {
			r.summary.OtherModels += models[key]
		}
	}
	return r, nil
}

// order lists the metrics, and chooses the primary one where the evaluation names none: the first score that has values, else the first.
func (r *results) order(e *Evaluation) {
	known := e.GraderNames()
	names := slices.Clone(known)
	for _, name := range slices.Sorted(maps.Keys(r.places)) {
		if !IsMeasured(name) && !slices.Contains(known, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		r.metrics = append(r.metrics, metric{name, KindScore, Higher, nil})
	}
	r.metrics = append(r.metrics, operational...)
	r.summary.PrimaryMetric = e.PrimaryMetric
	if e.PrimaryMetric == nil && len(names) > 0 {
		first := max(0, slices.IndexFunc(names, func(name string) bool { return r.valued[name] }))
		r.summary.PrimaryMetric = &names[first]
	}
}

type modelKey struct{ side, model, fingerprint string }

// rows calls each with the outputs of the items up to a number.
func (s *Service) rows(ctx context.Context, e *Evaluation, last int32, each func(*resultRow) error) error {
	err := s.db.LongTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, s.db.Statement("read results"), pgx.NamedArgs{"id": e.ID, "last": last})
		if err != nil {
			return err //nolint:wrapcheck // below
		}
		_, err = pgx.CollectRows(rows, func(collected pgx.CollectableRow) (struct{}, error) {
			one, err := pgx.RowToStructByName[resultRow](collected)
			if err == nil {
				err = each(&one)
			}
			return struct{}{}, err
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("read results: %w", err)
	}
	return nil
}

// add adds an output.
func (r *results) add(row *resultRow, reasons map[ReasonCount]int64, models map[modelKey]int64) error {
	item, side := &r.items[row.Number-1], row.Side
	name := &SideNames[side]
	add := func(metric string, value float64) {
		place, ok := r.placed(metric)
		if !ok {
			reasons[ReasonCount{Side: name, Code: "score_ignored: too many names"}]++
			return
		}
		r.valued[metric] = true
		for len(item.values[side]) <= place {
			item.values[side] = append(item.values[side], nil)
		}
		item.values[side][place] = append(item.values[side][place], value)
	}
	absent := row.Status != OutputOK && (text(row.ErrorCode) == codeNoResult || text(row.ErrorCode) == codeItemChanged)
	switch {
	case absent:
		item.absent[side]++
	case row.Status != OutputOK:
		item.failed[side]++
	}
	if row.Status != OutputOK {
		r.accounting.OutputsFailed++
		reasons[ReasonCount{Side: name, Code: text(row.ErrorCode)}]++
	} else {
		item.ok[side]++
		r.accounting.Outputs++
		if row.Model != nil {
			models[modelKey{*name, *row.Model, text(row.Fingerprint)}]++
		}
	}
	var scores []Score
	if err := json.Unmarshal([]byte(row.Scores), &scores); err != nil {
		return fmt.Errorf("read the scores of output %d: %w", row.Number, err)
	}
	for i := range scores {
		score := &scores[i]
		r.placed(score.Name) // a grader that failed everywhere is a metric, too
		switch {
		case score.Value != nil:
			add(score.Name, *score.Value)
		case score.Error != "":
			if side == sideA {
				item.graderFailed(score.Name)
			}
			reasons[ReasonCount{Side: name, Code: "grader_failed: " + score.Name}]++
		default:
			reasons[ReasonCount{Side: name, Code: "grader_not_applicable: " + score.Name}]++
		}
		if score.Pass != nil && side == sideA {
			item.judge(score.Name, *score.Pass)
		}
	}
	switch {
	case row.RunLookup == nil || *row.RunLookup == lookupRead && row.CostNanousd != nil:
	case *row.RunLookup == lookupRead:
		reasons[ReasonCount{Side: name, Code: "cost_unknown"}]++
	default:
		r.runsUnknown++
		reasons[ReasonCount{Side: name, Code: "run_unknown: " + string(*row.RunLookup)}]++
	}
	for i := range operational {
		m := &operational[i]
		switch {
		case absent:
		case m.kind == KindFailures && row.Status == OutputOK:
			add(m.name, 0)
		case m.kind == KindFailures:
			add(m.name, 1)
		case row.Status == OutputOK:
			if value := m.of(row); value != nil {
				add(m.name, *value)
			}
		}
	}
	return nil
}

// placed returns the place of a metric in values, which is new if need be. It returns false if there are too many.
func (r *results) placed(name string) (int, bool) {
	place, ok := r.places[name]
	if !ok && len(r.places) < maxMetrics {
		place, ok = len(r.places), true
		r.places[name] = place
	}
	return place, ok
}

// place returns the place of a metric in values. One that no output has is behind all others.
func (r *results) place(name string) int {
	if place, ok := r.places[name]; ok {
		return place
	}
	return len(r.places)
}

func (i *itemResult) graderFailed(name string) {
	if i.graderErrors == nil {
		i.graderErrors = map[string]int{}
	}
	i.graderErrors[name]++
}

// judge counts an output that a grader passed or failed.
func (i *itemResult) judge(name string, pass bool) {
	if i.judged == nil {
		i.passes, i.judged = map[string]int{}, map[string]int{}
	}
	i.judged[name]++
	if pass {
		i.passes[name]++
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// statuses decides what became of each item.
func (s *Service) statuses(ctx context.Context, e *Evaluation, config *Config, r *results, reasons map[ReasonCount]int64) error {
	stored, err := postgres.Many[struct {
		Number      int32
		ItemID      uuid.UUID
		ContentHash []byte
		Status      ItemStatus
		Reason      *string
	}](ctx, s.db, "read item statuses", pgx.NamedArgs{"id": e.ID})
	if err != nil {
		return err
	}
	c := &r.accounting
	c.Items, c.Reasons = int64(len(stored)), []ReasonCount{}
	each := int64(config.outputsOfItem(e))
	for _, one := range stored {
		known := int(one.Number) <= len(r.items)
		if known {
			r.items[one.Number-1].id, r.items[one.Number-1].hash = one.ItemID, one.ContentHash
		}
		switch {
		case one.Status == ItemSkipped:
			c.Skipped++
			c.OutputsSkipped += each
			reasons[ReasonCount{Code: "skipped: " + text(one.Reason)}] += each
			if known {
				r.items[one.Number-1].status = ItemSkipped
			}
			continue
		case !known:
			c.Pending++
			continue
		}
		item := &r.items[one.Number-1]
		item.decide(r, e, config)
		switch item.status {
		case ItemScored:
			c.Scored++
		case ItemTargetFailed:
			c.TargetFailed++
		case ItemJudgeFailed:
			c.JudgeFailed++
		default:
			c.Pending++
		}
	}
	c.OutputsPending = e.OutputsTotal - c.Outputs - c.OutputsFailed - c.OutputsSkipped
	return nil
}
