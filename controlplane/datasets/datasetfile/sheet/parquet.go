package sheet

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
)

// parquetRows reads Parquet, a page of each column at a time.
type parquetRows struct {
	src  *errorSource
	file *parquet.File
	// root has the columns.
	root   *parquetNode
	leaves int
	names  []string

	group int // the next
	open  []*parquetColumn
	// values are those of one row by column.
	values []parquet.Row
	// line is the number of the last row.
	line int64
}

// errorSource keeps the error of a source, which libraries report as one of the content.
type errorSource struct {
	datasetfile.Source
	err error
}

func (s *errorSource) ReadAt(p []byte, at int64) (int, error) {
	n, err := s.Source.ReadAt(p, at)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// OpenParquet opens a file of Parquet.
func OpenParquet(source datasetfile.Source) (datasetfile.Rows, error) {
	src := &errorSource{Source: source}
	if err := checkFooter(src); err != nil {
		return nil, err
	}
	file, err := parquet.OpenFile(src, src.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	p := &parquetRows{src: src, file: file}
	if err != nil {
		return nil, p.failed(err)
	}
	if p.root, p.leaves, err = parquetSchema(file.Metadata().Schema); err != nil {
		return nil, err
	}
	for _, child := range p.root.children {
		p.names = append(p.names, child.name)
	}
	if _, err := datasetfile.NameColumns(p.names); err != nil {
		return nil, err
	}
	p.values = make([]parquet.Row, p.leaves)
	return p, nil
}

func (p *parquetRows) Columns() []string { return p.names }

// Offset is a share of the file: the pages of its columns are not read in order.
func (p *parquetRows) Offset() int64 {
	total := p.file.NumRows()
	if total <= 0 || p.line >= total {
		return p.src.Size()
	}
	return int64(float64(p.line) / float64(total) * float64(p.src.Size()))
}

func (p *parquetRows) Close() error {
	var errs []error
	for _, column := range p.open {
		errs = append(errs, datasetfile.Guard("close the file", column.pages.Close))
	}
	p.open = nil
	return errors.Join(errs...)
}

func (p *parquetRows) Next() (datasetfile.Row, error) {
	var row datasetfile.Row
	err := datasetfile.Guard("read the file", func() error {
		size, err := p.fill()
		if err != nil {
			return err
		}
		p.line++
		if size > MaxRowValues {
			return datasetfile.RowErrorf(p.line, nil, "the row has %d values in its lists: at most %d can be read", size, MaxRowValues)
		}
		row, err = p.row()
		return err
	})
	return row, err
}

// fill reads the values of the next row and returns how many there are. Those of a row that has too many are left out.
func (p *parquetRows) fill() (size int, err error) {
	for {
		if p.open == nil {
			if err := p.openGroup(); err != nil {
				return 0, err
			}
		}
		ended := 0
		size = 0
		for i, column := range p.open {
			p.values[i] = p.values[i][:0]
			n, err := column.read(&p.values[i], MaxRowValues-size)
			switch {
			case errors.Is(err, io.EOF):
				ended++
			case err != nil:
				return 0, p.failed(err)
			}
			size += n
		}
		switch ended {
		case 0:
			return size, nil
		case len(p.open):
			if err := p.Close(); err != nil {
				return 0, p.failed(err)
			}
		default:
			return 0, p.failed(errRowCount)
		}
	}
}

func (p *parquetRows) openGroup() error {
	groups := p.file.RowGroups()
	if p.group == len(groups) {
		return io.EOF
	}
	if err := checkPages(p.src, &p.file.Metadata().RowGroups[p.group]); err != nil {
		return err
	}
	chunks := groups[p.group].ColumnChunks()
	if len(chunks) != p.leaves {
		return p.failed(errRowCount)
	}
	p.group++
	for _, chunk := range chunks {
		p.open = append(p.open, &parquetColumn{pages: chunk.Pages()})
	}
	return nil
}

var errRowCount = errors.New("its columns do not have as many rows as each other")

// parquetColumn reads the values of a column in a row group.
type parquetColumn struct {
	pages  parquet.Pages
	values parquet.ValueReader // of the page, nil for none
	buffer [256]parquet.Value
	unread []parquet.Value // of the buffer
}

// read adds the values of the next row to it, at most some, and returns how many there are. It returns io.EOF if there is no row.
func (c *parquetColumn) read(to *parquet.Row, most int) (n int, err error) {
	for {
		if len(c.unread) == 0 {
			if err := c.fill(); errors.Is(err, io.EOF) && n > 0 {
				return n, nil // the last row
			} else if err != nil {
				return n, err
			}
		}
		same := 0
		for same < len(c.unread) && (n+same == 0 || c.unread[same].RepetitionLevel() != 0) {
			same++
		}
		*to = append(*to, c.unread[:min(same, max(0, most-n))]...)
		n += same
		if c.unread = c.unread[same:]; len(c.unread) > 0 {
			return n, nil
		}
	}
}

// fill reads more values of the column.
func (c *parquetColumn) fill() error {
	for {
		if c.values == nil {
			page, err := c.pages.ReadPage()
			if err != nil {
				return err //nolint:wrapcheck // the caller tells what it is
			}
			c.values = page.Values()
		}
		n, err := c.values.ReadValues(c.buffer[:])
		if errors.Is(err, io.EOF) {
			c.values, err = nil, nil
		}
		if c.unread = c.buffer[:n]; err != nil || n > 0 {
			return err //nolint:wrapcheck // the caller tells what it is
		}
	}
}

// failed tells the errors of the source from those of the content.
func (p *parquetRows) failed(err error) error {
	if p.src.err != nil {
		return fmt.Errorf("read the file: %w", p.src.err)
	}
	return datasetfile.FileErrorf("row %d or one after it cannot be read: %v; the file is damaged; write it again", p.line+1, err)
}

// row makes a row of its values.
func (p *parquetRows) row() (datasetfile.Row, error) {
	a := assembler{columns: slices.Clone(p.values)}
	row := datasetfile.Row{Line: p.line}
	bad := &datasetfile.RowError{Line: p.line}
	size := 0
	for _, node := range p.root.children {
		a.to, a.problem = nil, nil
		if err := a.write(node); err != nil {
			return datasetfile.Row{}, datasetfile.FileErrorf("row %d, column %s: %v; the file is damaged; write it again", p.line, node.name, err)
		}
		if a.problem != nil {
			a.problem.Column = node.name
			bad.Fields = append(bad.Fields, *a.problem)
			continue
		}
		if size += len(a.to); size > datasetfile.MaxRow {
			return datasetfile.Row{}, datasetfile.RowErrorf(p.line, nil, "the row is longer than %d MiB: at most that much can be read", datasetfile.MaxRow>>20)
		}
		row.Cells = append(row.Cells, datasetfile.Cell{Column: node.name, Value: a.to})
	}
	if len(bad.Fields) > 0 {
		return datasetfile.Row{}, bad
	}
	return row, nil
}

// assembler makes JSON of the values of a row, as of their repetition and definition levels.
type assembler struct {
	columns []parquet.Row
	to      []byte
	problem *datasetfile.FieldError
}

var errLevels = errors.New("its values do not fit the schema")

// peek returns the next value of a column.
func (a *assembler) peek(column int) (parquet.Value, error) {
	if len(a.columns[column]) == 0 {
		return parquet.Value{}, errLevels
	}
	return a.columns[column][0], nil
}

// skip skips the value that each column below a node has for its absence.
func (a *assembler) skip(n *parquetNode) error {
	for column := n.first; column < n.last; column++ {
		if len(a.columns[column]) == 0 {
			return errLevels
		}
		a.columns[column] = a.columns[column][1:]
	}
	return nil
}

func (a *assembler) write(n *parquetNode) error {
	v, err := a.peek(n.first)
	if err != nil {
		return err
	}
	switch {
	case n.optional && v.DefinitionLevel() < n.definition:
		a.to = append(a.to, datasetfile.Null...)
		return a.skip(n)
	case n.repeated:
		return a.repeat(n, func() error { return a.content(n) })
	}
	return a.content(n)
}

// repeat writes a list of all values of a repeated node.
func (a *assembler) repeat(n *parquetNode, element func() error) error {
	a.to = append(a.to, '[')
	defer func() { a.to = append(a.to, ']') }()
	v, err := a.peek(n.first)
	if err != nil {
		return err
	}
	if v.DefinitionLevel() < n.definition {
		return a.skip(n)
	}
	for {
		if err := element(); err != nil {
			return err
		}
		if rest := a.columns[n.first]; len(rest) == 0 || rest[0].RepetitionLevel() != n.repetition {
			return nil
		}
		if len(a.to) > datasetfile.MaxRow {
			return fmt.Errorf("is longer than %d MiB", datasetfile.MaxRow>>20)
		}
		a.to = append(a.to, ',')
	}
}

// content writes what a node has, without its optionality and repetition.
func (a *assembler) content(n *parquetNode) error {
	switch {
	case len(n.children) == 0:
		v := a.columns[n.first][0]
		a.columns[n.first] = a.columns[n.first][1:]
		if v.IsNull() {
			a.to = append(a.to, datasetfile.Null...)
			return nil
		}
		var problem *datasetfile.FieldError
		if a.to, problem = n.leaf.append(a.to, v); problem != nil && a.problem == nil {
			a.problem = problem
		}
		return nil
	case n.element != nil:
		repeated := n.children[0]
		return a.repeat(repeated, func() error {
			if n.element == repeated {
				return a.content(repeated)
			}
			return a.write(n.element)
		})
	case n.isMap:
		return a.pairs(n)
	}
	a.to = append(a.to, '{')
	for i, child := range n.children {
		if i > 0 {
			a.to = append(a.to, ',')
		}
		a.to = datasetfile.AppendString(a.to, []byte(child.name))
		a.to = append(a.to, ':')
		if err := a.write(child); err != nil {
			return err
		}
	}
	a.to = append(a.to, '}')
	return nil
}

// pairs writes a map: an object if its keys are texts, otherwise a list of objects with key and value.
func (a *assembler) pairs(n *parquetNode) error {
	pair := n.children[0]
	key, value := pair.children[0], pair.children[1]
	if !key.leaf.isText() {
		return a.repeat(pair, func() error { return a.content(pair) })
	}
	from := len(a.to)
	names := map[string]bool{}
	if err := a.repeat(pair, func() error {
		start := len(a.to)
		if err := a.write(key); err != nil {
			return err
		}
		name := string(a.to[start:])
		if names[name] && a.problem == nil {
			a.problem = &datasetfile.FieldError{Reason: "has a map with a key twice: keep one", Value: datasetfile.Shown([]byte(name))}
		}
		names[name] = true
		a.to = append(a.to, ':')
		return a.write(value)
	}); err != nil {
		return err
	}
	a.to[from], a.to[len(a.to)-1] = '{', '}'
	return nil
}
