package reading

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
)

// csvRows reads CSV as of RFC 4180: cells in double quotes may have delimiters, ends of lines and, doubled, quotes. The
// quotes of a cell that does not begin with one are part of it. Rows without any content are left out.
//
// It is not encoding/csv, which keeps a row of any size in memory and cannot go on after a bad one.
type csvRows struct {
	text      *datasetfile.Text
	delimiter byte
	partial   bool
	names     []string
	// isExport is whether the header is that of an export, whose texts were made harmless.
	isExport bool

	// The row that is being read: the content of its cells, and where each ends.
	content []byte
	ends    []int
	lines   []int64 // at which each cell begins
	size    int
	// problem is why the row is refused.
	problem string
	// opened is the line of the last quote that began a cell.
	opened int64
}

func openCSV(t *datasetfile.Text, o datasetfile.Options, layout *datasetfile.Layout) (*csvRows, error) {
	c := &csvRows{text: t, partial: o.Partial, delimiter: ','}
	start, _ := t.Peek(min(datasetfile.HeadSize, t.Size())) // openText has read it
	named, skip := delimiterLine(start)
	switch {
	case o.Delimiter != "":
		if len(o.Delimiter) != 1 || strings.ContainsAny(o.Delimiter, "\"\r\n\x00") || o.Delimiter[0] >= 0x80 {
			return nil, datasetfile.FileErrorf("the delimiter %q is not one character of ASCII: use , ; | or a tab", datasetfile.Shown([]byte(o.Delimiter)))
		}
		c.delimiter = o.Delimiter[0]
	case skip > 0:
		c.delimiter = named
	default:
		c.delimiter = sniffDelimiter(start, t.Newline)
	}
	if skip > 0 {
		t.Skip(skip)
		t.Line++
	}
	header := o.Header == nil || *o.Header
	layout.Delimiter, layout.Header = string(c.delimiter), &header
	if header {
		return c, c.header()
	}
	count := cellCount(start[skip:], c.delimiter, t.Newline)
	for i := range count {
		c.names = append(c.names, datasetfile.ColumnName(i))
	}
	return c, nil
}

// header reads the names of the columns. A column without one is named by its number.
func (c *csvRows) header() error {
	line, err := c.record()
	if errors.Is(err, io.EOF) {
		return datasetfile.FileErrorf("the file has no header row: its first row must be complete and have the names of the columns")
	}
	if err != nil {
		return err
	}
	if c.problem != "" {
		return datasetfile.FileErrorf("line %d, the header, cannot be read: %s", line, c.problem)
	}
	if len(c.ends) > datasetfile.MaxColumns {
		return datasetfile.FileErrorf("the header has %d columns: at most %d can be read", len(c.ends), datasetfile.MaxColumns)
	}
	for i := range c.ends {
		cell := c.cell(i)
		if reason, at := c.text.EncodingError(cell); reason != "" {
			return datasetfile.FileErrorf("line %d, the header, column %d, byte %d: %s", line, i+1, at+1, reason)
		}
		c.names = append(c.names, string(cell))
	}
	if c.names, err = datasetfile.NameColumns(c.names); err != nil {
		return err
	}
	c.isExport = slices.Equal(c.names, datasetfile.LooptraceColumns)
	return nil
}

func (c *csvRows) Columns() []string { return slices.Clone(c.names) }

func (c *csvRows) Offset() int64 { return c.text.Offset() }

func (c *csvRows) Close() error { return nil }

func (c *csvRows) cell(i int) []byte {
	from := 0
	if i > 0 {
		from = c.ends[i-1]
	}
	return c.content[from:c.ends[i]]
}

func (c *csvRows) Next() (datasetfile.Row, error) {
	for {
		line, err := c.record()
		if err != nil {
			return datasetfile.Row{}, err
		}
		if c.problem == "" && len(c.content) == 0 && len(c.ends) <= len(c.names) {
			continue
		}
		return c.row(line)
	}
}

func (c *csvRows) row(line int64) (datasetfile.Row, error) {
	switch {
	case c.problem != "":
		return datasetfile.Row{}, datasetfile.RowErrorf(line, c.content, "%s", c.problem)
	case len(c.ends) != len(c.names):
		return datasetfile.Row{}, datasetfile.RowErrorf(line, c.content, "the row has %s, the header %d: a cell with a delimiter (%q), a quote or an end of line needs quotes around it",
			datasetfile.Count(len(c.ends), "cell"), len(c.names), string(c.delimiter))
	}
	bad := &datasetfile.RowError{Line: line}
	row := datasetfile.Row{Line: line, Cells: make([]datasetfile.Cell, len(c.names))}
	// One allocation has all values; a text is a little longer as JSON.
	values := make([]byte, 0, len(c.content)+len(c.content)/8+3*len(c.names))
	for i, name := range c.names {
		cell := c.cell(i)
		row.Cells[i] = datasetfile.Cell{Column: name, Value: datasetfile.Null}
		if len(cell) == 0 {
			continue
		}
		if reason, at := c.text.EncodingError(cell); reason != "" {
			bad.Fields = append(bad.Fields, datasetfile.FieldError{Column: name, Reason: fmt.Sprintf("line %d, byte %d of the cell: %s",
				c.lines[i]+int64(bytes.Count(cell[:at], []byte{c.text.Newline})), at+1, reason), Value: datasetfile.Shown(around(cell, at))})
			continue
		}
		if bytes.IndexByte(cell, 0) >= 0 {
			bad.Fields = append(bad.Fields, datasetfile.FieldError{
				Column: name, Reason: "has a NUL character: the file is damaged, or in another encoding", Value: datasetfile.Shown(cell),
			})
			continue
		}
		if c.isExport {
			cell = datasetfile.PlainText(cell)
		}
		from := len(values)
		values = datasetfile.AppendString(values, cell)
		row.Cells[i].Value = values[from:len(values):len(values)]
	}
	if len(bad.Fields) > 0 {
		return datasetfile.Row{}, bad
	}
	return row, nil
}

// The states of a row that is being read.
const (
	atCell = iota
	inPlain
	inQuoted
	afterQuote
)

// record reads a row and returns its line. A blank line is no row.
func (c *csvRows) record() (int64, error) {
	c.content, c.ends, c.lines, c.size, c.problem = c.content[:0], c.ends[:0], c.lines[:0], 0, ""
	if cap(c.content) > 1<<20 {
		c.content = nil
	}
	state, line, begun := atCell, c.text.Line, false
	c.lines = append(c.lines, line)
	for {
		chunk, err := c.text.Chunk()
		if errors.Is(err, io.EOF) {
			return line, c.end(state, begun)
		}
		if err != nil {
			return line, err
		}
		begun = true
		i := 0
		for i < len(chunk) {
			b := chunk[i]
			switch {
			case state == atCell && b == '"':
				state, c.opened = inQuoted, c.text.Line
				i++
			case state == atCell:
				state = inPlain
			case state == inQuoted:
				i += c.quoted(chunk[i:], &state)
			case state == afterQuote && b == '"':
				c.add(chunk[i : i+1])
				state = inQuoted
				i++
			case b == c.delimiter:
				c.endCell()
				c.lines = append(c.lines, c.text.Line)
				state = atCell
				i++
			case b == c.text.Newline:
				i++
				c.text.Skip(i)
				c.text.Line++
				if len(c.ends) > 0 || state != inPlain || !c.blank() {
					c.endRow(state)
					return line, nil
				}
				c.content, c.size = c.content[:0], 0
				line, state, begun = c.text.Line, atCell, false
				c.lines[0] = line
				i = -1
			case state == afterQuote:
				i += c.afterQuote(chunk[i:], &state)
			default:
				i += c.plain(chunk[i:])
			}
			if i < 0 {
				break
			}
		}
		if i >= 0 {
			c.text.Skip(len(chunk))
		}
	}
}

// blank reports whether a line has nothing but the \r of its end.
func (c *csvRows) blank() bool {
	return c.size == 0 || c.size == 1 && len(c.content) == 1 && c.content[0] == '\r' && c.text.Newline == '\n'
}

// plain reads what is left of a cell without quotes, and returns its size.
func (c *csvRows) plain(chunk []byte) int {
	end := 0
	for end < len(chunk) && chunk[end] != c.delimiter && chunk[end] != c.text.Newline {
		end++
	}
	c.add(chunk[:end])
	return end
}

// quoted reads a cell up to a quote, and returns the size of what it read.
func (c *csvRows) quoted(chunk []byte, state *int) int {
	end := bytes.IndexByte(chunk, '"')
	part := chunk
	if end >= 0 {
		part = chunk[:end]
		*state = afterQuote
	}
	c.text.Line += int64(bytes.Count(part, []byte{c.text.Newline}))
	c.add(part)
	if end >= 0 {
		return end + 1
	}
	return len(part)
}

// afterQuote reads what follows after the quote that ends a cell: nothing but the \r of an end of line is right.
func (c *csvRows) afterQuote(chunk []byte, state *int) int {
	if chunk[0] == '\r' && c.text.Newline == '\n' {
		return 1
	}
	if c.problem == "" {
		c.problem = fmt.Sprintf("line %d: the quote that begins the cell in line %d ends before %q: write a quote within a cell twice, or remove what follows the cell",
			c.text.Line, c.opened, datasetfile.Shown(chunk[:min(len(chunk), 20)]))
	}
	*state = inPlain
	return 0
}

// add adds to the cell, unless the row becomes too large.
func (c *csvRows) add(part []byte) {
	c.size += len(part)
	if c.size > datasetfile.MaxRow || len(c.ends) > datasetfile.MaxRow/16 {
		c.problem = fmt.Sprintf("the row is longer than %d MiB: at most that much can be read; a quote that is not closed makes one row of all that follows", datasetfile.MaxRow>>20)
		c.content = nil
		return
	}
	c.content = append(c.content, part...)
}

func (c *csvRows) endCell() {
	if len(c.ends) <= datasetfile.MaxColumns {
		c.ends = append(c.ends, len(c.content))
		return
	}
	if c.problem == "" {
		c.problem = fmt.Sprintf("the row has more than %d cells", datasetfile.MaxColumns)
	}
	c.content, c.lines = c.content[:0], c.lines[:0]
}

func (c *csvRows) endRow(state int) {
	if n := len(c.content); state == inPlain && c.text.Newline == '\n' && n > 0 && c.content[n-1] == '\r' {
		c.content = c.content[:n-1]
	}
	c.endCell()
}

// end ends a row at the end of the file.
func (c *csvRows) end(state int, begun bool) error {
	switch {
	case c.partial || !begun:
		return io.EOF
	case state == inQuoted:
		return datasetfile.FileErrorf("the quote that begins a cell in line %d is never closed, so that the rest of the file is one cell: close it with a quote, or write the quote twice within a cell that has quotes around it", c.opened)
	case len(c.ends) == 0 && state == inPlain && c.blank():
		return io.EOF
	}
	c.endRow(state)
	return nil
}
