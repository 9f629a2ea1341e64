package evaluations

import (
	"cmp"
	"context"
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
	// Votes are those of judges, nil without them.
	Votes *VoteCounts `json:"votes"`
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
	// Split is how far the judges of a panel are apart on an output of the item, the most of its outputs; nil where they do not split.
	Split *float64 `json:"split,omitempty"`
}

// results are what the outputs tell.
type results struct {
	accounting Accounting
	summary    Summary
	// metrics are the scores of graders, then those that came from outside, then the operational ones. places are their places in values.
	metrics []metric
	places  map[string]int
	reasons map[ReasonCount]int64
	items   []itemResult
	// facts has what the statistics of judges need to know of outputs, skipped the items that are skipped. panels are their results, and
	// panelScores what they say of outputs. All are empty without judges.
	facts       map[outputPlace]outputFact
	skipped     map[int32]bool
	panels      []PanelSummary
	panelScores []panelScore
	// own are the names of scores that are not taken from outputs: those of panels, which are made of votes.
	own    map[string]bool
	stored storedScores
	// valued has the metrics of which an output has a value.
	valued map[string]bool
	// models counts outputs, input their input tokens by side.
	models map[modelKey]int64
	input  [2]inputTokens
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
	// unvoted is whether votes on its outputs are missing that the evaluation may still make.
	unvoted bool
	// named counts outputs by side and by the panel that gives them a label, and no value.
	named [2]map[string]int
	// splits has how far the judges of each panel are apart that split.
	splits map[string]float64
	// group is the same for items that belong together, 0 for one that belongs to no other.
	group int
	// people has what people say by side and panel, from 0 to 1.
	people [2]map[string]float64
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
	Number          int32
	Side            int
	Repeat          int
	Status          string
	ErrorCode       *string
	Scores          string
	CostNanousd     *int64
	DurationMS      *float64
	InputTokens     *int64
	OutputTokens    *int64
	CacheReadTokens *int64
	Model           *string
	Fingerprint     *string
	Length          *int64
	// RunLookup is the [lookup] of a result from outside, nil if there was nothing to look for.
	RunLookup *lookup
	// RunFailed is whether the recorded run failed whose output it is.
	RunFailed bool
}

// maxMetrics is how many metrics an evaluation has. Scores from outside with further names are counted, and not used.
const maxMetrics = 200

// maxListed is how many models and reasons are listed.
const maxListed = 50

// read reads the results of the items of an evaluation up to a number, and counts. Scores of panels are those that its job stored.
func (s *Service) read(ctx context.Context, e *Evaluation, config *Config, last int32) (*results, error) {
	return s.readResults(ctx, e, config, last, map[string]bool{}, func(*results) error { return nil })
}

// read reads the results of the items up to a number, and makes the scores of panels of their votes.
func (a *attempt) read(ctx context.Context, last int32) (*results, error) {
	own := map[string]bool{}
	for i := range a.panels {
		own[a.panels[i].Name] = true
	}
	return a.readResults(ctx, &a.e, &a.config, last, own, func(r *results) error { return a.addPanels(ctx, r, last) })
}

// readResults reads outputs, adds scores, and counts.
func (s *Service) readResults(ctx context.Context, e *Evaluation, config *Config, last int32, own map[string]bool, addPanels func(*results) error) (*results, error) {
	r := newResults(e, last, own)
	r.stored = config.storedScores()
	reasons := r.reasons
	stored, err := s.itemStatuses(ctx, e)
	if err != nil {
		return nil, err
	}
	for _, one := range stored {
		if one.Status == ItemSkipped {
			r.skipped[one.Number] = true
		}
		if int(one.Number) <= len(r.items) {
			r.items[one.Number-1].id, r.items[one.Number-1].hash = one.ItemID, one.ContentHash
		}
	}
	if err := s.group(ctx, e, config, r, stored); err != nil {
		return nil, err
	}
	if err := s.rows(ctx, e, last, func(row *resultRow) error { return r.add(row) }); err != nil {
		return nil, err
	}
	if err := addPanels(r); err != nil {
		return nil, err
	}
	r.order(e)
	r.statuses(stored, e, config)
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
	r.summary.Models = make([]Model, 0, len(r.models))
	for _, key := range slices.SortedFunc(maps.Keys(r.models), func(x, y modelKey) int {
		return cmp.Or(cmp.Compare(x.side, y.side), cmp.Compare(r.models[y], r.models[x]), cmp.Compare(x.model+x.fingerprint, y.model+y.fingerprint))
	}) {
		if len(r.summary.Models) < maxListed {
			r.summary.Models = append(r.summary.Models, Model{key.side, key.model, orNull(key.fingerprint), r.models[key]})
		} else {
			r.summary.OtherModels += r.models[key]
		}
	}
	return r, nil
}

// newResults returns those of no output yet.
func newResults(e *Evaluation, last int32, own map[string]bool) *results {
	r := &results{
		items: make([]itemResult, last), places: map[string]int{}, valued: map[string]bool{}, own: own, facts: map[outputPlace]outputFact{}, models: map[modelKey]int64{},
		skipped: map[int32]bool{}, panels: []PanelSummary{},
		reasons: map[ReasonCount]int64{}, // by side and code; Side points into SideNames
	}
	for _, name := range e.ScorerNames() {
		r.places[name] = len(r.places)
	}
	for i := range operational {
		r.places[operational[i].name] = len(r.places)
	}
	return r
}

// order lists the metrics, and chooses the primary one where the evaluation names none: the first score that has values, else the first.
func (r *results) order(e *Evaluation) {
	known := e.ScorerNames()
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

// name counts an output that a panel gives a label.
func (i *itemResult) name(side int, panel string) {
	if i.named[side] == nil {
		i.named[side] = map[string]int{}
	}
	i.named[side][panel]++
}

// hasScore reports whether an output of a side has a value or a label by a metric.
func (r *results) hasScore(i *itemResult, side int, name string) bool {
	return len(i.valuesOf(side, r.place(name))) > 0 || i.named[side][name] > 0
}

// namedItems counts items with outputs that a panel gives labels, and no values.
func (r *results) namedItems(panel string) int {
	items := 0
	for i := range r.items {
		if r.items[i].named[sideA][panel] > 0 || r.items[i].named[sideB][panel] > 0 {
			items++
		}
	}
	return items
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

// storedItem is what is stored of an item.
type storedItem struct {
	Number      int32
	Ordinal     int64
	ItemID      uuid.UUID
	ContentHash []byte
	Status      ItemStatus
	Reason      *string
}

func (s *Service) itemStatuses(ctx context.Context, e *Evaluation) ([]storedItem, error) {
	return postgres.Many[storedItem](ctx, s.db, "read item statuses", pgx.NamedArgs{"id": e.ID})
}

// statuses decides what became of each item.
func (r *results) statuses(stored []storedItem, e *Evaluation, config *Config) {
	c := &r.accounting
	c.Items, c.Reasons = int64(len(stored)), []ReasonCount{}
	each := int64(config.outputsOfItem(e))
	for _, one := range stored {
		known := int(one.Number) <= len(r.items)
		switch {
		case one.Status == ItemSkipped:
			c.Skipped++
			c.OutputsSkipped += each
			r.reasons[ReasonCount{Code: "skipped: " + text(one.Reason)}] += each
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
}
