package runs

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
)

// projectsMark is replaced by a condition on the caller's projects in every statement.
const projectsMark = "{projects}"

// Limits of one query, so that one caller cannot exhaust ClickHouse.
const (
	queryTimeout = 20 * time.Second
	queryMemory  = 1 << 30
	queryRows    = 2_000_000_000 // rows read
	queryBytes   = 64 << 30      // bytes read, decompressed
)

// options are how a query differs from others. The zero value is none.
type options struct {
	// timeout is less than queryTimeout.
	timeout time.Duration
	// resultBytes limit what the query returns. One that returns more is ErrTooExpensive.
	resultBytes int
	// oldAnalyzer is for statements that only read columns of one table. ClickHouse's former analyzer plans such a statement with dozens
	// of columns in three quarters of the time, which saves a tenth of reading a run. A server without it ignores the setting.
	oldAnalyzer bool
}

// store is a connection whose queries have the options.
type store struct {
	driver.Conn
	options options
}

// with returns the store with these options instead of its own.
func (c store) with(o options) store { return store{c.Conn, o} }

// with returns the service with these options of its queries. It shares all else with s.
func (s *Service) with(o options) *Service {
	other := *s
	other.conn = s.conn.with(o)
	return &other
}

var errNoProjects = errors.New("statement lacks " + projectsMark)

// query is the only way in which this package reads what projects wrote. It replaces each projectsMark by the caller's projects and
// limits the query. The rows replace those in rows; T is a struct with ch tags.
func query[T any](ctx context.Context, conn store, projects access.Projects, rows *[]T, statement string, args ...any) error {
	if !strings.Contains(statement, projectsMark) {
		return errNoProjects
	}
	if len(projects.IDs()) == 0 {
		return ErrNotFound
	}
	ctx, condition, err := inCallers(conn.withSettings(ctx), projects.IDs())
	if err != nil {
		return err
	}
	found, err := conn.Query(ctx, strings.ReplaceAll(statement, projectsMark, condition), args...)
	if err != nil {
		return classify(err)
	}
	err = scan(found, rows)
	if err = errors.Join(err, found.Close(), found.Err()); err != nil {
		return classify(err)
	}
	return nil
}

// maxNamedProjects is how many projects a statement names. Each takes 40 bytes, and ClickHouse reads statements of up to 256 KiB
// (max_query_size).
const maxNamedProjects = 1000

// inCallers returns the condition that a row is of one of the projects. Many projects go into a table that is sent with the statement.
func inCallers(ctx context.Context, projects []uuid.UUID) (context.Context, string, error) {
	if len(projects) == 1 {
		return ctx, "project_id = '" + projects[0].String() + "'", nil // saves building a set, a fraction of a millisecond per statement
	}
	if len(projects) <= maxNamedProjects {
		ids := make([]string, len(projects))
		for i, id := range projects {
			ids[i] = "'" + id.String() + "'"
		}
		return ctx, "project_id IN (" + strings.Join(ids, ", ") + ")", nil
	}
	table, err := ext.NewTable("callers", ext.Column("id", "UUID"))
	if err != nil {
		return ctx, "", fmt.Errorf("send projects with a statement: %w", err)
	}
	for _, id := range projects {
		if err := table.Append(id); err != nil {
			return ctx, "", fmt.Errorf("send projects with a statement: %w", err)
		}
	}
	return ch.Context(ctx, ch.WithExternalTable(table)), "project_id IN callers", nil
}

// withSettings sets the limits and options of the statements under ctx.
func (c store) withSettings(ctx context.Context) context.Context {
	timeout := queryTimeout
	if c.options.timeout > 0 {
		timeout = min(c.options.timeout, queryTimeout)
	}
	settings := ch.Settings{
		"max_execution_time": timeout.Seconds(),
		"max_memory_usage":   queryMemory,
		"max_rows_to_read":   queryRows,
		"max_bytes_to_read":  queryBytes,
		// The versions of a run's row share an hour, and so a partition.
		"do_not_merge_across_partitions_select_final": 1,
		// The tables have no projections. Looking for one takes a tenth of a small statement.
		"optimize_use_projections": 0,
	}
	if c.options.resultBytes > 0 {
		settings["max_result_bytes"] = c.options.resultBytes
	}
	if c.options.oldAnalyzer {
		settings["enable_analyzer"] = 0
	}
	return ch.Context(ctx, ch.WithSettings(settings))
}

// scan reads all rows of an answer. The driver's own Select looks the struct's fields up again for each row, which took a third of the
// client's time for a thousand spans.
func scan[T any](found driver.Rows, rows *[]T) error {
	var row, empty T
	members := map[string]any{}
	value := reflect.ValueOf(&row).Elem()
	for _, field := range reflect.VisibleFields(value.Type()) {
		if name := field.Tag.Get("ch"); name != "" {
			members[name] = value.FieldByIndex(field.Index).Addr().Interface()
		}
	}
	columns := found.Columns()
	targets := make([]any, len(columns))
	for i, column := range columns {
		if targets[i] = members[column]; targets[i] == nil {
			return fmt.Errorf("%T has no member for the column %s", row, column)
		}
	}
	*rows = (*rows)[:0]
	for found.Next() {
		row = empty
		if err := found.Scan(targets...); err != nil {
			return err
		}
		if len(*rows) == cap(*rows) {
			*rows = slices.Grow(*rows, max(len(*rows), 1)) // append alone would copy large rows more often
		}
		*rows = append(*rows, row)
	}
	return nil
}

// codeUnknownTable is ClickHouse's error (ErrorCodes.cpp) about a table that a migration has removed for a moment or not created yet.
const codeUnknownTable = 60

// ClickHouse's error codes for a query that exceeded its limits.
const (
	codeTooManyRows      = 158
	codeTooSlow          = 160
	codeTimeoutExceeded  = 159
	codeMemoryLimit      = 241
	codeTooManyBytes     = 307
	codeTooManyBytesRows = 396
)

func classify(err error) error {
	var exception *ch.Exception
	if errors.As(err, &exception) {
		if slices.Contains([]int32{codeTooManyRows, codeTooManyBytes, codeTooSlow, codeTimeoutExceeded, codeMemoryLimit, codeTooManyBytesRows}, exception.Code) {
			return fmt.Errorf("%w: %w", ErrTooExpensive, err)
		}
		if exception.Code == codeUnknownTable {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		return fmt.Errorf("query runs: %w", err)
	}
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("query runs: %w", err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// readNewest calls read with a service of shorter timeouts and the start of a window. While that exceeds its limits, it tries again with a
// later start, which leaves an eighth of the window. start is set to the one that worked; partial is true if it is later.
func (s *Service) readNewest(start *time.Time, end time.Time, read func(s *Service, start time.Time) error) (partial bool, err error) {
	const share = 8 // the next attempt reads one eighth of the window
	from := *start
	for _, timeout := range []time.Duration{8 * time.Second, 4 * time.Second, 4 * time.Second, 4 * time.Second} {
		err := read(s.with(options{timeout: timeout}), from)
		if err == nil {
			partial = from.After(*start)
			*start = from
			return partial, nil
		}
		if !errors.Is(err, ErrTooExpensive) {
			return false, err
		}
		from = end.Add(-end.Sub(from) / share)
	}
	return false, ErrTooExpensive
}

// startRange fills in the bounds that the filter leaves open with the start times of the project's runs.
func (s *Service) startRange(ctx context.Context, projects access.Projects, f Filter) (start, end time.Time, err error) {
	start, end = f.StartAfter, f.StartBefore
	now := s.now().UTC()
	from := start
	if !start.IsZero() && end.IsZero() && now.After(start) {
		from = now // only runs that start in the future, by another clock, can extend the end
	}
	w := inProjects()
	w.startsIn(from, end)
	var rows []struct {
		First time.Time `ch:"first"`
		Last  time.Time `ch:"last"`
	}
	err = query(ctx, s.conn, projects, &rows, "SELECT min(start_time) AS first, max(start_time) AS last FROM runs WHERE "+w.String()+" HAVING count() > 0", w.args...)
	if err != nil {
		return start, end, err
	}
	first, last := now, now
	if len(rows) > 0 {
		first, last = rows[0].First.UTC(), rows[0].Last.UTC().Add(1)
	}
	if start.IsZero() {
		start = first
	}
	if end.IsZero() {
		end = now
		if last.After(end) {
			end = last
		}
	}
	return start, end, nil
}
