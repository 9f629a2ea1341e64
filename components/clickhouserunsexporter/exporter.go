package clickhouserunsexporter

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	lru "github.com/hashicorp/golang-lru/v2"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/components/clickhouserunsexporter/internal/metadata"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/runmodel"
)

type runsExporter struct {
	config    *Config
	telemetry *metadata.TelemetryBuilder
	conn      driver.Conn
	writer    *clickhouse.Writer
	// stored and sharing remember contents that ClickHouse has acknowledged.
	stored  *lru.Cache[runmodel.ContentKey, uint64]
	sharing *lru.Cache[runmodel.SharedKey, runmodel.Sharing]
}

func newRunsExporter(config *Config, settings component.TelemetrySettings) (*runsExporter, error) {
	telemetry, err := metadata.NewTelemetryBuilder(settings)
	if err != nil {
		return nil, fmt.Errorf("create telemetry: %w", err)
	}
	stored, err := lru.New[runmodel.ContentKey, uint64](config.ContentCacheSize)
	if err != nil {
		return nil, fmt.Errorf("create content cache: %w", err)
	}
	sharing, err := lru.New[runmodel.SharedKey, runmodel.Sharing](config.ContentCacheSize)
	if err != nil {
		return nil, fmt.Errorf("create content cache: %w", err)
	}
	return &runsExporter{config: config, telemetry: telemetry, stored: stored, sharing: sharing}, nil
}

func (e *runsExporter) start(ctx context.Context, _ component.Host) (err error) {
	if e.conn, err = clickhouse.Open(string(e.config.URL)); err != nil {
		return err
	}
	e.writer, err = clickhouse.NewWriter(ctx, string(e.config.URL))
	return err
}

func (e *runsExporter) shutdown(context.Context) error {
	e.telemetry.Shutdown()
	if e.writer != nil {
		e.writer.Close()
	}
	if e.conn == nil {
		return nil
	}
	return e.conn.Close()
}

// consume stores a batch. When it returns nil the batch is on disk and its runs' totals are up to date;
// storing any part of it again changes nothing.
func (e *runsExporter) consume(ctx context.Context, td ptrace.Traces) error {
	rows := runmodel.Rows{Stored: e.stored.Get, Sharing: e.howShared}
	if err := rows.Add(td); err != nil {
		return consumererror.NewPermanent(err)
	}
	if len(rows.Spans) > 0 {
		if err := e.store(ctx, &rows); err != nil {
			// The store may come back with less than it had: what it has is learnt anew.
			e.stored.Purge()
			e.sharing.Purge()
			return classify(err)
		}
	}
	contents, shared := rows.Added()
	for key, id := range contents {
		e.stored.Add(key, id)
	}
	for key, sharing := range shared {
		e.sharing.Add(key, sharing)
	}
	e.telemetry.ExporterClickhouserunsSpans.Add(ctx, int64(len(rows.Spans)))
	e.telemetry.ExporterClickhouserunsSpansSkipped.Add(ctx, int64(rows.Skipped))
	e.telemetry.ExporterClickhouserunsContents.Add(ctx, int64(len(rows.Contents)))
	return nil
}

func (e *runsExporter) howShared(key runmodel.SharedKey) runmodel.Sharing {
	sharing, _ := e.sharing.Get(key)
	return sharing
}

// classify tells bad data, which no retry mends, from a store that is away or overloaded.
func classify(err error) error {
	if ch.IsErr(err, dataErrors...) {
		return consumererror.NewPermanent(err)
	}
	return err
}

// dataErrors are ClickHouse's error codes for data that it will never take.
var dataErrors = []proto.Error{
	proto.ErrCannotParseText,
	proto.ErrCannotParseInputAssertionFailed,
	proto.ErrTypeMismatch,
	proto.ErrIncorrectData,
	proto.ErrTooLargeStringSize,
	proto.ErrValueIsOutOfRangeOfDataType,
}

func (e *runsExporter) store(ctx context.Context, rows *runmodel.Rows) error {
	byRun := groupByRun(rows.Spans)
	batch := rand.Uint64() //nolint:gosec // tells batches apart, guards nothing
	touched := boundsOf(byRun, batch)

	// In any order, but all before the bounds are read back: then of two writers that touch one run at the
	// same time at least the later reader sees the other, and totals both.
	group, groupContext := errgroup.WithContext(ctx)
	group.Go(func() error { return e.writer.InsertContents(groupContext, rows.Contents) })
	group.Go(func() error { return e.writer.InsertSharedContents(groupContext, rows.Shared) })
	group.Go(func() error { return e.writer.InsertSpans(groupContext, rows.Spans) })
	group.Go(func() error { return e.writer.InsertBounds(groupContext, touched) })
	if err := group.Wait(); err != nil {
		return err
	}
	return e.updateRuns(ctx, byRun, batch)
}

// updateRuns derives the runs that a batch touched from all their spans. A run whose bounds have changed when its row
// is written was touched by another batch meanwhile, which may not have seen that row: it is derived again. One that
// touches it later finds the row.
func (e *runsExporter) updateRuns(ctx context.Context, byRun map[runmodel.RunKey][]runmodel.Span, batch uint64) error {
	known, err := clickhouse.ReadBounds(ctx, e.conn, slices.Collect(maps.Keys(byRun)))
	if err != nil {
		return err
	}
	for len(known) > 0 {
		if err := e.writeRuns(ctx, byRun, known, batch); err != nil {
			return err
		}
		written := make(map[runmodel.RunKey]clickhouse.Bounds, len(known))
		for _, b := range known {
			written[runmodel.RunKey{ProjectID: b.ProjectID, RunID: b.RunID}] = b
		}
		if known, err = clickhouse.ReadBounds(ctx, e.conn, slices.Collect(maps.Keys(written))); err != nil {
			return err
		}
		known = slices.DeleteFunc(known, func(b clickhouse.Bounds) bool {
			was, ok := written[runmodel.RunKey{ProjectID: b.ProjectID, RunID: b.RunID}]
			return !ok || sameBounds(b, was)
		})
	}
	return nil
}

func sameBounds(a, b clickhouse.Bounds) bool {
	return a.FirstBatch == b.FirstBatch && a.LastBatch == b.LastBatch &&
		a.FirstStart.Equal(b.FirstStart) && a.LastStart.Equal(b.LastStart)
}

// writeRuns writes the rows of runs. A run that no other batch has touched has all its spans in this one.
func (e *runsExporter) writeRuns(
	ctx context.Context, byRun map[runmodel.RunKey][]runmodel.Span, known []clickhouse.Bounds, batch uint64,
) error {
	var shared []clickhouse.Bounds
	totals := make([]runmodel.Run, 0, len(known))
	for _, b := range known {
		key := runmodel.RunKey{ProjectID: b.ProjectID, RunID: b.RunID}
		versions, ok := byRun[key]
		switch {
		case !ok: // a run of the same id in another project of the batch
		case b.FirstBatch == batch && b.LastBatch == batch:
			totals = append(totals, runmodel.Totals(versions))
		default:
			shared = append(shared, b)
		}
	}
	sharedTotals, err := e.readTotals(ctx, shared)
	if err != nil {
		return err
	}
	if err := e.writer.InsertRuns(ctx, append(totals, sharedTotals...)); err != nil {
		return err
	}
	e.telemetry.ExporterClickhouserunsRuns.Add(ctx, int64(len(totals)+len(sharedTotals)))
	e.telemetry.ExporterClickhouserunsRunsReread.Add(ctx, int64(len(sharedTotals)))
	return e.removeMoved(ctx, shared)
}

// mostRunsAtOnce bounds the runs that are read back together, by how many there are: a run's spans are
// read whole, since its totals are derived from all of them.
const mostRunsAtOnce = 500

func (e *runsExporter) readTotals(ctx context.Context, shared []clickhouse.Bounds) ([]runmodel.Run, error) {
	totals := make([]runmodel.Run, 0, len(shared))
	for some := range slices.Chunk(shared, mostRunsAtOnce) {
		wanted := make(map[runmodel.RunKey]struct{}, len(some))
		for _, b := range some {
			wanted[runmodel.RunKey{ProjectID: b.ProjectID, RunID: b.RunID}] = struct{}{}
		}
		versions, err := clickhouse.ReadVersions(ctx, e.conn, some)
		if err != nil {
			return nil, err
		}
		for key, versions := range groupByRun(versions) {
			if _, ok := wanted[key]; ok {
				totals = append(totals, runmodel.Totals(versions))
			}
		}
	}
	return totals, nil
}

// removeMoved deletes the rows that runs have left behind under another hour when an earlier start arrived.
func (e *runsExporter) removeMoved(ctx context.Context, shared []clickhouse.Bounds) error {
	var moved []clickhouse.Bounds
	for _, b := range shared {
		// Every start that a run ever had lies within its bounds, so within one hour it cannot have moved.
		if !b.FirstStart.Truncate(time.Hour).Equal(b.LastStart.Truncate(time.Hour)) {
			moved = append(moved, b)
		}
	}
	if len(moved) == 0 {
		return nil
	}
	keys := make([]runmodel.RunKey, len(moved))
	first, last := moved[0].FirstStart, moved[0].LastStart
	for i, b := range moved {
		keys[i] = runmodel.RunKey{ProjectID: b.ProjectID, RunID: b.RunID}
		if b.FirstStart.Before(first) {
			first = b.FirstStart
		}
		if b.LastStart.After(last) {
			last = b.LastStart
		}
	}
	places, err := clickhouse.ReadRunPlaces(ctx, e.conn, keys, first, last)
	if err != nil {
		return err
	}
	return e.writer.InsertRuns(ctx, leftBehind(places))
}

// leftBehind returns deletions of all rows of each run but the one that was derived from most versions.
func leftBehind(places []clickhouse.RunPlace) []runmodel.Run {
	newest := make(map[runmodel.RunKey]clickhouse.RunPlace, len(places))
	for _, p := range places {
		key := runmodel.RunKey{ProjectID: p.ProjectID, RunID: p.RunID}
		if best, ok := newest[key]; !ok || p.Version > best.Version {
			newest[key] = p
		}
	}
	var deletions []runmodel.Run
	for _, p := range places {
		best := newest[runmodel.RunKey{ProjectID: p.ProjectID, RunID: p.RunID}]
		if p.Version < best.Version && !p.StartTime.Truncate(time.Hour).Equal(best.StartTime.Truncate(time.Hour)) {
			deletions = append(deletions, runmodel.Run{
				ProjectID: p.ProjectID, RunID: p.RunID, Version: best.Version, Deleted: 1,
				StartTime: p.StartTime, EndTime: runmodel.Epoch, FirstReceived: runmodel.Epoch,
			})
		}
	}
	return deletions
}

// groupByRun shares the memory of spans for runs whose spans stand together, as they mostly do.
func groupByRun(spans []runmodel.Span) map[runmodel.RunKey][]runmodel.Span {
	runs := make(map[runmodel.RunKey][]runmodel.Span)
	for from := 0; from < len(spans); {
		key, to := keyOf(&spans[from]), from+1
		for to < len(spans) && keyOf(&spans[to]) == key {
			to++
		}
		if known, ok := runs[key]; ok {
			runs[key] = append(known, spans[from:to]...)
		} else {
			runs[key] = spans[from:to:to]
		}
		from = to
	}
	return runs
}

func keyOf(s *runmodel.Span) runmodel.RunKey {
	return runmodel.RunKey{ProjectID: s.ProjectID, RunID: s.RunID}
}

func boundsOf(byRun map[runmodel.RunKey][]runmodel.Span, batch uint64) []clickhouse.Bounds {
	rows := make([]clickhouse.Bounds, 0, len(byRun))
	for key, spans := range byRun {
		b := clickhouse.Bounds{
			ProjectID: key.ProjectID, RunID: key.RunID,
			FirstStart: spans[0].StartTime, LastStart: spans[0].StartTime, FirstBatch: batch, LastBatch: batch,
		}
		for i := range spans {
			if spans[i].StartTime.Before(b.FirstStart) {
				b.FirstStart = spans[i].StartTime
			}
			if spans[i].StartTime.After(b.LastStart) {
				b.LastStart = spans[i].StartTime
			}
		}
		rows = append(rows, b)
	}
	return rows
}
