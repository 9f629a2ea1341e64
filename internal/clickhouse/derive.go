package clickhouse

import (
	"context"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// DeriveRuns writes the rows of runs anew from all their spans. Whoever wrote spans has widened the bounds of their runs
// before, with a batch of their own: a run whose bounds have changed when its row is written was touched by another writer
// meanwhile, which may not have seen that row, and is derived again. One that touches it later finds the row.
func DeriveRuns(ctx context.Context, conn driver.Conn, writer *Writer, keys []runmodel.RunKey) error {
	known, err := ReadBounds(ctx, conn, keys)
	if err != nil {
		return err
	}
	for len(known) > 0 {
		versions, err := ReadVersions(ctx, conn, known)
		if err != nil {
			return err
		}
		wanted := make(map[runmodel.RunKey]Bounds, len(known))
		for _, b := range known {
			wanted[runmodel.RunKey{ProjectID: b.ProjectID, RunID: b.RunID}] = b
		}
		byRun := map[runmodel.RunKey][]runmodel.Span{}
		for i := range versions {
			key := runmodel.RunKey{ProjectID: versions[i].ProjectID, RunID: versions[i].RunID}
			byRun[key] = append(byRun[key], versions[i])
		}
		totals := make([]runmodel.Run, 0, len(byRun))
		for key, versions := range byRun {
			if _, ok := wanted[key]; ok { // a run of the same id may be in another project
				totals = append(totals, runmodel.Totals(versions))
			}
		}
		if err := writer.InsertRuns(ctx, totals); err != nil {
			return err
		}
		left := make([]runmodel.RunKey, 0, len(wanted))
		for key := range wanted {
			left = append(left, key)
		}
		if known, err = ReadBounds(ctx, conn, left); err != nil {
			return err
		}
		known = slices.DeleteFunc(known, func(b Bounds) bool {
			was := wanted[runmodel.RunKey{ProjectID: b.ProjectID, RunID: b.RunID}]
			return b.FirstBatch == was.FirstBatch && b.LastBatch == was.LastBatch &&
				b.FirstStart.Equal(was.FirstStart) && b.LastStart.Equal(was.LastStart)
		})
	}
	return nil
}
