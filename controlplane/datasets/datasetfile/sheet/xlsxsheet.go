package sheet

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/looptrace/looptrace/controlplane/datasets/datasetfile"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// sheetRows reads the rows of a sheet. Numbers have the digits that the file has, dates are texts as in ISO 8601, and a
// formula has the value that the program that saved the file has computed. Rows without any content are left out.
type sheetRows struct {
	book  *workbook
	xml   *xmlReader
	names []string
	line  int64
	// first is the first row, if it is no header.
	first *sheetRow
}

// sheetRow is a row as it is in the sheet.
type sheetRow struct {
	line int64
	// cells are by number of column. Nil is empty.
	cells []json.RawMessage
	bad   []datasetfile.FieldError
	// badAt are the columns of bad.
	badAt []int
	size  int
}

func openSheet(w *workbook, part string, header bool) (*sheetRows, error) {
	x, err := w.open(part, MaxSheet)
	if err != nil {
		return nil, err
	}
	s := &sheetRows{book: w, xml: x}
	first, err := s.row()
	if errors.Is(err, io.EOF) {
		return nil, datasetfile.FileErrorf("the sheet is empty: name another with sheet=…")
	}
	if err != nil {
		return nil, err
	}
	if !header {
		for i := range first.cells {
			s.names = append(s.names, datasetfile.ColumnName(i))
		}
		s.first = first
		return s, nil
	}
	if len(first.bad) > 0 {
		return nil, datasetfile.FileErrorf("row %d, the header, column %s: %s", first.line, columnLetters(first.badAt[0]), first.bad[0].Reason)
	}
	for _, cell := range first.cells {
		name := ""
		if jsontext.IsString(cell) {
			name = datasetfile.Unquote(cell)
		} else if !jsontext.IsNull(cell) {
			name = string(cell)
		}
		s.names = append(s.names, name)
	}
	s.names, err = datasetfile.NameColumns(s.names)
	return s, err
}

func (s *sheetRows) Columns() []string { return s.names }

func (s *sheetRows) Close() error { return s.xml.Close() }

// Offset is the share of the file that the share of the sheet that was read stands for.
func (s *sheetRows) Offset() int64 {
	if s.xml.size <= 0 {
		return 0
	}
	return int64(float64(s.book.src.Size()) * min(1, float64(s.xml.read)/float64(s.xml.size)))
}

func (s *sheetRows) Next() (datasetfile.Row, error) {
	r := s.first
	if s.first = nil; r == nil {
		var err error
		if r, err = s.row(); err != nil {
			return datasetfile.Row{}, err
		}
	}
	for i, at := range r.badAt {
		r.bad[i].Column = columnLetters(at)
		if at < len(s.names) {
			r.bad[i].Column = s.names[at]
		}
	}
	for i := len(s.names); i < len(r.cells) && len(r.bad) == 0; i++ {
		if r.cells[i] != nil {
			r.bad = append(r.bad, datasetfile.FieldError{
				Reason: fmt.Sprintf("has a value in the column %s, for which the header has no name: name the column, or clear the cell", columnLetters(i)),
				Value:  datasetfile.Shown(r.cells[i]),
			})
		}
	}
	if len(r.bad) > 0 {
		return datasetfile.Row{}, &datasetfile.RowError{Line: r.line, Fields: r.bad}
	}
	row := datasetfile.Row{Line: r.line, Cells: make([]datasetfile.Cell, len(s.names))}
	for i, name := range s.names {
		row.Cells[i] = datasetfile.Cell{Column: name, Value: datasetfile.Null}
		if i < len(r.cells) && r.cells[i] != nil {
			row.Cells[i].Value = r.cells[i]
		}
	}
	return row, nil
}

// row reads the next row that has any content.
func (s *sheetRows) row() (*sheetRow, error) {
	for {
		start, err := s.xml.element()
		if errors.Is(err, io.EOF) {
			if s.xml.depth > 0 {
				return nil, s.book.failed(io.ErrUnexpectedEOF)
			}
			return nil, io.EOF
		}
		if err != nil {
			return nil, s.book.failed(err)
		}
		if start.Name.Local != "row" {
			continue
		}
		s.line++
		if n, err := strconv.ParseInt(attribute(start, "r"), 10, 64); err == nil && n > 0 {
			s.line = n
		}
		r := &sheetRow{line: s.line}
		if err := s.cells(r); err != nil {
			return nil, s.book.failed(err)
		}
		if len(r.cells) > 0 || len(r.bad) > 0 {
			return r, nil
		}
	}
}

// cells reads the cells of a row whose start was read.
func (s *sheetRows) cells(r *sheetRow) error {
	column := -1
	for end := s.xml.depth - 1; s.xml.depth > end; {
		token, err := s.xml.token()
		if err != nil {
			return eofIsDamage(err)
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "c" {
			continue
		}
		column++
		if reference := attribute(start, "r"); reference != "" {
			column = columnIndex(reference)
		}
		if column < 0 || column >= datasetfile.MaxColumns {
			return datasetfile.FileErrorf("row %d has a cell that is in none of the %d columns of a sheet: the file is damaged", r.line, datasetfile.MaxColumns)
		}
		value, reason, err := s.cell(start)
		if err != nil {
			return err
		}
		if r.size += len(value); r.size > datasetfile.MaxRow {
			value, reason = nil, fmt.Sprintf("makes the row longer than %d MiB: at most that much can be read", datasetfile.MaxRow>>20)
		}
		const mostErrors = 100
		if reason != "" && len(r.bad) < mostErrors {
			r.bad = append(r.bad, datasetfile.FieldError{Reason: reason})
			r.badAt = append(r.badAt, column)
		}
		if value == nil {
			continue
		}
		for len(r.cells) <= column {
			r.cells = append(r.cells, nil)
		}
		r.cells[column] = value
	}
	return nil
}

// cell reads a cell whose start was read: nil if it is empty, or why it is refused.
func (s *sheetRows) cell(start xml.StartElement) (value json.RawMessage, reason string, err error) {
	var content string
	hasValue, hasFormula := false, false
	for end := s.xml.depth - 1; s.xml.depth > end; {
		token, err := s.xml.token()
		if err != nil {
			return nil, "", eofIsDamage(err)
		}
		child, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch child.Name.Local {
		case "v":
			content, err = s.xml.characters()
			hasValue = true
		case "is":
			content, err = s.xml.richText(datasetfile.MaxRow)
			hasValue = true
		case "f":
			hasFormula = true
		}
		if err != nil {
			return nil, "", err
		}
	}
	kind := attribute(start, "t")
	if !hasValue || content == "" {
		if hasFormula && kind != "str" {
			return nil, "has a formula without a value: open the file in a spreadsheet program and save it, so that it computes the value", nil
		}
		return nil, "", nil
	}
	value, reason = s.value(kind, attribute(start, "s"), content)
	return value, reason, nil
}

func (s *sheetRows) value(kind, style, content string) (value json.RawMessage, reason string) {
	switch kind {
	case "s":
		i, err := strconv.Atoi(strings.TrimSpace(content))
		if err != nil || i < 0 || i >= len(s.book.texts) {
			return nil, "refers to a text that the file does not have: the file is damaged"
		}
		return textCell(s.book.texts[i])
	case "str":
		return textCell(unescapeX(content))
	case "inlineStr", "d":
		return textCell(content)
	case "b":
		return json.RawMessage(strconv.FormatBool(strings.TrimSpace(content) == "1" || strings.TrimSpace(content) == "true")), ""
	case "e":
		return nil, errorCell(content)
	}
	content = strings.TrimSpace(content)
	if content == "" {
		return nil, ""
	}
	if !datasetfile.JSONNumber.MatchString(content) {
		return nil, fmt.Sprintf("is no number: %q; the file is damaged", datasetfile.Shown([]byte(content)))
	}
	if i, err := strconv.Atoi(style); err == nil && i >= 0 && i < len(s.book.styles) {
		if f := s.book.styles[i]; f.date || f.time {
			return s.date(content, f)
		}
	}
	return json.RawMessage(content), ""
}

func textCell(text string) (json.RawMessage, string) {
	switch {
	case text == "":
		return nil, ""
	case len(text) > datasetfile.MaxRow:
		return nil, fmt.Sprintf("is longer than %d MiB: at most that much can be read", datasetfile.MaxRow>>20)
	case !utf8.ValidString(text):
		return nil, "is no UTF-8: the file is damaged"
	}
	return datasetfile.Quoted(text), ""
}

// date writes a number of days as a date, a time of day, or both.
func (s *sheetRows) date(content string, f dateFormat) (json.RawMessage, string) {
	const (
		// Excel has a 29 February 1900, so that days before it count from one day later.
		leapDay  = 60
		lastDay  = 2_958_466 // that after 9999-12-31
		dayIn    = 24 * time.Hour
		accuracy = time.Millisecond
	)
	days, err := strconv.ParseFloat(content, 64)
	if err != nil || days < 0 || days >= lastDay {
		return nil, fmt.Sprintf("is %s, which is no date: give the cell the format of a number", content)
	}
	base := time.Date(1899, time.December, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case s.book.from1904:
		base = time.Date(1904, time.January, 1, 0, 0, 0, 0, time.UTC)
	case days < leapDay:
		base = base.AddDate(0, 0, 1)
	}
	whole, part := math.Modf(days)
	t := base.AddDate(0, 0, int(whole)).Add(time.Duration(math.Round(part*float64(dayIn/accuracy))) * accuracy)
	layout := "2006-01-02T15:04:05.999"
	switch {
	case !f.date && whole == 0:
		layout = "15:04:05.999"
	case !f.time && part == 0:
		layout = time.DateOnly
	}
	return datasetfile.Quoted(t.Format(layout)), ""
}
