package clickhouse

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/chpool"
	"github.com/ClickHouse/ch-go/proto"
	clickhousego "github.com/ClickHouse/clickhouse-go/v2"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// insertsAtOnce is how many inserts a Writer makes into one table at a time: as many as the store worker has batches
// in flight. Each table has its own connections, since each keeps a buffer as large as its largest insert.
const insertsAtOnce = 2

// Writer inserts rows. It has its own connections, through ch-go: the driver for reads uses an interface value for
// each cell, which would be the largest cost of storing a span.
type Writer struct {
	spans    *table[runmodel.Span]
	contents *table[runmodel.Content]
	shared   *table[runmodel.SharedContent]
	bounds   *table[Bounds]
	runs     *table[runmodel.Run]
	usual    usual
}

// NewWriter prepares a writer to the database at url (clickhouse://host:port/database). It does not dial: the first
// insert fails if the server is away. ctx does not limit the writer's life; Close ends it.
func NewWriter(ctx context.Context, url string) (*Writer, error) {
	return newWriter(ctx, url, insertSilence)
}

func newWriter(ctx context.Context, url string, silence time.Duration) (*Writer, error) {
	opts, err := options(url)
	if err != nil {
		return nil, err
	}
	compression := ch.CompressionDisabled
	switch opts.Compression.Method {
	case clickhousego.CompressionLZ4:
		compression = ch.CompressionLZ4
	case clickhousego.CompressionZSTD:
		compression = ch.CompressionZSTD
	}
	w := &Writer{
		spans:    newTable("spans", spanColumns, compareSpans),
		contents: newTable("contents", contentColumns, compareContents),
		shared:   newTable("shared_contents", sharedContentColumns, compareShared),
		bounds:   newTable("run_bounds", boundColumns, compareBounds),
		runs:     newTable("runs", runColumns, compareRuns),
	}
	for _, pool := range w.pools() {
		if *pool, err = chpool.New(ctx, chpool.Options{
			ClientOptions: ch.Options{
				Database:    opts.Auth.Database,
				User:        opts.Auth.Username,
				Password:    opts.Auth.Password,
				ClientName:  "looptrace",
				Compression: compression,
				Dialer:      dialer{opts, silence},
				// For a server that hangs before its greeting.
				HandshakeTimeout: opts.DialTimeout,
			},
			MaxConns: insertsAtOnce,
		}); err != nil {
			w.Close()
			return nil, fmt.Errorf("open ClickHouse: %w", err)
		}
	}
	return w, nil
}

func (w *Writer) pools() []**chpool.Pool {
	return []**chpool.Pool{&w.spans.pool, &w.contents.pool, &w.shared.pool, &w.bounds.pool, &w.runs.pool}
}

// Close closes the writer's connections.
func (w *Writer) Close() {
	for _, pool := range w.pools() {
		if *pool != nil {
			(*pool).Close()
		}
	}
}

// InsertSpans inserts span versions. Inserting one again changes nothing.
func (w *Writer) InsertSpans(ctx context.Context, rows []runmodel.Span) error {
	return w.spans.insert(ctx, rows)
}

// InsertContents inserts contents. Inserting one again changes nothing.
func (w *Writer) InsertContents(ctx context.Context, rows []runmodel.Content) error {
	return w.contents.insert(ctx, rows)
}

// InsertSharedContents inserts shared contents. Inserting one again changes nothing.
func (w *Writer) InsertSharedContents(ctx context.Context, rows []runmodel.SharedContent) error {
	return w.shared.insert(ctx, rows)
}

// InsertBounds widens the bounds of runs.
func (w *Writer) InsertBounds(ctx context.Context, rows []Bounds) error {
	return w.bounds.insert(ctx, rows)
}

// InsertRuns inserts runs with their totals. Of several rows of a run the one with the highest version wins.
func (w *Writer) InsertRuns(ctx context.Context, rows []runmodel.Run) error {
	return w.runs.insert(ctx, rows)
}

var insertSettings = []ch.Setting{
	// The caller forms batches. The server's own buffer would acknowledge rows that are not written.
	ch.SettingInt("async_insert", 0),
	// Late spans of many days may come in one batch. They cost a part for each day.
	ch.SettingInt("throw_on_max_partitions_per_insert_block", 0),
	// Background merges merge duplicate rows, and readers do not rely on that. Merging every insert as well would
	// cost a copy of all its columns.
	ch.SettingInt("optimize_on_insert", 0),
	// A part gets its text index in its first merge. Until then a search reads its texts, which are small and few.
	ch.SettingInt("materialize_skip_indexes_on_insert", 0),
}

// table is a table of the schema, and how rows of type R are written to it.
type table[R any] struct {
	name string
	pool *chpool.Pool
	// compare is the table's order. ClickHouse would copy every column of rows in another order.
	compare func(a, b *R) int
	// columns returns the columns of a block.
	columns func() []column[R]
	// blocks are column buffers to reuse, one for each concurrent insert. A sync.Pool would lose them to the garbage
	// collector between two batches.
	blocks chan *block[R]
}

// block holds the rows of one insert as columns: ClickHouse's native format.
type block[R any] struct {
	columns []column[R]
	input   proto.Input
}

func newTable[R any](name string, columns func() []column[R], compare func(a, b *R) int) *table[R] {
	return &table[R]{name: name, compare: compare, columns: columns, blocks: make(chan *block[R], insertsAtOnce)}
}

// takeBlock returns a block for exclusive use. Return it with giveBack.
func (t *table[R]) takeBlock() *block[R] {
	select {
	case b := <-t.blocks:
		return b
	default:
	}
	b := &block[R]{columns: t.columns()}
	for _, c := range b.columns {
		b.input = append(b.input, proto.InputColumn{Name: c.name, Data: c.data})
	}
	return b
}

// giveBack clears the block's columns, which may refer to the rows.
func (t *table[R]) giveBack(b *block[R]) {
	for _, c := range b.columns {
		c.reset()
	}
	select {
	case t.blocks <- b:
	default:
	}
}

// rowsAtOnce is how many rows are added to all columns before the next ones, so that they stay in the processor's
// cache.
const rowsAtOnce = 256

// insert inserts rows synchronously. When it returns nil, ClickHouse has them on disk.
func (t *table[R]) insert(ctx context.Context, rows []R) error {
	if len(rows) == 0 {
		return nil
	}
	b := t.takeBlock()
	defer t.giveBack(b)
	order := make([]*R, len(rows))
	for i := range rows {
		order[i] = &rows[i]
	}
	slices.SortFunc(order, t.compare)
	for some := range slices.Chunk(order, rowsAtOnce) {
		for _, c := range b.columns {
			for _, row := range some {
				c.append(row)
			}
		}
	}
	conn, err := connection(ctx, t.pool)
	if err != nil {
		return fmt.Errorf("insert into %s: %w", t.name, err)
	}
	if err := conn.Do(ctx, ch.Query{Body: b.input.Into(t.name), Input: b.input, Settings: insertSettings}); err != nil {
		_ = conn.Close() // part of a block may have been sent; the first error matters
		return fmt.Errorf("insert into %s: %w", t.name, err)
	}
	conn.Release()
	return nil
}

// connection returns a connection that answers. After a restart of the server the idle ones do not.
func connection(ctx context.Context, pool *chpool.Pool) (*chpool.Client, error) {
	for {
		conn, err := pool.Acquire(ctx)
		if err != nil {
			return nil, fmt.Errorf("connect: %w", err)
		}
		if conn.Ping(ctx) == nil {
			return conn, nil
		}
		_ = conn.Close() // removes it from the pool; a new one shows whether the server is well
		if ctx.Err() != nil {
			return nil, fmt.Errorf("connect: %w", ctx.Err())
		}
	}
}
