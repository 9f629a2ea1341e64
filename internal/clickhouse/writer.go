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

// insertsAtOnce is how many inserts a Writer makes into one table at once: as many as batches that the store worker has
// under way. Each table has connections of its own, since each keeps a buffer of what its largest insert took.
const insertsAtOnce = 2

// Writer inserts rows. It has connections of its own, of ch-go: the driver that reads goes through an interface
// value for each cell, which costs more than anything else on the way of a span.
type Writer struct {
	spans    *table[runmodel.Span]
	contents *table[runmodel.Content]
	shared   *table[runmodel.SharedContent]
	bounds   *table[Bounds]
	runs     *table[runmodel.Run]
}

// NewWriter prepares a writer to the database at url (clickhouse://host:port/database). It does not dial: an
// absent server shows at the first insert. ctx does not bound the writer's life; Close ends it.
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
				// Of a server that halts before it has greeted.
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

// InsertSpans writes versions of spans. Writing one again changes nothing.
func (w *Writer) InsertSpans(ctx context.Context, rows []runmodel.Span) error {
	return w.spans.insert(ctx, rows)
}

// InsertContents writes contents. Writing one again changes nothing.
func (w *Writer) InsertContents(ctx context.Context, rows []runmodel.Content) error {
	return w.contents.insert(ctx, rows)
}

// InsertSharedContents writes contents that runs share. Writing one again changes nothing.
func (w *Writer) InsertSharedContents(ctx context.Context, rows []runmodel.SharedContent) error {
	return w.shared.insert(ctx, rows)
}

// InsertBounds widens the bounds of runs.
func (w *Writer) InsertBounds(ctx context.Context, rows []Bounds) error {
	return w.bounds.insert(ctx, rows)
}

// InsertRuns writes runs with their totals. Of two rows of a run the one with the higher version wins.
func (w *Writer) InsertRuns(ctx context.Context, rows []runmodel.Run) error {
	return w.runs.insert(ctx, rows)
}

var insertSettings = []ch.Setting{
	// Batches are formed by the caller; the server's own buffer would acknowledge what is not written.
	ch.SettingInt("async_insert", 0),
	// Late spans of many days may come in one batch; a part a day is what they cost.
	ch.SettingInt("throw_on_max_partitions_per_insert_block", 0),
	// Rows that merge into one do so in merges, and readers do not rely on it. Merging every insert as well would cost
	// a copy of all its columns.
	ch.SettingInt("optimize_on_insert", 0),
	// A part gets its text index when it is merged for the first time. Until then a search reads its texts: it is
	// small, and there are few.
	ch.SettingInt("materialize_skip_indexes_on_insert", 0),
}

// table is a table of the schema and how rows of type R are written to it.
type table[R any] struct {
	name string
	pool *chpool.Pool
	// compare is the table's order. ClickHouse would have to copy every column of rows that come in another.
	compare func(a, b *R) int
	// columns makes what a block consists of.
	columns func() []column[R]
	// blocks are column buffers to use again, for as many inserts as are made at once. A sync.Pool would lose them to the
	// garbage collector between two batches.
	blocks chan *block[R]
}

// block holds rows of one insert as columns: ClickHouse's native format.
type block[R any] struct {
	columns []column[R]
	input   proto.Input
}

func newTable[R any](name string, columns func() []column[R], compare func(a, b *R) int) *table[R] {
	return &table[R]{name: name, compare: compare, columns: columns, blocks: make(chan *block[R], insertsAtOnce)}
}

// takeBlock returns a block that nobody else uses; giveBack makes it another's.
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

// rowsAtOnce is how many rows are put into all columns before the next ones are: these stay in the processor's cache.
const rowsAtOnce = 256

// insert writes rows in one synchronous insert: when it returns nil, ClickHouse has them on disk.
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
		_ = conn.Close() // a block may have been sent in part; the error that matters is the one at hand
		return fmt.Errorf("insert into %s: %w", t.name, err)
	}
	conn.Release()
	return nil
}

// connection takes a connection that answers: the idle ones of a server that was restarted do not.
func connection(ctx context.Context, pool *chpool.Pool) (*chpool.Client, error) {
	for {
		conn, err := pool.Acquire(ctx)
		if err != nil {
			return nil, fmt.Errorf("connect: %w", err)
		}
		if conn.Ping(ctx) == nil {
			return conn, nil
		}
		_ = conn.Close() // it leaves the pool; what is wrong with the server shows at a new one
		if ctx.Err() != nil {
			return nil, fmt.Errorf("connect: %w", ctx.Err())
		}
	}
}
