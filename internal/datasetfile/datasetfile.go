// Package datasetfile reads files of rows for imports into datasets: CSV, JSONL, JSON, YAML, Parquet and XLSX. It finds
// encoding, delimiter, types and mapping, turns rows into items, and writes items as files that it reads back.
//
// A file is untrusted and may be larger than the memory: text is read front to back, a row takes at most 16 MiB, and a
// bad row is an error of its own, which names its line, column and remedy. No cell is changed, cut or left out in
// silence.
package datasetfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/looptrace/looptrace/internal/utf8text"
)

// Format is the format of a file.
type Format string

// The formats.
const (
	CSV     Format = "csv"
	JSONL   Format = "jsonl"
	JSON    Format = "json"
	YAML    Format = "yaml"
	Parquet Format = "parquet"
	XLSX    Format = "xlsx"
)

// The encodings of text.
const (
	UTF8        = "utf-8"
	UTF16LE     = "utf-16le"
	UTF16BE     = "utf-16be"
	Windows1252 = "windows-1252"
)

// Limits of a row and of what is looked at to find the properties of a file.
const (
	maxRow     = 16 << 20
	maxColumns = 16_384
	maxDepth   = 1000
	headSize   = 64 << 10
)

// Source is a file. Text is read from it front to back in pieces of 256 KiB or more.
type Source interface {
	io.ReaderAt
	Size() int64
}

// Options say how to read a file. What is empty is found in the file.
type Options struct {
	Format Format
	// Encoding is one of text. Windows-1252 is never found.
	Encoding string
	// Delimiter is that of CSV, one character.
	Delimiter string
	// Header is whether the first row of CSV or XLSX has the names of the columns. Nil is true.
	Header *bool
	// Sheet is that of XLSX. Empty is the first.
	Sheet string
	// Partial says that the source is only the beginning of the file. Its last row, which may be cut, is left out.
	Partial bool
}

// Layout is what was used to read a file. What does not apply to the format is empty.
type Layout struct {
	Format    Format
	Encoding  string
	Delimiter string
	Header    *bool
	Sheet     string
	Sheets    []string
}

// Row is a row as it is in the file.
type Row struct {
	// Line is the line at which the row begins; in Parquet and XLSX the number of the row.
	Line  int64
	Cells []Cell
}

// Cell is a value of a row, as JSON. Texts of CSV and XLSX are strings; an empty cell is null. Numbers have the digits
// that they have in the file.
type Cell struct {
	Column string
	Value  json.RawMessage
}

// RowError is the error of one bad row. Those after it can be read.
type RowError struct {
	Line   int64
	Fields []FieldError
}

func (e *RowError) Error() string {
	reasons := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		reasons[i] = f.Error()
	}
	return fmt.Sprintf("line %d: %s", e.Line, strings.Join(reasons, "; "))
}

// FieldError is what is wrong with a row.
type FieldError struct {
	// Column is empty if it concerns the whole row.
	Column string
	// Reason says what is wrong and what would be right.
	Reason string
	// Value is the beginning of what was refused, at most 200 bytes of UTF-8.
	Value string
}

func (e FieldError) Error() string {
	if e.Column == "" {
		return e.Reason
	}
	return e.Column + ": " + e.Reason
}

// FileError is what makes a file unreadable, from here on.
type FileError struct{ Detail string }

func (e *FileError) Error() string { return e.Detail }

func fileErrorf(format string, args ...any) error {
	return &FileError{fmt.Sprintf(format, args...)}
}

func rowErrorf(line int64, value []byte, format string, args ...any) error {
	return &RowError{line, []FieldError{{Reason: fmt.Sprintf(format, args...), Value: shown(value)}}}
}

// maxShown is the size of the values that errors and previews show.
const maxShown = 200

// shown returns the beginning of a value, with U+FFFD for what is no UTF-8.
func shown(value []byte) string {
	if len(value) > maxShown {
		value = value[:maxShown]
		// A character that the limit cuts is left out.
		for i := 1; i < utf8.UTFMax && i <= len(value); i++ {
			if c := value[len(value)-i]; utf8.RuneStart(c) {
				if !utf8.FullRune(value[len(value)-i:]) {
					value = value[:len(value)-i]
				}
				break
			}
		}
	}
	text := utf8text.Storable(string(value))
	for len(text) > maxShown {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text
}

// rows reads the rows of a format.
type rows interface {
	next() (Row, error)
	// columns are those that the file declares, or nil.
	columns() []string
	// offset is how much of the source was read.
	offset() int64
	close() error
}

// File is an open file.
type File struct {
	rows   rows
	layout Layout
	// err is why the file cannot be read further.
	err error
}

// Open opens a file. A *FileError says why it cannot be read; other errors are those of the source.
func Open(src Source, o Options) (*File, error) {
	head, err := readHead(src)
	if err != nil {
		return nil, err
	}
	if len(head) == 0 {
		return nil, fileErrorf("the file is empty")
	}
	if o.Format == "" {
		if o.Format, err = DetectFormat("", "", head); err != nil {
			return nil, err
		}
	}
	f := &File{layout: Layout{Format: o.Format}}
	switch o.Format {
	case CSV, JSONL, JSON, YAML:
		err = f.openText(src, o, head)
	case Parquet, XLSX:
		if o.Partial {
			return nil, fileErrorf("a beginning of a file of the format %s cannot be read: its directory is at its end; give the whole file", o.Format)
		}
		err = guard("open the file", func() error { return f.openBinary(src, o, head) })
	default:
		return nil, fileErrorf("the format %q is not known: use csv, jsonl, json, yaml, parquet or xlsx", shown([]byte(o.Format)))
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

func readHead(src Source) ([]byte, error) {
	head := make([]byte, min(headSize, max(src.Size(), 0)))
	n, err := src.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	return head[:n], nil
}

func (f *File) openText(src Source, o Options, head []byte) error {
	if what, remedy := foreign(head); what != "" {
		return fileErrorf("the file is %s, not %s: %s", what, o.Format, remedy)
	}
	t, err := openText(src, o.Encoding, head)
	if err != nil {
		return err
	}
	f.layout.Encoding = t.encoding
	switch o.Format {
	case CSV:
		f.rows, err = openCSV(t, o, &f.layout)
	case JSONL:
		f.rows, err = openJSONL(t, o)
	case YAML:
		err = guard("read the file as YAML", func() (err error) {
			f.rows, err = openYAML(t, o)
			return err
		})
	default:
		f.rows, err = openJSON(t, o)
	}
	return err
}

func (f *File) openBinary(src Source, o Options, head []byte) (err error) {
	if what, remedy := foreign(head); what != "" && what != whatParquet && what != whatXLSX {
		return fileErrorf("the file is %s, not %s: %s", what, o.Format, remedy)
	}
	if o.Format == Parquet {
		f.rows, err = openParquet(src)
		return err
	}
	f.rows, err = openXLSX(src, o, &f.layout)
	return err
}

// guard makes an error of a panic: libraries that decode files may panic if these are damaged.
func guard(doing string, do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fileErrorf("%s: it is damaged (%v); write it again", doing, r)
		}
	}()
	return do()
}

// Layout returns what was used to read the file.
func (f *File) Layout() Layout { return f.layout }

// Columns returns the columns that the file declares, in their order. It is nil for JSONL, JSON and YAML, whose rows have
// members of their own.
func (f *File) Columns() []string { return f.rows.columns() }

// Next returns the next row, and io.EOF after the last. After a *RowError the rows that follow can be read; every other
// error stays.
func (f *File) Next() (Row, error) {
	if f.err != nil {
		return Row{}, f.err
	}
	row, err := f.rows.next()
	var bad *RowError
	if err != nil && !errors.As(err, &bad) {
		f.err = err
	}
	return row, err
}

// Offset returns how many bytes of the source were read. It runs ahead of the rows by the size of a buffer.
func (f *File) Offset() int64 { return f.rows.offset() }

// Close releases what the file holds. It does not close the source.
func (f *File) Close() error { return f.rows.close() }
