package clickhouserunsexporter

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/components/clickhouserunsexporter/internal/metadata"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/runpdata"
)

type runsExporter struct {
	config    *Config
	telemetry *metadata.TelemetryBuilder
	conn      driver.Conn
	writer    *clickhouse.Writer
	// contents and shared remember contents that ClickHouse has acknowledged.
	contents *contentCache
	shared   *sharedContentCache
	agents   runpdata.AgentTexts
	log      *zap.Logger
	// stopDropping ends dropping.
	stopDropping context.CancelFunc
	dropping     sync.WaitGroup
}

func newRunsExporter(config *Config, settings component.TelemetrySettings) (*runsExporter, error) {
	telemetry, err := metadata.NewTelemetryBuilder(settings)
	if err != nil {
		return nil, fmt.Errorf("create telemetry: %w", err)
	}
	return &runsExporter{
		config: config, telemetry: telemetry, log: settings.Logger,
		contents: newContentCache(config.ContentCacheSize), shared: newSharedContentCache(config.ContentCacheSize),
	}, nil
}

func (e *runsExporter) start(ctx context.Context, _ component.Host) (err error) {
	if e.conn, err = clickhouse.Open(string(e.config.URL)); err != nil {
		return err
	}
	if e.writer, err = clickhouse.NewWriter(ctx, string(e.config.URL)); err != nil {
		return err
	}
	if e.config.DropWithoutGenAIAfter > 0 {
		e.startDropping(e.config.DropWithoutGenAIAfter, sweepEvery) //nolint:contextcheck // it ends with the exporter, not with its start
	}
	return nil
}

func (e *runsExporter) shutdown(context.Context) error {
	if e.stopDropping != nil {
		e.stopDropping()
		e.dropping.Wait()
	}
	e.telemetry.Shutdown()
	if e.writer != nil {
		e.writer.Close()
	}
	if e.conn == nil {
		return nil
	}
	return e.conn.Close()
}

// consume stores a batch. When it returns nil, the batch is on disk and its runs' totals are up to date. Storing any
// part of it again changes nothing.
func (e *runsExporter) consume(ctx context.Context, td ptrace.Traces) error {
	waiting, err := runpdata.TakeWaiting(td)
	if err != nil {
		return consumererror.NewPermanent(err)
	}
	rows := runpdata.Rows{Stored: e.contents.get, ShareState: e.shared.get, AgentTexts: &e.agents}
	if err := rows.Add(td); err != nil {
		return consumererror.NewPermanent(err)
	}
	// The rows refer to the strings. Everything else that was decoded can be freed before the batch is stored.
	td.ResourceSpans().RemoveIf(func(ptrace.ResourceSpans) bool { return true })
	if err := e.storeRows(ctx, &rows); err != nil {
		return classify(err)
	}
	if err := clickhouse.InsertWaiting(ctx, e.conn, waiting); err != nil {
		return classify(err)
	}
	if err := e.place(ctx, rows.Spans, waiting); err != nil {
		return classify(err)
	}
	e.telemetry.ExporterClickhouserunsSpans.Add(ctx, int64(len(rows.Spans)))
	e.telemetry.ExporterClickhouserunsSpansSkipped.Add(ctx, int64(rows.Skipped))
	e.telemetry.ExporterClickhouserunsContents.Add(ctx, int64(len(rows.Contents)))
	return nil
}

// classify marks bad data, which no retry can fix, as permanent. A store that is away or overloaded is not.
func classify(err error) error {
	if ch.IsErr(err, dataErrors...) {
		return consumererror.NewPermanent(err)
	}
	return err
}

// dataErrors are ClickHouse's error codes for data that it will never accept.
var dataErrors = []proto.Error{
	proto.ErrCannotParseText,
	proto.ErrCannotParseInputAssertionFailed,
	proto.ErrTypeMismatch,
	proto.ErrIncorrectData,
	proto.ErrTooLargeStringSize,
	proto.ErrValueIsOutOfRangeOfDataType,
}

// storeRows stores rows and remembers their contents.
func (e *runsExporter) storeRows(ctx context.Context, rows *runpdata.Rows) error {
	if len(rows.Spans) == 0 {
		return nil
	}
	if err := e.store(ctx, rows); err != nil {
		// The store may come back with less than it had, for example from a backup.
		e.contents.clear()
		e.shared.clear()
		return err
	}
	contents, shared := rows.Added()
	for at, added := range contents {
		e.contents.add(at, added)
	}
	for key, state := range shared {
		e.shared.add(key, state)
	}
	return nil
}

func (e *runsExporter) store(ctx context.Context, rows *runpdata.Rows) error {
	byRun := runmodel.ByRun(rows.Spans)
	batch := rand.Uint64() //nolint:gosec // only distinguishes batches
	touched := boundsOf(byRun, batch)

	// In any order, but all before the bounds are read back. Then, of two writers that touch a run at the same time,
	// at least the one that reads later sees the other, and derives the totals of both.
	group, groupContext := errgroup.WithContext(ctx)
	group.Go(func() error { return e.writer.InsertContents(groupContext, rows.Contents) })
	group.Go(func() error { return e.writer.InsertSharedContents(groupContext, rows.Shared) })
	group.Go(func() error { return e.writer.InsertSpans(groupContext, rows.Spans) })
	group.Go(func() error {
		scores, err := clickhouse.LeaveOutWritten(groupContext, e.conn, rows.Scores)
		if err != nil {
			return err
		}
		return clickhouse.InsertScores(groupContext, e.conn, scores)
	})
	group.Go(func() error { return e.writer.InsertBounds(groupContext, touched) })
	if err := group.Wait(); err != nil {
		return err
	}
	derived, err := clickhouse.DeriveRuns(ctx, e.conn, e.writer, byRun, batch)
	e.telemetry.ExporterClickhouserunsRuns.Add(ctx, int64(derived.Runs))
	e.telemetry.ExporterClickhouserunsRunsReread.Add(ctx, int64(derived.Reread))
	return err
}

func boundsOf(byRun map[runmodel.RunKey][]runmodel.Span, batch uint64) []clickhouse.Bounds {
	rows := make([]clickhouse.Bounds, 0, len(byRun))
	for key, spans := range byRun {
		b := clickhouse.Bounds{
			ProjectID: key.ProjectID, RunID: key.RunID,
			FirstStart: spans[0].StartTime, LastStart: spans[0].StartTime, FirstBatch: batch, LastBatch: batch,
			Absent: clickhouse.Absent(spans),
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
