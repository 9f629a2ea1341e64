package evaluations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/internal/postgres"
)

const (
	// workPage is how many items are read at once.
	workPage = 100
	// storeEvery is how long outputs gather before they are stored together, at most storeBytes.
	storeEvery = 50 * time.Millisecond
	storeBytes = 4 << 20
	// storeAgain is the wait before outputs are stored again that could not be stored.
	storeAgain = 500 * time.Millisecond
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

// row is an output as it is stored.
type row struct {
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
}

// make makes the outputs that are missing, in parts: after the first items it estimates the cost anew, and where it may stop early it
// tests after each quarter. It returns the part of the items that decided, nil if none did.
func (a *attempt) make(ctx context.Context) (*float64, error) {
	after := int32(0)
	for _, part := range a.parts() {
		if err := a.makePart(ctx, after, part.last); err != nil {
			return nil, err
		}
		if a.stopped() {
			return nil, nil
		}
		switch {
		case part.pilot:
			if err := a.estimateAgain(ctx, part.last); err != nil {
				return nil, err
			}
		case a.config.StopEarly && part.share < 1:
			decided, err := a.decided(ctx, part.last)
			if err != nil {
				return nil, err
			}
			if decided {
				a.halt.set(StopDecided, nil)
				return &part.share, nil
			}
		}
		after = part.last
	}
	return nil, nil
}

func (a *attempt) stopped() bool {
	select {
	case <-a.halt.reached:
		return true
	default:
		return false
	}
}

// part is the items up to a number.
type part struct {
	last  int32
	share float64 // of the items
	pilot bool
}

func (a *attempt) parts() []part {
	items := int32(a.e.ItemCount)
	list := []part{{last: min(items, pilotItems), pilot: true}}
	for _, share := range looks {
		if last := int32(share * float64(items)); a.config.StopEarly && last > pilotItems {
			list = append(list, part{last: last, share: share})
		}
	}
	return append(list, part{last: items, share: 1})
}

// looks are the parts of the items after which an evaluation may stop early.
var looks = []float64{0.25, 0.5, 0.75}

// makePart makes the outputs that are missing of the items with numbers after one and up to another.
func (a *attempt) makePart(ctx context.Context, after, last int32) error {
	group, ctx := errgroup.WithContext(ctx)
	tasks, rows := make(chan task), make(chan row, a.calls)
	group.Go(func() error {
		defer close(tasks)
		return a.find(ctx, after, last, tasks)
	})
	var working sync.WaitGroup
	for range a.calls {
		working.Add(1)
		group.Go(func() error {
			defer working.Done()
			return a.work(ctx, tasks, rows)
		})
	}
	group.Go(func() error {
		defer close(rows)
		working.Wait()
		return nil
	})
	group.Go(func() error { return a.store(ctx, rows) })
	return group.Wait() //nolint:wrapcheck // by those who do the work
}

// work makes outputs.
func (a *attempt) work(ctx context.Context, tasks <-chan task, rows chan<- row) error {
	for t := range tasks {
		if a.stopped() {
			continue // it stays missing
		}
		made, err := a.output(ctx, t)
		if err != nil {
			return err
		}
		if made == nil { // the money is spent
			continue
		}
		select {
		case rows <- *made:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// find finds the outputs that are missing. The sides take turns, so that what changes at a provider meets both.
func (a *attempt) find(ctx context.Context, after, last int32, tasks chan<- task) error {
	for {
		work, err := postgres.Many[struct {
			Number  int32
			ItemID  uuid.UUID
			Ordinal int64
			Key     *string
			Side    *int
			Repeat  *int
		}](ctx, a.db, "list work", pgx.NamedArgs{"id": a.e.ID, "after": after, "last": last, "limit": workPage})
		if err != nil {
			return err
		}
		if len(work) == 0 {
			return nil
		}
		type made struct{ side, repeat int }
		done, ordinals, numbers := map[int32]map[made]bool{}, map[int32]int64{}, []int32{}
		for _, w := range work {
			if done[w.Number] == nil {
				done[w.Number], ordinals[w.Number] = map[made]bool{}, w.Ordinal
				numbers = append(numbers, w.Number)
			}
			if w.Side != nil {
				done[w.Number][made{*w.Side, *w.Repeat}] = true
			}
		}
		var missing []int64
		for _, number := range numbers {
			if len(done[number]) < a.config.repeats() {
				missing = append(missing, ordinals[number])
			}
		}
		items, err := a.itemsAt(ctx, missing)
		if err != nil {
			return err
		}
		sources, err := a.sources(ctx, items)
		if err != nil {
			return err
		}
		for _, number := range numbers {
			for repeat := 1; repeat <= max(a.config.Sides[sideA].Repeats, a.config.Sides[sideB].Repeats); repeat++ {
				for turn := range 2 {
					side, item := (int(number)+repeat+turn)%2, items[ordinals[number]]
					if repeat > a.config.Sides[side].Repeats || done[number][made{side, repeat}] {
						continue
					}
					select {
					case tasks <- task{number, side, repeat, item, sources[side][sourceKey{item.ItemID, repeat}]}:
					case <-a.halt.reached:
						return nil
					case <-ctx.Done():
						return context.Cause(ctx)
					}
				}
			}
		}
		after = numbers[len(numbers)-1]
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

// store stores outputs until there are no more. It waits for a database that does not answer: what was paid for is not made again.
func (a *attempt) store(ctx context.Context, rows <-chan row) error {
	for first := range rows {
		batch, size := []row{first}, first.size()
		gathered := time.After(storeEvery)
	gather:
		for size < storeBytes {
			select {
			case next, ok := <-rows:
				if !ok {
					break gather
				}
				batch, size = append(batch, next), size+next.size()
			case <-gathered:
				break gather
			}
		}
		text, err := json.Marshal(batch)
		if err != nil {
			return fmt.Errorf("encode outputs: %w", err)
		}
		for {
			changed, err := a.db.Exec(ctx, "store outputs", pgx.NamedArgs{"id": a.e.ID, "attempt": a.id, "rows": string(text)})
			if err == nil && changed == 0 {
				return errNotMine
			}
			if err == nil {
				break
			}
			if !errors.Is(err, postgres.ErrUnavailable) {
				return err
			}
			select {
			case <-time.After(storeAgain):
			case <-ctx.Done():
				return errors.Join(context.Cause(ctx), err)
			}
		}
	}
	return nil
}

func (r *row) size() int {
	size := len(r.Scores) + 500
	for _, text := range []*string{r.Output, r.Message} {
		if text != nil {
			size += len(*text)
		}
	}
	return size
}

// plain returns a text that PostgreSQL can store.
func plain(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
