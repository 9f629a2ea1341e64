package execute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/results"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/stats"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
)

const (
	// maxWorkPage is how many items are read at once.
	maxWorkPage = 100
)

// task is an output to make.
type task struct {
	number int32
	side   int
	repeat int
	item   *datasets.Item
	// from is the output of an eval-run, nil if it has none. It is not used for a configuration.
	from *sourceOutput
}

// OutputRow is an output as it is stored.
type OutputRow struct {
	Number       int32     `json:"number"`
	Side         int       `json:"side"`
	Repeat       int       `json:"repeat"`
	Status       string    `json:"status"`
	ErrorCode    *string   `json:"error_code"`
	ErrorDetail  *string   `json:"error_detail"`
	Output       *string   `json:"output"`
	Message      *string   `json:"message"`
	RunID        uuid.UUID `json:"run_id"`
	Model        *string   `json:"model"`
	Fingerprint  *string   `json:"fingerprint"`
	FinishReason *string   `json:"finish_reason"`
	DurationMS   *float64  `json:"duration_ms"`
	Input        *int64    `json:"input_tokens"`
	OutputTokens *int64    `json:"output_tokens"`
	CacheRead    *int64    `json:"cache_read_tokens"`
	CacheWrite   *int64    `json:"cache_write_tokens"`
	Reasoning    *int64    `json:"reasoning_tokens"`
	Cost         *int64    `json:"cost_nanousd"`
	Requests     int       `json:"requests"`
	Scores       string    `json:"scores"`
	CreatedAt    time.Time `json:"created_at"`
	RunFailed    bool      `json:"run_failed"`
}

// make makes the outputs that are missing, in parts: after the first items it estimates the cost anew, and where it may stop early it
// tests after some parts of the items. It returns the part of the items that decided, nil if none did.
func (a *attempt) make(ctx context.Context) (*float64, error) {
	after := min(int32(a.e.ItemCount), evaluations.PilotItems)
	if err := a.makePart(ctx, 0, after); err != nil || a.stopped() {
		return nil, err
	}
	if err := a.reestimate(ctx, after); err != nil {
		return nil, err
	}
	for _, part := range results.Parts(&a.e, &a.config) {
		if err := a.makePart(ctx, after, part.Last); err != nil || a.stopped() {
			return nil, err
		}
		if part.Share < 1 {
			r, err := a.results.Measure(ctx, &a.e, &a.config, a.panels, part.Last)
			if err != nil {
				return nil, err
			}
			decided, err := r.Decided(part.Last)
			if err != nil {
				return nil, err
			}
			if decided {
				a.stopping.set(evaluations.StopDecided, nil)
				return &part.Share, nil
			}
		}
		after = part.Last
	}
	return nil, nil
}

func (a *attempt) stopped() bool {
	select {
	case <-a.stopping.reached:
		return true
	default:
		return false
	}
}

// reestimate estimates the cost from what the first items cost. With judges the estimate from tokens stays, which has their votes.
func (a *attempt) reestimate(ctx context.Context, last int32) error {
	if len(a.panels) > 0 {
		return nil
	}
	r, err := a.results.Measure(ctx, &a.e, &a.config, a.panels, last)
	if err != nil {
		return err
	}
	estimate, err := a.e.ReadEstimate()
	if err != nil {
		return err
	}
	items := float64(a.e.ItemCount - a.e.SkippedItemCount)
	low, high := 0.0, 0.0
	for side := range a.config.Sides {
		if a.renderers[side] == nil {
			continue
		}
		found := stats.MeanInterval(slices.Concat(r.Values(side, evaluations.MetricCost)...), evaluations.Level)
		if found.CI == nil { // unknown, or too few: the estimate from tokens stays
			return nil
		}
		outputs := items * float64(a.config.Sides[side].Repeats)
		low, high = low+max(0, found.CI[0])*outputs, high+found.CI[1]*outputs
	}
	estimate.Low, estimate.High, estimate.Basis = new(providers.MoneyOf(low)), new(providers.MoneyOf(high)), evaluations.BasisPilot
	text, err := json.Marshal(estimate)
	if err != nil {
		return fmt.Errorf("encode the estimate: %w", err)
	}
	_, err = a.db.Exec(ctx, "keep estimate", pgx.NamedArgs{"id": a.e.ID, "attempt": a.id, "estimate": string(text)})
	return err
}

// makePart makes the outputs and votes that are missing of the items with numbers after one and up to another.
func (a *attempt) makePart(ctx context.Context, after, last int32) error {
	if a.config.Sent(a.e.Kind) {
		return a.vote(ctx, after, last)
	}
	err := pool(ctx, a, a.storeOutputs,
		func(ctx context.Context, tasks chan<- task) error { return a.find(ctx, after, last, tasks) },
		func(ctx context.Context, t task) (*OutputRow, error) { return a.output(ctx, t) })
	if err != nil || a.stopped() {
		return err
	}
	return a.vote(ctx, after, last)
}

// pool does the tasks that find finds, several at once, and puts what they make into the database. It returns [work.ErrPreempted] if it stopped
// for another project.
func pool[T any, R work.Result](
	ctx context.Context, a *attempt, put func(context.Context, []R) error, find func(context.Context, chan<- T) error, do func(context.Context, T) (*R, error),
) error {
	group, ctx := errgroup.WithContext(ctx)
	tasks, rows, stored := make(chan T), make(chan R, a.calls), make(chan struct{})
	group.Go(func() error {
		defer close(tasks)
		return find(ctx, tasks)
	})
	var working sync.WaitGroup
	for range a.calls {
		working.Add(1)
		group.Go(func() error {
			defer working.Done()
			return doTasks(ctx, a, tasks, rows, stored, do)
		})
	}
	group.Go(func() error {
		defer close(rows)
		working.Wait()
		return nil
	})
	group.Go(func() error {
		defer close(stored)
		return work.Store(context.WithoutCancel(ctx), rows, put) // what was answered is stored, also after a cancellation
	})
	if err := group.Wait(); err != nil || !work.IsPreempted(ctx) {
		return err //nolint:wrapcheck // by those who do the work
	}
	return work.ErrPreempted
}

// doTasks does tasks until there are no more, or nothing is stored any more.
func doTasks[T, R any](ctx context.Context, a *attempt, tasks <-chan T, rows chan<- R, stored <-chan struct{}, do func(context.Context, T) (*R, error)) error {
	for t := range tasks {
		if a.stopped() || work.IsPreempted(ctx) {
			continue // it stays missing
		}
		var made *R
		err := work.Retry(ctx, func() (err error) {
			made, err = do(ctx, t)
			return err
		})
		if errors.Is(err, work.ErrPreempted) { // it waited for a slot at its provider
			continue
		}
		if err != nil {
			return err
		}
		if made == nil { // the money is spent
			continue
		}
		select {
		case rows <- *made:
		case <-stored:
			return nil // with an error, which counts
		}
	}
	return nil
}

// page is items with outputs that are missing.
type page struct {
	numbers  []int32
	ordinals map[int32]int64
	done     map[int32]map[madeOutput]bool
	items    map[int64]*datasets.Item
	sources  [2]map[sourceKey]*sourceOutput
}

type madeOutput struct{ side, repeat int }

// workPage is how many items are read at once: fewer where the outputs of an eval-run are read with them.
func (a *attempt) workPage() int {
	outputs := 1
	for i := range a.config.Sides {
		if side := &a.config.Sides[i]; side.EvalRunID != nil {
			outputs = max(outputs, side.Repeats)
		}
	}
	return max(1, maxWorkPage/outputs)
}

// nextPage returns the next items with numbers after one and up to another.
func (a *attempt) nextPage(ctx context.Context, after, last int32) (*page, error) {
	found, err := postgres.Many[struct {
		Number  int32
		ItemID  uuid.UUID
		Ordinal int64
		Key     *string
		Side    *int
		Repeat  *int
	}](ctx, a.db, "list work", pgx.NamedArgs{"id": a.e.ID, "after": after, "last": last, "limit": a.workPage()})
	if err != nil {
		return nil, err
	}
	p := &page{ordinals: map[int32]int64{}, done: map[int32]map[madeOutput]bool{}}
	for _, w := range found {
		if p.done[w.Number] == nil {
			p.done[w.Number], p.ordinals[w.Number] = map[madeOutput]bool{}, w.Ordinal
			p.numbers = append(p.numbers, w.Number)
		}
		if w.Side != nil {
			p.done[w.Number][madeOutput{*w.Side, *w.Repeat}] = true
		}
	}
	var missing []int64
	for _, number := range p.numbers {
		if len(p.done[number]) < a.config.Repeats() {
			missing = append(missing, p.ordinals[number])
		}
	}
	if p.items, err = a.itemsAt(ctx, missing); err != nil {
		return nil, err
	}
	p.sources, err = a.sources(ctx, p.items)
	return p, err
}

// find finds the outputs that are missing. The sides take turns, so that what changes at a provider meets both.
func (a *attempt) find(ctx context.Context, after, last int32, tasks chan<- task) error {
	for {
		var p *page
		err := work.Retry(ctx, func() (err error) {
			p, err = a.nextPage(ctx, after, last)
			return err
		})
		if err != nil || len(p.numbers) == 0 {
			return err
		}
		for _, number := range p.numbers {
			for repeat := 1; repeat <= max(a.config.Sides[evaluations.SideA].Repeats, a.config.Sides[evaluations.SideB].Repeats); repeat++ {
				for turn := range 2 {
					side, item := (int(number)+repeat+turn)%2, p.items[p.ordinals[number]]
					if repeat > a.config.Sides[side].Repeats || p.done[number][madeOutput{side, repeat}] {
						continue
					}
					select {
					case tasks <- task{number, side, repeat, item, p.sources[side][sourceKey{item.ItemID, repeat}]}:
					case <-a.stopping.reached:
						return nil
					case <-work.Preempted(ctx):
						return nil
					case <-ctx.Done():
						return context.Cause(ctx)
					}
				}
			}
		}
		after = p.numbers[len(p.numbers)-1]
	}
}

// itemsAt returns items of the dataset by their ordinals.
func (a *attempt) itemsAt(ctx context.Context, ordinals []int64) (map[int64]*datasets.Item, error) {
	found := map[int64]*datasets.Item{}
	if len(ordinals) == 0 {
		return found, nil
	}
	items, err := a.datasets.ItemsAt(ctx, a.e.DatasetID, a.e.Revision, ordinals)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the statement
	}
	for i := range items {
		found[items[i].Ordinal] = &items[i]
	}
	if len(found) < len(ordinals) {
		return nil, fmt.Errorf("%d items of evaluation %s are not in revision %d of the dataset", len(ordinals)-len(found), a.e.ID, a.e.Revision)
	}
	return found, nil
}

// storeOutputs stores outputs, and decides what became of their items.
func (a *attempt) storeOutputs(ctx context.Context, batch []OutputRow) error {
	text, err := json.Marshal(batch)
	if err != nil {
		return fmt.Errorf("encode outputs: %w", err)
	}
	numbers := make([]int32, len(batch))
	for i := range batch {
		numbers[i] = batch[i].Number
	}
	return a.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		changed, err := tx.Exec(ctx, "store outputs", pgx.NamedArgs{"id": a.e.ID, "attempt": a.id, "rows": string(text)})
		if err == nil && changed == 0 {
			return work.ErrFenced
		}
		if err != nil {
			return err
		}
		return a.evaluations.CompleteItems(ctx, tx.PGX(), &a.e, numbers, a.config.Repeats(), len(a.panels) > 0)
	})
}

// Size is about the bytes of the row.
func (r OutputRow) Size() int {
	size := len(r.Scores) + 500
	for _, text := range []*string{r.Output, r.Message} {
		if text != nil {
			size += len(*text)
		}
	}
	return size
}
