// Package results reads what the stored outputs and votes of evaluations tell: values of metrics, scores of panels, and summaries with
// their sentences. It stores nothing.
package results

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/optional"
	"github.com/looptrace/looptrace/internal/postgres"
)

//go:embed queries.sql
var queries string

// Reader reads what stored outputs and votes tell.
type Reader struct {
	db          postgres.DB
	evaluations *evaluations.Service
	datasets    *datasets.Service
}

// New returns a reader of the database.
func New(pool *pgxpool.Pool, stored *evaluations.Service, sets *datasets.Service) *Reader {
	return &Reader{postgres.NewDB(pool, queries), stored, sets}
}

// Results are what the outputs of an evaluation tell.
type Results struct {
	e      *evaluations.Evaluation
	config *evaluations.Config
	// judged are the panels whose scores are made of votes, nil for those that are stored.
	judged []evaluations.ReadyPanel

	Accounting evaluations.Accounting
	Summary    Summary
	// metrics are the scores of graders, then those that came from outside, then the operational ones. indexes are those in values.
	metrics []Metric
	indexes map[string]int
	reasons map[evaluations.ReasonCount]int64
	Items   []Item
	// facts has what the statistics of judges need to know of outputs, skipped the items that are skipped. panels are their results, and
	// panelScores what they say of outputs. All are empty without judges.
	facts       map[outputKey]outputFact
	skipped     map[int32]bool
	panels      []PanelSummary
	PanelScores []PanelScore
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

// Item is an item, whose number is its index from 1.
type Item struct {
	ID      uuid.UUID
	Hash    []byte
	Status  evaluations.ItemStatus
	Metrics map[string]evaluations.ItemMetric
	// values are the values of each metric by side, in the order of repeats.
	values [2][][]float64
	ok     [2]int
	Failed [2]int
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
	Group int
	// people has what people say by side and panel, from 0 to 1.
	people [2]map[string]float64
}

// ValuesOf returns the values of a metric on a side.
func (i *Item) ValuesOf(side, index int) []float64 {
	if index >= len(i.values[side]) {
		return nil
	}
	return i.values[side][index]
}

// outputRow is what is read of an output.
type outputRow struct {
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
	RunLookup *evaluations.RunLookup
	// RunFailed is whether the recorded run failed whose output it is.
	RunFailed bool
}

// maxMetrics is how many metrics an evaluation has. Scores from outside with further names are counted, and not used.
const maxMetrics = 200

// Read reads the results of the items of an evaluation up to a number, and counts. Scores of panels are those that its job stored.
func (s *Reader) Read(ctx context.Context, e *evaluations.Evaluation, config *evaluations.Config, last int32) (*Results, error) {
	return s.read(ctx, e, config, nil, last)
}

// Measure reads the results of the items up to a number, and makes the scores of panels of their votes.
func (s *Reader) Measure(ctx context.Context, e *evaluations.Evaluation, config *evaluations.Config, panels []evaluations.ReadyPanel, last int32) (*Results, error) {
	return s.read(ctx, e, config, panels, last)
}

// read reads outputs, adds scores, and counts.
func (s *Reader) read(ctx context.Context, e *evaluations.Evaluation, config *evaluations.Config, panels []evaluations.ReadyPanel, last int32) (*Results, error) {
	r := newResults(e, config, panels, last)
	r.stored = storedScoresOf(config)
	reasons := r.reasons
	stored, err := postgres.Many[storedItem](ctx, s.db, "read item statuses", pgx.NamedArgs{"id": e.ID})
	if err != nil {
		return nil, err
	}
	for _, one := range stored {
		if one.Status == evaluations.ItemSkipped {
			r.skipped[one.Number] = true
		}
		if int(one.Number) <= len(r.Items) {
			r.Items[one.Number-1].ID, r.Items[one.Number-1].Hash = one.ItemID, one.ContentHash
		}
	}
	if err := s.group(ctx, r, stored); err != nil {
		return nil, err
	}
	if err := s.rows(ctx, e, last, func(row *outputRow) error { return r.add(row) }); err != nil {
		return nil, err
	}
	if err := s.addPanels(ctx, r, last); err != nil {
		return nil, err
	}
	r.order()
	r.statuses(stored)
	for _, key := range slices.SortedFunc(maps.Keys(reasons), func(x, y evaluations.ReasonCount) int {
		return cmp.Or(cmp.Compare(reasons[y], reasons[x]), cmp.Compare(x.Code, y.Code), cmp.Compare(optional.Value(x.Side), optional.Value(y.Side)))
	}) {
		key.Count = reasons[key]
		if len(r.Accounting.Reasons) < evaluations.MaxListed {
			r.Accounting.Reasons = append(r.Accounting.Reasons, key)
		} else {
			r.Accounting.OtherReasons += key.Count
		}
	}
	r.Summary.Models = make([]Model, 0, len(r.models))
	for _, key := range slices.SortedFunc(maps.Keys(r.models), func(x, y modelKey) int {
		return cmp.Or(cmp.Compare(x.side, y.side), cmp.Compare(r.models[y], r.models[x]), cmp.Compare(x.model+x.fingerprint, y.model+y.fingerprint))
	}) {
		if len(r.Summary.Models) < evaluations.MaxListed {
			r.Summary.Models = append(r.Summary.Models, Model{key.side, key.model, optional.NonZero(key.fingerprint), r.models[key]})
		} else {
			r.Summary.OtherModels += r.models[key]
		}
	}
	return r, nil
}

// newResults returns those of no output yet.
func newResults(e *evaluations.Evaluation, config *evaluations.Config, panels []evaluations.ReadyPanel, last int32) *Results {
	r := &Results{
		e: e, config: config, judged: panels,
		Items: make([]Item, last), indexes: map[string]int{}, valued: map[string]bool{}, own: map[string]bool{}, facts: map[outputKey]outputFact{}, models: map[modelKey]int64{},
		skipped: map[int32]bool{}, panels: []PanelSummary{},
		reasons: map[evaluations.ReasonCount]int64{}, // by side and code; Side points into SideNames
	}
	for i := range panels {
		r.own[panels[i].Name] = true
	}
	for _, name := range e.ScorerNames() {
		r.indexes[name] = len(r.indexes)
	}
	for i := range operational {
		r.indexes[operational[i].Name] = len(r.indexes)
	}
	return r
}

// order lists the metrics, and chooses the primary one where the evaluation names none: the first score that has values, else the first.
func (r *Results) order() {
	known := r.e.ScorerNames()
	names := slices.Clone(known)
	for _, name := range slices.Sorted(maps.Keys(r.indexes)) {
		if !evaluations.IsMeasured(name) && !slices.Contains(known, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		r.metrics = append(r.metrics, Metric{name, evaluations.KindScore, evaluations.Higher, nil})
	}
	r.metrics = append(r.metrics, operational...)
	r.Summary.PrimaryMetric = r.e.PrimaryMetric
	if r.e.PrimaryMetric == nil && len(names) > 0 {
		first := max(0, slices.IndexFunc(names, func(name string) bool { return r.valued[name] }))
		r.Summary.PrimaryMetric = &names[first]
	}
}

type modelKey struct{ side, model, fingerprint string }

// rows calls each with the outputs of the items up to a number.
func (s *Reader) rows(ctx context.Context, e *evaluations.Evaluation, last int32, each func(*outputRow) error) error {
	err := s.db.LongTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, s.db.Statement("read results"), pgx.NamedArgs{"id": e.ID, "last": last})
		if err != nil {
			return err //nolint:wrapcheck // below
		}
		_, err = pgx.CollectRows(rows, func(collected pgx.CollectableRow) (struct{}, error) {
			one, err := pgx.RowToStructByName[outputRow](collected)
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

// Index returns the index of a metric in values. One that no output has is behind all others.
func (r *Results) Index(name string) int {
	if index, ok := r.indexes[name]; ok {
		return index
	}
	return len(r.indexes)
}

// Values returns the values of a metric on a side by item.
func (r *Results) Values(side int, name string) [][]float64 {
	index, values := r.Index(name), make([][]float64, len(r.Items))
	for i := range r.Items {
		values[i] = r.Items[i].ValuesOf(side, index)
	}
	return values
}

// Grouped reports whether items belong together.
func (r *Results) Grouped() bool {
	return slices.ContainsFunc(r.Items, func(i Item) bool { return i.Group != 0 })
}

func (i *Item) graderFailed(name string) {
	if i.graderErrors == nil {
		i.graderErrors = map[string]int{}
	}
	i.graderErrors[name]++
}

// name counts an output that a panel gives a label.
func (i *Item) name(side int, panel string) {
	if i.named[side] == nil {
		i.named[side] = map[string]int{}
	}
	i.named[side][panel]++
}

// hasScore reports whether an output of a side has a value or a label by a metric.
func (r *Results) hasScore(i *Item, side int, name string) bool {
	return len(i.ValuesOf(side, r.Index(name))) > 0 || i.named[side][name] > 0
}

// namedItems counts items with outputs that a panel gives labels, and no values.
func (r *Results) namedItems(panel string) int {
	items := 0
	for i := range r.Items {
		if r.Items[i].named[evaluations.SideA][panel] > 0 || r.Items[i].named[evaluations.SideB][panel] > 0 {
			items++
		}
	}
	return items
}

// judge counts an output that a grader passed or failed.
func (i *Item) judge(name string, pass bool) {
	if i.judged == nil {
		i.passes, i.judged = map[string]int{}, map[string]int{}
	}
	i.judged[name]++
	if pass {
		i.passes[name]++
	}
}

// storedItem is what is stored of an item.
type storedItem struct {
	Number      int32
	Ordinal     int64
	ItemID      uuid.UUID
	ContentHash []byte
	Status      evaluations.ItemStatus
	Reason      *string
}

// statuses decides what became of each item.
func (r *Results) statuses(stored []storedItem) {
	c := &r.Accounting
	c.Items, c.Reasons = int64(len(stored)), []evaluations.ReasonCount{}
	each := int64(r.outputsOfItem())
	for _, one := range stored {
		known := int(one.Number) <= len(r.Items)
		switch {
		case one.Status == evaluations.ItemSkipped:
			c.Skipped++
			c.OutputsSkipped += each
			r.reasons[evaluations.ReasonCount{Code: "skipped: " + optional.Value(one.Reason)}] += each
			if known {
				r.Items[one.Number-1].Status = evaluations.ItemSkipped
			}
			continue
		case !known:
			c.Pending++
			continue
		}
		item := &r.Items[one.Number-1]
		item.decide(r)
		switch item.Status {
		case evaluations.ItemScored:
			c.Scored++
		case evaluations.ItemTargetFailed:
			c.TargetFailed++
		case evaluations.ItemJudgeFailed:
			c.JudgeFailed++
		default:
			c.Pending++
		}
	}
	c.OutputsPending = r.e.OutputsTotal - c.Outputs - c.OutputsFailed - c.OutputsSkipped
}
