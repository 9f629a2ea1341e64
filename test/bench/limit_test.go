package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/internal/runpdata"
	"github.com/looptrace/looptrace/test/bench/compare"
	"github.com/looptrace/looptrace/test/bench/loadgen"
	"github.com/looptrace/looptrace/test/product"
)

const (
	// readySpans is the store worker's batch size when more is waiting: max_batch_spans of deploy/store.yaml.
	readySpans = 20_000
	// maxInserters is the number of concurrent inserts, the same as the store worker's batches in flight.
	maxInserters = 2
	// readyBatches is the number of batches with different text, a multiple of maxInserters. They are inserted in turn,
	// each time as different runs.
	readyBatches = 4
)

// readyBatch is rows that need only be inserted.
type readyBatch struct {
	spans    []runmodel.Span
	contents []runmodel.Content
	shared   []runmodel.SharedContent
	bounds   []clickhouse.Bounds
	runs     []runmodel.Run
}

// makeReady returns the worker's rows for these spans after their texts were stored: contents are referenced, not
// written again.
func makeReady(t *testing.T, load *loadgen.Load, project uuid.UUID) *readyBatch {
	t.Helper()
	requests, err := load.Make(readySpans)
	require.NoError(t, err)
	known := map[runpdata.SharedKey]runpdata.ShareState{}
	makeRows := func() *runpdata.Rows {
		rows := &runpdata.Rows{ShareState: func(key runpdata.SharedKey) runpdata.ShareState { return known[key] }}
		for _, td := range requests {
			for _, rs := range td.ResourceSpans().All() {
				rs.Resource().Attributes().PutStr(runmodel.KeyProjectID, project.String())
			}
			require.NoError(t, rows.Add(td))
		}
		return rows
	}
	for range runpdata.ShareStored { // a content is referenced from the third time on
		_, shared := makeRows().Added()
		maps.Insert(known, shared)
	}
	rows := makeRows()
	ready := &readyBatch{spans: rows.Spans, contents: rows.Contents, shared: rows.Shared}
	byRun := map[uuid.UUID][]runmodel.Span{}
	for _, span := range rows.Spans {
		byRun[span.RunID] = append(byRun[span.RunID], span)
	}
	for id, spans := range byRun {
		run := runmodel.Totals(spans)
		ready.runs = append(ready.runs, run)
		ready.bounds = append(ready.bounds, clickhouse.Bounds{
			ProjectID: project, RunID: id, FirstStart: run.StartTime, LastStart: run.StartTime, FirstBatch: 1, LastBatch: 1,
		})
	}
	return ready
}

// renew turns the batch into different runs: n never repeats. It is put into the bytes by which ClickHouse sorts
// UUIDs first, so that equal texts are not stored next to each other.
func (r *readyBatch) renew(n uint32) {
	renew := func(id *uuid.UUID) { binary.BigEndian.PutUint32(id[8:], n) }
	for i := range r.spans {
		renew(&r.spans[i].RunID)
	}
	for i := range r.contents {
		renew(&r.contents[i].RunID)
	}
	for i := range r.bounds {
		renew(&r.bounds[i].RunID)
	}
	for i := range r.runs {
		renew(&r.runs[i].RunID)
	}
}

// insert writes the batch like the exporter: the runs last.
func (r *readyBatch) insert(ctx context.Context, writer *clickhouse.Writer) error {
	group, groupContext := errgroup.WithContext(ctx)
	group.Go(func() error { return writer.InsertContents(groupContext, r.contents) })
	group.Go(func() error { return writer.InsertSharedContents(groupContext, r.shared) })
	group.Go(func() error { return writer.InsertSpans(groupContext, r.spans) })
	group.Go(func() error { return writer.InsertBounds(groupContext, r.bounds) })
	if err := group.Wait(); err != nil {
		return err
	}
	return writer.InsertRuns(ctx, r.runs)
}

// limit compares storing from end to end with inserting ready rows into the same tables with the same client.
func (b *ingestBench) limit(t *testing.T) {
	load, err := loadgen.Spans()
	require.NoError(t, err)
	table := &compare.Table{Base: "two at once", Title: fmt.Sprintf(
		"LIMIT: %d spans through ingest, queue and worker, against inserting rows that are ready, %d spans at once", b.spans, readySpans)}
	b.tables = append(b.tables, table)
	for round := range b.rounds {
		t.Run(fmt.Sprintf("%d/two at once", round+1), func(t *testing.T) {
			table.Add("two at once", b.measureInserting(t, load, maxInserters)...)
		})
		t.Run(fmt.Sprintf("%d/one", round+1), func(t *testing.T) {
			table.Add("one", b.measureInserting(t, load, 1)...)
		})
		t.Run(fmt.Sprintf("%d/ours", round+1), func(t *testing.T) {
			table.Add("ours", b.measureStoring(t, ours("ours", b.startOurs), load, b.spans)...)
		})
		t.Run(fmt.Sprintf("%d/from a full queue", round+1), func(t *testing.T) {
			chain := ours("ours", b.startOurs)
			chain.queued = true
			table.Add("from a full queue", b.measureStoring(t, chain, load, b.spans)...)
		})
	}
}

func (b *ingestBench) measureInserting(t *testing.T, load *loadgen.Load, inserters int) []compare.Figure {
	t.Helper()
	r := newRig(t, b.dir)
	r.startClickHouse()
	r.migrateClickHouse()
	r.processes = append(r.processes, product.Process{PID: os.Getpid(), Name: storeProcess}) // it inserts
	conn := r.openClickHouse("looptrace")
	writer, err := clickhouse.NewWriter(t.Context(), r.clickhouseURL("looptrace"))
	require.NoError(t, err)
	defer writer.Close()
	var ready [readyBatches]*readyBatch
	for i := range ready {
		ready[i] = makeReady(t, load, uuid.New())
		require.NoError(t, ready[i].insert(t.Context(), writer)) // warms up
	}
	batches := (b.spans + readySpans - 1) / readySpans
	before, begin := r.usage(), time.Now()
	var group errgroup.Group
	for inserter := range inserters {
		group.Go(func() error {
			for n := inserter; n < batches; n += inserters {
				batch := ready[n%readyBatches]
				batch.renew(uint32(n + 1))
				if err := batch.insert(t.Context(), writer); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	elapsed, spans := time.Since(begin), batches*readySpans
	b.awaitMerges(t, conn, mergedWithin)
	after := r.usage()
	figures := append([]compare.Figure{{Name: "stored spans/s", Value: float64(spans) / elapsed.Seconds()}},
		perMillion(before, after, spans)...)
	return append(figures, bytesOnDisk(t, conn, spans+readyBatches*readySpans)...)
}
