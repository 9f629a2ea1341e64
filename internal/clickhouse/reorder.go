package clickhouse

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
)

// The orders of the table spans: of its first nineteen steps, and since then. Spans of a run that stand in the order in which
// they began repeat each other's messages, times and parents from row to row (docs/adr/0006-storing-fast.md).
const (
	spansByID    = "project_id, toStartOfHour(start_time), run_id, span_id, version"
	spansByStart = "project_id, toStartOfHour(start_time), run_id, start_time, span_id, version"
)

// The names of the two tables while spans are put into the new order.
const (
	oldSpans = "spans_by_id"
	newSpans = "spans_by_start"
)

// spansInStartOrder is a step in Go, since ClickHouse cannot change the order of a table: its rows are copied.
var spansInStartOrder = goose.NewGoMigration(20, &goose.GoFunc{RunDB: orderSpansByStart}, nil)

// orderSpansByStart copies spans into a table with the new order, which takes its place. What is stored meanwhile is copied
// again and again, until little is left: for the last of it there is no table spans. A writer's insert then fails and is tried again, and so is
// every read: a run that is totalled out of a part of its spans would be wrong from then on. What is copied twice is the same row
// of a ReplacingMergeTree. It may be killed at any moment and run again.
func orderSpansByStart(ctx context.Context, db *sql.DB) error {
	tables, err := spansTables(ctx, db)
	if err != nil {
		return err
	}
	if tables["spans"] == "" && tables[oldSpans] != "" { // killed while there was none
		if err := changeSpans(ctx, db, "RENAME TABLE "+oldSpans+" TO spans"); err != nil {
			return err
		}
		tables["spans"] = spansByID
	}
	if tables["spans"] != spansByStart {
		if err := createNewSpans(ctx, db); err != nil {
			return err
		}
		if err := moveSpans(ctx, db); err != nil {
			return err
		}
	}
	return changeSpans(ctx, db, "DROP TABLE IF EXISTS "+oldSpans+" SYNC")
}

// spansTables are the orders of those of the three tables that there are.
func spansTables(ctx context.Context, db *sql.DB) (map[string]string, error) {
	found, err := db.QueryContext(ctx, `SELECT name, sorting_key FROM system.tables
		WHERE database = currentDatabase() AND name IN ('spans', '`+oldSpans+`', '`+newSpans+`')`)
	if err != nil {
		return nil, fmt.Errorf("read the tables of spans: %w", err)
	}
	defer func() { _ = found.Close() }() // read to its end
	orders := map[string]string{}
	for found.Next() {
		var name, order string
		if err := found.Scan(&name, &order); err != nil {
			return nil, fmt.Errorf("read the tables of spans: %w", err)
		}
		orders[name] = order
	}
	if err := found.Err(); err != nil {
		return nil, fmt.Errorf("read the tables of spans: %w", err)
	}
	return orders, nil
}

// createNewSpans makes an empty table as spans is, with what its owner has set, but for the order.
func createNewSpans(ctx context.Context, db *sql.DB) error {
	var definition string
	if err := db.QueryRowContext(ctx, `SELECT create_table_query FROM system.tables
		WHERE database = currentDatabase() AND name = 'spans'`).Scan(&definition); err != nil {
		return fmt.Errorf("read the definition of spans: %w", err)
	}
	_, columns, ok := strings.Cut(definition, "(")
	if !ok || strings.Count(columns, "ORDER BY ("+spansByID+")") != 1 {
		return errors.New("the table spans is not one that Looptrace has made: its order is not (" + spansByID + ")")
	}
	if err := changeSpans(ctx, db, "DROP TABLE IF EXISTS "+newSpans+" SYNC"); err != nil {
		return err
	}
	return changeSpans(ctx, db, "CREATE TABLE "+newSpans+" ("+
		strings.Replace(columns, "ORDER BY ("+spansByID+")", "ORDER BY ("+spansByStart+")", 1))
}

// moveSpans copies spans and lets the new table take the place of the old one.
func moveSpans(ctx context.Context, db *sql.DB) error {
	const (
		few    = 100_000 // rows, which take a second
		passes = 10      // where more than few come during each
	)
	copied := map[string][]string{}
	for range passes {
		rows, err := copySpans(ctx, db, "spans", copied)
		if err != nil {
			return err
		}
		if rows < few {
			break
		}
	}
	err := changeSpans(ctx, db, "RENAME TABLE spans TO "+oldSpans)
	if err == nil {
		err = finishMove(ctx, db, copied)
	}
	if err == nil {
		return nil
	}
	// What is stored meanwhile and read must not wait for the next attempt, which begins anew. ctx may have ended.
	back, cancel := context.WithTimeout(context.WithoutCancel(ctx), renameTimeout)
	defer cancel()
	tables, listErr := spansTables(back, db)
	if listErr == nil && tables["spans"] == "" {
		listErr = changeSpans(back, db, "RENAME TABLE "+oldSpans+" TO spans")
	}
	return errors.Join(err, listErr)
}

// renameTimeout bounds putting the old table back.
const renameTimeout = time.Minute

// finishMove copies the last of the spans, while there is no table of that name.
func finishMove(ctx context.Context, db *sql.DB, copied map[string][]string) error {
	if err := awaitInserts(ctx, db); err != nil {
		return err
	}
	if _, err := copySpans(ctx, db, oldSpans, copied); err != nil {
		return err
	}
	if err := deleteCopied(ctx, db); err != nil {
		return err
	}
	return changeSpans(ctx, db, "RENAME TABLE "+newSpans+" TO spans")
}

// dayToCopy is what of a day is to be copied.
type dayToCopy struct {
	id    string
	parts []string
	rows  uint64
}

// copySpans copies what is not yet copied of a table, a day at a time, the newest first. In copied it notes each day's parts. One that was
// merged out of them is copied once more: the numbers of blocks in its name do not tell, since of two inserts at once the later number
// may be committed first.
func copySpans(ctx context.Context, db *sql.DB, from string, copied map[string][]string) (rows uint64, err error) {
	days, err := daysToCopy(ctx, db, from, copied)
	if err != nil {
		return 0, err
	}
	for i, d := range days {
		slog.InfoContext(ctx, "putting stored spans into start order", "day", d.id, "spans", d.rows, "nth", i+1, "of", len(days))
		// What is written is merged and indexed in the background, as what writers write is. Parts that came since are copied as well.
		//nolint:gosec // the names of the tables are this file's
		statement := "INSERT INTO " + newSpans + " SELECT * FROM " + from + `
			WHERE _partition_id = ? AND _part NOT IN (?)
			SETTINGS max_insert_threads = 1, optimize_on_insert = 0, materialize_skip_indexes_on_insert = 0, max_execution_time = 0`
		if _, err := db.ExecContext(ctx, statement, d.id, append([]string{""}, copied[d.id]...)); err != nil {
			return 0, fmt.Errorf("copy the spans of %s: %w", d.id, err)
		}
		copied[d.id] = append(copied[d.id], d.parts...)
		rows += d.rows
	}
	return rows, nil
}

func daysToCopy(ctx context.Context, db *sql.DB, from string, copied map[string][]string) ([]dayToCopy, error) {
	found, err := db.QueryContext(ctx, `SELECT partition_id, name, rows FROM system.parts
		WHERE database = currentDatabase() AND table = ? AND active ORDER BY partition_id DESC, name`, from)
	if err != nil {
		return nil, fmt.Errorf("read the parts of %s: %w", from, err)
	}
	defer func() { _ = found.Close() }() // read to its end
	var days []dayToCopy
	for found.Next() {
		var id, part string
		var rows uint64
		if err := found.Scan(&id, &part, &rows); err != nil {
			return nil, fmt.Errorf("read the parts of %s: %w", from, err)
		}
		if slices.Contains(copied[id], part) {
			continue
		}
		if len(days) == 0 || days[len(days)-1].id != id {
			days = append(days, dayToCopy{id: id})
		}
		d := &days[len(days)-1]
		d.parts, d.rows = append(d.parts, part), d.rows+rows
	}
	if err := found.Err(); err != nil {
		return nil, fmt.Errorf("read the parts of %s: %w", from, err)
	}
	return days, nil
}

// awaitInserts waits until no insert is under way that began before now: it may write into the table that spans was.
func awaitInserts(ctx context.Context, db *sql.DB) error {
	const pause = 20 * time.Millisecond
	for began := time.Now(); ; {
		var inserts uint64
		if err := db.QueryRowContext(ctx, `SELECT count() FROM system.processes
			WHERE query_kind = 'Insert' AND current_database = currentDatabase() AND elapsed > ?`, time.Since(began).Seconds()).Scan(&inserts); err != nil {
			return fmt.Errorf("look for inserts under way: %w", err)
		}
		if inserts == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for inserts under way: %w", ctx.Err())
		case <-time.After(pause):
		}
	}
}

// deleteCopied deletes spans that were deleted where they were copied from after they had been copied. It waits for it: the
// statement names the table as it is called now.
func deleteCopied(ctx context.Context, db *sql.DB) error {
	const deleted = `SELECT project_id, run_id, version FROM ` + newSpans + ` INNER JOIN (
			SELECT project_id, run_id, max(deleted_at) AS deleted FROM run_bounds GROUP BY project_id, run_id HAVING deleted > 0
		) AS deletions USING (project_id, run_id) WHERE version <= deleted`
	var left uint64
	if err := db.QueryRowContext(ctx, "SELECT count() FROM ("+deleted+")").Scan(&left); err != nil {
		return fmt.Errorf("look for deleted spans: %w", err)
	}
	if left == 0 {
		return nil
	}
	return changeSpans(ctx, db, "DELETE FROM "+newSpans+" WHERE (project_id, run_id, version) IN ("+deleted+") SETTINGS lightweight_deletes_sync = 1")
}

func changeSpans(ctx context.Context, db *sql.DB, statement string) error {
	if _, err := db.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("put spans into start order: %w", err)
	}
	return nil
}
