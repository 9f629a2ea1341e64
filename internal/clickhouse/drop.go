package clickhouse

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// Dropper deletes traces without a GenAI span some time after the last of their spans was stored
// (docs/adr/0022-traces-without-genai-spans.md). Several may work on one database.
type Dropper struct {
	conn   driver.Conn
	writer *Writer
	after  time.Duration
	// last is when the last sweep that succeeded began, and zero before.
	last time.Time
	// dropped are the bounds of the traces of the last sweep, and of earlier ones whose rows ClickHouse still shows.
	dropped map[runmodel.RunKey]Bounds
}

// NewDropper returns a Dropper of traces to which nothing was added for a time.
func NewDropper(conn driver.Conn, writer *Writer, after time.Duration) *Dropper {
	return &Dropper{conn: conn, writer: writer, after: after}
}

// firstSweep is how far the first sweep reaches back: the store may have been without a Dropper for so long.
// sweepOverlap is how far each later sweep reaches back behind the one before, because clocks may differ.
const (
	firstSweep   = 24 * time.Hour
	sweepOverlap = time.Minute
)

// maxDropped is how many traces are dropped at a time. Each statement rewrites the parts of its hours, so few statements
// are cheaper than many. They contain their ids, twice, in 80 bytes.
const maxDropped = 40_000

// Drop deletes the traces that are due and returns how many. It deletes no GenAI span, even if one arrives meanwhile:
// such a trace then begins with that span. Traces with a score stay.
func (d *Dropper) Drop(ctx context.Context) (dropped int, err error) {
	begin := time.Now()
	back := firstSweep
	if !d.last.IsZero() {
		back = begin.Sub(d.last) + sweepOverlap
	}
	due, err := d.due(ctx, back)
	if err != nil {
		return 0, err
	}
	if err := d.deriveTouched(ctx); err != nil {
		return 0, err
	}
	noted := map[runmodel.RunKey]Bounds{} // ClickHouse has noted to delete these
	for project, runIDs := range due {
		due[project] = slices.DeleteFunc(runIDs, func(id uuid.UUID) bool {
			key := runmodel.RunKey{ProjectID: project, RunID: id}
			bounds, ok := d.dropped[key]
			if ok {
				noted[key] = bounds
			}
			return ok
		})
	}
	d.dropped = noted
	for project, runIDs := range due {
		for some := range slices.Chunk(runIDs, maxDropped) {
			n, err := d.drop(ctx, project, some)
			if dropped += n; err != nil {
				return dropped, err
			}
		}
	}
	d.last = begin
	return dropped, nil
}

// due returns the runs without a GenAI span whose rows were last written between d.after + back and d.after ago, by
// project. A row of any age that has a GenAI span keeps its run.
func (d *Dropper) due(ctx context.Context, back time.Duration) (map[uuid.UUID][]uuid.UUID, error) {
	var rows []struct {
		ProjectID uuid.UUID `ch:"project_id"`
		RunID     uuid.UUID `ch:"run_id"`
	}
	err := d.conn.Select(ctx, &rows, `
		WITH now64(3, 'UTC') - toIntervalMillisecond(?) AS until
		SELECT project_id, run_id FROM runs
		WHERE NOT deleted AND written_at >= until - toIntervalMillisecond(?)
		GROUP BY project_id, run_id HAVING NOT max(genai) AND max(written_at) < until
		ORDER BY project_id, min(start_time)`, d.after.Milliseconds(), back.Milliseconds())
	if err != nil {
		return nil, fmt.Errorf("read traces without GenAI spans: %w", err)
	}
	due := map[uuid.UUID][]uuid.UUID{}
	for _, row := range rows {
		due[row.ProjectID] = append(due[row.ProjectID], row.RunID)
	}
	return due, nil
}

// drop deletes the spans of runs and then their rows, so that an interrupted drop is repeated. It returns how many runs
// that are.
func (d *Dropper) drop(ctx context.Context, project uuid.UUID, runIDs []uuid.UUID) (int, error) {
	bounds, err := d.withoutKept(ctx, project, runIDs)
	if err != nil || len(bounds) == 0 {
		return 0, err
	}
	runIDs = make([]uuid.UUID, len(bounds))
	for i := range bounds {
		runIDs[i] = bounds[i].RunID
	}
	first, last := extent(bounds)
	for _, table := range []struct{ what, name, plain string }{
		{"drop spans", "spans", "NOT " + runmodel.IsGenAISQL},
		{"drop runs", "runs", "NOT genai"},
	} {
		if err := execute(ctx, d.conn, table.what, `DELETE FROM `+table.name+` WHERE project_id = ? AND run_id IN (?) AND `+table.plain+`
			AND toStartOfHour(start_time) BETWEEN fromUnixTimestamp(?) AND fromUnixTimestamp(?)`,
			project, runIDs, hour(first), hour(last)); err != nil {
			return 0, err
		}
	}
	for _, b := range bounds {
		d.dropped[b.key()] = b
	}
	return len(bounds), nil
}

// withoutKept returns the bounds of runs, except of those with a GenAI span, whose row may not be written yet, or with a
// score.
func (d *Dropper) withoutKept(ctx context.Context, project uuid.UUID, runIDs []uuid.UUID) ([]Bounds, error) {
	keys := make([]runmodel.RunKey, len(runIDs))
	for i, id := range runIDs {
		keys[i] = runmodel.RunKey{ProjectID: project, RunID: id}
	}
	bounds, err := ReadBounds(ctx, d.conn, keys)
	if err != nil || len(bounds) == 0 {
		return nil, err
	}
	first, last := extent(bounds)
	kept, err := readIDs(manyIDs(ctx), d.conn, "read runs to keep", `
		SELECT run_id AS id FROM spans WHERE project_id = ? AND run_id IN (?)
			AND toStartOfHour(start_time) BETWEEN fromUnixTimestamp(?) AND fromUnixTimestamp(?) AND `+runmodel.IsGenAISQL+`
		UNION DISTINCT SELECT run_id AS id FROM scores FINAL WHERE project_id = ? AND run_id IN (?)`,
		project, runIDs, hour(first), hour(last), project, runIDs)
	if err != nil {
		return nil, err
	}
	keep := make(map[uuid.UUID]bool, len(kept))
	for _, id := range kept {
		keep[id] = true
	}
	return slices.DeleteFunc(bounds, func(b Bounds) bool { return keep[b.RunID] }), nil
}

// deriveTouched derives those runs of the last sweep again that a batch has touched since: its writer may have counted
// spans that were being deleted, and a merge may have preferred the deleted row to a new one.
func (d *Dropper) deriveTouched(ctx context.Context) error {
	now, err := ReadBounds(ctx, d.conn, slices.Collect(maps.Keys(d.dropped)))
	if err != nil {
		return err
	}
	var touched []runmodel.RunKey
	for _, b := range now {
		if !b.equal(d.dropped[b.key()]) {
			touched = append(touched, b.key())
		}
	}
	if len(touched) == 0 {
		return nil
	}
	if _, err := rederive(ctx, d.conn, d.writer, touched); err != nil {
		return err
	}
	for _, key := range touched {
		delete(d.dropped, key)
	}
	return nil
}
