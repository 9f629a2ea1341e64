package duplicates

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/datasets/neardup"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// Phases of running checks.
const (
	phaseReading   = "reading"
	phaseComparing = "comparing"
	// inputsPage is how many inputs are read by one statement.
	inputsPage = 2000
)

// checking is an attempt to do a check. It keeps nothing before its end: an attempt that follows one that was killed begins again.
type checking struct {
	*Service
	attempt uuid.UUID
	check   *Check
	finder  *neardup.Finder
	// ordinals are those of the items by their numbers.
	ordinals []int64
}

// run does the job of a check.
func (s *Service) run(ctx context.Context, args jobArgs, last bool) error {
	c := &checking{Service: s, attempt: uuid.New()}
	job, _ := work.JobOf(ctx)
	begun, err := s.db.Exec(ctx, "begin check", pgx.NamedArgs{"check": args.CheckID, "attempt": c.attempt, "job": job, "now": s.now()})
	if err != nil || begun == 0 { // it ended, went with its dataset, or has another job
		return err
	}
	found, err := postgres.Many[Check](ctx, s.db, "get check", pgx.NamedArgs{"check": args.CheckID})
	if err != nil || len(found) == 0 {
		return err
	}
	c.check = &found[0]
	return work.Attempt(ctx, "check", last, c.do, func(ctx context.Context, failed *problem.Error) error {
		return c.exec(ctx, "end check", pgx.NamedArgs{"code": failed.Code, "detail": failed.Detail})
	})
}

// args are those of statements that change the check.
func (c *checking) args(more pgx.NamedArgs) pgx.NamedArgs {
	args := pgx.NamedArgs{"check": c.check.ID, "attempt": c.attempt, "now": c.now()}
	for key, value := range more {
		args[key] = value
	}
	return args
}

// exec changes the check if it still belongs to the attempt.
func (c *checking) exec(ctx context.Context, name string, more pgx.NamedArgs) error {
	changed, err := c.db.Exec(ctx, name, c.args(more))
	if err == nil && changed == 0 {
		return work.ErrFenced
	}
	return err
}

// do reads all items, finds the pairs and stores them.
func (c *checking) do(ctx context.Context) (err error) {
	if c.finder, err = neardup.New(c.check.Threshold, int(c.check.Total)); err != nil {
		return fmt.Errorf("begin to look for near-duplicates: %w", err)
	}
	c.ordinals = make([]int64, 0, c.check.Total)
	if err := c.sample(ctx); err != nil {
		return err
	}
	for more := true; more; {
		if more, err = c.read(ctx); err != nil {
			return err
		}
	}
	found, err := c.finder.Find(ctx, c.readAgain)
	if err != nil {
		return fmt.Errorf("compare items: %w", err)
	}
	return c.store(ctx, &found)
}

// inputs runs a statement and calls each for every row, while the row is in the memory of the connection.
func (c *checking) inputs(ctx context.Context, name string, more pgx.NamedArgs, each func(rows pgx.Rows) error) error {
	args := pgx.NamedArgs{"dataset": c.check.DatasetID, "revision": c.check.Revision}
	for key, value := range more {
		args[key] = value
	}
	err := c.db.LongTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, c.db.Statement(name), args)
		if err != nil {
			return err //nolint:wrapcheck // below
		}
		defer rows.Close()
		for rows.Next() {
			if err := each(rows); err != nil {
				return err
			}
		}
		return rows.Err() //nolint:wrapcheck // below
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// sample shows items from the whole revision to the finder.
func (c *checking) sample(ctx context.Context) error {
	return c.inputs(ctx, "sample inputs", pgx.NamedArgs{"size": neardup.SampleSize}, func(rows pgx.Rows) error {
		return c.finder.Sample(rows.RawValues()[0]) //nolint:wrapcheck // inputs does
	})
}

// read reads the next items.
func (c *checking) read(ctx context.Context) (more bool, err error) {
	after := int64(0)
	if n := len(c.ordinals); n > 0 {
		after = c.ordinals[n-1]
	}
	before := len(c.ordinals)
	err = c.inputs(ctx, "read inputs after", pgx.NamedArgs{"after": after, "limit": inputsPage}, func(rows pgx.Rows) error {
		var (
			ordinal int64
			split   string
		)
		if err := rows.Scan(&ordinal, nil, &split); err != nil {
			return err //nolint:wrapcheck // inputs does
		}
		c.ordinals = append(c.ordinals, ordinal)
		return c.finder.Add(rows.RawValues()[1], split) //nolint:wrapcheck // inputs does
	})
	if err != nil {
		return false, err
	}
	phase := phaseReading
	if more = len(c.ordinals)-before == inputsPage; !more {
		phase = phaseComparing
	}
	return more, c.exec(ctx, "keep progress of check", pgx.NamedArgs{"phase": phase, "processed": len(c.ordinals)})
}

// readAgain is a [neardup.Read].
func (c *checking) readAgain(ctx context.Context, items []int, each func(int, []byte) error) error {
	for page := range slices.Chunk(items, inputsPage) {
		err := c.inputs(ctx, "read inputs", pgx.NamedArgs{"ordinals": c.ordinalsOf(page)}, func(rows pgx.Rows) error {
			var ordinal int64
			if err := rows.Scan(&ordinal, nil); err != nil {
				return err //nolint:wrapcheck // inputs does
			}
			item, _ := slices.BinarySearch(c.ordinals, ordinal)
			return each(item, rows.RawValues()[1])
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *checking) ordinalsOf(items []int) []int64 {
	ordinals := make([]int64, len(items))
	for i, item := range items {
		ordinals[i] = c.ordinals[item]
	}
	return ordinals
}

// store stores the result.
func (c *checking) store(ctx context.Context, found *neardup.Result) error {
	shared := []map[string]any{}
	for _, v := range found.Shared {
		shared = append(shared, map[string]any{"member": v.Member, "text": v.Text, "share": v.Share})
	}
	text, err := json.Marshal(shared)
	if err != nil {
		return fmt.Errorf("encode the shared values: %w", err)
	}
	items := make([]int, 0, 2*len(found.Listed))
	for _, p := range found.Listed {
		items = append(items, p.A, p.B)
	}
	slices.Sort(items)
	ids := map[int64]uuid.UUID{}
	err = c.inputs(ctx, "find item ids", pgx.NamedArgs{"ordinals": c.ordinalsOf(slices.Compact(items))}, func(rows pgx.Rows) error {
		var (
			ordinal int64
			id      uuid.UUID
		)
		err := rows.Scan(&ordinal, &id)
		ids[ordinal] = id
		return err //nolint:wrapcheck // inputs does
	})
	if err != nil {
		return err
	}
	args := c.args(pgx.NamedArgs{
		"processed": found.Items, "without_text": found.WithoutText, "pairs": found.Pairs, "pairs_across": found.PairsAcross, "pairs_listed": len(found.Listed),
		"partly_compared": found.PartlyCompared, "shared": string(text),
	})
	err = c.db.LongTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		changed, err := tx.Exec(ctx, c.db.Statement("complete check"), args)
		if err == nil && changed.RowsAffected() == 0 {
			err = work.ErrFenced
		}
		if err == nil {
			_, err = tx.CopyFrom(ctx, pgx.Identifier{"near_duplicate_pairs"}, []string{"check_id", "number", "a_item_id", "b_item_id", "similarity", "across"},
				pgx.CopyFromSlice(len(found.Listed), func(i int) ([]any, error) {
					p := &found.Listed[i]
					return []any{c.check.ID, i, ids[c.ordinals[p.A]], ids[c.ordinals[p.B]], p.Similarity, p.Across}, nil
				}))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("store the pairs: %w", err)
	}
	return nil
}
