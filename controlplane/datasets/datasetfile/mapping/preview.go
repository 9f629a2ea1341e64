package mapping

import (
	"context"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile/reading"
)

// ColumnInfo is what the previewed rows have in a column.
type ColumnInfo struct {
	Name string
	Type ColumnType
	// Filled is how many rows have a value.
	Filled int
	// Kinds counts what the cells look like: object, array, number, boolean, text or null.
	Kinds map[string]int
	// Examples are at most three different values, shortened to 200 bytes.
	Examples []string
}

// PreviewRow is a row and the item that it makes.
type PreviewRow struct {
	Line  int64
	Cells []datasetfile.Cell
	// Item is nil if the row is rejected.
	Item   *Item
	Errors []datasetfile.FieldError
}

// PreviewResult is what a file has, and the items that it would make.
type PreviewResult struct {
	Layout  datasetfile.Layout
	Mapping Mapping
	Columns []ColumnInfo
	Rows    []PreviewRow
	// RowsRead are the rows from which columns and mapping were found: at most 1,000, or 8 MiB.
	RowsRead int
	// Complete is whether these are all rows of the file.
	Complete bool
}

// Preview reads the beginning of a file and returns what it has, a mapping unless one is given, and the first rows with
// what they make. A mapping that does not fit the file is a *Error.
func Preview(ctx context.Context, src datasetfile.Source, o datasetfile.Options, m *Mapping, rows int) (PreviewResult, error) {
	f, s, err := openSample(ctx, src, o)
	if err != nil {
		return PreviewResult{}, err
	}
	result := PreviewResult{Layout: f.Layout(), RowsRead: len(s.rows), Complete: s.complete}
	if m == nil {
		result.Mapping = s.mapping()
	} else {
		result.Mapping = *m
		if err := m.Check(s.names()); err != nil {
			return PreviewResult{}, err
		}
	}
	for _, c := range s.columns {
		kind := c.columnType(s.format)
		if t, found := result.Mapping.Types[c.name]; found {
			kind = t
		}
		result.Columns = append(result.Columns, ColumnInfo{c.name, kind, c.filled, c.kinds, c.examples})
	}
	for _, row := range s.rows[:min(rows, len(s.rows))] {
		shown := PreviewRow{Line: row.Line, Cells: row.Cells}
		if row.bad != nil {
			shown.Errors = row.bad.Fields
		} else if item, bad := result.Mapping.Item(row.Row); len(bad) > 0 {
			shown.Errors = bad
		} else {
			shown.Item = &item
		}
		result.Rows = append(result.Rows, shown)
	}
	return result, nil
}

// Infer returns the mapping that Preview finds.
func Infer(ctx context.Context, src datasetfile.Source, o datasetfile.Options) (Mapping, error) {
	_, s, err := openSample(ctx, src, o)
	if err != nil {
		return Mapping{}, err
	}
	return s.mapping(), nil
}

// openSample reads the beginning of a file. The file is closed.
func openSample(ctx context.Context, src datasetfile.Source, o datasetfile.Options) (*reading.File, *sample, error) {
	f, err := reading.Open(&endingSource{src, ctx}, o)
	if err != nil {
		return nil, nil, err
	}
	s, err := readSample(ctx, f, o.Partial)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return f, s, err
}

// endingSource is a source that ends with a context, so that all that reads it does.
type endingSource struct {
	datasetfile.Source
	ctx context.Context //nolint:containedctx // io.ReaderAt has none
}

func (s *endingSource) ReadAt(p []byte, at int64) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err //nolint:wrapcheck // nobody waits any more
	}
	return s.Source.ReadAt(p, at) //nolint:wrapcheck // it is the source's
}

func (s *sample) names() []string {
	names := make([]string, len(s.columns))
	for i, c := range s.columns {
		names[i] = c.name
	}
	return names
}
